"""A scripted run, folded by hand: prints every event, every effect and the last state as bytes.

Run by its path, in a process of its own; ``test_same_bytes`` compares two of them. The run is begun, crashes in the
middle of a batch of calls, is resumed and ends. There is no clock, no task and no port: effects are answered at once.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

import msgspec
from turnfold.core.run import Fold, RunSpec, RunState, rules_for
from turnfold.effects.codec import encode_effect, encode_event
from turnfold.effects.feed import (
    Claim,
    ClaimInput,
    FeedPolled,
    FeedWatched,
    InputClaimed,
    InputMessage,
    PollFeed,
    WatchFeed,
)
from turnfold.effects.journal import (
    AttemptBegun,
    AttemptEnded,
    BeginAttempt,
    Begun,
    CallSaved,
    EndAttempt,
    LeaseRenewed,
    RenewLease,
    SaveCall,
    SaveStep,
    StepSaved,
)
from turnfold.effects.lifecycle import RunEnded, RunStarted
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    Delta,
    DeltaKind,
    ModelStreamed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.outcome import Delivered
from turnfold.effects.tool import RunTool, ToolFailed, ToolProgressed, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import StopReason, ToolDeclaration, Usage
from turnfold.effects.vocabulary import Effect, Event
from turnfold.shells.simulate import store

NOTES = {f"note-{number}": str(number) for number in range(8)}
TOOLS = (
    ToolSpec(ToolDeclaration("read"), replayable=True, notes=NOTES),
    ToolSpec(ToolDeclaration("pay"), side_effects=True, notes=NOTES),
    ToolSpec(ToolDeclaration("fail"), notes=NOTES),
)
INPUT = Claim((InputMessage("Pay my bills, please.", id="1", meta=NOTES), InputMessage("Soon.", id="2")), 2)

Guard = Callable[[], AbstractContextManager[None]]


def call(index: int, name: str, arguments: str) -> tuple[Delta, ...]:
    return BlockStarted(index, DeltaKind.CALL, f"call-{index}", name), BlockDelta(index, arguments)


CALLS = StreamFinished(StopReason.TOOL_USE)
ANSWERS: tuple[tuple[Delta, ...], ...] = (
    (
        BlockStarted(0, DeltaKind.THINKING),
        BlockDelta(0, "Which ones?"),
        BlockStarted(1, DeltaKind.TEXT),
        BlockDelta(1, "Let me see."),
        *(delta for index in range(2, 8) for delta in call(index, "read", f'{{"bill": {index}}}')),
        *call(8, "fail", "{}"),
        *call(9, "unheard_of", "{}"),
        UsageReported(Usage(10, 2, 1, 5, 3)),
        CALLS,
    ),
    (*call(0, "pay", '{"bill": 1}'), *call(1, "pay", '{"bill": 2}'), *call(2, "read", '{"cut off'), CALLS),
    (BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "All paid."), StreamFinished()),
)


class World:
    """Answers effects, and keeps what an execution leaves to the next one."""

    def __init__(self) -> None:
        self.stored = store.Stored()
        self.claimed = 0
        self.asked = 0
        self.at = 1_700_000_000_000

    def now(self) -> int:
        self.at += 7
        return self.at

    def answers(self, effect: Effect) -> Iterable[Event]:
        match effect:
            case BeginAttempt() | RenewLease() | EndAttempt() | SaveStep() | SaveCall():
                yield self.write(effect)
            case WatchFeed(ticket=ticket):
                yield FeedWatched(self.now(), ticket)
            case PollFeed(ticket=ticket, after=after):
                yield FeedPolled(self.now(), ticket, INPUT.boundary if after < INPUT.boundary else 0)
            case ClaimInput(ticket=ticket):
                yield InputClaimed(self.now(), ticket, INPUT)
            case CallModel(ticket=ticket):
                deltas = ANSWERS[self.asked]
                self.asked += 1
                yield ModelStreamed(self.now(), ticket, deltas[:-1])
                yield ModelStreamed(self.now(), ticket, deltas[-1:])
            case RunTool(ticket=ticket, invocation=invocation):
                yield ToolProgressed(self.now(), ticket, ToolResult("half"))
                if invocation.name == "fail":
                    yield ToolFailed(self.now(), ticket, "out of order")
                else:
                    yield ToolReturned(self.now(), ticket, ToolResult(f"{invocation.name} done", structured=NOTES))
            case _:
                return

    def write(self, order: BeginAttempt | RenewLease | EndAttempt | SaveStep | SaveCall) -> Event:
        now, ticket = self.now(), order.ticket
        match order:
            case BeginAttempt(lease_ms=lease_ms):
                begun = store.begin(self.stored, now, lease_ms, take_over=True)
                assert isinstance(begun, store.Stored)
                self.stored = begun
                return AttemptBegun(now, ticket, Begun(begun.attempt, store.load(begun)))
            case RenewLease():
                return LeaseRenewed(now, ticket)
            case EndAttempt():
                return AttemptEnded(now, ticket)
            case SaveStep(attempt=attempt, step=step):
                self.stored = store.save_step(self.stored, attempt, step) or self.stored
                return StepSaved(now, ticket)
            case SaveCall(attempt=attempt, call=call):
                self.stored = store.save_call(self.stored, attempt, call) or self.stored
                return CallSaved(now, ticket, self.stored.calls[call.id])


def execute(world: World, fold: Fold, seed: bytes, guard: Guard, crash_at: str | None) -> Iterator[bytes]:
    """One execution, which stops short when a tool of the given name is asked for."""
    state: RunState = fold.start()
    events: deque[Event] = deque([RunStarted(world.now(), seed)])
    while events:
        event = events.popleft()
        with guard():
            state, effects = fold.reduce(state, event)
        yield encode_event(event)
        for effect in effects:
            yield encode_effect(effect)
            if isinstance(effect, RunTool) and effect.invocation.name == crash_at:
                return
            if isinstance(effect, RunEnded):
                assert isinstance(effect.result.outcome, Delivered), effect.result.outcome
            events.extend(world.answers(effect))
    yield repr(state).encode()


def run(guard: Guard = nullcontext) -> Iterator[bytes]:
    """The whole run, line by line; the fold itself runs inside ``guard``."""
    world = World()
    fold = Fold(rules_for(RunSpec("run", instruction="Be brief.", tools=TOOLS)))
    yield from execute(world, fold, b"first", guard, crash_at="pay")
    yield from execute(world, fold, b"second", guard, crash_at=None)
    yield msgspec.json.encode(sorted((call.name, call.status) for call in world.stored.calls.values()))


if __name__ == "__main__":
    for line in run():
        sys.stdout.buffer.write(line + b"\n")
