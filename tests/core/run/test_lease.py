"""The lease and the clock: held while the run works, renewed in time, given back once; nothing starts without it."""

from typing import Any

import pytest
from turnfold.core.run import IllegalEvent, Limits
from turnfold.core.run.phases import LeaseHeld, NoLease
from turnfold.effects.clock import WakeAt, Woke
from turnfold.effects.feed import Claim, ClaimInput, FeedPolled, InputClaimed, PollFeed
from turnfold.effects.journal import (
    AttemptBegun,
    AttemptEnded,
    AttemptRefused,
    AttemptStale,
    BeginAttempt,
    Begun,
    CallSaved,
    EndAttempt,
    JournalFailed,
    LeaseRenewed,
    RenewLease,
    Resume,
    SaveCall,
    SaveStep,
    StepSaved,
)
from turnfold.effects.lifecycle import CancelAsked, Publish, RunEnded, RunStarted
from turnfold.effects.model import CallModel, CancelModel, ModelCutOff
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.tool import CancelTool, RunTool, ToolCutOff, ToolResult, ToolReturned
from turnfold.effects.values import replace
from turnfold.effects.vocabulary import Effect

from tests.core.run.byhand import START, ByHand, calls, spec_of, text

SHORT = Limits(lease_ms=9_000, poll_ms=60_000)


def short() -> ByHand:
    return ByHand(spec_of("echo", limits=SHORT)).start()


def wakes(effects: tuple[Effect, ...]) -> list[int]:
    return [effect.at - START for effect in effects if isinstance(effect, WakeAt)]


def test_an_execution_begins_with_an_attempt() -> None:
    run = ByHand(spec_of(limits=replace(SHORT, run_ms=START * 5)))
    assert run.tell(RunStarted(run.now, b"seed", take_over=True)) == (BeginAttempt(1, 9_000, True),)
    assert run.state.lease.phase == NoLease()
    effects = run.tell(AttemptBegun(run.now + 2_000, 1, Begun(7, Resume())))
    # The lease counts from when it was asked for, since the store may have counted from then.
    assert (run.state.lease.attempt, run.state.lease.until - START) == (7, 9_000)
    assert wakes(effects) == [3_000]


def test_a_run_that_somebody_else_holds_has_ended_before_it_began() -> None:
    """decision 9"""
    run = ByHand()
    run.tell(RunStarted(run.now, b"seed"))
    effects = run.tell(AttemptRefused(run.now, 1, 12_345))
    assert [type(effect) for effect in effects] == [RunEnded]
    assert run.state.life.result.busy_until == 12_345  # type: ignore[union-attr]
    assert run.state.life.result.outcome is None  # type: ignore[union-attr]


def test_a_lease_is_renewed_when_a_third_of_it_is_over() -> None:
    run = short()
    run.until(CallModel)
    assert RenewLease not in {type(effect) for effect in run.wake(START + 2_999)}
    effects = run.wake(START + 3_000)
    (renew,) = [effect for effect in effects if isinstance(effect, RenewLease)]
    assert (renew.attempt, renew.lease_ms) == (1, 9_000)
    run.now += 500
    run.take(RenewLease)
    effects = run.tell(LeaseRenewed(run.now, renew.ticket))
    assert (run.state.lease.until - START, run.state.lease.renew_at - START) == (12_000, 6_000)
    assert wakes(effects) == [6_000]


@pytest.mark.parametrize("lease_ms", [1, 2, 5])
def test_the_shortest_lease_is_renewed_later_than_it_began(lease_ms: int) -> None:
    run = ByHand(spec_of(limits=Limits(lease_ms=lease_ms)))
    run.tell(RunStarted(run.now, b"seed"))
    run.tell(AttemptBegun(run.now, run.take(BeginAttempt).ticket, Begun(1, Resume())))
    assert (run.state.lease.renew_at, run.state.lease.until) == (START + 1, START + lease_ms)


@pytest.mark.parametrize(("reason", "told"), [("", ""), ("cancelled", ""), ("enough", ": enough")])
@pytest.mark.parametrize("early", [False, True])
def test_a_cancelled_run_says_why_if_anybody_did(reason: str, told: str, early: bool) -> None:
    run = ByHand()
    run.tell(RunStarted(run.now, b"seed"))
    if not early:
        run.answer_one()
    run.tell(CancelAsked(run.now, reason))
    assert run.to_the_end().outcome == Failed(FailureKind.CANCELLED, f"the run was cancelled{told}", boundary=0)


def test_waking_too_early_is_harmless() -> None:
    """Rule 8 of the fold: the run looks, and asks for the same time again."""
    run = short()
    run.until(CallModel)
    before = run.state
    assert wakes(run.wake(START)) == [3_000]
    assert run.state == before
    assert wakes(run.wake(START + 2_999)) == [3_000]
    with pytest.raises(IllegalEvent):
        ByHand().fold.reduce(ByHand().state, Woke(1))


def test_time_never_goes_back() -> None:
    """Rule 8 of the fold"""
    run = short()
    run.until(CallModel)
    run.wake(START + 1_000)
    run.tell(Woke(START + 10))
    assert run.state.clock.now == START + 1_000


def slow_model(run: ByHand) -> None:
    """The lease has run out, and its renewal is on its way, when the model has answered."""
    run.say(*calls("echo"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    run.wake(START + 9_000)


def test_no_tool_starts_on_a_lease_that_has_run_out() -> None:
    """Decision 9: it waits for the renewal."""
    run = short()
    slow_model(run)
    write = run.take(SaveCall)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    assert not run.waits_for(RunTool)
    run.tell(LeaseRenewed(run.now, run.take(RenewLease).ticket))
    assert run.waits_for(RunTool)


def test_no_model_is_asked_on_a_lease_that_has_run_out() -> None:
    """decision 9"""
    run = short()
    run.say(*calls("echo"))
    tool = run.until(RunTool)
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("x")))
    write = run.take(SaveCall)
    run.wake(START + 9_000)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    run.tell(FeedPolled(run.now, run.take(PollFeed).ticket, 0))
    assert not run.waits_for(CallModel)
    run.tell(LeaseRenewed(run.now, run.take(RenewLease).ticket))
    assert run.waits_for(CallModel)


@pytest.mark.parametrize("order", [RenewLease, SaveStep])
def test_whoever_is_stale_stops_everything_and_writes_nothing_more(order: Any) -> None:
    """decision 9"""
    run = short()
    if order is RenewLease:
        run.until(CallModel)
        run.orders.append(CallModel(run.state.model.ticket or 0, None))  # type: ignore[arg-type]
        run.wake(START + 3_000)
    else:
        run.say(*text("hello"))
    asked = len(run.asked)
    run.tell(AttemptStale(run.now, run.take(order).ticket))
    if order is RenewLease:
        run.tell(ModelCutOff(run.now, run.take(CancelModel).ticket))
    outcome = run.state.life.result.outcome  # type: ignore[union-attr]
    assert outcome == Failed(FailureKind.STALE_ATTEMPT, "another executor has taken over this run", boundary=1)
    later = {type(effect) for effect in run.asked[asked:]}
    assert not later & {SaveStep, SaveCall, EndAttempt, RenewLease, RunTool, CallModel}


def test_a_stale_tool_is_cut_off_and_its_record_left_as_it_is() -> None:
    """decision 9"""
    run = short()
    run.say(*calls("echo"))
    tool = run.until(RunTool)
    run.wake(START + 3_000)
    run.tell(AttemptStale(run.now, run.take(RenewLease).ticket))
    assert run.take(CancelTool).ticket == tool.ticket
    effects = run.tell(ToolCutOff(run.now, tool.ticket))
    assert [type(effect) for effect in effects] == [Publish, RunEnded]


def test_the_lease_is_given_back_once_at_the_very_end() -> None:
    run = short()
    run.say(*text("done"))
    end = run.until(EndAttempt)
    assert run.orders == []
    effects = run.tell(AttemptEnded(run.now, end.ticket))
    assert [type(effect) for effect in effects] == [RunEnded]
    assert run.state.life.result.outcome == Delivered("done", boundary=1)  # type: ignore[union-attr]


def test_a_lease_that_is_being_given_back_is_not_renewed() -> None:
    run = short()
    run.say(*text("done"))
    end = run.until(EndAttempt)
    assert run.wake(START + 3_000) == ()
    assert run.wake(START + 60_000) == ()
    run.tell(AttemptEnded(run.now, end.ticket))
    assert not run.waits_for(RenewLease)


def test_a_lease_is_given_back_rather_than_renewed() -> None:
    """A renewal that takes longer than the time to the next one must not keep a finished run from ending."""
    run = short()
    run.say(*text("done"))
    run.wake(START + 3_000)
    renewal = run.take(RenewLease)
    while run.orders:
        run.answer_one()
    assert not run.waits_for(EndAttempt)
    run.now = START + 7_000
    effects = run.tell(LeaseRenewed(run.now, renewal.ticket))
    assert [type(effect) for effect in effects] == [EndAttempt]
    assert isinstance(run.state.lease.phase, LeaseHeld)


@pytest.mark.parametrize("order", [RenewLease, EndAttempt])
def test_a_lease_that_could_not_be_written_is_let_alone_while_the_run_ends(order: Any) -> None:
    run = short()
    claim = run.until(ClaimInput)
    if order is RenewLease:
        run.wake(START + 3_000)
    run.tell(CancelAsked(run.now))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    assert run.tell(JournalFailed(run.now, run.take(order).ticket, "disk full")) == ()
    assert run.wake(START + 9_000) == ()
    effects = run.tell(InputClaimed(run.now, claim.ticket, Claim(tuple(run.messages), 1)))
    assert [type(effect) for effect in effects] == [RunEnded]
    assert run.to_the_end().outcome == Failed(FailureKind.CANCELLED, "the run was cancelled", boundary=0)


def test_a_cancellation_before_the_attempt_has_begun_waits_for_it() -> None:
    """Decision 40: then it settles, saves and ends, and needs neither feed nor model."""
    run = ByHand()
    run.tell(RunStarted(run.now, b"seed"))
    assert run.tell(CancelAsked(run.now, "enough")) == ()
    result = run.to_the_end()
    assert result.outcome == Failed(FailureKind.CANCELLED, "the run was cancelled: enough", boundary=0)
    assert {type(effect) for effect in run.asked} == {BeginAttempt, WakeAt, SaveStep, EndAttempt, RunEnded}


def test_only_the_first_cancellation_counts() -> None:
    run = short()
    run.until(CallModel)
    run.tell(CancelAsked(run.now, "first"))
    assert run.tell(CancelAsked(run.now, "second")) == ()
    run.tell(ModelCutOff(run.now, run.take(CancelModel).ticket))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.message == "the run was cancelled: first"


def test_a_poll_is_due_now_and_then() -> None:
    run = ByHand(spec_of(limits=Limits(lease_ms=90_000, poll_ms=5_000))).start()
    run.until(CallModel)
    assert not run.waits_for(PollFeed)
    run.wake(START + 5_000)
    run.tell(FeedPolled(run.now, run.take(PollFeed).ticket, 0))
    assert run.state.clock.wake == START + 10_000
