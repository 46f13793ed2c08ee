"""What the in-memory agent costs: checking arguments, turns, and arguments that are looked at while they arrive.

Times are of the processor, not of the clock, and the least of some repetitions. The fold is timed by itself, without
collections of garbage, on the events of a run that was scripted before.
"""

import gc
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from turnfold.adapters.schemas import check_with_rust
from turnfold.core.agent import AgentFold, AgentRules, AgentState, Hook
from turnfold.core.arguments import Accepted, ToolArguments, prepare
from turnfold.effects.agent import AgentEvent, Context, MessageUpdated
from turnfold.effects.agent_vocabulary import AgentInput
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelRequest,
    Started,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import StopReason, Usage
from turnfold.shells.agent import Agent

from tests.core.agent.world import World, tool

from .world import Echo, StepModel

SCHEMA = {
    "type": "object",
    "required": ["id", "name", "count"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z]+-[0-9]+$"},
        "name": {"type": "string", "minLength": 1, "maxLength": 80},
        "count": {"type": "integer", "minimum": 0},
        "price": {"type": "number"},
        "urgent": {"type": "boolean"},
        "kind": {"enum": ["new", "used"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "mail": {"type": "string", "format": "email"},
        "size": {"type": "object", "properties": {"w": {"type": "number"}, "h": {"type": "number"}}},
    },
}
FITTING = {
    "id": "order-4711", "name": "Lamp", "count": 3, "price": 19.5, "urgent": True, "kind": "new", "tags": ["a", "b"],
    "note": None, "mail": "a@example.org", "size": {"w": 1, "h": 2.5},
}  # fmt: skip
COERCIBLE = {**FITTING, "count": "3", "price": "19.5", "urgent": "true", "tags": '["a", "b"]', "kind": None}
COERCED = {name: value for name, value in FITTING.items() if name != "kind"}
ANSWER: tuple[Delta, ...] = (
    Started(model="scripted"),
    BlockStarted(0, DeltaKind.CALL, "call", "echo"),
    BlockDelta(0, '{"x":"1"}'),
    UsageReported(Usage(input=10, output=2)),
    StreamFinished(StopReason.TOOL_USE),
)
WINDOW = 100
PIECE = 10


async def validations(n: int, kind: str) -> dict[str, Any]:
    """n checks of ten fields by one tool's rules, which were made ready once; as they were sent, or after coercion."""
    arguments = FITTING if kind == "fitting" else COERCIBLE
    ready: ToolArguments = prepare("order", SCHEMA, check_with_rust)
    accepted = ready.check(arguments)
    assert isinstance(accepted, Accepted)
    assert accepted.arguments == (FITTING if kind == "fitting" else COERCED)

    def check() -> None:
        for _ in range(n):
            ready.check(arguments)

    return {"us_per_validation": round(_least(check, 5) / n / 1000, 3)}


async def turns(n: int, kind: str) -> dict[str, Any]:
    """One prompt of n turns, each with one call of a trivial tool, by a model that does not read what was said."""
    taken: list[float] = []
    for _ in range(10 if n <= 200 else 4):
        agent = Agent(StepModel(n), tools=[Echo()])
        before = _now()
        added = await agent.prompt("go")
        taken.append(time.process_time_ns() - before)
        assert len(added) == 2 * n + 2
    return {"ms_per_turn": round(min(taken) / n / 1e6, 4)}


async def fold(n: int, kind: str) -> dict[str, Any]:
    """The fold alone over a run of n turns, with no hooks or with hooks that change nothing: early turns and late."""
    rules = AgentRules(frozenset(Hook) if kind == "hooks" else frozenset())
    world = World(rules, answers=[ANSWER] * n, tools=(tool("echo"),)).prompt("go")
    events = [event for event, _ in world.trace]
    begins = [place for place, event in enumerate(events) if _is_started(event)]
    early = range(begins[200 - WINDOW // 2], begins[200 + WINDOW // 2])
    late = range(begins[n - WINDOW - 1], begins[n - 1])
    found = [_windows(rules, events, (early, late)) for _ in range(15)]
    first, last = (min(one[place] for one in found) for place in (0, 1))
    return {
        "events_per_turn": round(len(early) / WINDOW, 3),
        "us_per_event_at_turn_200": round(first / len(early) / 1000, 3),
        f"us_per_event_at_turn_{n}": round(last / len(late) / 1000, 3),
        "ratio": round(last / len(late) / (first / len(early)), 3),
    }


def _is_started(event: AgentInput) -> bool:
    return isinstance(getattr(event, "deltas", (None,))[0], Started)


def _windows(rules: AgentRules, events: list[AgentInput], windows: tuple[range, ...]) -> list[int]:
    """Fold all events; the time that those in each window took."""
    machine = AgentFold(rules)
    state: AgentState = machine.start(Context(Seq(), (tool("echo"),)))
    taken: list[int] = []
    place = 0
    for window in windows:
        for event in events[place : window.start]:
            state, _ = machine.reduce(state, event)
        gc.disable()
        before = _now()
        for event in events[window.start : window.stop]:
            state, _ = machine.reduce(state, event)
        taken.append(time.process_time_ns() - before)
        gc.enable()
        place = window.stop
    return taken


async def arguments(n: int, kind: str) -> dict[str, Any]:
    """One call whose arguments come in n deltas: one text, or many edits; a listener looks at each delta, or never."""
    text = _one_text(n * PIECE) if kind in ("unseen", "text") else _many_edits(n * PIECE)
    shown: list[Any] = [None]

    def look(event: AgentEvent) -> None:
        if isinstance(event, MessageUpdated) and (found := event.arguments) is not None:
            shown[0] = found

    taken: list[int] = []
    for _ in range(4):
        agent = Agent(_Talker(text), tools=[Echo()])
        if kind != "unseen":
            agent.subscribe(look)
        before = _now()
        await agent.prompt("go")
        taken.append(time.process_time_ns() - before)
        assert kind == "unseen" or shown[0] == json.loads(text)
    return {"us_per_delta": round(min(taken) / n / 1000, 2)}


class _Talker:
    """Asks for one call, in pieces; then it is done."""

    def __init__(self, arguments: str) -> None:
        self.pieces = [arguments[place : place + PIECE] for place in range(0, len(arguments), PIECE)]
        self.asked = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        yield Started(model="scripted")
        if not self.asked:
            self.asked = True
            yield BlockStarted(0, DeltaKind.CALL, "call", "echo")
            for piece in self.pieces:
                yield BlockDelta(0, piece)
            yield BlockEnded(0)
            yield StreamFinished(StopReason.TOOL_USE)
        else:
            yield BlockStarted(0, DeltaKind.TEXT)
            yield BlockDelta(0, "done")
            yield StreamFinished()


def _one_text(length: int) -> str:
    """What writing a file looks like: one long text, so many characters of JSON in all."""
    around = json.dumps({"path": "notes.txt", "content": ""})
    return around[:-2] + ("A line of it.\\n" * length)[: length - len(around) - 1] + '."}'


def _many_edits(length: int) -> str:
    """What many edits look like: a list of small objects, so many characters of JSON in all."""
    edit = json.dumps({"old": "one thing", "new": "another"}) + ", "
    whole = '{"edits": [' + edit * (length // len(edit) - 1)
    return whole + json.dumps({"new": "x" * (length - len(whole) - len('{"new": ""}]}'))}) + "]}"


def _now() -> int:
    """The processor's time that this process has used, in nanoseconds. What was garbage before is gone."""
    gc.collect()
    return time.process_time_ns()


def _least(work: Callable[[], None], times: int) -> int:
    """The least time that it takes, in nanoseconds."""
    taken: list[int] = []
    for _ in range(times):
        before = _now()
        work()
        taken.append(time.process_time_ns() - before)
    return min(taken)


WORKLOADS = {"validations": validations, "turns": turns, "fold": fold, "arguments": arguments}
CELLS: list[tuple[str, int, str]] = [
    *(("validations", n, kind) for kind in ("fitting", "coercible") for n in (1_000, 10_000)),
    *(("turns", n, "memory") for n in (200, 2_000)),
    *(("fold", 2_000, kind) for kind in ("plain", "hooks")),
    *(("arguments", n, kind) for kind in ("unseen", "text", "edits") for n in (5_000, 20_000)),
]
