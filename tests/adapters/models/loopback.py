"""A server on this machine that answers as a test says, and remembers what it was asked."""

import contextlib
import functools
import json
import queue
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import trio
from turnfold.adapters.models import RemoteModel, make_model
from turnfold.effects.model import Delta, ModelRequest, StreamFailed
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import ModelError, UserMessage

from tests.adapters.models.answers import BRANDS

KEY = "sk-a-very-secret-key"
REQUEST = ModelRequest("call-1", Seq([UserMessage("hello")]))


def in_real_time(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test under trio on the real clock: sockets take their time, and a jumping clock would run ahead of them."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            with trio.fail_after(20):
                await test(*args, **kwargs)

        trio.run(bounded)

    return run


@contextlib.asynccontextmanager
async def signed_by_itself() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A TLS server that nobody should believe: its port, and what clients said to it all the same."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(Path(__file__).with_name("self_signed_for_tests.pem"))
    heard: list[bytes] = []

    async def secretly(stream: trio.SSLStream[trio.SocketStream]) -> None:
        try:
            heard.append(bytes(await stream.receive_some()))
        except trio.BrokenResourceError:
            await trio.aclose_forcefully(stream)

    (listener,) = await trio.open_ssl_over_tcp_listeners(0, context, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, secretly, [listener])
        yield listener.transport_listener.socket.getsockname()[1], heard
        nursery.cancel_scope.cancel()


class Asked:
    """One request that arrived: its line, its headers (names in lower case) and its body."""

    def __init__(self, head: bytes, body: bytes) -> None:
        self.line, *rest = head.decode().split("\r\n")
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        self.body = json.loads(body) if body else None


Answer = Callable[[trio.SocketStream, Asked], Awaitable[None]]


class Loopback:
    """The server: ``url`` is its address, ``asked`` what arrived, ``connections`` how many clients came.

    ``left`` gets an entry for each client that has gone.
    """

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self.left: queue.Queue[None] = queue.Queue()
        self.url = ""
        self._answer = answer

    async def serve(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while (asked := await _next_request(stream)) is not None:
                self.asked.append(asked)
                await self._answer(stream, asked)
        self.left.put(None)


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Loopback]:
    """A server as long as the context lasts."""
    server = Loopback(answer)
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, server.serve, [listener])
        yield server
        nursery.cancel_scope.cancel()


@contextlib.contextmanager
def serving_elsewhere(answer: Answer) -> Iterator[Loopback]:
    """A server in a thread of its own, for clients in any event loop, or in several."""
    ready: queue.Queue[tuple[Loopback, trio.lowlevel.TrioToken, trio.Event]] = queue.Queue()

    async def serve() -> None:
        async with serving(answer) as server:
            over = trio.Event()
            ready.put((server, trio.lowlevel.current_trio_token(), over))
            await over.wait()

    thread = threading.Thread(target=trio.run, args=(serve,))
    thread.start()
    server, token, over = ready.get(timeout=20)
    try:
        yield server
    finally:
        token.run_sync_soon(over.set)
        thread.join(20)


async def _next_request(stream: trio.SocketStream) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = await stream.receive_some()
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    asked = Asked(head, b"")
    length = int(asked.headers.get("content-length", 0))
    while len(body) < length:
        body += await stream.receive_some()
    return Asked(head, body)


def streams(pieces: Iterable[bytes], *, ends: bool = True) -> Answer:
    """Answer with a stream of events in these pieces; without ``ends`` the connection breaks off after them."""

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n")
        await stream.send_all(b"Transfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            await stream.send_all(b"%x\r\n%b\r\n" % (len(piece), piece))
            await trio.lowlevel.checkpoint()
        if ends:
            await stream.send_all(b"0\r\n\r\n")
        else:
            await trio.aclose_forcefully(stream)

    return answer


def says(status: str, body: bytes = b"", **headers: str) -> Answer:
    """Answer with a status and a page."""

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await stream.send_all(head.encode() + b"\r\n" + body)

    return answer


async def ask(model: RemoteModel, request: ModelRequest = REQUEST) -> list[Delta]:
    """All deltas of one answer."""
    async with contextlib.aclosing(model.stream(request)) as deltas:
        return [delta async for delta in deltas]


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Open:
    """A stream that is not closed."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream

    async def send_all(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


def model_at(server: Loopback | str, protocol: str = "openai-chat", **options: Any) -> RemoteModel:
    """A model that asks the server, or whoever is at the address."""
    url = server if isinstance(server, str) else server.url
    return make_model(BRANDS[protocol], "the-model", url, KEY, protocol=protocol, **options)


async def failure_of(answer: Answer, protocol: str = "openai-chat", **options: Any) -> ModelError:
    """The error that a model makes of this answer."""
    async with serving(answer) as server, model_at(server, protocol, **options) as model:
        *_, last = await ask(model)
    assert isinstance(last, StreamFailed)
    assert_no_secret(last)
    return last.error


def assert_no_secret(failed: StreamFailed) -> None:
    """A failure is one line, and nothing in it that must not be told."""
    assert "\n" not in failed.error.message
    for text in (repr(failed), failed.error.message):
        assert KEY not in text
        assert "secret" not in text
