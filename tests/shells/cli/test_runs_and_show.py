"""``turnfold runs`` and ``turnfold show``: what is stored, for people and as JSON."""

import json
import os
import pty
import sys
import termios

import attrs
import pytest
import trio
from turnfold.adapters.stores import SqliteStore
from turnfold.effects.journal import Changes, Step
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind, Outcome, Suspended
from turnfold.effects.record import (
    Block,
    BlockKind,
    CallDecision,
    CallStatus,
    Completion,
    CompletionSource,
    Handover,
    PlanTask,
    Standing,
    ToolCall,
)
from turnfold.effects.transcript import Usage
from turnfold.shells.cli import main

from tests.shells.cli.conftest import Cli
from tests.shells.cli.terminal import shown

RUN = "a-run-with-quite-a-long-name-that-goes-on"
CALLS = (
    ToolCall(
        "c1",
        CallStatus.SUCCEEDED,
        name="look_up",
        arguments='{"city":"Kraków","days":3}',
        result="sunny\n" + "and warm " * 100,
        started_at=1000,
        completed_at=2500,
        notes={"source": "weather"},
    ),
    ToolCall("c2", CallStatus.NEEDS_REVIEW, name="pay", arguments="{}", result="not known", side_effects=True),
    ToolCall(
        "c3",
        CallStatus.AWAITING_DECISION,
        name="delete",
        arguments="not JSON",
        decision=CallDecision(approved=True, reason="go on", by="Ann"),
    ),
    ToolCall("c4", CallStatus.WAITING, name="ask", handover=Handover.AWAIT),
    ToolCall("c5", CallStatus.FAILED, name="break", error="it broke\x1b[2J"),
    ToolCall("c6", CallStatus.RUNNING, name="work", handover=Handover.DETACHED, result="job 7"),
)
BLOCKS = (
    Block("b1", 1, "m", BlockKind.THINKING, "Let me think."),
    *(Block(f"b{2 + place}", 2 + place, "m", BlockKind.TOOL_CALL, "", call.id) for place, call in enumerate(CALLS)),
    Block("b8", 8, "m", BlockKind.CONTENT, "Half a sent", standing=Standing.BROKEN_OFF),
)


HEAD = b'{"version":1,"spent":[["acme","large\\u001b[2J","main",90,20,0,20,0],["","","main",10,0,0,10,0]]}'


def store(cli: Cli, run_id: str, outcome: Outcome | None, *, ended: bool = True, head: bytes = HEAD) -> None:
    step = Step(
        head,
        changes=Changes(blocks=BLOCKS, calls=CALLS),
        usage=Usage(input=100, cache_read=20, output=30),
        plan=(PlanTask("1", "Tidy up"),),
        outcome=outcome,
    )

    async def fill() -> None:
        with SqliteStore(cli.db) as opened:
            await opened.create_run(run_id, "talk", {"kind": "job"})
            journal = opened.journal(run_id)
            attempt = (await journal.begin(60_000)).attempt
            await journal.save_step(attempt, step)
            if ended:
                await journal.end(attempt)

    trio.run(fill)


def test_runs_are_listed_with_their_state(bare: Cli) -> None:
    store(bare, "answered-run", Delivered("Done."))
    store(bare, "failed-run", Failed(FailureKind.TURN_LIMIT, "no more"))
    store(bare, "waiting-run", Suspended(("c4",)))
    store(bare, "running-run", None, ended=False)
    result = bare.on_db("runs")
    assert (result.code, result.err) == (0, "")
    heading, *rows = result.out.splitlines()
    assert heading.split() == ["RUN", "STATE", "ATTEMPTS", "UPDATED", "CONVERSATION"]
    states = {row.split()[0]: row for row in rows}
    assert "answered, 1 to review, 1 waiting, 1 outstanding" in states["answered-run"]
    assert "failed: turn limit" in states["failed-run"]
    assert "waits for a call, 1 to review, 1 outstanding" in states["waiting-run"]
    assert "running (held until " in states["running-run"]


def test_runs_has_a_limit(bare: Cli) -> None:
    for number in range(3):
        store(bare, f"run-{number}", None)
    assert len(bare.on_db("runs", "--limit", "2").out.splitlines()) == 3


def test_runs_as_json_have_every_member(bare: Cli) -> None:
    store(bare, "r", Delivered("Done.", 4))
    (run,) = json.loads(bare.on_db("runs", "--json").out)
    assert run["run_id"] == "r"
    assert run["outcome"] == {"type": "Delivered", "text": "Done.", "boundary": 4}
    assert run["held"] is False
    assert run["lease_until"] is None
    assert (run["needs_review"], run["waiting"], run["outstanding"], run["meta"]) == (1, 1, 1, {"kind": "job"})


def test_a_store_without_runs_says_so(bare: Cli) -> None:
    SqliteStore(bare.db).close()
    assert bare.on_db("runs").out == "no runs yet: turnfold chat or turnfold demo --keep makes one\n"
    assert json.loads(bare.on_db("runs", "--json").out) == []


def test_show_tells_what_a_run_did(bare: Cli) -> None:
    store(bare, "r", Delivered("All\nis done."))
    result = bare.on_db("show", "r")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "r"
    tokens = lines.index("  tokens        150 (input 100, cached 20, output 30)")
    assert lines[tokens + 1 : tokens + 3] == [
        "                acme/large[2J 130 (input 90, cached 20, output 20)",
        "                a model that did not say which 20 (input 10, output 10)",
    ]
    start = lines.index("   1  thought  Let me think.")
    (looked_up, result_line), rest = lines[start + 1 : start + 3], lines[start + 3 :]
    assert looked_up == "   2  look_up  succeeded  1.5 s"
    assert result_line.startswith("        sunny and warm and warm")
    assert result_line.endswith("…")
    assert rest == [
        "        note source: weather",
        "   3  pay  needs review",
        "        not known",
        "        to do: turnfold settle c2 --result TEXT --db DB",
        "           or: turnfold settle c2 --error TEXT --db DB",
        "   4  delete  awaiting decision",
        "        decision approved by Ann: go on",
        "        to do: resume the run with the program that made it",
        "   5  ask  waiting",
        "        to do: turnfold settle c4 --result TEXT --db DB",
        "           or: turnfold settle c4 --error TEXT --db DB",
        "   6  break  failed",
        "        it broke[2J",
        "   7  work  running",
        "        job 7",
        "        to do: turnfold settle c6 --result TEXT --db DB",
        "           or: turnfold settle c6 --error TEXT --db DB",
        "   8  said (broken off)  Half a sent",
        "  plan  pending      Tidy up",
        "",
        "outcome  All",
        "is done.",
    ]


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Suspended(("c3", "c4")), "waits for the result of ask"),
        (None, "waits for the result of ask"),
        (Completed(Completion(CompletionSource.TOOL, '{"a":1}')), 'completed by a tool with {"a":1}'),
        (Completed(Completion(CompletionSource.GUARD, "1", True)), "completed by the guard, for good, with 1"),
        (
            Completed(Completion(CompletionSource.FALLBACK, "1", reason="budget_exhausted")),
            "completed by the fallback (budget exhausted) with 1",
        ),
    ],
)
def test_show_says_how_a_run_ended_or_what_it_waits_for(bare: Cli, outcome: Outcome | None, line: str) -> None:
    store(bare, "r", outcome)
    assert bare.on_db("show", "r").out.endswith(f"\noutcome  {line}\n")


@pytest.mark.parametrize(
    ("decision", "plain", "full"),
    [
        (CallDecision(True), "approved", "approved"),
        (
            CallDecision(True, arguments='{"x":1}', by="A"),
            "approved with other arguments by A",
            'approved with {"x":1} by A',
        ),
        (CallDecision(reason="too\nmuch"), "rejected: too much", "rejected: too much"),
        (CallDecision(result="done by hand"), "given the result done by hand", "given the result done by hand"),
    ],
)
def test_show_says_what_was_decided(
    bare: Cli, monkeypatch: pytest.MonkeyPatch, decision: CallDecision, plain: str, full: str
) -> None:
    decided = ToolCall("c3", CallStatus.SUCCEEDED, name="delete", result="ok", decision=decision)
    monkeypatch.setattr(sys.modules[__name__], "CALLS", (decided,))
    store(bare, "r", None)
    assert f"        decision {plain}\n" in bare.on_db("show", "r").out
    assert f"        decision {full}\n" in bare.on_db("show", "r", "--arguments").out


def test_a_run_that_can_go_on_is_listed_so(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "CALLS", CALLS[2:3])
    store(bare, "r", Suspended(("c3",)))
    assert "  can go on  " in bare.on_db("runs").out
    assert bare.on_db("show", "r").out.endswith("\noutcome  none yet: it had to wait, and can go on\n")


def test_arguments_are_shown_only_when_asked_for(bare: Cli) -> None:
    store(bare, "r", None)
    assert "Kraków" not in bare.on_db("show", "r").out
    assert "Kraków" not in bare.on_db("show", "r", "--json").out
    shown = bare.on_db("show", "r", "--arguments").out
    assert '   2  look_up(city="Kraków", days=3)  succeeded' in shown
    assert "   4  delete(not JSON)  awaiting decision" in shown
    call = json.loads(bare.on_db("show", "r", "--arguments", "--json").out)["calls"][0]
    assert json.loads(call["arguments"]) == {"city": "Kraków", "days": 3}


def test_show_as_json_has_results_at_full_length(bare: Cli) -> None:
    store(bare, "r", None)
    run = json.loads(bare.on_db("show", "r", "--json").out)
    assert run["outcome"] is None
    assert run["usage"]["total"] == 150
    large, other = run["spending"]
    assert (large["provider"], large["purpose"], large["usage"]["total"]) == ("acme", "main", 130)
    assert (other["model"], other["usage"]["input"]) == ("", 10)
    assert [block["id"] for block in run["blocks"]] == [block.id for block in BLOCKS]
    assert run["calls"][0]["result"] == CALLS[0].result
    assert set(run["calls"][0]) == {field.name for field in attrs.fields(ToolCall)} - {"arguments"}


def test_show_names_the_model_where_it_was_one(bare: Cli) -> None:
    store(bare, "r", None, head=b'{"version":1,"spent":[["acme","large","main",100,20,0,30,0]]}')
    lines = bare.on_db("show", "r").out.splitlines()
    assert "  model         acme/large" in lines


@pytest.mark.parametrize("head", [b'{"version":1}', b"unreadable"])
def test_tokens_that_are_not_told_apart_are_a_sum(bare: Cli, head: bytes) -> None:
    store(bare, "r", None, head=head)
    lines = bare.on_db("show", "r").out.splitlines()
    assert [line for line in lines if "input" in line] == ["  tokens        150 (input 100, cached 20, output 30)"]


@pytest.mark.parametrize(("command", "width"), [(("runs",), 40), (("runs",), 80), (("show", RUN), 80)])
def test_what_is_shown_fits_the_terminal(bare: Cli, command: tuple[str, ...], width: int) -> None:
    store(bare, RUN, Failed(FailureKind.TURN_LIMIT, "no"))
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, width))
    with open(slave, "w") as terminal:
        bare.monkeypatch.setattr(sys, "stdout", terminal)
        bare.monkeypatch.setenv("NO_COLOR", "1")
        assert main([*command, "--db", str(bare.db)]) == 0
        seen = shown(terminal, master)
    os.close(master)
    # Ids and commands are there to be copied, so they are in one piece.
    copied = (RUN, "        to do: turnfold ", "           or: turnfold ")
    assert all(len(line) <= width for line in seen.split("\n") if not line.startswith(copied))
    assert RUN in seen
