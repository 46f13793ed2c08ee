"""What went wrong, told from what came back. The kinds are tried out where they are told to people, in the adapters."""

import pytest
from turnfold.effects.transcript import ErrorKind
from turnfold.effects.transcript.failures import (
    Stage,
    Trouble,
    causes_of,
    kind_of,
    kind_of_status,
    reported,
    stage_of,
    trouble_of,
)


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
    assert kind_of(403, "permission_error", "no access to this model") == ErrorKind.FORBIDDEN


def test_a_report_may_have_any_shape() -> None:
    assert reported([{"error": {"status": "INVALID", "message": "no"}}]) == ("INVALID", "no")
    assert reported({"error": "no"}) == (None, "no")
    for nothing in (None, [], 7, "no", {"error": {"message": ["no"]}}):
        assert reported(nothing) == (None, "")


def test_googles_reason_for_a_bad_key_is_among_the_details() -> None:
    report = {
        "error": {"code": 400, "message": "API key not valid.", "details": [7, {}, {"reason": "API_KEY_INVALID"}]}
    }
    assert reported(report) == ("API_KEY_INVALID", "API key not valid.")
    assert kind_of(400, "API_KEY_INVALID", "") == ErrorKind.UNAUTHORIZED
    assert reported({"error": {"code": 400, "details": [{"reason": "ELSE"}], "message": "no"}}) == ("400", "no")


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
