"""From a run to spans: what its fold takes in and orders, event by event, as operations on spans.

A span for the run, and under it one for each model call and one for each tool call; calls of one batch are side by
side, whatever order they end in. A model call lasts from its order to its answer, a tool call from the moment it is
taken up until its result is final, so that one that was refused is seen too. Whatever is open when the run ends is
ended with it. A call that a program asked for has the span of a tool call, and no run: who applies the operations
knows where it belongs. An event that carries a delta costs the same however long the run is.
"""

from collections.abc import Iterable, Mapping

from ....effects.agent import MessageEnded, Settled, ToolEnded, ToolStarted
from ....effects.agent_vocabulary import (
    AbortAsked,
    AgentEffect,
    AgentInput,
    AgentSettled,
    Continued,
    CredentialsFailed,
    Emit,
    Prompted,
    SinkFailed,
    ToolNotRun,
)
from ....effects.hook import AfterTool, AfterToolReturned, BeforeTool, BeforeToolReturned, Block, HookFailed
from ....effects.model import CallModel, ModelBroke, ModelCutOff, ModelStreamed, StreamFailed, StreamFinished
from ....effects.tool import RunTool, ToolCutOff, ToolFailed, ToolReturned
from ....effects.transcript import ZERO_USAGE, AssistantMessage, StopReason
from ....effects.values import field, frozen, region, replace
from ..prices import Prices
from .attributes import (
    Tally,
    added,
    answer_attributes,
    model_attributes,
    request_attributes,
    started,
    tally,
    tally_attributes,
    tool_attributes,
    tool_result,
)
from .content import input_messages, output_messages
from .operations import AddEvent, EndSpan, SpanKind, SpanOperation, StartSpan, Value

__all__ = ["CUT_OFF", "SpanRules", "Watched", "watch"]

HARD = (StopReason.ERROR, StopReason.ABORTED)
CUT_OFF = "cut_off"
"""The kind of error of a span that something else ended."""


@frozen
class SpanRules:
    """What spans say beside what happened: names and ids of the agent, cost if there are ``prices``.

    ``content`` puts what people, models and tools wrote into the spans, the whole conversation with every request.
    """

    agent_name: str = ""
    agent_id: str = ""
    conversation_id: str = ""
    content: bool = False
    prices: Prices | None = None


@frozen
class OpenModel:
    """A model call under way: its span, when it was ordered, and what was known once its first delta had come."""

    key: int
    asked_at: int
    first: Mapping[str, Value] | None = None


@frozen
class OpenTool:
    """A tool call under way."""

    key: int
    call_id: str


@region
class Watched:
    """What must be remembered of a run, or of a call that is carried out ``alone``.

    ``run`` is the run's span, ``next_key`` the next one's. ``models`` are by ticket; ``asked`` says which call a ticket
    in flight is about, and ``why`` what kind of error will end a call. ``model`` is who was asked first, ``last`` the
    newest answer, ``tally`` what all of them used.
    """

    next_key: int = 0
    run: int | None = None
    alone: bool = False
    models: Mapping[int, OpenModel] = field(factory=dict[int, OpenModel])
    tools: tuple[OpenTool, ...] = ()
    asked: Mapping[int, str] = field(factory=dict[int, str])
    why: Mapping[str, str] = field(factory=dict[str, str])
    aborted: bool = False
    model: Mapping[str, Value] = field(factory=dict[str, Value])
    last: AssistantMessage | None = None
    tally: Tally = (ZERO_USAGE, 0.0, False)
    out: tuple[SpanOperation, ...] = ()


def watch(
    watched: Watched, event: AgentInput, effects: tuple[AgentEffect, ...], rules: SpanRules
) -> tuple[Watched, tuple[SpanOperation, ...]]:
    """What to remember after one event and the effects it led to, and what to do to the spans, in order."""
    state = replace(watched, out=()) if watched.out else watched
    if isinstance(event, Prompted | Continued):
        state = _begin(state, event, rules)
    if state.run is None and not state.alone:
        return state, state.out
    state = _take_in(state, event, effects, rules)
    for effect in effects:
        state = _follow(state, effect, event.at, rules)
    return state, state.out


# --- the run


def _begin(state: Watched, event: Prompted | Continued, rules: SpanRules) -> Watched:
    if state.run is not None:
        state = _end(state, rules, CUT_OFF, "")
    named = {
        "gen_ai.agent.name": rules.agent_name,
        "gen_ai.agent.id": rules.agent_id,
        "gen_ai.conversation.id": rules.conversation_id,
    }
    attributes: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent"}
    attributes |= {name: value for name, value in named.items() if value}
    if rules.content and isinstance(event, Prompted):
        attributes["gen_ai.input.messages"] = input_messages(event.messages)
    key = state.next_key
    start = StartSpan(key, f"invoke_agent {rules.agent_name}".rstrip(), attributes=attributes)
    return Watched(next_key=key + 1, run=key, out=(*state.out, start))


def _settle(state: Watched, settled: Settled, rules: SpanRules) -> Watched:
    last = state.last
    if settled.failure is not None:
        aborted = last is not None and last.stop is StopReason.ABORTED
        return _end(state, rules, "aborted" if aborted else "run_failed", settled.failure)
    return _end(state, rules, *(_error(last) if last is not None else (None, "")))


def _end(state: Watched, rules: SpanRules, error: str | None, message: str) -> Watched:
    """End the run's span, if there is one, and before it what is still open under it."""
    open_keys = [*(model.key for model in state.models.values()), *(tool.key for tool in state.tools)]
    ends = (EndSpan(key, _typed(CUT_OFF), CUT_OFF) for key in open_keys)
    if state.run is None:
        return Watched(next_key=state.next_key, out=(*state.out, *ends))
    attributes: dict[str, Value] = {**state.model, **tally_attributes(state.tally), **_typed(error)}
    if state.last is not None:
        attributes["gen_ai.response.finish_reasons"] = [state.last.raw_stop or str(state.last.stop)]
        if rules.content:
            attributes["gen_ai.output.messages"] = output_messages(state.last)
    return Watched(next_key=state.next_key, out=(*state.out, *ends, EndSpan(state.run, attributes, error, message)))


# --- what came in


def _take_in(state: Watched, event: AgentInput, effects: Iterable[AgentEffect], rules: SpanRules) -> Watched:
    match event:
        case ModelStreamed(ticket=ticket, deltas=deltas):
            state = _first_delta(state, event)
            if deltas and isinstance(deltas[-1], StreamFinished | StreamFailed):
                return _answered(state, ticket, deltas[-1], _answer_in(effects), rules)
            return state
        case ModelCutOff(ticket=ticket):
            return _answered(state, ticket, None, _answer_in(effects), rules)
        case ModelBroke(ticket=ticket, message=message):
            return _end_model(state, ticket, {}, "model_broke", message)
        case CredentialsFailed(ticket=ticket, message=message):
            return _end_model(state, ticket, {}, "credentials_failed", message)
        case AbortAsked():
            state = replace(state, aborted=True)
            return state if state.run is None else _do(state, AddEvent(state.run, "turnfold.abort"))
        case SinkFailed(dropped=dropped):
            return _dropped(state, dropped)
        case BeforeToolReturned(decision=Block()):
            return _because(state, event.ticket, "blocked")
        case ToolFailed():
            return _because(state, event.ticket, "tool_failed")
        case ToolCutOff():
            return _because(state, event.ticket, CUT_OFF)
        case ToolNotRun():
            return _because(state, event.ticket, "aborted")
        case HookFailed():
            return _because(state, event.ticket, "hook_failed")
        case ToolReturned() | BeforeToolReturned() | AfterToolReturned():
            return _because(state, event.ticket, None)
        case _:
            return state


def _dropped(state: Watched, effects: Iterable[AgentEffect]) -> Watched:
    """A listener raised, so these were never carried out: what they began is over."""
    for effect in effects:
        if isinstance(effect, CallModel):
            state = _end_model(state, effect.ticket, {}, "not_sent", "")
        elif isinstance(effect, Emit) and isinstance(effect.event, ToolStarted):
            newest = next((tool for tool in reversed(state.tools) if tool.call_id == effect.event.call_id), None)
            state = _end_tool(state, newest, "not_run", "")
    return state


# --- model calls


def _first_delta(state: Watched, event: ModelStreamed) -> Watched:
    model = state.models.get(event.ticket)
    if model is None or model.first is not None or not event.deltas:
        return state
    first = {"gen_ai.response.time_to_first_chunk": (event.at - model.asked_at) / 1000, **started(event.deltas[0])}
    return replace(state, models={**state.models, event.ticket: replace(model, first=first)})


def _answer_in(effects: Iterable[AgentEffect]) -> AssistantMessage | None:
    """The answer that was told: the first one, for what follows it is how a failed run is closed."""
    for effect in effects:
        match effect:
            case Emit(event=MessageEnded(message=AssistantMessage() as answer)):
                return answer
            case _:
                pass
    return None


def _answered(
    state: Watched,
    ticket: int,
    terminal: StreamFinished | StreamFailed | None,
    answer: AssistantMessage | None,
    rules: SpanRules,
) -> Watched:
    """An answer that nobody was told of, since the run had failed by then, still ends its span."""
    if answer is None:
        failed = terminal.error if isinstance(terminal, StreamFailed) else None
        error = CUT_OFF if terminal is None else None if failed is None else str(failed.kind)
        return _end_model(state, ticket, {}, error, failed.message if failed is not None else "")
    used = tally(answer, rules.prices)
    state = replace(state, tally=added(state.tally, used))
    return _end_model(state, ticket, answer_attributes(answer, used, rules.content), *_error(answer))


def _end_model(
    state: Watched, ticket: int, attributes: Mapping[str, Value], error: str | None, message: str
) -> Watched:
    model = state.models.get(ticket)
    if model is None:
        return state
    models = {other: open_model for other, open_model in state.models.items() if other != ticket}
    end = EndSpan(model.key, {**(model.first or {}), **attributes, **_typed(error)}, error, message)
    return _do(replace(state, models=models), end)


# --- tool calls


def _because(state: Watched, ticket: int, why: str | None) -> Watched:
    """A question about a call was answered; ``why`` is the error that the call ends with, should it end as one."""
    call_id = state.asked.get(ticket)
    if call_id is None:
        return state
    asked = {other: call for other, call in state.asked.items() if other != ticket}
    return replace(state, asked=asked, why=state.why if why is None else {**state.why, call_id: why})


def _end_tool(state: Watched, tool: OpenTool | None, error: str | None, message: str, result: str = "") -> Watched:
    if tool is None:
        return state
    why = {call: reason for call, reason in state.why.items() if call != tool.call_id}
    tools = tuple(other for other in state.tools if other is not tool)
    attributes = {**_typed(error), **({"gen_ai.tool.call.result": result} if result else {})}
    return _do(replace(state, tools=tools, why=why), EndSpan(tool.key, attributes, error, message))


# --- what was ordered


def _follow(state: Watched, effect: AgentEffect, at: int, rules: SpanRules) -> Watched:
    match effect:
        case Emit(event=ToolStarted() as begun):
            state, key = _start(state, f"execute_tool {begun.name}", tool_attributes(begun, rules.content))
            return replace(state, tools=(*state.tools, OpenTool(key, begun.call_id)))
        case Emit(event=ToolEnded() as ended):
            return _tool_ended(state, ended, rules)
        case Emit(event=MessageEnded(message=AssistantMessage() as answer)):
            return replace(state, last=answer)
        case CallModel(ticket=ticket, request=request):
            attributes = request_attributes(request, rules.content)
            name = f"chat {attributes.get('gen_ai.request.model', '')}".rstrip()
            state, key = _start(state, name, attributes, SpanKind.CLIENT)
            if not state.model and request.model is not None:
                state = replace(state, model=model_attributes(request.model.provider, request.model.id))
            return replace(state, models={**state.models, ticket: OpenModel(key, at)})
        case RunTool(ticket=ticket, invocation=invocation):
            return replace(state, asked={**state.asked, ticket: invocation.call_id})
        case BeforeTool(ticket=ticket, call=call) | AfterTool(ticket=ticket, call=call):
            return replace(state, asked={**state.asked, ticket: call.id})
        case AgentSettled(settled=settled):
            return _settle(state, settled, rules)
        case _:
            return state


def _tool_ended(state: Watched, ended: ToolEnded, rules: SpanRules) -> Watched:
    oldest = next((tool for tool in state.tools if tool.call_id == ended.call_id), None)
    usual = "aborted" if state.aborted else "tool_error"
    error = state.why.get(ended.call_id, usual) if ended.is_error else None
    text = tool_result(ended) if rules.content else ""
    return _end_tool(state, oldest, error, text if ended.is_error else "", text)


# --- small pieces


def _start(
    state: Watched, name: str, attributes: Mapping[str, Value], kind: SpanKind = SpanKind.INTERNAL
) -> tuple[Watched, int]:
    key = state.next_key
    return _do(replace(state, next_key=key + 1), StartSpan(key, name, kind, state.run, attributes)), key


def _do(state: Watched, operation: SpanOperation) -> Watched:
    return replace(state, out=(*state.out, operation))


def _error(answer: AssistantMessage) -> tuple[str | None, str]:
    if answer.stop not in HARD:
        return None, ""
    if answer.error is None:
        return str(answer.stop), ""
    return str(answer.error.kind), answer.error.message


def _typed(error: str | None) -> dict[str, Value]:
    return {} if error is None else {"error.type": error}
