"""What viewers are shown of a call, each time once: a change of its record, and nothing when only the run moved on."""

import pytest
from turnfold.core.run import RunSpec
from turnfold.effects.display import RemoveBlocks, UpsertBlock
from turnfold.effects.journal import CallSaved, SaveCall, SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked, Publish
from turnfold.effects.model import CallModel
from turnfold.effects.question import (
    AskPolicy,
    AskReconcile,
    CallPolicy,
    Confirm,
    NeverHappened,
    PolicyGiven,
    Reconciled,
    Submit,
)
from turnfold.effects.record import CallDecision
from turnfold.effects.tool import Detached, RunTool, ToolControlled, ToolCutOff, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import ToolDeclaration

from tests.core.run.byhand import ByHand, calls
from tests.core.run.resumed import left_by, resumed


def called(*names: str, sequential: bool = False) -> ByHand:
    tools = (
        ToolSpec(ToolDeclaration("look")),
        ToolSpec(ToolDeclaration("pay"), has_policy=True, reconciles=True),
    )
    run = ByHand(RunSpec("run", tools=tools, sequential=sequential)).start()
    run.say(*calls(*names))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    return run


def shown(run: ByHand) -> list[str]:
    """The statuses that viewers were shown of calls, in order."""
    published = [one for effect in run.asked if isinstance(effect, Publish) for one in effect.operations]
    views = [one.block for one in published if isinstance(one, UpsertBlock)]
    return [view.call.status for view in views if view.call is not None]


def save(run: ByHand) -> None:
    write = run.take(SaveCall)
    run.tell(CallSaved(run.now, write.ticket, write.call))


def test_a_call_is_shown_queued_then_running_then_with_its_outcome() -> None:
    run = called("look")
    assert shown(run) == ["queued", "running"]
    save(run)
    assert shown(run) == ["queued", "running"]
    run.tell(ToolReturned(run.now, run.take(RunTool).ticket, ToolResult("seen")))
    assert shown(run) == ["queued", "running", "succeeded"]
    run.until(CallModel)
    assert shown(run) == ["queued", "running", "succeeded", "succeeded"]


@pytest.mark.parametrize(
    ("policy", "after"),
    [
        (CallPolicy(), ["running"]),
        (CallPolicy(confirm=Confirm()), ["awaiting_decision"]),
        (CallPolicy(submit=Submit("r")), ["awaiting_decision"]),
    ],
)
def test_a_question_for_a_policy_is_not_shown(policy: CallPolicy, after: list[str]) -> None:
    run = called("pay", "look")
    before = shown(run)
    assert len(before) == 2
    run.tell(PolicyGiven(run.now, run.take(AskPolicy).ticket, policy))
    assert shown(run) == [*before, *after, "running"]


def test_a_call_that_waits_for_those_in_front_of_it_is_not_shown_again() -> None:
    run = called("pay", "look")
    before = shown(run)
    assert before == ["queued", "queued"]
    run.tell(PolicyGiven(run.now, run.take(AskPolicy).ticket, CallPolicy()))
    assert shown(run) == [*before, "running", "running"]


def test_stopping_a_tool_is_not_shown_before_it_has_stopped() -> None:
    run = called("look")
    save(run)
    tool = run.take(RunTool)
    before = shown(run)
    run.tell(CancelAsked(run.now))
    assert shown(run) == before
    run.tell(ToolCutOff(run.now, tool.ticket))
    assert shown(run) == [*before, "interrupted"]


def test_work_that_goes_on_without_the_run_is_shown_so() -> None:
    run = called("look")
    save(run)
    before = shown(run)
    run.tell(ToolControlled(run.now, run.take(RunTool).ticket, Detached("on its way")))
    assert shown(run) == [*before, "running"]


def test_a_decision_that_is_taken_up_is_shown_once_it_is_carried_out() -> None:
    first = called("pay")
    first.tell(PolicyGiven(first.now, first.take(AskPolicy).ticket, CallPolicy(confirm=Confirm())))
    first.to_the_end()
    run = resumed(first, decision=CallDecision(approved=True))
    run.until(SaveCall)
    assert shown(run) == ["awaiting_decision", "running"]
    cancelled = resumed(first, decision=CallDecision(approved=True))
    cancelled.tell(CancelAsked(cancelled.now))
    cancelled.to_the_end()
    assert shown(cancelled)[:1] == ["awaiting_decision"]


def test_a_question_to_a_tool_of_before_is_not_shown() -> None:
    first = called("pay")
    first.tell(PolicyGiven(first.now, first.take(AskPolicy).ticket, CallPolicy()))
    save(first)
    first.take(RunTool)
    run = resumed(first, resume=left_by(first, decision=CallDecision(approved=True)))
    asked = run.until(AskReconcile)
    assert shown(run) == ["running"]
    run.tell(Reconciled(run.now, asked.ticket, NeverHappened()))
    assert shown(run) == ["running"]
    run.until(SaveCall)
    assert shown(run) == ["running", "running"]


def test_nothing_is_taken_away_from_viewers_that_they_may_keep() -> None:
    run = called("look", "look")
    run.until(CallModel)
    published = [one for effect in run.asked if isinstance(effect, Publish) for one in effect.operations]
    assert not any(isinstance(one, RemoveBlocks) for one in published)
