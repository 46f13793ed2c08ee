"""A proxy on this machine that answers as a test says, and remembers what it was asked; on trio and asyncio alike."""

import contextlib
import functools
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import anyio
import anyio.abc
import attrs
from turnfold.adapters.proxy import ProxyModel
from turnfold.effects.model import Delta, ModelChoice, ModelRequest, StreamFailed
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import ModelError, UserMessage

TOKEN = "tok-a-very-secret-token"
MODEL = ModelChoice("px-1", "northwind", "chat-v1", extra={"name": "Px"})
REQUEST = ModelRequest("call-1", Seq([UserMessage("hello", timestamp=7)]))
NOW = 1_760_000_000_000


@attrs.frozen
class Asked:
    """One request that arrived; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Drop:
    """A chunk: the connection is reset, once the client has read what came before (a reset throws that away)."""

    def __init__(self) -> None:
        self.now = anyio.Event()


class Hang:
    """A chunk: nothing more is sent, and the connection stays open."""


Chunk = bytes | Drop | Hang


@attrs.frozen
class Answer:
    """What the server says: each chunk is sent on its own. Without ``chunked`` the end of the connection is the end."""

    chunks: Iterable[Chunk] = ()
    status: str = "200 OK"
    headers: Mapping[str, str] = {}
    chunked: bool = True


class Loopback:
    """The server; ``connections`` counts the clients that came."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.connections = 0
        self.url = ""
        self.was_asked = anyio.Event()
        self.let_go = anyio.Event()

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            async with stream:
                while True:
                    self.asked.append(await _next_request(stream))
                    self.was_asked.set()
                    if not await self._say(stream):
                        break
        self.let_go.set()

    async def _say(self, stream: anyio.abc.SocketStream) -> bool:
        answer = self.answer
        framing = "Transfer-Encoding: chunked" if answer.chunked else "Connection: close"
        lines = [f"HTTP/1.1 {answer.status}", framing, *(f"{name}: {text}" for name, text in answer.headers.items())]
        await stream.send("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
        for chunk in answer.chunks:
            if isinstance(chunk, Drop):
                await chunk.now.wait()
                raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            if isinstance(chunk, Hang):
                await stream.receive()
                return False
            await stream.send(b"%x\r\n%b\r\n" % (len(chunk), chunk) if answer.chunked else chunk)
            await anyio.lowlevel.checkpoint()
        if answer.chunked:
            await stream.send(b"0\r\n\r\n")
        return answer.chunked


async def _next_request(stream: anyio.abc.SocketStream) -> Asked:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += await stream.receive()
    method, path, _ = line.split(" ")
    return Asked(method, path, headers, body)


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Loopback]:
    """A server as long as the context lasts."""
    server = Loopback(answer)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        server.url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.serve)
            yield server
            group.cancel_scope.cancel()


def in_real_time(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test on both event loops, on the real clock: sockets take their time."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            with anyio.fail_after(20):
                await test(*args, **kwargs)

        for backend in ("trio", "asyncio"):
            anyio.run(bounded, backend=backend)

    return run


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def proxy_at(server: Loopback | str, **options: Any) -> ProxyModel:
    url = server if isinstance(server, str) else server.url
    return ProxyModel(url, TOKEN, **{"model": MODEL, "now": lambda: NOW, **options})


async def ask(model: ProxyModel, request: ModelRequest = REQUEST) -> list[Delta]:
    """All deltas of one answer."""
    async with contextlib.aclosing(model.stream(request)) as deltas:
        return [delta async for delta in deltas]


async def failure_of(answer: Answer, **options: Any) -> ModelError:
    """The failure that an answer is."""
    async with serving(answer) as server, proxy_at(server, **options) as model:
        *_, last = await ask(model)
    assert isinstance(last, StreamFailed)
    assert TOKEN not in repr(last)
    return last.error
