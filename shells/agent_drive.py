"""One run of the agent: an inbox, a task group, and the fold, under trio or asyncio alike.

Effects of one event are carried out in order, and every listener is awaited. What is handed in with ``_hand_in`` (a
delta, an update of a tool) waits until it has been told, so a slow listener holds back whoever talks.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import anyio
import anyio.abc

from ..core.agent import AgentFold, AgentState
from ..effects.agent import AgentEvent, Settled
from ..effects.agent_vocabulary import (
    AbortAsked,
    AgentEffect,
    AgentInput,
    AgentSettled,
    CredentialsFailed,
    Emit,
    Flush,
    Flushed,
    SinkFailed,
    ToolNotRun,
)
from ..effects.clock import WakeAt, Woke
from ..effects.hook import CancelHook, HookFailed, HookOrder
from ..effects.model import (
    CallModel,
    CancelModel,
    Delta,
    ModelBroke,
    ModelCutOff,
    ModelPort,
    ModelRequest,
    ModelStreamed,
    StreamFailed,
    StreamFinished,
)
from ..effects.tool import CancelTool, RunTool, ToolCutOff, ToolFailed, ToolProgressed, ToolResult, ToolReturned
from ..effects.transcript import ErrorKind, ModelError
from ..effects.values import frozen, replace
from .agent_hooks import NO_HOOKS, AgentHooks, answer_hook, failure_text, resolved
from .agent_tools import Progress, Toolshed

__all__ = ["GRACE_S", "AgentPorts", "LoopDriver", "Signal", "SignalledModel", "Trace"]

GRACE_S = 0.5
"""How long a tool, a hook or a port that takes the signal may still answer once it is to stop, in seconds."""

NO_TERMINAL = ModelError(ErrorKind.PROTOCOL, "The stream ended without a terminal event")
ABORTED = ModelError(ErrorKind.ABORTED, "Request was aborted")


class Signal:
    """Whether a run was aborted. It is set once, and stays so."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    @property
    def aborted(self) -> bool:
        """Whether it is set."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Return once it is set."""
        await self._event.wait()

    def set(self) -> None:
        """Say that the run is to stop."""
        self._event.set()


@runtime_checkable
class SignalledModel(Protocol):
    """A model port that wants to end its answers itself when a run is aborted. Others are cut off at once."""

    def stream_until(self, request: ModelRequest, signal: Signal) -> AsyncIterator[Delta]:
        """As ``stream``; called with a set signal, it answers as aborted without asking anybody."""
        ...


@frozen
class AgentPorts:
    """What one run is connected to. ``models`` are by the name that a request may ask for; ``""`` is the usual one."""

    models: Mapping[str, ModelPort | SignalledModel]
    tools: Toolshed
    now: Callable[[], int]
    hooks: AgentHooks = NO_HOOKS


Sink = Callable[[AgentEvent], Awaitable[None]]
Trace = Callable[[AgentInput, tuple[AgentEffect, ...]], None]


class LoopDriver:
    """Drives one run. ``failure`` is the exception, if any, behind the newest failure of a listener, hook or port."""

    def __init__(
        self,
        fold: AgentFold,
        ports: AgentPorts,
        sink: Sink,
        *,
        signal: Signal | None = None,
        trace: Trace | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self.signal = signal or Signal()
        self._fold = fold
        self._ports = ports
        self._sink = sink
        self._trace = trace
        self._grace_s = grace_s
        self._inbox: deque[tuple[AgentInput, anyio.Event | None]] = deque()
        self._unrun: deque[ToolNotRun] = deque()
        self._wake: anyio.Event | None = None
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._deaf: int | None = None
        self._timer: anyio.CancelScope | None = None

    async def run(self, state: AgentState, first: AgentInput) -> Settled:
        """Execute the run until it has settled; nothing of it is left then."""
        if self.signal.aborted:
            self._put(AbortAsked(self._ports.now()))
        self._put(first)
        settled: Settled | None = None
        async with anyio.create_task_group() as tasks:
            settled = await self._loop(tasks, state)
            tasks.cancel_scope.cancel()
        assert settled is not None
        return settled

    def abort(self) -> None:
        """Ask the run to stop. May be called at any time, from anywhere in the run's event loop."""
        if not self.signal.aborted:
            self.signal.set()
            self._put(AbortAsked(self._ports.now()))

    async def _loop(self, tasks: anyio.abc.TaskGroup, state: AgentState) -> Settled:
        event, told = await self._next()
        while True:
            state, effects = self._fold.reduce(state, event)
            if self._trace is not None:
                self._trace(event, effects)
            failed: SinkFailed | None = None
            for place, effect in enumerate(effects):
                if isinstance(effect, AgentSettled):
                    return effect.settled
                failed = await self._carry_out(tasks, effect, effects[place + 1 :])
                if failed is not None:
                    break
            if told is not None:
                told.set()
            event, told = (failed, None) if failed is not None else await self._next()

    async def _next(self) -> tuple[AgentInput, anyio.Event | None]:
        if self._unrun:
            # What never began is over before anything that did.
            return self._unrun.popleft(), None
        while not self._inbox:
            self._wake = anyio.Event()
            await self._wake.wait()
        return self._inbox.popleft()

    def _put(self, event: AgentInput, told: anyio.Event | None = None) -> None:
        self._inbox.append((event, told))
        if self._wake is not None:
            self._wake.set()
            self._wake = None

    async def _hand_in(self, event: AgentInput) -> None:
        """Hand in an event and wait until everything it led to has been told."""
        told = anyio.Event()
        self._put(event, told)
        await told.wait()

    async def _carry_out(
        self, tasks: anyio.abc.TaskGroup, effect: AgentEffect, rest: tuple[AgentEffect, ...]
    ) -> SinkFailed | None:
        match effect:
            case Emit(event=event):
                return await self._tell(event, rest)
            case Flush(ticket=ticket):
                self._put(Flushed(self._ports.now(), ticket))
            case CancelModel(ticket=ticket) | CancelTool(ticket=ticket) | CancelHook(ticket=ticket):
                scope = self._scopes.get(ticket)
                if scope is not None:
                    grace_s = 0.0 if ticket == self._deaf else self._grace_s
                    scope.deadline = min(scope.deadline, anyio.current_time() + grace_s)
            case WakeAt(at=at):
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = anyio.CancelScope()
                tasks.start_soon(self._sleep, at, self._timer)
            case RunTool() if self.signal.aborted:
                self._unrun.append(ToolNotRun(self._ports.now(), effect.ticket))
            case RunTool():
                # Calls of a batch start in call order, which start_soon does not keep.
                await tasks.start(self._tool, effect, self._scope(effect.ticket))
            case CallModel():
                tasks.start_soon(self._model, effect, self._scope(effect.ticket))
            case AgentSettled():
                pass
            case _:
                tasks.start_soon(self._hook, effect, self._scope(effect.ticket))
        return None

    async def _tell(self, event: AgentEvent, rest: tuple[AgentEffect, ...]) -> SinkFailed | None:
        try:
            await self._sink(event)
        except Exception as error:
            return SinkFailed(self._ports.now(), event, failure_text(error), rest, self.signal.aborted)
        return None

    def _scope(self, ticket: int) -> anyio.CancelScope:
        scope = self._scopes[ticket] = anyio.CancelScope()
        return scope

    async def _hook(self, order: HookOrder, scope: anyio.CancelScope) -> None:
        answer: AgentInput | None = None
        with scope:
            answer = await answer_hook(order, self._ports.hooks, self._ports.tools, self._ports.now)
        del self._scopes[order.ticket]
        self._put(answer or HookFailed(self._ports.now(), order.ticket, "The hook was stopped before it answered"))

    async def _sleep(self, at: int, scope: anyio.CancelScope) -> None:
        with scope:
            await anyio.sleep(max(0, at - self._ports.now()) / 1000)
            self._put(Woke(self._ports.now()))

    async def _tool(
        self,
        order: RunTool,
        scope: anyio.CancelScope,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()
        over = False

        async def send(update: ToolResult) -> None:
            if not over:
                await self._hand_in(ToolProgressed(self._ports.now(), order.ticket, update))

        answer: AgentInput | None = None
        with scope:
            answer = await self._run_tool(order, Progress(send, lambda: self.signal.aborted))
        over = True
        del self._scopes[order.ticket]
        self._put(answer or ToolCutOff(self._ports.now(), order.ticket))

    async def _run_tool(self, order: RunTool, progress: Progress) -> AgentInput:
        try:
            result = await self._ports.tools.run(order.invocation, progress)
        except Exception as error:
            return ToolFailed(self._ports.now(), order.ticket, failure_text(error))
        return ToolReturned(self._ports.now(), order.ticket, result)

    async def _model(self, order: CallModel, scope: anyio.CancelScope) -> None:
        answer: AgentInput | None = None
        with scope:
            answer = await self._ask_model(order)
        del self._scopes[order.ticket]
        self._put(answer or ModelCutOff(self._ports.now(), order.ticket))

    async def _ask_model(self, order: CallModel) -> AgentInput:
        """Hand in the deltas of one answer as they are told; gives the terminal one, or why there is none."""
        request = order.request
        try:
            key = await self._credentials(request)
        except Exception as error:
            return CredentialsFailed(self._ports.now(), order.ticket, failure_text(error))
        if key:
            request = replace(request, options={**request.options, "api_key": key})
        terminal: StreamFinished | StreamFailed = StreamFailed(NO_TERMINAL)
        try:
            deltas = self._stream(request, order.ticket)
            try:
                async for delta in deltas:
                    if isinstance(delta, StreamFinished | StreamFailed):
                        terminal = delta
                        break
                    await self._hand_in(ModelStreamed(self._ports.now(), order.ticket, (delta,)))
            finally:
                if isinstance(deltas, AsyncGenerator):
                    await deltas.aclose()
        except Exception as error:
            return ModelBroke(self._ports.now(), order.ticket, failure_text(error))
        return ModelStreamed(self._ports.now(), order.ticket, (terminal,))

    async def _credentials(self, request: ModelRequest) -> str | None:
        credentials = self._ports.hooks.credentials
        if credentials is None or request.model is None:
            return None
        return await resolved(credentials(request.model.provider))

    def _stream(self, request: ModelRequest, ticket: int) -> AsyncIterator[Delta]:
        name = request.model.port if request.model is not None else ""
        port: Any = self._ports.models.get(name)
        if port is None:
            known = ", ".join(map(repr, self._ports.models)) or "none"
            raise LookupError(f"there is no model port called {name!r}; known: {known}")
        if isinstance(port, SignalledModel):
            return port.stream_until(request, self.signal)
        # It cannot learn that it is to stop, so waiting for it would only take time.
        self._deaf = ticket
        return _aborted() if self.signal.aborted else port.stream(request)


async def _aborted() -> AsyncIterator[Delta]:
    yield StreamFailed(ABORTED)
