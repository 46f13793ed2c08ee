"""One execution in a simulated world: its fold, its state, and what it asked for and has not been told yet."""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeGuard

from ...core.run import Fold, RunState
from ...core.run.head import Head, decode_head, spent_so_far
from ...effects.clock import WakeAt
from ...effects.display import DisplayDelta, Operation, Snapshot, apply_delta
from ...effects.feed import ClaimInput, FeedPolled, InputClaimed, PollFeed, WatchFeed
from ...effects.journal import (
    AttemptBegun,
    BeginAttempt,
    CallSaved,
    EndAttempt,
    RenewLease,
    SaveCall,
    SaveStep,
    StepSaved,
)
from ...effects.lifecycle import Publish, RunEnded, RunResult
from ...effects.model import CallModel, CancelModel, Delta, ModelStreamed, Started, UsageReported
from ...effects.question import AskGuard, AskPolicy, AskReconcile, CancelQuestion
from ...effects.record import CallStatus, Handover, ToolCall
from ...effects.spending import NO_SPENDING, Spent
from ...effects.tool import CancelTool, RunTool
from ...effects.transcript import ZERO_USAGE, Usage
from ...effects.values import replace
from ...effects.vocabulary import Effect, Event
from .outputs import Output

__all__ = ["Answer", "Asked", "Executor", "JournalOrder", "Pending", "asks_host", "is_journal_order"]

Answer = tuple[Callable[..., Event], tuple[Any, ...]]
"""An event that only wants its time and its ticket: its class and what else it holds."""

JournalOrder = BeginAttempt | RenewLease | EndAttempt | SaveStep | SaveCall
Asked = JournalOrder | WatchFeed | PollFeed | ClaimInput | CallModel | RunTool | AskPolicy | AskReconcile | AskGuard
"""The orders that are answered under their ticket."""


def is_journal_order(order: Asked) -> TypeGuard[JournalOrder]:
    """Whether the order is one to the journal."""
    return isinstance(order, JournalOrder)


def asks_host(order: Asked) -> bool:
    """Whether the order submits or pauses a call, which the host may refuse."""
    if not isinstance(order, SaveCall) or order.call.settled:
        return False
    return order.call.handover is Handover.SUBMITTED or order.call.status == CallStatus.AWAITING_DECISION


class Pending:
    """An order that was given and whose last answer is still out.

    ``answer`` is set once the order was carried out and nobody has been told; ``output`` and ``sent`` say how far a
    model call has come; ``cancelled`` that it is to stop; ``open`` that a subscription is in effect.
    """

    __slots__ = ("answer", "cancelled", "open", "order", "output", "sent", "ticket")

    def __init__(self, order: Asked) -> None:
        self.order = order
        self.ticket = order.ticket
        self.answer: Answer | None = None
        self.output: Output | None = None
        self.sent = 0
        self.cancelled = False
        self.open = False


class Executor:
    """One execution, alive until it ends by itself (``result``) or dies."""

    def __init__(self, number: int, fold: Fold) -> None:
        self.number = number
        self.fold = fold
        self.state: RunState = fold.start()
        self.pending: dict[int, Pending] = {}
        self.wake: int | None = None
        self.result: RunResult | None = None
        self.died = False
        self.attempt = 0
        self.claimed = 0
        self.latest = 0
        self.asked_model = 0
        self.used: dict[int, Spent] = {}
        self._before = NO_SPENDING
        self.fresh = False
        self._fresh_polls: set[int] = set()
        self.told: dict[str, ToolCall] = {}
        self.blamed: set[str] = set()
        self.answered: deque[tuple[int, Event]] = deque(maxlen=4)
        self.screen = Snapshot(str(number))

    @property
    def alive(self) -> bool:
        """Whether it still does anything."""
        return self.result is None and not self.died

    def take(self, effects: tuple[Effect, ...]) -> list[Asked]:
        """Note and return what it asked for; raises ``KeyError`` when it withdraws what is not out."""
        orders: list[Asked] = []
        for effect in effects:
            match effect:
                case Publish(operations=operations):
                    self._show(operations)
                case RunEnded(result=result):
                    self.result = result
                case WakeAt(at=at):
                    self.wake = at
                case CancelModel(ticket=ticket) | CancelTool(ticket=ticket) | CancelQuestion(ticket=ticket):
                    self.pending[ticket].cancelled = True
                case _:
                    self.pending[effect.ticket] = Pending(effect)
                    orders.append(effect)
                    if isinstance(effect, PollFeed):
                        self._fresh_polls.add(effect.ticket)
        return orders

    def hear(self, event: Event) -> None:
        """Note what an event tells it that the world must remember.

        ``used`` is what the model last reported in each call. ``fresh`` is
        whether it knows of all input that was there when its last write was acknowledged: by a poll that was asked
        afterwards, or by a claim.
        """
        match event:
            case AttemptBegun(begun=begun):
                self.attempt = begun.attempt
                head = Head() if begun.resume.state is None else decode_head(begun.resume.state)
                self._before = spent_so_far(head, begun.resume.usage)
                self._write_acknowledged()
            case ModelStreamed(ticket=ticket, deltas=deltas):
                self._note_usage(ticket, deltas)
            case StepSaved():
                self._write_acknowledged()
            case CallSaved(call=call):
                self.told[call.id] = call
                self._write_acknowledged()
            case FeedPolled(ticket=ticket, latest=latest):
                self.latest = max(self.latest, latest)
                self.fresh = self.fresh or ticket in self._fresh_polls
            case InputClaimed(claim=claim):
                self.claimed = claim.boundary
                self.fresh = True
            case _:
                pass

    def _write_acknowledged(self) -> None:
        self.fresh = False
        self._fresh_polls.clear()

    def _note_usage(self, ticket: int, deltas: tuple[Delta, ...]) -> None:
        for delta in deltas:
            used = self.used.get(ticket, Spent())
            if isinstance(delta, UsageReported):
                self.used[ticket] = replace(used, usage=delta.usage)
            elif isinstance(delta, Started):
                self.used[ticket] = replace(used, provider=delta.provider, model=delta.model)

    @property
    def spent(self) -> dict[tuple[str, str, str], Usage]:
        """All tokens the run has used, as far as this execution was told, by model and purpose."""
        spent: dict[tuple[str, str, str], Usage] = {}
        for row in (*self._before.rows, *self.used.values()):
            if row.usage != ZERO_USAGE:
                spent[row.key] = spent.get(row.key, ZERO_USAGE) + row.usage
        return spent

    def settled(self, ticket: int) -> None:
        """The last answer to an order is in."""
        del self.pending[ticket]

    def open_tickets(self) -> list[Pending]:
        """What it waits for, the oldest first; a subscription that is in effect is not waited for."""
        return [pending for pending in self.pending.values() if not pending.open]

    def waiting_for(self, *kinds: type[Asked]) -> list[Pending]:
        """The orders of some kinds that are still out."""
        return [pending for pending in self.pending.values() if isinstance(pending.order, kinds)]

    def idle(self) -> bool:
        """Whether nothing but its subscription is out."""
        return all(isinstance(pending.order, WatchFeed) for pending in self.pending.values())

    def _show(self, operations: tuple[Operation, ...]) -> None:
        screen = self.screen
        self.screen = apply_delta(screen, DisplayDelta(screen.stream, screen.sequence, screen.sequence + 1, operations))
