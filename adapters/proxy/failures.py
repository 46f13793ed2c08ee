"""What went wrong with a call through the proxy, as a ``ModelError``: one text for people, a kind for programs.

The proxy's own words are shown as they are, for it is one's own server; they are bounded, on no account do they hold
the token. Texts of the HTTP library are never used: some of them hold headers. Kinds come from
``effects.transcript.failures``.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.failures import Trouble, kind_of_status, trouble_of
from ...effects.transcript.text import clean_text
from ...effects.transcript.waiting import retry_after_ms
from .config import ProxyConfig

__all__ = ["ABORTED", "failure", "of_exception", "of_status", "scrubbed"]

ABORTED = ModelError(ErrorKind.ABORTED, "Request aborted by user")

_TEXT_MAX = 2_000


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
    kind = kind_of_status(status)
    error = failure(config, kind, f"Proxy error: {said}")
    return ModelError(
        kind, error.message, status, retry_after_ms=retry_after_ms(headers, now, kind is ErrorKind.RATE_LIMITED)
    )


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


# What the HTTP library raises.


def of_exception(config: ProxyConfig, raised: Exception) -> ModelError:
    """The failure behind whatever the client raised, found anywhere in its chain."""
    trouble = trouble_of(raised)
    return failure(config, trouble.kind, _words(config.host, trouble, raised))


def _words(host: str, trouble: Trouble, raised: Exception) -> str:
    match trouble:
        case Trouble.TIMEOUT:
            return f"{host} did not answer in time"
        case Trouble.TLS:
            return f"no secure connection to {host}; check the proxy's URL and the certificates of this machine"
        case Trouble.NO_HOST:
            return f"there is no host called {host}; check the proxy's URL"
        case Trouble.REFUSED:
            return f"{host} refused the connection; is the proxy running?"
        case Trouble.BROKEN:
            return f"the connection to {host} broke off"
        case Trouble.UNSENDABLE:
            return "the request cannot be sent: check the proxy's URL"
        case Trouble.UNDECODABLE:
            return f"{host} sent an answer that cannot be decoded"
        case _:
            return f"the client failed with {type(raised).__name__}"
