"""What outlives a process: killed chats, runs that somebody else holds, and ``turnfold resume``."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from turnfold.adapters.stores import SqliteStore
from turnfold.effects.feed import InputMessage
from turnfold.shells.cli.style import clock_time

from tests.shells.cli.conftest import Cli
from tests.shells.cli.server import Call, Pause, Reply, Server, Status, asked, results
from tests.shells.cli.terminal import CTRL_C, CTRL_D, at_terminal, plain

Serve = Callable[[Reply], Server]

TOOL = '''
import threading
from turnfold.adapters.tools import tool

@tool(side_effects=True)
def pay(amount: int) -> str:
    """Pay."""
    with open("paid", "a") as book:
        book.write("paid ")
    with open("reached", "w"):  # a pipe with a name: this waits until the test opens it too
        threading.Event().wait()
'''


def start_chat(cli: Cli, message: str, *arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "turnfold.shells.cli", "chat", "--db", str(cli.db), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(message.encode() + b"\n")
    process.stdin.flush()
    return process


def kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL


def test_a_chat_that_was_killed_goes_on_where_it_was(bare: Cli, serve: Serve) -> None:
    server = serve(lambda _: ["Half an ans", Pause()])
    process = start_chat(bare, "hello")
    assert server.reached.wait(30)
    kill(process)
    server.reply = lambda body: [f"You said: {asked(body)}"]
    result = bare.on_db("chat", "--take-over")
    assert (result.code, result.out) == (0, "You said: hello\n")
    assert result.err == "turnfold: the last message has no answer yet: asking for one\n"
    assert [body["messages"] for body in server.requests] == [[{"role": "user", "content": "hello"}]] * 2


def test_a_call_that_was_killed_is_not_repeated(bare: Cli, serve: Serve) -> None:
    """One with side effects: it needs review, and the model is told so."""
    Path("payment.py").write_text(TOOL)
    os.mkfifo("reached")
    server = serve(lambda body: results(body) or [Call("pay", {"amount": 5})])
    process = start_chat(bare, "pay", "--tool", "payment:pay")
    with open("reached"):
        kill(process)
    result = bare.on_db("chat", "--take-over", "--tool", "payment:pay")
    assert result.code == 0
    assert "Do not repeat it." in result.out
    assert "  ! pay needs review\n" in result.err
    assert Path("paid").read_text() == "paid "
    assert len(server.requests) == 2
    assert "1 to review" in bare.on_db("runs").out


def held_by(cli: Cli, pid: int, lease_ms: int, message: str = "hello") -> int:
    """Say something in the conversation and begin it as another process would; returns when its lease runs out."""

    async def begin() -> int:
        with SqliteStore(cli.db) as store:
            if message:
                await store.append("default", InputMessage(message))
            meta = {"kind": "chat", "holder": f"{os.uname().nodename}:{pid}"}
            await store.create_run("chat-default", "default", meta)
            await store.journal("chat-default").begin(lease_ms)
            summary = await store.run("chat-default")
            assert summary is not None
            assert summary.lease_until is not None
            return summary.lease_until

    return trio.run(begin)


def gone() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize("command", ["chat", "resume"])
def test_a_run_that_a_living_process_holds_is_left_alone(cli: Cli, echo: Server, command: str) -> None:
    until = held_by(cli, os.getpid(), 60_000)
    result = cli.on_db(command, *(["chat-default"] if command == "resume" else []))
    assert result.code == 5
    assert result.err.splitlines()[-1] == (
        f"turnfold: process {os.getpid()} holds the run until {clock_time(until)}; try again later, or say --take-over"
    )
    assert echo.requests == []


def test_a_run_that_a_dead_process_holds_is_waited_for(cli: Cli) -> None:
    pid = gone()
    until = held_by(cli, pid, 50)
    result = cli.on_db("chat")
    assert (result.code, result.out) == (0, "You said: hello (1)\n")
    waited = f"turnfold: process {pid}, which is gone, holds the run until {clock_time(until)}; waiting"
    assert result.err.splitlines()[1:] in ([waited], [])


def test_a_person_may_take_a_run_over(cli: Cli) -> None:
    held_by(cli, os.getpid(), 60_000)
    script = (("wait? ", "t\n"), ("You said: hello (1)", None), ("> ", CTRL_D))
    code, seen = at_terminal(cli.monkeypatch, ["chat", "--db", str(cli.db)], script)
    assert code == 0
    assert f"process {os.getpid()} holds the run until" in plain(seen)
    assert "interrupted" not in plain(seen)


@pytest.mark.parametrize("way_out", [CTRL_C, CTRL_D])
def test_a_person_may_leave_a_run_alone(cli: Cli, echo: Server, way_out: str | signal.Signals) -> None:
    held_by(cli, os.getpid(), 60_000)
    code, _ = at_terminal(cli.monkeypatch, ["chat", "--db", str(cli.db)], [("wait? ", way_out)])
    assert code == 130
    assert echo.requests == []


def test_a_person_may_wait_and_leave_while_waiting(cli: Cli, echo: Server) -> None:
    held_by(cli, os.getpid(), 60_000)
    script = (("wait? ", "\n"), ("; waiting", CTRL_C))
    code, _ = at_terminal(cli.monkeypatch, ["chat", "--db", str(cli.db)], script)
    assert code == 130
    assert echo.requests == []


def test_an_interrupted_turn_is_told_and_finished(cli: Cli) -> None:
    held_by(cli, gone(), 1)
    script = (("You said: hello (1)", None), ("> ", CTRL_D))
    code, seen = at_terminal(cli.monkeypatch, ["chat", "--db", str(cli.db)], script)
    assert code == 0
    assert "> hello\nthe last turn was interrupted before it had an answer; going on with it\n" in plain(seen)


def test_a_message_that_nobody_began_to_answer_is_answered(cli: Cli, echo: Server) -> None:
    """As after a crash right after it was said: an earlier answer is not taken for its own."""
    cli.on_db("chat", stdin="hello\n")

    async def say() -> None:
        with SqliteStore(cli.db) as store:
            await store.append("default", InputMessage("and now?"))

    trio.run(say)
    result = cli.on_db("chat")
    assert (result.code, result.out) == (0, "You said: and now? (2)\n")


def test_a_retry_that_was_killed_is_not_taken_for_the_failure_before_it(bare: Cli, serve: Serve) -> None:
    server = serve(lambda _: [Status(503, {"error": {"message": "later"}})])
    bare.on_db("chat", stdin="hello\n")
    held_by(bare, gone(), 1, message="")
    server.reply = lambda body: [f"You said: {asked(body)}"]
    script = (("You said: hello", None), ("> ", CTRL_D))
    code, seen = at_terminal(bare.monkeypatch, ["chat", "--db", str(bare.db)], script)
    assert code == 0
    assert "going on with it" in plain(seen)


def test_resume_finishes_a_chat_with_the_settings_it_had(bare: Cli, serve: Serve) -> None:
    server = serve(lambda _: [Status(503, {"error": {"message": "later"}})])
    assert bare.on_db("chat", "--system", "Be brief.", stdin="hello\n").code == 1
    for name in ("BRAND", "MODEL", "BASE_URL"):
        bare.monkeypatch.delenv(f"TURNFOLD_{name}")
    result = bare.on_db("resume", "chat-default")
    assert result.code == 1
    assert result.err.endswith("; the message is kept, and turnfold resume chat-default --db DB asks again\n")
    server.reply = lambda body: [f"You said: {asked(body)}"]
    result = bare.on_db("resume", "chat-default")
    assert (result.code, result.out, result.err) == (0, "You said: hello\n", "")
    assert server.requests[-1]["messages"][0] == {"role": "system", "content": "Be brief."}


def test_resuming_what_is_answered_says_so(cli: Cli, echo: Server) -> None:
    cli.on_db("chat", stdin="hello\n")
    result = cli.on_db("resume", "chat-default")
    assert (result.code, result.out) == (0, "")
    assert result.err == "there is nothing to go on with: everything that was said has been answered\n"
    assert len(echo.requests) == 1


def test_an_answer_that_was_saved_but_not_shown_is_shown(cli: Cli, echo: Server) -> None:
    """As after a crash between the last step and the delivery: the model is not asked again."""
    cli.on_db("chat", stdin="hello\n")

    async def forget() -> None:
        with SqliteStore(cli.db) as store:
            await store._access.write(lambda connection: connection.execute("DELETE FROM consumed"))

    trio.run(forget)
    assert cli.on_db("chat").out == "You said: hello (1)\n"
    assert cli.on_db("chat").out == ""
    assert len(echo.requests) == 1


def test_ctrl_c_stops_a_resumed_run(bare: Cli, serve: Serve) -> None:
    server = serve(lambda _: [Status(503, {"error": {"message": "later"}})])
    bare.on_db("chat", stdin="hello\n")
    server.reply = lambda _: ["Once upon", Pause()]
    server.on_pause = lambda: os.kill(os.getpid(), signal.SIGINT)
    result = bare.on_db("resume", "chat-default")
    assert result.code == 130
    assert result.err.endswith(
        "turnfold: stopped; the message is kept, and turnfold resume chat-default --db DB asks again\n"
    )
