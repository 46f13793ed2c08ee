"""Where a service is and the key that it wants: ``Endpoint``, checked once, and addresses below it."""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from ...effects.transcript.reports import SHORTEST_SECRET
from ...effects.values import field, frozen
from .errors import misconfigured

__all__ = ["Endpoint", "endpoint_at", "without_suffixes"]


@frozen
class Endpoint:
    """A service's address and key; ``endpoint_at`` makes one. What may hold a secret shows in no ``repr``.

    ``url`` has no slash at its end; its ``query`` goes with every request. ``name`` is the brand, for texts.
    """

    url: str
    query: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    name: str = ""

    @property
    def host(self) -> str:
        """Host and port, as a person should see them in an error."""
        return urlsplit(self.url).netloc

    @property
    def label(self) -> str:
        """What an error begins with."""
        return self.name or self.host

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return _is_loopback(urlsplit(self.url).hostname or "")

    @property
    def path(self) -> str:
        """The path of the address, with its escapes as they were given."""
        return urlsplit(self.url).path

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not appear in any text; nothing so short that it would turn up in any: see ``scrubbed``."""
        values = [value for _, value in parse_qsl(self.query)]
        return tuple(secret for secret in (self.api_key, self.query, *values) if len(secret) >= SHORTEST_SECRET)

    def scrubbed(self, text: str) -> str:
        """The service's own text without what is secret; nothing of it, where the key is too short to be taken out."""
        return "" if 0 < len(self.api_key) < SHORTEST_SECRET else self.struck(text)

    def struck(self, text: str) -> str:
        """A text of ours without what is secret."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def below(self, path: str, **query: str | int) -> str:
        """The address of something below this one, its own query kept; escapes stay as they are."""
        return self.at(f"{self.path}/{path.lstrip('/')}", query)

    def at(self, path: str, query: Mapping[str, str | int] | None = None) -> str:
        """The address of a path of the same server."""
        parts = urlsplit(self.url)
        pairs = "&".join(filter(None, (self.query, urlencode(query or {}))))
        return urlunsplit((parts.scheme, parts.netloc, path, pairs, ""))


def endpoint_at(base_url: str, api_key: str | None = None, *, name: str = "", allow_http: bool = False) -> Endpoint:
    """The endpoint at an address; raises ``ServiceError``.

    A key travels by https only, unless the server is on this machine or ``allow_http`` says that the network in between
    is one's own.
    """
    text, key = _stripped(base_url, "the base URL"), _stripped("" if api_key is None else api_key, "the API key")
    parts = _parts(text)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise misconfigured("the API key has characters that no key has")
    if (key or parts.query) and parts.scheme != "https" and not allow_http and not _is_loopback(parts.hostname or ""):
        raise misconfigured(
            f"the API key would travel unencrypted to {parts.netloc}: use https, "
            "or say allow_http=True if the network in between is yours"
        )
    url = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/"), "", ""))
    return Endpoint(url, parts.query, key, name)


def without_suffixes(path: str, *suffixes: str) -> str:
    """A path without these endings, which are taken off one after the other."""
    path = path.removesuffix("/")
    for suffix in suffixes:
        path = path.removesuffix(suffix)
    return path


def _stripped(given: object, what: str) -> str:
    """The text without white space around it. What is none is not shown: it may be a secret, or give one."""
    if not isinstance(given, str):
        raise misconfigured(f"{what} must be a text, not {'None' if given is None else type(given).__name__}")
    return given.strip()


def _parts(text: str) -> SplitResult:
    """The parts of a URL that can be one. Its text is never repeated in an error: it may hold a password."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid, parts = False, urlsplit("")
    if not valid or not text.isascii() or not text.isprintable() or " " in text or parts.fragment:
        raise misconfigured("the base URL is malformed: it must look like https://example.com/v1")
    if "@" in parts.netloc:
        raise misconfigured("the base URL must not hold a user name or a password; the API key is given on its own")
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
