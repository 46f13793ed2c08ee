"""A run driven by hand: a test answers the orders it is about, and an obliging world answers the rest.

``ByHand`` holds the state; ``tell`` folds one event, ``until`` lets the world answer until an order of a kind is there.
Every event is folded where it can touch nothing, twice with the same result, and checked against the promises.
"""

import itertools
from collections.abc import Iterable
from typing import Any, TypeVar

from turnfold.core.invariants import broken
from turnfold.core.run import Ended, Fold, RunSpec, RunState, rules_for
from turnfold.effects.clock import WakeAt, Woke
from turnfold.effects.display import DisplayDelta, Snapshot, apply_delta
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
    Resume,
    SaveCall,
    SaveStep,
    StepSaved,
    merge_call,
)
from turnfold.effects.lifecycle import Publish, RunEnded, RunResult, RunStarted
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    Delta,
    DeltaKind,
    ModelStreamed,
    StreamFinished,
)
from turnfold.effects.record import ToolCall
from turnfold.effects.tool import RunTool, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import StopReason, ToolDeclaration
from turnfold.effects.vocabulary import Effect, Event

from tests.rules.purity import pure

T = TypeVar("T")

START = 1_000_000
"""When every run by hand starts, in milliseconds."""

LONG = 300
"""How many answers of the world are more than any run by hand needs: time alone would pass for ever."""


def spec_of(*names: str, **spec: Any) -> RunSpec:
    """A run with plain tools of these names."""
    return RunSpec("run", tools=tuple(ToolSpec(ToolDeclaration(name)) for name in names), **spec)


class ByHand:
    """One execution. ``orders`` are those nobody has answered yet; ``asked`` are all that ever were."""

    def __init__(self, spec: RunSpec | None = None, *, resume: Resume | None = None, **rules: Any) -> None:
        self.rules = rules_for(spec or spec_of("echo"), **rules)
        self.fold = Fold(self.rules)
        self.state: RunState = self.fold.start()
        self.now = START
        self.wake_at = START
        self.orders: list[Any] = []
        self.asked: list[Effect] = []
        self.snapshot = Snapshot("s")
        self.messages = [InputMessage("hi", "m1")]
        self.stored: dict[str, ToolCall] = {}
        self._resume = resume or Resume()

    def tell(self, event: Event) -> tuple[Effect, ...]:
        """Fold one event."""
        before = self.state
        with pure():
            self.state, effects = self.fold.reduce(before, event)
            assert self.fold.reduce(before, event) == (self.state, effects)
        assert broken(before, self.state, effects, self.rules) == ()
        for effect in effects:
            if isinstance(effect, Publish):
                sequence = self.snapshot.sequence
                delta = DisplayDelta("s", sequence, sequence + 1, effect.operations)
                self.snapshot = apply_delta(self.snapshot, delta)
            elif isinstance(effect, WakeAt):
                self.wake_at = effect.at
            elif not isinstance(effect, RunEnded):
                self.orders.append(effect)
        self.asked += effects
        return effects

    def start(self, seed: bytes = b"seed") -> "ByHand":
        """The first event."""
        self.tell(RunStarted(self.now, seed))
        return self

    def take(self, kind: type[T]) -> T:
        """An unanswered order of a kind, to be answered by the test."""
        for order in self.orders:
            if isinstance(order, kind):
                self.orders.remove(order)
                return order
        raise AssertionError(f"no {kind.__name__} among {[type(order).__name__ for order in self.orders]}")

    def until(self, kind: type[T]) -> T:
        """The world answers until an order of this kind is there, which is left to the test."""
        for _ in range(LONG):
            if self.waits_for(kind):
                return self.take(kind)
            self.answer_one()
        raise AssertionError(f"no {kind.__name__} comes, however long one waits")

    def to_the_end(self) -> RunResult:
        """The world answers until the run has ended; tools give their name."""
        for _ in range(LONG):
            if isinstance(self.state.life, Ended):
                return self.state.life.result
            self.answer_one()
        raise AssertionError("the run comes to no end")

    def waits_for(self, kind: type) -> bool:
        """Whether an order of this kind has yet to be answered."""
        return any(isinstance(order, kind) for order in self.orders)

    def say(self, *deltas: Delta, batches: Iterable[int] = ()) -> None:
        """The model answers, in one batch or cut at these places."""
        ticket = self.until(CallModel).ticket
        cuts = [0, *batches, len(deltas)]
        for start, end in itertools.pairwise(cuts):
            self.tell(ModelStreamed(self.now, ticket, deltas[start:end]))

    def wake(self, at: int) -> tuple[Effect, ...]:
        """Time passes."""
        self.now = max(self.now, at)
        return self.tell(Woke(self.now))

    def answer_one(self) -> None:
        """The world answers the first order that it answers at all; where there is none, time passes."""
        for order in self.orders:
            event = self._answer(order)
            if event is not None:
                self.orders.remove(order)
                self.tell(event)
                return
        if any(not isinstance(order, WatchFeed) for order in self.orders) or self.wake_at <= self.now:
            raise AssertionError(f"nothing that the world answers among {self.orders}")
        self.wake(self.wake_at)

    def _answer(self, order: Any) -> Event | None:
        match order:
            case BeginAttempt(ticket=ticket):
                return AttemptBegun(self.now, ticket, Begun(1, self._resume))
            case RenewLease(ticket=ticket):
                return LeaseRenewed(self.now, ticket)
            case EndAttempt(ticket=ticket):
                return AttemptEnded(self.now, ticket)
            case SaveStep(ticket=ticket, step=step):
                for record in step.changes.calls:
                    self.stored[record.id] = merge_call(self.stored.get(record.id), record)
                return StepSaved(self.now, ticket)
            case SaveCall(ticket=ticket, call=record):
                self.stored[record.id] = merge_call(self.stored.get(record.id), record)
                return CallSaved(self.now, ticket, self.stored[record.id])
            case WatchFeed(ticket=ticket):
                return FeedWatched(self.now, ticket)
            case PollFeed(ticket=ticket, after=after):
                latest = len(self.messages)
                return FeedPolled(self.now, ticket, latest if latest > after else 0)
            case ClaimInput(ticket=ticket, after=after, through=through):
                return InputClaimed(self.now, ticket, Claim(tuple(self.messages[after:through]), through))
            case RunTool(ticket=ticket, invocation=invocation):
                return ToolReturned(self.now, ticket, ToolResult(invocation.name))
            case _:
                return None


def text(words: str) -> tuple[Delta, ...]:
    """A whole answer that is a text."""
    return BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, words), StreamFinished()


def calls(*names: str, arguments: str = "{}") -> tuple[Delta, ...]:
    """A whole answer that calls these tools; the provider's ids are a, b, c …"""
    blocks: list[Delta] = []
    for index, name in enumerate(names):
        blocks += (BlockStarted(index, DeltaKind.CALL, "abcdefgh"[index], name), BlockDelta(index, arguments))
    return *blocks, StreamFinished(StopReason.TOOL_USE)
