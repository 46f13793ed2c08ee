"""A turn costs the same however long the run is, and so does a delta of arguments; counted and not timed.

Counted are the lines of Python that the fold runs, and the memory that it takes: a list of messages that is looked
through costs more and more of the one, a list that is copied more and more of the other.
"""

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from turnfold.core.agent import AgentFold, AgentRules, Hook, first_view, watch_event
from turnfold.effects.agent import MessageUpdated, TurnEnded
from turnfold.effects.agent_vocabulary import AgentInput, Emit
from turnfold.effects.model import BlockDelta, BlockEnded, BlockStarted, DeltaKind, Started, StreamFinished
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import StopReason

from tests.core.agent.world import ALL_HOOKS, World, tool

AT = (50, 100, 200, 400)
NEAR = 12
ANSWER = (
    Started(model="m1"),
    BlockStarted(0, DeltaKind.CALL, "a", "clock"),
    BlockDelta(0, '{"zone": '),
    BlockDelta(0, '"Europe"}'),
    BlockEnded(0),
    StreamFinished(StopReason.TOOL_USE),
)

Meter = Callable[[Callable[[], None]], int]


class Machine:
    """A run that only folds, and the agent as its host sees it."""

    def __init__(self, rules: AgentRules) -> None:
        self.fold = AgentFold(rules)
        self.view = first_view(Seq(), (tool(),), "", None, "off")
        self.state = self.fold.start(self.view.talk)

    def take(self, event: AgentInput) -> None:
        self.state, effects = self.fold.reduce(self.state, event)
        for effect in effects:
            if isinstance(effect, Emit):
                self.view = watch_event(self.view, effect.event)

    @property
    def turn_is_over(self) -> bool:
        return any(isinstance(effect, Emit) and isinstance(effect.event, TurnEnded) for effect in self.state.out)


def costs(hooks: frozenset[Hook], meter: Meter) -> list[list[int]]:
    """What turns cost at each place of a long run, some turns at each. What happens in it was made up before."""
    rules, turns = AgentRules(hooks), AT[-1] + NEAR
    world = World(rules, answers=[ANSWER] * turns).prompt("go")
    machine = Machine(rules)
    found = [0]
    for event, _ in world.trace:
        if any(place <= len(found) <= place + NEAR for place in AT):
            found[-1] += meter(lambda event=event: machine.take(event))
        else:
            machine.take(event)
        if machine.turn_is_over:
            found.append(0)
    assert len(machine.view.messages) == len(machine.state.talk.messages) == 2 * turns + 3
    return [found[place : place + NEAR] for place in AT]


def lines_run(work: Callable[[], None]) -> int:
    """How many lines of Python something runs; those of the collector's callbacks, which others may add, left out."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return lines


def bytes_taken(work: Callable[[], None]) -> int:
    """How much memory something takes at once, what it gives back included."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    work()
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.parametrize("hooks", [frozenset[Hook](), ALL_HOOKS], ids=["no hooks", "hooks that change nothing"])
class TestATurn:
    """At the fiftieth and at the four hundredth."""

    def test_runs_the_same_lines(self, hooks: frozenset[Hook]) -> None:
        found = costs(hooks, lines_run)
        assert min(map(min, found)) > 100
        assert len({count for place in found for count in place}) == 1, found

    def test_takes_as_much_memory(self, hooks: frozenset[Hook]) -> None:
        """Lists grow in leaps, so the least of some turns counts; a copy of the messages would be a quarter more."""
        tracemalloc.start()
        try:
            found = [min(place) for place in costs(hooks, bytes_taken)]
        finally:
            tracemalloc.stop()
        assert min(found) > 1_000
        assert max(found) < 1.1 * min(found), found


class TestADelta:
    """Of the arguments of a call, while somebody looks at each."""

    def test_runs_the_same_lines(self) -> None:
        text = json.dumps({"path": "notes.txt", "content": "many words" * 500})
        pieces = [text[place : place + 10] for place in range(0, len(text), 10)]
        deltas = (*ANSWER[:2], *(BlockDelta(0, piece) for piece in pieces), *ANSWER[-2:])
        world = World(answers=[deltas]).prompt("go")
        machine = Machine(AgentRules())
        shown: list[Any] = []
        found: list[int] = []

        def take(event: AgentInput) -> None:
            machine.take(event)
            if isinstance(machine.view.streaming, MessageUpdated):
                shown.append(machine.view.streaming.arguments)

        for event, _ in world.trace:
            found.append(lines_run(lambda event=event: take(event)))
            if machine.turn_is_over:
                break
        assert len({cost for place in AT for cost in found[place : place + NEAR]}) == 1, found
        assert shown[-1] == json.loads(text)
        assert len(shown) == len(pieces) + 2
