"""``turnfold chat`` from end to end in every protocol: a tool runs, and the answer is shown while it arrives."""

import threading
from collections.abc import Callable, Iterator

import pytest
import trio

from tests.adapters.models.loopback import Asked, Loopback, says, streams
from tests.shells.cli.conftest import Cli
from tests.shells.cli.dialects import DIALECTS, PIECES, QUESTION, Dialect, wire
from tests.shells.cli.terminal import CTRL_D, at_terminal, plain

KEY = "sk-a-very-secret-key"


class Speaker:
    """A server in a thread of its own. The last answer stops after its first piece until ``go_on``."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.loopback = Loopback(self._answer)
        self._started = threading.Event()
        self._seen = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._serve,), daemon=True)

    def __enter__(self) -> "Speaker":
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(10)

    def go_on(self) -> None:
        """Say the rest."""
        self._token.run_sync_soon(self._release.set)

    async def _serve(self) -> None:
        self._token, self._release = trio.lowlevel.current_trio_token(), trio.Event()
        with trio.CancelScope() as self._scope:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            self.loopback.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
            self._started.set()
            await trio.serve_listeners(self.loopback.serve, listeners)

    async def _answer(self, stream: trio.SocketStream, asked: Asked) -> None:
        if asked.line != f"POST {self.dialect.path} HTTP/1.1":
            await says("404 Not Found")(stream, asked)
        elif not self.dialect.result(asked.body):
            await streams(map(wire, self.dialect.calls()))(stream, asked)
        else:
            await self._in_two_halves(stream)

    async def _in_two_halves(self, stream: trio.SocketStream) -> None:
        events = [wire(event) for event in self.dialect.says()]
        first = next(place for place, event in enumerate(events) if PIECES[0].encode() in event) + 1
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await stream.send_all(b"".join(events[:first]))
        with trio.move_on_after(10):
            await self._release.wait()
            await stream.send_all(b"".join(events[first:]))
        await stream.aclose()


Start = Callable[[str], Speaker]


@pytest.fixture
def start(bare: Cli) -> Iterator[Start]:
    """Starts a server for a protocol and names it in the environment, but for the protocol."""
    running: list[Speaker] = []

    def started(protocol: str) -> Speaker:
        speaker = Speaker(DIALECTS[protocol]).__enter__()
        running.append(speaker)
        bare.monkeypatch.setenv("TURNFOLD_BRAND", speaker.dialect.brand)
        bare.monkeypatch.setenv("TURNFOLD_MODEL", "fake-1")
        bare.monkeypatch.setenv("TURNFOLD_API_KEY", KEY)
        bare.monkeypatch.setenv(
            "TURNFOLD_BASE_URL", speaker.loopback.url + ("" if protocol.startswith(("g", "a")) else "/v1")
        )
        return speaker

    yield started
    for speaker in running:
        speaker.__exit__()


@pytest.mark.parametrize("protocol", DIALECTS)
def test_a_person_sees_a_tool_run_and_the_answer_arrive(bare: Cli, start: Start, protocol: str) -> None:
    speaker = start(protocol)
    code, seen = at_terminal(
        bare.monkeypatch,
        ["chat", "--db", str(bare.db), "--protocol", protocol],
        [("> ", f"{QUESTION}\n"), ("calculator", None), ("It is", speaker.go_on), ("42.", None), ("> ", CTRL_D)],
    )
    assert code == 0
    assert "✓ calculator" in plain(seen)
    assert "".join(PIECES) in plain(seen)
    first, second = speaker.loopback.asked
    assert speaker.dialect.question(first.body) == QUESTION
    assert speaker.dialect.result(second.body) == "42"
    assert KEY in str(first.headers)
    assert KEY not in seen


@pytest.mark.parametrize("protocol", DIALECTS)
def test_a_pipe_gets_the_answer_and_the_protocol_is_remembered(bare: Cli, start: Start, protocol: str) -> None:
    """From the environment the first time; all but the key is kept with the run."""
    speaker = start(protocol)
    speaker.go_on()
    bare.monkeypatch.setenv("TURNFOLD_PROTOCOL", protocol)
    result = bare.on_db("chat", stdin=f"{QUESTION}\n")
    assert (result.code, result.out) == (0, "It is 42.\n")
    for name in ("PROTOCOL", "BRAND", "MODEL", "BASE_URL"):
        bare.monkeypatch.delenv(f"TURNFOLD_{name}")
    result = bare.on_db("chat", stdin="and again?\n")
    assert (result.code, result.out) == (0, "It is 42.\n")
    assert len(speaker.loopback.asked) == 3


def test_another_brand_does_not_inherit_the_protocol(bare: Cli, start: Start) -> None:
    speaker = start("openai-responses")
    speaker.go_on()
    assert bare.on_db("chat", "--protocol", "openai-responses", stdin=f"{QUESTION}\n").code == 0
    bare.monkeypatch.setenv("TURNFOLD_BRAND", "ollama")
    result = bare.on_db("chat", stdin="hello\n")
    assert "does not speak" not in result.err
    assert speaker.loopback.asked[-1].line == "POST /v1/chat/completions HTTP/1.1"


def test_a_protocol_that_the_brand_does_not_speak_is_told_with_those_it_speaks(bare: Cli, start: Start) -> None:
    start("gemini-generate")
    result = bare.on_db("chat", "--protocol", "anthropic-messages", stdin="hello\n")
    assert result.code == 2
    assert result.err.startswith("turnfold: google does not speak 'anthropic-messages', only gemini-generate")
    assert not bare.db.exists()
