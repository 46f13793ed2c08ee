"""Recorded values to ours and back: results, models, events.

Messages, their parts and declarations are the proxy protocol's, so its codec is used: the recordings were made with the
same words. Events and results of tools have no codec of ours, and are read and written here. What the recordings
cannot say of us, or we of them, is settled here once: arguments of a call that is still arriving are compared once it
has ended; usage of an answer that is still arriving is compared by its parts.
"""

from typing import Any

from turnfold.adapters.proxy import message_from_wire, message_to_wire
from turnfold.adapters.proxy.blocks import content_from_wire, content_to_wire, rest, set_if, shown_arguments
from turnfold.adapters.proxy.wire import declaration_from_wire
from turnfold.effects.agent import (
    AgentEnded,
    AgentEvent,
    AgentStarted,
    MessageEnded,
    MessageStarted,
    MessageUpdated,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
)
from turnfold.effects.model import BlockDelta, BlockEnded, BlockStarted, DeltaKind, ModelChoice
from turnfold.effects.partial import Partial
from turnfold.effects.tool import ToolResult
from turnfold.effects.transcript import AssistantMessage, ToolDeclaration
from turnfold.effects.values import UNSET

Raw = dict[str, Any]

_USAGE = ("input", "output", "cacheRead", "cacheWrite")


# --- in


def assistant_in(raw: Raw) -> AssistantMessage:
    message = message_from_wire(raw)
    assert isinstance(message, AssistantMessage)
    return message


def tool_of(raw: Raw) -> ToolDeclaration:
    """What a host's tool declares; its other members are for hosts."""
    known = ("name", "description", "parameters", "constrainedSampling")
    return declaration_from_wire({name: raw[name] for name in known if name in raw})


def model_in(raw: Raw) -> ModelChoice:
    return ModelChoice(
        raw.get("id", ""), raw.get("provider", ""), raw.get("api", ""), "", rest(raw, "id", "provider", "api")
    )


def result_in(raw: Raw) -> ToolResult:
    known = ("content", "details", "structuredContent", "usage", "isError", "terminate")
    terminate = raw.get("terminate")
    return ToolResult(
        content_from_wire(raw.get("content", "")),
        raw.get("isError", False),
        raw.get("details", UNSET),
        raw.get("structuredContent", UNSET),
        usage=raw.get("usage", UNSET),
        terminate=terminate if isinstance(terminate, bool) else None,
        extra=rest(raw, *known),
    )


# --- out


def arguments_out(text: str) -> Any:
    """The arguments as a value."""
    return shown_arguments(text)[0]


def result_out(result: ToolResult) -> Raw:
    raw: Raw = {}
    set_if(raw, "content", UNSET if result.content == "" else content_to_wire(result.content))
    set_if(raw, "details", result.details)
    set_if(raw, "structuredContent", result.structured)
    set_if(raw, "usage", result.usage)
    set_if(raw, "isError", True if result.is_error else UNSET)
    set_if(raw, "terminate", result.terminate, absent=None)
    return {**raw, **result.extra}


# --- events


def event_out(event: AgentEvent) -> Raw:
    match event:
        case AgentStarted():
            return {"type": "agent_start"}
        case TurnStarted():
            return {"type": "turn_start"}
        case MessageStarted(message=message):
            return {"type": "message_start", "message": message_to_wire(message)}
        case MessageEnded(message=message):
            return {"type": "message_end", "message": message_to_wire(message)}
        case MessageUpdated(delta=delta, partial=partial):
            message = message_to_wire(event.message)
            told = delta_out(delta, partial, message)
            return {"type": "message_update", "message": message, "assistantMessageEvent": told}
        case ToolStarted(call_id=call_id, name=name, arguments=arguments):
            args = arguments_out(arguments)
            return {"type": "tool_execution_start", "toolCallId": call_id, "toolName": name, "args": args}
        case ToolUpdated(call_id=call_id, name=name, arguments=arguments, update=update):
            return {
                "type": "tool_execution_update",
                "toolCallId": call_id,
                "toolName": name,
                "args": arguments_out(arguments),
                "partialResult": result_out(update),
            }
        case ToolEnded(call_id=call_id, name=name, result=result, is_error=is_error):
            return {
                "type": "tool_execution_end",
                "toolCallId": call_id,
                "toolName": name,
                "result": result_out(result),
                "isError": is_error,
            }
        case TurnEnded(message=message, results=results):
            return {
                "type": "turn_end",
                "message": message_to_wire(message),
                "toolResults": [message_to_wire(result) for result in results],
            }
        case AgentEnded(messages=messages):
            return {"type": "agent_end", "messages": [message_to_wire(message) for message in messages]}


_KINDS = {DeltaKind.TEXT: "text", DeltaKind.THINKING: "thinking", DeltaKind.CALL: "toolcall"}


def delta_out(delta: BlockStarted | BlockDelta | BlockEnded, partial: Partial, message: Raw) -> Raw:
    """A delta as a stream event; ``message`` is what has arrived, as it is recorded."""
    kind = _KINDS[partial.blocks[delta.index].kind]
    block = message["content"][list(partial.blocks).index(delta.index)]
    raw: Raw = {"contentIndex": delta.index, "partial": message}
    match delta:
        case BlockStarted():
            return {"type": f"{kind}_start", **raw}
        case BlockDelta(text=text):
            return {"type": f"{kind}_delta", "delta": text, **raw}
        case BlockEnded() if kind == "toolcall":
            return {"type": "toolcall_end", "toolCall": block, **raw}
        case _:
            return {"type": f"{kind}_end", "content": block[kind], **raw}


# --- comparison


def comparable(events: list[Raw]) -> list[Raw]:
    """Events without what is compared later: arguments of calls that have not ended yet."""
    ended: set[int] = set()
    seen: list[Raw] = []
    for event in events:
        if event["type"] == "message_start":
            ended = set()
        delta = event.get("assistantMessageEvent")
        if delta is not None and delta["type"] == "toolcall_end":
            ended = {*ended, delta["contentIndex"]}
        event = dict(event)
        if "message" in event:
            event["message"] = arriving(event["message"], ended)
        if delta is not None:
            event["assistantMessageEvent"] = {**delta, "partial": event["message"]}
        seen.append(event)
    return seen


def arriving(message: Raw, ended: set[int]) -> Raw:
    if message.get("stopReason") != "pending":
        return message
    blocks = [
        block if block["type"] != "toolCall" or index in ended else {**rest(block, "argumentsError"), "arguments": None}
        for index, block in enumerate(message["content"])
    ]
    usage = {name: value for name, value in message["usage"].items() if name in _USAGE}
    return {**message, "content": blocks, "usage": usage}


def difference(ours: Any, theirs: Any, path: str = "$") -> str | None:
    """The first difference between two JSON values, in words; true is not one."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ours.keys() != theirs.keys():
            more, less = sorted(ours.keys() - theirs.keys()), sorted(theirs.keys() - ours.keys())
            return f"{path}: members {more} too many, {less} missing"
        pairs = [(f"{path}.{name}", ours[name], theirs[name]) for name in ours]
    elif isinstance(ours, list) and isinstance(theirs, list):
        pairs = [(f"{path}[{i}]", one, other) for i, (one, other) in enumerate(zip(ours, theirs, strict=False))]
        found = next((found for pair in pairs if (found := difference(pair[1], pair[2], pair[0]))), None)
        return found or (None if len(ours) == len(theirs) else f"{path}: {len(ours)} items instead of {len(theirs)}")
    elif isinstance(ours, bool) != isinstance(theirs, bool) or ours != theirs:
        return f"{path}: {ours!r} instead of {theirs!r}"
    else:
        return None
    return next((found for at, one, other in pairs if (found := difference(one, other, at))), None)
