"""What a person decided, carried out to the last field of the record."""

from typing import Any

import pytest
from turnfold.core.run import Functions, RunSpec
from turnfold.core.text import ENGLISH
from turnfold.effects.feed import WatchFeed
from turnfold.effects.journal import (
    CallSaved,
    SaveCall,
    SaveStep,
    StepSaved,
)
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import CallModel
from turnfold.effects.outcome import Suspended
from turnfold.effects.question import (
    AskPolicy,
    CallPolicy,
    Confirm,
    PolicyGiven,
)
from turnfold.effects.record import CallDecision, CallStatus, Handover, ToolCall
from turnfold.effects.tool import CancelTool, RunTool, ToolCutOff, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import ToolDeclaration, ToolResultMessage
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls
from tests.core.run.resumed import left_by, resumed

YES = CallDecision(approved=True)


def spec_of(**traits: Any) -> RunSpec:
    traits = {"has_policy": True, "side_effects": True, **traits}
    return RunSpec("run", tools=(ToolSpec(ToolDeclaration("pay"), **traits), ToolSpec(ToolDeclaration("look"))))


def paused(*names: str, functions: Functions | None = None, lasts: int | None = None, **traits: Any) -> ByHand:
    """A run that is suspended, since each of its calls of ``pay`` waits for a decision."""
    more = {"functions": functions} if functions else {}
    run = ByHand(spec_of(**traits), **more).start()
    run.say(*calls(*(names or ("pay",)), arguments='{"a":1}'))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    while run.waits_for(AskPolicy):
        run.tell(PolicyGiven(run.now, run.take(AskPolicy).ticket, CallPolicy(confirm=Confirm(None, lasts))))
    assert isinstance(run.to_the_end().outcome, Suspended)
    return run


def shown(run: ByHand) -> list[object]:
    """What the model is shown of its calls."""
    messages = run.until(CallModel).request.messages
    return [message.content for message in messages if isinstance(message, ToolResultMessage)]


def stored(run: ByHand, place: int = 0) -> ToolCall:
    return left_by(run).calls[place]


def test_an_approved_call_is_saved_as_running_and_then_runs() -> None:
    """DC-01"""
    before = paused()
    run = resumed(before, decision=YES)
    write = run.until(SaveCall)
    expected = replace(stored(before), decision=YES, status=CallStatus.RUNNING, rev=3, started_at=run.now)
    assert write.call == expected
    assert not run.waits_for(RunTool)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    invocation = run.take(RunTool).invocation
    assert (invocation.key, invocation.name, invocation.arguments) == (expected.id, "pay", {"a": 1})
    assert invocation.can_suspend


def test_an_approval_with_other_arguments_runs_those_and_says_so() -> None:
    """DC-02"""
    run = resumed(paused(), decision=replace(YES, arguments='{"a":2}'))
    tool = run.until(RunTool)
    assert tool.invocation.arguments == {"a": 2}
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("paid")))
    assert shown(run) == [ENGLISH.edited.format(arguments='{"a":2}') + "paid"]


@pytest.mark.parametrize(
    ("decision", "fields"),
    [
        (CallDecision(), {"status": CallStatus.REJECTED, "result": ENGLISH.rejected}),
        (
            CallDecision(reason="too much"),
            {"status": CallStatus.REJECTED, "result": ENGLISH.rejected_for.format(reason="too much")},
        ),
        (replace(YES, result="done by hand"), {"status": CallStatus.SUCCEEDED, "result": "done by hand"}),
        (CallDecision(result=""), {"status": CallStatus.SUCCEEDED, "result": ""}),
    ],
)
def test_a_decision_that_settles_a_call_starts_nothing(decision: CallDecision, fields: dict[str, Any]) -> None:
    """DC-03, DC-04 and DC-09"""
    before = paused()
    run = resumed(before, decision=decision)
    record = run.until(SaveCall).call
    assert record == replace(stored(before), decision=decision, rev=3, completed_at=run.now, **fields)
    assert not any(isinstance(effect, RunTool) for effect in run.asked)


@pytest.mark.parametrize(
    ("decision", "error"),
    [
        (replace(YES, digest="another"), ENGLISH.decision_void),
        (CallDecision(digest="another", result="by hand"), ENGLISH.decision_void),
        (replace(YES, arguments="[1]"), ENGLISH.edit_invalid.format(problem="expected a JSON object, got list")),
        (replace(YES, arguments='{"a":3}'), ENGLISH.edit_invalid.format(problem="a is odd")),
        (
            replace(YES, arguments='{"a":5}'),
            ENGLISH.edit_invalid.format(problem="they could not be checked: ValueError: five"),
        ),
    ],
)
def test_a_decision_that_does_not_fit_fails_the_call(decision: CallDecision, error: str) -> None:
    """Decisions 17 and 35"""

    def check(arguments: Any) -> str:
        if arguments["a"] == 5:
            raise ValueError("five")
        return "a is odd" if arguments["a"] % 2 else ""

    before = paused(functions=Functions(checks={"pay": check}))
    run = resumed(before, decision=decision)
    record = run.until(SaveCall).call
    assert record == replace(
        stored(before),
        decision=decision,
        rev=3,
        status=CallStatus.FAILED,
        error=error,
        started_at=run.now,
        completed_at=run.now,
    )


def test_only_arguments_that_were_changed_are_checked() -> None:
    """The model's own were checked before it was paused."""
    functions = Functions(checks={"pay": lambda arguments: "never" if arguments["a"] == 1 else ""})
    before = paused(functions=functions)
    assert resumed(before, decision=YES).until(SaveCall).call.status == CallStatus.RUNNING
    assert resumed(before, decision=replace(YES, arguments='{"a":2}')).until(SaveCall).call.status == CallStatus.RUNNING


def test_a_decision_on_the_digest_of_the_call_is_good() -> None:
    before = paused()
    run = resumed(before, decision=replace(YES, digest=stored(before).digest))
    assert run.until(SaveCall).call.status == CallStatus.RUNNING


@pytest.mark.parametrize(
    ("tools", "error"),
    [
        ((), ENGLISH.unknown_tool.format(name="pay")),
        ((ToolSpec(ToolDeclaration("pay"), completion=True),), ENGLISH.cannot_confirm.format(name="pay")),
    ],
)
def test_a_tool_that_is_gone_or_another_cannot_be_run(tools: tuple[ToolSpec, ...], error: str) -> None:
    before = paused()
    spec = replace(before.rules.spec, tools=tools)
    record = resumed(before, spec, decision=YES).until(SaveCall).call
    assert (record.status, record.error) == (CallStatus.FAILED, error)


@pytest.mark.parametrize(("late", "status"), [(-1, CallStatus.RUNNING), (0, CallStatus.REJECTED)])
def test_a_decision_counts_until_it_expires(late: int, status: str) -> None:
    """DC-12"""
    before = paused()
    end = before.now + 1 - late
    run = resumed(before, decision=replace(YES, expires_at=end))
    record = run.until(SaveCall).call
    assert record.status == status
    assert (record.result == ENGLISH.expired) is (status == CallStatus.REJECTED)


@pytest.mark.parametrize(("early", "waits"), [(1, True), (0, False)])
def test_a_call_that_nobody_decided_in_time_is_rejected(early: int, waits: bool) -> None:
    """DC-11"""
    before = paused(lasts=100)
    end = stored(before).expires_at
    assert end is not None
    before.now = end - 1 - early
    run = resumed(before)
    if waits:
        assert isinstance(run.to_the_end().outcome, Suspended)
        return
    record = run.until(SaveCall).call
    assert (record.status, record.result, record.completed_at) == (CallStatus.REJECTED, ENGLISH.expired, run.now)


def test_decisions_are_carried_out_one_after_another_in_call_order() -> None:
    """DC-08"""
    before = paused("pay", "look", "pay")
    one, _, two = left_by(before).calls
    run = resumed(before, decision=YES)
    first = run.until(RunTool)
    assert not run.waits_for(SaveCall)
    run.tell(ToolReturned(run.now, first.ticket, ToolResult("1")))
    second = run.until(RunTool)
    assert [first.invocation.key, second.invocation.key] == [one.id, two.id]
    run.tell(ToolReturned(run.now, second.ticket, ToolResult("2")))
    assert shown(run) == ["1", "look", "2"]


def test_a_run_with_a_call_that_still_waits_carries_nothing_out_before_it_is_decided() -> None:
    before = paused("pay", "pay")
    left = left_by(before)
    first, second = left.calls
    left = replace(left, calls=(first, replace(second, decision=YES)))
    run = resumed(before, resume=left)
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Suspended)
    assert first.id in outcome.waits_for
    assert not any(isinstance(effect, WatchFeed | SaveStep) for effect in run.asked)


def test_a_cancelled_run_gives_up_its_paused_calls() -> None:
    before = paused()
    run = resumed(before, decision=YES)
    run.until(SaveCall)
    cancelled = resumed(before, decision=YES)
    cancelled.tell(CancelAsked(cancelled.now))
    (record,) = cancelled.to_the_end().calls
    assert (record.status, record.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)


def test_a_cancelled_run_gives_up_a_decision_that_waits_its_turn() -> None:
    run = resumed(paused("pay", "pay"), decision=YES)
    tool = run.until(RunTool)
    run.tell(CancelAsked(run.now))
    assert run.take(CancelTool).ticket == tool.ticket
    run.tell(ToolCutOff(run.now, tool.ticket))
    assert [call.status for call in run.to_the_end().calls] == ["needs_review", "interrupted"]


# --- within one execution


def pausing(*names: str, lasts: int | None = None) -> tuple[ByHand, SaveCall]:
    """A run whose first call is about to be saved as paused."""
    run = ByHand(spec_of()).start()
    run.say(*calls(*names, arguments='{"a":1}'))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    run.tell(PolicyGiven(run.now, run.take(AskPolicy).ticket, CallPolicy(confirm=Confirm(None, lasts))))
    return run, run.take(SaveCall)


def test_a_pause_that_is_over_before_its_batch_is_does_not_suspend_the_run() -> None:
    run, write = pausing("pay", "look", lasts=10)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    tool = run.until(RunTool)
    run.now += 10
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("seen")))
    assert shown(run) == [ENGLISH.expired, "seen"]


def test_a_decision_that_is_there_when_the_pause_is_saved_is_carried_out_at_once() -> None:
    run, write = pausing("pay")
    run.tell(CallSaved(run.now, write.ticket, replace(write.call, decision=YES)))
    again = run.until(SaveCall)
    assert again.call == replace(
        write.call, decision=YES, status=CallStatus.RUNNING, rev=write.call.rev + 1, started_at=run.now
    )
    run.tell(CallSaved(run.now, again.ticket, again.call))
    tool = run.until(RunTool)
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("paid")))
    assert shown(run) == ["paid"]


def test_a_call_that_was_handed_over_is_not_given_up_with_its_run() -> None:
    before = paused("pay", "pay")
    first, second = left_by(before).calls
    taken = replace(first, handover=Handover.SUBMITTED, result="number 9")
    run = resumed(before, resume=replace(left_by(before), calls=(taken, second)))
    run.tell(CancelAsked(run.now))
    assert [call.status for call in run.to_the_end().calls] == ["awaiting_decision", "interrupted"]
