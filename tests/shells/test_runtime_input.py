"""Input that arrives while a run is under way: it is claimed in increments, and takes the place of what nobody got."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, say
from turnfold.core.run import Limits
from turnfold.effects.feed import Claim, InputMessage
from turnfold.effects.model import Delta, ModelRequest
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.record import CallStatus, Handover, Standing
from turnfold.effects.tool import Invocation
from turnfold.effects.transcript import AssistantMessage
from turnfold.effects.values import replace

from tests.shells.world import Mortal, Tool, Viewer, WatchedFeed, WatchedJournal, World, asked, hang, now, texts


class Interrupted(ScriptedModel):
    """A model during whose first answer somebody says something."""

    def __init__(self, world: World, script: list[Any], *said: str) -> None:
        super().__init__(script)
        self._world = world
        self._said = list(said)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        async for delta in super().stream(request):
            while self._said:
                await self._world.say(self._said.pop(0))
                await trio.sleep(1)
            yield delta


async def test_input_that_arrives_while_a_tool_runs_is_answered_after_the_batch() -> None:
    """RT-12"""
    world = World()

    async def work(invocation: Invocation) -> str:
        await world.say("stop that")
        await trio.sleep(1)
        return "worked"

    model = ScriptedModel([call("work") + call("echo"), "stopped"])
    await world.say("go")
    result = await world.run(model, Tool("work", work), Tool("echo"))
    assert result.outcome == Delivered("stopped", boundary=2)
    assert [record.status for record in result.calls] == [CallStatus.SUCCEEDED] * 2
    assert asked(model)[1] == [
        "user: go",
        "assistant: ",
        "tool call-1: worked",
        "tool call-2: echo:{}",
        "user: stop that",
    ]


async def test_a_later_call_of_a_sequential_batch_still_runs_when_input_arrives() -> None:
    """Once a batch has begun it is carried out whole."""
    world = World()

    async def work(invocation: Invocation) -> str:
        await world.say("stop that")
        await trio.sleep(1)
        return "worked"

    echo = Tool("echo")
    await world.say("go")
    model = ScriptedModel([call("work") + call("echo"), "stopped"])
    assert (await world.run(model, Tool("work", work, sequential=True), echo)).text == "stopped"
    assert len(echo.invocations) == 1


@pytest.mark.parametrize("discard", [False, True])
async def test_a_text_that_newer_input_overtakes_is_superseded(discard: bool) -> None:
    """N-07, both ways, and decision 2: the record keeps it, and the model sees it unless it is discarded."""
    world, viewer = World(), Viewer()
    await world.say("one")
    model = Interrupted(world, ["answer one", "answer two"], "two")
    result = await world.run(model, discard_undelivered=discard, stream=viewer, stream_id="s")
    assert result.outcome == Delivered("answer two", boundary=2)
    said = [] if discard else ["assistant: answer one"]
    assert asked(model)[1] == ["user: one", *said, "user: two"]
    (block,) = (await world.stored()).blocks
    assert (block.text, block.standing) == ("answer one", Standing.SUPERSEDED)
    assert result.blocks == (block,)
    assert [view.text for view in viewer.snapshot.blocks] == ["answer one"]
    assert viewer.snapshot.candidate == "answer two"


@pytest.mark.parametrize("discard", [False, True])
async def test_a_superseded_text_stays_superseded_when_the_next_turn_fails(discard: bool) -> None:
    """Decision 2: it is never delivered after all, nor recorded twice."""
    world = World()
    await world.say("one")
    await world.run(Interrupted(world, ["answer one", fail()], "two"), discard_undelivered=discard)
    model = ScriptedModel(["answer two"])
    result = await world.run(model, discard_undelivered=discard)
    assert result.outcome == Delivered("answer two", boundary=2)
    said = [] if discard else ["assistant: answer one"]
    assert asked(model) == [["user: one", *said, "user: two"]]
    assert [(block.text, block.standing) for block in result.blocks] == [("answer one", Standing.SUPERSEDED)]


async def test_a_batch_that_newer_input_overtakes_does_not_start() -> None:
    world, echo, viewer = World(), Tool("echo"), Viewer()
    await world.say("one")
    model = Interrupted(world, [say("Let me see.") + call("echo", id="a") + call("echo", id="b"), "two!"], "two")
    result = await world.run(model, echo, stream=viewer, stream_id="s")
    assert result.outcome == Delivered("two!", boundary=2)
    assert echo.invocations == []
    assert asked(model)[1] == [
        "user: one",
        "assistant: Let me see.",
        "tool a!: The call echo (a) was dropped: a new message arrived before it had run.",
        "tool b!: The call echo (b) was dropped: a new message arrived before it had run.",
        "user: two",
    ]
    stored = await world.stored()
    assert (texts(result), result.calls) == (["Let me see."], ())
    assert (stored.blocks, stored.calls) == (result.blocks, ())
    assert [view.text for view in viewer.snapshot.blocks] == ["Let me see."]


async def test_a_dropped_batch_stays_dropped_when_the_next_turn_fails() -> None:
    world, echo = World(), Tool("echo")
    await world.say("one")
    failed = await world.run(Interrupted(world, [call("echo", id="a"), fail()], "two"), echo)
    assert isinstance(failed.outcome, Failed)
    assert (failed.outcome.kind, failed.outcome.boundary) == (FailureKind.MODEL, 2)
    model = ScriptedModel(["two!"])
    result = await world.run(model, echo)
    assert result.outcome == Delivered("two!", boundary=2)
    assert asked(model)[0][2:] == [
        "tool a!: The call echo (a) was dropped: a new message arrived before it had run.",
        "user: two",
    ]
    assert (result.calls, echo.invocations) == ((), [])


# --- claims


async def test_claims_are_increments() -> None:
    """Decision 39: each claim begins where the last one ended."""
    world = World()
    await world.say("one")
    feed = WatchedFeed(world.store.feed("talk"))
    await world.run(Interrupted(world, ["1", "2"], "two", "three"), feed=feed)
    assert feed.claims == [(0, 1), (1, 3)]


async def test_a_resumed_run_repeats_its_last_claim() -> None:
    """Decision 39: the head keeps both bounds."""
    world = World()
    await world.say("one")
    await world.run(ScriptedModel(["1"]))
    await world.say("two")

    process = Mortal(world)

    async def crash(invocation: Invocation) -> str:
        process.die()
        return ""

    await process.run(ScriptedModel([call("crash")]), Tool("crash", crash))
    feed = WatchedFeed(world.store.feed("talk"))
    result = await world.run(ScriptedModel(["2"]), Tool("crash", crash), feed=feed, take_over=True)
    assert result.outcome == Delivered("2", boundary=2)
    assert feed.claims == [(1, 2)]


async def test_what_a_partial_claim_left_is_claimed_next() -> None:
    """RT-19"""
    world = World()
    await world.say("one")
    await world.say("two")
    feed = WatchedFeed(world.store.feed("talk"), _first_claim_only(1))
    model = ScriptedModel(["1", "2"])
    result = await world.run(model, feed=feed)
    assert result.outcome == Delivered("2", boundary=2)
    assert asked(model) == [["user: one"], ["user: one", "assistant: 1", "user: two"]]
    assert feed.claims == [(0, 2), (1, 2)]


def _first_claim_only(boundary: int) -> Callable[[str, Any], Any]:
    claims: list[Claim] = []

    def change(name: str, value: Any) -> Any:
        if name == "claim" and not claims:
            claims.append(value)
            return Claim(value.messages[:boundary], boundary)
        return value

    return change


async def test_the_limit_of_turns_is_looked_at_before_a_claim() -> None:
    """N-01"""
    world = World()
    await world.say("one")
    feed = WatchedFeed(world.store.feed("talk"))
    result = await world.run(Interrupted(world, ["1"], "two"), feed=feed, limits=Limits(turns=1))
    assert result.outcome == Failed(FailureKind.TURN_LIMIT, "the run reached its limit of 1 turns", boundary=1)
    assert feed.claims == [(0, 1)]
    assert (await world.run(ScriptedModel(["2"]), limits=Limits(turns=2))).text == "2"


async def test_a_new_revision_of_a_message_enters_again_and_the_same_one_does_not() -> None:
    """N-17"""
    world = World()
    await world.say("helo", id="m", revision="1")
    feed = WatchedFeed(world.store.feed("talk"), _claims_everything)
    await world.run(ScriptedModel(["?"]), feed=feed)
    await world.say("hello", id="m", revision="2")
    model = ScriptedModel(["!"])
    await world.run(model, feed=feed)
    assert asked(model) == [["user: helo", "assistant: ?", "user: hello"]]


def _claims_everything(name: str, value: Any) -> Any:
    """As a feed that always tells the whole conversation would."""
    first = InputMessage("helo", "m", "1")
    if name == "claim" and first not in value.messages:
        return replace(value, messages=(first, *value.messages))
    return value


async def test_the_assistants_own_messages_may_be_input() -> None:
    world = World()
    await world.say("what I said elsewhere", role="assistant")
    await world.say("and now?")
    model = ScriptedModel(["now this"])
    await world.run(model)
    assert asked(model) == [["assistant: what I said elsewhere", "user: and now?"]]
    assert isinstance(next(model.requests[0].messages), AssistantMessage)


# --- feeds that fail or break their contract


async def test_a_run_without_input_fails() -> None:
    world = World()
    outcome = (await world.run(ScriptedModel([]))).outcome
    assert outcome == Failed(FailureKind.FEED, "the run has no pending input", boundary=0)


@pytest.mark.parametrize("method", ["pending", "claim"])
async def test_a_feed_that_raises_ends_the_run(method: str) -> None:
    world = World()
    await world.say("hi")

    def fail_at(name: str, value: Any) -> Any:
        if name == method:
            raise OSError("gone")
        return value

    outcome = (await world.run(ScriptedModel(["x"]), feed=WatchedFeed(world.store.feed("talk"), fail_at))).outcome
    assert outcome == Failed(FailureKind.FEED, "the feed failed: OSError: gone", boundary=0)


class BrokenWatch:
    """A subscription that breaks after a while."""

    async def changed(self) -> None:
        await trio.sleep(3)
        raise ConnectionError("the line is dead")


async def test_a_watch_that_fails_ends_the_run() -> None:
    """N-18, and decision 10: the boundary is told."""
    world, slow = World(), Tool("slow", hang, replayable=True)
    await world.say("hi")
    feed = WatchedFeed(world.store.feed("talk"), lambda name, value: BrokenWatch() if name == "watch" else value)
    result = await world.run(ScriptedModel([call("slow")]), slow, feed=feed)
    text = "the feed failed: ConnectionError: the line is dead"
    assert result.outcome == Failed(FailureKind.FEED, text, boundary=1)
    assert result.calls[0].status == CallStatus.INTERRUPTED
    assert (await world.stored()).outcome == result.outcome


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (Claim((), 1), "claimed no messages above 0"),
        (Claim((InputMessage("hi"),), 0), "was asked to claim 1 to 1, and claimed 1 messages up to 0"),
        (Claim((InputMessage("hi"),), 2), "was asked to claim 1 to 1, and claimed 1 messages up to 2"),
    ],
)
async def test_a_claim_that_is_not_what_was_asked_for_is_a_breach(claim: Claim, told: str) -> None:
    """N-19"""
    world, model = World(), ScriptedModel([])
    await world.say("hi")
    feed = WatchedFeed(world.store.feed("talk"), lambda name, value: claim if name == "claim" else value)
    outcome = (await world.run(model, feed=feed)).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CONTRACT_BREACH
    assert told in outcome.message
    assert model.requests == []


@pytest.mark.parametrize("claim", [Claim((InputMessage("hi"),), 2), Claim((), 1)])
async def test_a_claim_that_is_not_repeated_as_it_was_is_a_breach(claim: Claim) -> None:
    """N-20"""
    world = World()
    await world.say("hi")
    process = Mortal(world)

    async def crash(invocation: Invocation) -> str:
        process.die()
        return ""

    crashing = Tool("crash", crash)
    await process.run(ScriptedModel([call("crash")]), crashing)
    before = await world.stored()
    model = ScriptedModel([])
    feed = WatchedFeed(world.store.feed("talk"), lambda name, value: claim if name == "claim" else value)
    outcome = (await world.run(model, crashing, feed=feed, take_over=True)).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CONTRACT_BREACH
    assert "did not repeat the claim up to 1" in outcome.message
    assert model.requests == []
    assert (await world.stored()).logs == before.logs


# --- how input is noticed


async def test_a_signal_is_answered_by_a_poll_at_once() -> None:
    world = World()
    told: list[int] = []

    async def wait(invocation: Invocation) -> str:
        await trio.sleep(1)
        await world.say("two")
        await trio.sleep(1)
        return "waited"

    def note(name: str, value: Any) -> Any:
        if name == "pending" and value == 2:
            told.append(now())
        return value

    start = now()
    await world.say("one")
    feed = WatchedFeed(world.store.feed("talk"), note)
    await world.run(ScriptedModel([call("wait"), "done"]), Tool("wait", wait), feed=feed)
    assert told[0] == start + 1_000


async def test_without_a_signal_the_feed_is_asked_now_and_then() -> None:
    world = World()
    polls: list[int] = []

    def deaf(name: str, value: Any) -> Any:
        if name == "pending":
            polls.append(now() - start)
        return value

    async def wait(invocation: Invocation) -> str:
        await trio.sleep(10.5)
        return "waited"

    start = now()
    await world.say("one")
    feed = WatchedFeed(world.store.feed("talk"), deaf)
    limits = Limits(poll_ms=2_000)
    await world.run(ScriptedModel([call("wait"), "done"]), Tool("wait", wait), feed=feed, limits=limits)
    assert polls == [0, 2_000, 4_000, 6_000, 8_000, 10_000, 10_500, 10_500]


async def test_a_suspended_run_tells_its_boundary_and_consumes_nothing() -> None:
    """Decision 10; the host takes the call over while its record is being saved as running (decision 37)."""
    world = World()
    await world.say("hi")

    async def take_over(name: str, value: Any) -> None:
        if name == "save_call":
            await world.settle("ask", status=CallStatus.WAITING, handover=Handover.AWAIT)

    journal = WatchedJournal(world.store.journal("run"), before=take_over)
    ask = Tool("ask")
    result = await world.run(ScriptedModel([call("ask")]), ask, journal=journal)
    assert result.outcome == Suspended((result.calls[0].id,), boundary=1)
    assert ask.invocations == []
    assert await world.store.feed("talk").pending(0) == 1
    assert (await world.run(ScriptedModel([]), ask)).outcome == result.outcome
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="a person says yes")
    model = ScriptedModel(["thanks"])
    assert (await world.run(model, ask)).outcome == Delivered("thanks", boundary=1)
    assert asked(model)[0][-1] == "tool call-1: a person says yes"
