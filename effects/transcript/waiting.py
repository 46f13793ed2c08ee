"""How long a server asks to wait, in any of the ways in which servers say it.

Read ``retry_after_ms``. The names of headers are taken as HTTP libraries give them: in any case, or in lower case.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["retry_after_ms", "retry_info_ms"]

_MS, _S = 1.0, 1000.0
_RESETS = (("x-ratelimit-reset", _S), ("x-ratelimit-reset-ms", _MS), ("x-ratelimit-reset-after", _S))
_REMAINING = "x-ratelimit-remaining"
_PARTS = (
    *((f"x-ratelimit-reset-{part}", f"{_REMAINING}-{part}") for part in ("requests", "tokens")),
    *(
        (f"anthropic-ratelimit-{part}-reset", f"anthropic-ratelimit-{part}-remaining")
        for part in ("requests", "tokens", "input-tokens", "output-tokens")
    ),
)
"""When each limit begins anew, and what is left of it."""

_UNITS = {"h": 3_600_000.0, "m": 60_000.0, "s": 1_000.0, "ms": 1.0, "us": 0.001, "µs": 0.001, "ns": 0.000_001}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)", re.ASCII)
_SPANS = re.compile(rf"(?:{_SPAN.pattern})+", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(
    r"(?:[a-z]+, *)?(?P<day>\d{1,2})[ -](?P<month>[a-z]{3})[ -](?P<year>\d{4}|\d{2}) (?P<time>\d\d:\d\d:\d\d)"
    r" *(?P<zone>gmt|utc|z|[+-]\d{4})?",
    re.ASCII | re.IGNORECASE,
)
_INTERNET_DATE = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)T(?P<time>\d\d:\d\d:\d\d)(?:\.\d+)?(?P<zone>z|[+-]\d\d:?\d\d)",
    re.ASCII | re.IGNORECASE,
)
_EPOCH_S, _EPOCH_MS = 1e9, 1e11


def retry_after_ms(headers: Mapping[str, str], now: float, limited: bool = True) -> int | None:
    """The delay the server asked for, in milliseconds, and none where it asked for none.

    The longest of what it says of the next request: ``retry-after-ms``; ``retry-after`` (seconds or a date); and, if
    this is a rate limit (``limited``), when the limit begins anew that is used up (``x-ratelimit-reset``, ``-ms``,
    ``-after``). Where it says nothing of that kind, the longest wait among the single limits that are used up
    (``x-ratelimit-reset-tokens``, ``anthropic-ratelimit-tokens-reset`` and so on): a limit is whole again later than
    the next request is welcome, so these do not prolong what was asked for. A limit of which something is left is no
    reason to wait. ``now`` is in seconds since the epoch.
    """
    waits = [_wait(headers.get("retry-after-ms"), now, _MS), _wait(headers.get("retry-after"), now)]
    if limited and _is_used_up(headers, _REMAINING) is not False:
        waits += [_wait(headers.get(name), now, unit) for name, unit in _RESETS]
    asked = [wait for wait in waits if wait is not None]
    return max(asked) if asked else _until_anew(headers, now) if limited else None


def retry_info_ms(report: Any) -> int | None:
    """The delay in milliseconds that an error report of Google's asks for (``RetryInfo`` among its details), if any."""
    page: Any = report
    if isinstance(report, list) and report:  # as Google's own compatible services have it
        page = cast("list[Any]", report)[0]
    error: Any = cast("dict[str, Any]", page).get("error") if isinstance(page, dict) else None
    details: Any = cast("dict[str, Any]", error).get("details") if isinstance(error, dict) else None
    for detail in cast("list[Any]", details) if isinstance(details, list) else []:
        delay: Any = cast("dict[str, Any]", detail).get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and _SPANS.fullmatch(delay):
            return _wait(delay, 0)
    return None


def _until_anew(headers: Mapping[str, str], now: float) -> int | None:
    """The longest wait among the limits that are used up, or else among those that do not say what is left of them."""
    waits: list[tuple[bool, int]] = []
    for reset, remaining in _PARTS:
        wait, used_up = _wait(headers.get(reset), now), _is_used_up(headers, remaining)
        if wait is not None and used_up is not False:
            waits.append((used_up is True, wait))
    return max(waits)[1] if waits else None


def _is_used_up(headers: Mapping[str, str], remaining: str) -> bool | None:
    """Whether nothing is left of a limit; none where that is not said."""
    left = _number(headers.get(remaining))
    return None if left is None else left <= 0


def _wait(text: str | None, now: float, unit: float = _S) -> int | None:
    """A wait in milliseconds: ``1m30s``, a number of ``unit`` (in milliseconds), or a time of day."""
    text = (text or "").strip()
    if _SPANS.fullmatch(text):
        return round(sum(float(number) * _UNITS[unit] for number, unit in _SPAN.findall(text)))
    number = _number(text)
    if number is None:
        date = _date(text)
        return None if date is None else max(0, round((date - now) * 1000))
    if number >= _EPOCH_MS:
        return max(0, round(number - now * 1000))
    if number >= _EPOCH_S and unit == _S:
        number -= now
    return max(0, round(number * unit))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> float | None:
    """Seconds since the epoch of a date as HTTP or RFC 3339 writes it; none for anything else."""
    found = _DATE.fullmatch(text.strip()) or _INTERNET_DATE.fullmatch(text.strip())
    if found is None:
        return None
    name = found["month"].lower()
    month = int(name) if name.isdigit() else _MONTHS.index(name) + 1 if name in _MONTHS else 0
    year, day = int(found["year"]), int(found["day"])
    if year < 100:
        year += 2000 if year < 70 else 1900
    hours, minutes, seconds = map(int, found["time"].split(":"))
    if not (1 <= month <= 12 and 1 <= day <= 31 and hours < 24 and minutes < 60 and seconds <= 60):
        return None
    whole = ((_days(year, month, day) * 24 + hours) * 60 + minutes) * 60 + seconds
    return float(whole - _offset_s(found["zone"] or ""))


def _days(year: int, month: int, day: int) -> int:
    """Days since the epoch, in the calendar of today. The year is taken to begin in March, so its last day may leap."""
    year -= month <= 2
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719_468


def _offset_s(zone: str) -> int:
    digits = zone.replace(":", "")
    if digits[:1] not in ("+", "-"):
        return 0
    east = int(digits[1:3]) * 3600 + int(digits[3:5]) * 60
    return east if digits[0] == "+" else -east
