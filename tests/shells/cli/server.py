"""A model server on this machine, in a thread of its own: it speaks OpenAI's Chat Completions and says what it is told.

``reply`` is a function of the request's body and gives what to send, step by step: pieces of text, ``Call``, ``Think``,
``Pause`` (until ``go_on`` or until the client hangs up), ``Length`` (its output limit is reached), ``HangUp`` (the
connection ends), or a ``Status`` instead of an answer.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

import attrs
import h11
import trio


@attrs.frozen
class Call:
    """The model calls a tool."""

    name: str
    arguments: dict[str, Any]


@attrs.frozen
class Think:
    """The model reasons."""

    text: str


@attrs.frozen
class Pause:
    """Nothing more until the test says so; ``reached`` is set when the server is here."""

    seconds: float = 60.0


@attrs.frozen
class Status:
    """No answer but an error page."""

    status: int
    body: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Length:
    """The answer ends because it may not be longer."""


@attrs.frozen
class HangUp:
    """The answer ends in the middle."""


Step = str | Call | Think | Pause | Status | Length | HangUp
Reply = Callable[[dict[str, Any]], Iterable[Step]]


def asked(body: dict[str, Any]) -> str:
    """The last thing that the user said."""
    return next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user")


def results(body: dict[str, Any]) -> list[str]:
    """The results of tools since the user last said something."""
    found: list[str] = []
    for message in body["messages"]:
        if message["role"] == "user":
            found = []
        elif message["role"] == "tool":
            found.append(message["content"])
    return found


class Server:
    """Serves for as long as it is entered. ``requests`` are the bodies, ``headers`` what came with them."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.reached = threading.Event()
        self.on_pause: Callable[[], None] = lambda: None
        self.gap_s = 0.0
        self._started = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._serve,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> "Server":
        self._thread.start()
        self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(10)

    def go_on(self) -> None:
        """End a pause."""
        self._token.run_sync_soon(self._release.set)

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._release = trio.Event()
        with trio.CancelScope() as self._scope:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            self._port = listeners[0].socket.getsockname()[1]
            self._started.set()
            await trio.serve_listeners(self._connection, listeners)

    async def _connection(self, stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError):
            await _Exchange(self, stream).run()


class _Exchange:
    def __init__(self, server: Server, stream: trio.SocketStream) -> None:
        self._server = server
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def run(self) -> None:
        async with self._stream:
            while True:
                body = await self._request()
                if body is None:
                    return
                await self._answer(json.loads(body))
                if self._http.our_state is not h11.DONE:
                    return
                self._http.start_next_cycle()

    async def _request(self) -> bytes | None:
        body = b""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._stream.receive_some())
            elif isinstance(event, h11.Request):
                headers = {name.decode(): value.decode() for name, value in event.headers}
                self._server.headers.append(headers)
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return body
            else:
                return None

    async def _answer(self, body: dict[str, Any]) -> None:
        self._server.requests.append(body)
        steps = list(self._server.reply(body))
        if isinstance(steps[0], Status):
            await self._page(steps[0])
            return
        await self._send(h11.Response(status_code=200, headers=[("content-type", "text/event-stream")]))
        for place, step in enumerate(steps):
            if isinstance(step, HangUp):
                await self._stream.aclose()
                return
            await self._step(place, step)
        stop = "tool_calls" if any(isinstance(step, Call) for step in steps) else "stop"
        stop = "length" if any(isinstance(step, Length) for step in steps) else stop
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        await self._chunk({}, finish_reason=stop)
        await self._event({"id": "r", "choices": [], "usage": usage})
        await self._send(h11.Data(b"data: [DONE]\n\n"))
        await self._send(h11.EndOfMessage())

    async def _step(self, place: int, step: Step) -> None:
        if isinstance(step, str):
            await trio.sleep(self._server.gap_s)
            await self._chunk({"content": step})
        elif isinstance(step, Think):
            await trio.sleep(self._server.gap_s)
            await self._chunk({"reasoning_content": step.text})
        elif isinstance(step, Call):
            function = {"name": step.name, "arguments": json.dumps(step.arguments)}
            await self._chunk({"tool_calls": [{"index": place, "id": f"c{place}", "function": function}]})
        elif isinstance(step, Pause):
            self._server.reached.set()
            self._server.on_pause()
            with trio.move_on_after(step.seconds):
                await self._server._release.wait()

    async def _page(self, page: Status) -> None:
        data = json.dumps(page.body).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(data)))]
        await self._send(h11.Response(status_code=page.status, headers=headers))
        await self._send(h11.Data(data))
        await self._send(h11.EndOfMessage())

    async def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        await self._event({"id": "r", "model": "fake", "choices": [choice]})

    async def _event(self, data: dict[str, Any]) -> None:
        await self._send(h11.Data(b"data: " + json.dumps(data).encode() + b"\n\n"))

    async def _send(self, event: Any) -> None:
        data = self._http.send(event)
        if data:
            await self._stream.send_all(data)
