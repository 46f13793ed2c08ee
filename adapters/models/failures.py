"""What went wrong with a model call, as a ``ModelError``: one clear line for people, a kind for programs (decision 24).

Three doors: ``of_status`` for an answer that is no success, ``of_report`` for an error that a provider reports in the
middle of an answer, ``of_exception`` for everything that a client raises. The kind comes from what the provider says
first (its code, its words for a full context) and from the status otherwise; a rate limit is never taken for a full
context. Exceptions of HTTP libraries are told by the names of their classes, since the SDKs changed libraries once and
nothing here may import one; their texts are never used, because some of them hold headers.
"""

import json
import math
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.text import clean_text
from .config import ModelConfig
from .wire import as_list, as_object, as_text

__all__ = [
    "ModelFailureError",
    "NoStreamError",
    "failure",
    "of_exception",
    "of_page",
    "of_report",
    "of_status",
    "retry_after_ms",
]

_EXCERPT = 300


class NoStreamError(Exception):
    """A response that is no stream of events: its status and headers, and the beginning of its page."""

    def __init__(self, status: int, headers: Mapping[str, str], page: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.page = page


class ModelFailureError(Exception):
    """A model call failed, and ``error`` says how. Never leaves this package."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(error.message)
        self.error = error


# What providers call things.

_CODES: dict[str, ErrorKind] = {
    "insufficient_quota": ErrorKind.QUOTA,
    "insufficient_user_quota": ErrorKind.QUOTA,
    "billing_hard_limit_reached": ErrorKind.QUOTA,
    "billing_not_active": ErrorKind.QUOTA,
    "billing_error": ErrorKind.QUOTA,
    "contract_spend_limit_reached": ErrorKind.QUOTA,
    "enforced_spend_limit_reached": ErrorKind.QUOTA,
    "context_length_exceeded": ErrorKind.OVERFLOW,
    "model_context_window_exceeded": ErrorKind.OVERFLOW,
    "request_too_large": ErrorKind.OVERFLOW,
    "rate_limit_exceeded": ErrorKind.RATE_LIMITED,
    "rate_limit_error": ErrorKind.RATE_LIMITED,
    "invalid_api_key": ErrorKind.UNAUTHORIZED,
    "authentication_error": ErrorKind.UNAUTHORIZED,
    "permission_error": ErrorKind.FORBIDDEN,
    "model_not_found": ErrorKind.NOT_FOUND,
    "not_found_error": ErrorKind.NOT_FOUND,
    "content_filter": ErrorKind.REFUSED,
    "content_policy_violation": ErrorKind.REFUSED,
    "overloaded_error": ErrorKind.UNAVAILABLE,
    "server_error": ErrorKind.UNAVAILABLE,
    "api_error": ErrorKind.UNAVAILABLE,
    "timeout_error": ErrorKind.TIMEOUT,
    "invalid_request_error": ErrorKind.INVALID_REQUEST,
}
_BROAD = frozenset({"invalid_request_error", "server_error", "api_error"})

_STATUSES: dict[int, ErrorKind] = {
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

_FULL_CONTEXT = re.compile(
    r"prompt is too long|input is too long|exceeds? the (available )?context (window|size)|input token count.*exceed"
    r"|maximum (prompt|context) length|reduce the length of the messages|greater than the context length"
    r"|context window exceeds|exceeded model token limit|too large for model with|context[ _]length[ _]exceeded"
    r"|context_window_exceeded|too many tokens|token limit exceeded",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(
    r"credit balance is too low|insufficient (balance|credits?|quota|funds)|exceeded your current quota", re.IGNORECASE
)
_RATE = re.compile(r"rate.?limit|too many requests|throttl|please wait", re.IGNORECASE)


# Answers that are no success.


def of_status(config: ModelConfig, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelError:
    """The failure that an answer with this status is. ``body`` is its beginning, ``now`` seconds since the epoch."""
    text = body.decode("utf-8", "replace").strip()
    code, said = _reported(_json(text))
    if not said and not text.startswith(("<", "{", "[")):
        said = text
    kind = _kind(status, code, said)
    return _error(
        config,
        kind,
        said,
        status=status,
        code=code,
        request_id=headers.get("x-request-id") or headers.get("request-id"),
        retry_after=retry_after_ms(headers, now),
    )


def of_page(config: ModelConfig, page: bytes) -> ModelError:
    """The failure that a success without a stream of events is: a web page, or an error report in disguise."""
    value = _json(page.decode("utf-8", "replace"))
    if as_object(value).get("error"):
        return of_report(config, value)
    what = "a web page" if value is None else "JSON"
    phrase = f"{config.host} answered with {what} instead of a stream of events; check the base URL"
    return _error(config, ErrorKind.PROTOCOL, phrase=phrase)


def of_report(config: ModelConfig, report: Any, request_id: str | None = None) -> ModelError:
    """The failure that a provider reports in place of the rest of its answer; a passing one unless it says more."""
    code, said = _reported(report)
    status = int(code) if code and code.isascii() and code.isdigit() and len(code) == 3 else 0
    kind = _kind(status, code, said)
    return _error(config, kind, said, status=status, code=code, request_id=request_id)


def _kind(status: int, code: str | None, said: str) -> ErrorKind:
    named = _CODES.get(code or "")
    if named is not None and code not in _BROAD:
        return named
    if _NO_CREDIT.search(said):
        return ErrorKind.QUOTA
    if status == 429 or (status in (0, 503) and _RATE.search(said)):
        return ErrorKind.RATE_LIMITED
    if status in (0, 400, 413, 422) and _FULL_CONTEXT.search(said) and not _RATE.search(said):
        return ErrorKind.OVERFLOW
    if status in _STATUSES:
        return _STATUSES[status]
    if not status:
        return named or ErrorKind.UNAVAILABLE
    return ErrorKind.UNAVAILABLE if status >= 500 else ErrorKind.PROTOCOL


def _reported(value: Any) -> tuple[str | None, str]:
    """The code and the words in an error report, in any of the shapes that providers use."""
    listed = as_list(value)
    report = as_object(listed[0] if listed else value)
    inner = report.get("error")
    if isinstance(inner, str):
        return None, inner
    report = as_object(inner) or report
    said = as_text(report.get("message")) or as_text(report.get("detail"))
    for name in ("code", "type", "status"):
        code = report.get(name)
        if isinstance(code, str | int) and not isinstance(code, bool) and code not in ("", "error"):
            known = str(code)
            other = as_text(report.get("type"))
            return (other if known not in _CODES and other in _CODES and other not in _BROAD else known), said
    return None, said


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def retry_after_ms(headers: Mapping[str, str], now: float) -> int | None:
    """The delay the server asked for, in milliseconds: ``retry-after-ms``, or ``retry-after`` (seconds or a date)."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return max(0, round(exact))
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is None and text:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return None if seconds is None else max(0, round(seconds * 1000))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# What clients raise.


def of_exception(config: ModelConfig, raised: BaseException) -> ModelError:
    """The failure behind whatever a client raised, found anywhere in its chain."""
    chain = list(_chain(raised))
    for error in chain:
        if isinstance(error, NoStreamError):
            if 200 <= error.status < 300:
                return of_page(config, error.page)
            return of_status(config, error.status, error.headers, error.page, time.time())
    names = {cls.__name__ for error in chain for cls in type(error).__mro__}
    if names & {"TimeoutException", "TimeoutError", "TooSlowError"}:
        return _error(config, ErrorKind.TIMEOUT, phrase=f"{config.host} did not answer in time")
    for error in chain:
        if isinstance(error, ssl.SSLError):
            reason = getattr(error, "verify_message", "") or getattr(error, "reason", "") or ""
            return _error(config, ErrorKind.TLS, str(reason).replace("_", " "))
        if isinstance(error, socket.gaierror):
            return _error(
                config, ErrorKind.NETWORK, phrase=f"there is no host called {config.host}; check the base URL"
            )
        if isinstance(error, ConnectionRefusedError):
            phrase = f"{config.host} refused the connection; is the server running, and is the base URL right?"
            return _error(config, ErrorKind.NETWORK, phrase=phrase)
    if names & {"NetworkError", "RemoteProtocolError", "ProxyError", "OSError", "BrokenResourceError", "EndOfStream"}:
        return _error(config, ErrorKind.NETWORK, phrase=f"the connection to {config.host} broke off")
    if names & {"LocalProtocolError", "UnsupportedProtocol", "InvalidURL"}:
        return _error(config, ErrorKind.INVALID_CONFIG, phrase="the request cannot be sent: check base URL and headers")
    if names & {"DecodingError"}:
        return _error(config, ErrorKind.PROTOCOL, phrase=f"{config.host} sent an answer that cannot be decoded")
    if isinstance(raised, ValueError | TypeError | RecursionError):
        return _error(
            config, ErrorKind.INVALID_REQUEST, phrase="the request cannot be written as JSON: check the options"
        )
    return _error(config, ErrorKind.PROTOCOL, phrase=f"the client failed with {type(raised).__name__}")


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


# Words for people.


def failure(config: ModelConfig, kind: ErrorKind, phrase: str) -> ModelFailureError:
    """A failure in our own words, to be raised."""
    return ModelFailureError(_error(config, kind, phrase=phrase))


def _error(
    config: ModelConfig,
    kind: ErrorKind,
    said: str = "",
    *,
    phrase: str = "",
    status: int = 0,
    code: str | None = None,
    request_id: str | None = None,
    retry_after: int | None = None,
) -> ModelError:
    text = f"{config.vendor.name}: {phrase or _phrase(config, kind, status, retry_after)}"
    if status:
        text += f" ({status})"
    if said := _excerpt(said, config):
        text += f": {said}"
    code = code and _excerpt(code, config)
    return ModelError(kind, text, status, code, request_id and _excerpt(request_id, config), retry_after)


def _phrase(config: ModelConfig, kind: ErrorKind, status: int, retry_after: int | None) -> str:
    match kind:
        case ErrorKind.UNAUTHORIZED:
            return "the API key was not accepted; check TURNFOLD_API_KEY"
        case ErrorKind.FORBIDDEN:
            return f"the API key may not use the model {config.model}"
        case ErrorKind.NOT_FOUND:
            return f"{config.host} does not know the model {config.model}; check the model's name and the base URL"
        case ErrorKind.RATE_LIMITED:
            again = "" if retry_after is None else f"; it asks to wait {retry_after / 1000:g} s"
            return f"too many requests{again}"
        case ErrorKind.QUOTA:
            return "the account's quota or credit is used up"
        case ErrorKind.OVERFLOW:
            return f"the request is too long for the model {config.model}"
        case ErrorKind.INVALID_REQUEST:
            return "the request was rejected"
        case ErrorKind.TIMEOUT:
            return f"{config.host} gave up waiting for the model"
        case ErrorKind.TLS:
            return f"no secure connection to {config.host}; check the base URL and the certificates of this machine"
        case ErrorKind.REFUSED:
            return "the request was refused by a content filter"
        case ErrorKind.PROTOCOL if 300 <= status < 400:
            return (
                f"{config.host} redirects, and redirects are not followed; put the address it points to in the base URL"
            )
        case ErrorKind.UNAVAILABLE:
            return f"{config.host} cannot answer at the moment"
        case _:
            return f"{config.host} gave an unexpected answer"


def _excerpt(text: str, config: ModelConfig) -> str:
    """The beginning of somebody else's text, on one line and without secrets."""
    for secret in config.secrets:
        text = text.replace(secret, "***")
    line = " ".join(clean_text(text).split())
    line = "".join(character if character.isprintable() else "\ufffd" for character in line[: _EXCERPT + 1])
    return line if len(line) <= _EXCERPT else line[:_EXCERPT] + "…"
