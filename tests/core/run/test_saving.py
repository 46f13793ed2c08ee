"""Marks and steps: what changed is saved once, with the step that a gate waits for, and a log ends where it may."""

from typing import Any

import pytest
from turnfold.core.run import IllegalEvent, Limits
from turnfold.core.run.head import Head, decode_head
from turnfold.core.run.log import EntryKind, decode_entry
from turnfold.core.run.saving import saved, touch, want
from turnfold.effects.feed import FeedPolled, InputMessage, PollFeed
from turnfold.effects.journal import CallSaved, JournalFailed, SaveCall, SaveStep, Step, StepSaved
from turnfold.effects.model import CallModel, ModelStreamed, StreamFailed
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.record import BlockKind, CallStatus
from turnfold.effects.tool import RunTool, ToolResult, ToolReturned
from turnfold.effects.transcript import ErrorKind, ModelError

from tests.core.run.byhand import ByHand, calls, spec_of, text

FAILURE = StreamFailed(ModelError(ErrorKind.UNAUTHORIZED, "who are you?"))


def kinds(step: Step) -> list[str]:
    """What a step adds to the main log."""
    return [decode_entry(raw).kind.value for raw in step.logs["main"].append] if "main" in step.logs else []


def steps(run: ByHand) -> list[Step]:
    """Every step that was asked for."""
    return [effect.step for effect in run.asked if isinstance(effect, SaveStep)]


def test_marks_are_numbers_that_a_gate_waits_for() -> None:
    state = ByHand().start().state
    marked = touch(touch(state))
    assert marked.saving.mark == state.saving.mark + 2
    assert not saved(marked, marked.saving.mark)
    assert want(want(marked, 2), 1).saving.wanted == 2


def test_a_step_carries_what_led_to_an_output_the_output_its_blocks_and_its_calls() -> None:
    run = ByHand().start()
    run.say(*calls("echo", "echo"))
    step = run.take(SaveStep).step
    assert kinds(step) == ["input", "output"]
    assert (step.logs["main"].keep, step.logs["seen"].keep) == (0, 0)
    assert step.logs["seen"].append == (b"m1@",)
    assert [block.kind for block in step.changes.blocks] == [BlockKind.TOOL_CALL] * 2
    assert [record.status for record in step.changes.calls] == [CallStatus.QUEUED] * 2
    assert [block.call_id for block in step.changes.blocks] == [record.id for record in step.changes.calls]
    assert decode_head(step.state) == Head(turns=1, iterations=1, after=0, claimed=1)
    entry = decode_entry(step.logs["main"].append[-1])
    assert entry.calls == tuple((record.id, record.call_id) for record in step.changes.calls)


def test_each_step_carries_only_what_is_new() -> None:
    run = ByHand().start()
    run.say(*calls("echo"))
    run.say(*calls("echo"))
    run.say(*text("done"))
    run.to_the_end()
    first, second, third, last = steps(run)
    assert [kinds(step) for step in (first, second, third, last)] == [
        ["input", "output"],
        ["results", "output"],
        ["results", "output"],
        [],
    ]
    assert [step.logs["main"].keep for step in (first, second, third)] == [0, 2, 4]
    assert "seen" not in second.logs
    assert (len(second.changes.blocks), len(second.changes.calls)) == (1, 1)
    assert third.changes.empty
    assert last.changes.empty
    assert (last.outcome, first.outcome) == (Delivered("done", boundary=1), None)
    assert decode_head(last.state) == Head(turns=1, iterations=3, after=0, claimed=1, delivered=True)


def test_calls_start_only_when_the_step_of_their_output_is_saved() -> None:
    """Rule 4 of the fold"""
    run = ByHand().start()
    run.say(*calls("echo"))
    order = run.take(SaveStep)
    assert not run.waits_for(SaveCall)
    run.tell(StepSaved(run.now, order.ticket))
    write = run.take(SaveCall)
    assert write.call.status == CallStatus.RUNNING
    assert not run.waits_for(RunTool)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    assert run.take(RunTool).invocation.key == write.call.id


def test_the_model_is_not_asked_before_the_outcome_of_its_calls_is_saved() -> None:
    run = ByHand().start()
    run.say(*calls("echo"))
    order = run.until(RunTool)
    run.tell(ToolReturned(run.now, order.ticket, ToolResult("echo")))
    write = run.take(SaveCall)
    assert not run.waits_for(CallModel)
    assert not run.waits_for(PollFeed)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    run.until(CallModel)


def test_a_claim_is_not_saved_without_the_output_it_led_to() -> None:
    """Decision 2: a turn that came to nothing leaves its input to the next execution."""
    run = ByHand().start()
    run.say(FAILURE)
    result = run.to_the_end()
    assert isinstance(result.outcome, Failed)
    assert result.outcome.boundary == 1
    (step,) = steps(run)
    assert step.logs == {}
    assert decode_head(step.state) == Head()
    assert step.outcome == result.outcome


def test_a_failed_turn_leaves_the_head_where_the_log_ends() -> None:
    run = ByHand().start()
    run.say(*calls("echo"))
    run.say(FAILURE)
    run.to_the_end()
    assert decode_head(steps(run)[-1].state) == decode_head(steps(run)[0].state)
    assert "main" not in steps(run)[-1].logs


def superseded(**spec: Any) -> ByHand:
    """A run whose text is overtaken by a second message."""
    run = ByHand(spec_of("echo", **spec)).start()
    run.say(*text("one"))
    run.messages.append(InputMessage("and?", "m2"))
    run.until(CallModel)
    return run


@pytest.mark.parametrize("discard", [False, True])
def test_the_verdict_on_a_superseded_text_is_saved_with_what_follows(discard: bool) -> None:
    run = superseded(discard_undelivered=discard)
    ticket = run.state.model.ticket
    assert ticket is not None
    run.tell(ModelStreamed(run.now, ticket, text("two")))
    step = run.take(SaveStep).step
    assert kinds(step) == ["superseded", "input", "output"]
    assert step.logs["main"].keep == (1 if discard else 2)
    assert [block.standing for block in step.changes.blocks] == ["superseded"]
    assert decode_head(step.state) == Head(turns=2, iterations=1, after=1, claimed=2)
    assert step.logs["seen"].keep == 1


@pytest.mark.parametrize("discard", [False, True])
def test_the_verdict_is_saved_also_where_nothing_follows(discard: bool) -> None:
    run = superseded(discard_undelivered=discard, limits=Limits())
    ticket = run.state.model.ticket
    assert ticket is not None
    run.tell(ModelStreamed(run.now, ticket, (FAILURE,)))
    step = run.until(SaveStep).step
    assert kinds(step) == ["superseded"]
    assert "seen" not in step.logs
    assert decode_head(step.state) == Head(turns=1, iterations=1, after=0, claimed=1)


def test_a_dropped_batch_is_removed_with_its_verdict() -> None:
    run = ByHand().start()
    run.say(*calls("echo", "echo"))
    order = run.take(SaveStep)
    gone = [record.id for record in order.step.changes.calls]
    run.messages.append(InputMessage("no", "m2"))
    # The poll is due and finds the message before the step is saved.
    run.now += 60_000
    run.wake(run.now)
    poll = run.take(PollFeed)
    run.tell(FeedPolled(run.now, poll.ticket, 2))
    run.tell(StepSaved(run.now, order.ticket))
    assert not run.waits_for(SaveCall)
    run.say(*text("two"))
    step = run.take(SaveStep).step
    assert kinds(step) == ["superseded", "input", "output"]
    assert list(step.changes.removed_calls) == sorted(gone)
    assert len(step.changes.removed_blocks) == 2
    entry = decode_entry(step.logs["main"].append[0])
    assert (entry.kind, len(entry.items)) == (EntryKind.SUPERSEDED, 2)


def test_a_step_that_covers_a_mark_need_not_be_its_own() -> None:
    """What changed before a step was built is saved by it; what changed later waits for the next."""
    run = ByHand().start()
    run.say(*calls("echo"))
    order = run.take(SaveStep)
    assert run.state.saving.saved == 0
    mark = run.state.saving.mark
    run.tell(StepSaved(run.now, order.ticket))
    assert run.state.saving.saved == mark


def test_a_step_cannot_be_saved_twice() -> None:
    run = ByHand().start()
    run.say(*calls("echo"))
    order = run.take(SaveStep)
    run.tell(StepSaved(run.now, order.ticket))
    before = run.state
    with pytest.raises(IllegalEvent, match="which asks no such thing"):
        run.fold.reduce(before, StepSaved(run.now, order.ticket))
    assert run.state is before


def test_an_outcome_is_given_only_when_its_step_is_saved() -> None:
    """Rule 4 of the fold"""
    run = ByHand().start()
    run.say(*text("done"))
    while not any(step.outcome for step in steps(run)):
        run.answer_one()
    order = run.take(SaveStep)
    assert run.orders == []
    run.tell(StepSaved(run.now, order.ticket))
    assert run.to_the_end().outcome == Delivered("done", boundary=1)


def test_a_failure_that_cannot_be_saved_is_told_all_the_same() -> None:
    run = ByHand().start()
    run.say(FAILURE)
    order = run.until(SaveStep)
    run.tell(JournalFailed(run.now, order.ticket, "disk full"))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.MODEL
