"""A service that misbehaves, or is not there: every failure has its kind and its stage, and no text a secret."""

import email.utils
import json
import logging
import socket
import struct
import time
from typing import Any

import pytest
import trio
from turnfold.adapters.services import (
    ServiceClient,
    ServiceError,
    Stage,
    endpoint_at,
    probe,
)
from turnfold.adapters.services.client import Query
from turnfold.adapters.services.failures import of_status, of_success
from turnfold.effects.transcript import ErrorKind
from turnfold.effects.values import replace

from tests.adapters.models.loopback import KEY, Answer, Asked, free_port, in_real_time, says, serving
from tests.adapters.services.world import CALLS, assert_no_secret, routed, service
from tests.effects.told import ABOUT_REPORTS, CODES, DELAYS, NOW, REPORTS, behind, limited, plain

ENDPOINT = endpoint_at("https://example.com?token=query-secret", KEY)
JSON = {"Content_Type": "application/json"}


async def failing(answer: Answer, **options: Any) -> ServiceError:
    """The failure that this answer is."""
    async with service(answer) as here:
        with pytest.raises(ServiceError) as failed:
            await probe(here.client, "openai", here.at("?token=query-secret"), **options)
        assert len(here.server.asked) <= 1, "a call is not repeated on its own"
    assert_no_secret(failed)
    return failed.value


@pytest.mark.parametrize(
    ("status", "kind", "stage"),
    [
        (400, ErrorKind.INVALID_REQUEST, Stage.CAPABILITY),
        (401, ErrorKind.UNAUTHORIZED, Stage.AUTHENTICATE),
        (402, ErrorKind.QUOTA, Stage.CAPABILITY),
        (403, ErrorKind.FORBIDDEN, Stage.AUTHORIZE),
        (404, ErrorKind.NOT_FOUND, Stage.CAPABILITY),
        (408, ErrorKind.TIMEOUT, Stage.CONNECT),
        (409, ErrorKind.PROTOCOL, Stage.CAPABILITY),
        (413, ErrorKind.OVERFLOW, Stage.CAPABILITY),
        (422, ErrorKind.INVALID_REQUEST, Stage.CAPABILITY),
        (429, ErrorKind.RATE_LIMITED, Stage.CAPABILITY),
        (500, ErrorKind.UNAVAILABLE, Stage.CONNECT),
        (502, ErrorKind.UNAVAILABLE, Stage.CONNECT),
        (503, ErrorKind.UNAVAILABLE, Stage.CONNECT),
        (504, ErrorKind.TIMEOUT, Stage.CONNECT),
        (529, ErrorKind.UNAVAILABLE, Stage.CONNECT),
    ],
)
@in_real_time
async def test_a_status_is_a_kind_at_a_stage(status: int, kind: ErrorKind, stage: Stage) -> None:
    page = json.dumps({"error": {"message": f"no, not with {KEY}\nreally", "code": "odd"}}).encode()
    failed = await failing(says(f"{status} X", page, X_Request_Id="req-1", **JSON))
    assert (failed.kind, failed.stage, failed.status) == (kind, stage, status)
    assert (failed.error.code, failed.error.request_id) == ("odd", "req-1")
    assert str(failed).endswith("no, not with *** really")


@pytest.mark.parametrize(("headers", "wait_ms"), DELAYS)
def test_a_rate_limit_tells_how_long_to_wait(
    headers: dict[str, str], wait_ms: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)
    failed = of_status(ENDPOINT, 429, headers, b"slow down")
    assert (failed.kind, failed.error.retry_after_ms) == (ErrorKind.RATE_LIMITED, wait_ms)


@pytest.mark.parametrize(("who", "status", "page", "kind", "code"), REPORTS, ids=ABOUT_REPORTS)
def test_what_vendors_report(who: str, status: int, page: dict[str, Any], kind: ErrorKind, code: str | None) -> None:
    text = json.dumps(page).encode()
    endpoint = replace(ENDPOINT, name=who)
    failed = of_status(endpoint, status, {}, text) if status not in (0, 200) else of_success(endpoint, text)
    assert failed is not None
    assert failed.kind == kind
    assert code in (None, failed.error.code)
    assert_no_secret(failed)


def test_a_vendor_is_known_by_its_host_too() -> None:
    page = json.dumps(plain("no", code="1261")).encode()
    assert of_status(endpoint_at("https://api.z.ai/v4"), 400, {}, page).kind is ErrorKind.OVERFLOW


def test_a_limit_with_a_delay_is_a_rate_limit() -> None:
    page = json.dumps(limited()).encode()
    assert of_status(ENDPOINT, 429, {"retry-after": "20"}, page).kind is ErrorKind.RATE_LIMITED
    assert of_status(ENDPOINT, 429, {"x-ratelimit-reset-tokens": "20"}, page).kind is ErrorKind.QUOTA


@pytest.mark.parametrize(("key", "code", "shown"), CODES)
def test_a_code_is_shown_without_keys_unless_everybody_knows_it(key: str, code: str, shown: str | None) -> None:
    """Nothing else that a service says is shown where a key is too short to be taken out."""
    page = json.dumps(plain(f"not with {key}", code=code)).encode()
    failed = of_status(endpoint_at("https://example.com", key), 404, {"x-request-id": f"req {key}"}, page)
    assert failed.error.code == shown
    assert str(failed).endswith("(404): not with ***" if len(key) > 3 else "(404)")
    assert failed.error.request_id == ("req ***" if len(key) > 3 else None)


def test_the_name_of_a_model_is_ours_and_is_shown_without_keys() -> None:
    assert "no model m-1," in str(of_status(endpoint_at("https://example.com", "xyz"), 404, {}, b"no", "m-1"))
    assert "no model m-***," in str(of_status(ENDPOINT, 404, {}, b"no", f"m-{KEY}"))


@pytest.mark.parametrize("said", [f"no: {KEY}!", "no: query-secret!"])
def test_what_a_server_behind_repeats_is_told_without_secrets(said: str) -> None:
    for page in (behind(said), behind({"error": {"message": said, "code": said}})):
        failed = of_status(ENDPOINT, 400, {}, json.dumps(page).encode())
        assert_no_secret(failed)
        assert str(failed).endswith("Provider returned error (Acme): no: ***!")


@in_real_time
async def test_no_log_tells_a_secret_however_much_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with service(routed(models={"data": []})) as here:
        for _ in range(2):
            await probe(here.client, "openai", here.at("?token=query-secret"))
        assert here.targets == ["/models?token=query-secret"] * 2
    assert "/models" in caplog.text
    assert "query-secret" not in caplog.text
    assert KEY not in caplog.text


@in_real_time
async def test_a_delay_may_stand_in_the_page_as_google_has_it() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
    page = json.dumps({"error": {"code": 429, "message": "Slow down.", "details": [detail]}}).encode()
    assert (await failing(says("429 X", page, **JSON))).error.retry_after_ms == 34_000
    assert (await failing(says("429 X", page, Retry_After="20", **JSON))).error.retry_after_ms == 20_000


@in_real_time
async def test_a_rate_limit_may_name_a_date() -> None:
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    wait_ms = (await failing(says("429 Too Many Requests", Retry_After=date))).error.retry_after_ms
    assert wait_ms is not None
    assert 25_000 < wait_ms <= 30_000


@in_real_time
async def test_a_failing_server_does_not_make_us_wait_for_limits() -> None:
    assert (await failing(says("500 X", X_RateLimit_Reset_Tokens="6m0s"))).error.retry_after_ms is None


@in_real_time
async def test_a_used_up_quota_is_no_rate_limit() -> None:
    page = b'{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}'
    assert (await failing(says("429 Too Many Requests", page, **JSON))).kind == ErrorKind.QUOTA


@pytest.mark.parametrize(
    ("status", "kind"), [("200 OK", ErrorKind.PROTOCOL), ("502 Bad Gateway", ErrorKind.UNAVAILABLE)]
)
@in_real_time
async def test_a_web_page_is_no_answer_and_is_not_quoted(status: str, kind: ErrorKind) -> None:
    failed = await failing(says(status, b"<html><body>Log in to the hotel network</body></html>"))
    assert failed.kind == kind
    assert "hotel" not in str(failed)


@pytest.mark.parametrize("page", [b'{"data": [', b"", b"[]", b"7", b'"x"', b"\xff", b"[" * 5_000])
@in_real_time
async def test_an_answer_that_is_no_object_is_a_protocol_failure(page: bytes) -> None:
    failed = await failing(says("200 OK", page, **JSON))
    assert (failed.kind, failed.stage) == (ErrorKind.PROTOCOL, Stage.CAPABILITY)


@in_real_time
async def test_an_answer_may_not_be_too_long_but_an_error_page_is_told_by_its_status() -> None:
    endpoint_page = b'{"data": [' + b" " * 2_000 + b"]}"
    async with service(says("200 OK", endpoint_page)) as here:
        with pytest.raises(ServiceError, match="more than the 1000 bytes") as failed:
            await here.client.ask(here.at(), Query(here.at().below("models"), max_bytes=1_000), dict[str, Any])
    assert failed.value.kind == ErrorKind.PROTOCOL
    async with service(says("500 X", b"x" * 500_000)) as here:
        with pytest.raises(ServiceError) as failed:
            await here.client.ask(here.at(), Query(here.at().below("models"), max_bytes=1_000), dict[str, Any])
    assert failed.value.kind == ErrorKind.UNAVAILABLE
    assert len(str(failed.value)) < 700


@pytest.mark.parametrize("name", CALLS)
@in_real_time
async def test_a_redirect_is_not_followed(name: str) -> None:
    """TestRedirectsAreNotFollowed: the key goes only where it was meant to go."""
    async with serving(says("200 OK", b"{}")) as elsewhere:
        async with service(says("302 Found", Location=f"{elsewhere.url}/?token=secret")) as here:
            with pytest.raises(ServiceError, match="redirects are not followed") as failed:
                await CALLS[name](here.client, here.at(), 9.0)
        assert elsewhere.connections == 0
    assert (failed.value.kind, failed.value.status) == (ErrorKind.PROTOCOL, 302)
    assert_no_secret(failed)


# Time, and connections.


async def stalls(stream: trio.SocketStream, asked: Asked) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    await trio.sleep_forever()


async def hangs(stream: trio.SocketStream, asked: Asked) -> None:
    await trio.sleep_forever()


async def breaks_off(stream: trio.SocketStream, asked: Asked) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    await trio.aclose_forcefully(stream)


async def resets(stream: trio.SocketStream, asked: Asked) -> None:
    """End the connection so that the client sees it reset, after the beginning of an answer."""
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await trio.aclose_forcefully(stream)


async def hangs_up(stream: trio.SocketStream, asked: Asked) -> None:
    await trio.aclose_forcefully(stream)


@pytest.mark.parametrize("answer", [stalls, hangs])
@in_real_time
async def test_a_deadline_is_a_timeout(answer: Answer) -> None:
    """TestDeadlineIsTimeout, TestTimeoutsHideCredentials."""
    failed = await failing(answer, timeout_s=0.05)
    assert (failed.kind, failed.stage) == (ErrorKind.TIMEOUT, Stage.CONNECT)
    assert "0.05 s" in str(failed)


@in_real_time
async def test_cancellation_is_nobodys_failure() -> None:
    """TestDeadlineIsTimeout: a cancelled caller gets the plain cancellation."""
    async with service(hangs) as here:
        with trio.CancelScope() as scope:
            scope.cancel()
            await probe(here.client, "openai", here.at())
        assert scope.cancelled_caught
        with trio.move_on_after(0.05) as scope:
            await probe(here.client, "openai", here.at())
        assert scope.cancelled_caught


@pytest.mark.parametrize("answer", [breaks_off, hangs_up, resets])
@in_real_time
async def test_a_connection_that_breaks_off_is_a_network_failure(answer: Answer) -> None:
    failed = await failing(answer)
    assert (failed.kind, failed.stage) == (ErrorKind.NETWORK, Stage.CONNECT)


@in_real_time
async def test_nobody_at_the_port_is_a_network_failure_without_secrets() -> None:
    """TestTransportErrorsHideCredentials."""
    endpoint = endpoint_at(f"http://127.0.0.1:{free_port()}/v1?token=query-secret", KEY)
    assert "secret" not in repr(endpoint)
    async with ServiceClient() as client:
        with pytest.raises(ServiceError, match="refused the connection") as failed:
            await probe(client, "openai", endpoint)
    assert failed.value.kind == ErrorKind.NETWORK
    assert_no_secret(failed)


@in_real_time
async def test_a_server_that_speaks_no_tls_is_a_tls_failure() -> None:
    async def garbage(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    endpoint = endpoint_at(f"https://127.0.0.1:{listener.socket.getsockname()[1]}", KEY)
    async with trio.open_nursery() as nursery, ServiceClient() as client:
        nursery.start_soon(trio.serve_listeners, garbage, [listener])
        with pytest.raises(ServiceError) as failed:
            await probe(client, "openai", endpoint)
        nursery.cancel_scope.cancel()
    assert (failed.value.kind, failed.value.stage) == (ErrorKind.TLS, Stage.CONNECT)
    assert_no_secret(failed)


@in_real_time
async def test_a_client_goes_on_after_failures_and_is_of_no_use_after_it_was_closed() -> None:
    async with service(routed(models={"data": []})) as here:
        with pytest.raises(ServiceError):
            await probe(here.client, "google", here.at())
        await probe(here.client, "openai", here.at())
        assert here.server.connections == 1
        await here.client.aclose()
        await here.client.aclose()
        with pytest.raises(ServiceError, match="was closed") as failed:
            await probe(here.client, "openai", here.at())
        assert here.server.connections == 1
    assert failed.value.kind == ErrorKind.INVALID_CONFIG


@in_real_time
async def test_a_request_that_is_no_json_is_not_sent() -> None:
    async with service(routed()) as here:
        with pytest.raises(ServiceError) as failed:
            await here.client.ask(here.at(), Query(here.at().below("x"), {"x": float("nan")}), dict[str, Any])
        assert here.server.connections == 0
    assert failed.value.kind == ErrorKind.INVALID_REQUEST


# Addresses.


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8080",
        "hello",
        "ftp://example.com",
        "https://",
        "https://example.com/#x",
        "https://example.com:port",
        "https://user:secret@example.com",
        "https://exa mple.com",
        "http://[::1",
    ],
)
def test_a_malformed_address_is_refused_and_not_repeated(url: str) -> None:
    """Connect, invalid configuration (TestTransportErrorsHideCredentials: user names and passwords)."""
    with pytest.raises(ServiceError, match="base URL") as failed:
        endpoint_at(url)
    assert (failed.value.kind, failed.value.stage) == (ErrorKind.INVALID_CONFIG, Stage.CONNECT)
    assert_no_secret(failed)


@pytest.mark.parametrize("url", ["http://example.com", "http://127.0.0.1.example.com", "http://10.0.0.1"])
def test_a_key_does_not_travel_unencrypted_unless_told_to(url: str) -> None:
    with pytest.raises(ServiceError, match="unencrypted") as failed:
        endpoint_at(url, KEY)
    assert_no_secret(failed)
    assert endpoint_at(url, KEY, allow_http=True).api_key == KEY
    assert endpoint_at(url).api_key == ""


def test_a_key_is_one_word() -> None:
    assert endpoint_at("https://example.com", " key \n").api_key == "key"
    for key in ("a b", "a\nb", "ключ"):
        with pytest.raises(ServiceError, match="no key has"):
            endpoint_at("https://example.com", key)


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://example.com/base/", "v1/models", "https://example.com/base/v1/models"),
        (" https://example.com ", "/v1/models", "https://example.com/v1/models"),
        ("https://example.com/a%2Fb?x=1%202", "//c%2Fd", "https://example.com/a%2Fb/c%2Fd?x=1%202"),
    ],
)
def test_a_path_is_put_below_an_address(base: str, path: str, url: str) -> None:
    """TestAppendPath; escapes and the query stay."""
    assert endpoint_at(base).below(path) == url


def test_a_query_is_added_to_the_address_own() -> None:
    assert endpoint_at("https://example.com/v1?a=1").below("x", page=2) == "https://example.com/v1/x?a=1&page=2"
