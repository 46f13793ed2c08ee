"""``make_model``: from a brand and a name to a model that can be asked."""

import importlib
import re
from collections.abc import Mapping
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from ...effects.handed_in import LEVELS
from ...effects.transcript.boundary import DEFAULT_WORDING, Wording
from .anthropic_messages import ANTHROPIC_MESSAGES
from .config import ConfigError, ModelConfig, Patience, api_key_for, base_url_for, check_secrecy, vendor_for
from .credentials import BearerToken, Credentials, check_credentials
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
    api_key: "Credentials | None" = None,
    *,
    protocol: str = "",
    gateway: Gateway | None = None,
    reasoning: str | Mapping[str, Any] | None = None,
    images: bool = True,
    max_output_tokens: int | None = None,
    pauses: int = 10,
    patience: Patience | None = None,
    headers: Mapping[str, str] | None = None,
    allow_http: bool = False,
    wording: Wording | None = None,
    **options: Any,
) -> RemoteModel:
    """A model of a known brand; raises ``ConfigError``, a single line that says what to change.

    - ``brand``: who serves it (``VENDORS`` has their names); ``model``: the model's name, as they spell it.
    - ``base_url``: another address than the brand's own, with its query, if it has one.
    - ``api_key``: a key, a ``BearerToken``, a function that gives one for each request (it may be ``async``), or a
      ``KeyPool``. No environment variable is read.
    - ``protocol``: another than the brand's usual one, which it speaks as well.
    - ``gateway``: the base URL is somebody else's server in front of the brand, and taken as it is.
    - ``reasoning``: how hard the model shall think: ``off``, ``minimal``, ``low``, ``medium``, ``high``, ``xhigh`` or
      ``max``, said as the brand says it; nothing is said where nobody asked. A mapping goes into the body as it is.
    - ``images``: whether the model can see any.
    - ``max_output_tokens`` counts where a request has no limit of its own; 0 or None: no limit.
    - ``pauses``: how often an answer that its provider only paused is gone on with.
    - ``patience``: how long to wait for what, in seconds.
    - ``headers`` go with every request, and are as secret as the key.
    - ``allow_http`` lets a key travel unencrypted to another machine.
    - ``wording``: what the model is told where something must be said in somebody's place.
    - ``options`` are members of the request body, in the protocol's own words, such as ``temperature``; those of a
      single request come after them.

    What the protocol needs of others (an SDK) is imported here, not before.
    """
    _check_names(options)
    _check_kinds(locals())
    _check_reasoning(reasoning)
    if reasoning:
        options["reasoning"] = reasoning
    vendor = vendor_for(brand, protocol, gateway)
    wire = protocol_of(vendor)
    name = model.strip()
    if not name:
        raise ConfigError(f"no model was named; say which model of {vendor.name} to use", "model")
    url, query = base_url_for(vendor, base_url)
    key, credentials = _told_apart(vendor, api_key)
    key_may_travel = check_secrecy(url, bool(key or headers or credentials), allow_http)
    config = ModelConfig(
        vendor=vendor,
        model=name,
        base_url=url,
        api_key=key,
        query=query,
        headers=_checked_headers(headers or {}),
        images=images,
        max_output_tokens=max_output_tokens or 0,
        pauses=pauses,
        options=options,
        patience=patience or Patience(),
        wording=wording or DEFAULT_WORDING,
        key_may_travel=key_may_travel,
    )
    return RemoteModel(wire, config, _imported(wire.sdk, vendor.name), credentials)


def protocol_of(vendor: Vendor) -> WireProtocol:
    """The wire format that a vendor's row names; raises ``ConfigError`` for one that nobody knows."""
    wire = _PROTOCOLS.get(vendor.protocol)
    if wire is None:
        raise ConfigError(f"unknown protocol {vendor.protocol!r}; known are {', '.join(_PROTOCOLS)}", "protocol")
    return wire


def _imported(package: str, brand: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ConfigError(f"{brand} needs the Python package {package}: pip install {package}") from None


# Checks: what is wrong is said when a model is made, not when it is asked.

_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "brand": ((str,), "a string"),
    "model": ((str,), "a string, the model's name"),
    "base_url": ((str, type(None)), "a string"),
    "protocol": ((str,), "a string"),
    "gateway": ((Gateway, type(None)), "a Gateway(...)"),
    "images": ((bool,), "True or False"),
    "max_output_tokens": ((int, type(None)), "a whole number, 0 for no limit"),
    "pauses": ((int,), "a whole number"),
    "patience": ((Patience, type(None)), "a Patience(...)"),
    "headers": ((Mapping, type(None)), "a mapping from names to strings"),
    "allow_http": ((bool,), "True or False"),
    "wording": ((Wording, type(None)), "a Wording(...)"),
}

_ADDRESS, _WAITS = "say base_url=...", "say patience=Patience(...)"
_HEADERS, _ASKED = "say headers={...}", "what is asked is the request's, not the model's"
_SAID = "say it to whoever asks the model: instruction=... of a run or an agent"
_AGAIN = "a run asks again by itself: say retries=Retries(...) to it"
_ELSEWHERE = {
    **dict.fromkeys(("url", "base_uri", "api_base", "endpoint", "host", "server", "address"), _ADDRESS),
    **dict.fromkeys(("key", "secret", "token", "auth", "credentials"), "say api_key=..."),
    **dict.fromkeys(("timeout", "request_timeout", "read_timeout", "connect_timeout"), _WAITS),
    **dict.fromkeys(("max_retries", "retries"), _AGAIN),
    **dict.fromkeys(("default_headers", "extra_headers", "organization", "project"), _HEADERS),
    **dict.fromkeys(("default_query", "extra_query", "query"), "put it behind a ? in base_url"),
    "extra_body": "members of the body are given by their own names",
    **dict.fromkeys(("system", "system_prompt", "instruction", "instructions"), _SAID),
    **dict.fromkeys(("messages", "input", "contents", "stream"), _ASKED),
    **dict.fromkeys(("client", "http_client", "proxy", "proxies"), "proxies are taken from the environment"),
    **dict.fromkeys(("model_name", "vendor"), "say brand and model first"),
}
_SIMILAR = 0.8
_NO_SLIPS = frozenset({"models"})
"""Members of some body that only look like one of our names."""


def _check_names(options: Mapping[str, Any]) -> None:
    """Raises ``ConfigError`` for a name that is meant for us and is not ours: as a member it would help nobody."""
    for name in options:
        hint = _ELSEWHERE.get(name, "")
        if not hint and name not in _NO_SLIPS:
            similar = get_close_matches(name.lower(), (*_KINDS, "api_key", "reasoning"), 1, _SIMILAR)
            hint = f"did you mean {similar[0]}?" if similar else ""
        if hint:
            raise ConfigError(f"make_model has no parameter {name}: {hint}", name)


def _check_kinds(given: Mapping[str, Any]) -> None:
    for name, (kinds, words) in _KINDS.items():
        value = given[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ConfigError(f"{name} must be {words}, not {type(value).__name__}", name)
        if isinstance(value, int) and value < 0:
            raise ConfigError(f"{name} must not be negative", name)


def _check_reasoning(reasoning: Any) -> None:
    if reasoning is None or isinstance(reasoning, Mapping) or reasoning == "":
        return
    if reasoning not in LEVELS:
        similar = get_close_matches(str(reasoning), LEVELS, 1)
        hint = f"; did you mean {similar[0]}?" if similar else ""
        raise ConfigError(f"reasoning must be one of {', '.join(LEVELS)}, not {reasoning!r}{hint}", "reasoning")


def _told_apart(vendor: Vendor, given: Credentials | None) -> tuple[str, Credentials | None]:
    """The key that never changes, or who gives one for each request; raises ``ConfigError``."""
    check_credentials(given)
    if isinstance(given, BearerToken) and not given.token.strip():
        given = None
    if given is None or isinstance(given, str):
        return api_key_for(vendor, given), None
    return "", given


def _checked_headers(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Headers that can be sent; raises ``ConfigError``, with no value in it."""
    for name, value in headers.items():
        if not isinstance(name, str) or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ConfigError("a header has a name that no header has", "headers")
        if not isinstance(value, str):
            raise ConfigError(f"the header {name} must be a string, not {type(value).__name__}", "headers")
        if not value.isascii() or not value.replace("\t", " ").isprintable():
            raise ConfigError(f"the header {name} has characters that cannot be sent", "headers")
    return dict(headers)
