"""One story on every store: a batch, a crash, a hand-over, a rival, and a conversation that goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, say
from turnfold.adapters.stores import MemoryStore, SqliteStore, Store
from turnfold.effects.journal import RunBusy
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.record import CallStatus, Handover, Standing
from turnfold.effects.tool import Invocation
from turnfold.effects.transcript import Usage

from tests.shells.world import Mortal, Tool, Viewer, World, asked, now


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each kind."""
    with MemoryStore(now=now) if request.param == "memory" else SqliteStore(tmp_path / "runs.db", now=now) as opened:
        yield opened


async def test_a_run_survives_everything_that_happens_to_it(store: Store) -> None:
    world = World(store)
    await store.create_run("run", "talk")
    process = Mortal(world)

    async def die(invocation: Invocation) -> str:
        await trio.sleep(1)
        process.die()
        await trio.sleep_forever()
        return ""

    tools = [Tool("look"), Tool("pay", die, side_effects=True), Tool("ask", die)]
    await world.say("pay, and ask Ann")
    await process.run(ScriptedModel([say("I will.") + call("look") + call("pay") + call("ask")]), *tools)

    with pytest.raises(RunBusy):
        await world.run(ScriptedModel([]), *tools)
    await world.settle("ask", status=CallStatus.WAITING, handover=Handover.AWAIT)

    waiting = await world.run(ScriptedModel([]), *tools, take_over=True)
    ask = await world.call("ask")
    assert waiting.outcome == Suspended((ask.id,), boundary=1)
    assert [record.status for record in waiting.calls] == ["succeeded", "needs_review", "waiting"]

    await world.settle("ask", status=CallStatus.SUCCEEDED, result="Ann agrees.")
    await world.say("what does she say?")
    model = ScriptedModel(["She agrees.", fail("overloaded")])
    viewer = Viewer()
    answered = await world.run(model, *tools, stream=viewer, stream_id="s")
    assert answered.outcome == Delivered("She agrees.", boundary=2)
    assert asked(model)[0][-2:] == ["tool call-3: Ann agrees.", "user: what does she say?"]
    assert [view.id for view in viewer.snapshot.blocks] == [block.id for block in answered.blocks]
    assert await store.deliver("run") == answered.outcome

    await world.say("thanks")
    failed = await world.run(model, *tools)
    assert isinstance(failed.outcome, Failed)
    assert (failed.outcome.kind, failed.outcome.boundary) == (FailureKind.MODEL, 3)
    last = await world.run(ScriptedModel(["You are welcome."]), *tools)
    assert last.outcome == Delivered("You are welcome.", boundary=3)
    assert (last.calls, last.blocks) == (answered.calls, answered.blocks)
    assert last.usage == Usage(30, output=6)

    stored = await world.stored()
    assert (stored.blocks, stored.calls, stored.usage) == (last.blocks, last.calls, last.usage)
    assert stored.outcome == last.outcome
    assert await world.run(ScriptedModel([]), *tools) == last


async def test_input_that_arrives_meanwhile_is_found(store: Store) -> None:
    world = World(store)
    await world.say("one")

    async def wait(invocation: Invocation) -> str:
        await world.say("two")
        return "waited"

    model = ScriptedModel([call("wait"), "both"])
    result = await world.run(model, Tool("wait", wait))
    assert result.outcome == Delivered("both", boundary=2)
    assert asked(model)[1][-1] == "user: two"


async def test_a_superseded_text_can_be_discarded(store: Store) -> None:
    """The log is cut, and the record keeps what was said."""
    world = World(store)
    await world.say("one")

    class Overtaken(ScriptedModel):
        async def stream(self, request):  # type: ignore[no-untyped-def]
            if not self.requests:
                await world.say("two")
            async for delta in super().stream(request):
                yield delta

    model = Overtaken(["1", "2"])
    result = await world.run(model, discard_undelivered=True)
    assert result.outcome == Delivered("2", boundary=2)
    assert asked(model)[1] == ["user: one", "user: two"]
    assert [(block.text, block.standing) for block in (await world.stored()).blocks] == [("1", Standing.SUPERSEDED)]
    await world.say("three")
    again = ScriptedModel(["3"])
    await world.run(again, discard_undelivered=True)
    assert asked(again) == [["user: one", "user: two", "assistant: 2", "user: three"]]
