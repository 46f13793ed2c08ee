"""Running a world by a schedule, and the two ways to find schedules: draw them, or take every crash there is."""

from collections.abc import Iterable, Iterator

from ...core.run import Fold
from .choices import choices, step
from .scenario import Scenario
from .settling import settle
from .world import World

__all__ = ["run_schedule"]


def run_schedule(scenario: Scenario, schedule: Iterable[int], fold: type[Fold] = Fold) -> World:
    """The world after the schedule and after settling; raises ``PromiseBroken`` with a trace.

    ``fold`` is the fold under test: give a subclass to see what the simulator makes of other rules.
    """
    world = World(scenario, fold)
    for number in schedule:
        step(world, number)
    settle(world)
    return world
