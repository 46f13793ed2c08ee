"""Outputs, one by one: the ids that calls go by, answers without a word, and refusals that nobody asked for."""

from typing import Any

import pytest
from turnfold.core.run import Extension, Limits, RunSpec
from turnfold.effects.journal import CallSaved, EndAttempt, JournalFailed, SaveCall, SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    CancelModel,
    DeltaKind,
    ModelBroke,
    ModelCutOff,
    ModelStreamed,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.question import AskGuard, CancelQuestion, QuestionCutOff
from turnfold.effects.tool import CancelTool, RunTool, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import ErrorKind, ModelError, StopReason, ToolDeclaration, ToolResultMessage, Usage
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls, spec_of, text

TEN = UsageReported(Usage(input=10))


def test_calls_without_an_id_of_their_own_are_told_apart() -> None:
    """The provider's ids may be missing or repeated; each result has to find its call."""
    run = ByHand(spec_of("echo", "other")).start()
    deltas = [
        (BlockStarted(place, DeltaKind.CALL, "", name), BlockDelta(place, "{}"))
        for place, name in enumerate(("echo", "other"))
    ]
    run.say(*deltas[0], *deltas[1], StreamFinished(StopReason.TOOL_USE))
    results = [one for one in run.until(CallModel).request.messages if isinstance(one, ToolResultMessage)]
    assert [one.content for one in results] == ["echo", "other"]
    assert all(one.call_id for one in results)
    assert len({one.call_id for one in results}) == 2


def test_an_answer_without_a_word_is_asked_for_once_more_and_then_fails_the_turn() -> None:
    """RT-16"""
    run = ByHand().start()
    run.say(TEN, StreamFinished())
    run.say(TEN, StreamFinished())
    result = run.to_the_end()
    assert result.outcome == Failed(FailureKind.EMPTY_RESPONSE, "the model said nothing, twice", 1)
    assert result.usage.total == 20
    assert len([effect for effect in run.asked if isinstance(effect, CallModel)]) == 2
    again = ByHand().start()
    again.say(StreamFinished())
    again.say(*text("hello"))
    assert again.to_the_end().outcome == Delivered("hello", 1)


def test_each_iteration_may_be_asked_for_twice() -> None:
    run = ByHand(spec_of("echo")).start()
    run.say(StreamFinished())
    run.say(*calls("echo"))
    run.say(StreamFinished())
    run.say(*text("hello"))
    assert run.to_the_end().outcome == Delivered("hello", 1)


@pytest.mark.parametrize(
    ("deltas", "outcome"),
    [
        (
            (StreamFinished(StopReason.LENGTH),),
            Failed(FailureKind.TRUNCATED, "the model reached its output limit before it said anything", 1),
        ),
        ((*text("No.")[:-1], StreamFinished(StopReason.REFUSAL)), Failed(FailureKind.REFUSED, "No.", 1)),
        ((StreamFinished(StopReason.REFUSAL),), Failed(FailureKind.REFUSED, "the model refused", 1)),
        ((*text(" long ")[:-1], StreamFinished(StopReason.LENGTH)), Delivered("long", 1, truncated=True)),
    ],
)
def test_how_an_output_ends_the_run(deltas: Any, outcome: Any) -> None:
    run = ByHand().start()
    run.say(*deltas)
    assert run.to_the_end().outcome == outcome


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (ModelCutOff, FailureKind.MODEL, "the model call was cut off"),
        (
            lambda at, ticket: ModelBroke(at, ticket, "no end"),
            FailureKind.CONTRACT_BREACH,
            "the model port broke its contract: no end",
        ),
    ],
)
def test_a_call_that_ends_without_an_output_fails_the_run_and_its_usage_counts(
    answer: Any, kind: FailureKind, told: str
) -> None:
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    run.tell(ModelStreamed(run.now, ticket, (TEN,)))
    run.tell(answer(run.now, ticket))
    result = run.to_the_end()
    assert isinstance(result.outcome, Failed)
    assert (result.outcome.kind, result.outcome.message) == (kind, told)
    assert result.usage.total == 10


def test_what_a_withdrawn_model_still_uses_counts_once() -> None:
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    run.tell(ModelStreamed(run.now, ticket, (UsageReported(Usage(input=4)),)))
    run.tell(CancelAsked(run.now))
    assert run.take(CancelModel).ticket == ticket
    run.tell(ModelStreamed(run.now, ticket, (TEN,)))
    run.tell(ModelStreamed(run.now, ticket, (BlockStarted(0, DeltaKind.TEXT),)))
    run.tell(ModelStreamed(run.now, ticket, (StreamFailed(ModelError(ErrorKind.ABORTED, "x")),)))
    assert run.to_the_end().usage.total == 10


def test_a_failure_of_the_journal_is_told_in_words_that_can_be_stored() -> None:
    run = ByHand(spec_of("echo")).start()
    run.say(*calls("echo"))
    run.tell(JournalFailed(run.now, run.take(SaveStep).ticket, "disk\ud800"))
    assert run.to_the_end().outcome == Failed(FailureKind.JOURNAL, "the journal failed: disk\ufffd", 1)
    assert not any(isinstance(effect, EndAttempt | SaveCall | RunTool) for effect in run.asked)


def test_a_journal_that_fails_withdraws_the_question_to_the_guard() -> None:
    run = ByHand(RunSpec("run", guarded=True, limits=Limits(lease_ms=3_000))).start()
    run.say(*text("hello"))
    asked = run.until(AskGuard)
    run.wake(run.now + 1_000)
    renewal = next(order for order in run.orders if type(order).__name__ == "RenewLease")
    run.orders.remove(renewal)
    run.tell(JournalFailed(run.now, renewal.ticket, "disk full"))
    assert run.take(CancelQuestion).ticket == asked.ticket
    run.tell(QuestionCutOff(run.now, asked.ticket))
    outcome = run.to_the_end().outcome
    assert outcome == Failed(FailureKind.JOURNAL, "the journal failed: disk full", 1)


def test_an_outcome_that_was_not_saved_is_none() -> None:
    """What is told is what is stored."""
    run = ByHand().start()
    run.say(*text("hello"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    step = run.until(SaveStep)
    assert step.step.outcome == Delivered("hello", 1)
    run.tell(JournalFailed(run.now, step.ticket, "disk full"))
    assert run.to_the_end().outcome == Failed(FailureKind.JOURNAL, "the journal failed: disk full", 1)


def test_an_outcome_that_was_saved_stands_although_the_lease_could_not_be_given_back() -> None:
    run = ByHand().start()
    run.say(*text("hello"))
    run.tell(JournalFailed(run.now, run.until(EndAttempt).ticket, "disk full"))
    assert run.to_the_end().outcome == Delivered("hello", 1)


def test_a_call_whose_outcome_was_not_saved_is_in_the_result_as_it_was_known() -> None:
    run = ByHand(spec_of("echo")).start()
    run.say(*calls("echo"))
    tool = run.until(RunTool)
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("done")))
    write = run.take(SaveCall)
    run.tell(JournalFailed(run.now, write.ticket, "disk full"))
    (record,) = run.to_the_end().calls
    assert (record.status, record.result, record.rev) == ("succeeded", "done", write.call.rev)


def test_an_extension_that_raises_over_a_refused_output_is_named() -> None:
    class Broken(Extension):
        name = "broken"

        def on_call(self, state: Any, outcome: Any) -> Any:
            raise ValueError("oh")

    tools = (ToolSpec(ToolDeclaration("finish"), completion=True),)
    run = ByHand(RunSpec("run", tools=tools), extensions=(Broken(),)).start()
    run.say(*calls("finish", "finish"))
    outcome = run.to_the_end().outcome
    assert outcome == Failed(FailureKind.EXTENSION, "the extension 'broken' failed in on_call: ValueError: oh", 1)


def test_a_host_that_settles_a_call_before_it_starts_is_believed() -> None:
    """Decision 37"""
    run = ByHand(spec_of("echo")).start()
    run.say(*calls("echo"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    write = run.take(SaveCall)
    settled = {"status": "succeeded", "result": "by hand"}
    run.tell(CallSaved(run.now, write.ticket, replace(write.call, **settled)))
    (result,) = [one for one in run.until(CallModel).request.messages if isinstance(one, ToolResultMessage)]
    assert result.content == "by hand"


def test_a_run_without_input_fails_and_saves_nothing() -> None:
    run = ByHand()
    run.messages = []
    assert run.start().to_the_end().outcome == Failed(FailureKind.FEED, "the run has no pending input", 0)
    assert not any(isinstance(effect, SaveStep | CallModel) for effect in run.asked)


def test_a_cancelled_run_writes_nothing_on_calls_that_are_settled() -> None:
    run = ByHand(spec_of("echo", "other")).start()
    run.say(*calls("echo", "other"))
    echo, other = run.until(RunTool), run.until(RunTool)
    run.tell(ToolReturned(run.now, echo.ticket, ToolResult("done")))
    write = run.take(SaveCall)
    run.tell(CallSaved(run.now, write.ticket, write.call))
    run.tell(CancelAsked(run.now))
    assert not run.waits_for(SaveCall)
    assert run.take(CancelTool).ticket == other.ticket
    run.tell(ToolReturned(run.now, other.ticket, ToolResult("late")))
    assert [record.result for record in run.to_the_end().calls] == ["done", "late"]


def test_a_run_that_fails_still_saves_its_outcome_once() -> None:
    run = ByHand().start()
    run.say(StreamFinished(StopReason.REFUSAL))
    outcome = run.to_the_end().outcome
    steps = [effect.step for effect in run.asked if isinstance(effect, SaveStep)]
    assert [step.outcome for step in steps] == [outcome]
    assert steps[0].logs == {}
