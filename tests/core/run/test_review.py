"""The guard's verdict, step by step: what is saved of it, what the model is told, and for how long."""

from collections.abc import Mapping
from typing import Any

import pytest
from turnfold.core.run import Functions, Limits, RunSpec
from turnfold.core.run.head import decode_head
from turnfold.effects.feed import InputMessage
from turnfold.effects.journal import JournalFailed, RenewLease, SaveStep, Step
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import CallModel, StreamFinished
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind
from turnfold.effects.question import (
    Accept,
    AskGuard,
    CancelQuestion,
    Correct,
    Finish,
    QuestionCutOff,
    QuestionFailed,
    TurnView,
    Verdict,
    VerdictGiven,
)
from turnfold.effects.record import Completion, CompletionSource, Standing
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import StopReason, ToolDeclaration, UserMessage, text_of
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls, text
from tests.core.run.resumed import left_by, resumed


def guarded(*, fallback: Any = None, **limits: int) -> ByHand:
    spec = RunSpec("run", tools=(ToolSpec(ToolDeclaration("look")),), limits=Limits(**limits), guarded=True)
    return ByHand(spec, functions=Functions(fallback=fallback)).start()


def rule(run: ByHand, ruling: Any, notes: Mapping[str, Mapping[str, str]] | None = None) -> TurnView:
    """The guard's answer to what it is asked next; what it was shown."""
    asked = run.until(AskGuard)
    run.now += 1
    run.tell(VerdictGiven(run.now, asked.ticket, Verdict(ruling, notes or {})))
    return asked.view


def steps(run: ByHand) -> list[Step]:
    return [effect.step for effect in run.asked if isinstance(effect, SaveStep)]


def heard(run: ByHand) -> list[object]:
    """What the model is asked next, as texts."""
    messages = run.until(CallModel).request.messages
    return [one.content if isinstance(one, UserMessage) else text_of(one) for one in messages]  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [False, True])
def test_a_text_that_was_cut_off_says_so_to_the_guard_and_at_the_end(cut: bool) -> None:
    """Also after a crash: the stored output tells."""
    stop = StopReason.LENGTH if cut else StopReason.STOP
    first = guarded()
    first.say(*text("once upon")[:-1], StreamFinished(stop))
    first.until(AskGuard)
    run = resumed(first)
    assert rule(run, Accept()).truncated is cut
    assert run.to_the_end().outcome == Delivered("once upon", 1, cut)
    lost = resumed(run, resume=replace(left_by(run, before=left_by(first)), outcome=Failed(FailureKind.MODEL, "no")))
    assert lost.to_the_end().outcome == Delivered("once upon", 1, cut)


def test_a_guard_is_shown_the_turn_as_it_is() -> None:
    run = guarded(corrections=3, iterations=4)
    run.say(*calls("look"))
    run.say(*text(" seen "))
    view = rule(run, Accept())
    assert view.messages == (run.messages[0],)
    assert (view.text, view.superseded, view.budget_spent, view.corrections_left) == ("seen", False, False, 3)
    assert [record.name for record in view.calls] == ["look"]
    last = [effect for effect in run.asked if isinstance(effect, CallModel)][-1].request
    assert list(view.input.messages) == list(last.messages)
    assert replace(view.input, context=last.context) == last
    assert run.to_the_end().outcome == Delivered("seen", 1)


def test_rejected_texts_are_seen_in_their_turn_and_by_nobody_after_it() -> None:
    """RT-13, twice in one turn: in the next nothing of them is left."""
    run = guarded(corrections=2)
    run.say(*text("one"))
    rule(run, Correct("kinder\ud800"))
    assert heard(run) == ["hi", "one", "kinder\ufffd"]
    run.orders.append(_again(run))
    run.say(*text("two"))
    assert rule(run, Correct("shorter")).corrections_left == 1
    assert heard(run) == ["hi", "one", "kinder\ufffd", "two", "shorter"]
    run.orders.append(_again(run))
    run.say(*text("three"))
    run.messages.append(InputMessage("more", "m2"))
    assert rule(run, Accept()).corrections_left == 0
    run.wake(run.now + 10_000)
    assert heard(run) == ["hi", "three", "more"]
    assert [(block.text, block.standing) for block in run.state.process.blocks] == [
        ("one", Standing.REJECTED),
        ("two", Standing.REJECTED),
        ("three", Standing.SUPERSEDED),
    ]


def _again(run: ByHand) -> CallModel:
    return next(effect for effect in reversed(run.asked) if isinstance(effect, CallModel))


def test_a_correction_is_saved_with_its_charge_before_the_model_is_asked_again() -> None:
    """Decision 3"""
    run = guarded(corrections=2)
    run.say(*text("one"))
    rule(run, Correct("kinder"))
    run.until(CallModel)
    heads = [decode_head(step.state) for step in steps(run)]
    assert [(head.corrections, head.charged) for head in heads] == [(0, 0), (1, 2)]
    (entry,) = steps(run)[1].logs["main"].append
    assert entry.startswith(b'["rejected",[')
    assert steps(run)[1].logs["main"].keep == 2


def test_a_turn_of_rejections_goes_on_where_it_was_after_a_crash() -> None:
    first = guarded(corrections=3)
    for words in ("one", "two"):
        first.say(*text(words))
        rule(first, Correct(f"not {words}"))
    first.until(CallModel)
    run = resumed(first)
    assert heard(run) == ["hi", "one", "not one", "two", "not two"]
    run.orders.append(_again(run))
    run.say(*text("three"))
    assert rule(run, Accept()).corrections_left == 1
    assert run.to_the_end().outcome == Delivered("three", 1)


def test_notes_go_on_the_records_they_name_and_on_no_other() -> None:
    """N-06"""
    run = guarded()
    run.say(*calls("look", "look", "look"))
    run.say(*text("seen"))
    asked = run.until(AskGuard)
    one, two, three = asked.view.calls
    verdict = Verdict(Accept(), {one.id: {"good": "yes"}, three.id: {}, "nobody": {"no": "no"}})
    run.tell(VerdictGiven(run.now, asked.ticket, verdict))
    result = run.to_the_end()
    assert result.calls == (replace(one, rev=one.rev + 1, notes={"good": "yes"}), two, three)
    noted = [record for step in steps(run)[1:] for record in step.changes.calls]
    assert noted == [result.calls[0]]


def test_a_verdict_with_no_notes_to_put_anywhere_writes_no_record() -> None:
    run = guarded()
    run.say(*calls("look"))
    run.say(*text("seen"))
    rule(run, Accept(), {"nobody": {"no": "no"}})
    run.to_the_end()
    assert [record for step in steps(run)[1:] for record in step.changes.calls] == []


@pytest.mark.parametrize("fixed", [False, True])
def test_a_guard_may_end_the_run_with_a_value(fixed: bool) -> None:
    run = guarded()
    run.say(*text("one"))
    rule(run, Finish({"v": 1}, fixed))
    value = Completion(CompletionSource.GUARD, '{"v":1}', fixed)
    assert run.to_the_end().outcome == Completed(value, 1)
    assert [step.completion for step in steps(run)] == [None, value, value]
    assert [(block.text, block.standing) for block in run.state.process.blocks] == [("one", Standing.REJECTED)]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda at, ticket: QuestionFailed(at, ticket, "out of ideas"), "the guard failed: out of ideas"),
        (QuestionCutOff, "the guard was cut off"),
        (
            lambda at, ticket: VerdictGiven(at, ticket, Verdict(Finish(object()))),
            "the guard gave a value that cannot be written as JSON: ",
        ),
    ],
)
def test_a_guard_that_fails_fails_the_run(answer: Any, told: str) -> None:
    run = guarded()
    run.say(*text("one"))
    run.tell(answer(run.now, run.until(AskGuard).ticket))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.EXTENSION
    assert outcome.message.startswith(told)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"corrections": 0}, "guard_rejected"),
        ({"iterations": 1}, "budget_exhausted"),
        ({"iterations": 1, "corrections": 0}, "budget_exhausted"),
    ],
)
def test_without_a_correction_left_the_fallback_ends_the_run_or_it_fails(limits: dict[str, int], reason: str) -> None:
    """RT-14"""
    run = guarded(fallback=lambda why: why, **limits)
    run.say(*text("one"))
    rule(run, Correct("kinder"))
    value = Completion(CompletionSource.FALLBACK, f'"{reason}"', fixed=True, reason=reason)
    assert run.to_the_end().outcome == Completed(value, 1)
    failing = guarded(**limits)
    failing.say(*text("one"))
    rule(failing, Correct("kinder"))
    text_ = "the guard rejected the text, and no correction was left"
    assert failing.to_the_end().outcome == Failed(FailureKind.GUARD_REJECTED, text_, 1)
    assert [block.standing for block in failing.state.process.blocks] == [Standing.REJECTED]


def test_a_fallback_that_fails_in_place_of_a_rejected_text_fails_the_run() -> None:
    run = guarded(fallback=lambda why: object(), corrections=0)
    run.say(*text("one"))
    rule(run, Correct("kinder"))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.EXTENSION


@pytest.mark.parametrize("broken", [False, True])
def test_a_run_that_ends_while_its_guard_thinks_withdraws_the_question(broken: bool) -> None:
    run = guarded(lease_ms=900)
    run.say(*text("one"))
    asked = run.until(AskGuard)
    if broken:
        run.wake(run.wake_at)
        run.tell(JournalFailed(run.now, run.take(RenewLease).ticket, "disk full"))
    else:
        run.tell(CancelAsked(run.now))
    assert run.take(CancelQuestion).ticket == asked.ticket
    run.tell(VerdictGiven(run.now, asked.ticket, Verdict()))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is (FailureKind.JOURNAL if broken else FailureKind.CANCELLED)
    assert not run.waits_for(CancelQuestion)


def test_a_run_that_has_used_more_corrections_than_it_may_now_has_none_left() -> None:
    first = guarded(corrections=2)
    for words in ("one", "two"):
        first.say(*text(words))
        rule(first, Correct(f"not {words}"))
    first.until(CallModel)
    run = resumed(first, replace(first.rules.spec, limits=Limits(corrections=1)))
    run.say(*text("three"))
    assert rule(run, Correct("no")).corrections_left == 0
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.GUARD_REJECTED


def test_a_turn_that_has_taken_more_iterations_than_it_may_now_is_in_its_last() -> None:
    first = guarded(iterations=5)
    for _ in range(3):
        first.say(*calls("look"))
    first.until(CallModel)
    run = resumed(first, replace(first.rules.spec, limits=Limits(iterations=2)))
    request = run.until(CallModel).request
    assert request.tools == ()
    assert request.notice
