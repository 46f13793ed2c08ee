"""How a call starts, to the last field of its record: what its policy said, who has it now, and what went wrong."""

from typing import Any

import pytest
from turnfold.core.run import Ended, RunSpec
from turnfold.core.text import ENGLISH
from turnfold.effects.clock import Woke
from turnfold.effects.display import UpsertBlock
from turnfold.effects.feed import FeedFailed, WatchFeed
from turnfold.effects.journal import CallRefused, CallSaved, JournalFailed, SaveCall, SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked, Publish
from turnfold.effects.model import CallModel
from turnfold.effects.outcome import Failed, FailureKind, Suspended
from turnfold.effects.question import (
    AskPolicy,
    CallPolicy,
    CancelQuestion,
    Confirm,
    PolicyGiven,
    QuestionCutOff,
    QuestionFailed,
    Submit,
)
from turnfold.effects.record import CallStatus, Handover, ToolCall
from turnfold.effects.tool import CancelTool, RunTool, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import ToolDeclaration, ToolResultMessage
from turnfold.effects.values import replace
from turnfold.effects.vocabulary import Event

from tests.core.run.byhand import ByHand, calls


def run_of(*names: str, **traits: Any) -> ByHand:
    """A run whose model has called these tools, each with a policy; its output is saved."""
    tools = (
        ToolSpec(ToolDeclaration("pay"), **{"has_policy": True, **traits}),
        ToolSpec(ToolDeclaration("look")),
        ToolSpec(ToolDeclaration("finish"), completion=True, has_policy=True),
    )
    run = ByHand(RunSpec("run", tools=tools)).start()
    run.say(*calls(*names, arguments='{"a":1}'))
    order = run.take(SaveStep)
    run.now += 5
    run.tell(StepSaved(run.now, order.ticket))
    return run


def give(run: ByHand, policy: CallPolicy) -> None:
    """The policy of the call that is asked about."""
    run.now += 1
    run.tell(PolicyGiven(run.now, run.take(AskPolicy).ticket, policy))


def queued(run: ByHand, place: int = 0) -> ToolCall:
    """The record as its output was saved with it."""
    (step,) = [effect.step for effect in run.asked if isinstance(effect, SaveStep)][:1]
    return step.changes.calls[place]


def shown(run: ByHand) -> list[object]:
    """What the model is shown of its calls."""
    messages = run.until(CallModel).request.messages
    return [message.content for message in messages if isinstance(message, ToolResultMessage)]


def test_a_policy_is_asked_with_what_the_tool_would_get() -> None:
    run = run_of("pay")
    asked = run.take(AskPolicy).invocation
    record = queued(run)
    assert (asked.key, asked.name, asked.arguments) == (record.id, "pay", {"a": 1})
    assert (asked.call_id, asked.model_call_id, asked.can_suspend) == ("a", record.model_call_id, False)
    assert not run.waits_for(SaveCall)


def test_a_call_that_may_start_is_saved_as_running_and_then_run() -> None:
    run = run_of("pay")
    give(run, CallPolicy())
    write = run.take(SaveCall)
    assert write.call == replace(queued(run), status=CallStatus.RUNNING, rev=2, started_at=run.now)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    assert run.take(RunTool).invocation.can_suspend


@pytest.mark.parametrize(
    ("policy", "traits"),
    [
        (CallPolicy(replayable=True), {"replayable": True}),
        (CallPolicy(side_effects=False), {"side_effects": False}),
        (CallPolicy(notes={"seen": "yes"}), {"notes": {"of": "tool", "seen": "yes"}}),
        (CallPolicy(notes={"of": "policy"}), {"notes": {"of": "policy"}}),
        (CallPolicy(replayable=False, side_effects=True), {"replayable": False, "side_effects": True}),
    ],
)
def test_a_policy_changes_traits_and_adds_notes(policy: CallPolicy, traits: dict[str, Any]) -> None:
    run = run_of("pay", side_effects=True, notes={"of": "tool"})
    give(run, policy)
    record = run.take(SaveCall).call
    assert record == replace(queued(run), status=CallStatus.RUNNING, rev=2, started_at=run.now, **traits)


def test_viewers_are_told_of_a_call_when_its_status_changes_and_not_otherwise() -> None:
    run = run_of("pay", "look", timeout_ms=1_000)

    def told(event: Event) -> list[CallStatus | str]:
        published = [effect for effect in run.tell(event) if isinstance(effect, Publish)]
        operations = [operation for effect in published for operation in effect.operations]
        views = [operation.block for operation in operations if isinstance(operation, UpsertBlock)]
        return [view.call.status for view in views if view.call]

    assert [view.call.status for view in run.snapshot.blocks if view.call] == ["queued", "queued"]
    assert told(PolicyGiven(run.now, run.take(AskPolicy).ticket, CallPolicy())) == ["running", "running"]
    pay, look = run.take(SaveCall), run.take(SaveCall)
    assert told(CallSaved(run.now, pay.ticket, pay.call)) == []
    assert told(CallSaved(run.now, look.ticket, look.call)) == []
    tool, other = run.take(RunTool), run.take(RunTool)
    run.now += 1_000
    assert told(Woke(run.now)) == []
    assert run.take(CancelTool).ticket == tool.ticket
    assert told(ToolReturned(run.now, tool.ticket, ToolResult("paid"))) == ["succeeded"]
    assert told(CancelAsked(run.now)) == []
    assert run.take(CancelTool).ticket == other.ticket


def test_a_submitted_call_is_anothers_from_the_start() -> None:
    """RT-07"""
    run = run_of("pay")
    give(run, CallPolicy(submit=Submit("number 9\0", {"to": "bank"})))
    write = run.take(SaveCall)
    assert write.call == replace(
        queued(run),
        status=CallStatus.AWAITING_DECISION,
        rev=2,
        handover=Handover.SUBMITTED,
        result="number 9",
        payload='{"to":"bank"}',
        started_at=run.now,
    )
    run.tell(CallSaved(run.now, write.ticket, write.call))
    assert shown(run) == ["number 9"]
    assert not any(isinstance(effect, RunTool) for effect in run.asked)


@pytest.mark.parametrize("lasts", [None, 0, 70])
def test_a_paused_call_waits_as_long_as_its_policy_says(lasts: int | None) -> None:
    run = run_of("pay")
    give(run, CallPolicy(confirm=Confirm({"why": "money"}, lasts), notes={"by": "me"}))
    write = run.take(SaveCall)
    assert write.call == replace(
        queued(run),
        status=CallStatus.AWAITING_DECISION,
        rev=2,
        payload='{"why":"money"}',
        expires_at=None if lasts is None else run.now + lasts,
        notes={"by": "me"},
    )


def test_a_run_with_a_paused_call_is_suspended_for_it() -> None:
    run = run_of("pay")
    give(run, CallPolicy(confirm=Confirm()))
    write = run.take(SaveCall)
    assert write.call.payload == ""
    run.tell(CallSaved(run.now, write.ticket, write.call))
    assert run.to_the_end().outcome == Suspended((write.call.id,), 1)


@pytest.mark.parametrize(
    ("name", "policy", "error"),
    [
        ("pay", CallPolicy(Submit("r"), Confirm()), ENGLISH.submit_and_confirm.format(name="pay")),
        ("finish", CallPolicy(Submit("r")), ENGLISH.cannot_hand_over.format(name="finish")),
        ("finish", CallPolicy(confirm=Confirm()), ENGLISH.cannot_confirm.format(name="finish")),
    ],
)
def test_a_call_that_cannot_be_handed_over_fails(name: str, policy: CallPolicy, error: str) -> None:
    """Decision 18"""
    run = run_of(name)
    give(run, policy)
    record = run.take(SaveCall).call
    assert record == replace(
        queued(run), status=CallStatus.FAILED, rev=2, error=error, started_at=run.now, completed_at=run.now
    )


def test_a_payload_that_is_no_json_fails_the_call() -> None:
    run = run_of("pay")
    give(run, CallPolicy(submit=Submit("r", {"set": object()}), notes={"kept": "yes"}))
    record = run.take(SaveCall).call
    assert record.status == CallStatus.FAILED
    assert (record.error or "").startswith(ENGLISH.not_json.format(name="pay", problem=""))
    assert (record.handover, record.result, record.payload) == (Handover.NONE, None, "")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda at, ticket: QuestionFailed(at, ticket, "no \0money"), "no money"),
        (QuestionCutOff, "the question for the call's policy was cut off"),
    ],
)
def test_a_policy_that_gives_no_answer_fails_the_call(answer: Any, error: str) -> None:
    """N-12"""
    run = run_of("pay")
    run.tell(answer(run.now, run.take(AskPolicy).ticket))
    record = run.take(SaveCall).call
    assert record == replace(
        queued(run), status=CallStatus.FAILED, rev=2, error=error, started_at=run.now, completed_at=run.now
    )


def test_a_call_starts_once_those_in_front_of_it_are_clear() -> None:
    run = run_of("look", "pay", "look", "pay", "look")
    assert run.take(SaveCall).call.id == queued(run).id
    assert not run.waits_for(SaveCall)
    first = run.take(AskPolicy)
    give(run, CallPolicy())
    assert not run.waits_for(SaveCall)
    run.tell(PolicyGiven(run.now, first.ticket, CallPolicy()))
    assert [run.take(SaveCall).call.id for _ in range(4)] == [queued(run, place).id for place in (1, 2, 3, 4)]


def test_a_policy_that_fails_lets_the_calls_behind_it_start() -> None:
    run = run_of("pay", "look")
    run.tell(QuestionFailed(run.now, run.take(AskPolicy).ticket, "no"))
    assert [run.take(SaveCall).call.status for _ in range(2)] == [CallStatus.FAILED, CallStatus.RUNNING]


def test_a_call_without_a_tool_or_with_bad_arguments_fails_without_a_question() -> None:
    run = run_of("nobody")
    assert run.take(SaveCall).call.error == ENGLISH.unknown_tool.format(name="nobody")
    assert not run.waits_for(AskPolicy)
    run = ByHand(RunSpec("run", tools=(ToolSpec(ToolDeclaration("pay"), has_policy=True),))).start()
    run.say(*calls("pay", arguments="[1]"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    problem = "expected a JSON object, got list"
    assert run.take(SaveCall).call.error == ENGLISH.invalid_arguments.format(name="pay", problem=problem)
    assert not run.waits_for(AskPolicy)


def test_a_refused_hand_over_fails_with_the_reason_and_leaves_nothing_of_it() -> None:
    """RT-08 and DC-06"""
    run = run_of("pay")
    give(run, CallPolicy(submit=Submit("r", 1), notes={"kept": "yes"}))
    write = run.take(SaveCall)
    run.now += 1
    run.tell(CallRefused(run.now, write.ticket, "not on a Sunday"))
    record = run.take(SaveCall).call
    assert record == replace(
        queued(run),
        status=CallStatus.FAILED,
        rev=3,
        notes={"kept": "yes"},
        error="not on a Sunday",
        started_at=run.now,
        completed_at=run.now,
    )


@pytest.mark.parametrize(
    ("policy", "reason", "status", "result"),
    [
        (CallPolicy(confirm=Confirm()), FailureKind.CANCELLED, CallStatus.INTERRUPTED, ENGLISH.never_started),
        (CallPolicy(confirm=Confirm()), FailureKind.FEED, CallStatus.AWAITING_DECISION, None),
        (CallPolicy(submit=Submit("r")), FailureKind.CANCELLED, CallStatus.AWAITING_DECISION, "r"),
    ],
)
def test_a_hand_over_that_is_under_way_when_the_run_ends_stands_unless_nobody_may_decide_it(
    policy: CallPolicy, reason: FailureKind, status: str, result: str | None
) -> None:
    """A run that failed can be resumed and its paused call decided; a cancelled one gives up what it paused."""
    run = run_of("pay")
    give(run, policy)
    write = run.take(SaveCall)
    if reason is FailureKind.CANCELLED:
        run.tell(CancelAsked(run.now))
    else:
        watch = next(effect.ticket for effect in run.asked if isinstance(effect, WatchFeed))
        run.tell(FeedFailed(run.now, watch, "gone"))
    run.tell(CallSaved(run.now, write.ticket, write.call))
    ended = run.to_the_end()
    assert isinstance(ended.outcome, Failed)
    assert ended.outcome.kind is reason
    assert [(record.status, record.result) for record in ended.calls] == [(status, result)]


def test_a_cancelled_question_is_withdrawn_and_its_call_never_started() -> None:
    run = run_of("pay", "look")
    asked = run.take(AskPolicy)
    run.tell(CancelAsked(run.now))
    assert run.take(CancelQuestion).ticket == asked.ticket
    run.tell(PolicyGiven(run.now, asked.ticket, CallPolicy()))
    assert [run.take(SaveCall).call.result for _ in range(2)] == [ENGLISH.never_started] * 2
    assert not run.waits_for(SaveCall)


def test_a_question_is_withdrawn_once_whatever_else_goes_wrong() -> None:
    run = run_of("pay", "look")
    asked = run.take(AskPolicy)
    run.tell(CancelAsked(run.now))
    assert run.take(CancelQuestion).ticket == asked.ticket
    run.tell(JournalFailed(run.now, run.take(SaveCall).ticket, "disk full"))
    assert not run.waits_for(CancelQuestion)
    run.tell(QuestionCutOff(run.now, asked.ticket))
    assert [record.status for record in run.to_the_end().calls] == ["interrupted"] * 2


def test_a_hand_over_that_could_not_be_saved_has_failed_and_leaves_nothing_of_it() -> None:
    """DC-17: whether the journal had it nobody knows, so the record counts on from there."""
    run = run_of("pay")
    give(run, CallPolicy(submit=Submit("r", 1)))
    run.now += 1
    run.tell(JournalFailed(run.now, run.take(SaveCall).ticket, "disk full"))
    assert run.to_the_end().calls == (
        replace(
            queued(run),
            status=CallStatus.FAILED,
            rev=3,
            error=ENGLISH.not_handed_over,
            started_at=run.now,
            completed_at=run.now,
        ),
    )


def test_a_call_whose_hand_over_is_not_asked_for_yet_is_settled_when_the_run_is_cancelled() -> None:
    run = run_of("pay", "look")
    give(run, CallPolicy(confirm=Confirm()))
    write = run.take(SaveCall)
    assert write.call.status == CallStatus.AWAITING_DECISION
    other = run.take(SaveCall)
    run.tell(CancelAsked(run.now))
    run.tell(CallSaved(run.now, write.ticket, write.call))
    run.tell(CallSaved(run.now, other.ticket, other.call))
    statuses = {record.id: record.status for record in run.to_the_end().calls}
    assert statuses[other.call.id] == CallStatus.INTERRUPTED
    assert isinstance(run.state.life, Ended)


def test_a_call_that_runs_beside_a_submitted_one_gives_its_result() -> None:
    run = run_of("pay", "look")
    give(run, CallPolicy(submit=Submit("r")))
    for _ in range(2):
        write = run.take(SaveCall)
        run.tell(CallSaved(run.now, write.ticket, write.call))
    tool = run.take(RunTool)
    assert tool.invocation.name == "look"
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("seen")))
    assert shown(run) == ["r", "seen"]
