"""Running a world by a schedule: numbers, as they are drawn, or names of choices, as people write them."""

from collections.abc import Iterable, Iterator

from ...core.run import Fold
from .choices import choices, ordinary, step
from .scenario import Scenario
from .settling import settle
from .world import Watch, World

__all__ = ["deviations", "run_schedule"]

LONGEST = 200
"""How many steps ``deviations`` goes at most: a tool that hangs is waited for for ever."""


def run_schedule(
    scenario: Scenario, schedule: Iterable[int | str], fold: type[Fold] = Fold, watch: Watch = Watch.CLOSELY
) -> World:
    """The world after the schedule and after settling; raises ``PromiseBroken`` with a trace.

    ``fold`` is the fold under test: give a subclass to see what the simulator makes of other rules.
    """
    world = World(scenario, fold, watch)
    for which in schedule:
        step(world, which)
    settle(world)
    return world


def deviations(scenario: Scenario, after: tuple[int, ...] = (), fold: type[Fold] = Fold) -> Iterator[tuple[int, ...]]:
    """Every schedule that begins with ``after``, goes on with the ordinary, and then deviates from it once.

    Given what it yields as ``after`` again, it finds every schedule with two deviations, and so on.
    """
    world = World(scenario, fold, Watch.NOT_AT_ALL)
    for number in after:
        step(world, number)
    while len(world.schedule) < LONGEST:
        for number in range(1, len(choices(world))):
            yield (*world.schedule, number)
        if ordinary(world) is None:
            return
        step(world, 0)
