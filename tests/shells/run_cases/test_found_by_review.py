"""Faults that somebody found by reading the rules of the run against the code: each would come back unnoticed."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.adapters.stores import SqliteStore
from turnfold.core.run import Limits, RunSpec
from turnfold.core.text import ENGLISH
from turnfold.effects.feed import WatchFeed
from turnfold.effects.journal import SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind
from turnfold.effects.question import (
    AskPolicy,
    AskReconcile,
    CallPolicy,
    Confirm,
    NeverHappened,
    PolicyGiven,
    Reconciled,
)
from turnfold.effects.record import CallDecision, CallStatus, MediaRef
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import Invocation, RunTool, ToolResult, ToolSpec
from turnfold.effects.transcript import ToolDeclaration
from turnfold.shells.host import Host

from tests.core.run.byhand import ByHand, calls
from tests.core.run.resumed import left_by, resumed
from tests.shells.run_cases.parts import STORES, Claims, asking, dying_at, finishing, of_tool, store_of
from tests.shells.world import Tool, WatchedJournal, World, asked, hang, now

HALF = "a\0\ud800z"
WHOLE = "a\ufffdz"


def owed_again() -> ByHand:
    """A resumed run with an approved call that was running, and of which its tool knows that it never happened."""
    pay = ToolSpec(ToolDeclaration("pay"), has_policy=True, side_effects=True, reconciles=True)
    first = ByHand(RunSpec("run", tools=(pay,))).start()
    first.say(*calls("pay"))
    first.tell(StepSaved(first.now, first.take(SaveStep).ticket))
    first.tell(PolicyGiven(first.now, first.take(AskPolicy).ticket, CallPolicy(confirm=Confirm())))
    first.to_the_end()
    approved = left_by(first, decision=CallDecision(approved=True))
    second = resumed(first, resume=approved)
    second.until(RunTool)
    third = resumed(second, resume=left_by(second, before=approved))
    third.tell(Reconciled(third.now, third.until(AskReconcile).ticket, NeverHappened()))
    return third


def test_a_cancelled_run_does_not_owe_an_approved_call_that_never_happened() -> None:
    """Decisions 5, 11 and 40: it is settled, so that nobody carries it out after the cancellation."""
    run = owed_again()
    run.until(WatchFeed)
    run.tell(CancelAsked(run.now))
    (record,) = run.to_the_end().calls
    assert (record.status, record.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)
    assert not any(isinstance(effect, RunTool) for effect in run.asked)


@pytest.mark.parametrize("kind", STORES)
async def test_a_value_stands_although_its_tool_is_gone(kind: str, tmp_path: Path) -> None:
    """What was saved with the call counts, whatever set-up finds it (decision 35)."""
    with store_of(kind, tmp_path) as store:
        world = World(store)
        number = await world.say("hi")
        process = dying_at(world, lambda name, value: name == "save_step" and value.completion is not None)
        await process.run(ScriptedModel([call("finish", {"v": 1})]), finishing(fixed=True))
        await world.say("newer input")
        result = await world.run(ScriptedModel([]), take_over=True)
        record = await world.call("finish")
        assert result.outcome == Completed(of_tool(record.id, fixed=True), boundary=number)
        assert result.changed == ("tool finish",)


async def test_a_run_that_is_refused_by_its_checkpoint_tells_its_boundary() -> None:
    """Decision 10"""
    world = World()
    number = await world.say("hi")
    await world.run(ScriptedModel(["hello"]))
    outcome = (await world.run(ScriptedModel([]), host=Host(extensions=(Claims(),)))).outcome
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.boundary) == (FailureKind.CHECKPOINT, number)


async def shown(invocation: Invocation) -> ToolResult:
    """A result with media."""
    return ToolResult("shown", media=(MediaRef(f"key{HALF}", f"image/{HALF}", 7, HALF),))


@pytest.mark.parametrize("kind", STORES)
async def test_what_a_host_calls_and_notes_is_fit_to_be_stored(kind: str, tmp_path: Path) -> None:
    """Decision 45 and N-24: halves of surrogate pairs and U+0000, which no store takes."""
    with store_of(kind, tmp_path) as store:
        world = World(store)
        await world.say("hi")
        tool = Tool("show", shown, notes={HALF: HALF})
        host = Host(record_names={"show": lambda arguments: f"Show {HALF}"})
        model = ScriptedModel([call("show") + call(f"unheard of {HALF}"), "done"])
        result = await world.run(model, tool, host=host)
        assert result.outcome == Delivered("done", boundary=1)
        record, unknown = result.calls
        assert (record.name, record.notes) == (f"Show {WHOLE}", {WHOLE: WHOLE})
        assert record.media == (MediaRef(f"key{WHOLE}", f"image/{WHOLE}", 7, WHOLE),)
        assert unknown.name == f"unheard of {WHOLE}"
        assert "\0" not in (unknown.error or "\0")
        assert (await world.stored()).calls == result.calls


async def test_a_status_of_the_host_is_fit_to_be_stored(tmp_path: Path) -> None:
    """Decision 45"""
    with SqliteStore(tmp_path / "runs.db", now=now) as store:
        world = World(store)
        await world.say("hi")
        await world.run(ScriptedModel([call("ask")]), asking())
        await world.settle("ask", status="expired\ud800", result="nobody came")
        model = ScriptedModel(["done"])
        (record,) = (await world.run(model, asking())).calls
        assert record.status == "expired\ufffd"
        assert asked(model)[0][-1] == "tool call-1: nobody came"


def test_a_part_of_a_sequence_costs_what_it_is_long() -> None:
    """However long the whole is, and forwards as backwards."""
    items: Seq[Any] = Seq(range(100_000))
    tracemalloc.start()
    assert (tuple(items[-2:]), tuple(items[:-3:-1])) == ((99_998, 99_999), (99_999, 99_998))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000


async def test_what_failed_turns_after_an_answer_used_counts_towards_the_limit() -> None:
    """Decision 41: limits count from the last answer, not from the last execution."""
    world, limits = World(), Limits(tokens=30)
    await world.say("hi")
    assert (await world.run(ScriptedModel(["hello"]), limits=limits)).text == "hello"
    await world.say("and?")
    for kind in (FailureKind.EMPTY_RESPONSE, FailureKind.BUDGET):
        outcome = (await world.run(ScriptedModel(["", "", "at last"]), limits=limits)).outcome
        assert isinstance(outcome, Failed)
        assert outcome.kind is kind


@pytest.mark.parametrize("limits", [Limits(tool_ms=15_000), Limits(run_ms=15_000)])
async def test_limits_hold_while_the_lease_is_being_renewed(limits: Limits) -> None:
    """Decision 21: a journal that takes its time with a renewal holds up nothing else."""
    world, slow = World(), [19.0]

    async def renewing(name: str, value: Any) -> None:
        if name == "renew" and slow:
            await trio.sleep(slow.pop())

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), renewing)
    model = ScriptedModel([call("stuck"), "ok"])
    (record,) = (await world.run(model, Tool("stuck", hang), limits=limits, journal=journal)).calls
    assert not slow
    assert (record.completed_at or 0) - (record.started_at or 0) == 15_500
