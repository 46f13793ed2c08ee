"""Error reports, in any of the shapes that providers use: the code and the words in them, and what they stand for.

Pure reading of decoded JSON that somebody else wrote: nothing in it is of a certain type, and any text may be long.
Some vendors number their errors; their numbers mean something in the vendor's own shape or from the vendor itself only,
since another's are others (1002 is a rate limit here and a bad key there). What a gateway repeats of the server behind
it is read as well.

Read ``reported`` first. What kind of failure a report is, all in all, says ``failures.kind_of_report``.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from ..values import frozen, replace
from .messages import ErrorKind
from .waiting import retry_info_ms

__all__ = ["SHORTEST_SECRET", "SOON_MS", "Report", "is_markup", "is_report", "kind_of_code", "reported", "shown_code"]

SHORTEST_SECRET = 4
"""Nothing shorter, in characters, can be taken out of a text without spoiling it."""

SOON_MS = 3_600_000
"""A limit that is whole again sooner is one of requests at a time; what takes longer is used up."""

_LONGEST = 4_000
"""The characters of somebody else's words that are looked at: no report needs more to say what is wrong."""

_MARKUP = re.compile(r"<[!?/a-z]", re.IGNORECASE)

_GATEWAYS = 3
"""How many servers, one behind the other, are listened to."""


@frozen
class Report:
    """What a report says: the provider's own ``code`` and words, and the HTTP ``status`` that it names (0: none).

    ``kind`` is there where the shape of the report alone tells it, ``numbered`` where a number of the vendor's own
    does. ``passing``: whether the limit that was met is whole again soon, where it says (it names a quota, or a delay).
    """

    code: str | None = None
    said: str = ""
    kind: ErrorKind | None = None
    status: int = 0
    numbered: ErrorKind | None = None
    passing: bool | None = None


_MEANT: Mapping[ErrorKind, str] = {
    ErrorKind.QUOTA: (
        "insufficient_quota insufficient_user_quota billing_hard_limit_reached billing_not_active billing_error"
        " contract_spend_limit_reached enforced_spend_limit_reached usage_limit_reached exceeded_current_quota_error"
        " insufficient_balance_error payment_required Arrearage AccountOverdueError"
    ),
    ErrorKind.OVERFLOW: (
        "context_length_exceeded model_context_window_exceeded request_too_large exceed_context_size_error"
        " model_max_prompt_tokens_exceeded"
    ),
    ErrorKind.RATE_LIMITED: "rate_limit_exceeded rate_limit_error",
    ErrorKind.UNAUTHORIZED: (
        "invalid_api_key API_KEY_INVALID authentication_error InvalidApiKey invalid_token token_expired expired_token"
        " ExpiredTokenException invalid_authentication_error incorrect_api_key_error authorized_error"
        " AuthenticationError"
    ),
    ErrorKind.FORBIDDEN: "permission_error",
    ErrorKind.NOT_FOUND: "model_not_found not_found_error",
    ErrorKind.REFUSED: (
        "content_filter content_policy_violation image_content_policy_violation misalignment_policy_violation"
        " bio_policy refusal data_inspection_failed DataInspectionFailed moderation_blocked"
    ),
    ErrorKind.INVALID_REQUEST: "invalid_prompt invalid_request_error 2013",  # the number is MiniMax's
    ErrorKind.UNAVAILABLE: "overloaded_error server_error api_error",
    ErrorKind.TIMEOUT: "timeout_error",
}
_CODES = {code: kind for kind, codes in _MEANT.items() for code in codes.split()}
_BROAD = frozenset({"invalid_request_error", "2013", "server_error", "api_error"})
_REFUSALS = ("SensitiveContentDetected", "RiskDetection")
"""How the many codes of Volcengine's filters end, before a full stop and what was found."""

_NUMBERS_OF_MINIMAX = {
    1000: ErrorKind.UNAVAILABLE,
    1001: ErrorKind.TIMEOUT,
    1002: ErrorKind.RATE_LIMITED,
    1004: ErrorKind.UNAUTHORIZED,
    1008: ErrorKind.QUOTA,
    1024: ErrorKind.UNAVAILABLE,
    1026: ErrorKind.REFUSED,
    1027: ErrorKind.REFUSED,
    1033: ErrorKind.UNAVAILABLE,
    1039: ErrorKind.RATE_LIMITED,  # the tokens of a minute, not those of a context: to be tried again later
    1041: ErrorKind.RATE_LIMITED,
    1042: ErrorKind.INVALID_REQUEST,
    2045: ErrorKind.RATE_LIMITED,
    2049: ErrorKind.UNAUTHORIZED,
    2056: ErrorKind.QUOTA,
}
_NUMBERS_OF_ZHIPU = {
    **dict.fromkeys(("1000", "1001", "1002", "1003", "1004"), ErrorKind.UNAUTHORIZED),
    **dict.fromkeys(("1113", "1308", "1309", "1310"), ErrorKind.QUOTA),
    **dict.fromkeys(("1302", "1303", "1305"), ErrorKind.RATE_LIMITED),
    "1211": ErrorKind.NOT_FOUND,
    "1220": ErrorKind.FORBIDDEN,
    "1261": ErrorKind.OVERFLOW,
    "1301": ErrorKind.REFUSED,
}
_ZHIPU = re.compile(r"(^|[ .])(zhipu|bigmodel\.cn|z\.ai)\b", re.IGNORECASE)
"""As the vendor is called, and as its hosts are."""


def kind_of_code(code: str | None, broad: bool = False) -> ErrorKind | None:
    """What a provider's code stands for, if anybody knows; a ``broad`` one only where that is asked for.

    Broad is what a provider says of nearly everything: whatever else it says then counts more.
    """
    if not code or (code in _BROAD and not broad):
        return None
    if code.partition(".")[0].endswith(_REFUSALS):
        return ErrorKind.REFUSED
    return _CODES.get(code)


def shown_code(code: str | None, keys: Iterable[str], secrets: Iterable[str]) -> str | None:
    """A provider's code as it may be shown: without ``secrets``, and not at all if it holds a key as a word of its own
    that is too short to be taken out. What everybody's codes are called is nobody's secret, whatever a key may be.
    """
    if code is None or code in _CODES:
        return code
    short = (key for key in keys if 0 < len(key) < SHORTEST_SECRET)
    if any(re.search(rf"(?<![^\W_]){re.escape(key)}(?![^\W_])", code) for key in short):
        return None
    for secret in secrets:
        code = code.replace(secret, "***")
    return code


def is_markup(text: str) -> bool:
    """Whether a page is for browsers: a proxy's page says nothing about the request."""
    return _MARKUP.match(text) is not None


def is_report(value: Any) -> bool:
    """Whether decoded JSON is an error report though it came as a success."""
    answer = _object(value)
    return bool(answer.get("error")) or bool(_object(answer.get("base_resp")).get("status_code"))


def reported(value: Any, who: str = "") -> Report:
    """What an error report says; nothing at all where it is none.

    ``who`` are the names of whoever sent it, with spaces between them: the vendor's, the host's.
    """
    return _reported(value, who, _GATEWAYS)


def _reported(value: Any, who: str, depth: int) -> Report:
    page = _object(cast("list[Any]", value)[0] if isinstance(value, list) and value else value)
    inner = page.get("error")
    if isinstance(inner, str):
        return Report(_code(page.get("code")), _text(inner))
    report = _object(inner) or page
    if report is page and page.get("base_resp"):
        return _of_minimax(_object(page.get("base_resp")))
    metadata = _object(report.get("metadata"))
    behind = _behind(metadata, who, depth)
    own = [_code(report.get(name)) for name in ("code", "type", "status")]
    codes = [code for code in (*_reasons(report), *own, _code(metadata.get("error_type")), behind.code) if code]
    said = _text(report.get("message")) or _text(report.get("detail"))
    code = next(filter(kind_of_code, codes), next(filter(None, own), None))
    kind = ErrorKind.REFUSED if metadata.get("reasons") or metadata.get("flagged_input") else behind.kind
    numbered = _NUMBERS_OF_ZHIPU.get(_code(report.get("code")) or "") if _ZHIPU.search(who) else None
    passing = _is_passing(report)
    return Report(
        code,
        _joined(said, metadata, behind.said),
        kind,
        _status(report),
        behind.numbered if numbered is None or "type" in report else numbered,
        behind.passing if passing is None else passing,
    )


def _reasons(report: Mapping[str, Any]) -> list[str]:
    """Why, in Google's own words for programs: they are among the details."""
    reasons = [_text(_object(detail).get("reason")) for detail in _list(report.get("details"))]
    return [reason for reason in reasons if kind_of_code(reason)]


def _is_passing(report: Mapping[str, Any]) -> bool | None:
    """Whether the limit that was met is whole again soon, in Google's words for programs; none where it does not say.

    A quota of a day counts most: the delay that comes with it is that of the minute.
    """
    violations = [each for detail in _list(report.get("details")) for each in _list(_object(detail).get("violations"))]
    quotas = " ".join(_text(_object(each).get("quotaId")) for each in violations)
    if "PerDay" in quotas:
        return False
    delay = retry_info_ms({"error": report})
    return True if "PerMinute" in quotas or (delay is not None and delay < SOON_MS) else None


def _of_minimax(base: Mapping[str, Any]) -> Report:
    number = base.get("status_code")
    kind = _NUMBERS_OF_MINIMAX.get(number) if isinstance(number, int) else None
    return Report(_code(number), _text(base.get("status_msg")), kind)


def _behind(metadata: Mapping[str, Any], who: str, depth: int) -> Report:
    """What the server behind a gateway said, as the gateway repeats it: a report of its own, in JSON, or plain text.

    What it means counts, unless it is about a key: that key is the gateway's, and ours was accepted.
    """
    raw = metadata.get("raw")
    if not depth or not raw:
        return Report()
    text = _text(raw).strip()
    who = f"{who} {_text(metadata.get('provider_name'))}"
    report = _reported(_json(raw) if isinstance(raw, str) else raw, who, depth - 1)
    if (report.kind or report.numbered or kind_of_code(report.code)) in (ErrorKind.UNAUTHORIZED, ErrorKind.FORBIDDEN):
        report = replace(report, code=None, kind=None, numbered=None)
    return report if report.said or is_markup(text) else replace(report, said=text)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _joined(said: str, metadata: Mapping[str, Any], behind: str) -> str:
    """The words of a gateway, the name of the server behind it, and that one's words."""
    name = _text(metadata.get("provider_name"))
    if name:
        said = f"{said} ({name})" if said else name
    return ": ".join(filter(None, (said, behind)))


def _status(report: Mapping[str, Any]) -> int:
    """The HTTP status that a report names, where it is no answer's own."""
    for name in ("code", "http_code"):
        code = _code(report.get(name)) or ""
        if code.isascii() and code.isdigit() and len(code) == 3:
            return int(code)
    return 0


def _code(value: Any) -> str | None:
    """A code as text; ``error`` is none: it is what some call any report."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value in ("", "error"):
        return None
    return str(value)[:_LONGEST]


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value[:_LONGEST] if isinstance(value, str) else ""
