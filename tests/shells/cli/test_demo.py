"""``turnfold demo``: once as it is, with its three processes and its kill; then its script, and how it judges."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from turnfold.adapters.stores import RunSummary
from turnfold.core.text import ENGLISH
from turnfold.effects.journal import Resume
from turnfold.effects.model import ModelRequest
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.record import CallStatus, ToolCall
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import AssistantMessage, CallPart, Message, TextPart, ToolResultMessage, UserMessage
from turnfold.effects.values import replace
from turnfold.shells.cli.demo import PATIENCE_S
from turnfold.shells.cli.demo_agent import BANKS_ANSWER, GRANTED, Sight, read_witness, script
from turnfold.shells.cli.demo_report import Evidence, Execution, problems
from turnfold.shells.cli.style import PLAIN


def turnfold(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "turnfold.shells.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_demonstration_shows_a_kill_and_a_resume(tmp_path: Path) -> None:
    db = str(tmp_path / "demo.db")
    result = turnfold("demo", "--fast", "--db", db)
    assert (result.returncode, result.stderr) == (0, "")
    out = result.stdout
    story = ("process 1 (pid ", "killed with SIGKILL: ", "process 2 (pid ", "a person (", "process 3 (pid ")
    places = [out.index(part) for part in story]
    assert places == sorted(places)
    assert re.search(r"\$ turnfold waiting --conversation demo-", out)
    typed = " ".join(out.split())
    assert re.search(r"\$ turnfold decide [0-9a-f-]{8,} --arguments '", typed)
    assert re.search(r"\$ turnfold settle [0-9a-f-]{8,} --result '", typed)
    stored = out[out.index("What is stored of it") :]
    for expected in (
        r"\d  input    Order A-1042 has not been paid yet",
        r'\d  call     find_order\(order="A-1042"\)  succeeded ',
        r'\d  call     charge\(order="A-1042", amount="49.00 EUR"\)  running …',
        r"\d  killed   with SIGKILL",
        r"\d  lease    of process 1 runs out",
        r"\d  settles  charge: needs review",
        r"\d  settles  write_report: interrupted",
        r'\d  call     write_report\(order="A-1042"\)  succeeded ',
        r'\d  pauses   send_voucher\(amount="20.00 EUR"\)  to be decided',
        r'\d  call     ask_bank\(order="A-1042"\)  its result comes from outside',
        r"\d  decides  send_voucher: approved, with 5.00 EUR",
        r"\d  settles  ask_bank: one charge of 49.00 EUR was booked",
        r'\d  call     send_voucher\(amount="5.00 EUR"\)  succeeded ',
        r"\d  outcome  answered: Report: ",
    ):
        assert re.search(expected, stored), expected
    assert all(len(line) <= 80 for line in out.splitlines() if db not in line)
    run_id = re.search(r"turnfold show (demo-\w+) ", out)
    assert run_id is not None
    assert "4  charge(" in turnfold("show", run_id[1], "--arguments", "--db", db).stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.db"]


def interrupted(db: Path, at: str) -> "subprocess.CompletedProcess[str]":
    """The demonstration, with Ctrl-C as soon as it says so."""
    command = [sys.executable, "-m", "turnfold.shells.cli", "demo", "--fast", "--db", str(db)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip().startswith(at):
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_a_demonstration_that_is_interrupted_can_be_gone_on_with(tmp_path: Path) -> None:
    """Its tools must know what they did before, and leave nothing behind when the run is over."""
    db = tmp_path / "demo.db"
    result = interrupted(db, "process 2")
    assert result.returncode == 130
    said = re.fullmatch(r"turnfold: the run is kept, and goes on with: turnfold (.*)\n", result.stderr)
    assert said is not None
    run_id = said[1].split()[1]
    assert said[1] == f"resume {run_id} --wait --db {db}"
    witness = tmp_path / f"demo.db.{run_id}.witness"
    before = [sight.tool for sight in read_witness(witness)]
    assert before == ["find_order", "charge", "write_report"]
    assert turnfold(*said[1].split()).returncode == 6
    assert [sight.tool for sight in read_witness(witness)] == [*before, "write_report", "ask_bank"]
    for call in json.loads(turnfold("waiting", "--json", "--db", str(db)).stdout):
        answer = ("decide", call["call"]["id"], "--approve") if call["kind"] == "decision" else None
        answer = answer or ("settle", call["call"]["id"], "--result", "once")
        assert turnfold(*answer, "--db", str(db)).returncode == 0
    assert turnfold(*said[1].split()).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["demo.db"]


def test_nothing_waits_to_be_killed_when_nobody_is_there_to_kill_it(tmp_path: Path) -> None:
    """The calls that the demonstration cuts off take half a minute each there."""
    db = tmp_path / "demo.db"
    interrupted(db, "process 1")
    began = time.monotonic()
    assert turnfold("resume", "demo", "--wait", "--db", str(db)).returncode in (0, 6)
    assert time.monotonic() - began < PATIENCE_S


def test_a_demonstration_that_is_interrupted_and_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    db = tmp_path / "demo.db"
    interrupted(db, "process 2")
    assert turnfold("cancel", "demo", "--db", str(db)).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["demo.db"]


# The script.


def after(*messages: Message) -> ModelRequest:
    return ModelRequest("m", Seq((UserMessage("Do it."), *messages)))


def called(name: str, result: str | None) -> tuple[Message, ...]:
    output = AssistantMessage((TextPart("So."), CallPart(f"id-{name}", name, "{}")))
    return (output,) if result is None else (output, ToolResultMessage(f"id-{name}", name, result))


def calls(request: ModelRequest) -> list[str]:
    return [step.name for step in script(request).steps if isinstance(step, CallPart)]


FOUND = called("find_order", "found")


def test_what_the_model_says_follows_from_what_it_is_asked() -> None:
    assert calls(after()) == ["find_order"]
    assert calls(after(*called("find_order", None))) == ["find_order"]
    assert calls(after(*FOUND)) == ["charge", "write_report"]
    charged = (*FOUND, *called("charge", ENGLISH.needs_review))
    assert calls(after(*charged, *called("write_report", ENGLISH.interrupted_replayable))) == ["write_report"]
    unsure = (*charged, *called("write_report", "Report."))
    assert calls(after(*unsure)) == ["ask_bank", "send_voucher"]
    assert "I do not try again" in str(script(after(*unsure)))
    done = after(
        *unsure, *called("ask_bank", "once"), *called("send_voucher", "approved otherwise:\nvoucher of 5 sent")
    )
    assert calls(done) == []
    assert "Report. The bank says: once. And a voucher of 5 sent." in str(script(done))
    sure = after(*FOUND, *called("charge", "charged"), *called("write_report", "Report."))
    assert "The charge went through: charged." in str(script(sure))
    never_ran = (*FOUND, *called("charge", ENGLISH.never_started), *called("write_report", "Report."))
    assert "charge" in calls(after(*never_ran))


# The checks.


def good() -> Evidence:
    def record(name: str, status: CallStatus, at: int, result: str = "") -> ToolCall:
        return ToolCall(f"{name}-{at}", status, name=name, started_at=at, completed_at=at + 1, result=result)

    saw = ("find_order", "charge", "write_report", "write_report", "ask_bank", "send_voucher")
    return Evidence(
        started_at=0,
        summary=RunSummary("demo", "demo", 0, 90, attempt=3, outcome=Delivered("Done.")),
        resume=Resume(
            calls=(
                record("find_order", CallStatus.SUCCEEDED, 10),
                record("charge", CallStatus.NEEDS_REVIEW, 20),
                record("write_report", CallStatus.INTERRUPTED, 20),
                record("write_report", CallStatus.SUCCEEDED, 60),
                record("ask_bank", CallStatus.SUCCEEDED, 70, BANKS_ANSWER),
                record("send_voucher", CallStatus.SUCCEEDED, 120, f"voucher of {GRANTED}"),
            )
        ),
        executions=(Execution(1, 11, 0, 40, -9), Execution(2, 12, 41, 100, 6), Execution(3, 13, 110, 200, 0)),
        sights=tuple(Sight(place, 1, name, "k") for place, name in enumerate(saw)),
        consumed=True,
    )


def ended(*codes: int) -> tuple[Execution, ...]:
    return tuple(replace(one, returncode=code) for one, code in zip(good().executions, codes, strict=True))


def with_results(result: str) -> Resume:
    return Resume(calls=tuple(replace(call, result=result) for call in good().resume.calls))


def test_good_evidence_has_no_problems() -> None:
    assert problems(good()) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sights": (*good().sights, Sight(9, 2, "charge", "k"))}, "the card was charged exactly once"),
        ({"sights": good().sights[1:]}, "the order was looked up once, and not again after the kill"),
        ({"sights": (*good().sights[:3], *good().sights[4:])}, "the report that was cut off was written again"),
        (
            {"sights": (*good().sights, Sight(9, 2, "send_voucher", "k"))},
            "the voucher was sent once, as it was approved",
        ),
        ({"resume": with_results("voucher of 20.00 EUR")}, "the voucher was sent once, as it was approved"),
        ({"resume": with_results("who knows")}, "the bank was asked once, and its answer is the result"),
        (
            {"resume": Resume(calls=tuple(replace(call, status="succeeded") for call in good().resume.calls))},
            "the charge that was cut off needs review",
        ),
        ({"executions": ended(0, 6, 0)}, "process 1 was killed with SIGKILL"),
        ({"executions": ended(-9, 0, 0)}, "process 2 ended when the run had to wait"),
        ({"executions": ended(-9, 6, 1)}, "process 3 came to its end"),
        ({"summary": replace(good().summary, attempt=2)}, "the run has three attempts"),
        (
            {"summary": replace(good().summary, outcome=Failed(FailureKind.MODEL, "no"))},
            "the run gave an answer",
        ),
        ({"consumed": False}, "the answer consumed the question"),
    ],
)
def test_whatever_goes_wrong_is_found(changes: dict[str, object], problem: str) -> None:
    assert problem in problems(replace(good(), **changes))


def test_half_a_line_of_the_witness_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "witness"
    assert read_witness(file) == []
    file.write_bytes(b'{"at":1,"pid":2,"tool":"charge","key":"k"}\n{"at":1,"pi')
    assert read_witness(file) == [Sight(1, 2, "charge", "k")]


def test_plain_style_is_plain() -> None:
    assert PLAIN.bad("no") == "no"
