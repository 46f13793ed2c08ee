"""Ctrl-C while a run is driven: the run settles and gives its lease back, and one plain KeyboardInterrupt comes out."""

import signal
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from turnfold.adapters.models.scripted import ScriptedModel, call, pause, say
from turnfold.effects.display import DisplayDelta
from turnfold.effects.outcome import Failed, FailureKind
from turnfold.effects.record import CallStatus
from turnfold.effects.tool import Invocation

from tests.shells.world import Tool, WatchedJournal, World, hang

pytestmark = pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is not signal.default_int_handler, reason="somebody else handles Ctrl-C here"
)


@trio.lowlevel.enable_ki_protection
def ctrl_c() -> None:
    """As from a terminal while everybody waits."""
    signal.raise_signal(signal.SIGINT)


async def ctrl_c_at(*seconds: float) -> None:
    for at in seconds:
        await trio.sleep_until(at)
        ctrl_c()


def interrupted(world: World, *tools: Tool, model: Any = None, at: tuple[float, ...] = (1,), **options: Any) -> None:
    """Run in the main task of a program, as README shows it, until Ctrl-C."""

    async def program() -> None:
        trio.lowlevel.spawn_system_task(partial(ctrl_c_at, *(trio.current_time() + each for each in at)))
        await world.say("hi")
        await world.run(model or ScriptedModel([call("work")]), *tools, **options)

    with pytest.raises(KeyboardInterrupt) as raised:
        trio.run(program, clock=trio.testing.MockClock(autojump_threshold=0))
    assert type(raised.value) is KeyboardInterrupt


def ending(world: World) -> tuple[Any, CallStatus]:
    async def look() -> tuple[Any, CallStatus]:
        await world.store.journal("run").begin(1)  # nobody has it any more
        return (await world.stored()).outcome, (await world.call("work")).status

    return trio.run(look)


def show(delta: DisplayDelta) -> None:
    pass


@pytest.mark.parametrize("options", [{}, {"stream": show}], ids=["", "with viewers"])
def test_a_run_that_is_interrupted_settles_and_gives_its_lease_back(options: Any) -> None:
    world = World()
    interrupted(world, Tool("work", hang), **options)
    outcome, status = ending(world)
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CANCELLED
    assert status == CallStatus.INTERRUPTED


async def busy(invocation: Invocation) -> str:
    signal.raise_signal(signal.SIGINT)
    raise AssertionError("unreachable")


def test_an_interrupt_that_meets_a_tool_at_work_is_the_same() -> None:
    world = World()
    interrupted(world, Tool("work", busy), at=())
    outcome, status = ending(world)
    assert outcome.kind is FailureKind.CANCELLED
    assert status == CallStatus.INTERRUPTED


def test_an_interrupt_while_the_model_thinks_is_the_same() -> None:
    world = World()
    interrupted(world, model=ScriptedModel([pause(100) + say("never said")], sleep=trio.sleep))

    async def look() -> Any:
        await world.store.journal("run").begin(1)
        return (await world.stored()).outcome

    assert trio.run(look).kind is FailureKind.CANCELLED


@pytest.mark.parametrize(("at", "end"), [((1,), 4), ((1, 2), 2)], ids=["once", "twice"])
def test_a_second_interrupt_does_not_wait_for_a_journal_that_hangs(at: tuple[float, ...], end: float) -> None:
    """After the first one it has as long as a cancelled run has."""
    world = World(settle_s=3)
    ended: list[float] = []

    async def hangs(name: str, value: Any) -> None:
        if trio.current_time() >= 1:
            try:
                await trio.sleep_forever()
            finally:
                ended.append(trio.current_time())

    journal = WatchedJournal(world.store.journal("run"), before=hangs)
    interrupted(world, Tool("work", hang), at=at, journal=journal)
    assert ended[0] == pytest.approx(end)
