"""What went wrong with a call through the proxy, as a ``ModelError``: one text for people, a kind for programs.

The proxy's own words are shown as they are, for it is one's own server; they are bounded, on no account do they hold
the token. Texts of the HTTP library are never used: some of them hold headers.
"""

import json
import math
import socket
import ssl
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

import httpx

from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.text import clean_text
from .config import ProxyConfig

__all__ = ["ABORTED", "failure", "of_exception", "of_status", "scrubbed"]

ABORTED = ModelError(ErrorKind.ABORTED, "Request aborted by user")

_TEXT_MAX = 2_000

_STATUSES = {
    400: ErrorKind.INVALID_REQUEST,
    401: ErrorKind.UNAUTHORIZED,
    402: ErrorKind.QUOTA,
    403: ErrorKind.FORBIDDEN,
    404: ErrorKind.NOT_FOUND,
    408: ErrorKind.TIMEOUT,
    413: ErrorKind.OVERFLOW,
    422: ErrorKind.INVALID_REQUEST,
    429: ErrorKind.RATE_LIMITED,
    504: ErrorKind.TIMEOUT,
}


def failure(config: ProxyConfig, kind: ErrorKind, text: str) -> ModelError:
    """A failure in words that may hold somebody else's."""
    return ModelError(kind, scrubbed(config, text))


def scrubbed(config: ProxyConfig, text: str) -> str:
    """The beginning of a text that is not ours, without the token."""
    text = clean_text(text).replace(config.token, "***")
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"


# Answers that are no success.


def of_status(
    config: ProxyConfig, status: int, phrase: str, headers: Mapping[str, str], page: bytes | None, now: float
) -> ModelError:
    """The failure that an answer with this status is: what its page says, or else the status itself.

    ``page`` is nothing where it could not be read to its end; ``now`` is in seconds since the epoch.
    """
    said = _reported(page) or f"{status} {phrase}".strip()
    if 300 <= status < 400:
        said += " (redirects are not followed)"
    kind = _STATUSES.get(status, ErrorKind.UNAVAILABLE if status >= 500 else ErrorKind.PROTOCOL)
    error = failure(config, kind, f"Proxy error: {said}")
    return ModelError(kind, error.message, status, retry_after_ms=_retry_after_ms(headers.get("retry-after"), now))


def _reported(page: bytes | None) -> str:
    """The member ``error`` of a page that is a JSON object, as text; empty if it says nothing."""
    try:
        value = json.loads((page or b"").decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return ""
    return _spelled(cast("dict[str, Any]", value).get("error")) if isinstance(value, dict) else ""


def _spelled(error: Any) -> str:
    """What an error says: texts and numbers as they are, lists by their items, objects by their ``message``."""
    match error:
        case str():
            return error
        case bool():
            return "true" if error else ""
        case int() | float():
            return f"{int(error) if float(error).is_integer() else error}" if error and math.isfinite(error) else ""
        case list():
            return ",".join(map(_item, cast("list[Any]", error)))
        case {"message": str(said)}:
            return said
        case _:
            return ""


def _item(item: Any) -> str:
    if isinstance(item, bool):
        return str(item).lower()
    return "0" if item == 0 else _spelled(item)


def _retry_after_ms(text: str | None, now: float) -> int | None:
    """The delay the proxy asked for, in milliseconds: it may be seconds or a date."""
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0, round(seconds * 1000)) if math.isfinite(seconds) else None


# What the HTTP library raises.


def of_exception(config: ProxyConfig, raised: Exception) -> ModelError:
    """The failure behind whatever the client raised, found anywhere in its chain."""
    chain = list(_chain(raised))
    host = config.host
    if any(isinstance(error, TimeoutError | httpx.TimeoutException) for error in chain):
        return failure(config, ErrorKind.TIMEOUT, f"{host} did not answer in time")
    if any(isinstance(error, ssl.SSLError) for error in chain):
        text = f"no secure connection to {host}; check the proxy's URL and the certificates of this machine"
        return failure(config, ErrorKind.TLS, text)
    if any(isinstance(error, socket.gaierror) for error in chain):
        return failure(config, ErrorKind.NETWORK, f"there is no host called {host}; check the proxy's URL")
    if any(isinstance(error, ConnectionRefusedError) for error in chain):
        return failure(config, ErrorKind.NETWORK, f"{host} refused the connection; is the proxy running?")
    if isinstance(raised, httpx.NetworkError | httpx.RemoteProtocolError | httpx.ProxyError | OSError):
        return failure(config, ErrorKind.NETWORK, f"the connection to {host} broke off")
    if isinstance(raised, httpx.LocalProtocolError | httpx.UnsupportedProtocol | httpx.InvalidURL):
        return failure(config, ErrorKind.INVALID_CONFIG, "the request cannot be sent: check the proxy's URL")
    return failure(config, ErrorKind.PROTOCOL, f"the client failed with {type(raised).__name__}")


def _chain(raised: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from, and the members of groups; each once."""
    waiting, seen = [raised], set[int]()
    while waiting:
        error = waiting.pop(0)
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(error.exceptions)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        waiting.extend(cause for cause in (error.__cause__, error.__context__) if cause is not None)
