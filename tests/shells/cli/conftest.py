"""A command line to call in this process: an environment of its own, a database, and a model server on this machine."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
from turnfold.shells.cli import main

from tests.shells.cli.server import Reply, Server, asked


@attrs.frozen
class Result:
    """What a command gave back."""

    code: int
    out: str
    err: str


@attrs.frozen
class Cli:
    """Calls ``main`` as a shell would, with lines piped in."""

    db: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        reading, writing = os.pipe()
        os.write(writing, stdin.encode())
        os.close(writing)
        with open(reading) as source:
            self.monkeypatch.setattr(sys, "stdin", source)
            self.capsys.readouterr()
            code = main(arguments)
        out, err = self.capsys.readouterr()
        return Result(code, out, err)

    def on_db(self, command: str, *arguments: str, stdin: str = "") -> Result:
        """A command on the test's database, which what it says calls ``DB`` wherever a hint repeats the flag."""
        result = self(command, *arguments, "--db", str(self.db), stdin=stdin)
        flag = f" --db {self.db}"
        return Result(result.code, *(text.replace(flag, " --db DB") for text in (result.out, result.err)))


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A command line that was told of no model."""
    for name in [name for name in os.environ if name.startswith("TURNFOLD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return Cli(tmp_path / "chat.db", monkeypatch, capsys)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Reply], Server]]:
    """Starts a model server and names it in the environment."""
    running: list[Server] = []

    def start(reply: Reply) -> Server:
        server = Server(reply).__enter__()
        running.append(server)
        monkeypatch.setenv("TURNFOLD_BRAND", "openai_compatible")
        monkeypatch.setenv("TURNFOLD_MODEL", "fake-1")
        monkeypatch.setenv("TURNFOLD_BASE_URL", server.url)
        return server

    yield start
    for server in running:
        server.__exit__()


@pytest.fixture
def echo(bare: Cli, serve: Callable[[Reply], Server]) -> Server:
    """A server that says what was said, and how many messages it has seen."""

    def reply(body: dict[str, object]) -> list[str]:
        said = [message for message in body["messages"] if message["role"] == "user"]  # type: ignore[attr-defined]
        return ["You said: ", asked(body), f" ({len(said)})"]

    return serve(reply)


@pytest.fixture
def cli(bare: Cli, echo: Server) -> Cli:
    """A command line whose model is ``echo``."""
    return bare
