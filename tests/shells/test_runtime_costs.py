"""What a run costs is counted, not timed: bytes, writes and events per step stay the same however long it gets."""

import io
from collections import Counter
from typing import Any

import pytest
from turnfold.adapters.models.scripted import Reply, ScriptedModel, call, say
from turnfold.core.run import Limits
from turnfold.effects.codec import encode
from turnfold.effects.journal import Step
from turnfold.effects.model import ModelRequest
from turnfold.effects.vocabulary import Effect, Event
from turnfold.shells.recording import Recorder

from tests.shells.world import Tool, WatchedJournal, World

ENDLESS = Limits(iterations=10**6)


def steps(count: int) -> ScriptedModel:
    """A model that calls a tool so many times, always alike, and then says something."""

    def answer(request: ModelRequest) -> Reply:
        return call("echo", {"x": "y" * 50}) if len(model.requests) <= count else say("done")

    model = ScriptedModel(answer, keep_contexts=False)
    return model


async def test_the_bytes_of_a_step_do_not_grow_with_the_run() -> None:
    """Decision 1: at steps 10, 100 and 1 000 they differ by less than a tenth."""
    world, model, written = World(), steps(1_000), Counter[int]()

    async def weigh(name: str, value: Any) -> None:
        if name in ("save_step", "save_call"):
            written[len(model.requests)] += len(encode(value))
        if isinstance(value, Step):
            assert len(value.state) < 200

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), before=weigh)
    result = await world.run(model, Tool("echo"), journal=journal, limits=ENDLESS)
    assert (result.text, len(result.calls)) == ("done", 1_000)
    sizes = [written[step] for step in (10, 100, 1_000)]
    assert max(sizes) < min(sizes) * 1.1
    assert max(written.values()) < sizes[0] * 1.1


@pytest.mark.parametrize("options", [{}, {"sequential": True}])
async def test_a_step_is_six_events_three_writes_and_one_poll(options: dict[str, Any]) -> None:
    """Where the model's whole answer arrives at once; each further batch of deltas is one event more."""
    events: list[Counter[str]] = []
    orders: list[Counter[str]] = []

    def count(event: Event, effects: tuple[Effect, ...]) -> None:
        events[-1][type(event).__name__] += 1
        orders[-1].update(type(effect).__name__ for effect in effects)

    for length in (10, 110):
        world = World()
        events.append(Counter())
        orders.append(Counter())
        await world.say("hi")
        await world.run(steps(length), Tool("echo"), limits=ENDLESS, trace=count, **options)
    hundred = {"ModelStreamed": 100, "StepSaved": 100, "CallSaved": 200, "ToolReturned": 100, "FeedPolled": 100}
    assert events[1] - events[0] == hundred
    asked = {"CallModel": 100, "SaveStep": 100, "SaveCall": 200, "RunTool": 100, "PollFeed": 100, "Publish": 400}
    assert orders[1] - orders[0] == asked


async def test_a_recording_grows_with_the_steps_of_its_run_and_not_with_their_square() -> None:
    sizes: list[int] = []
    for length in (50, 100, 200):
        world, file = World(), io.BytesIO()
        await world.say("hi")
        await world.run(steps(length), Tool("echo"), limits=ENDLESS, trace=Recorder(file))
        sizes.append(len(file.getvalue()))
    assert (sizes[2] - sizes[1]) / (sizes[1] - sizes[0]) == pytest.approx(2, rel=0.05)
