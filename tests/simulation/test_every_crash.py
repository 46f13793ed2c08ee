"""Worlds written by hand, crashed after every effect, and deviated from in every way at every event.

Nothing is drawn here: the ordinary future of a world is walked through, and at each event everything that could happen
instead is tried, one thing at a time (two, with ``--explore``). All promises are checked on the way, and every world
must come to its end.
"""

from collections.abc import Iterator
from itertools import chain, combinations, islice

import pytest
from turnfold.core.run import Fold
from turnfold.effects.journal import BeginAttempt, EndAttempt, RenewLease, SaveCall, SaveStep
from turnfold.effects.model import CallModel
from turnfold.effects.outcome import Delivered, Suspended
from turnfold.effects.question import AskGuard, AskPolicy, AskReconcile
from turnfold.effects.tool import RunTool
from turnfold.shells.simulate import Scenario, Trouble, World, carry_out, deviations, run_schedule, settle, step
from turnfold.shells.simulate.hosting import approve, is_paused, settle_call

from tests.simulation.demo import DEMO, ONE_CHARGE, WORLDS, calm, troubled

CARRIED_OUT = (BeginAttempt, EndAttempt, RenewLease, SaveCall, SaveStep, CallModel, RunTool)
CARRIED_OUT += (AskPolicy, AskReconcile, AskGuard)

SOME = 4
"""One of so many deviations is tried in the longer worlds."""


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


def go_on(world: World) -> None:
    """The ordinary happens; where the run waits for somebody, that somebody does what is waited for."""
    result = world.last.result if world.last is not None and not world.alive else None
    outcome = result.outcome if result is not None else None
    keys = outcome.waits_for if isinstance(outcome, Suspended) else ()
    for call in (world.stored.calls[key] for key in keys):
        if not call.settled and call.decision is None:
            (approve if is_paused(call) else settle_call)(world, call)
    step(world, 0)


def world_at(scenario: Scenario, steps: int, input_after: int | None) -> World:
    """The world after some ordinary steps, with newer input arriving after ``input_after`` of them."""
    world = World(scenario)
    for number in range(steps):
        ordinarily(world, number, input_after)
    return world


def ordinarily(world: World, number: int, input_after: int | None) -> None:
    """One more step."""
    if number == input_after:
        step(world, "input arrives")
    else:
        go_on(world)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize(
    ("successor", "input_after"),
    [
        ("after the lease", None),
        ("takes over", 14),
        ("while the old one lives", 21),
    ],
)
def test_a_crash_after_any_effect_loses_nothing_and_repeats_nothing(
    name: str, successor: str, input_after: int | None
) -> None:
    """Each effect in flight was carried out or was not; a second executor takes over from dead and living ones."""
    scenario = troubled(WORLDS[name], Trouble.INPUT)
    tried = 0
    reached = World(scenario)
    for steps in range(1, 60):
        ordinarily(reached, steps - 1, input_after)
        if reached.over:
            break
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
    assert tried > 20


def test_whatever_happens_instead_at_any_event_every_promise_holds(exploring: bool) -> None:
    """One deviation from the ordinary, of every kind and at every event, in worlds with every trouble.

    Of the longer worlds one of a few is tried by default, and all of them with ``--explore``.
    """
    for scenario in WORLDS.values():
        every = 1 if exploring or scenario is ONE_CHARGE else SOME
        for schedule in islice(deviations(troubled(scenario)), 0, None, every):
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
