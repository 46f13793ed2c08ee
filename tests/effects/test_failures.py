"""What went wrong, told from what came back. The kinds are tried out where they are told to people, in the adapters."""

from typing import Any

import pytest
from turnfold.effects.transcript import ErrorKind, ModelError, Usage
from turnfold.effects.transcript.failures import (
    Stage,
    Trouble,
    causes_of,
    is_silent_overflow,
    kind_of,
    kind_of_report,
    kind_of_status,
    stage_of,
    trouble_of,
)
from turnfold.effects.transcript.reports import Report, is_report, reported, shown_code

from tests.effects.told import ABOUT_REPORTS, CODES, DAY, FULL, NOT_FULL, REPORTS, base, behind, limited, plain


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        (ErrorKind.INVALID_CONFIG, Stage.CONNECT),
        (ErrorKind.TIMEOUT, Stage.CONNECT),
        (ErrorKind.NETWORK, Stage.CONNECT),
        (ErrorKind.TLS, Stage.CONNECT),
        (ErrorKind.UNAVAILABLE, Stage.CONNECT),
        (ErrorKind.UNAUTHORIZED, Stage.AUTHENTICATE),
        (ErrorKind.FORBIDDEN, Stage.AUTHORIZE),
        (ErrorKind.NOT_FOUND, Stage.CAPABILITY),
        (ErrorKind.RATE_LIMITED, Stage.CAPABILITY),
        (ErrorKind.PROTOCOL, Stage.CAPABILITY),
        (ErrorKind.QUOTA, Stage.CAPABILITY),
        (ErrorKind.OVERFLOW, Stage.CAPABILITY),
    ],
)
def test_a_kind_of_failure_happens_at_a_stage(kind: ErrorKind, stage: Stage) -> None:
    assert stage_of(kind) == stage
    assert stage_of(ModelError(kind, "no")) == stage


def test_what_a_provider_says_counts_more_than_the_status() -> None:
    assert kind_of(400, "insufficient_quota", "") == ErrorKind.QUOTA
    assert kind_of(400, "invalid_request_error", "prompt is too long") == ErrorKind.OVERFLOW
    assert kind_of(429, None, "prompt is too long") == ErrorKind.RATE_LIMITED
    assert kind_of(0, None, "who knows") == ErrorKind.UNAVAILABLE
    assert kind_of(418, None, "") == kind_of_status(418) == ErrorKind.PROTOCOL
    assert kind_of_status(599) == ErrorKind.UNAVAILABLE


@pytest.mark.parametrize("code", ["token_expired", "expired_token", "invalid_token", "ExpiredTokenException"])
def test_an_expired_token_is_a_key_that_is_not_accepted_whatever_the_status(code: str) -> None:
    for status in (0, 400, 401, 403):
        assert kind_of(status, code, "") == ErrorKind.UNAUTHORIZED


def test_too_much_at_once_is_no_question_of_rights() -> None:
    assert kind_of(403, None, "Concurrency limit reached for this key") == ErrorKind.RATE_LIMITED
    assert kind_of(403, "permission_error", "too many concurrent requests") == ErrorKind.RATE_LIMITED
    assert kind_of(403, None, "You exceeded the rate limit of this key") == ErrorKind.RATE_LIMITED
    assert kind_of(403, "permission_error", "no access to this model") == ErrorKind.FORBIDDEN
    for said in ("The concurrency feature is not in your plan", "Settings of the rate limit may not be changed"):
        assert kind_of(403, "permission_error", said) == kind_of(403, None, said) == ErrorKind.FORBIDDEN
    assert kind_of(403, "content_filter", "what you say of rate limits") == ErrorKind.REFUSED


def test_a_long_text_is_looked_through_up_to_a_length() -> None:
    assert kind_of(400, None, "input token count " * 60_000 + "exceeded") == ErrorKind.INVALID_REQUEST


@pytest.mark.parametrize("said", FULL.values(), ids=FULL)
def test_a_full_context_is_known_by_what_providers_say(said: str) -> None:
    for status in (0, 400, 413, 422):
        assert kind_of(status, "invalid_request_error", said) == ErrorKind.OVERFLOW
    assert kind_of(429, None, said) == ErrorKind.RATE_LIMITED
    assert kind_of(400, None, f"Rate limit: {said}") == ErrorKind.RATE_LIMITED
    assert kind_of(500, None, said) == ErrorKind.UNAVAILABLE


@pytest.mark.parametrize("said", NOT_FULL)
def test_what_is_too_large_otherwise_is_no_full_context(said: str) -> None:
    assert kind_of(400, None, said) == ErrorKind.INVALID_REQUEST


@pytest.mark.parametrize(("who", "status", "page", "kind", "code"), REPORTS, ids=ABOUT_REPORTS)
def test_what_vendors_report(who: str, status: int, page: dict[str, Any], kind: ErrorKind, code: str | None) -> None:
    report = reported(page, who)
    assert kind_of_report(status or report.status, report) == kind
    assert code in (None, report.code)


@pytest.mark.parametrize(
    ("who", "is_zhipu"),
    [
        ("zhipu somebodys.gateway", True),
        ("openai_compatible open.bigmodel.cn", True),
        ("openai_compatible api.z.ai:443", True),
        ("openai_compatible api.xz.ai", False),
        ("openai_compatible z.aim", False),
        ("", False),
    ],
)
def test_a_number_of_a_vendors_means_something_from_the_vendor_only(who: str, is_zhipu: bool) -> None:
    report = reported(plain("no", code="1261"), who)
    assert report.numbered == (ErrorKind.OVERFLOW if is_zhipu else None)
    assert kind_of_report(400, report) == (ErrorKind.OVERFLOW if is_zhipu else ErrorKind.INVALID_REQUEST)
    assert kind_of_report(500, report) == ErrorKind.UNAVAILABLE


@pytest.mark.parametrize(
    ("asked_ms", "page", "kind"),
    [
        (20_000, limited(), ErrorKind.RATE_LIMITED),
        (3_599_999, limited(), ErrorKind.RATE_LIMITED),
        (3_600_000, limited(), ErrorKind.QUOTA),
        (20_000, limited(DAY), ErrorKind.QUOTA),
        (20_000, plain("no", code="insufficient_quota"), ErrorKind.QUOTA),
        (20_000, plain("Your credit balance is too low"), ErrorKind.QUOTA),
    ],
)
def test_a_limit_with_a_delay_is_a_rate_limit_unless_more_is_said(asked_ms: int, page: Any, kind: ErrorKind) -> None:
    assert kind_of_report(429, reported(page), asked_ms) == kind


@pytest.mark.parametrize(("key", "code", "shown"), CODES)
def test_a_code_is_shown_without_keys_unless_everybody_knows_it(key: str, code: str, shown: str | None) -> None:
    assert shown_code(code, ("", key), (key,) if len(key) > 3 else ()) == shown
    assert shown_code(None, (key,), ()) is None


def test_a_report_may_have_any_shape() -> None:
    assert reported([{"error": {"status": "INVALID", "message": "no"}}]) == Report("INVALID", "no")
    assert reported({"error": "no"}) == Report(None, "no")
    assert reported({"code": "why", "error": "no"}) == Report("why", "no")
    for nothing in (None, [], 7, "no", {"error": {"message": ["no"]}}, {"error": {"metadata": {"raw": 7}}}):
        assert reported(nothing) == Report()


def test_a_report_may_name_a_status() -> None:
    assert reported({"error": {"code": 402}}).status == 402
    assert reported({"error": {"type": "odd", "http_code": "402"}}).status == 402
    assert [reported({"error": {"code": code}}).status for code in ("4020", "x", "٤٠٢", None, True)] == [0] * 5


def test_a_report_may_come_as_a_success() -> None:
    for report in ({"error": {"code": 429}}, {"error": "no"}, base(1004)):
        assert is_report(report)
    for answer in ({}, {"error": None}, base(0), {"base_resp": None}, [], None, "no"):
        assert not is_report(answer)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (behind(plain("too hot")), "Provider returned error (Acme): too hot"),
        (behind("too hot"), "Provider returned error (Acme): too hot"),
        (behind("too hot", said=""), "Acme: too hot"),
        (behind('{"error": {"message": "too h'), 'Provider returned error (Acme): {"error": {"message": "too h'),
        (behind("<html>no</html>"), "Provider returned error (Acme)"),
        (behind(behind(plain("too hot"))), "Provider returned error (Acme): Provider returned error (Acme): too hot"),
        (plain("no", metadata={"provider_name": "Acme"}), "no (Acme)"),
        (plain("no", metadata={"raw": {"error": {"message": "too hot"}}}), "no: too hot"),
        (plain("no", metadata={"raw": "", "provider_name": 7}), "no"),
    ],
)
def test_a_gateway_tells_what_the_server_behind_it_said(page: dict[str, Any], said: str) -> None:
    assert reported(page).said == said


def test_gateways_are_listened_to_up_to_a_depth_and_a_length() -> None:
    page: Any = plain("deep")
    for _ in range(12):
        page = plain("no", metadata={"raw": page})
    assert "deep" not in reported(page).said
    assert len(reported(behind("x" * 90_000)).said) < 9_000
    assert len(reported(plain("x" * 90_000)).said) < 9_000
    assert reported(behind("[" * 50_000)).said.startswith("Provider returned error (Acme): [[[")


def test_googles_reason_for_a_bad_key_is_among_the_details() -> None:
    report = {
        "error": {"code": 400, "message": "API key not valid.", "details": [7, {}, {"reason": "API_KEY_INVALID"}]}
    }
    assert reported(report) == Report("API_KEY_INVALID", "API key not valid.", status=400)
    assert kind_of(400, "API_KEY_INVALID", "") == ErrorKind.UNAUTHORIZED
    other = {"error": {"code": 400, "details": [{"reason": "ELSE"}], "message": "no"}}
    assert reported(other) == Report("400", "no", status=400)


@pytest.mark.parametrize(
    ("usage", "window", "over"),
    [
        (Usage(input=101), 100, True),
        (Usage(input=60, cache_read=41), 100, True),
        (Usage(input=60, cache_write=41), 100, True),
        (Usage(input=60, cache_read=40, output=900), 100, False),
        (Usage(input=101), 0, False),
    ],
)
def test_an_answer_to_more_than_fits_is_a_silent_overflow(usage: Usage, window: int, over: bool) -> None:
    assert is_silent_overflow(usage, window) is over


def test_a_quota_that_comes_back_in_seconds_is_a_rate_limit() -> None:
    said = "You exceeded your current quota, please check your plan and billing details."
    assert kind_of(429, None, said) == ErrorKind.QUOTA
    assert kind_of(429, None, f"{said}\nPlease retry in 34.07s.") == ErrorKind.RATE_LIMITED


@pytest.mark.parametrize("code", ["bio_policy", "misalignment_policy_violation", "image_content_policy_violation"])
def test_a_policy_that_ends_an_answer_is_a_refusal(code: str) -> None:
    assert kind_of(0, code, "") == ErrorKind.REFUSED


class SSLError(OSError):
    """Named as the library names it."""


@pytest.mark.parametrize(
    ("chain", "trouble", "kind"),
    [
        ([RuntimeError(), TimeoutError()], Trouble.TIMEOUT, ErrorKind.TIMEOUT),
        ([OSError(), SSLError()], Trouble.TLS, ErrorKind.TLS),
        ([RuntimeError(), ExceptionGroup("x", [ConnectionRefusedError()])], Trouble.REFUSED, ErrorKind.NETWORK),
        ([RuntimeError(), ConnectionResetError()], Trouble.BROKEN, ErrorKind.NETWORK),
        ([RuntimeError()], Trouble.UNKNOWN, ErrorKind.PROTOCOL),
    ],
)
def test_trouble_is_found_anywhere_in_a_chain(chain: list[Exception], trouble: Trouble, kind: ErrorKind) -> None:
    outer, *inner = chain
    outer.__context__ = inner[0] if inner else None
    assert trouble_of(outer) == trouble
    assert trouble.kind == kind


def test_a_chain_that_bites_its_tail_is_read_once() -> None:
    error, cause = Exception("x"), OSError("y")
    error.__cause__, cause.__context__ = cause, error
    assert list(causes_of(error)) == [error, cause]
