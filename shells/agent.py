"""``Agent``: a conversation with a model that calls tools, in memory, under trio or asyncio alike.

    async with Agent(model, system_prompt="Be brief.", tools=[clock]) as agent:
        agent.subscribe(print)
        await agent.prompt("What time is it?")

An agent runs one thing at a time. What it does is told as events, to listeners that are awaited in the order in which
they subscribed; what it is can be read at any time from ``state``, a frozen value. Failures of models and tools are
told, and end up in the conversation; a failing hook or listener ends the run with a message that says so, and whatever
had begun by then is ended by events first (decision 46 g).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import anyio
import anyio.abc

from ..adapters.schemas import check_with_rust
from ..core.agent import (
    ENGLISH,
    AgentFold,
    AgentRules,
    AgentWords,
    Limits,
    Queue,
    QueueMode,
    Queues,
    continuation,
    first_view,
    prompt_messages,
    reset_view,
    settled_view,
    started_view,
    watch_event,
)
from ..effects.agent import AgentEvent, Context, Settled, ToolOutcome
from ..effects.agent_vocabulary import AgentInput, CallAsked
from ..effects.handed_in import checked_tools
from ..effects.model import ModelChoice, ModelPort
from ..effects.schema import SchemaChecker
from ..effects.sequence import Seq
from ..effects.transcript import (
    NO_EXTRA,
    AssistantMessage,
    CallPart,
    ImagePart,
    Message,
)
from ..effects.values import replace
from .agent_drive import GRACE_S, AgentPorts, LoopDriver, Signal, SignalledModel, Trace
from .agent_errors import AgentBusy, AgentFailed, CannotContinue, InsideListener
from .agent_hooks import NO_HOOKS, AgentHooks, resolved
from .agent_settings import AgentSettings, check_parts
from .agent_tools import AgentTool, Toolshed
from .clock import wall_clock
from .event_stream import AgentStream, Take

__all__ = ["SETTLE_S", "Agent", "Listener", "Prompt"]

SETTLE_S = 10.0
"""How long a run whose caller was cancelled may take to end, listeners included, in seconds."""

Listener = Callable[[AgentEvent], Awaitable[None] | None]
Prompt = str | Message | Sequence[Message]

PROMPT_BUSY = (
    "Agent is already processing a prompt. Use steer() or follow_up() to queue messages, or wait for completion."
)
CONTINUE_BUSY = "Agent is already processing. Wait for completion before continuing."
RESET_BUSY = "Agent is already processing. Wait for completion before resetting."
WAIT_INSIDE = "A listener cannot wait for the run that it is part of. Let it return, and wait somewhere else."


class Agent(AgentSettings):
    """One agent. Everything it is made of may be changed later; a run keeps what it began with.

    ``model`` answers; ``models`` are further ports that a request may name, by ``ModelChoice.port``. ``choice`` says
    which model is meant, for messages, hooks and providers that serve several. ``hooks`` are asked at their points.
    ``checker`` makes the tools' schemas ready to check arguments with; ``None`` takes any arguments. ``options`` go to
    the provider as they are. ``sequential`` runs every batch one call at a time; ``limits`` bound a run, and are off
    unless given. ``thinking_level`` is ``off``, ``minimal``, ``low``, ``medium``, ``high``, ``xhigh`` or ``max``.
    ``grace_s`` is how long a tool, a hook or a ``SignalledModel`` may still answer after an abort, in seconds; any
    other model is cut off at once. ``trace`` sees what each
    run takes in and orders; ``trace_call`` makes another one for each call of ``run_tool_call``.

    Raises ``SchemaError`` for a tool whose schema cannot be checked, ``TypeError`` for what is no model, tool or hooks,
    and ``ValueError`` for a thinking level that is none.
    """

    def __init__(
        self,
        model: ModelPort | SignalledModel | None = None,
        *,
        models: Mapping[str, ModelPort | SignalledModel] | None = None,
        choice: ModelChoice | None = None,
        system_prompt: str = "",
        thinking_level: str = "off",
        tools: Sequence[AgentTool] = (),
        messages: Sequence[Message] = (),
        hooks: AgentHooks = NO_HOOKS,
        checker: SchemaChecker | None = check_with_rust,
        steering_mode: QueueMode | str = QueueMode.ONE_AT_A_TIME,
        follow_up_mode: QueueMode | str = QueueMode.ONE_AT_A_TIME,
        sequential: bool = False,
        options: Mapping[str, Any] = NO_EXTRA,
        limits: Limits | None = None,
        words: AgentWords = ENGLISH,
        now: Callable[[], int] | None = None,
        grace_s: float = GRACE_S,
        trace: Trace | None = None,
        trace_call: Callable[[], Trace] | None = None,
    ) -> None:
        self.models: dict[str, ModelPort | SignalledModel] = dict(models or {})
        if model is not None:
            self.models[""] = model
        check_parts(self.models, hooks, limits, thinking_level)
        self.hooks = hooks
        self.options = options
        self._rules = AgentRules(sequential=sequential, told=True, limits=limits or Limits(), words=words)
        shed = Toolshed(checked_tools(tools), checker)
        view = first_view(Seq(messages), shed.specs, system_prompt, choice, thinking_level)
        queues = Queues(Queue(QueueMode(steering_mode)), Queue(QueueMode(follow_up_mode)))
        super().__init__(view, shed, queues, now or wall_clock())
        self._grace_s = grace_s
        self._trace = trace
        self._trace_call = trace_call
        self._listeners: dict[Listener, None] = {}
        self._broken: set[Listener] = set()
        self._driver: LoopDriver | None = None
        self._driving: int | None = None
        self._taker: Take | None = None
        self._in_use: Toolshed | None = None
        self._idle: anyio.Event | None = None
        self._home: anyio.abc.TaskGroup | None = None

    @property
    def signal(self) -> Signal | None:
        """Whether the run under way is to stop; nothing while idle."""
        return None if self._driver is None else self._driver.signal

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell a function, plain or async, of every event; the function that is returned ends that.

        Listeners are awaited one after the other, in the order in which they subscribed. Each event goes to those who
        were subscribed when it happened. One that raises ends the run, and hears no more of it.
        """
        self._listeners.setdefault(listener, None)
        return lambda: self._listeners.pop(listener, None)

    async def _tell(self, event: AgentEvent) -> None:
        self._view = watch_event(self._view, event)
        first: Exception | None = None
        for listener in tuple(self._listeners):
            if listener in self._broken:
                continue
            try:
                await resolved(listener(event))
            except Exception as error:
                self._broken.add(listener)
                first = first or error
        if first is not None:
            raise first

    async def prompt(self, prompt: Prompt, images: Sequence[ImagePart] = ()) -> tuple[Message, ...]:
        """Say something and run until the agent is done; the messages that the run added.

        A text becomes a user's message, with the images behind it. Raises ``AgentBusy`` while a run is under way, and
        ``AgentFailed`` if a listener raised at the very end; any other failure is told by events and in ``state``, and
        can be raised then (``raise_for_error``).
        """
        self._refuse_if_busy(PROMPT_BUSY)
        return _result(await self._execute(prompt_messages(prompt, self._now(), images), None))

    async def continue_(self) -> tuple[Message, ...]:
        """Go on from the conversation as it is; after an answer, with what is queued.

        Raises ``AgentBusy`` and ``AgentFailed`` as ``prompt`` does, and ``CannotContinue`` if there is nothing to go on
        from.
        """
        return _result(await self._continue(None))

    def stream(self, prompt: Prompt, images: Sequence[ImagePart] = ()) -> AgentStream:
        """As ``prompt``, as a stream of events: ``async with agent.stream(...) as events``, then ``async for``."""

        async def run(take: Take) -> Settled:
            self._refuse_if_busy(PROMPT_BUSY)
            return await self._execute(prompt_messages(prompt, self._now(), images), take)

        return AgentStream(run, self._abort_stream, self._home)

    def stream_on(self) -> AgentStream:
        """As ``continue_``, as a stream of events."""
        return AgentStream(self._continue, self._abort_stream, self._home)

    async def _continue(self, take: Take | None) -> Settled:
        self._refuse_if_busy(CONTINUE_BUSY)
        first, queues = continuation(self._view, self._queues, self._now())
        if isinstance(first, str):
            raise CannotContinue(first)
        self._queues = queues
        return await self._execute(first, take)

    def _abort_stream(self, take: Take) -> None:
        if self._taker == take:
            self.abort()

    async def run_tool_call(
        self, call: CallPart, message: AssistantMessage | None = None, tools: Sequence[AgentTool] | None = None
    ) -> ToolOutcome:
        """Carry out one call under the rules of every call: looked up, prepared, checked, before and after hooks.

        Nothing is told and nothing enters the conversation. ``tools`` are the agent's own unless given; an empty list
        means none. A tool may do this while the agent runs; an abort of the run then reaches this call too.
        """
        shed = (self._in_use or self._shed).copy()
        if tools is not None:
            shed.take(checked_tools(tools))
        fold = AgentFold(replace(self._rules, hooks=self.hooks.configured, told=False, check=shed.check))
        trace = None if self._trace_call is None else self._trace_call()
        ports = self._ports(shed, self.hooks)
        driver = LoopDriver(fold, ports, _nobody, signal=self.signal, trace=trace, grace_s=self._grace_s)
        state = fold.start(Context(self.messages, shed.specs), self.model, self.thinking_level)
        asked = CallAsked(self._now(), call, message or AssistantMessage((call,)))
        settled = await driver.run(state, asked)
        if settled.outcome is None:
            raise AgentFailed(settled.failure or "The call gave nothing")
        return settled.outcome

    def abort(self) -> None:
        """Ask the run to stop: what can see that has the grace, and a model is cut off at once. No-op when idle."""
        if self._driver is not None:
            self._driver.abort()

    def reset(self) -> None:
        """Forget the conversation, but for the instructions and tools it amounts to, and both queues.

        Model, thinking level and tools stay. Raises ``AgentBusy`` while a run is under way.
        """
        self._refuse_if_busy(RESET_BUSY)
        self._view = reset_view(self._view)
        self.clear_queues()

    async def wait_for_idle(self) -> None:
        """Return once nothing runs; no event and no listener comes after that (decision 34).

        Raises ``InsideListener`` in a listener, which would wait for itself.
        """
        while self._idle is not None:
            if self._driving == anyio.get_current_task().id:
                raise InsideListener(WAIT_INSIDE)
            await self._idle.wait()

    def _refuse_if_busy(self, text: str) -> None:
        if self._driver is not None:
            inside = self._driving == anyio.get_current_task().id
            raise InsideListener(text) if inside else AgentBusy(text)

    async def _execute(self, first: AgentInput, take: Take | None) -> Settled:
        hooks, shed = self._hooks(), self._shed.copy()
        fold = AgentFold(replace(self._rules, hooks=hooks.configured, options=self.options, check=shed.check))

        async def sink(event: AgentEvent) -> None:
            try:
                await self._tell(event)
            finally:
                if take is not None:
                    await take(event)

        driver = LoopDriver(fold, self._ports(shed, hooks), sink, trace=self._trace, grace_s=self._grace_s)
        self._in_use = shed
        self._driver, self._taker = driver, take
        self._idle = anyio.Event()
        self._broken.clear()
        state = fold.start(self._view.talk, self.model, self.thinking_level)
        self._view = started_view(self._view)

        async def drive() -> Settled:
            self._driving = anyio.get_current_task().id
            return await driver.run(state, first)

        try:
            return await _to_the_end(driver, drive)
        finally:
            self._driver = self._driving = self._taker = self._in_use = None
            self._queues = replace(self._queues, held=False)
            self._view = settled_view(self._view)
            idle, self._idle = self._idle, None
            idle.set()

    def _hooks(self) -> AgentHooks:
        return replace(self.hooks, steering=self._poll_steering, follow_ups=self._poll_follow_ups)

    def _ports(self, shed: Toolshed, hooks: AgentHooks) -> AgentPorts:
        return AgentPorts(self.models, shed, self._now, hooks)

    async def __aenter__(self) -> "Agent":
        """Give streams that are read outside of ``async with`` a place to live."""
        self._home = anyio.create_task_group()
        await self._home.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Abort what runs, with its grace, and wait until it has settled."""
        assert self._home is not None
        self.abort()
        with anyio.CancelScope(shield=True):
            while self._idle is not None:
                await self._idle.wait()
        home, self._home = self._home, None
        return await home.__aexit__(kind, error, traceback)


def _result(settled: Settled) -> tuple[Message, ...]:
    if settled.failure is not None and not settled.told:
        raise AgentFailed(settled.failure)
    return tuple(settled.messages)


async def _nobody(event: AgentEvent) -> None:
    """Nobody is told."""


async def _to_the_end(driver: LoopDriver, run: Callable[[], Awaitable[Settled]]) -> Settled:
    """Let a run end by itself although its caller is cancelled: it is aborted, and has ``SETTLE_S`` seconds.

    It has a task of its own, since asyncio's cancellation of a task knows no shield.
    """
    settled: Settled | None = None
    over, shield = anyio.Event(), anyio.CancelScope(shield=True)

    async def execute() -> None:
        nonlocal settled
        with shield:
            settled = await run()
        over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(execute)
        try:
            await over.wait()
        finally:
            if settled is None:
                shield.deadline = anyio.current_time() + SETTLE_S
                driver.abort()
    if settled is None:
        raise TimeoutError(f"the cancelled run could not end within {SETTLE_S:g} seconds")
    return settled
