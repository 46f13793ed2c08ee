"""One run on trio: what the fold asks for is carried out, and what comes back is folded, one event after the other."""

from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, raw
from turnfold.core.run import Fold, IllegalEvent, Limits, RunSpec, rules_for
from turnfold.effects.clock import WakeAt, Woke
from turnfold.effects.feed import FeedWatched, InputMessage, InputSignalled
from turnfold.effects.journal import StepSaved
from turnfold.effects.lifecycle import RunEnded, RunStarted
from turnfold.effects.model import BlockDelta, ModelRequest, ModelStreamed, StreamFinished
from turnfold.effects.outcome import Delivered
from turnfold.effects.tool import Invocation
from turnfold.effects.vocabulary import Effect, Event
from turnfold.shells.clock import wall_clock
from turnfold.shells.drive import Driver
from turnfold.shells.perform import BATCH, Ports

from tests.shells.world import EPOCH, Tool, WatchedJournal, World, answer_after, hang, now


class Log:
    """Everything that a driver folded, with the time."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, Event, tuple[Effect, ...]]] = []

    def __call__(self, event: Event, effects: tuple[Effect, ...]) -> None:
        self.lines.append((now() - EPOCH, event, effects))

    @property
    def events(self) -> list[Event]:
        return [event for _, event, _ in self.lines]

    def times(self, kind: type) -> list[int]:
        return [at for at, event, _ in self.lines if isinstance(event, kind)]


async def test_every_event_is_seen_with_its_effects_from_the_first_to_the_last() -> None:
    world, log = World(), Log()
    await world.say("hi")
    result = await world.run(ScriptedModel(["hello"]), trace=log)
    assert isinstance(log.events[0], RunStarted)
    assert log.lines[-1][2][-1] == RunEnded(result)
    assert sum(isinstance(effect, RunEnded) for _, _, effects in log.lines for effect in effects) == 1


async def test_every_execution_has_fresh_randomness() -> None:
    world, log = World(), Log()
    await world.say("hi")
    for _ in range(2):
        await world.run(ScriptedModel(["hello"]), trace=log)
    seeds = [event.seed for event in log.events if isinstance(event, RunStarted)]
    assert len(set(seeds)) == 2
    assert [len(seed) for seed in seeds] == [16, 16]


async def test_what_arrives_while_the_fold_is_busy_is_one_batch() -> None:
    world, log = World(), Log()
    await world.say("hi")
    pieces = [BlockDelta(0, str(place % 10)) for place in range(100)]
    await world.run(ScriptedModel([raw(*pieces, StreamFinished())]), trace=log)
    batches = [event.deltas for event in log.events if isinstance(event, ModelStreamed)]
    assert batches == [(*pieces, StreamFinished())]


async def test_what_arrives_slowly_is_folded_as_it_comes() -> None:
    world, log = World(), Log()
    await world.say("hi")
    model = ScriptedModel(["abc"], chunk=1, gap_s=1.0, sleep=trio.sleep)
    await world.run(model, trace=log)
    assert log.times(ModelStreamed) == [0, 1_000, 2_000, 3_000]


async def test_a_model_that_is_faster_than_its_run_is_held_back() -> None:
    world, log = World(), Log()
    await world.say("hi")
    pieces = [BlockDelta(0, "x")] * (4 * BATCH)
    result = await world.run(ScriptedModel([raw(*pieces, StreamFinished())]), trace=log)
    assert len(result.text) == 4 * BATCH
    assert max(len(event.deltas) for event in log.events if isinstance(event, ModelStreamed)) <= BATCH


async def test_a_signal_of_the_feed_is_an_event() -> None:
    world, log = World(), Log()

    async def wait(invocation: Invocation) -> str:
        await trio.sleep(2)
        await world.say("two")
        await trio.sleep(1)
        return ""

    await world.say("one")
    await world.run(ScriptedModel([call("wait"), "2"]), Tool("wait", wait), trace=log)
    assert log.times(FeedWatched) == [0]
    assert log.times(InputSignalled) == [2_000]


async def test_only_the_nearest_deadline_wakes_a_run() -> None:
    world, log = World(), Log()
    await world.say("hi")
    limits = Limits(lease_ms=12_000, poll_ms=3_000)
    await world.run(ScriptedModel([call("wait"), "done"]), Tool("wait", answer_after(10)), limits=limits, trace=log)
    assert log.times(Woke) == [3_000, 4_000, 6_000, 8_000, 9_000]
    asked = [effect.at - EPOCH for _, _, effects in log.lines for effect in effects if isinstance(effect, WakeAt)]
    assert set(log.times(Woke)) <= set(asked)


async def test_a_tool_that_ends_itself_does_not_disturb_the_others() -> None:
    world = World()

    async def leave(invocation: Invocation) -> str:
        with trio.CancelScope() as scope:
            scope.cancel()
            await trio.sleep_forever()
        return "left"

    await world.say("hi")
    model = ScriptedModel([call("leave") + call("stay"), "done"])
    result = await world.run(model, Tool("leave", leave), Tool("stay", answer_after(1, "stayed")))
    assert [record.result for record in result.calls] == ["left", "stayed"]


async def test_an_event_that_cannot_happen_stops_everything_and_leaves_the_journal_as_it_is() -> None:
    """The third drawer: we are wrong, so nothing more is written and nobody goes on."""
    world = World()
    cut: list[bool] = []
    drivers: list[Driver] = []

    async def work(invocation: Invocation) -> str:
        drivers[0].put(StepSaved(now(), 999))
        try:
            await trio.sleep_forever()
        finally:
            cut.append(True)
        raise AssertionError("unreachable")

    await world.say("hi")
    tool = Tool("work", work)
    spec = RunSpec("run", tools=(tool.spec,))
    model = ScriptedModel([call("work")])
    ports = Ports(world.store.journal("run"), world.store.feed("talk"), model, {"work": tool}, now)
    drivers.append(Driver(Fold(rules_for(spec)), ports))
    with pytest.RaisesGroup(IllegalEvent, flatten_subgroups=True):
        await drivers[0].run(b"seed")
    assert cut == [True]
    assert (await world.call("work")).status == "running"


async def test_an_error_that_is_no_ports_exception_stops_everything() -> None:
    """As a signal of the operating system does; the caller sees it."""

    async def stop(invocation: Invocation) -> str:
        raise SystemExit(3)

    world = World()
    await world.say("hi")
    with pytest.RaisesGroup(SystemExit, flatten_subgroups=True):
        await world.run(ScriptedModel([call("stop") + call("hang")]), Tool("stop", stop), Tool("hang", hang))


async def test_many_runs_at_once_do_not_disturb_each_other() -> None:
    world, texts = World(), dict[str, str]()

    async def one(name: str) -> None:
        await world.store.append(name, InputMessage(name))
        model = ScriptedModel([call("wait"), f"{name} is done"])
        result = await world.runtime.run(
            name,
            model=model,
            feed=world.store.feed(name),
            journal=world.store.journal(name),
            tools=[Tool("wait", answer_after(1))],
        )
        texts[name] = result.text

    async with trio.open_nursery() as nursery:
        for place in range(20):
            nursery.start_soon(one, f"run {place}")
    assert texts == {f"run {place}": f"run {place} is done" for place in range(20)}
    assert now() - EPOCH == 1_000


async def test_writes_that_are_slow_do_not_hold_up_what_runs_beside_them() -> None:
    """Calls are saved concurrently: three slow writes take the time of one."""
    world = World()

    async def slowly(name: str, value: Any) -> None:
        if name == "save_call":
            await trio.sleep(1)

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), before=slowly)
    model = ScriptedModel([call("echo") + call("echo") + call("echo"), "done"])
    assert (await world.run(model, Tool("echo"), journal=journal)).outcome == Delivered("done", boundary=1)
    assert now() - EPOCH == 2_000


async def test_the_context_of_a_request_is_that_of_its_time() -> None:
    """A model may keep its request: what the run appends later does not show in it."""
    lengths: list[int] = []

    class Keeping(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            async for delta in super().stream(request):
                yield delta
            lengths.append(len(self.requests[0].context))

    world = World()
    await world.say("hi")
    model = Keeping([call("echo"), call("echo"), "done"])
    await world.run(model, Tool("echo"))
    assert [len(request.context) for request in model.requests] == [1, 3, 5]
    assert set(lengths) <= {1}


def test_the_wall_clock_tells_the_time_in_milliseconds_and_never_goes_back() -> None:
    clock = wall_clock()
    times = [clock() for _ in range(1_000)]
    assert times == sorted(times)
    assert times[0] > 1_700_000_000_000
