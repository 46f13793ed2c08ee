"""From the decision that a run is over to the last thing that happens, in whatever it was doing."""

from typing import Any

import pytest
from turnfold.core.run import IllegalEvent
from turnfold.effects.journal import EndAttempt, JournalFailed, SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked, RunEnded
from turnfold.effects.model import (
    BlockDelta,
    CallModel,
    CancelModel,
    ModelBroke,
    ModelCutOff,
    ModelStreamed,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.record import Standing
from turnfold.effects.spending import NO_SPENDING, Spent
from turnfold.effects.transcript import ErrorKind, ModelError, Usage

from tests.core.run.byhand import ByHand, text


def cancelled(*deltas: Any) -> tuple[ByHand, int]:
    """A run that is cancelled when its model has said this much, and the ticket of the model call."""
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    run.tell(ModelStreamed(run.now, ticket, deltas))
    run.tell(CancelAsked(run.now))
    assert run.take(CancelModel).ticket == ticket
    return run, ticket


@pytest.mark.parametrize("end", ["cut off", "broke", "finished", "failed"])
def test_what_a_withdrawn_model_call_used_is_counted_once(end: str) -> None:
    """Decision 26: a later report replaces an earlier one, before and after the call was withdrawn."""
    run, ticket = cancelled(UsageReported(Usage(10)), BlockDelta(0, "half"))
    run.tell(ModelStreamed(run.now, ticket, (UsageReported(Usage(10, output=3)),)))
    run.tell(ModelStreamed(run.now, ticket, (BlockDelta(0, " a sentence"),)))
    assert run.state.process.spending == NO_SPENDING
    failure = StreamFailed(ModelError(ErrorKind.ABORTED, "aborted"))
    events = {
        "cut off": ModelCutOff(run.now, ticket),
        "broke": ModelBroke(run.now, ticket, "gone"),
        "finished": ModelStreamed(run.now, ticket, (UsageReported(Usage(10, output=4)), StreamFinished())),
        "failed": ModelStreamed(run.now, ticket, (UsageReported(Usage(10, output=4)), failure)),
    }
    run.tell(events[end])
    step = run.take(SaveStep).step
    assert step.usage == Usage(10, output=4 if end in ("finished", "failed") else 3)
    assert [(block.text, block.standing) for block in step.changes.blocks] == [("half", Standing.BROKEN_OFF)]
    with pytest.raises(IllegalEvent):
        run.fold.reduce(run.state, events[end])


@pytest.mark.parametrize("first", [Started(provider="acme"), Started(model="large"), Started("", "acme", "large")])
def test_who_used_what_a_withdrawn_call_tells_late_is_told_once(first: Started) -> None:
    run, ticket = cancelled(first)
    other = Started(provider="other", model="other")
    run.tell(ModelStreamed(run.now, ticket, (other, UsageReported(Usage(10)))))
    run.tell(ModelCutOff(run.now, ticket))
    (row,) = run.to_the_end().spending.rows
    assert row == Spent(first.provider, first.model, usage=Usage(10))


def test_what_others_used_for_a_withdrawn_call_counts_as_theirs() -> None:
    before, later = Spent("acme", "small", usage=Usage(3)), Spent("acme", "small", usage=Usage(4))
    run, ticket = cancelled(Started("", "acme", "large"), UsageReported(Usage(10), (before,)))
    run.tell(ModelStreamed(run.now, ticket, (UsageReported(Usage(11), (later,)),)))
    run.tell(ModelCutOff(run.now, ticket))
    assert run.to_the_end().spending.rows == (Spent("acme", "large", usage=Usage(11)), later)


def test_a_model_call_that_reported_nothing_counts_nothing() -> None:
    run, ticket = cancelled()
    run.tell(ModelCutOff(run.now, ticket))
    result = run.to_the_end()
    assert (result.usage, result.blocks) == (Usage(), ())


def test_a_model_that_is_cut_off_unasked_has_failed() -> None:
    run = ByHand().start()
    run.tell(ModelCutOff(run.now, run.until(CallModel).ticket))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.MODEL
    assert outcome.error == ModelError(ErrorKind.ABORTED, "the model call was cut off")


def test_a_providers_reason_is_kept_storable() -> None:
    """Decisions 24 and 45"""
    error = ModelError(ErrorKind.INVALID_REQUEST, "bad \ud800", status=400, code="c\udc00", request_id="r")
    run = ByHand().start()
    run.say(StreamFailed(error))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.error == ModelError(
        ErrorKind.INVALID_REQUEST, "bad \ufffd", status=400, code="c\ufffd", request_id="r"
    )


def test_an_outcome_comes_after_its_step_and_the_lease_after_that() -> None:
    """Decisions 2 and 34"""
    run = ByHand().start()
    run.say(*text("done"))
    run.to_the_end()
    last = [type(effect) for effect in run.asked if isinstance(effect, SaveStep | EndAttempt | RunEnded)]
    assert last[-3:] == [SaveStep, EndAttempt, RunEnded]
    assert run.asked[-1] == RunEnded(run.state.life.result)  # type: ignore[union-attr]


@pytest.mark.parametrize("order", [SaveStep, EndAttempt])
def test_only_an_outcome_that_was_saved_stands(order: Any) -> None:
    """Decision 2: an outcome that is not saved is none, and one that is outlives a lease that was not given back."""
    run = ByHand().start()
    run.say(*text("done"))
    wanted = run.until(EndAttempt) if order is EndAttempt else None
    while wanted is None:
        step = run.until(SaveStep)
        if step.step.outcome is not None:
            wanted = step
        else:
            run.orders.insert(0, step)
            run.answer_one()
    run.tell(JournalFailed(run.now, wanted.ticket, "disk full"))
    outcome = run.to_the_end().outcome
    if order is EndAttempt:
        assert outcome == Delivered("done", boundary=1)
    else:
        assert outcome == Failed(FailureKind.JOURNAL, "the journal failed: disk full", boundary=1)


def test_nothing_can_happen_after_the_end_but_what_is_listed() -> None:
    run = ByHand().start()
    run.say(*text("done"))
    run.to_the_end()
    ended = run.state
    assert run.tell(CancelAsked(run.now)) == ()
    assert run.wake(run.now + 100_000) == ()
    assert run.state.life == ended.life


def test_an_event_is_refused_that_is_none_of_a_run_or_answers_what_nobody_asked() -> None:
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    with pytest.raises(IllegalEvent, match="object is no event of a durable run"):
        run.fold.reduce(run.state, object())  # type: ignore[arg-type]
    with pytest.raises(IllegalEvent, match=f"StepSaved answers ticket {ticket}, which asks no such thing"):
        run.fold.reduce(run.state, StepSaved(run.now, ticket))
