"""Kinds of failures, and what may be said about them (decision 24)."""

import json
import socket
import ssl
from typing import Any

import pytest
import trio
from turnfold.adapters.models import Stage, stage_of
from turnfold.adapters.models.failures import NoStreamError, of_exception, of_page, of_report, of_status
from turnfold.effects.transcript import ErrorKind, ModelError
from turnfold.effects.values import replace

from tests.adapters.models.answers import config_of
from tests.effects.told import ABOUT_REPORTS, CODES, DAY, DELAYS, FULL, NOW, REPORTS, behind, limited, plain

CONFIG = config_of("openai-chat", headers={"X-Token": "Bearer header-secret"}, query={"token": "query-secret"})


def status(code: int, body: str, headers: dict[str, str] | None = None) -> ModelError:
    return of_status(CONFIG, code, headers or {}, body.encode(), now=0.0)


def raised(error: BaseException, *causes: BaseException) -> ModelError:
    """The failure that a chain of exceptions is."""
    outer = error
    for cause in causes:
        error.__cause__ = cause
        error = cause
    return of_exception(CONFIG, outer)


# --- what providers say


@pytest.mark.parametrize("said", FULL.values(), ids=FULL)
def test_a_full_context_is_known_by_what_providers_say(said: str) -> None:
    assert status(400, said).kind == ErrorKind.OVERFLOW
    assert of_report(CONFIG, {"error": {"type": "invalid_request_error", "message": said}}).kind == ErrorKind.OVERFLOW


@pytest.mark.parametrize(("who", "code", "page", "kind", "named"), REPORTS, ids=ABOUT_REPORTS)
def test_what_vendors_report(who: str, code: int, page: dict[str, Any], kind: ErrorKind, named: str | None) -> None:
    """A report that comes in place of an answer is a kind as well, whatever its status would have been."""
    config, text = replace(CONFIG, vendor=replace(CONFIG.vendor, name=who)), json.dumps(page).encode()
    error = of_status(config, code, {}, text, 0.0) if code not in (0, 200) else of_page(config, text)
    assert error.kind == kind
    assert named in (None, error.code)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (429, "token limit exceeded"),
        (429, "Too many tokens, please wait before trying again."),
        (400, "ThrottlingException: Too many tokens, please wait before trying again."),
        (503, "Rate limit reached: token limit exceeded"),
    ],
)
def test_a_rate_limit_is_never_taken_for_a_full_context(code: int, said: str) -> None:
    assert status(code, said).kind != ErrorKind.OVERFLOW


@pytest.mark.parametrize(
    ("code", "body", "kind", "named"),
    [
        (400, {"error": {"code": "context_length_exceeded"}}, ErrorKind.OVERFLOW, "context_length_exceeded"),
        (400, {"error": {"message": "Your credit balance is too low"}}, ErrorKind.QUOTA, None),
        (402, {"error": {"code": "invalid_request_error"}}, ErrorKind.QUOTA, "invalid_request_error"),
        (403, {"error": {"code": 403, "message": "quota"}}, ErrorKind.FORBIDDEN, "403"),
        (400, {"error": {"code": "content_filter"}}, ErrorKind.REFUSED, "content_filter"),
        (400, {"error": {"type": "odd", "code": None, "message": "no"}}, ErrorKind.INVALID_REQUEST, "odd"),
        (400, {"error": {"type": "billing_error", "code": "x"}}, ErrorKind.QUOTA, "billing_error"),
        (400, {"type": "error", "error": {"type": "billing_error"}}, ErrorKind.QUOTA, "billing_error"),
        (500, {"error": {"type": "invalid_request_error"}}, ErrorKind.UNAVAILABLE, "invalid_request_error"),
        (401, {"error": "no"}, ErrorKind.UNAUTHORIZED, None),
        (422, {"detail": "no"}, ErrorKind.INVALID_REQUEST, None),
        (
            400,
            [{"error": {"status": "INVALID_ARGUMENT", "message": "no"}}],
            ErrorKind.INVALID_REQUEST,
            "INVALID_ARGUMENT",
        ),
        (429, {"error": {"type": "rate_limit_error", "message": "no"}}, ErrorKind.RATE_LIMITED, "rate_limit_error"),
        (400, {"error": {"message": ["no"], "code": True}}, ErrorKind.INVALID_REQUEST, None),
        (418, "no", ErrorKind.PROTOCOL, None),
        (400, "", ErrorKind.INVALID_REQUEST, None),
        (400, "[]", ErrorKind.INVALID_REQUEST, None),
        (400, "{" * 10_000, ErrorKind.INVALID_REQUEST, None),
    ],
)
def test_reports_are_read_in_all_their_shapes(code: int, body: Any, kind: ErrorKind, named: str | None) -> None:
    error = status(code, body if isinstance(body, str) else json.dumps(body))
    assert (error.kind, error.code, error.status) == (kind, named, code)


@pytest.mark.parametrize(
    "body", ["no", {"error": "no"}, {"detail": "no"}, {"message": "no"}, [{"error": {"message": "no"}}]]
)
def test_what_a_provider_says_is_passed_on(body: Any) -> None:
    assert status(400, body if isinstance(body, str) else json.dumps(body)).message.endswith("(400): no")


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        ({"type": "overloaded_error"}, ErrorKind.UNAVAILABLE),
        ({"type": "rate_limit_error"}, ErrorKind.RATE_LIMITED),
        ({"type": "authentication_error"}, ErrorKind.UNAUTHORIZED),
        ({"type": "permission_error"}, ErrorKind.FORBIDDEN),
        ({"type": "not_found_error"}, ErrorKind.NOT_FOUND),
        ({"type": "timeout_error"}, ErrorKind.TIMEOUT),
        ({"type": "invalid_request_error"}, ErrorKind.INVALID_REQUEST),
        ({"type": "api_error"}, ErrorKind.UNAVAILABLE),
        ({"message": "whatever"}, ErrorKind.UNAVAILABLE),
        ({"code": 401}, ErrorKind.UNAUTHORIZED),
        ({"code": "503"}, ErrorKind.UNAVAILABLE),
        ("sorry", ErrorKind.UNAVAILABLE),
        (7, ErrorKind.UNAVAILABLE),
    ],
)
def test_a_report_in_mid_answer_is_a_passing_failure_unless_it_says_more(report: Any, kind: ErrorKind) -> None:
    assert of_report(CONFIG, {"error": report}).kind == kind


def test_a_limit_of_a_minute_asks_to_wait_and_one_of_a_day_is_used_up() -> None:
    """As both of Google's protocols have it: one of them puts the report into a list."""
    for page in (limited(delay="1s"), [limited(delay="1s")]):
        error = status(429, json.dumps(page))
        assert (error.kind, error.retry_after_ms) == (ErrorKind.RATE_LIMITED, 1_000)
    assert status(429, json.dumps([limited(DAY, delay="1s")])).kind is ErrorKind.QUOTA
    assert status(429, json.dumps(limited()), {"retry-after": "20"}).kind is ErrorKind.RATE_LIMITED
    assert status(429, json.dumps(limited()), {"x-ratelimit-reset-tokens": "20"}).kind is ErrorKind.QUOTA


def test_a_vendor_is_known_by_its_host_too() -> None:
    page = plain("no", code="1261")
    config = replace(CONFIG, base_url="https://api.z.ai/api/paas/v4")
    assert of_status(config, 400, {}, json.dumps(page).encode(), 0.0).kind is ErrorKind.OVERFLOW
    assert of_report(config, page).kind is ErrorKind.OVERFLOW


@pytest.mark.parametrize("body", ["<html>no</html>", '{"foo": "no"}', '["no"]'])
def test_what_is_not_said_to_people_is_not_quoted(body: str) -> None:
    assert "no" not in status(502, body).message.replace("not", "").removeprefix("openai")


def test_a_server_that_breaks_down_is_not_a_full_context_whatever_it_says() -> None:
    assert status(500, "maximum context length").kind == ErrorKind.UNAVAILABLE


@pytest.mark.parametrize("name", ["x-request-id", "request-id"])
def test_the_providers_name_for_the_request_is_kept(name: str) -> None:
    assert status(500, "no", {name: "req-1"}).request_id == "req-1"


def test_a_redirect_says_what_to_do() -> None:
    assert "redirects are not followed" in status(308, "").message


def test_an_error_report_in_place_of_a_stream_is_that_error() -> None:
    assert of_page(CONFIG, b'{"error": {"code": 429}}').kind == ErrorKind.RATE_LIMITED


def test_a_page_in_place_of_a_stream_points_at_the_base_url() -> None:
    for page in (b"<html>", b"", b'{"choices": []}', b"[]"):
        error = of_page(CONFIG, page)
        assert error.kind == ErrorKind.PROTOCOL
        assert "api.openai.com" in error.message
        assert "base URL" in error.message


@pytest.mark.parametrize(("headers", "wait_ms"), DELAYS)
def test_the_delay_that_a_server_asks_for(headers: dict[str, str], wait_ms: int | None) -> None:
    assert of_status(CONFIG, 429, headers, b"no", NOW).retry_after_ms == wait_ms


@pytest.mark.parametrize(
    ("code", "stage"),
    [
        (401, Stage.AUTHENTICATE),
        (403, Stage.AUTHORIZE),
        (404, Stage.CAPABILITY),
        (408, Stage.CONNECT),
        (504, Stage.CONNECT),
        (429, Stage.CAPABILITY),
        (500, Stage.CONNECT),
        (503, Stage.CONNECT),
        (529, Stage.CONNECT),
        (302, Stage.CAPABILITY),
        (400, Stage.CAPABILITY),
        (402, Stage.CAPABILITY),
        (409, Stage.CAPABILITY),
        (422, Stage.CAPABILITY),
    ],
)
def test_a_failed_call_came_to_a_stage(code: int, stage: Stage) -> None:
    assert stage_of(status(code, "no")) == stage


# --- what clients raise


def library_error(name: str, *bases: str) -> BaseException:
    """An exception as an HTTP library would have it: known by the names of its classes."""
    cls: type[BaseException] = Exception
    for each in (*bases, name):
        cls = type(each, (cls,), {})
    return cls("Authorization: Bearer sk-secret-key")


@pytest.mark.parametrize(
    ("chain", "kind", "says_so"),
    [
        ([library_error("ConnectTimeout", "TimeoutException")], ErrorKind.TIMEOUT, "api.openai.com"),
        ([library_error("APITimeoutError"), TimeoutError("110")], ErrorKind.TIMEOUT, "api.openai.com"),
        ([trio.TooSlowError()], ErrorKind.TIMEOUT, "in time"),
        ([library_error("ConnectError", "NetworkError"), ssl.SSLError(1, "[SSL] x")], ErrorKind.TLS, "certificates"),
        ([library_error("ConnectError"), socket.gaierror(-2, "x")], ErrorKind.NETWORK, "no host called api.openai.com"),
        ([library_error("ConnectError"), ConnectionRefusedError(111, "x")], ErrorKind.NETWORK, "refused"),
        ([OSError("x"), ExceptionGroup("x", [ConnectionRefusedError(111, "x")])], ErrorKind.NETWORK, "refused"),
        ([ConnectionResetError(104, "x")], ErrorKind.NETWORK, "broke off"),
        ([trio.BrokenResourceError()], ErrorKind.NETWORK, "broke off"),
        ([library_error("RemoteProtocolError", "ProtocolError")], ErrorKind.NETWORK, "broke off"),
        ([library_error("LocalProtocolError", "ProtocolError")], ErrorKind.INVALID_CONFIG, "headers"),
        ([library_error("DecodingError")], ErrorKind.PROTOCOL, "decoded"),
        ([ValueError("Out of range float values are not JSON compliant")], ErrorKind.INVALID_REQUEST, "options"),
        ([library_error("SomethingNew")], ErrorKind.PROTOCOL, "SomethingNew"),
    ],
)
def test_a_raised_exception_is_a_kind(chain: list[BaseException], kind: ErrorKind, says_so: str) -> None:
    error = raised(*chain)
    assert error.kind == kind
    assert says_so in error.message
    assert "sk-secret" not in repr(error)


def test_a_certificate_that_cannot_be_verified_says_why() -> None:
    wrong = ssl.SSLCertVerificationError(1, "x")
    wrong.verify_message = "Hostname mismatch, certificate is not valid for 'api.openai.com'."
    assert raised(library_error("ConnectError"), wrong).message.endswith(wrong.verify_message)


@pytest.mark.parametrize(
    ("status", "kind"), [(503, ErrorKind.UNAVAILABLE), (302, ErrorKind.PROTOCOL), (200, ErrorKind.PROTOCOL)]
)
def test_a_page_is_found_behind_what_an_sdk_makes_of_it(status: int, kind: ErrorKind) -> None:
    page = NoStreamError(status, {"retry-after": "2"}, b"<html>")
    error = raised(library_error("APIConnectionError"), page)
    assert error.kind == kind
    assert error.retry_after_ms == (None if status == 200 else 2_000)


def test_a_chain_that_bites_its_tail_is_read_once() -> None:
    error, cause = Exception("x"), OSError("y")
    error.__cause__, cause.__context__ = cause, error
    assert of_exception(CONFIG, error).kind == ErrorKind.NETWORK


# --- secrets and lines


SECRETS = ["sk-secret-key", "header-secret", "query-secret"]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_that_a_provider_repeats_is_struck_out(secret: str) -> None:
    for error in (
        status(401, f"no: {secret}!", {"x-request-id": secret}),
        status(400, f'{{"error": {{"message": "no: {secret}!", "code": "{secret}"}}}}'),
        of_report(CONFIG, {"error": f"no: {secret}!"}, request_id=secret),
        status(400, json.dumps(behind({"error": {"message": f"no: {secret}!", "code": secret}}))),
        status(400, json.dumps(behind(f"no: {secret}!"))),
    ):
        assert secret not in repr(error)
        assert "no: ***!" in error.message


@pytest.mark.parametrize(("key", "code", "shown"), CODES)
def test_a_code_is_shown_without_keys_unless_everybody_knows_it(key: str, code: str, shown: str | None) -> None:
    page = json.dumps(plain(f"not with {key}", code=code)).encode()
    for config in (replace(CONFIG, api_key=key), replace(CONFIG, api_key="another-key", withheld=(key,))):
        error = of_status(config, 401, {"x-request-id": f"req {key}"}, page, 0.0)
        assert error.code == shown
        assert error.message.endswith("(401): not with ***" if len(key) > 3 else "(401)")
        assert error.request_id == ("req ***" if len(key) > 3 else None)


def test_other_peoples_text_is_one_short_printable_line() -> None:
    message = status(400, json.dumps({"error": "a\n\tb\x1b[31m\ud800" + "c" * 5_000})).message
    assert message.isprintable()
    assert "a b" in message
    assert len(message) < 400
    message.encode()
    assert len(status(400, json.dumps(behind("c" * 5_000))).message) < 400
