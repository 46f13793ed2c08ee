"""The demonstration's world, crashed after every effect, and deviated from in every way at every event.

Nothing is drawn here: the ordinary future of a world is walked through, and at each event everything that could happen
instead is tried, one thing at a time (two, with ``--explore``). All promises are checked on the way, and every world
must come to its end.
"""

from collections.abc import Iterator
from itertools import chain, combinations

import pytest
from turnfold.core.run import Fold
from turnfold.effects.journal import BeginAttempt, EndAttempt, RenewLease, SaveCall, SaveStep
from turnfold.effects.model import CallModel
from turnfold.effects.outcome import Delivered
from turnfold.effects.tool import RunTool
from turnfold.shells.simulate import Scenario, Trouble, World, carry_out, deviations, run_schedule, settle, step

from tests.simulation.demo import DEMO, ONE_CHARGE, calm, troubled

CARRIED_OUT = (BeginAttempt, EndAttempt, RenewLease, SaveCall, SaveStep, CallModel, RunTool)


def length(scenario: Scenario) -> int:
    """How many ordinary steps a world takes to its end."""
    world = World(scenario, Fold)
    while not world.over:
        step(world, 0)
    return len(world.schedule)


def subsets(world: World) -> Iterator[tuple[int, ...]]:
    """Which of the orders in flight are carried out before the crash, although nobody will hear of it: every choice."""
    tickets = [ticket for ticket, order in world.alive[0].pending.items() if isinstance(order.order, CARRIED_OUT)]
    return chain.from_iterable(combinations(tickets, count) for count in range(len(tickets) + 1))


def world_at(scenario: Scenario, steps: int, input_after: int | None) -> World:
    """The world after some ordinary steps, with newer input arriving after ``input_after`` of them."""
    world = World(scenario)
    for number in range(steps):
        step(world, "input arrives" if number == input_after else "")
    return world


@pytest.mark.parametrize(
    ("successor", "input_after"),
    [
        ("after the lease", None),
        ("after the lease", 14),
        ("takes over", 5),
        ("takes over", 30),
        ("while the old one lives", None),
        ("while the old one lives", 14),
    ],
)
def test_a_crash_after_any_effect_loses_nothing_and_repeats_nothing(successor: str, input_after: int | None) -> None:
    """Each effect in flight was carried out or was not; a second executor takes over from dead and living ones."""
    scenario = troubled(DEMO, Trouble.INPUT)
    tried = 0
    for steps in range(1, 60):
        reached = world_at(scenario, steps, input_after)
        for tickets in subsets(reached) if reached.alive else ():
            world = world_at(scenario, steps, input_after)
            first = world.alive[0]
            for ticket in tickets:
                carry_out(world, first, first.pending[ticket])
            if successor != "while the old one lives":
                world.crash(first)
            if successor != "after the lease":
                world.begin(take_over=True)
            settle(world)
            tried += 1
    assert tried > 40


def test_whatever_happens_instead_at_any_event_every_promise_holds(exploring: bool) -> None:
    """One deviation from the ordinary, of every kind and at every event, in worlds with every trouble."""
    for scenario in (DEMO, ONE_CHARGE):
        for schedule in deviations(troubled(scenario)):
            run_schedule(troubled(scenario), schedule)
            if exploring and scenario is ONE_CHARGE:
                for twice in deviations(troubled(scenario), schedule):
                    run_schedule(troubled(scenario), twice)


def test_two_crashes_in_a_row_are_no_worse_than_one() -> None:
    """A successor that crashes as well, at any event of its own."""
    scenario = troubled(ONE_CHARGE, Trouble.CRASH)
    for crash in ("dies", "dies, and all it asked for happens"):
        for first in range(1, length(calm(ONE_CHARGE))):
            for second in range(2, 16):
                run_schedule(scenario, (*[""] * first, crash, *[""] * second, crash))


def test_the_ordinary_world_says_what_the_model_said() -> None:
    """Without troubles there is one future."""
    world = run_schedule(calm(DEMO), ())
    results = [executor.result for executor in world.executors]
    assert [result and result.outcome for result in results] == [Delivered("Bought it.", 1)] * 2
    assert sorted(world.witness.starts.values()) == [1] * 6
