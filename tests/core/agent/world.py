"""A world for the fold alone: scripted answers, no tasks, no clock. What is asked is answered in that order."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
from turnfold.core.agent import AgentFold, AgentRules, AgentState, Hook, Limits
from turnfold.effects.agent import (
    AgentEnded,
    AgentEvent,
    AgentStarted,
    Context,
    MessageEnded,
    MessageStarted,
    MessageUpdated,
    Rewrite,
    Settled,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
)
from turnfold.effects.agent_vocabulary import (
    AgentEffect,
    AgentInput,
    AgentSettled,
    Continued,
    Emit,
    Flush,
    Flushed,
    Prompted,
    SinkFailed,
)
from turnfold.effects.clock import WakeAt
from turnfold.effects.hook import (
    AfterTool,
    AfterToolReturned,
    ArgumentsReturned,
    BeforeTool,
    BeforeToolReturned,
    CancelHook,
    ContextReturned,
    ConvertedReturned,
    ConvertToModel,
    FinishTurn,
    FinishTurnReturned,
    FollowUpsReturned,
    HookFailed,
    NextTurnReturned,
    PollFollowUps,
    PollSteering,
    PrepareArguments,
    PrepareNextTurn,
    PrepareRequest,
    Proceed,
    RequestReturned,
    SteeringReturned,
    TransformContext,
)
from turnfold.effects.model import (
    CallModel,
    CancelModel,
    Delta,
    ModelBroke,
    ModelChoice,
    ModelCutOff,
    ModelStreamed,
    StreamFinished,
)
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import (
    CancelTool,
    RunTool,
    ToolCutOff,
    ToolFailed,
    ToolProgressed,
    ToolResult,
    ToolReturned,
    ToolSpec,
)
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    Message,
    StopReason,
    TextPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    calls_of,
    text_of,
)

NOW = 1_000
MODEL = ModelChoice("m1", "acme")


class Broken(Exception):
    """What a script raises."""


# --- short words for what scripts are made of


def user(text: str) -> UserMessage:
    return UserMessage(text, NOW)


def answer(*said: str | CallPart, stop: StopReason | None = None) -> tuple[Delta, ...]:
    """A whole answer at once: texts, and calls."""
    parts = tuple(TextPart(part) if isinstance(part, str) else part for part in said)
    calls = any(isinstance(part, CallPart) for part in parts)
    stop = stop or (StopReason.TOOL_USE if calls else StopReason.STOP)
    return (StreamFinished(stop, message=AssistantMessage(parts, stop=stop)),)


def call(call_id: str, name: str = "clock", arguments: str = "{}") -> CallPart:
    return CallPart(call_id, name, arguments)


def tool(name: str = "clock", **traits: Any) -> ToolSpec:
    return ToolSpec(ToolDeclaration(name), **traits)


Answer = Sequence[Delta] | Exception
Reply = Callable[[Any], Any] | Sequence[Any]


@attrs.define(slots=False)
class World:
    """A script, and what came of it.

    ``hooks`` gives, per order class, a function of the order or a list with one reply a time; a reply that is an
    exception is a failure. ``tools`` gives, per call id, a result, an exception, or a list of updates and one of these.
    ``breaks`` are the events (by number, from 0) at which the listeners raise.
    """

    rules: AgentRules = attrs.Factory(AgentRules)
    answers: Iterable[Answer] = ()
    hooks: dict[type, Reply] = attrs.Factory(dict)
    outcomes: dict[str, Any] = attrs.Factory(dict)
    breaks: frozenset[int] = frozenset()
    history: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = (tool(),)
    model: ModelChoice = MODEL
    thinking: str | None = None
    held: Callable[[AgentEffect], bool] = lambda effect: False
    events: list[AgentEvent] = attrs.Factory(list)
    timeline: list[str] = attrs.Factory(list)
    effects: list[AgentEffect] = attrs.Factory(list)
    trace: list[tuple[AgentInput, tuple[AgentEffect, ...]]] = attrs.Factory(list)
    settled: Settled | None = None
    inbox: deque[AgentInput] = attrs.Factory(deque)
    waiting: list[AgentEffect] = attrs.Factory(list)
    state: AgentState | None = None
    on_event: Callable[["World", AgentEvent], None] = lambda world, event: None

    # --- driving

    def start(self) -> AgentState:
        self._scripted = {kind: iter(reply) for kind, reply in self.hooks.items() if not callable(reply)}
        self._answers = iter(self.answers)
        self._seen = 0
        self.state = AgentFold(self.rules).start(Context(Seq(self.history), self.tools), self.model, self.thinking)
        return self.state

    def prompt(self, *messages: str | Message) -> "World":
        """Run with a prompt until nothing moves any more."""
        said = tuple(user(message) if isinstance(message, str) else message for message in messages)
        return self.run(Prompted(NOW, said))

    def continue_(self) -> "World":
        return self.run(Continued(NOW))

    def run(self, first: AgentInput) -> "World":
        self.start()
        self.inbox.append(first)
        self.go()
        return self

    def go(self) -> None:
        """Fold what waits, and answer what is asked, until neither is left."""
        while self.inbox:
            self._fold(self.inbox.popleft())

    def feed(self, *events: AgentInput) -> "World":
        self.inbox.extend(events)
        self.go()
        return self

    def release(self) -> None:
        """Answer what was held back, in the order in which it was asked."""
        waiting, self.waiting = self.waiting, []
        for effect in waiting:
            self._answer(effect)
        self.go()

    def _fold(self, event: AgentInput) -> None:
        assert self.state is not None
        self.state, effects = AgentFold(self.rules).reduce(self.state, event)
        self.trace.append((event, effects))
        for place, effect in enumerate(effects):
            self.effects.append(effect)
            failed = self._carry_out(effect, effects[place + 1 :])
            if failed is not None:
                self._fold(failed)
                return

    def _carry_out(self, effect: AgentEffect, rest: tuple[AgentEffect, ...]) -> SinkFailed | None:
        if isinstance(effect, AgentSettled):
            assert self.settled is None, "a run settles once"
            self.settled = effect.settled
        elif isinstance(effect, Emit):
            return self._tell(effect.event, rest)
        elif isinstance(effect, Flush):
            self.inbox.append(Flushed(NOW, effect.ticket))
        elif isinstance(effect, WakeAt):
            self.waiting.append(effect)
        elif isinstance(effect, CancelModel | CancelTool | CancelHook):
            self._cut(effect)
        elif self.held(effect):
            self.waiting.append(effect)
        else:
            self._answer(effect)
        return None

    def _tell(self, event: AgentEvent, rest: tuple[AgentEffect, ...]) -> SinkFailed | None:
        number, self._seen = self._seen, self._seen + 1
        self.events.append(event)
        self.timeline.append(short(event))
        self.on_event(self, event)
        if number in self.breaks:
            return SinkFailed(NOW, event, f"listener broke at {number}", rest)
        return None

    def _cut(self, effect: CancelModel | CancelTool | CancelHook) -> None:
        held = next((one for one in self.waiting if getattr(one, "ticket", 0) == effect.ticket), None)
        if held is not None:
            self.waiting.remove(held)
            gone = {CancelModel: ModelCutOff, CancelTool: ToolCutOff}.get(type(effect))
            self.inbox.append(HookFailed(NOW, effect.ticket, "stopped") if gone is None else gone(NOW, effect.ticket))

    # --- answering

    def _answer(self, order: Any) -> None:
        self.timeline.append(type(order).__name__)
        if isinstance(order, CallModel):
            self._answer_model(order)
        elif isinstance(order, RunTool):
            self._answer_tool(order)
        else:
            self.inbox.append(self._answer_hook(order))

    def _answer_model(self, order: CallModel) -> None:
        given = next(self._answers, answer("done"))
        if isinstance(given, Exception):
            self.inbox.append(ModelBroke(NOW, order.ticket, str(given)))
            return
        self.inbox.extend(ModelStreamed(NOW, order.ticket, (delta,)) for delta in given)

    def _answer_tool(self, order: RunTool) -> None:
        script = self.outcomes.get(order.invocation.call_id, ToolResult("ok"))
        *updates, last = script if isinstance(script, list) else [script]
        self.inbox.extend(ToolProgressed(NOW, order.ticket, update) for update in updates)
        if isinstance(last, Exception):
            self.inbox.append(ToolFailed(NOW, order.ticket, str(last)))
        else:
            self.inbox.append(ToolReturned(NOW, order.ticket, last))

    def _answer_hook(self, order: Any) -> AgentInput:
        script = self.hooks.get(type(order))
        reply = script(order) if callable(script) else next(self._scripted.get(type(order), iter(())), None)
        if isinstance(reply, Exception):
            return HookFailed(NOW, order.ticket, str(reply))
        match order:
            case PollSteering():
                return SteeringReturned(NOW, order.ticket, tuple(reply or ()))
            case PollFollowUps():
                return FollowUpsReturned(NOW, order.ticket, tuple(reply or ()))
            case PrepareNextTurn():
                return NextTurnReturned(NOW, order.ticket, reply)
            case PrepareRequest():
                return RequestReturned(NOW, order.ticket, reply)
            case TransformContext(messages=messages):
                return ContextReturned(NOW, order.ticket, Rewrite.of(messages, messages if reply is None else reply))
            case ConvertToModel(messages=messages):
                return ConvertedReturned(NOW, order.ticket, Rewrite.of(messages, messages if reply is None else reply))
            case FinishTurn():
                return FinishTurnReturned(NOW, order.ticket, reply)
            case PrepareArguments(arguments=arguments):
                return ArgumentsReturned(NOW, order.ticket, arguments if reply is None else reply)
            case BeforeTool():
                return BeforeToolReturned(NOW, order.ticket, reply or Proceed())
            case AfterTool():
                return AfterToolReturned(NOW, order.ticket, reply)
            case _:
                raise AssertionError(order)

    # --- looking

    @property
    def requests(self) -> list[CallModel]:
        return [effect for effect in self.effects if isinstance(effect, CallModel)]

    def asked(self, index: int) -> list[str]:
        """The messages of a request, in short."""
        return [brief(message) for message in self.requests[index].request.messages]

    @property
    def added(self) -> list[str]:
        """The messages the run gave back, in short."""
        assert self.settled is not None
        return [brief(message) for message in self.settled.messages]


ALL_HOOKS = frozenset(Hook)


def rules(*hooks: Hook, **members: Any) -> AgentRules:
    return AgentRules(hooks=frozenset(hooks), **members)


def limits(**members: int) -> Limits:
    return Limits(**members)


def brief(message: Message) -> str:
    """A message in short: its role's letter, and its text or its calls."""
    if isinstance(message, ToolResultMessage):
        return f"R:{message.call_id}:{text_of(message)}" if not message.is_error else f"R!{message.call_id}"
    if isinstance(message, AssistantMessage):
        failed = "!" if message.stop in (StopReason.ERROR, StopReason.ABORTED) else ":"
        return f"A{failed}{text_of(message)}{','.join(one.id for one in calls_of(message))}"
    if isinstance(message, UserMessage):
        return f"U:{text_of(message)}"
    return f"{type(message).__name__[0]}:"


def short(event: AgentEvent) -> str:
    """An event in short."""
    match event:
        case AgentStarted():
            return "agent+"
        case AgentEnded():
            return "agent-"
        case TurnEnded():
            return "turn-"
        case MessageStarted(message=message):
            return f"+{brief(message)}"
        case MessageEnded(message=message):
            return f"-{brief(message)}"
        case MessageUpdated():
            return "~"
        case ToolStarted(call_id=call_id):
            return f"tool+{call_id}"
        case ToolUpdated(call_id=call_id):
            return f"tool~{call_id}"
        case ToolEnded(call_id=call_id, is_error=is_error):
            return f"tool{'!' if is_error else '-'}{call_id}"
        case _:
            return "turn+"
