"""Limits of a run: what the model is told at the end of its budget, tokens, money, and time."""

from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, pause, raw, say
from turnfold.core.extensions import Price, Prices
from turnfold.core.run import Limits, Retries
from turnfold.core.text import ENGLISH, fill, words_for
from turnfold.effects.model import StreamFailed, UsageReported
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.record import CallStatus, Standing
from turnfold.effects.tool import Await, Invocation
from turnfold.effects.transcript import ErrorKind, ModelError, Usage
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import Seen, failure, finishing
from tests.shells.world import EPOCH, Tool, Viewer, World, answer_after, asked, hang, now, texts

# --- iterations


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_last_iteration_offers_only_what_ends_the_run(language: str) -> None:
    """N-02: with tools that end the run, only those are on offer, and the notice names them in order."""
    words = words_for(language)
    world, model = World(words=words), ScriptedModel([call("echo"), "done"])
    tools = [finishing("finish"), Tool("echo"), finishing("close")]
    await world.say("hi")
    await world.run(model, *tools, limits=Limits(iterations=2))
    offered = [[declared.name for declared in request.tools] for request in model.requests]
    assert offered == [["finish", "echo", "close"], ["finish", "close"]]
    notice = fill(words.final_notice_completion, tools=words.separator.join(["close", "finish"]))
    assert [request.notice for request in model.requests] == ["", notice]
    assert asked(model)[1][-1] == f"user: {notice}"


@pytest.mark.parametrize("tools", [[Tool("echo")], [Tool("echo"), finishing()]], ids=["plain", "completion"])
async def test_a_host_may_word_the_notice_of_the_last_iteration(tools: list[Tool]) -> None:
    """N-02: its own words take the place of either text, and stay out of the next turn."""
    world, host = World(), Host(final_notice="Two words at most.")
    await world.say("hi")
    model = ScriptedModel(["all right"])
    await world.run(model, *tools, host=host, limits=Limits(iterations=1))
    assert model.requests[0].notice == "Two words at most."
    assert asked(model)[0][-1] == "user: Two words at most."
    await world.say("more")
    model = ScriptedModel(["no"])
    await world.run(model, *tools, host=host, limits=Limits(iterations=2))
    assert asked(model) == [["user: hi", "assistant: all right", "user: more"]]


# --- tokens and money


async def test_a_run_ends_when_its_tokens_are_used_up() -> None:
    """Decision 26: it is looked at before the model is asked; each output takes twelve."""
    world, echo = World(), Tool("echo")
    await world.say("hi")
    model = ScriptedModel([call("echo"), call("echo"), "never said"])
    result = await world.run(model, echo, limits=Limits(tokens=24))
    assert result.outcome == Failed(FailureKind.BUDGET, "the run used its 24 tokens", boundary=1)
    assert (len(model.requests), len(echo.invocations), result.usage.total) == (2, 2, 24)
    assert (await world.stored()).outcome == result.outcome
    assert failure(await world.run(ScriptedModel([]), echo, limits=Limits(tokens=24))) == (FailureKind.BUDGET, 1)
    raised = await world.run(ScriptedModel(["done"]), echo, limits=Limits(tokens=25))
    assert raised.outcome == Delivered("done", boundary=1)


async def test_tokens_count_from_the_last_answer() -> None:
    """Decision 41, and an answer is welcome however much it took."""
    world = World()
    for number, text in enumerate(["one", "two", "three"], 1):
        await world.say(text)
        result = await world.run(ScriptedModel([call("echo"), text]), Tool("echo"), limits=Limits(tokens=13))
        assert (result.outcome, result.usage.total) == (Delivered(text, boundary=number), 24 * number)


async def test_tokens_of_attempts_that_failed_count() -> None:
    """Decision 24: what a discarded attempt used is used."""
    world = World()
    broken = raw(UsageReported(Usage(input=20)), StreamFailed(ModelError(ErrorKind.NETWORK, "gone")))
    await world.say("hi")
    model = ScriptedModel([broken, "never said"])
    result = await world.run(model, retries=Retries(times=3), limits=Limits(tokens=20))
    assert failure(result) == (FailureKind.BUDGET, 1)
    assert (result.usage.total, len(model.requests)) == (20, 1)


async def test_a_run_ends_when_it_has_cost_what_it_may() -> None:
    """Decision 26: the price of what it used, from the host's table; each output costs six."""
    world, host = World(), Host(prices=Prices({"scripted": Price(500_000, 500_000)}))
    await world.say("hi")
    model = ScriptedModel([call("echo"), call("echo"), "never said"])
    result = await world.run(model, Tool("echo"), host=host, limits=Limits(cost=11.5))
    assert result.outcome == Failed(FailureKind.BUDGET, "the run cost 12 and may cost 11.5", boundary=1)
    assert len(model.requests) == 2
    again = await world.run(ScriptedModel(["done"]), Tool("echo"), host=host, limits=Limits(cost=13))
    assert again.text == "done"
    await world.say("more")
    more = await world.run(ScriptedModel([call("echo"), "more"]), Tool("echo"), host=host, limits=Limits(cost=7))
    assert more.text == "more"


async def test_a_price_that_cannot_be_told_fails_the_run() -> None:
    world, host = World(), Host(prices=Prices({"other": Price(1, 1)}))
    await world.say("hi")
    result = await world.run(ScriptedModel([call("echo")]), Tool("echo"), host=host, limits=Limits(cost=1))
    text = "the cost of the run is unknown: there is no price for the tokens of scripted/scripted"
    assert result.outcome == Failed(FailureKind.EXTENSION, text, boundary=1)


@pytest.mark.parametrize("prices", [Price(1, 1), lambda usage: 1.0, {"scripted": Price(1, 1)}])
def test_prices_that_are_no_table_are_refused_before_anything_is_paid(prices: Any) -> None:
    with pytest.raises(TypeError, match=r"^Host.prices must be a table such as Prices, with cost\("):
        Host(prices=prices)


# --- time


SLOW_TEXT = {
    "plain": (CallStatus.INTERRUPTED, ENGLISH.interrupted),
    "replayable": (CallStatus.INTERRUPTED, ENGLISH.interrupted_replayable),
    "side_effects": (CallStatus.NEEDS_REVIEW, ENGLISH.needs_review),
}


@pytest.mark.parametrize("trait", SLOW_TEXT)
@pytest.mark.parametrize("own", [False, True], ids=["the run's limit", "the tool's own"])
async def test_a_tool_that_takes_too_long_is_stopped_and_settled_by_what_it_is(trait: str, own: bool) -> None:
    """Decision 21: the model is told after how long, and the run goes on."""
    traits: dict[str, Any] = {} if trait == "plain" else {trait: True}
    slow = Tool("slow", hang, timeout_ms=1500 if own else 0, **traits)
    world, begun = World(grace_s=0.25), now()
    await world.say("hi")
    model = ScriptedModel([call("slow") + call("echo"), "done"])
    result = await world.run(model, slow, Tool("echo"), limits=Limits(tool_ms=60_000 if own else 1500))
    status, outcome = SLOW_TEXT[trait]
    text = f"The call was stopped because it took longer than 1.5 seconds. {outcome}"
    assert (result.calls[0].status, result.calls[0].result) == (status, text)
    assert asked(model)[1][2:] == [f"tool call-1: {text}", "tool call-2: echo:{}"]
    assert now() - begun == 1750


async def test_a_result_within_the_grace_counts() -> None:
    """Decision 5, for a limit of time."""

    async def clean_up(invocation: Invocation) -> str:
        await trio.sleep(1.1)
        return "just in time"

    world = World(grace_s=0.5)
    await world.say("hi")
    result = await world.run(ScriptedModel([call("slow"), "done"]), Tool("slow", clean_up), limits=Limits(tool_ms=1000))
    assert (result.calls[0].status, result.calls[0].result) == (CallStatus.SUCCEEDED, "just in time")


async def test_each_tool_has_its_own_time() -> None:
    """The shorter limit does not stop the slower tool."""
    tools = [Tool("short", answer_after(9), timeout_ms=1000), Tool("long", answer_after(5, "there"), timeout_ms=6000)]
    world = World()
    await world.say("hi")
    result = await world.run(ScriptedModel([call("short") + call("long"), "done"]), *tools)
    assert [record.status for record in result.calls] == [CallStatus.INTERRUPTED, CallStatus.SUCCEEDED]


async def test_a_model_that_does_not_begin_is_asked_again() -> None:
    """Decision 21: the limit until its first token; that the stream has opened is none."""
    world, begun = World(), now()
    model = ScriptedModel([pause(60) + say("late"), pause(1) + say("here")], sleep=trio.sleep)
    await world.say("hi")
    limits = Limits(first_token_ms=2000)
    result = await world.run(model, limits=limits, retries=Retries(first_ms=0, longest_ms=0))
    assert (result.text, len(model.requests)) == ("here", 2)
    assert now() - begun == 3000


async def test_a_model_that_stops_in_the_middle_is_asked_again() -> None:
    """Decisions 21 and 24: what the attempt had shown is withdrawn from record and stream."""
    world, viewer = World(), Viewer()
    model = Seen(viewer, say("Once upon ") + pause(60) + say("a time"), "The end.")
    await world.say("hi")
    limits = Limits(first_token_ms=500, stall_ms=2000)
    result = await world.run(model, limits=limits, retries=Retries(), stream=viewer, stream_id="s")
    assert (result.outcome, result.blocks) == (Delivered("The end.", boundary=1), ())
    assert (viewer.snapshot.candidate, viewer.snapshot.blocks) == ("The end.", ())
    assert any("Once upon" in repr(delta) for _, delta in viewer.deltas)
    assert model.shown == [("", [])] * 2


async def test_a_model_that_goes_on_slowly_is_not_stopped() -> None:
    world = World()
    model = ScriptedModel(["one, two, three, four"], chunk=4, gap_s=1.9, sleep=trio.sleep)
    await world.say("hi")
    result = await world.run(model, limits=Limits(first_token_ms=2000, stall_ms=2000))
    assert result.text == "one, two, three, four"


@pytest.mark.parametrize(
    ("reply", "text", "left"),
    [
        (pause(60) + say("x"), "the model did not begin to answer in time", []),
        (say("Once upon ") + pause(60), "the model stopped in the middle of its answer", ["Once upon"]),
    ],
)
async def test_a_model_that_is_silent_once_too_often_fails_the_run(reply: Any, text: str, left: list[str]) -> None:
    """Decision 21: as a failure of the model by time-out, with what it said on record as broken off."""
    world, limits = World(), Limits(first_token_ms=1000, stall_ms=1000)
    await world.say("hi")
    result = await world.run(ScriptedModel([reply], sleep=trio.sleep), limits=limits)
    assert result.outcome == Failed(FailureKind.MODEL, text, 1, ModelError(ErrorKind.TIMEOUT, text))
    assert [(block.text, block.standing) for block in result.blocks] == [(one, Standing.BROKEN_OFF) for one in left]


async def test_a_run_ends_at_its_deadline() -> None:
    """Decision 21: calls are settled by what they are, and the outcome is saved."""
    world, begun = World(grace_s=0.25), now()
    await world.say("hi")
    tools = [Tool("pay", hang, side_effects=True), Tool("look", hang, replayable=True)]
    result = await world.run(ScriptedModel([call("pay") + call("look")]), *tools, limits=Limits(run_ms=2500))
    assert result.outcome == Failed(FailureKind.DEADLINE, "the run took longer than 2.5 s", boundary=1)
    assert [record.status for record in result.calls] == [CallStatus.NEEDS_REVIEW, CallStatus.INTERRUPTED]
    assert (await world.stored()).outcome == result.outcome
    assert now() - begun == 2750


async def test_a_deadline_cuts_a_model_off() -> None:
    world, begun = World(), now()
    await world.say("hi")
    model = ScriptedModel([say("Once upon ") + pause(60)], sleep=trio.sleep)
    result = await world.run(model, limits=Limits(run_ms=2500))
    assert failure(result) == (FailureKind.DEADLINE, 1)
    assert texts(result) == ["Once upon"]
    assert now() - begun == 2500


def _slow_model(*replies: Any) -> ScriptedModel:
    return ScriptedModel([pause(2) + reply for reply in replies], sleep=trio.sleep)


async def _ask(invocation: Invocation) -> Any:
    return Await()


async def test_waiting_for_a_result_takes_no_time() -> None:
    """Decision 42: only time in which the run is executed counts, over all its executions since its last answer."""
    world, ask, limits = World(), Tool("ask", _ask), Limits(run_ms=5000)
    await world.say("hi")
    assert isinstance((await world.run(_slow_model(call("ask")), ask, limits=limits)).outcome, Suspended)
    await trio.sleep(3600)
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    result = await world.run(_slow_model(say("done")), ask, limits=limits)
    assert result.outcome == Delivered("done", boundary=1)


async def test_time_adds_up_over_executions() -> None:
    """Decision 42: two seconds before it waited, and two after that are too many for a limit of three."""
    world, ask, limits = World(), Tool("ask", _ask), Limits(run_ms=3000)
    await world.say("hi")
    await world.run(_slow_model(call("ask")), ask, limits=limits)
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    begun = now()
    result = await world.run(_slow_model(say("done")), ask, limits=limits)
    assert (failure(result), now() - begun) == ((FailureKind.DEADLINE, 1), 1000)


async def test_time_counts_from_the_last_answer() -> None:
    """Decision 41"""
    world, limits = World(), Limits(run_ms=3000)
    for number, text in enumerate(["one", "two"], 1):
        await world.say(text)
        result = await world.run(_slow_model(say(text)), limits=limits)
        assert result.outcome == Delivered(text, boundary=number)


async def test_the_time_before_a_suspension_counts_and_waiting_is_free() -> None:
    """Decision 42: the limit of a run counts while it is executed; then the hanging tool has its grace."""
    world, limits = World(), Limits(run_ms=5_000)
    await world.say("hi")

    async def slow(_: Invocation) -> Await:
        await trio.sleep(4)
        return Await()

    first = await world.run(ScriptedModel([call("ask")]), Tool("ask", slow), limits=limits)
    assert isinstance(first.outcome, Suspended)
    await trio.sleep(100)
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    second = await world.run(ScriptedModel([call("nap")]), Tool("ask", slow), Tool("nap", hang), limits=limits)
    assert isinstance(second.outcome, Failed)
    assert (second.outcome.kind, now() - EPOCH) == (FailureKind.DEADLINE, 105_500)
