"""What the simulator promises to people who build on it."""

import doctest

import pytest
from hypothesis import find
from hypothesis import strategies as st
from turnfold.core.run import Fold, Limits, RunSpec, RunState
from turnfold.effects.feed import InputMessage
from turnfold.effects.journal import Changes, LogChange, Step
from turnfold.effects.lifecycle import RunStarted
from turnfold.effects.outcome import Failed, FailureKind
from turnfold.effects.record import Block, BlockKind, CallStatus, ToolCall
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ToolDeclaration
from turnfold.effects.vocabulary import Effect, Event
from turnfold.shells import simulate
from turnfold.shells.simulate import (
    Behaviour,
    PromiseBroken,
    Scenario,
    Trouble,
    World,
    calls,
    choices,
    ordinary,
    run_schedule,
    says,
    settle,
    shrink,
    step,
)
from turnfold.shells.simulate.store import BadWrite, Conversation, Stored, begin, claim, save_call, save_step

from tests.simulation.demo import ONE_CHARGE, PAUSED, troubled

BOOKING = RunSpec("trip", tools=(ToolSpec(ToolDeclaration("book"), side_effects=True),), limits=Limits(turns=1))
LATER = (InputMessage("and this", "2"),)


def test_the_example_in_the_docstring_is_true() -> None:
    assert doctest.testmod(simulate).failed == 0


def test_a_world_without_troubles_has_one_future() -> None:
    world = World(ONE_CHARGE)
    while not world.over:
        assert len(choices(world)) == 1
        step(world, 7)
    assert ordinary(world) is None
    assert world.schedule == [0] * len(world.schedule)


@pytest.mark.parametrize("trouble", Trouble)
def test_each_trouble_puts_something_on_offer(trouble: Trouble) -> None:
    """Somewhere in an ordinary world in which a call is paused and another one runs, beside the ordinary."""
    world = World(troubled(PAUSED, trouble))
    offered = 0
    for _ in range(20):
        offered += len(choices(world)) - 1
        step(world, 0)
    assert offered > 0


def test_a_world_can_be_made_of_your_own_tools_and_limits() -> None:
    """A tool that hangs is stopped in the end, and what it did is unknown; a limit of turns is an end by rights."""
    scenario = Scenario(
        outputs=(calls(("book", '{"seat": "12A"}')), says("Booked.")),
        spec=BOOKING,
        behaviours={"book": Behaviour.HANGS},
        later=LATER,
        troubles=frozenset({Trouble.INPUT}),
    )
    world = run_schedule(scenario, [""] * 8 + ["input arrives"])
    assert [call.status for call in world.stored.calls.values()] == [CallStatus.NEEDS_REVIEW]
    assert world.last is not None
    assert world.last.result is not None
    assert isinstance(world.last.result.outcome, Failed)
    assert world.last.result.outcome.kind is FailureKind.TURN_LIMIT


def test_nonsense_is_refused_at_every_event() -> None:
    scenario = troubled(ONE_CHARGE, Trouble.JUNK)
    world = World(scenario)
    while not world.over:
        if world.alive:
            assert step(world, "is told nonsense") == "is told nonsense"
        step(world, 0)


# --- what it finds


class Deaf(Fold):
    """A fold that never ends: it keeps the last of what it asks for to itself."""

    def reduce(self, state: RunState, event: Event) -> tuple[RunState, tuple[Effect, ...]]:
        """Fold, and leave out the end."""
        state, effects = super().reduce(state, event)
        return state, tuple(effect for effect in effects if type(effect).__name__ != "RunEnded")


class Gullible(Fold):
    """A fold that takes anything at any time."""

    def reduce(self, state: RunState, event: Event) -> tuple[RunState, tuple[Effect, ...]]:
        """Fold, or do as if."""
        try:
            return super().reduce(state, event)
        except Exception:
            return state, ()


def test_a_run_that_neither_ends_nor_waits_is_found() -> None:
    with pytest.raises(PromiseBroken, match="every debt is paid or withdrawn") as found:
        run_schedule(ONE_CHARGE, (), Deaf)
    assert "AttemptEnded" in str(found.value)


def test_a_fold_that_takes_what_cannot_happen_is_found() -> None:
    with pytest.raises(PromiseBroken, match="an event that cannot happen is illegal"):
        run_schedule(troubled(ONE_CHARGE), ("", "", "is told nonsense"), Gullible)


def test_shrinking_leaves_what_the_broken_promise_needs() -> None:
    """Of a world with every trouble and much ado, one step and one trouble stay."""
    noisy = troubled(Scenario(outputs=(says("one"), *ONE_CHARGE.outputs), later=LATER))
    schedule = ["", "", "", "a rival tries", "", "sends 1 of CallModel", "", "is told nonsense", "input arrives", ""]
    with pytest.raises(PromiseBroken):
        run_schedule(noisy, schedule, Gullible)
    told = shrink(noisy, schedule, Gullible)
    assert [name for name in told.names if name] == ["is told nonsense"]
    assert "troubles: JUNK;" in str(told)
    assert len(told.trace) <= 3


def test_schedules_shrink_under_hypothesis_as_well() -> None:
    """Lists of small numbers are all there is: few are left, most of them 0, which is the ordinary."""
    scenario = troubled(ONE_CHARGE, Trouble.JUNK, Trouble.CANCEL)

    def breaks(schedule: list[int]) -> bool:
        try:
            run_schedule(scenario, schedule, Gullible)
        except PromiseBroken:
            return True
        return False

    schedule = find(st.lists(st.integers(0, 30), max_size=40), breaks)
    assert len(schedule) <= 2
    assert sum(schedule) <= 3


def test_there_is_nothing_to_shrink_in_a_sound_world() -> None:
    with pytest.raises(ValueError, match="nothing to shrink"):
        shrink(ONE_CHARGE, ())


def test_a_long_trace_is_told_in_short() -> None:
    world = World(ONE_CHARGE)
    for number in range(1_000):
        world.trace.add(1, RunStarted(number, b""))
    assert str(world.trace).count("\n") <= 201
    assert "800 more" in str(world.trace)


# --- the store it judges by


def test_the_store_fences_before_it_loads() -> None:
    """Whoever began last writes; nobody begins while a lease is live, unless told to take over (decision 9)."""
    first = begin(Stored(), 0, 100, take_over=False)
    assert isinstance(first, Stored)
    assert begin(first, 50, 100, take_over=False) == 100
    second = begin(first, 50, 100, take_over=True)
    assert isinstance(second, Stored)
    assert save_call(second, 1, ToolCall("a", CallStatus.RUNNING, rev=1)) is None
    assert save_step(second, 1, Step(b"")) is None
    assert isinstance(begin(first, 100, 100, take_over=False), Stored)


def test_the_store_applies_removals_then_calls_then_blocks() -> None:
    """And refuses a step that does not fit what it has."""
    block, call = Block("b", 1, "m", BlockKind.TOOL_CALL, call_id="c"), ToolCall("c", CallStatus.QUEUED, rev=1)
    changes = Changes(blocks=(block,), calls=(call,), removed_blocks=("b",), removed_calls=("c",))
    stored = save_step(Stored(attempt=1), 1, Step(b"", {"main": LogChange(0, (b"x",))}, changes=changes))
    assert stored is not None
    assert (stored.blocks, stored.calls, stored.logs) == ({"b": block}, {"c": call}, {"main": (b"x",)})
    with pytest.raises(BadWrite):
        save_step(stored, 1, Step(b"", {"main": LogChange(2)}))


def test_the_feed_claims_what_is_above_and_not_consumed() -> None:
    conversation = Conversation(LATER * 3, consumed=1)
    assert claim(conversation, 1, 9) == claim(conversation, 1, 3)
    assert isinstance(claim(conversation, 0, 1), str)
    assert isinstance(claim(conversation, 3, 9), str)


def test_settling_a_settled_world_changes_nothing() -> None:
    world = run_schedule(ONE_CHARGE, ())
    stored = world.stored
    settle(world)
    assert (world.stored.calls, world.stored.outcome) == (stored.calls, stored.outcome)
