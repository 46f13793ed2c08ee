"""What commands tell a person: whole commands to type next, what a run said, and why something was not done."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import trio
from turnfold.adapters.stores import SqliteStore
from turnfold.effects.journal import Changes, Step
from turnfold.effects.outcome import Delivered
from turnfold.effects.record import CallStatus, Handover, ToolCall

from tests.shells.cli.conftest import Cli
from tests.shells.cli.server import Reply, Server
from tests.shells.cli.terminal import CTRL_D, at_terminal, plain

Serve = Callable[[Reply], Server]


def fill(cli: Cli, *calls: ToolCall, run_id: str = "r", **meta: str) -> None:
    async def write() -> None:
        with SqliteStore(cli.db) as store:
            await store.create_run(run_id, "talk", meta)
            journal = store.journal(run_id)
            attempt = (await journal.begin(60_000)).attempt
            await journal.save_step(attempt, Step(b'{"version":1}', changes=Changes(calls=calls)))
            await journal.end(attempt)

    trio.run(write)


# --- show


def test_show_tells_all_that_was_said_and_answered(cli: Cli) -> None:
    cli.on_db("chat", stdin="hello\n" + "word " * 100 + "\nbye\n")
    lines = cli.on_db("show", "chat-default").out.splitlines()
    start = lines.index("  asked     hello")
    assert lines[start + 1] == "  answered  You said: hello (1)"
    assert lines[start + 2].startswith("  asked     word word ")
    assert lines[start + 2].endswith("…")
    assert lines[start + 3].startswith("  answered  You said: word word ")
    assert lines[start + 4 :] == ["  asked     bye", "", "outcome  You said: bye (3)"]


def test_show_tells_an_answer_again_that_was_given_before(bare: Cli, serve: Serve) -> None:
    serve(lambda _: ["Yes."])
    bare.on_db("chat", stdin="one?\ntwo?\n")
    assert bare.on_db("show", "chat-default").out.endswith(
        "\n  asked     one?\n  answered  Yes.\n  asked     two?\n\noutcome  Yes.\n"
    )


def test_show_tells_what_has_no_answer_yet(bare: Cli, serve: Serve) -> None:
    serve(lambda _: [])
    bare.on_db("chat", "--base-url", "http://127.0.0.1:1", stdin="anybody?\n")
    assert "  asked     anybody?\n" in bare.on_db("show", "chat-default").out


def test_show_says_when_what_was_said_cannot_be_read(bare: Cli) -> None:
    async def spoil() -> None:
        with SqliteStore(bare.db) as store:
            await store.create_run("r", "talk")
            journal = store.journal("r")
            attempt = (await journal.begin(1)).attempt
            await journal.save_step(attempt, Step(b"garbage", outcome=Delivered("Done.")))

    trio.run(spoil)
    result = bare.on_db("show", "r")
    assert result.code == 0
    assert "what was said cannot be shown: the checkpoint of the run is damaged" in result.out
    assert result.out.endswith("\noutcome  Done.\n")


def test_a_paused_call_comes_with_the_commands_that_decide_it(bare: Cli) -> None:
    fill(bare, ToolCall("c1", CallStatus.AWAITING_DECISION, 1, name="pay"))
    assert (
        "        to do: turnfold decide c1 --approve --db DB\n"
        "           or: turnfold decide c1 --reject REASON --db DB\n"
    ) in bare.on_db("show", "r").out


def test_a_pause_that_expired_is_not_to_be_decided(bare: Cli) -> None:
    fill(bare, ToolCall("c1", CallStatus.AWAITING_DECISION, 1, name="pay", expires_at=1), kind="chat")
    shown = bare.on_db("show", "r").out
    assert "turnfold decide" not in shown
    assert (
        "        expired: nobody decided it in time; resuming the run rejects it\n"
        "        to do: turnfold resume r --db DB\n           or: turnfold cancel r --db DB\n"
    ) in shown


def test_a_submitted_call_is_to_be_settled(bare: Cli) -> None:
    fill(bare, ToolCall("c1", CallStatus.AWAITING_DECISION, 1, name="pay", handover=Handover.SUBMITTED))
    shown = bare.on_db("show", "r").out
    assert "  pay  submitted\n        to do: turnfold settle c1 --result TEXT --db DB\n" in shown
    assert "awaiting decision" not in shown


def test_a_decided_call_is_carried_out_by_a_resume(bare: Cli) -> None:
    fill(bare, ToolCall("c1", CallStatus.AWAITING_DECISION, 1, name="pay"), kind="chat")
    bare.on_db("decide", "c1", "--reject", "no")
    assert "        to do: turnfold resume r --db DB\n" in bare.on_db("show", "r").out


def test_hints_name_a_database_only_where_one_was_given(bare: Cli) -> None:
    bare.monkeypatch.setenv("XDG_DATA_HOME", str(bare.db.parent))
    (bare.db.parent / "turnfold").mkdir()
    db = bare.db.parent / "turnfold" / "turnfold.db"
    SqliteStore(db).close()
    assert bare("show", "x").err.endswith("; turnfold runs lists those there are\n")
    odd = db.rename(db.with_name("it's here.db"))
    assert bare("show", "x", "--db", str(odd)).err.endswith(
        f"; turnfold runs --db '{db.parent}/it'\"'\"'s here.db' lists those there are\n"
    )


# --- runs by the beginning of their ids


@pytest.mark.parametrize("command", ["show", "cancel"])
def test_the_beginning_of_a_runs_id_will_do(bare: Cli, command: str) -> None:
    for run_id in ("night-1", "night-10", "day"):
        fill(bare, run_id=run_id)
    assert bare.on_db(command, "d").code == 0
    assert bare.on_db("show", "night-1").out.startswith("night-1\n")
    result = bare.on_db(command, "nig")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("turnfold: more than one run has an id that begins with 'nig': night-1")
    assert bare.on_db(command, "").code == 4
    assert bare.on_db(command, "x").code == 4


def test_resume_takes_the_beginning_of_a_runs_id_too(cli: Cli) -> None:
    cli.on_db("chat", stdin="hello\n")
    assert cli.on_db("resume", "chat").err.startswith("there is nothing to go on with")


# --- brands and keys


def test_a_brand_that_does_not_exist_is_complained_about_first(bare: Cli) -> None:
    assert bare("chat", "--brand", "bogus").err.startswith("turnfold: unknown brand 'bogus'; known are openai, ")


@pytest.mark.parametrize(
    ("brand", "variable"), [("openai", "OPENAI_API_KEY"), ("google", "GEMINI_API_KEY"), ("google", "GOOGLE_API_KEY")]
)
@pytest.mark.parametrize("command", ["chat", "probe", "models"])
def test_a_key_in_another_variable_is_said_to_be_ignored(bare: Cli, command: str, brand: str, variable: str) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        bare.monkeypatch.delenv(name, raising=False)
    arguments = (command, "--brand", brand, "--model", "m") if command == "chat" else (command, brand)
    assert bare(*arguments).err == (f"turnfold: {brand} needs an API key: set TURNFOLD_API_KEY, or say --api-key\n")
    bare.monkeypatch.setenv(variable, "sk-secret")
    assert bare(*arguments).err == (
        f"turnfold: {brand} needs an API key: set TURNFOLD_API_KEY ({variable} is set, but only TURNFOLD_API_KEY is "
        "read), or say --api-key\n"
    )


def test_a_brand_that_is_remembered_says_so(bare: Cli) -> None:
    fill(bare, run_id="chat-talk", kind="chat", brand="openai", model="m")
    bare.monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    remembered = "; openai is remembered from the last time, and --brand names another one\n"
    assert bare.on_db("chat", "--conversation", "talk").err.endswith(remembered)
    assert not bare.on_db("chat", "--conversation", "talk", "--brand", "openai").err.endswith(remembered)


# --- cancelled by somebody else


def test_a_chat_whose_run_somebody_cancels_says_so(bare: Cli, serve: Serve) -> None:
    def reply(_: object) -> list[str]:
        command = [sys.executable, "-m", "turnfold.shells.cli", "cancel", "chat-default", "--db", str(bare.db)]
        subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)
        return ["Too late."]

    serve(reply)
    command = ["chat", "--db", str(bare.db)]
    _, seen = at_terminal(bare.monkeypatch, command, [("> ", "hello\n"), ("asks again", None), ("> ", CTRL_D)])
    assert "turnfold: somebody ended the run with turnfold cancel; the message is kept" in " ".join(plain(seen).split())
