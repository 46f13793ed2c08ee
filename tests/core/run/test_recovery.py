"""Going on from what is stored, where another execution died: to the last entry and the last record."""

from typing import Any

import pytest
from turnfold.core.run import Extension, Functions, Limits, RunSpec
from turnfold.core.run.head import decode_head, encode_head
from turnfold.core.run.stored import spent_by
from turnfold.effects.feed import InputMessage, WatchFeed
from turnfold.effects.journal import (
    AttemptBegun,
    BeginAttempt,
    Begun,
    CallSaved,
    EndAttempt,
    JournalFailed,
    Resume,
    SaveCall,
    SaveStep,
    Step,
)
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import CallModel, Started, StreamFailed, StreamFinished, UsageReported
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind
from turnfold.effects.question import AskGuard, Correct, Verdict, VerdictGiven
from turnfold.effects.record import CallStatus, Completion, CompletionSource, PlanTask
from turnfold.effects.spending import Spending
from turnfold.effects.tool import Complete, RunTool, ToolControlled, ToolSpec
from turnfold.effects.transcript import (
    ErrorKind,
    ModelError,
    StopReason,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
    text_of,
)
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls, text
from tests.core.run.resumed import left_by, resumed

LOOK, FINISH = ToolSpec(ToolDeclaration("look")), ToolSpec(ToolDeclaration("finish"), completion=True)
SPEC = RunSpec("run", tools=(LOOK, FINISH))
GONE = StreamFailed(ModelError(ErrorKind.ABORTED, "no"))


def steps(run: ByHand) -> list[Step]:
    return [effect.step for effect in run.asked if isinstance(effect, SaveStep)]


def heard(run: ByHand) -> list[object]:
    messages = run.until(CallModel).request.messages
    return [one.content if isinstance(one, UserMessage | ToolResultMessage) else text_of(one) for one in messages]


def delivered(words: str = "hello", **more: Any) -> ByHand:
    run = ByHand(SPEC, **more).start()
    run.say(*text(words))
    run.to_the_end()
    return run


def completed(fixed: bool = False) -> ByHand:
    run = ByHand(SPEC).start()
    run.say(*calls("finish"))
    run.tell(ToolControlled(run.now, run.until(RunTool).ticket, Complete(1, fixed)))
    run.to_the_end()
    return run


def test_what_was_delivered_is_delivered_again_without_a_word() -> None:
    """RT-03"""
    run = resumed(delivered())
    result = run.to_the_end()
    assert result.outcome == Delivered("hello", 1)
    assert steps(run) == []
    assert not any(isinstance(effect, CallModel) for effect in run.asked)


@pytest.mark.parametrize("fixed", [False, True])
def test_a_failure_since_binds_nobody(fixed: bool) -> None:
    """Decision 41"""
    failed = Failed(FailureKind.MODEL, "no", 1)
    words = delivered(" hello ")
    assert resumed(words, resume=replace(left_by(words), outcome=failed)).to_the_end().outcome == Delivered("hello", 1)
    value = completed(fixed)
    outcome = resumed(value, resume=replace(left_by(value), outcome=failed)).to_the_end().outcome
    assert isinstance(outcome, Completed)
    assert (outcome.completion.value, outcome.completion.fixed, outcome.boundary) == ("1", fixed, 1)


def test_limits_of_a_run_count_from_its_last_answer() -> None:
    first = delivered()
    head = decode_head(left_by(first).state or b"")
    assert (head.turns, head.delivered) == (1, True)
    first.messages.append(InputMessage("more", "m2"))
    run = resumed(first, replace(SPEC, limits=Limits(turns=1)))
    assert heard(run) == ["hi", "hello", "more"]


@pytest.mark.parametrize("limits", [Limits(tokens=150), Limits(cost=1.5)])
def test_what_was_used_before_the_last_answer_is_free(limits: Limits) -> None:
    functions = Functions(cost=lambda provider, model, usage: usage.total / 100)
    first = ByHand(replace(SPEC, limits=limits), functions=functions).start()
    first.say(UsageReported(Usage(100)), *text("hello"))
    assert first.to_the_end().outcome == Delivered("hello", 1)
    first.messages.append(InputMessage("more", "m2"))
    run = resumed(first)
    run.say(UsageReported(Usage(100)), *text("again"))
    assert run.to_the_end().outcome == Delivered("again", 2)


def test_what_was_used_for_a_value_is_free_too() -> None:
    first = ByHand(replace(SPEC, limits=Limits(tokens=150))).start()
    first.say(UsageReported(Usage(100)), *calls("finish"))
    first.tell(ToolControlled(first.now, first.until(RunTool).ticket, Complete(1)))
    assert isinstance(first.to_the_end().outcome, Completed)
    first.messages.append(InputMessage("more", "m2"))
    run = resumed(first)
    run.say(UsageReported(Usage(100)), *calls("look"))
    run.say(*text("again"))
    assert run.to_the_end().outcome == Delivered("again", 2)


def test_what_was_used_is_told_apart_by_model_over_executions() -> None:
    """Decision 26: so that what came since the last answer can be priced."""
    prices = {"small": 0.01, "large": 1.0}
    functions = Functions(cost=lambda provider, model, usage: prices[model] * usage.total)
    first = ByHand(replace(SPEC, limits=Limits(cost=200.0)), functions=functions).start()
    first.say(Started(model="large"), UsageReported(Usage(100)), *text("hello"))
    first.to_the_end()
    first.messages.append(InputMessage("more", "m2"))
    run = resumed(first)
    run.say(Started(model="small"), UsageReported(Usage(7)), *calls("look"))
    run.until(RunTool)
    last = resumed(run, resume=left_by(run, before=left_by(first)))
    last.say(Started(model="large"), UsageReported(Usage(199)), *calls("look"))
    last.say(Started(model="small"), UsageReported(Usage(1)), *text("again"))
    result = last.to_the_end()
    assert result.outcome == Delivered("again", 2)
    assert {row.model: row.usage.total for row in result.spending.rows} == {"large": 299, "small": 8}
    stored = left_by(last, before=left_by(run, before=left_by(first)))
    assert spent_by(stored) == result.spending
    assert spent_by(Resume()) == Spending()


def test_a_turn_of_another_execution_counts() -> None:
    first = ByHand(SPEC).start()
    first.say(*calls("look"))
    first.until(RunTool)
    first.messages.append(InputMessage("more", "m2"))
    run = resumed(first, replace(SPEC, limits=Limits(turns=1)))
    outcome = run.to_the_end().outcome
    assert outcome == Failed(FailureKind.TURN_LIMIT, "the run reached its limit of 1 turns", 1)


def test_what_was_rejected_in_an_earlier_turn_is_passed_over() -> None:
    first = ByHand(replace(SPEC, guarded=True)).start()
    first.say(*text("one"))
    first.tell(VerdictGiven(first.now, first.until(AskGuard).ticket, Verdict(Correct("kinder"))))
    first.say(*text("two"))
    first.tell(VerdictGiven(first.now, first.until(AskGuard).ticket, Verdict()))
    first.to_the_end()
    first.messages.append(InputMessage("more", "m2"))
    second = resumed(first)
    second.say(*calls("look"))
    second.until(RunTool)
    run = resumed(second, resume=left_by(second, before=left_by(first)))
    assert heard(run)[:3] == ["hi", "two", "more"]
    assert len(run.state.loop.context) == 5


@pytest.mark.parametrize(
    "spoilt",
    [
        {"state": b"{}"},
        {"state": None},
        {"logs": {"main": (b"[",)}},
        {"logs": {"main": (b'["results",[],[]]',)}},
        {"logs": {"main": (b'["output",[],[]]',)}},
        {"logs": {"main": (), "seen": (b"\xff",)}},
        {"calls": ()},
        {"blocks": ()},
    ],
)
def test_a_checkpoint_that_cannot_be_read_fails_the_run_and_stays(spoilt: dict[str, Any]) -> None:
    """N-21"""
    first = ByHand(SPEC).start()
    first.say(*calls("look"))
    first.until(RunTool)
    run = resumed(first, resume=replace(left_by(first), **spoilt))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CHECKPOINT
    assert outcome.message.startswith("the checkpoint of run 'run' cannot be resumed: ")
    assert steps(run) == []


def test_a_checkpoint_that_cannot_be_read_stays_although_the_run_was_cancelled() -> None:
    first = delivered()
    spoilt = replace(left_by(first), state=b"{}")
    run = ByHand(SPEC, resume=spoilt).start()
    begin = run.take(BeginAttempt)
    run.tell(CancelAsked(run.now))
    run.tell(AttemptBegun(run.now, begin.ticket, Begun(2, spoilt)))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CHECKPOINT
    assert steps(run) == []


def test_what_was_delivered_before_stands_although_the_lease_cannot_be_given_back() -> None:
    """Decision 2: it is saved already."""
    run = resumed(delivered())
    run.tell(JournalFailed(run.now, run.until(EndAttempt).ticket, "disk full"))
    assert run.to_the_end().outcome == Delivered("hello", 1)


def test_what_a_run_shows_and_has_used_goes_on() -> None:
    plan = (PlanTask("1", "think"),)
    first = delivered()
    result = resumed(first, resume=replace(left_by(first), plan=plan)).to_the_end()
    assert (result.plan, result.blocks) == (plan, left_by(first).blocks)


def test_a_set_up_is_saved_with_the_first_step_and_where_it_changed() -> None:
    """Decision 35"""
    first = ByHand(SPEC).start()
    first.say(*calls("look"))
    first.say(*text("hello"))
    result = first.to_the_end()
    assert [set(step.values) for step in steps(first)] == [{"agent"}, set(), set()]
    assert result.changed == ()
    first.messages.append(InputMessage("more", "m2"))
    same = resumed(first)
    same.say(*text("again"))
    assert same.to_the_end().changed == ()
    assert [set(step.values) for step in steps(same)] == [set(), set()]
    other = resumed(first, replace(SPEC, instruction="Be brief.", tools=(LOOK,)))
    other.say(*text("again"))
    assert other.to_the_end().changed == ("instruction", "tool finish")
    assert [step.values for step in steps(other)] == [{"agent": other.rules.agent}, {}]


@pytest.mark.parametrize(
    ("traits", "status"),
    [
        ({}, "interrupted"),
        ({"side_effects": True}, "needs_review"),
        ({"side_effects": True, "replayable": True}, "interrupted"),
    ],
)
def test_a_call_that_was_cut_off_is_settled_by_what_it_is(traits: dict[str, bool], status: str) -> None:
    """HO-05"""
    spec = RunSpec("run", tools=(replace(LOOK, **traits),))
    first = ByHand(spec).start()
    first.say(*calls("look", "look"))
    first.until(RunTool)
    record = left_by(first).calls[0]
    run = resumed(first)
    found = [run.until(SaveCall), run.until(SaveCall)][0]
    assert found.call.status == status
    assert (found.call.rev, found.call.completed_at) == (record.rev + 1, run.now)
    assert not any(isinstance(effect, WatchFeed) for effect in run.asked)


@pytest.mark.parametrize(("replayable", "void"), [(False, False), (True, True)])
def test_a_completion_of_which_nothing_came_never_was(replayable: bool, void: bool) -> None:
    """N-09: unless it may have done something that cannot be repeated."""
    spec = RunSpec("run", tools=(replace(FINISH, side_effects=True, replayable=replayable),))
    first = ByHand(spec).start()
    first.say(*calls("finish"))
    first.until(RunTool)
    run = resumed(first)
    if not void:
        assert run.until(SaveCall).call.status == CallStatus.NEEDS_REVIEW
        return
    assert heard(run) == ["hi"]
    run.orders.append(next(effect for effect in run.asked if isinstance(effect, CallModel)))
    run.say(*text("hello"))
    assert run.to_the_end().outcome == Delivered("hello", 1)
    left = left_by(run, before=left_by(first))
    assert left.calls == ()
    assert [block.text for block in left.blocks] == []
    assert [entry.split(b'"')[1] for entry in left.logs["main"]] == [b"input", b"voided", b"output"]


def test_a_run_that_died_before_it_gave_its_value_gives_it() -> None:
    first = ByHand(SPEC).start()
    first.say(*calls("finish"))
    first.tell(ToolControlled(first.now, first.until(RunTool).ticket, Complete(1)))
    write = first.take(SaveCall)
    first.tell(CallSaved(first.now, write.ticket, write.call))
    first.until(SaveStep)
    first.orders.append(next(effect for effect in reversed(first.asked) if isinstance(effect, SaveStep)))
    run = resumed(first, resume=left_by(first))
    value = Completion(CompletionSource.TOOL, "1", call_id=write.call.id)
    assert run.to_the_end().outcome == Completed(value, 1)
    saved = resumed(first, resume=replace(left_by(first), completion=value))
    assert saved.to_the_end().outcome == Completed(value, 1)
    assert [step.outcome for step in steps(saved)] == [Completed(value, 1)]


@pytest.mark.parametrize("fixed", [False, True])
def test_a_value_that_was_not_given_yet_gives_way_to_newer_input_unless_it_is_fixed(fixed: bool) -> None:
    """RT-15 and RT-23, whoever goes on with the run."""
    first = ByHand(SPEC).start()
    first.say(*calls("finish"))
    first.tell(ToolControlled(first.now, first.until(RunTool).ticket, Complete(1, fixed)))
    first.until(EndAttempt)
    step = next(effect for effect in reversed(first.asked) if isinstance(effect, SaveStep))
    left = left_by(first, lost=(step,))
    assert left.outcome is None
    first.messages.append(InputMessage("wait", "m2"))
    run = resumed(first, resume=left)
    if not fixed:
        assert heard(run) == ["hi", "wait"]
        return
    outcome = run.to_the_end().outcome
    assert outcome == Completed(Completion(CompletionSource.TOOL, "1", True, left.calls[0].id), 1)
    assert [step.outcome for step in steps(run)] == [outcome]


def test_a_fixed_value_that_was_given_is_not_saved_again() -> None:
    first = completed(fixed=True)
    first.messages.append(InputMessage("wait", "m2"))
    run = resumed(first)
    assert run.to_the_end().outcome == left_by(first).outcome
    assert steps(run) == []
    assert not any(isinstance(effect, WatchFeed) for effect in run.asked)


def test_a_store_that_says_that_a_completion_failed_is_believed() -> None:
    """Decision 37"""
    run = ByHand(SPEC).start()
    run.say(*calls("finish"))
    run.tell(ToolControlled(run.now, run.until(RunTool).ticket, Complete(1)))
    write = run.take(SaveCall)
    run.tell(CallSaved(run.now, write.ticket, replace(write.call, status=CallStatus.FAILED, error="no")))
    run.until(CallModel)
    assert decode_head(steps(run)[-1].state).corrections == 1
    assert steps(run)[-1].completion is None


def test_input_of_two_turns_is_known_with_the_output_that_they_led_to() -> None:
    run = ByHand(SPEC).start()
    run.say(StreamFinished())
    run.say(StreamFinished())
    run.messages.append(InputMessage("more", "m2"))
    run.say(*text("hello"))
    (seen,) = [step.logs["seen"] for step in steps(run) if "seen" in step.logs]
    assert (seen.keep, seen.append) == (0, tuple(message.key.encode() for message in run.messages))


def test_a_cancelled_run_is_settled_without_its_extensions() -> None:
    """Decision 40"""

    class Broken(Extension):
        name = "broken"

        def decode(self, raw: bytes) -> Any:
            raise ValueError

    first = delivered()
    run = ByHand(SPEC, resume=left_by(first), extensions=(Broken(),)).start()
    begin = run.take(BeginAttempt)
    run.tell(CancelAsked(run.now, "enough"))
    run.tell(AttemptBegun(run.now, begin.ticket, Begun(2, left_by(first))))
    assert run.to_the_end().outcome == Failed(FailureKind.CANCELLED, "the run was cancelled: enough", 1)


def test_a_run_that_took_too_long_before_takes_no_time_at_all() -> None:
    first = ByHand(SPEC).start()
    first.say(*calls("look"))
    first.until(RunTool)
    left = left_by(first)
    head = replace(decode_head(left.state or b""), spent_ms=9_000_000)
    spec = replace(SPEC, limits=Limits(run_ms=5_000))
    run = resumed(first, spec, resume=replace(left, state=encode_head(head)))
    assert run.to_the_end().outcome == Failed(FailureKind.DEADLINE, "the run took longer than 5 s", 1)


def test_a_run_without_a_stored_step_begins_anew() -> None:
    run = ByHand(SPEC, resume=Resume()).start()
    assert heard(run) == ["hi"]
    assert steps(run) == []


def test_an_output_cut_off_at_its_limit_runs_nothing_after_a_crash_either() -> None:
    first = ByHand(SPEC).start()
    first.say(*calls("look")[:-1], StreamFinished(StopReason.LENGTH))
    write = first.until(SaveCall)
    run = resumed(first, resume=left_by(first, lost=(write,)))
    record = run.until(SaveCall).call
    assert record.status == CallStatus.INTERRUPTED
    assert not any(isinstance(effect, RunTool) for effect in run.asked)
