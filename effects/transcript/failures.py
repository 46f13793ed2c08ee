"""What went wrong with a call to a service, told from what came back: the same for every service (decision 24).

Pure functions of a status, headers, a provider's own words, or what a client raised; how it is put to people is each
adapter's business. The kind comes from what the provider says first (its code, its words for a full context, an empty
account, a filter or a bad key) and from the status otherwise; a rate limit is never taken for a full context.
Exceptions of HTTP libraries are told by the names of their classes, since no such library may be imported here, and
SDKs change theirs.

Read ``kind_of`` first; ``stage_of`` says how far a call came. ``reports`` reads what providers write, ``waiting`` the
delays that they ask for.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import cast

from .messages import ErrorKind, ModelError, Usage
from .reports import SOON_MS, Report, kind_of_code

__all__ = [
    "Stage",
    "Trouble",
    "causes_of",
    "is_silent_overflow",
    "kind_of",
    "kind_of_report",
    "kind_of_status",
    "stage_of",
    "tls_reason",
    "trouble_of",
]


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

_LOOKED_AT = 16_000
"""How much of somebody else's text is looked through, in characters: time must not grow with its square."""

_FULL_CONTEXT = re.compile(
    r"prompt (is )?too long|input is too long|input token length too long|prompt exceeds max(imum)? length"
    r"|exceed(s|ed)? (the |model'?s |max(imum)? |available )*context (window|size|length|limit)"
    r"|context window exceeds|context[ _]length[ _]exceeded|context_window_exceeded|context the overflows"
    r"|maximum (prompt|context) length|(longer|greater) than the (maximum model|(model'?s )?context) length"
    r"|input token count.*exceed"
    r"|input length \d+ exceeds|range of input length should be|exceed max message tokens|exceeded model token limit"
    r"|reduce the length of the messages|too large for model with|token limit exceeded"
    r"|too many tokens(?![^.\n]{0,40}\bstop)"
    r"|inputs` tokens \+ `max_new_tokens` must be",
    re.IGNORECASE,
)
_OVER_LIMIT = re.compile(
    r"\b(prompt|input|context|token count)\b.{0,80}?exceeds the limit of (\d[\d,]*[ -]tokens?\b"
    r"|(\d{4,}|\d{1,3}(,\d{3})+)(?![\d,]* ?([kmg]?i?b|bytes?|char\w*|pixels?|seconds?|items?)\b))",
    re.IGNORECASE,
)
"""A context is counted in tokens, by the thousand, and in no other unit."""

_OWN_LIMIT = re.compile(r"\b(image|picture|audio|video|file|batch|stop|name|char\w*|byte)s?\b", re.IGNORECASE)
"""What has a limit of its own."""

_NO_CREDIT = re.compile(
    r"credit balance is too low|insufficient (balance|credits?|quota|funds)|overdue balance|in arrears|余额不足|欠费"
    r"|does(n.t| not) have any credits|used all (of )?(its |your |the )?available credits"
    r"|reached (its|your|the) (\w+ )?spending limit|(?<!\w )key limit exceeded",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(r"exceeded your current (\w+ )?quota", re.IGNORECASE)
_NO_USAGE = re.compile(
    r"\b(reached|exceeded)\b[^.\n]{0,60}\busage limits?\b|\busage limits?\b[^.\n]{0,40}\b(reached|exceeded)\b",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"per[ _-]?(second|minute)|\b[rt]pm\b|(retry|try again) (in|after) (an? |one |\d[\d.]* ?)(s|m(?!o)|h)",
    re.IGNORECASE,
)
"""Of a limit that is whole again soon, though in words that are those of an account that is used up."""

_RATE = re.compile(r"rate.?limit|too many requests|throttl|please wait", re.IGNORECASE)
_AT_ONCE = re.compile(
    r"(concurren(t|cy)|rate.?limit)[^.\n]{0,60}\b(exceed|reached)"
    r"|\b(exceed|reached|too many)[^.\n]{0,60}(concurren(t|cy)|rate.?limit)",
    re.IGNORECASE,
)
"""Of a key that may do what it was used for, only not so often: no question of rights, whatever the status says."""
_FILTERED = re.compile(
    r"content exists risk|input was flagged|requires moderation on|considered high risk|new_sensitive"
    r"|may contain (inappropriate content|sensitive information)|violates usage guidelines|SAFETY_CHECK_TYPE"
    r"|blocked by content filter|rejected as a result of our safety system",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"(incorrect|invalid) api key|api key (is )?(not valid|invalid|expired)", re.IGNORECASE)


def stage_of(failed: ErrorKind | ModelError) -> Stage:
    """How far a call came that failed so, unless more is known about it."""
    return _STAGES.get(failed.kind if isinstance(failed, ModelError) else failed, Stage.CONNECT)


def kind_of_report(status: int, report: Report, asked_ms: int | None = None) -> ErrorKind:
    """The kind of a failure by its status (0: none) and what the provider's report says.

    ``asked_ms`` is the delay that the headers ask for in so many words (``retry-after``), in milliseconds. A vendor's
    own number says nothing where its server broke down: 1001 may be anything's number then.
    """
    shaped = report.kind or (report.numbered if status < 500 else None)
    if shaped is not None:
        return shaped
    passing = report.passing
    if passing is None and asked_ms is not None and asked_ms < SOON_MS:
        passing = True
    return kind_of(status, report.code, report.said, passing)


def kind_of(status: int, code: str | None, said: str, passing: bool | None = None) -> ErrorKind:
    """The kind of a failure by its status (0: none), the provider's code and its words.

    ``passing``: whether the limit that was met, if one was, is whole again soon (none: nobody says). A failure without
    a status that says nothing else is a passing one. An empty 400 is a request that was rejected: it was one server's
    way to tell a full context, which has a code for it now, and gateways reject anything so.
    """
    named, said = kind_of_code(code), said[:_LOOKED_AT]
    if status == 403 and named not in (ErrorKind.QUOTA, ErrorKind.REFUSED) and _AT_ONCE.search(said):
        return ErrorKind.RATE_LIMITED
    if named in (None, ErrorKind.RATE_LIMITED) and _is_spent(status, said, passing):
        return ErrorKind.QUOTA
    if named is not None:
        return named
    if status == 429 or (status in (0, 413, 503) and _RATE.search(said)):
        return ErrorKind.RATE_LIMITED
    if status in (0, 400, 403, 422):
        if _FILTERED.search(said):
            return ErrorKind.REFUSED
        if _BAD_KEY.search(said):
            return ErrorKind.UNAUTHORIZED
    if status in (0, 400, 413, 422) and _is_full(said):
        return ErrorKind.RATE_LIMITED if _RATE.search(said) else ErrorKind.OVERFLOW
    if not status:
        return kind_of_code(code, broad=True) or ErrorKind.UNAVAILABLE
    return kind_of_status(status)


def _is_spent(status: int, said: str, passing: bool | None) -> bool:
    """Whether an account is empty, or its quota is used up for longer than a run would wait."""
    if status in (0, 429) and passing is False:
        return True
    if _MOMENT.search(said):
        return False
    if _NO_CREDIT.search(said):
        return True
    if passing or status not in (0, 400, 402, 403, 429):
        return False
    return bool(_NO_QUOTA.search(said) or (_NO_USAGE.search(said) and not _RATE.search(said)))


def _is_full(said: str) -> bool:
    """Whether a provider says that its context is full, and not that something in a request has a limit of its own."""
    if _FULL_CONTEXT.search(said):
        return True
    return any(
        not _OWN_LIMIT.search(said, max(0, found.start() - 40), found.end()) for found in _OVER_LIMIT.finditer(said)
    )


def kind_of_status(status: int) -> ErrorKind:
    """The kind of a failure of which only the status is known."""
    return _STATUSES.get(status, ErrorKind.UNAVAILABLE if status >= 500 else ErrorKind.PROTOCOL)


def is_silent_overflow(usage: Usage, window: int) -> bool:
    """Whether an answer that looks like a success was given to more than fits into its model (``window``, in tokens).

    Some servers cut what they were sent and say nothing; that they counted it gives them away. What was written to a
    cache was sent as well. False where the size is not known (0), and for a server that counts only what it kept.
    """
    return 0 < window < usage.input + usage.cache_read + usage.cache_write


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


def tls_reason(raised: BaseException) -> str:
    """Why a connection is not secure, in the words of the TLS library, where they are found behind what was raised."""
    for error in causes_of(raised):
        if any(cls.__name__ == "SSLError" for cls in type(error).__mro__):
            why = str(getattr(error, "verify_message", "") or getattr(error, "reason", "") or "")
            if why:
                return why.replace("_", " ")
    return ""


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
