"""Input, question by question: a gate waits for a poll that was asked after it opened, and each message enters once."""

from typing import Any

import pytest
from turnfold.core.run import Limits
from turnfold.core.run.inputs import fresh_poll, newer_input, polled
from turnfold.effects.feed import (
    Claim,
    ClaimInput,
    FeedFailed,
    FeedPolled,
    FeedWatched,
    InputClaimed,
    InputMessage,
    InputSignalled,
    PollFeed,
    WatchFeed,
)
from turnfold.effects.journal import SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked, RunEnded
from turnfold.effects.model import CallModel, CancelModel, ModelCutOff
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.tool import RunTool

from tests.core.run.byhand import START, ByHand, calls, spec_of, text
from tests.core.run.resumed import resumed

QUIET = Limits(lease_ms=900_000, poll_ms=600_000)


def quiet() -> ByHand:
    return ByHand(spec_of("echo", limits=QUIET)).start()


def test_a_poll_has_a_number_and_an_answer_counts_for_all_that_were_asked() -> None:
    run = quiet()
    run.until(CallModel)
    state, number = fresh_poll(run.state)
    assert not polled(state, number)
    assert polled(state, number - 1)
    assert not newer_input(state)


def test_the_subscription_is_there_before_the_first_poll() -> None:
    """Input from then on either signals or is seen by a poll."""
    run = quiet()
    watch = run.until(WatchFeed)
    assert not run.waits_for(PollFeed)
    run.tell(FeedWatched(run.now, watch.ticket))
    assert run.take(PollFeed).after == 0


@pytest.mark.parametrize("order", [WatchFeed, PollFeed, ClaimInput])
def test_a_feed_that_fails_ends_the_run_whatever_it_was_asked(order: Any) -> None:
    run = quiet()
    run.tell(FeedFailed(run.now, run.until(order).ticket, "gone\ud800"))
    result = run.to_the_end()
    assert result.outcome == Failed(FailureKind.FEED, "the feed failed: gone\ufffd", boundary=0)
    assert run.orders == []


def test_a_subscription_that_fails_beside_a_question_waits_for_its_answer() -> None:
    """N-18: what is in flight is answered before the run ends."""
    run = quiet()
    watch = run.until(WatchFeed)
    run.tell(FeedWatched(run.now, watch.ticket))
    poll = run.take(PollFeed)
    run.tell(FeedFailed(run.now, watch.ticket, "gone"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    while run.orders:
        run.answer_one()
    assert not any(isinstance(effect, RunEnded) for effect in run.asked)
    effects = run.tell(FeedPolled(run.now, poll.ticket, 1))
    assert any(isinstance(effect, RunEnded) for effect in effects)


def watched(run: ByHand) -> int:
    """The ticket of the subscription of a run whose model is being asked."""
    run.until(CallModel)
    return next(effect.ticket for effect in run.asked if isinstance(effect, WatchFeed))


def test_a_signal_is_a_poll_and_signals_merge() -> None:
    run = quiet()
    watch = watched(run)
    run.tell(InputSignalled(run.now, watch))
    poll = run.take(PollFeed)
    assert run.tell(InputSignalled(run.now, watch)) == ()
    assert run.tell(InputSignalled(run.now, watch)) == ()
    run.tell(FeedPolled(run.now, poll.ticket, 0))
    # One more, since the signals may have come after the feed looked.
    again = run.take(PollFeed)
    run.tell(FeedPolled(run.now, again.ticket, 0))
    assert not run.waits_for(PollFeed)


def test_a_delivery_waits_for_a_poll_that_was_asked_after_the_text_was_saved() -> None:
    """Marks: a gate that needs a poll needs one that was asked after the gate opened."""
    run = quiet()
    watch = watched(run)
    run.tell(InputSignalled(run.now, watch))
    early = run.take(PollFeed)
    run.orders.append(CallModel(run.state.model.ticket or 0, None))  # type: ignore[arg-type]
    run.say(*text("hello"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    run.tell(FeedPolled(run.now, early.ticket, 0))
    assert not run.waits_for(SaveStep)
    late = run.take(PollFeed)
    run.messages.append(InputMessage("wait", "m2"))
    run.tell(FeedPolled(run.now, late.ticket, 2))
    assert run.take(ClaimInput).after == 1


def test_a_poll_asks_for_what_is_not_known_yet() -> None:
    run = quiet()
    watch = watched(run)
    run.tell(InputSignalled(run.now, watch))
    poll = run.take(PollFeed)
    assert poll.after == 1
    run.messages += [InputMessage("two", "m2"), InputMessage("three", "m3")]
    run.tell(FeedPolled(run.now, poll.ticket, 3))
    run.tell(InputSignalled(run.now, watch))
    assert run.take(PollFeed).after == 3


def test_each_message_enters_once_by_its_id_and_revision() -> None:
    """N-17"""
    run = quiet()
    one, again, revised = (InputMessage(f"text {number}", "m", number) for number in ("1", "1", "2"))
    claim = run.until(ClaimInput)
    run.tell(InputClaimed(run.now, claim.ticket, Claim((one, again, revised, one), 1)))
    request = run.take(CallModel).request
    assert [message.content for message in request.messages] == ["text 1", "text 2"]  # type: ignore[union-attr]


def test_a_claim_of_nothing_new_still_asks_the_model() -> None:
    """What was claimed is answered, also when its words are known."""
    run = quiet()
    run.say(*text("one"))
    run.messages.append(run.messages[0])
    request = run.until(CallModel).request
    assert len(request.context) == 2
    run.orders.append(CallModel(run.state.model.ticket or 0, request))
    run.say(*text("two"))
    assert run.to_the_end().outcome == Delivered("two", boundary=2)


@pytest.mark.parametrize("boundary", [1, 2, 3])
def test_a_claim_may_be_smaller_than_asked_but_not_empty_or_larger(boundary: int) -> None:
    """RT-19 and N-19"""
    run = quiet()
    run.messages += [InputMessage("two", "m2")]
    claim = run.until(ClaimInput)
    assert (claim.after, claim.through) == (0, 2)
    run.tell(InputClaimed(run.now, claim.ticket, Claim(tuple(run.messages[:boundary]), boundary)))
    assert run.waits_for(CallModel) == (boundary <= 2)
    if boundary == 3:
        outcome = run.to_the_end().outcome
        assert isinstance(outcome, Failed)
        assert outcome.kind is FailureKind.CONTRACT_BREACH


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (Claim((), 1), "the feed claimed no messages above 0"),
        (
            Claim((InputMessage("hi", "m1"),), 2),
            "the feed was asked to claim 1 to 1, and claimed 1 messages up to 2",
        ),
        (
            Claim((InputMessage("hi", "m1"),), 0),
            "the feed was asked to claim 1 to 1, and claimed 1 messages up to 0",
        ),
    ],
)
def test_a_wrong_claim_is_told_as_it_was(claim: Claim, told: str) -> None:
    """N-19"""
    run = quiet()
    run.tell(InputClaimed(run.now, run.until(ClaimInput).ticket, claim))
    assert run.to_the_end().outcome == Failed(FailureKind.CONTRACT_BREACH, told, boundary=0)


@pytest.mark.parametrize(
    "claim", [Claim((), 1), Claim((InputMessage("hi", "m1"),), 2), Claim((InputMessage("hi", "m1"),), 0)]
)
def test_a_claim_that_a_resume_repeats_must_be_the_same(claim: Claim) -> None:
    """N-20"""
    first = quiet()
    first.say(*calls("echo"))
    first.until(RunTool)
    run = resumed(first)
    asked = run.until(ClaimInput)
    assert (asked.after, asked.through) == (0, 1)
    run.tell(InputClaimed(run.now, asked.ticket, claim))
    messages = len(claim.messages)
    told = f"the feed did not repeat the claim up to 1: it gave {messages} messages up to {claim.boundary}"
    assert run.to_the_end().outcome == Failed(FailureKind.CONTRACT_BREACH, told, boundary=1)


def test_a_poll_that_knows_less_than_was_known_changes_nothing() -> None:
    run = quiet()
    watch = watched(run)
    for latest in (3, 2):
        run.tell(InputSignalled(run.now, watch))
        run.tell(FeedPolled(run.now, run.take(PollFeed).ticket, latest))
    assert run.state.feed.latest == 3


def test_a_run_that_is_ending_claims_and_polls_no_more() -> None:
    run = quiet()
    watch = watched(run)
    run.tell(CancelAsked(run.now))
    run.tell(InputSignalled(run.now, watch))
    run.wake(START + 600_000)
    assert not run.waits_for(PollFeed)
    run.tell(ModelCutOff(run.now, run.take(CancelModel).ticket))
    run.to_the_end()


def test_a_claim_that_arrives_while_the_run_is_ending_is_passed_over() -> None:
    run = quiet()
    claim = run.until(ClaimInput)
    run.tell(CancelAsked(run.now))
    run.tell(InputClaimed(run.now, claim.ticket, Claim(tuple(run.messages), 1)))
    result = run.to_the_end()
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.CANCELLED
    assert not any(isinstance(effect, CallModel) for effect in run.asked)
