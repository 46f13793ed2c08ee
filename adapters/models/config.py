"""What a model behind a network needs to know, checked once: ``ModelConfig``, and the typed error for what is wrong."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, urlsplit, urlunsplit

from ...effects.model import ModelRequest
from ...effects.transcript import ErrorKind
from ...effects.transcript.boundary import DEFAULT_WORDING, Target, Wording
from ...effects.transcript.reports import SHORTEST_SECRET
from ...effects.values import field, frozen, replace
from .vendors import VENDORS, Gateway, Vendor, protocols_of, through, vendor_of

__all__ = [
    "ConfigError",
    "ModelConfig",
    "Patience",
    "api_key_for",
    "append_path",
    "base_url_for",
    "check_secrecy",
    "checked_key",
    "is_loopback",
    "vendor_for",
]


_NOTHING: Mapping[str, Any] = {}

_OTHER_NAMES: Mapping[str, str] = {
    "claude": "anthropic",
    "chatgpt": "openai",
    "gemini": "google",
    "qwen": "alibaba",
    "dashscope": "alibaba",
    "kimi": "moonshot",
    "glm": "zhipu",
    "doubao": "volcengine",
    "ark": "volcengine",
    "grok": "xai",
}
"""What people also call a brand: by a model of theirs. Not accepted, but understood."""


class ConfigError(ValueError):
    """A model that cannot be made as asked; one line that says what to change, and never a secret.

    ``about`` is the parameter of ``make_model`` that is wrong or missing (empty: none in particular), for programs that
    have another name for it.
    """

    kind = ErrorKind.INVALID_CONFIG

    def __init__(self, message: str, about: str = "") -> None:
        super().__init__(message)
        self.about = about


@frozen
class Patience:
    """How long to wait for a provider, in seconds: for a connection, until it answers, and from piece to piece.

    A comment or a ping is a piece too: some providers send nothing else while a request waits for its turn, or while
    the model thinks. ``queue_s`` is how long that may go on before something of the answer must come.
    """

    connect_s: float = 10.0
    headers_s: float = 120.0
    stall_s: float = 300.0
    queue_s: float = 1800.0


@frozen
class ModelConfig:
    """One model of one vendor at one address.

    ``options`` are members of the request body, put in last; those of a request come after them. ``max_output_tokens``
    counts where a request has no limit of its own (0: none). ``pauses``: how often an answer that its provider only
    paused is gone on with. ``query`` and ``headers`` go with every request. None of what may hold a secret shows in
    ``repr``. ``key_may_travel``: whether a key may be sent to the address at all. ``bearer``: the key is a bearer
    token, whatever the protocol. ``withheld`` are other keys that no text may show.
    """

    vendor: Vendor
    model: str
    base_url: str
    api_key: str = field(default="", repr=False)
    query: Mapping[str, str] = field(default=_NOTHING, repr=False)
    headers: Mapping[str, str] = field(default=_NOTHING, repr=False)
    images: bool = True
    max_output_tokens: int = 0
    pauses: int = 10
    options: Mapping[str, Any] = field(default=_NOTHING, repr=False)
    patience: Patience = Patience()
    wording: Wording = DEFAULT_WORDING
    key_may_travel: bool = True
    bearer: bool = False
    withheld: tuple[str, ...] = field(default=(), repr=False)

    def serving(self, request: ModelRequest) -> "ModelConfig":
        """This configuration for one request: with the model it chose, if it is this vendor's, and the key it brought.

        A key comes as the option ``api_key``, resolved for this one call (decision 49); raises ``ConfigError`` where it
        may not be sent.
        """
        key, choice = request.options.get("api_key"), request.model
        if key is not None and not isinstance(key, str):
            raise ConfigError(f"the option api_key must be a string, not {type(key).__name__}", "api_key")
        config = self
        if choice is not None and choice.id and choice.provider in ("", self.vendor.name):
            config = replace(config, model=choice.id)
        return config.with_key(key) if key else config

    def with_key(self, key: str, bearer: bool = False, withheld: tuple[str, ...] = ()) -> "ModelConfig":
        """This configuration with another key; raises ``ConfigError`` where it may not be sent, or cannot be."""
        if not self.key_may_travel:
            raise ConfigError(_unencrypted(self.host), "allow_http")
        return replace(self, api_key=checked_key(key), bearer=bearer, withheld=withheld)

    @property
    def target(self) -> Target:
        """This model, as a reader of transcripts."""
        return Target(self.vendor.protocol, self.vendor.name, self.model, self.images)

    @property
    def host(self) -> str:
        """Host and port, as a person should see them in an error."""
        return urlsplit(self.base_url).netloc

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not appear in any text, as it is and as it is escaped in an address; the longest first.

        Nothing so short that it would turn up in any sentence: see ``scrubbed``.
        """
        plain = {secret for secret in self._held() if len(secret) >= SHORTEST_SECRET}
        escaped = {escape(secret) for secret in plain for escape in (quote, quote_plus, partial(quote, safe=""))}
        return tuple(sorted(plain | escaped, key=len, reverse=True))

    def scrubbed(self, text: str) -> str:
        """Somebody else's text without what is secret; nothing of it, where a key is too short to be taken out."""
        if any(0 < len(key) < SHORTEST_SECRET for key in (self.api_key, *self.withheld)):
            return ""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def _held(self) -> tuple[str, ...]:
        words = [word for value in self.headers.values() for word in value.split()]
        return (self.api_key, *self.withheld, *self.query.values(), *words)


def vendor_for(brand: str, protocol: str = "", gateway: Gateway | None = None) -> Vendor:
    """The vendor of that name, for one of its protocols or behind a gateway.

    Raises ``ConfigError`` with the names there are.
    """
    if brand not in VENDORS:
        name = brand.strip().lower()
        near = get_close_matches(_OTHER_NAMES.get(name, name), VENDORS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError(f"unknown brand {brand!r}; known are {', '.join(VENDORS)}{hint}", "brand")
    if gateway is not None and protocol:
        raise ConfigError("a gateway names its protocol itself: leave the other one out", "protocol")
    vendor = vendor_of(brand, protocol)
    if vendor is None:
        known = ", ".join(protocols_of(brand))
        raise ConfigError(
            f"{brand} does not speak {protocol!r}, only {known}; for a server in between that does, say gateway=...",
            "protocol",
        )
    return vendor if gateway is None else through(vendor, gateway)


def api_key_for(vendor: Vendor, api_key: str | None) -> str:
    """The key without white space around it, or nothing where none is needed; raises ``ConfigError``."""
    key = checked_key(api_key or "")
    if not key and not vendor.key_optional:
        raise ConfigError(f"{vendor.name} needs an API key: say api_key=...", "api_key")
    return key


def checked_key(key: str) -> str:
    """A key without white space around it, if it is one that can be sent; raises ``ConfigError``."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("the API key has characters that no key has", "api_key")
    return key


def base_url_for(vendor: Vendor, base_url: str | None) -> tuple[str, dict[str, str]]:
    """The address for the vendor's protocol and its query; none given: the vendor's own. Raises ``ConfigError``."""
    text = (vendor.base_url if base_url is None else base_url).strip()
    if not text:
        own = "" if base_url is None or not vendor.base_url else f", or None for {vendor.name}'s own"
        raise ConfigError(f"{vendor.name} needs a base URL, such as https://example.com/v1{own}", "base_url")
    parts = _parts(text)
    path = parts.path.rstrip("/")
    path = path.removesuffix(next(filter(path.endswith, vendor.strips), ""))
    whole = urlsplit(append_path(urlunsplit(parts._replace(path=path)), vendor.appends))
    return f"{whole.scheme}://{whole.netloc}{whole.path}", dict(parse_qsl(whole.query, keep_blank_values=True))


def _parts(text: str) -> SplitResult:
    """The parts of a URL that can be one. Its text is never repeated in an error: it may hold a password."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid, parts = False, urlsplit("")
    if not valid or not text.isascii() or not text.isprintable() or " " in text or parts.fragment:
        raise ConfigError("the base URL is malformed: it must look like https://example.com/v1", "base_url")
    if "@" in parts.netloc:
        phrase = "the base URL must not hold a user name or a password; the API key is given on its own"
        raise ConfigError(phrase, "base_url")
    return parts


def append_path(endpoint: str, path: str) -> str:
    """A path, or none, below an address that may have one itself, and a query; what is escaped in either stays so.

    Raises ``ConfigError`` for an address that is none and for an escape that is none.
    """
    parts = _parts(endpoint.strip())
    whole = f"{parts.path.removesuffix('/')}/{path.lstrip('/')}" if path else parts.path
    if re.search("%(?![0-9A-Fa-f]{2})", whole):
        raise ConfigError("the base URL is malformed: a % in its path must begin an escape such as %20", "base_url")
    return urlunsplit(parts._replace(path=whole))


def check_secrecy(base_url: str, secret: bool, allow_http: bool) -> bool:
    """Whether a key may travel to the address: by https, on this machine, or if ``allow_http`` says so.

    Raises ``ConfigError`` where one is about to (``secret``) and may not.
    """
    parts = urlsplit(base_url)
    safe = allow_http or parts.scheme == "https" or is_loopback(parts.hostname or "")
    if secret and not safe:
        raise ConfigError(_unencrypted(parts.netloc), "allow_http")
    return safe


def _unencrypted(host: str) -> str:
    return (
        f"the API key would travel unencrypted to {host}: use https, "
        "or say allow_http=True if the network in between is yours"
    )


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, by its name or address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
