"""Events that cannot happen, made to measure for a state of affairs: each must be refused, and leave no trace.

Answers to questions that were never asked, that were answered already, or that are answered by something else; events
of an execution that is over. What an honest shell could deliver is never among them.
"""

from collections.abc import Iterator
from typing import Any

from ...effects.feed import FeedPolled, FeedWatched, InputSignalled, PollFeed, WatchFeed
from ...effects.journal import AttemptEnded, EndAttempt, SaveStep, StepSaved
from ...effects.lifecycle import RunStarted
from ...effects.model import CallModel, ModelCutOff, ModelStreamed
from ...effects.question import (
    AskGuard,
    AskPolicy,
    AskReconcile,
    CallPolicy,
    NeverHappened,
    PolicyGiven,
    Reconciled,
    Verdict,
    VerdictGiven,
)
from ...effects.tool import RunTool, ToolProgressed, ToolResult, ToolReturned
from ...effects.values import replace
from ...effects.vocabulary import Event
from .executor import Executor
from .world import World

__all__ = ["impossible"]


def impossible(world: World, executor: Executor) -> Iterator[Event]:
    """Some events that cannot happen to this executor now."""
    now, never = world.now, 1_000_000
    yield RunStarted(now, b"again")
    yield StepSaved(now, never)
    yield ModelStreamed(now, never, ())
    yield ToolReturned(now, 0, ToolResult("nobody asked"))
    for other in world.executors:
        yield from (replace(old, at=now) for ticket, old in other.answered if ticket not in executor.pending)
    for pending in executor.pending.values():
        ticket = pending.ticket
        yield from (wrong(now, ticket, *more) for wrong, more in _wrong(pending.order))
        if isinstance(pending.order, WatchFeed):
            yield FeedWatched(now, ticket) if pending.open else InputSignalled(now, ticket)


def _wrong(order: object) -> list[tuple[Any, tuple[Any, ...]]]:
    """Answers of the wrong kind to an order."""
    return [answer for kind, answer in _ANSWERS.items() if not isinstance(order, kind)]


_ANSWERS: dict[type, tuple[Any, tuple[Any, ...]]] = {
    SaveStep: (StepSaved, ()),
    EndAttempt: (AttemptEnded, ()),
    CallModel: (ModelCutOff, ()),
    RunTool: (ToolProgressed, (ToolResult("half way"),)),
    PollFeed: (FeedPolled, (3,)),
    AskPolicy: (PolicyGiven, (CallPolicy(),)),
    AskReconcile: (Reconciled, (NeverHappened(),)),
    AskGuard: (VerdictGiven, (Verdict(),)),
}
