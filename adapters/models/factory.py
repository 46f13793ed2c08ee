"""``make_model``: from a brand and a name to a model that can be asked."""

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ...effects.transcript.boundary import DEFAULT_WORDING, Wording
from .anthropic_messages import ANTHROPIC_MESSAGES
from .config import ConfigError, ModelConfig, Patience, api_key_for, base_url_for, check_secrecy, vendor_for
from .credentials import Credentials
from .exchange import RemoteModel
from .gemini_generate import GEMINI_GENERATE
from .openai_chat import OPENAI_CHAT
from .openai_responses import OPENAI_RESPONSES
from .protocols import WireProtocol
from .vendors import Gateway, Vendor

__all__ = ["make_model", "protocol_of"]

_PROTOCOLS = {
    protocol.name: protocol for protocol in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC_MESSAGES, GEMINI_GENERATE)
}


def make_model(
    brand: str,
    model: str,
    base_url: str | None = None,
    api_key: Credentials | None = None,
    *,
    protocol: str = "",
    gateway: Gateway | None = None,
    images: bool = True,
    max_output_tokens: int = 0,
    pauses: int = 10,
    patience: Patience | None = None,
    headers: Mapping[str, str] | None = None,
    allow_http: bool = False,
    wording: Wording = DEFAULT_WORDING,
    **options: Any,
) -> RemoteModel:
    """A model of a known brand; raises ``ConfigError``, a single line that says what to change.

    ``api_key``: a key, a ``BearerToken``, a function that gives one for each request, or a ``KeyPool``.
    ``protocol``: another than the brand's usual one, which it speaks as well (``vendors`` has them). ``gateway``: the
    base URL is somebody else's server in front of the brand, and taken as it is. ``images``: whether the model can see
    any. ``max_output_tokens`` counts where a request has no limit of its own. ``pauses``: how often an answer that its
    provider only paused is gone on with. ``allow_http`` lets a key travel unencrypted to another machine. ``options``
    are members of the request body, in the protocol's own words; those of a single request come after them. What the
    protocol needs of others (an SDK) is imported here, not before.
    """
    vendor = vendor_for(brand, protocol, gateway)
    wire = protocol_of(vendor)
    name = model.strip()
    if not name:
        raise ConfigError(f"no model was named; say which model of {vendor.name} to use")
    credentials = None if isinstance(api_key, str) else api_key
    key = "" if credentials is not None else api_key_for(vendor, api_key if isinstance(api_key, str) else None)
    url, query = base_url_for(vendor, base_url)
    key_may_travel = check_secrecy(url, bool(key or headers or credentials), allow_http)
    config = ModelConfig(
        vendor=vendor,
        model=name,
        base_url=url,
        api_key=key,
        query=query,
        headers=dict(headers or {}),
        images=images,
        max_output_tokens=max_output_tokens,
        pauses=pauses,
        options=options,
        patience=patience or Patience(),
        wording=wording,
        key_may_travel=key_may_travel,
    )
    return RemoteModel(wire, config, _imported(wire.sdk, vendor.name), credentials)


def protocol_of(vendor: Vendor) -> WireProtocol:
    """The wire format that a vendor's row names; raises ``ConfigError`` for one that nobody knows."""
    wire = _PROTOCOLS.get(vendor.protocol)
    if wire is None:
        raise ConfigError(f"unknown protocol {vendor.protocol!r}; known are {', '.join(_PROTOCOLS)}")
    return wire


def _imported(package: str, brand: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ConfigError(f"{brand} needs the Python package {package}: pip install {package}") from None
