"""What can happen to a connection, in the right kind and inside the right time: for every protocol's real client.

Statuses, pages and redirects are in ``test_exchange_failures``.
"""

import socket
import struct
from collections.abc import Callable

import pytest
import trio
from turnfold.adapters.models import Patience, exchange
from turnfold.adapters.models.failures import NoStreamError, of_exception
from turnfold.effects.model import BlockDelta, Delta, StreamFailed
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.answers import PROTOCOLS, config_of, stream_of
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
    signed_by_itself,
    streams,
)

PATIENCE = Patience(connect_s=0.3, headers_s=0.5, stall_s=0.4)
LATE_PAGES = Patience(connect_s=0.3, headers_s=0.5, stall_s=3.0)
PAGE_S = 0.6
NO_STREAM = of_exception(config_of("openai-chat"), NoStreamError(200, {}, b"<html>")).kind
AT_ONCE = 1.0
"""As long as a failure may take for which nothing has to be waited for, in seconds, on a machine that is busy."""


async def timed(server: str, protocol: str, patience: Patience = PATIENCE) -> tuple[list[Delta], float]:
    """The deltas of a model's answer, and how long they took."""
    async with model_at(server, protocol, patience=patience) as model:
        began = trio.current_time()
        return await ask(model), trio.current_time() - began


def beginning(protocol: str, text: bytes) -> bytes:
    """A plain answer up to the end of the event in which the text is."""
    _, body, _ = stream_of(f"{protocol}/plain")
    at = body.index(text)
    ends = [body.index(end, at) + len(end) for end in (b"\n\n", b"\r\n\r\n") if end in body[at:]]
    return body[: min(ends)]


def reset(stream: trio.SocketStream) -> None:
    """Hang up with a reset, not with an end."""
    stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.socket.close()


def reset_after(protocol: str, text: bytes) -> Answer:
    """A stream that is reset after this much of its answer; without any text, before its head."""

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        if text:
            await streams([beginning(protocol, text)], ends=False)(Open(stream), asked)
            await trio.sleep(0.05)  # or the reset would overtake what was sent
        reset(stream)

    return answer


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_reset_in_mid_stream_keeps_what_had_come(protocol: str) -> None:
    async with serving(reset_after(protocol, b"Hello")) as server:
        deltas, _ = await timed(server.url, protocol)
    assert "Hello" in "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta))
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind is ErrorKind.NETWORK
    assert_no_secret(deltas[-1])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_reset_in_place_of_an_answer_is_a_network_failure(protocol: str) -> None:
    error = await failure_of(reset_after(protocol, b""), protocol)
    assert error.kind is ErrorKind.NETWORK


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.usefixtures("certificates")
@in_real_time
async def test_a_certificate_that_signed_itself_is_not_believed(protocol: str) -> None:
    """The key is never sent: the connection is not secure, and says why in one line."""
    async with signed_by_itself() as (port, heard):
        deltas, _ = await timed(f"https://127.0.0.1:{port}", protocol)
    _, failed = deltas
    assert isinstance(failed, StreamFailed)
    assert_no_secret(failed)
    assert failed.error.kind is ErrorKind.TLS
    assert f"127.0.0.1:{port}" in failed.error.message
    assert "self-signed certificate" in failed.error.message
    assert heard == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_an_answer_in_torn_json_is_a_protocol_failure_with_what_had_come(protocol: str) -> None:
    async with serving(streams([beginning(protocol, b"Hello"), b'data: {"torn": "in the mid\n\n'])) as server:
        deltas, _ = await timed(server.url, protocol)
    assert "Hello" in "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta))
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind is ErrorKind.PROTOCOL
    assert "not JSON" in deltas[-1].error.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("status", "kind"),
    [("400 X", ErrorKind.INVALID_REQUEST), ("503 X", ErrorKind.UNAVAILABLE), ("200 OK", NO_STREAM)],
)
@in_real_time
async def test_a_torn_page_is_told_by_its_status(protocol: str, status: str, kind: ErrorKind) -> None:
    torn = b'{"error": {"message": "the reason is'
    assert (await failure_of(says(status, torn, Content_Type="application/json"), protocol)).kind is kind

    async def cut(stream: trio.SocketStream, asked: Asked) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"
        await stream.send_all(head.encode() + torn)
        await stream.aclose()

    assert (await failure_of(cut, protocol)).kind is kind


def silent_after(protocol: str, size: int) -> Answer:
    """The beginning of an answer, and then nothing. Of size -1 not even its head comes."""
    _, body, _ = stream_of(f"{protocol}/plain")

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        if size >= 0:
            await streams([body[:size]] if size else [], ends=False)(Open(stream), asked)
        await trio.sleep_forever()

    return answer


def page_of(status: str, page: bytes, **headers: str) -> Callable[[str], Answer]:
    return lambda _: says(status, page, **headers)


def stalled_page(status: str, page: bytes, media: str = "application/json") -> Callable[[str], Answer]:
    """A page of which only the beginning comes."""

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: 900\r\n\r\n"
        await stream.send_all(head.encode() + page)
        await trio.sleep_forever()

    return lambda _: answer


HTML = b"<!doctype html><h1>Bad gateway</h1>"
TIMED: dict[str, tuple[Callable[[str], Answer], ErrorKind, float, float]] = {
    "no head": (lambda protocol: silent_after(protocol, -1), ErrorKind.TIMEOUT, 0.5, 0.5 + AT_ONCE),
    "no body": (lambda protocol: silent_after(protocol, 0), ErrorKind.TIMEOUT, 0.4, 0.4 + AT_ONCE),
    "stalled": (lambda protocol: silent_after(protocol, 200), ErrorKind.TIMEOUT, 0.4, 0.4 + AT_ONCE),
    "reset": (lambda protocol: reset_after(protocol, b""), ErrorKind.NETWORK, 0.0, AT_ONCE),
    "429": (page_of("429 X", b"", Retry_After="3600"), ErrorKind.RATE_LIMITED, 0.0, AT_ONCE),
    "503": (page_of("503 X", b"", Retry_After="3600"), ErrorKind.UNAVAILABLE, 0.0, AT_ONCE),
    "529": (page_of("529 X", b'{"error": {}}'), ErrorKind.UNAVAILABLE, 0.0, AT_ONCE),
    "html": (page_of("502 X", HTML, Content_Type="text/html"), ErrorKind.UNAVAILABLE, 0.0, AT_ONCE),
    "stalled 401": (stalled_page("401 X", b""), ErrorKind.UNAUTHORIZED, PAGE_S, PAGE_S + AT_ONCE),
    "stalled 200": (stalled_page("200 OK", b'{"x"'), NO_STREAM, PAGE_S, PAGE_S + AT_ONCE),
    "stalled report": (
        stalled_page("200 OK", b"{", "application/problem+json"),
        NO_STREAM,
        PAGE_S,
        PAGE_S + AT_ONCE,
    ),
    "redirect": (page_of("302 X", b"", Location="http://127.0.0.1:9/"), ErrorKind.PROTOCOL, 0.0, AT_ONCE),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_failure_is_told_inside_its_time(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client waits on its own, for a delay that a server asks for or to try again.

    Nor does a page that stalls turn into a server that does not answer: it has a time of its own. All of them happen at
    once, since most of it is waiting.
    """
    monkeypatch.setattr(exchange, "PAGE_S", PAGE_S)
    told: dict[str, tuple[Delta, int, bool]] = {}

    async def happens(what: str) -> None:
        answer_for, _, least, most = TIMED[what]
        async with serving(answer_for(protocol)) as server:
            deltas, seconds = await timed(server.url, protocol, PATIENCE if least < PAGE_S else LATE_PAGES)
            told[what] = deltas[-1], len(server.asked), least <= seconds < most

    async with trio.open_nursery() as nursery:
        for what in TIMED:
            nursery.start_soon(happens, what)
    assert [what for what, (last, _, _) in told.items() if not isinstance(last, StreamFailed)] == []
    assert {what: last.error.kind for what, (last, _, _) in told.items() if isinstance(last, StreamFailed)} == {
        what: kind for what, (_, kind, _, _) in TIMED.items()
    }
    assert {what: asked for what, (_, asked, _) in told.items()} == dict.fromkeys(TIMED, 1)
    assert [what for what, (_, _, in_time) in told.items() if not in_time] == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_port_where_nobody_listens_is_told_at_once(protocol: str) -> None:
    deltas, seconds = await timed(f"http://127.0.0.1:{free_port()}", protocol)
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind is ErrorKind.NETWORK
    assert seconds < AT_ONCE


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_server_that_takes_no_connection_is_given_up_after_its_time(protocol: str) -> None:
    """A queue of connections that is full: nobody refuses, and nobody answers."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        deltas, seconds = await timed(f"http://127.0.0.1:{full.getsockname()[1]}", protocol)
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind is ErrorKind.TIMEOUT
    assert 0.3 <= seconds < 0.3 + AT_ONCE
