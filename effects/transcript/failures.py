"""What went wrong with a call to a service, told from what came back: the same for every service (decision 24).

Pure functions of a status, headers, a provider's own words, or what a client raised; how it is put to people is each
adapter's business. The kind comes from what the provider says first (its code, its words for a full context or an empty
account) and from the status otherwise; a rate limit is never taken for a full context. Exceptions of HTTP libraries are
told by the names of their classes, since no such library may be imported here, and SDKs change theirs.

Read ``kind_of`` first; ``stage_of`` says how far a call came. ``waiting`` reads the delays that servers ask for.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, cast

from .messages import ErrorKind

__all__ = ["Stage", "Trouble", "causes_of", "kind_of", "kind_of_status", "reported", "stage_of", "trouble_of"]


class Stage(StrEnum):
    """Where a call failed: on its way, at the check of its key, at that of its rights, or at what it asked for."""

    CONNECT = "connect"
    AUTHENTICATE = "authenticate"
    AUTHORIZE = "authorize"
    CAPABILITY = "capability"


class Trouble(StrEnum):
    """What kept an answer from arriving, as a client noticed it."""

    TIMEOUT = "timeout"
    TLS = "tls"
    NO_HOST = "no_host"
    REFUSED = "refused"
    BROKEN = "broken"
    UNSENDABLE = "unsendable"
    UNDECODABLE = "undecodable"
    UNKNOWN = "unknown"

    @property
    def kind(self) -> ErrorKind:
        """The kind of failure that it is."""
        return _TROUBLES.get(self, ErrorKind.NETWORK)


_TROUBLES = {
    Trouble.TIMEOUT: ErrorKind.TIMEOUT,
    Trouble.TLS: ErrorKind.TLS,
    Trouble.UNSENDABLE: ErrorKind.INVALID_CONFIG,
    Trouble.UNDECODABLE: ErrorKind.PROTOCOL,
    Trouble.UNKNOWN: ErrorKind.PROTOCOL,
}

_STAGES = {
    ErrorKind.UNAUTHORIZED: Stage.AUTHENTICATE,
    ErrorKind.FORBIDDEN: Stage.AUTHORIZE,
    **dict.fromkeys(
        (
            ErrorKind.NOT_FOUND,
            ErrorKind.RATE_LIMITED,
            ErrorKind.QUOTA,
            ErrorKind.OVERFLOW,
            ErrorKind.INVALID_REQUEST,
            ErrorKind.PROTOCOL,
            ErrorKind.REFUSED,
        ),
        Stage.CAPABILITY,
    ),
}

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
    "API_KEY_INVALID": ErrorKind.UNAUTHORIZED,
    "authentication_error": ErrorKind.UNAUTHORIZED,
    "InvalidApiKey": ErrorKind.UNAUTHORIZED,
    "invalid_token": ErrorKind.UNAUTHORIZED,
    "token_expired": ErrorKind.UNAUTHORIZED,
    "expired_token": ErrorKind.UNAUTHORIZED,
    "ExpiredTokenException": ErrorKind.UNAUTHORIZED,
    "permission_error": ErrorKind.FORBIDDEN,
    "model_not_found": ErrorKind.NOT_FOUND,
    "not_found_error": ErrorKind.NOT_FOUND,
    "content_filter": ErrorKind.REFUSED,
    "content_policy_violation": ErrorKind.REFUSED,
    "image_content_policy_violation": ErrorKind.REFUSED,
    "misalignment_policy_violation": ErrorKind.REFUSED,
    "bio_policy": ErrorKind.REFUSED,
    "invalid_prompt": ErrorKind.INVALID_REQUEST,
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
_AGAIN = re.compile(r"please (retry|try again) in \d", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests|throttl|please wait", re.IGNORECASE)
_AT_ONCE = re.compile(r"concurren(t|cy)|rate.?limit", re.IGNORECASE)
"""Of a key that may do what it was used for, only not so often: no question of rights, whatever the status says."""


def stage_of(kind: ErrorKind) -> Stage:
    """How far a call came that failed so, unless more is known about it."""
    return _STAGES.get(kind, Stage.CONNECT)


def kind_of(status: int, code: str | None, said: str) -> ErrorKind:
    """The kind of a failure by its status (0: none), the provider's code and its words.

    A failure without a status that says nothing else is a passing one.
    """
    if status == 403 and _AT_ONCE.search(said):
        return ErrorKind.RATE_LIMITED
    named = _CODES.get(code or "")
    if named is not None and code not in _BROAD:
        return named
    if _NO_CREDIT.search(said) and not _AGAIN.search(said):
        return ErrorKind.QUOTA
    if status == 429 or (status in (0, 503) and _RATE.search(said)):
        return ErrorKind.RATE_LIMITED
    if status in (0, 400, 413, 422) and _FULL_CONTEXT.search(said) and not _RATE.search(said):
        return ErrorKind.OVERFLOW
    if not status:
        return named or ErrorKind.UNAVAILABLE
    return kind_of_status(status)


def kind_of_status(status: int) -> ErrorKind:
    """The kind of a failure of which only the status is known."""
    return _STATUSES.get(status, ErrorKind.UNAVAILABLE if status >= 500 else ErrorKind.PROTOCOL)


def reported(value: Any) -> tuple[str | None, str]:
    """The code and the words in an error report, in any of the shapes that providers use."""
    report = _object(cast("list[Any]", value)[0] if isinstance(value, list) and value else value)
    inner = report.get("error")
    if isinstance(inner, str):
        return None, inner
    report = _object(inner) or report
    said = _text(report.get("message")) or _text(report.get("detail"))
    details = report.get("details")
    for detail in cast("list[Any]", details) if isinstance(details, list) else []:
        if (reason := _text(_object(detail).get("reason"))) in _CODES:
            return reason, said
    for name in ("code", "type", "status"):
        code = report.get(name)
        if isinstance(code, str | int) and not isinstance(code, bool) and code not in ("", "error"):
            known = str(code)
            other = _text(report.get("type"))
            return (other if known not in _CODES and other in _CODES and other not in _BROAD else known), said
    return None, said


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


# What clients raise.

_NAMES: tuple[tuple[Trouble, frozenset[str]], ...] = (
    (Trouble.TIMEOUT, frozenset({"TimeoutException", "TimeoutError", "TooSlowError"})),
    (Trouble.TLS, frozenset({"SSLError"})),
    (Trouble.NO_HOST, frozenset({"gaierror"})),
    (Trouble.REFUSED, frozenset({"ConnectionRefusedError"})),
    (
        Trouble.BROKEN,
        frozenset(
            {"NetworkError", "RemoteProtocolError", "ProxyError", "OSError", "BrokenResourceError", "EndOfStream"}
        ),
    ),
    (Trouble.UNSENDABLE, frozenset({"LocalProtocolError", "UnsupportedProtocol", "InvalidURL"})),
    (Trouble.UNDECODABLE, frozenset({"DecodingError"})),
)


def trouble_of(raised: BaseException) -> Trouble:
    """What kept an answer from arriving, found anywhere behind what a client raised."""
    names = {cls.__name__ for error in causes_of(raised) for cls in type(error).__mro__}
    return next((trouble for trouble, known in _NAMES if known & names), Trouble.UNKNOWN)


def causes_of(raised: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from, and the members of groups; each once."""
    waiting, seen = [raised], set[int]()
    while waiting:
        error = waiting.pop(0)
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(cast("BaseExceptionGroup[BaseException]", error).exceptions)
        waiting.extend(cause for cause in (error.__cause__, error.__context__) if cause is not None)
