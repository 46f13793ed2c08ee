"""What a wire format is, to the code that all of them share: ``exchange`` moves bytes, a ``WireProtocol`` means them.

Both halves of a protocol are pure: ``build`` makes the body of a request, an ``AnswerReader`` makes deltas of what
comes back. Only ``connect`` knows the vendor's SDK, which is handed to it (see ``connections``).
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import quote

from ...effects.model import ModelRequest
from ...effects.transcript.boundary import Boundary, IdRule
from ...effects.values import frozen
from .config import ModelConfig
from .connections import Connection
from .reader import AnswerReader

__all__ = ["WireProtocol"]


@frozen
class WireProtocol:
    """One wire format.

    ``sdk`` is the module to import, and ``http_client`` the class in it that makes an HTTP client. ``path`` is where
    requests go below the base URL, with ``{model}`` for the name of the model where that is part of it. ``id_rule``
    makes call ids valid, unless the vendor has a stricter one. ``headers`` are those that differ from what would be
    sent otherwise, ``connect`` makes the connections on an HTTP client.
    """

    name: str
    sdk: str
    path: str
    id_rule: IdRule
    build: Callable[[ModelRequest, ModelConfig, Boundary | None], dict[str, Any]]
    reader: Callable[[ModelConfig], AnswerReader]
    headers: Callable[[ModuleType, ModelConfig], dict[str, Any]]
    connect: Callable[[ModuleType, ModelConfig, Any], Connection]
    http_client: str = "DefaultAsyncHttpxClient"

    def path_for(self, model: str) -> str:
        """Where a request to the model goes, below the base URL."""
        return self.path.replace("{model}", quote(model.removeprefix("models/"), safe=""))
