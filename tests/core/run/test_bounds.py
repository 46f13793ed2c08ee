"""What a run may use and how long it may take: to the last token, cent and millisecond."""

from typing import Any

import pytest
from turnfold.core.run import Ended, Functions, Limits, RunSpec
from turnfold.core.text import ENGLISH
from turnfold.effects.feed import WatchFeed
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    CancelModel,
    DeltaKind,
    ModelCutOff,
    ModelStreamed,
    Started,
    StreamFailed,
    UsageReported,
)
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.tool import CancelTool, RunTool, ToolCutOff, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import ErrorKind, ModelError, Spent, ToolDeclaration, Usage

from tests.core.run.byhand import ByHand, calls, text

USED = UsageReported(Usage(input=60, output=40))


def run_of(*, price: Any = None, timeout_ms: int = 0, **limits: Any) -> ByHand:
    tools = (ToolSpec(ToolDeclaration("look"), timeout_ms=timeout_ms), ToolSpec(ToolDeclaration("wait")))
    return ByHand(RunSpec("run", tools=tools, limits=Limits(**limits)), functions=Functions(cost=price)).start()


def ends(run: ByHand) -> Any:
    """How a run ends whose model uses a hundred tokens for each of its two outputs."""
    run.say(USED, *calls("look"))
    while not (run.waits_for(CallModel) or isinstance(run.state.life, Ended)):
        run.answer_one()
    if run.waits_for(CallModel):
        run.say(USED, *text("hello"))
    return run.to_the_end().outcome


@pytest.mark.parametrize(("tokens", "enough"), [(0, True), (101, True), (100, False), (1, False)])
def test_the_model_is_asked_while_tokens_are_left(tokens: int, enough: bool) -> None:
    failed = Failed(FailureKind.BUDGET, f"the run used its {tokens} tokens", 1)
    assert ends(run_of(tokens=tokens)) == (Delivered("hello", 1) if enough else failed)


@pytest.mark.parametrize(("limit", "enough"), [(0, True), (1.01, True), (1.0, False), (0.5, False)])
def test_the_model_is_asked_while_money_is_left(limit: float, enough: bool) -> None:
    failed = Failed(FailureKind.BUDGET, f"the run cost 1 and may cost {limit:g}", 1)
    run = run_of(price=lambda provider, model, usage: usage.total / 100, cost=limit)
    assert ends(run) == (Delivered("hello", 1) if enough else failed)


def test_a_price_that_cannot_be_told_fails_the_run() -> None:
    def cost(provider: str, model: str, usage: Usage) -> float:
        raise ValueError("no price")

    failed = Failed(FailureKind.EXTENSION, "the cost of the run is unknown: no price", 1)
    assert ends(run_of(price=cost, cost=1.0)) == failed


@pytest.mark.parametrize(
    ("started", "who"),
    [
        (Started(provider="acme", model="large"), "acme/large"),
        (Started(model="large"), "large"),
        (Started(provider="acme"), "acme"),
        (Started(), "a model that did not say which it is"),
    ],
)
def test_a_model_without_a_price_is_named(started: Started, who: str) -> None:
    run = run_of(price=lambda provider, model, usage: None, cost=1.0)
    run.say(started, USED, *calls("look"))
    message = f"the cost of the run is unknown: there is no price for the tokens of {who}"
    assert run.to_the_end().outcome == Failed(FailureKind.EXTENSION, message, 1)


PRICES = {"small": 0.001, "large": 1.0}


@pytest.mark.parametrize(("first", "costs"), [("small", 0.1), ("large", 100)])
@pytest.mark.parametrize("withdrawn", [False, True])
def test_tokens_are_priced_by_the_model_that_used_them(first: str, costs: float, withdrawn: bool) -> None:
    """Decision 26: per model; also those of an attempt that was withdrawn, whose names come with its last words."""
    limit = costs if first == "large" else 100.0
    run = run_of(price=lambda provider, model, usage: PRICES[model] * usage.total, cost=limit, first_token_ms=1_000)
    if withdrawn:
        ticket = run.until(CallModel).ticket
        run.wake(run.now + 1_000)
        run.take(CancelModel)
        run.tell(ModelStreamed(run.now, ticket, (Started(model=first), USED)))
        run.tell(ModelCutOff(run.now, ticket))
    else:
        run.say(Started(model=first), USED, *calls("look"))
    while not (run.waits_for(CallModel) or isinstance(run.state.life, Ended)):
        run.answer_one()
    if first == "small":
        run.say(Started(model="small"), USED, *text("hello"))
    result = run.to_the_end()
    failed = Failed(FailureKind.BUDGET, "the run cost 100 and may cost 100", 1)
    assert result.outcome == (failed if first == "large" else Delivered("hello", 1))
    assert [(row.model, row.usage.total) for row in result.spending.rows] == [(first, 100 if first == "large" else 200)]
    assert result.usage == result.spending.total


@pytest.mark.parametrize("end", ["answers", "fails"])
def test_what_a_model_used_that_was_given_up_is_priced_as_its_own(end: str) -> None:
    run = run_of(price=lambda provider, model, usage: PRICES[model] * usage.total, cost=100.0)
    report = UsageReported(Usage(100), (Spent("", "large", usage=Usage(100)),))
    failure = StreamFailed(ModelError(ErrorKind.NETWORK, "gone"))
    run.say(Started(model="small"), report, *(calls("look") if end == "answers" else [failure]))
    result = run.to_the_end()
    assert result.outcome == Failed(FailureKind.BUDGET, "the run cost 100.1 and may cost 100", 1)
    assert {row.model: row.usage.total for row in result.spending.rows} == {"small": 100, "large": 100}


def test_a_run_ends_when_its_time_is_over_whatever_it_is_at() -> None:
    failed = Failed(FailureKind.DEADLINE, "the run took longer than 2 s", 0)
    run = run_of(run_ms=2_000)
    run.until(WatchFeed)
    run.wake(run.now + 1_999)
    assert not run.waits_for(CancelModel)
    run.wake(run.now + 1)
    assert run.to_the_end().outcome == failed


def test_a_run_whose_time_is_over_withdraws_what_it_asked_its_model() -> None:
    run = run_of(run_ms=2_000)
    ticket = run.until(CallModel).ticket
    run.wake(run.now + 2_000)
    assert run.take(CancelModel).ticket == ticket
    run.tell(ModelCutOff(run.now, ticket))
    assert run.to_the_end().outcome == Failed(FailureKind.DEADLINE, "the run took longer than 2 s", 1)


def test_a_run_that_has_ended_has_no_time_to_run_out() -> None:
    run = run_of(run_ms=2_000)
    run.say(*text("hello"))
    run.to_the_end()
    ended = run.state.life
    assert run.wake(run.now + 2_000) == ()
    assert run.state.life == ended


def test_a_tool_is_stopped_when_its_time_is_over_and_the_model_is_told() -> None:
    run = run_of(timeout_ms=1_500, tool_ms=9_000)
    run.say(*calls("look", "wait"))
    look, wait = run.until(RunTool), run.until(RunTool)
    began = run.now
    run.wake(began + 1_499)
    assert not run.waits_for(CancelTool)
    run.wake(began + 1_500)
    assert run.take(CancelTool).ticket == look.ticket
    run.tell(ToolCutOff(run.now, look.ticket))
    run.wake(began + 8_999)
    assert not run.waits_for(CancelTool)
    run.wake(began + 9_000)
    assert run.take(CancelTool).ticket == wait.ticket
    run.tell(ToolReturned(run.now, wait.ticket, ToolResult("in time")))
    shown = list(run.until(CallModel).request.messages)[-2:]
    told = ENGLISH.timed_out.format(seconds="1.5", outcome=ENGLISH.interrupted)
    assert [one.content for one in shown] == [told, "in time"]  # type: ignore[union-attr]


def test_a_tool_that_does_not_stop_is_told_so_once_and_the_others_keep_their_time() -> None:
    run = run_of(timeout_ms=1_500, tool_ms=9_000)
    run.say(*calls("look", "wait", "look"))
    tools = [run.until(RunTool) for _ in range(3)]
    began = run.now
    run.tell(ToolReturned(run.now, tools[2].ticket, ToolResult("at once")))
    run.wake(began + 1_500)
    assert run.take(CancelTool).ticket == tools[0].ticket
    assert not run.waits_for(CancelTool)
    run.wake(began + 9_000)
    assert run.take(CancelTool).ticket == tools[1].ticket
    assert not run.waits_for(CancelTool)
    run.tell(CancelAsked(run.now))
    assert not run.waits_for(CancelTool)


def test_a_tool_without_a_limit_is_not_stopped_with_another() -> None:
    run = run_of(timeout_ms=1_500)
    run.say(*calls("look", "wait"))
    look, _ = run.until(RunTool), run.until(RunTool)
    run.wake(run.now + 1_500)
    assert run.take(CancelTool).ticket == look.ticket
    assert not run.waits_for(CancelTool)


def test_a_tool_without_a_limit_is_never_stopped() -> None:
    run = run_of()
    run.say(*calls("look"))
    run.until(RunTool)
    for _ in range(20):
        run.wake(run.now + 100_000)
    assert not run.waits_for(CancelTool)


@pytest.mark.parametrize("limits", [{"first_token_ms": 700}, {"first_token_ms": 700, "stall_ms": 300}])
def test_a_model_that_does_not_begin_is_withdrawn_and_asked_again(limits: dict[str, int]) -> None:
    run = run_of(**limits)
    first = run.until(CallModel)
    run.wake(run.now + 699)
    assert not run.waits_for(CancelModel)
    run.wake(run.now + 1)
    assert run.take(CancelModel).ticket == first.ticket
    assert not run.waits_for(CallModel)
    run.tell(ModelCutOff(run.now, first.ticket))
    run.wake(run.state.model.retry_at)
    run.say(*text("hello"))
    assert run.to_the_end().outcome == Delivered("hello", 1)


def test_a_model_that_stalls_is_withdrawn_and_what_it_used_counts() -> None:
    run = run_of(stall_ms=300)
    first = run.until(CallModel)
    run.wake(run.now + 10_000)
    assert not run.waits_for(CancelModel)
    run.tell(ModelStreamed(run.now, first.ticket, (USED, BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "he"))))
    run.wake(run.now + 299)
    assert not run.waits_for(CancelModel)
    run.tell(ModelStreamed(run.now, first.ticket, (BlockDelta(0, "l"),)))
    run.wake(run.now + 299)
    assert not run.waits_for(CancelModel)
    run.wake(run.now + 1)
    assert run.snapshot.candidate == ""
    run.take(CancelModel)
    run.wake(run.state.model.retry_at)
    assert not run.waits_for(CallModel)
    run.tell(ModelCutOff(run.now, first.ticket))
    assert run.waits_for(CallModel)
    run.say(USED, *text("hello"))
    result = run.to_the_end()
    assert (result.outcome, result.usage.total) == (Delivered("hello", 1), 200)


def test_a_model_that_is_asked_again_can_be_withdrawn_again() -> None:
    run = run_of(first_token_ms=700)
    tickets: list[int] = []
    for _ in range(2):
        tickets.append(run.until(CallModel).ticket)
        run.wake(run.now + 700)
        assert run.take(CancelModel).ticket == tickets[-1]
        run.tell(ModelCutOff(run.now, tickets[-1]))
    last = run.until(CallModel).ticket
    run.tell(CancelAsked(run.now))
    assert run.take(CancelModel).ticket == last


def test_a_model_that_was_withdrawn_is_waited_for_although_the_run_is_cancelled() -> None:
    run = run_of(first_token_ms=700)
    ticket = run.until(CallModel).ticket
    run.tell(ModelStreamed(run.now, ticket, (USED,)))
    run.wake(run.now + 700)
    assert run.take(CancelModel).ticket == ticket
    run.tell(CancelAsked(run.now))
    assert run.state.model.withdrawn == ticket
    run.tell(ModelCutOff(run.now, ticket))
    assert run.to_the_end().usage.total == 100


def test_a_model_that_began_in_time_may_take_its_time_where_nothing_else_is_said() -> None:
    run = run_of(first_token_ms=700)
    first = run.until(CallModel)
    run.tell(ModelStreamed(run.now, first.ticket, (BlockStarted(0, DeltaKind.TEXT),)))
    for _ in range(5):
        run.wake(run.now + 100_000)
    assert not run.waits_for(CancelModel)
