"""What a step costs at the tenth, the hundredth and the thousandth: the same, counted and not timed (decision 1)."""

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from turnfold.core.run import RunSpec, RunState
from turnfold.core.run.spec import Limits
from turnfold.effects.codec import encode
from turnfold.effects.journal import SaveCall, SaveStep
from turnfold.effects.model import CallModel
from turnfold.effects.values import frozen
from turnfold.effects.vocabulary import Effect
from turnfold.shells.simulate import DEMO_TOOLS, Scenario, Watch, World, calls, step

STEPS = 1_000
AT = (10, 100, STEPS - 2)


@frozen
class Cost:
    """What one iteration cost: events folded, effects asked, bytes written, objects that were not there before."""

    events: int
    effects: int
    written: int
    head: int
    objects: int


def costs(steps: int) -> list[Cost]:
    """The cost of each iteration of a long run: one call of a tool each, nothing else."""
    scenario = Scenario(
        outputs=(calls(("lookup", '{"of": "the same thing again"}')),) * steps,
        spec=RunSpec("run", tools=DEMO_TOOLS, limits=Limits(iterations=steps + 1)),
    )
    world = World(scenario, watch=Watch.NOT_AT_ALL)
    found: list[Cost] = []
    while len(found) < steps:
        before = world.executors[0].state if world.executors else None
        step(world, 0)
        after = world.executors[0].state
        line = world.trace.lines[-1]
        cost = one_event(line.effects, new_objects(before, after) if worth_measuring(len(found)) else 0)
        if any(isinstance(effect, CallModel) for effect in line.effects):
            found.append(cost)
        elif found:
            found[-1] = add(found[-1], cost)
    return found


def worth_measuring(step: int) -> bool:
    """Comparing states takes longer than making them, so only some are compared."""
    return any(abs(step - place) <= 2 for place in AT)


def one_event(effects: tuple[Effect, ...], objects: int) -> Cost:
    """What one event cost."""
    steps = [effect.step for effect in effects if isinstance(effect, SaveStep)]
    records = [effect.call for effect in effects if isinstance(effect, SaveCall)]
    written = sum(len(encode(value)) for value in (*steps, *records))
    return Cost(1, len(effects), written, max((len(one.state) for one in steps), default=0), objects)


def add(one: Cost, two: Cost) -> Cost:
    """Both together; of heads, the larger."""
    return Cost(
        one.events + two.events,
        one.effects + two.effects,
        one.written + two.written,
        max(one.head, two.head),
        one.objects + two.objects,
    )


def new_objects(before: RunState | None, after: RunState) -> int:
    """How much of a state is not of the state before it: objects, and the places of tuples and dicts.

    Sequences and key sets that share their backing with the state before count as one each.
    """
    known = {id(value) for value in parts(before)} if before is not None else set[int]()
    new = (value for value in parts(after) if id(value) not in known)
    return sum(1 + len(value) if isinstance(value, tuple | dict) else 1 for value in new)


def parts(value: Any) -> Iterator[Any]:
    """A value and everything in it."""
    if attrs.has(type(value)):
        yield value
        for attribute in attrs.fields(type(value)):
            yield from parts(getattr(value, attribute.name))
    elif isinstance(value, dict):
        yield value
        for member in value.values():
            yield from parts(member)
    elif isinstance(value, tuple):
        yield value
        for member in value:
            yield from parts(member)
    elif type(value).__name__ in ("Seq", "Keys"):
        yield value


@pytest.fixture(scope="module")
def measured() -> list[Cost]:
    """One long run, measured once."""
    return costs(STEPS)


@pytest.mark.parametrize("what", ["events", "effects", "written", "objects"])
def test_a_step_costs_the_same_however_long_the_run_is(measured: list[Cost], what: str) -> None:
    """At the tenth, the hundredth and the thousandth step, within a tenth (W-01, W-02, W-05)."""
    found = [getattr(measured[place], what) for place in AT]
    assert min(found) > 0
    assert max(found) <= 1.1 * min(found), found


def test_the_head_of_a_checkpoint_stays_small(measured: list[Cost]) -> None:
    """At most a kilobyte (architecture: head, logs, values)."""
    assert max(cost.head for cost in measured) <= 1_024


def test_a_durable_step_is_eight_events_three_writes_and_a_poll(measured: list[Cost]) -> None:
    """What a step with one call may cost (architecture: what it may cost)."""
    assert measured[100].events <= 8
