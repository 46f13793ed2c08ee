"""The live display: merged, numbered from one, and silent once its run is over."""

import itertools

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, say
from turnfold.effects.display import AppendCandidate, ClearCandidate, DisplayDelta
from turnfold.shells.publish import Publisher

from tests.shells.world import EPOCH, Tool, Viewer, World, answer_after, hang, now


async def test_operations_are_merged_for_fifty_milliseconds() -> None:
    told: list[tuple[float, DisplayDelta]] = []
    publisher = Publisher(lambda delta: told.append((trio.current_time(), delta)), "s")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(publisher.run)
        for text in "abcdefg":
            publisher.publish((AppendCandidate(text),))
            await trio.sleep(0.02)
        publisher.publish((ClearCandidate(),))
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert [(round(at, 2), delta.base, delta.sequence) for at, delta in told] == [
        (0.0, 0, 1),
        (0.05, 1, 2),
        (0.1, 2, 3),
        (0.15, 3, 4),
    ]
    assert [delta.operations for _, delta in told] == [
        (AppendCandidate("a"),),
        (AppendCandidate("bc"),),
        (AppendCandidate("def"),),
        (AppendCandidate("g"), ClearCandidate()),
    ]


async def test_a_quiet_publisher_says_nothing() -> None:
    told: list[DisplayDelta] = []
    publisher = Publisher(told.append, "s")
    publisher.flush()
    publisher.publish((ClearCandidate(),))
    publisher.flush()
    publisher.flush()
    assert [(delta.stream, delta.base, delta.sequence) for delta in told] == [("s", 0, 1)]


async def test_a_viewer_sees_everything_at_the_latest_when_the_run_ends() -> None:
    world, viewer = World(), Viewer()
    await world.say("hi")
    model = ScriptedModel([call("wait"), say("one two three")], chunk=2, gap_s=0.01, sleep=trio.sleep)
    result = await world.run(model, Tool("wait", answer_after(1)), stream=viewer, stream_id="s")
    assert viewer.snapshot.candidate == result.text == "one two three"
    assert [view.call and view.call.status for view in viewer.snapshot.blocks] == ["succeeded"]
    assert [delta.sequence for _, delta in viewer.deltas] == list(range(1, len(viewer.deltas) + 1))
    times = [at for at, _ in viewer.deltas]
    assert all(later - earlier >= 50 for earlier, later in itertools.pairwise(times[:-1]))


@pytest.mark.parametrize("ending", ["delivered", "failed", "cancelled"])
async def test_nothing_is_shown_after_the_end(ending: str) -> None:
    """Decision 34: idle means settled."""
    world, viewer = World(), Viewer()
    await world.say("hi")
    script = {"delivered": ["done"], "failed": [say("half") + fail()], "cancelled": [call("hang")]}
    with trio.move_on_after(5):
        await world.run(ScriptedModel(script[ending]), Tool("hang", hang), stream=viewer, stream_id="s")
    shown, ended = len(viewer.deltas), now()
    await trio.sleep(10)
    assert len(viewer.deltas) == shown > 0
    assert max(at for at, _ in viewer.deltas) <= ended
    if ending == "cancelled":
        assert [view.call and view.call.status for view in viewer.snapshot.blocks] == ["interrupted"]


async def test_a_resumed_run_shows_its_blocks_again_under_a_stream_of_its_own() -> None:
    world = World()
    await world.say("hi")
    await world.run(ScriptedModel([call("echo"), fail()]), Tool("echo"))
    streams: list[DisplayDelta] = []
    result = await world.run(ScriptedModel(["done"]), Tool("echo"), stream=streams.append)
    viewer = Viewer(streams[0].stream)
    for delta in streams:
        viewer(delta)
    assert streams[0].base == 0
    assert [view.id for view in viewer.snapshot.blocks] == [block.id for block in result.blocks]
    assert viewer.snapshot.candidate == "done"
    others: list[DisplayDelta] = []
    await world.run(ScriptedModel([]), stream=others.append)
    assert others[0].stream != streams[0].stream


async def test_a_viewer_that_raises_stops_its_run_and_leaves_it_settled() -> None:
    world = World()

    def broken(delta: DisplayDelta) -> None:
        if now() > EPOCH + 500:
            raise RuntimeError("the screen is gone")

    await world.say("hi")
    model = ScriptedModel([call("talk") + call("hang")])
    with pytest.RaisesGroup(RuntimeError, flatten_subgroups=True):
        await world.run(model, Tool("talk", answer_after(1)), Tool("hang", hang), stream=broken)
    assert [record.status for record in (await world.stored()).calls] == ["succeeded", "interrupted"]
