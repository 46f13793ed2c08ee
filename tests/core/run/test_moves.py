"""Every phase meets every event: a legal move, a tolerated repeat that is listed, or ``IllegalEvent`` and nothing else.

States are collected by the simulator, one for each combination of phases that its worlds reach; each then gets every
event there is, for every ticket in flight and for one that is not. What is legal is worked out here from the printed
table alone, so the table that people read is the table that holds.
"""

import functools
import random
from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, get_args

import pytest
from turnfold.core.invariants import broken
from turnfold.core.run import Fold, IllegalEvent, Rules, RunSpec, RunState, table
from turnfold.core.run.moves import ANSWERS, STREAMS
from turnfold.effects.clock import Woke
from turnfold.effects.feed import Claim, InputClaimed, InputMessage
from turnfold.effects.journal import AttemptBegun, Begun, CallSaved, Resume
from turnfold.effects.lifecycle import CancelAsked, RunStarted
from turnfold.effects.model import BlockDelta, ModelStreamed, StreamFinished
from turnfold.effects.question import AskGuard, CallPolicy, NeverHappened, Verdict
from turnfold.effects.record import CallStatus, ToolCall
from turnfold.effects.tool import Await, ToolProgressed, ToolResult, ToolReturned
from turnfold.effects.values import frozen
from turnfold.effects.vocabulary import Event
from turnfold.shells.simulate import Watch, deviations, run_schedule

from tests.simulation.demo import WORLDS, troubled
from tests.simulation.worlds import SIZE, case

DRAWN = 150
SOME = 6
"""One of so many of the futures that deviate once from the ordinary of a world is run."""

NOT_IN_FLIGHT = 0


@frozen
class Row:
    """One row of the printed table, for one phase: the region it stands in, and whether it is a tolerated repeat."""

    region: str
    event: str
    phase: str
    tolerated: bool


def rows() -> Iterator[Row]:
    """The rows of the table as it is printed."""
    region = ""
    for line in table().splitlines():
        if line.startswith("**"):
            region = line.strip("*")
        elif line.startswith("| ") and not line.startswith("| event"):
            event, phases, does = (cell.strip() for cell in line.strip("|").split("|"))
            yield from (Row(region, event, phase, does.startswith("tolerated")) for phase in phases.split(", "))


ROWS = {(row.region, row.event, row.phase): row for row in rows()}
REGIONS = {row.event: row.region for row in ROWS.values()}


class Collecting(Fold):
    """The fold, which keeps one state for each combination of phases that it reaches."""

    states: ClassVar[dict[tuple[Any, ...], tuple[RunState, Rules]]] = {}

    def reduce(self, state: RunState, event: Event) -> Any:
        """Fold, and collect."""
        reduced = super().reduce(state, event)
        self.states.setdefault(signature(reduced[0]), (reduced[0], self.rules))
        return reduced


def signature(state: RunState) -> tuple[Any, ...]:
    """Which phases a state is in."""
    phases = (state.life, state.turn.phase, state.loop.phase, state.saving.phase, state.feed.watch, state.lease.phase)
    calls = frozenset(type(live.phase).__name__ for live in state.batch.live.values())
    model = (state.model.wanted, state.model.ticket is None, state.model.withdrawn is None)
    guard = any(order is AskGuard for order, _ in state.tickets.in_flight.values())
    return (*(type(phase).__name__ for phase in phases), calls, model, state.feed.claiming, guard)


@functools.cache
def collected() -> list[tuple[RunState, Rules]]:
    """The states that the simulator's worlds reach."""
    drawn = random.Random(0)
    for _ in range(DRAWN):
        one = case(drawn.randbytes(SIZE))
        run_schedule(one.scenario, one.schedule, Collecting)
    for world in WORLDS.values():
        # A guard is asked by one event only, so that nothing that may happen then is left out.
        for schedule in islice(deviations(troubled(world)), 0, None, 1 if world.reviews else SOME):
            run_schedule(troubled(world), schedule, Collecting, Watch.NOT_AT_ALL)
    begin = Fold(Rules(RunSpec("run"), {}))
    return [(begin.start(), begin.rules), *Collecting.states.values()]


# --- events


def events(state: RunState) -> Iterator[Event]:
    """Every kind of event, for every ticket there is and for one there is not."""
    now = state.clock.now + 1
    yield from (RunStarted(now, b"again"), CancelAsked(now), Woke(now))
    for kind in sorted(ANSWERS, key=lambda kind: kind.__name__):
        for ticket in (NOT_IN_FLIGHT, *state.tickets.in_flight):
            yield from answers(state, kind, now, ticket)


def answers(state: RunState, kind: type, now: int, ticket: int) -> Iterator[Event]:
    """Events of one kind for one ticket; more than one where it matters what they say."""
    if kind is AttemptBegun:
        yield AttemptBegun(now, ticket, Begun(1, Resume()))
    elif kind is CallSaved:
        subject = state.tickets.in_flight.get(ticket, (object, ""))[1]
        live = state.batch.live.get(subject)
        yield CallSaved(now, ticket, live.record if live else ToolCall("nobody", CallStatus.FAILED, rev=9))
    elif kind is InputClaimed:
        _, through = state.feed.claim or (0, 1)
        yield InputClaimed(now, ticket, Claim((InputMessage("late", f"late {now}"),), through))
        yield InputClaimed(now, ticket, Claim((), 0))
    elif kind is ModelStreamed:
        yield ModelStreamed(now, ticket, ())
        yield ModelStreamed(now, ticket, (BlockDelta(0, "word"),))
        yield ModelStreamed(now, ticket, (BlockDelta(0, "word"), StreamFinished()))
    elif kind in (ToolReturned, ToolProgressed):
        yield kind(now, ticket, ToolResult("result"))
    else:
        more: dict[str, Any] = {
            "until": now + 5,
            "latest": 0,
            "message": "it failed",
            "reason": "not this one",
            "control": Await(),
            "policy": CallPolicy(),
            "finding": NeverHappened(),
            "verdict": Verdict(),
        }
        wanted = [name for name in kind.__annotations__ if name in more]  # type: ignore[attr-defined]
        yield kind(now, ticket, *(more[name] for name in wanted))


def row_for(state: RunState, event: Event) -> Row | None:
    """The row of the printed table under which an event is legal, or nothing."""
    name = type(event).__name__
    region = REGIONS[name]
    ticket = getattr(event, "ticket", None)
    asked, subject = state.tickets.in_flight.get(ticket, (None, "")) if ticket is not None else (None, "")
    if type(event) in ANSWERS and asked not in ANSWERS[type(event)]:
        return None
    phase = {
        "life": lambda: type(state.life).__name__,
        "lease": lambda: type(state.lease.phase).__name__,
        "saving": lambda: type(state.saving.phase).__name__,
        "feed": lambda: type(state.feed.watch).__name__,
        "model": lambda: "Withdrawn" if state.model.withdrawn == ticket else "Wanted",
        "calls": lambda: type(state.batch.live[subject].phase).__name__,
        "questions": lambda: type(state.batch.live[subject].phase if subject else state.turn.phase).__name__,
    }[region]()
    return ROWS.get((region, name, phase))


# --- tests


def test_every_event_has_its_place_in_the_table() -> None:
    """No event is forgotten, none stands in two regions, and answers are listed with what they answer."""
    names = {kind.__name__ for kind in get_args(Event)}
    assert set(REGIONS) == names
    assert len({(row.region, row.event) for row in ROWS.values()}) == len(names)
    assert {kind.__name__ for kind in ANSWERS} == names - {"RunStarted", "CancelAsked", "Woke"}
    assert set(STREAMS) <= set(ANSWERS)


def test_worlds_reach_enough_combinations_of_phases() -> None:
    """So that meeting every event there means something."""
    assert len(collected()) >= 100


def test_every_row_is_reached() -> None:
    """A row that nothing reaches is dead, or its world is missing."""
    met = {row_for(state, event) for state, _ in collected() for event in events(state)}
    assert set(ROWS.values()) - met == set()


def test_every_phase_meets_every_event() -> None:
    """The legal moves are exactly those of the table; every other leaves the state as it was; all promises hold."""
    legal = 0
    for state, rules in collected():
        fold = Fold(rules)
        before = repr(state)
        for event in events(state):
            if row_for(state, event) is None:
                with pytest.raises(IllegalEvent):
                    fold.reduce(state, event)
                continue
            after, effects = fold.reduce(state, event)
            assert broken(state, after, effects, rules) == (), (state, event)
            legal += 1
        assert repr(state) == before
    assert legal > 1_000


def test_a_tolerated_repeat_asks_for_nothing_new_in_the_world() -> None:
    """What is tolerated is harmless: no tool, no model call and no outcome follows from it."""
    for state, rules in collected():
        for event in events(state):
            row = row_for(state, event)
            if row is not None and row.tolerated and not isinstance(event, Woke):
                _, effects = Fold(rules).reduce(state, event)
                assert not {type(effect).__name__ for effect in effects} & {"RunTool", "CallModel"}, (state, event)
