"""One run on trio: an inbox, a nursery, and the fold. The loop here folds an event and carries out what is asked.

Cancelling the task that waits for a run is an event for the run: its calls are cut off, settled and saved under a
shield, within ``SETTLE_S`` seconds, and only then does the cancellation go on its way (decision 5). So it is with
Ctrl-C; a second one does not wait.
"""

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

import trio

from ..core.run import Ended, Fold, RunState
from ..effects.clock import WakeAt, Woke
from ..effects.display import Operation
from ..effects.feed import ClaimInput, FeedFailed, FeedWatched, InputSignalled, PollFeed, WatchFeed
from ..effects.journal import BeginAttempt, EndAttempt, RenewLease, SaveCall, SaveStep
from ..effects.lifecycle import CancelAsked, Publish, RunEnded, RunResult, RunStarted
from ..effects.model import CallModel, CancelModel, Delta, ModelCutOff, ModelStreamed
from ..effects.question import AskGuard, AskPolicy, AskReconcile, CancelQuestion, QuestionCutOff
from ..effects.tool import CancelTool, RunTool, ToolCutOff
from ..effects.vocabulary import Effect, Event
from .perform import (
    FeedOrder,
    JournalOrder,
    Ports,
    Question,
    explain,
    perform_feed,
    perform_journal,
    perform_question,
    perform_tool,
    stream_model,
)

__all__ = ["GRACE_S", "SETTLE_S", "Driver", "Trace"]

GRACE_S = 0.5
"""How long a tool that is stopped may still hand in its result, in seconds."""

SETTLE_S = 10.0
"""How long a cancelled run may take to settle its calls and save, in seconds."""

Trace = Callable[[Event, tuple[Effect, ...]], None]

SHORT = (SaveCall, SaveStep, PollFeed, RenewLease, EndAttempt, BeginAttempt, ClaimInput)


class Driver:
    """Drives one execution of one run."""

    def __init__(
        self,
        fold: Fold,
        ports: Ports,
        *,
        publish: Callable[[tuple[Operation, ...]], None] | None = None,
        trace: Trace | None = None,
        grace_s: float = GRACE_S,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._fold = fold
        self._ports = ports
        self._publish = publish
        self._trace = trace
        self._grace_s = grace_s
        self._settle_s = settle_s
        self._events: deque[Event | tuple[int, list[Delta]]] = deque()
        self._wake: trio.Event | None = None
        self._waiting: dict[int, trio.Event] = {}
        self._scopes: dict[int, trio.CancelScope] = {}
        self._timer: trio.CancelScope | None = None
        self._shield = trio.CancelScope(shield=True)
        self._over = trio.Event()
        self._result: RunResult | None = None
        self._interrupted = False

    async def run(self, seed: bytes, take_over: bool = False) -> RunResult:
        """Execute the run until it ends; ``seed`` is fresh randomness."""
        stopped: BaseException | None = None
        async with trio.open_nursery() as outer:
            outer.start_soon(self._execute, RunStarted(self._ports.now(), seed, take_over))
            try:
                await self._over.wait()
            except (trio.Cancelled, KeyboardInterrupt) as stop:
                stopped = stop
                self._stop()
                await self._settled()
        if self._interrupted or isinstance(stopped, KeyboardInterrupt):
            raise KeyboardInterrupt
        if stopped is not None:
            raise stopped
        assert self._result is not None
        return self._result

    async def _execute(self, first: Event) -> None:
        """The run itself, in a task of its own: what stops the one that waits for it comes between two events."""
        try:
            with self._shield:
                async with trio.open_nursery() as nursery:
                    self._result = await self._loop(nursery, first)
                    nursery.cancel_scope.cancel()
        finally:
            self._over.set()

    async def _settled(self) -> None:
        """Return when the run that is to stop has ended; after another Ctrl-C, at once."""
        with trio.CancelScope(shield=True):
            try:
                await self._over.wait()
            except KeyboardInterrupt:
                self._shield.cancel()

    def _stop(self) -> None:
        self._shield.deadline = trio.current_time() + self._settle_s
        self.cancel()

    def _interrupt(self) -> None:
        """Ctrl-C arrived in somebody's code."""
        self._interrupted = True
        self._stop()

    def cancel(self, reason: str = "") -> None:
        """Ask the run to stop."""
        self.put(CancelAsked(self._ports.now(), reason))

    @trio.lowlevel.enable_ki_protection
    async def _loop(self, nursery: trio.Nursery, first: Event) -> RunResult:
        state = self._fold.start()
        event = first
        while True:
            state, effects = self._fold.reduce(state, event)
            if self._trace is not None:
                self._trace(event, effects)
            for effect in effects:
                if isinstance(effect, RunEnded):
                    return effect.result
                await self._carry_out(nursery, effect, effects)
            event = await self._next(state)

    async def _next(self, state: RunState) -> Event:
        assert not isinstance(state.life, Ended)
        while not self._events:
            self._wake = trio.Event()
            await self._wake.wait()
        item = self._events.popleft()
        if not isinstance(item, tuple):
            return item
        ticket, buffer = item
        deltas = tuple(buffer)
        buffer.clear()
        waiting = self._waiting.pop(id(buffer), None)
        if waiting is not None:
            waiting.set()
        return ModelStreamed(self._ports.now(), ticket, deltas)

    def put(self, event: Event) -> None:
        """Hand in an event."""
        self._events.append(event)
        self._stir()

    def put_deltas(self, ticket: int, buffer: list[Delta]) -> None:
        """Say that a buffer of deltas has become non-empty."""
        self._events.append((ticket, buffer))
        self._stir()

    async def drained(self, buffer: list[Delta]) -> None:
        """Return when the buffer has been emptied."""
        if buffer:
            event = self._waiting[id(buffer)] = trio.Event()
            await event.wait()

    def _stir(self) -> None:
        if self._wake is not None:
            self._wake.set()
            self._wake = None

    async def _carry_out(self, nursery: trio.Nursery, effect: Effect, effects: tuple[Effect, ...]) -> None:
        if isinstance(effect, SHORT):
            # A task costs more than most short orders do; while nothing else is under way, nobody waits for this one.
            if self._scopes or self._events or len(effects) > 2:
                nursery.start_soon(self._ask, effect)
            else:
                await self._ask(effect)
            return
        match effect:
            case Publish(operations=operations):
                if self._publish is not None:
                    self._publish(operations)
            case CancelModel(ticket=ticket) | CancelQuestion(ticket=ticket):
                self._cut(ticket, 0)
            case CancelTool(ticket=ticket):
                self._cut(ticket, self._grace_s)
            case WakeAt(at=at):
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = trio.CancelScope()
                nursery.start_soon(self._sleep, at, self._timer)
            case WatchFeed():
                nursery.start_soon(self._watch, effect)
            case RunTool():
                # Calls of a batch start in call order, which start_soon does not keep.
                await nursery.start(self._tool, effect, self._scope(effect.ticket))
            case AskPolicy() | AskReconcile() | AskGuard():
                nursery.start_soon(self._host, effect, self._scope(effect.ticket))
            case CallModel():
                nursery.start_soon(self._model, effect, self._scope(effect.ticket))
            case RunEnded():
                pass

    async def _ask(self, order: JournalOrder | FeedOrder) -> None:
        if isinstance(order, PollFeed | ClaimInput):
            self.put(await perform_feed(order, self._ports.feed, self._ports.now))
        else:
            self.put(await perform_journal(order, self._ports.journal, self._ports.now))

    def _scope(self, ticket: int) -> trio.CancelScope:
        scope = self._scopes[ticket] = trio.CancelScope()
        return scope

    def _cut(self, ticket: int, grace_s: float) -> None:
        """Stop what was asked for by ``ticket``, unless its answer is on its way already."""
        scope = self._scopes.get(ticket)
        if scope is not None:
            scope.deadline = trio.current_time() + grace_s

    async def _model(self, order: CallModel, scope: trio.CancelScope) -> None:
        over = False
        with scope, self._interruptible():
            await stream_model(order, self._ports.model, self, self._ports.now)
            over = True
        del self._scopes[order.ticket]
        if not over:
            self.put(ModelCutOff(self._ports.now(), order.ticket))

    async def _host(self, question: Question, scope: trio.CancelScope) -> None:
        answer: Event | None = None
        with scope, self._interruptible():
            answer = await perform_question(question, self._ports)
        del self._scopes[question.ticket]
        self.put(answer or QuestionCutOff(self._ports.now(), question.ticket))

    async def _tool(
        self,
        order: RunTool,
        scope: trio.CancelScope,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        answer: Event | None = None
        with scope, self._interruptible():
            task_status.started()
            answer = await perform_tool(order, self._ports.tools, self, self._ports.now)
        del self._scopes[order.ticket]
        self.put(answer or ToolCutOff(self._ports.now(), order.ticket))

    @contextmanager
    def _interruptible(self) -> Generator[None, None, None]:
        try:
            yield
        except KeyboardInterrupt:
            self._interrupt()

    async def _sleep(self, at: int, scope: trio.CancelScope) -> None:
        with scope:
            await trio.sleep(max(0, at - self._ports.now()) / 1000)
            self.put(Woke(self._ports.now()))

    async def _watch(self, order: WatchFeed) -> None:
        try:
            async with self._ports.feed.watch() as watch:
                self.put(FeedWatched(self._ports.now(), order.ticket))
                while True:
                    await watch.changed()
                    self.put(InputSignalled(self._ports.now(), order.ticket))
        except Exception as error:
            self.put(FeedFailed(self._ports.now(), order.ticket, explain(error)))
