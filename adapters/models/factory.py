"""``make_model``: from a brand and a name to a model that can be asked."""

import importlib
from collections.abc import Mapping
from typing import Any

from ...effects.transcript.boundary import DEFAULT_WORDING, Wording
from .anthropic_messages import ANTHROPIC_MESSAGES
from .config import ConfigError, ModelConfig, Patience, api_key_for, base_url_for, check_secrecy, vendor_for
from .exchange import RemoteModel
from .openai_chat import OPENAI_CHAT

__all__ = ["make_model"]

_PROTOCOLS = {protocol.name: protocol for protocol in (OPENAI_CHAT, ANTHROPIC_MESSAGES)}


def make_model(
    brand: str,
    model: str,
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    images: bool = True,
    max_output_tokens: int = 0,
    patience: Patience | None = None,
    headers: Mapping[str, str] | None = None,
    allow_http: bool = False,
    wording: Wording = DEFAULT_WORDING,
    **options: Any,
) -> RemoteModel:
    """A model of a known brand; raises ``ConfigError``, a single line that says what to change.

    ``images``: whether the model can see any. ``max_output_tokens`` counts where a request has no limit of its own.
    ``allow_http`` lets a key travel unencrypted to another machine. ``options`` are members of the request body, in the
    protocol's own words; those of a single request come after them. The vendor's SDK is imported here, not before.
    """
    vendor = vendor_for(brand)
    name = model.strip()
    if not name:
        raise ConfigError(f"no model was named; say which model of {vendor.name} to use")
    key = api_key_for(vendor, api_key)
    url, query = base_url_for(vendor, base_url)
    key_may_travel = check_secrecy(url, bool(key or headers), allow_http)
    config = ModelConfig(
        vendor=vendor,
        model=name,
        base_url=url,
        api_key=key,
        query=query,
        headers=dict(headers or {}),
        images=images,
        max_output_tokens=max_output_tokens,
        options=options,
        patience=patience or Patience(),
        wording=wording,
        key_may_travel=key_may_travel,
    )
    protocol = _PROTOCOLS[vendor.protocol]
    try:
        sdk = importlib.import_module(protocol.sdk)
    except ImportError:
        raise ConfigError(
            f"{vendor.name} needs the Python package {protocol.sdk}: pip install {protocol.sdk}"
        ) from None
    return RemoteModel(protocol, config, sdk)
