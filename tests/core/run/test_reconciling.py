"""What a tool knows of a call that an earlier execution left: asked once, believed, or decided by traits."""

from typing import Any

import pytest
from turnfold.core.run import Extension, Limits
from turnfold.core.text import ENGLISH
from turnfold.effects.journal import (
    AttemptBegun,
    BeginAttempt,
    Begun,
    CallSaved,
    JournalFailed,
    SaveCall,
    SaveStep,
    StepSaved,
)
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.outcome import Failed, FailureKind, Suspended
from turnfold.effects.question import (
    AskPolicy,
    AskReconcile,
    CallPolicy,
    CancelQuestion,
    Confirm,
    NeverHappened,
    OutcomeUnknown,
    PolicyGiven,
    QuestionCutOff,
    QuestionFailed,
    Reconciled,
)
from turnfold.effects.record import CallDecision, CallStatus
from turnfold.effects.tool import RunTool, ToolResult
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls
from tests.core.run.resumed import left_by, resumed
from tests.core.run.test_decisions import YES, paused, spec_of, stored


def cut_off(**traits: Any) -> ByHand:
    """A run that died while its tool ran."""
    run = ByHand(spec_of(has_policy=False, **traits)).start()
    run.say(*calls("pay", arguments='{"a":1}'))
    run.until(RunTool)
    return run


def test_a_tool_is_asked_what_became_of_its_call() -> None:
    """Decision 11"""
    before = cut_off(reconciles=True)
    run = resumed(before)
    asked = run.until(AskReconcile)
    record = stored(before)
    assert record.status == CallStatus.RUNNING
    assert (asked.invocation.key, asked.invocation.name, asked.invocation.arguments) == (record.id, "pay", {"a": 1})
    assert not asked.invocation.can_suspend
    run.tell(Reconciled(run.now, asked.ticket, ToolResult("it was paid")))
    found = run.until(SaveCall).call
    assert found == replace(
        record, rev=3, status=CallStatus.SUCCEEDED, result="it was paid", completed_at=run.now, parts=None
    )


@pytest.mark.parametrize(
    ("answer", "status", "result"),
    [
        (lambda at, ticket: Reconciled(at, ticket, NeverHappened()), "interrupted", ENGLISH.never_started),
        (lambda at, ticket: Reconciled(at, ticket, OutcomeUnknown()), "needs_review", ENGLISH.needs_review),
        (lambda at, ticket: QuestionFailed(at, ticket, "no"), "needs_review", ENGLISH.needs_review),
        (QuestionCutOff, "needs_review", ENGLISH.needs_review),
    ],
)
def test_what_a_tool_does_not_know_is_decided_by_traits(answer: Any, status: str, result: str) -> None:
    run = resumed(cut_off(reconciles=True))
    run.tell(answer(run.now, run.until(AskReconcile).ticket))
    record = run.until(SaveCall).call
    assert (record.status, record.result, record.completed_at) == (status, result, run.now)


def test_a_tool_that_knows_nothing_of_its_calls_is_not_asked() -> None:
    run = resumed(cut_off())
    assert run.until(SaveCall).call.status == CallStatus.NEEDS_REVIEW
    assert not any(isinstance(effect, AskReconcile) for effect in run.asked)


def test_an_approved_call_that_never_happened_is_carried_out_after_all() -> None:
    first = resumed(paused(reconciles=True), decision=YES)
    first.until(RunTool)
    before = left_by(first, before=left_by(paused(reconciles=True), decision=YES))
    (record,) = before.calls
    assert record.status == CallStatus.RUNNING
    run = resumed(first, resume=before)
    run.tell(Reconciled(run.now, run.until(AskReconcile).ticket, NeverHappened()))
    write = run.until(SaveCall)
    assert write.call == replace(record, rev=4, started_at=run.now)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    assert run.until(RunTool).invocation.key == record.id


def test_a_rejected_call_that_never_happened_did_not_run() -> None:
    before = left_by(cut_off(reconciles=True), decision=CallDecision())
    run = resumed(cut_off(reconciles=True), resume=before)
    run.tell(Reconciled(run.now, run.until(AskReconcile).ticket, NeverHappened()))
    record = run.until(SaveCall).call
    assert (record.status, record.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)


def test_a_cancelled_run_withdraws_what_it_asks_a_tool() -> None:
    run = resumed(cut_off(reconciles=True))
    asked = run.until(AskReconcile)
    run.tell(CancelAsked(run.now))
    assert run.take(CancelQuestion).ticket == asked.ticket
    run.tell(QuestionCutOff(run.now, asked.ticket))
    assert run.until(SaveCall).call.status == CallStatus.NEEDS_REVIEW


def test_what_a_tool_is_asked_is_withdrawn_once_whatever_else_goes_wrong() -> None:
    before = ByHand(spec_of(has_policy=False, reconciles=True)).start()
    before.say(*calls("pay", "look"))
    before.until(RunTool)
    run = resumed(before)
    asked, write = run.until(AskReconcile), run.take(SaveCall)
    run.tell(CancelAsked(run.now))
    assert run.take(CancelQuestion).ticket == asked.ticket
    run.tell(JournalFailed(run.now, write.ticket, "disk full"))
    assert not run.waits_for(CancelQuestion)
    run.tell(QuestionCutOff(run.now, asked.ticket))
    assert [record.status for record in run.to_the_end().calls] == ["needs_review", "interrupted"]


def test_the_time_of_a_run_may_be_over_before_its_tool_has_said_what_it_knows() -> None:
    before = cut_off(reconciles=True)
    run = resumed(before, replace(before.rules.spec, limits=Limits(run_ms=2_000)))
    asked = run.until(AskReconcile)
    run.wake(run.now + 2_000)
    assert run.take(CancelQuestion).ticket == asked.ticket
    run.tell(QuestionCutOff(run.now, asked.ticket))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.DEADLINE


def test_an_extension_that_fails_when_it_is_told_fails_a_run_that_would_wait() -> None:
    class Broken(Extension):
        name = "broken"

        def on_restore(self, state: Any, blocks: Any, calls: Any) -> Any:
            raise ValueError("no")

    before = ByHand(spec_of(), extensions=(Broken(),)).start()
    before.say(*calls("pay"))
    before.tell(StepSaved(before.now, before.take(SaveStep).ticket))
    before.tell(PolicyGiven(before.now, before.take(AskPolicy).ticket, CallPolicy(confirm=Confirm())))
    assert isinstance(before.to_the_end().outcome, Suspended)
    outcome = resumed(before).to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.EXTENSION


def test_an_approved_call_of_a_cancelled_run_that_never_happened_is_not_carried_out() -> None:
    left = left_by(cut_off(reconciles=True), decision=YES)
    run = resumed(cut_off(reconciles=True), resume=left)
    asked = run.until(AskReconcile)
    run.tell(CancelAsked(run.now))
    run.take(CancelQuestion)
    run.tell(Reconciled(run.now, asked.ticket, NeverHappened()))
    record = run.until(SaveCall).call
    assert (record.status, record.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)


def test_a_run_that_was_cancelled_before_it_began_asks_no_tool_what_it_knows() -> None:
    before = cut_off(reconciles=True)
    run = ByHand(before.rules.spec, resume=left_by(before)).start()
    begin = run.take(BeginAttempt)
    run.tell(CancelAsked(run.now))
    run.tell(AttemptBegun(run.now, begin.ticket, Begun(2, left_by(before))))
    assert [call.status for call in run.to_the_end().calls] == ["needs_review"]
    assert not any(isinstance(effect, AskReconcile) for effect in run.asked)
