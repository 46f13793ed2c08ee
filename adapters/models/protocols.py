"""What a wire format is, to the code that all of them share: ``exchange`` moves bytes, a ``WireProtocol`` means them.

Both halves of a protocol are pure: ``build`` makes the body of a request, an ``AnswerReader`` makes deltas of what
comes back. Only ``connect`` knows the vendor's SDK, which is handed to it.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

from ...effects.model import ModelRequest
from ...effects.transcript.boundary import Boundary, IdRule
from ...effects.values import frozen
from .config import ModelConfig
from .reader import AnswerReader

__all__ = ["SdkClient", "WireProtocol"]


class SdkClient(Protocol):
    """What is used of an SDK's async client."""

    async def post(self, path: str, *, cast_to: Any, body: Any, options: Any, stream: Any, stream_cls: Any) -> Any:
        """Send a request; gives a stream object that holds the open ``response``."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...

    def with_options(self, *, api_key: str) -> "SdkClient":
        """The same client with another key, on the same connections."""
        ...


@frozen
class WireProtocol:
    """One wire format.

    ``sdk`` is the module to import, ``path`` where requests go below the base URL, ``id_rule`` makes call ids valid.
    ``headers`` are those that differ from what the SDK would send, ``connect`` makes its client on an HTTP client.
    """

    name: str
    sdk: str
    path: str
    id_rule: IdRule
    build: Callable[[ModelRequest, ModelConfig, Boundary | None], dict[str, Any]]
    reader: Callable[[ModelConfig], AnswerReader]
    headers: Callable[[ModuleType, ModelConfig], dict[str, Any]]
    connect: Callable[[ModuleType, ModelConfig, Any], SdkClient]
