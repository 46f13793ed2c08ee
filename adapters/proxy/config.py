"""What a proxy's client needs to know, checked once: where to go, the token to show, and how long to wait."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from ...effects.values import field, frozen

__all__ = ["Patience", "ProxyConfig", "ProxyConfigError", "is_loopback", "make_config"]


class ProxyConfigError(ValueError):
    """A proxy that cannot be asked as configured; one line that says what to change, and never a secret."""


@frozen
class Patience:
    """How long to wait for the proxy, in seconds: for a connection, until it answers, and from piece to piece."""

    connect_s: float = 10.0
    headers_s: float = 120.0
    stall_s: float = 300.0


@frozen
class ProxyConfig:
    """One proxy. ``url`` is put before the path as it is; ``token`` shows in no text."""

    url: str
    token: str = field(repr=False)
    patience: Patience = Patience()

    @property
    def host(self) -> str:
        """Host and port, as a person should see them in an error."""
        return urlsplit(self.url).netloc

    @property
    def local(self) -> bool:
        """Whether the proxy runs on this machine."""
        return is_loopback(urlsplit(self.url).hostname or "")


def make_config(url: str, token: str, patience: Patience, allow_http: bool) -> ProxyConfig:
    """The configuration, if it is one; raises ``ProxyConfigError``."""
    parts = _parts(url)
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ProxyConfigError("the proxy's token is empty or has characters that no token has")
    if parts.scheme != "https" and not allow_http and not is_loopback(parts.hostname or ""):
        raise ProxyConfigError(
            f"the token would travel unencrypted to {parts.netloc}: use https, "
            "or say allow_http=True if the network in between is yours"
        )
    return ProxyConfig(url, token, patience)


def _parts(url: str) -> SplitResult:
    """The parts of a URL that can be one. Its text is never repeated in an error: it may hold a password."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid, parts = False, urlsplit("")
    if not valid or not url.isascii() or not url.isprintable() or " " in url or parts.query or parts.fragment:
        raise ProxyConfigError("the proxy's URL is malformed: it must look like https://proxy.example.com")
    if "@" in parts.netloc:
        raise ProxyConfigError("the proxy's URL must not hold a user name or a password; the token is given on its own")
    return parts


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, by its name or address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
