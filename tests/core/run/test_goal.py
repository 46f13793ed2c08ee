"""Structured ends, step by step: what is saved of them, what a wrong one costs, and what stands in for none."""

from typing import Any

import pytest
from turnfold.core.run import Functions, Limits, RunSpec
from turnfold.core.run.head import decode_head
from turnfold.core.text import ENGLISH
from turnfold.effects.journal import SaveStep, Step, StepSaved
from turnfold.effects.model import CallModel
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind
from turnfold.effects.record import CallCompletion, CallStatus, Completion, CompletionSource
from turnfold.effects.tool import Await, Complete, Detached, RunTool, ToolControlled, ToolFailed, ToolSpec
from turnfold.effects.transcript import ToolDeclaration, ToolResultMessage

from tests.core.run.byhand import ByHand, calls, text

FINISH, LOOK = ToolSpec(ToolDeclaration("finish"), completion=True), ToolSpec(ToolDeclaration("look"))
OTHER = ToolSpec(ToolDeclaration("abort"), completion=True)


def run_of(*, fallback: Any = None, **limits: int) -> ByHand:
    spec = RunSpec("run", tools=(FINISH, LOOK, OTHER), limits=Limits(**limits))
    return ByHand(spec, functions=Functions(fallback=fallback)).start()


def steps(run: ByHand) -> list[Step]:
    return [effect.step for effect in run.asked if isinstance(effect, SaveStep)]


def charges(run: ByHand) -> list[tuple[int, int]]:
    """What each step says of corrections: how many, and for which length of the log."""
    heads = [decode_head(step.state) for step in steps(run)]
    return [(head.corrections, head.charged) for head in heads]


def finish(run: ByHand, value: Any, fixed: bool = False) -> None:
    """The model finishes, and the tool says with what."""
    run.say(*calls("finish"))
    run.tell(ToolControlled(run.now, run.until(RunTool).ticket, Complete(value, fixed)))


def shown(run: ByHand) -> list[tuple[object, bool]]:
    messages = run.until(CallModel).request.messages
    return [(message.content, message.is_error) for message in messages if isinstance(message, ToolResultMessage)]


@pytest.mark.parametrize("fixed", [False, True])
def test_a_value_ends_the_run_and_is_saved_first(fixed: bool) -> None:
    """RT-15"""
    run = run_of()
    finish(run, {"v": 1}, fixed)
    result = run.to_the_end()
    (record,) = result.calls
    value = Completion(CompletionSource.TOOL, '{"v":1}', fixed, record.id)
    assert result.outcome == Completed(value, 1)
    assert (record.status, record.result) == (CallStatus.SUCCEEDED, '{"v":1}')
    assert record.completion == CallCompletion('{"v":1}', fixed)
    assert [step.completion for step in steps(run)] == [None, value, value]
    assert [step.outcome for step in steps(run)] == [None, None, Completed(value, 1)]
    assert charges(run) == [(0, 0)] * 3
    assert len([effect for effect in run.asked if isinstance(effect, CallModel)]) == 1


def test_a_completion_tool_that_gives_a_plain_result_goes_on() -> None:
    run = run_of()
    run.say(*calls("finish"))
    assert shown(run) == [("finish", False)]
    assert charges(run) == [(0, 0)]


def test_a_completion_that_fails_costs_a_correction_once() -> None:
    """RT-11"""
    run = run_of(corrections=2)
    run.say(*calls("finish"))
    run.tell(ToolFailed(run.now, run.until(RunTool).ticket, "v is missing"))
    assert shown(run) == [('{"error":"v is missing"}', True)]
    assert charges(run) == [(0, 0), (1, 2)]


def test_the_last_correction_used_the_next_wrong_end_is_let_pass_without_a_fallback() -> None:
    run = run_of(corrections=1)
    for _ in range(3):
        run.say(*calls("finish"))
        run.tell(ToolFailed(run.now, run.until(RunTool).ticket, "no"))
    run.say(*text("then in words"))
    assert run.to_the_end().outcome == Delivered("then in words", 1)
    assert charges(run)[:2] == [(0, 0), (1, 2)]
    assert {corrections for corrections, _ in charges(run)[1:-1]} == {1}


@pytest.mark.parametrize(
    ("names", "errors"),
    [
        (("finish", "abort"), [ENGLISH.batch_too_many.format(tools="abort, finish")] * 2),
        (("finish", "finish"), [ENGLISH.batch_too_many.format(tools="abort, finish")] * 2),
        (("look", "finish"), [ENGLISH.batch_mixed.format(tools="abort, finish")] * 2),
    ],
)
def test_a_completion_stands_alone_or_nothing_of_its_output_runs(names: tuple[str, ...], errors: list[str]) -> None:
    """Decision 3: the failed records and the charge are saved with the output itself."""
    run = run_of()
    run.now += 3
    run.say(*calls(*names))
    (step,) = steps(run)
    assert [record.error for record in step.changes.calls] == errors
    told = [(record.status, record.rev, record.started_at, record.completed_at) for record in step.changes.calls]
    assert told == [(CallStatus.FAILED, 1, run.now, run.now)] * 2
    assert charges(run) == [(1, 2)]
    assert [is_error for _, is_error in shown(run)] == [True, True]
    assert not any(isinstance(effect, RunTool) for effect in run.asked)
    assert len(steps(run)) == 1


def test_in_the_last_iteration_only_completion_tools_are_on_offer() -> None:
    """N-02 and decision 13"""
    run = run_of(iterations=2)
    run.say(*calls("look"))
    request = run.until(CallModel).request
    assert [tool.name for tool in request.tools] == ["finish", "abort"]
    assert request.notice == ENGLISH.final_notice_completion.format(tools="abort, finish")
    first = next(effect for effect in run.asked if isinstance(effect, CallModel))
    assert [tool.name for tool in first.request.tools] == ["finish", "look", "abort"]
    assert first.request.notice == ""


def test_a_tool_that_is_not_on_offer_any_more_fails_the_run() -> None:
    run = run_of(iterations=2)
    run.say(*calls("look"))
    run.say(*calls("look", "look"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    outcome = run.to_the_end().outcome
    text = "the turn reached its limit of 2 iterations, and its last output is no answer"
    assert outcome == Failed(FailureKind.TOOL_LIMIT, text, boundary=1)
    assert [record.error for record in run.to_the_end().calls[1:]] == [ENGLISH.not_offered.format(name="look")] * 2


@pytest.mark.parametrize(
    ("limits", "outputs", "reason"),
    [
        ({"corrections": 0}, [("finish", "look")], "corrections_exhausted"),
        ({"corrections": 1}, [("finish", "look")] * 2, "corrections_exhausted"),
        ({"iterations": 2}, [("look",), ("look",)], "budget_exhausted"),
        ({"iterations": 1, "corrections": 0}, [("finish", "look")], "budget_exhausted"),
    ],
)
def test_a_fallback_ends_a_run_that_cannot_end_otherwise(
    limits: dict[str, int], outputs: list[tuple[str, ...]], reason: str
) -> None:
    """RT-12 and N-03"""
    run = run_of(fallback=lambda why: {"why": why}, **limits)
    for names in outputs:
        run.say(*calls(*names))
    value = Completion(CompletionSource.FALLBACK, f'{{"why":"{reason}"}}', fixed=True, reason=reason)
    assert run.to_the_end().outcome == Completed(value, 1)
    assert steps(run)[-1].completion == value


def broken(why: str) -> Any:
    raise ValueError("nothing left")


@pytest.mark.parametrize(
    ("fallback", "told"),
    [
        (broken, "the fallback for corrections_exhausted failed: ValueError: nothing left"),
        (lambda why: object(), "the fallback value cannot be written as JSON: "),
    ],
)
def test_a_fallback_that_fails_fails_the_run(fallback: Any, told: str) -> None:
    run = run_of(fallback=fallback, corrections=0)
    run.say(*calls("finish", "look"))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.EXTENSION
    assert outcome.message.startswith(told)


@pytest.mark.parametrize(
    ("control", "error"),
    [
        (Await(1), ENGLISH.cannot_await),
        (Detached("on its way"), ENGLISH.cannot_detach),
        (Complete(object()), ENGLISH.not_json.format(name="finish", problem="")),
    ],
)
def test_a_completion_can_be_nothing_else(control: Any, error: str) -> None:
    """Decision 18"""
    run = run_of()
    run.say(*calls("finish"))
    run.tell(ToolControlled(run.now, run.until(RunTool).ticket, control))
    (record,) = [live.record for live in run.state.batch.live.values()]
    assert record.status == CallStatus.FAILED
    assert (record.error or "").startswith(error)
    run.until(CallModel)
    assert charges(run)[-1] == (1, 2)


def test_another_tool_cannot_end_the_run() -> None:
    run = run_of()
    run.say(*calls("look"))
    run.tell(ToolControlled(run.now, run.until(RunTool).ticket, Complete(1)))
    assert shown(run) == [(f'{{"error":"{ENGLISH.cannot_complete.format(name="look")}"}}', True)]
    assert charges(run) == [(0, 0)]
