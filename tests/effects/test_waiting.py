"""How long a server asks to wait."""

import datetime
import email.utils

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.transcript.waiting import retry_after_ms, retry_info_ms

from tests.effects.told import DELAYS, NOW

TIMES = st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(9999, 12, 31), timezones=st.just(datetime.UTC))


@pytest.mark.parametrize(("headers", "wait_ms"), DELAYS)
def test_a_wait_may_be_said_in_many_ways(headers: dict[str, str], wait_ms: int | None) -> None:
    assert retry_after_ms(headers, NOW) == wait_ms


def test_limits_that_come_with_every_answer_are_no_wait_where_none_was_reached() -> None:
    headers = {"x-ratelimit-reset-tokens": "6m0s"}
    assert retry_after_ms(headers, NOW, limited=False) is None
    assert retry_after_ms({**headers, "retry-after": "1"}, NOW, limited=False) == 1_000


@given(at=TIMES)
def test_a_date_is_read_as_the_standard_library_reads_it(at: datetime.datetime) -> None:
    wanted = max(0, round((int(at.timestamp()) - NOW) * 1000))
    text = email.utils.format_datetime(at, usegmt=True)
    assert retry_after_ms({"retry-after": text}, NOW) == wanted
    assert retry_after_ms({"retry-after": text.replace("GMT", "+0000")}, NOW) == wanted
    assert retry_after_ms({"x-ratelimit-reset": at.isoformat(timespec="seconds")}, NOW) == wanted


@pytest.mark.parametrize(
    ("text", "wait_ms"),
    [
        ("Friday, 15-Jan-27 08:00:10 GMT", 10_000),
        ("Fri, 15 Jan 2027 10:00:10 +0200", 10_000),
        ("Fri, 15 Jan 2027 06:00:10 -0200", 10_000),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
        ("Fri, 15 Foo 2027 08:00:10 GMT", None),
        ("Fri, 15 Jan 2027 25:00:10 GMT", None),
        ("Fri, 45 Jan 2027 08:00:10 GMT", None),
    ],
)
def test_a_date_may_be_old_fashioned_or_none(text: str, wait_ms: int | None) -> None:
    assert retry_after_ms({"retry-after": text}, NOW) == wait_ms


@given(text=st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    for name in ("retry-after", "retry-after-ms", "x-ratelimit-reset", "x-ratelimit-reset-ms"):
        wait = retry_after_ms({name: text}, NOW)
        assert wait is None or wait >= 0


@pytest.mark.parametrize(
    ("details", "wait_ms"),
    [
        ([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}], 34_000),
        ([7, {"reason": "x"}, {"retryDelay": "1.5s"}], 1_500),
        ([{"retryDelay": "soon"}, {"retryDelay": 7}], None),
        ("34s", None),
    ],
)
def test_a_report_may_say_how_long_to_wait(details: object, wait_ms: int | None) -> None:
    assert retry_info_ms({"error": {"code": 429, "details": details}}) == wait_ms
    assert retry_info_ms([{"error": {"code": 429, "details": details}}]) == wait_ms
    assert retry_info_ms({"error": "no"}) is retry_info_ms([]) is retry_info_ms(None) is None
