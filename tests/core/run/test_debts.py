"""What is asked of the world, and when: no write before the output it belongs to, and the nearest deadline only."""

from typing import Any

import pytest
from turnfold.core.run import Limits, Retries, RunSpec
from turnfold.core.text import ENGLISH
from turnfold.effects.feed import FeedPolled, FeedWatched, PollFeed, WatchFeed
from turnfold.effects.journal import (
    CallSaved,
    EndAttempt,
    JournalFailed,
    LeaseRenewed,
    RenewLease,
    SaveCall,
    SaveStep,
    StepSaved,
)
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import (
    BlockStarted,
    CallModel,
    CancelModel,
    DeltaKind,
    ModelCutOff,
    ModelStreamed,
    StreamFailed,
)
from turnfold.effects.outcome import Failed, FailureKind
from turnfold.effects.question import AskPolicy, CallPolicy, Confirm, PolicyGiven
from turnfold.effects.tool import CancelTool, RunTool, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import ErrorKind, ModelError, ToolDeclaration

from tests.core.run.byhand import ByHand, calls, spec_of

FAR = {"lease_ms": 300_000_000, "poll_ms": 100_000_000}
"""Limits that come into nothing here."""


def timed(retries: Retries | None = None, **limits: Any) -> ByHand:
    tools = (
        ToolSpec(ToolDeclaration("quick"), timeout_ms=2_000),
        ToolSpec(ToolDeclaration("slow"), timeout_ms=9_000),
    )
    spec = RunSpec("run", tools=tools, limits=Limits(**{**FAR, **limits}), retries=retries or Retries())
    return ByHand(spec).start()


def test_a_record_is_not_written_before_the_output_that_it_belongs_to() -> None:
    run = ByHand(spec_of("look")).start()
    run.say(*calls("look", "look"))
    step = run.take(SaveStep)
    run.tell(CancelAsked(run.now))
    assert not run.waits_for(SaveCall)
    run.tell(StepSaved(run.now, step.ticket))
    assert [run.take(SaveCall).call.result for _ in range(2)] == [ENGLISH.never_started] * 2


def test_a_record_whose_output_could_not_be_saved_is_not_written_either() -> None:
    run = ByHand(spec_of("look", "look2")).start()
    run.say(*calls("look", "look2"))
    step = run.take(SaveStep)
    run.tell(CancelAsked(run.now))
    run.tell(JournalFailed(run.now, step.ticket, "disk full"))
    assert run.orders == []
    result = run.to_the_end()
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.CANCELLED
    assert [record.result for record in result.calls] == [ENGLISH.never_started] * 2


def test_the_lease_is_kept_until_a_withdrawn_model_has_answered() -> None:
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    run.tell(CancelAsked(run.now))
    assert run.take(CancelModel).ticket == ticket
    while run.waits_for(SaveStep):
        run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    assert not run.waits_for(EndAttempt)
    run.tell(ModelCutOff(run.now, ticket))
    run.until(EndAttempt)


def test_the_run_wakes_for_the_tool_whose_time_is_over_first() -> None:
    run = timed()
    run.say(*calls("slow", "quick"))
    slow, quick = run.until(RunTool), run.until(RunTool)
    assert run.wake_at == run.now + 2_000
    run.tell(ToolReturned(run.now, quick.ticket, ToolResult("1")))
    run.wake(run.wake_at)
    assert run.wake_at == run.now - 2_000 + 9_000
    assert slow.ticket < quick.ticket


def test_the_run_wakes_for_the_next_tool_although_the_first_does_not_stop() -> None:
    run = timed()
    run.say(*calls("quick", "slow"))
    quick, _ = run.until(RunTool), run.until(RunTool)
    began = run.now
    run.wake(run.wake_at)
    assert run.take(CancelTool).ticket == quick.ticket
    assert run.wake_at == began + 9_000


def test_a_wake_up_is_spent_when_something_else_happens_at_its_time() -> None:
    run = timed()
    run.say(*calls("slow", "quick"))
    _, quick = run.until(RunTool), run.until(RunTool)
    began = run.now
    run.now = run.wake_at
    run.tell(ToolReturned(run.now, quick.ticket, ToolResult("1")))
    assert run.wake_at == began + 9_000


def test_while_the_lease_is_being_renewed_the_run_wakes_for_its_limits_only() -> None:
    run = ByHand(RunSpec("run", limits=Limits(lease_ms=900, poll_ms=400, run_ms=5_000))).start()
    began = run.now
    run.until(CallModel)
    run.wake(began + 300)
    assert run.wake_at == began + 5_000
    run.tell(LeaseRenewed(run.now, run.take(RenewLease).ticket))
    assert run.wake_at == began + 400


def test_the_run_wakes_for_a_model_that_may_not_wait_and_no_more_once_it_has_begun() -> None:
    run = timed(first_token_ms=700)
    ticket = run.until(CallModel).ticket
    assert run.wake_at == run.now + 700
    run.tell(ModelStreamed(run.now, ticket, (BlockStarted(0, DeltaKind.TEXT),)))
    run.wake(run.wake_at)
    assert not run.waits_for(CancelModel)
    assert run.wake_at > run.now + 1_000_000


def test_the_run_wakes_for_a_model_that_stalls() -> None:
    run = timed(stall_ms=300)
    ticket = run.until(CallModel).ticket
    assert run.wake_at > run.now + 1_000_000
    run.tell(ModelStreamed(run.now, ticket, (BlockStarted(0, DeltaKind.TEXT),)))
    assert run.wake_at == run.now + 300


def test_the_run_wakes_to_ask_its_model_again() -> None:
    run = timed(Retries(times=1, first_ms=1_000))
    ticket = run.until(CallModel).ticket
    run.tell(ModelStreamed(run.now, ticket, (StreamFailed(ModelError(ErrorKind.NETWORK, "gone")),)))
    due = run.state.model.retry_at
    assert run.wake_at == due
    run.wake(due)
    assert run.waits_for(CallModel)
    assert run.wake_at > run.now + 1_000_000


def test_the_run_wakes_when_its_own_time_is_over_and_for_no_deadline_once_it_ends() -> None:
    run = timed(run_ms=5_000)
    began = run.now
    ticket = run.until(CallModel).ticket
    assert run.wake_at == began + 5_000
    run.tell(CancelAsked(run.now))
    run.wake(began + 1)
    assert run.wake_at > run.now + 1_000_000
    run.tell(ModelCutOff(run.now, ticket))
    run.to_the_end()


def test_a_model_that_was_withdrawn_has_no_time_of_its_own() -> None:
    run = timed(first_token_ms=700)
    run.until(CallModel)
    run.tell(CancelAsked(run.now))
    run.wake(run.now + 1)
    assert run.wake_at > run.now + 1_000_000


def test_the_feed_is_polled_in_its_interval_while_it_gives_no_signal() -> None:
    run = ByHand(RunSpec("run", limits=Limits(**{**FAR, "poll_ms": 400}))).start()
    run.tell(FeedWatched(run.now, run.until(WatchFeed).ticket))
    run.until(CallModel)
    last = max(effect.ticket for effect in run.asked if isinstance(effect, PollFeed))
    run.wake(run.wake_at)
    poll = run.take(PollFeed)
    assert poll.ticket > last
    assert run.wake_at > run.now + 1_000_000
    run.now += 300
    run.tell(FeedPolled(run.now, poll.ticket, 0))
    assert run.wake_at == run.now + 100
    run.wake(run.wake_at)
    assert run.waits_for(PollFeed)


@pytest.mark.parametrize("name", ["quick", "slow"])
def test_an_invocation_says_all_that_its_tool_may_know(name: str) -> None:
    run = timed()
    run.say(*calls(name, arguments='{"a":1}'))
    invocation = run.until(RunTool).invocation
    (record,) = [live.record for live in run.state.batch.live.values()]
    assert (invocation.key, invocation.name, invocation.arguments) == (record.id, name, {"a": 1})
    assert (invocation.call_id, invocation.model_call_id) == ("a", record.model_call_id)
    assert invocation.can_suspend


def test_a_hand_over_is_saved_while_another_call_of_its_batch_is() -> None:
    tools = (ToolSpec(ToolDeclaration("pay"), has_policy=True), ToolSpec(ToolDeclaration("look")))
    run = ByHand(RunSpec("run", tools=tools)).start()
    run.say(*calls("look", "pay"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    run.tell(PolicyGiven(run.now, run.take(AskPolicy).ticket, CallPolicy(confirm=Confirm())))
    look, pay = run.take(SaveCall), run.take(SaveCall)
    run.tell(CallSaved(run.now, pay.ticket, pay.call))
    assert not run.waits_for(RunTool)
    run.tell(CallSaved(run.now, look.ticket, look.call))
    assert run.take(RunTool).invocation.name == "look"
