"""The real SDKs against a server on this machine that misbehaves, or is not there."""

import contextlib
import datetime
import email.utils
import json
import re
import socket
import time
from typing import Any

import pytest
import trio
from turnfold.adapters.models import Patience, exchange
from turnfold.adapters.models.failures import NoStreamError, of_exception
from turnfold.effects.model import Started, StreamFailed, StreamFinished
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.answers import BRANDS, PROTOCOLS, answer_of, config_of, stream_of
from tests.adapters.models.loopback import (
    Answer,
    Asked,
    Open,
    ask,
    assert_no_secret,
    failure_of,
    free_port,
    in_real_time,
    model_at,
    says,
    serving,
    streams,
)

NO_STREAM = of_exception(config_of("openai-chat"), NoStreamError(200, {}, b"<html>")).kind

# --- what goes wrong: statuses


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("status", "kind", "says_so"),
    [
        (400, ErrorKind.INVALID_REQUEST, "rejected"),
        (401, ErrorKind.UNAUTHORIZED, "API key"),
        (402, ErrorKind.QUOTA, "credit"),
        (403, ErrorKind.FORBIDDEN, "the-model"),
        (404, ErrorKind.NOT_FOUND, "the-model"),
        (408, ErrorKind.TIMEOUT, "127.0.0.1"),
        (409, ErrorKind.PROTOCOL, "127.0.0.1"),
        (413, ErrorKind.OVERFLOW, "too long"),
        (422, ErrorKind.INVALID_REQUEST, "rejected"),
        (429, ErrorKind.RATE_LIMITED, "too many"),
        (500, ErrorKind.UNAVAILABLE, "127.0.0.1"),
        (502, ErrorKind.UNAVAILABLE, "127.0.0.1"),
        (503, ErrorKind.UNAVAILABLE, "127.0.0.1"),
        (504, ErrorKind.TIMEOUT, "127.0.0.1"),
        (529, ErrorKind.UNAVAILABLE, "127.0.0.1"),
    ],
)
@in_real_time
async def test_a_status_is_a_kind_and_is_asked_once(protocol: str, status: int, kind: ErrorKind, says_so: str) -> None:
    """The SDKs' own retries are off: retrying is the run's business (decision 24)."""
    page = b'{"error": {"message": "no, not with sk-a-very-secret-key\\nreally"}}'
    answer = says(f"{status} X", page, Content_Type="application/json", X_Request_Id="req-1")
    async with serving(answer) as server, model_at(server, protocol) as model:
        _, failed = await ask(model)
        assert len(server.asked) == 1
    assert isinstance(failed, StreamFailed)
    assert_no_secret(failed)
    error = failed.error
    assert (error.kind, error.status, error.request_id) == (kind, status, "req-1")
    assert error.message.startswith(BRANDS[protocol])
    assert says_so in error.message
    assert error.message.endswith("no, not with *** really")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({"Retry_After": "20"}, 20_000),
        ({"Retry_After": "1.5"}, 1_500),
        ({"Retry_After": "0"}, 0),
        ({"Retry_After_Ms": "250", "Retry_After": "20"}, 20_000),
        ({"Retry_After": "soon"}, None),
        ({"X_RateLimit_Reset": "7"}, 7_000),
        ({"X_RateLimit_Reset_Requests": "1m2s", "X_RateLimit_Remaining_Requests": "0"}, 62_000),
        ({"X_RateLimit_Reset_Tokens": "60ms"}, 60),
        ({"Anthropic_RateLimit_Tokens_Reset": "2001-01-01T00:00:00Z"}, 0),
        ({}, None),
    ],
)
@in_real_time
async def test_a_rate_limit_tells_how_long_to_wait(protocol: str, headers: dict[str, str], wait_ms: int | None) -> None:
    error = await failure_of(says("429 Too Many Requests", b"slow down", **headers), protocol)
    assert (error.kind, error.retry_after_ms) == (ErrorKind.RATE_LIMITED, wait_ms)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["Retry_After", "X_RateLimit_Reset", "Anthropic_RateLimit_Requests_Reset"])
@in_real_time
async def test_a_rate_limit_may_name_a_date(protocol: str, name: str) -> None:
    at = time.time() + 30
    internet = datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()
    date = internet if name.startswith("Anthropic") else email.utils.formatdate(at, usegmt=True)
    error = await failure_of(says("429 Too Many Requests", **{name: date}), protocol)
    assert error.retry_after_ms is not None
    assert 25_000 < error.retry_after_ms <= 30_000


@pytest.mark.parametrize(
    ("status", "said", "detail", "kind", "wait_ms"),
    [
        ("400 Bad Request", "API key not valid.", {"reason": "API_KEY_INVALID"}, ErrorKind.UNAUTHORIZED, None),
        (
            "429 Too Many Requests",
            "You exceeded your current quota. Please retry in 34s.",
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
            ErrorKind.RATE_LIMITED,
            34_000,
        ),
    ],
)
@in_real_time
async def test_google_tells_among_the_details_what_is_the_matter(
    status: str, said: str, detail: dict[str, str], kind: ErrorKind, wait_ms: int | None
) -> None:
    report = {"error": {"code": int(status[:3]), "message": said, "status": "ANY", "details": [detail]}}
    page = json.dumps(report).encode()
    error = await failure_of(says(status, page, Content_Type="application/json"), "gemini-generate")
    assert (error.kind, error.retry_after_ms) == (kind, wait_ms)


@in_real_time
async def test_a_used_up_quota_is_no_rate_limit() -> None:
    page = b'{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}'
    error = await failure_of(says("429 Too Many Requests", page, Content_Type="application/json"))
    assert (error.kind, error.code) == (ErrorKind.QUOTA, "insufficient_quota")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_redirect_is_not_followed(protocol: str) -> None:
    """The key goes only where it was meant to go."""
    async with serving(streams([])) as elsewhere:
        answer = says("307 Temporary Redirect", Location=f"{elsewhere.url}/v1?token=secret")
        error = await failure_of(answer, protocol)
        assert elsewhere.connections == 0
    assert (error.kind, error.status) == (ErrorKind.PROTOCOL, 307)
    assert "redirects are not followed" in error.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("status", "kind"), [("200 OK", NO_STREAM), ("502 Bad Gateway", ErrorKind.UNAVAILABLE)])
@in_real_time
async def test_a_web_page_is_no_answer_and_is_not_quoted(protocol: str, status: str, kind: ErrorKind) -> None:
    page = b"<!doctype html><html><body>Log in to the hotel network</body></html>"
    error = await failure_of(says(status, page, Content_Type="text/html; charset=utf-8"), protocol)
    assert error.kind == kind
    assert "hotel" not in error.message


HTML = b"<!doctype html>\n<p>data: none</p>\n"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("media", "page"),
    [
        ("application/json", b'{"choices": []}'),
        ("application/json", b"null"),
        ("application/vnd.api+json", b"{}"),
        ("text/json", b"{}"),
        ("text/plain", b"hi"),
        ("text/plain", b'{\n\n"choices": []}\n'),
        ("text/plain", HTML),
        ("text/event-stream", HTML),
        ("application/octet-stream", HTML),
        ("application/xhtml+xml", HTML),
        ("application/xml", HTML),
    ],
)
@in_real_time
async def test_an_answer_that_is_not_streamed_is_no_answer(protocol: str, media: str, page: bytes) -> None:
    """Whatever it says it is: that the address is wrong does not pass, and asking again would not help."""
    error = await failure_of(says("200 OK", page, Content_Type=media), protocol)
    assert error.kind is NO_STREAM
    assert "instead of a stream" in error.message
    assert "check the base URL" in error.message


@pytest.mark.parametrize("media", ["application/json", "application/problem+json", "text/plain", "text/event-stream"])
@in_real_time
async def test_an_error_report_with_a_status_of_success_is_an_error(media: str) -> None:
    page = b'{"error": {"message": "Overloaded", "type": "overloaded_error"}}'
    error = await failure_of(says("200 OK", page, Content_Type=media))
    assert (error.kind, error.code) == (ErrorKind.UNAVAILABLE, "overloaded_error")


@pytest.mark.parametrize("media", ["text/plain", "application/octet-stream", "text/event-stream"])
@pytest.mark.parametrize("body", [b"", b": ping\n\n", b"retry: 1\n\n"])
@in_real_time
async def test_a_stream_without_any_event_broke_off(media: str, body: bytes) -> None:
    error = await failure_of(says("200 OK", body, Content_Type=media))
    assert error.kind is ErrorKind.NETWORK
    assert "broke off" in error.message


@in_real_time
async def test_a_stream_that_had_an_event_broke_off_whatever_its_last_line_is() -> None:
    """Of a signature of some proxy's, or of a page in the middle of an answer."""
    _, body, _ = stream_of("openai-chat/plain")
    begun = body[: body.index(b"\n\n") + 2]
    error = await failure_of(says("200 OK", begun + b"<html>\n", Content_Type="text/event-stream"))
    assert error.kind is ErrorKind.NETWORK
    assert "broke off" in error.message


@pytest.mark.parametrize("media", ["", "text/plain", "application/octet-stream"])
@in_real_time
async def test_a_stream_by_another_name_is_a_stream(media: str) -> None:
    """Of a foreign line behind its events too: some servers end with one."""
    _, body, expected = stream_of("openai-chat/done-missing")
    answer = says("200 OK", body + b"<!-- bye -->\n", **({"Content_Type": media} if media else {}))
    async with serving(answer) as server, model_at(server) as model:
        assert answer_of(await ask(model)) == expected


@in_real_time
async def test_only_the_beginning_of_an_error_page_is_read() -> None:
    sent = 0

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        nonlocal sent
        await stream.send_all(b"HTTP/1.1 500 X\r\nConnection: close\r\n\r\n")
        with contextlib.suppress(trio.BrokenResourceError):
            while True:
                await stream.send_all(b"no " * 10_000)
                sent += 30_000

    error = await failure_of(answer)
    assert error.kind == ErrorKind.UNAVAILABLE
    assert len(error.message) < 500
    assert sent < 20_000_000


# --- what goes wrong: the network


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_refused_connection_names_the_host(protocol: str) -> None:
    port = free_port()
    async with model_at(f"http://127.0.0.1:{port}", protocol) as model:
        _, failed = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind == ErrorKind.NETWORK
    assert f"127.0.0.1:{port} refused the connection" in failed.error.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_an_unknown_host_is_named(protocol: str) -> None:
    class NoNames(trio.abc.HostnameResolver):
        async def getaddrinfo(self, *_: Any) -> Any:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        async def getnameinfo(self, *_: Any) -> Any:
            raise NotImplementedError

    trio.socket.set_custom_hostname_resolver(NoNames())
    async with model_at("https://models.example", protocol) as model:
        _, failed = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind == ErrorKind.NETWORK
    assert "models.example" in failed.error.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_server_that_speaks_no_tls_is_told_apart_from_a_broken_network(protocol: str) -> None:
    async def garbage(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with trio.open_nursery() as nursery, model_at(f"https://127.0.0.1:{port}", protocol) as model:
        nursery.start_soon(trio.serve_listeners, garbage, [listener])
        _, failed = await ask(model)
        nursery.cancel_scope.cancel()
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind == ErrorKind.TLS
    assert f"127.0.0.1:{port}" in failed.error.message


@in_real_time
async def test_a_request_that_cannot_be_written_is_the_hosts_mistake() -> None:
    async with model_at("http://127.0.0.1:9", temperature=float("nan")) as model:
        _, failed = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind == ErrorKind.INVALID_REQUEST


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_connection_that_breaks_off_is_a_failure_with_what_had_come(protocol: str) -> None:
    _, body, _ = stream_of(f"{protocol}/plain")
    cut = body[: body.index(b"data:", body.index(b"Hello")) + 20]
    async with serving(streams([cut], ends=False)) as server, model_at(server, protocol) as model:
        deltas = await ask(model)
    assert isinstance(deltas[0], Started)
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind == ErrorKind.NETWORK
    assert "broke off" in deltas[-1].error.message


@in_real_time
async def test_a_connection_that_breaks_off_after_the_end_does_no_harm() -> None:
    _, body, answer = stream_of("openai-chat/done-missing")
    async with serving(streams([body], ends=False)) as server, model_at(server) as model:
        assert answer_of(await ask(model)) == answer


@in_real_time
async def test_a_server_that_closes_without_a_word_is_a_network_failure() -> None:
    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await stream.aclose()

    assert (await failure_of(answer)).kind == ErrorKind.NETWORK


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_stalled_stream_is_given_up(protocol: str) -> None:
    _, body, _ = stream_of(f"{protocol}/plain")

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([body[:500]], ends=False)(Open(stream), asked)
        await trio.sleep_forever()

    error = await failure_of(answer, protocol, patience=Patience(stall_s=0.05))
    assert error.kind == ErrorKind.TIMEOUT
    assert "sent nothing for 0.05 s" in error.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_server_that_does_not_answer_is_given_up(protocol: str) -> None:
    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await trio.sleep_forever()

    error = await failure_of(answer, protocol, patience=Patience(headers_s=0.05))
    assert error.kind == ErrorKind.TIMEOUT
    assert "did not answer within 0.05 s" in error.message


@in_real_time
async def test_usage_is_not_waited_for_long_once_the_answer_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "GRACE_S", 0.05)
    _, body, _ = stream_of("openai-chat/usage-missing")

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([body.removesuffix(b"data: [DONE]\n\n")], ends=False)(Open(stream), asked)
        await trio.sleep_forever()

    async with serving(answer) as server, model_at(server) as model:
        assert isinstance((await ask(model))[-1], StreamFinished)


def pinging(begun: bytes, ping: bytes) -> Answer:
    """A beginning, and then signs of life for as long as the client is there."""

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([begun], ends=False)(Open(stream), asked)
        while True:
            await trio.sleep(0.02)
            await stream.send_all(b"%x\r\n%b\r\n" % (len(ping), ping))

    return answer


@pytest.mark.parametrize("ping", [b": ping\n\n", b"event: ping\ndata: {}\n\n"])
@in_real_time
async def test_signs_of_life_do_not_keep_a_complete_answer_waiting(
    ping: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may follow the marker has its time once, not from piece to piece."""
    monkeypatch.setattr(exchange, "GRACE_S", 0.1)
    _, body, expected = stream_of("openai-chat/done-missing")
    async with serving(pinging(body, ping)) as server, model_at(server) as model:
        with trio.fail_after(5):
            assert answer_of(await ask(model)) == expected


@in_real_time
async def test_signs_of_life_keep_an_answer_alive_but_not_for_ever() -> None:
    """As long as a request may wait for its turn, ``queue_s``; that is longer than silence may last."""
    patience = Patience(stall_s=0.2, queue_s=0.6)
    said: list[bytes] = []

    async def lives(begun: bytes, ping: bytes) -> None:
        began = trio.current_time()
        error = await failure_of(pinging(begun or ping, ping), patience=patience)
        assert error.kind is ErrorKind.TIMEOUT
        assert "sent nothing for 0.6 s but signs of life" in error.message
        assert trio.current_time() - began >= 0.6
        said.append(begun + ping)

    async with trio.open_nursery() as nursery:
        for begun in (b"", b'data: {"id": "1", "choices": [{"delta": {"content": "hi"}}]}\n\n'):
            for ping in (b": OPENROUTER PROCESSING\n\n", b"event: ping\ndata: {}\n\n"):
                nursery.start_soon(lives, begun, ping)
    assert len(said) == 4


@in_real_time
async def test_an_event_renews_the_patience() -> None:
    _, body, expected = stream_of("openai-chat/plain")
    pieces = re.findall(rb".+?\n\n", body, re.DOTALL)

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([], ends=False)(Open(stream), asked)
        for piece in pieces:
            await trio.sleep(0.3 / len(pieces))
            await stream.send_all(b"%x\r\n%b\r\n" % (len(piece), piece))

    async with serving(answer) as server, model_at(server, patience=Patience(stall_s=0.25, queue_s=0.2)) as model:
        assert answer_of(await ask(model)) == expected


@pytest.mark.parametrize("name", ["openai-chat/plain", "openai-responses/plain", "anthropic-messages/plain"])
@in_real_time
async def test_a_server_that_keeps_the_connection_open_is_not_waited_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ``[DONE]``, ``response.completed`` or ``message_stop`` nothing of interest can follow."""
    monkeypatch.setattr(exchange, "GRACE_S", 3_600)
    protocol, body, expected = stream_of(name)

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([body], ends=False)(Open(stream), asked)
        await trio.sleep_forever()

    async with serving(answer) as server, model_at(server, protocol) as model:
        assert answer_of(await ask(model)) == expected


@pytest.mark.parametrize("limit", ["MAX_ANSWER_BYTES", "MAX_EVENT_BYTES"])
@in_real_time
async def test_an_answer_without_end_is_given_up(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = exchange if limit == "MAX_ANSWER_BYTES" else exchange.EventDecoder.feed.__globals__
    if isinstance(module, dict):
        monkeypatch.setitem(module, limit, 50_000)
    else:
        monkeypatch.setattr(module, limit, 50_000)
    line = b": nothing\n" if limit == "MAX_EVENT_BYTES" else b": nothing\n\n"

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        while True:
            await stream.send_all(line * 1_000)

    error = await failure_of(answer)
    assert error.kind == ErrorKind.PROTOCOL
    assert "more than an answer may have" in error.message
