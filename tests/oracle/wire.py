"""Recorded values to ours and back: messages, events, results.

What the recordings cannot say of us, or we of them, is settled here once: arguments of a call that is still arriving
are compared once it has ended; usage of an answer that is still arriving is compared by its parts.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
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
from turnfold.effects.model import BlockDelta, BlockStarted, DeltaKind, ModelChoice
from turnfold.effects.partial import part_of
from turnfold.effects.tool import ToolResult
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    Content,
    CustomMessage,
    ErrorKind,
    ImagePart,
    Message,
    ModelError,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from turnfold.effects.values import UNSET

Raw = dict[str, Any]

_STOPS = {
    "stop": StopReason.STOP,
    "length": StopReason.LENGTH,
    "toolUse": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "aborted": StopReason.ABORTED,
    "pending": StopReason.PENDING,
}
_STOP_NAMES = {stop: name for name, stop in _STOPS.items()}
_USAGE = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheWrite": "cache_write"}
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def rest(raw: Mapping[str, Any], *known: str) -> Raw:
    return {name: value for name, value in raw.items() if name not in ("role", "timestamp", *known)}


# --- messages in


def message_in(raw: Raw) -> Message:
    timestamp = raw.get("timestamp")
    match raw["role"]:
        case "system":
            added, removed = raw.get("toolsAdded"), raw.get("toolsRemoved")
            return SystemMessage(
                content_in(raw.get("content")),
                raw.get("sections"),
                None if added is None else tuple(map(declaration_in, added)),
                None if removed is None else tuple(tool["name"] for tool in removed),
                timestamp,
                rest(raw, "content", "sections", "toolsAdded", "toolsRemoved"),
            )
        case "user":
            return UserMessage(content_in(raw.get("content")), timestamp, rest(raw, "content"))
        case "assistant":
            return assistant_in(raw)
        case "toolResult":
            return ToolResultMessage(
                raw["toolCallId"],
                raw["toolName"],
                content_in(raw.get("content")),
                raw.get("isError", False),
                details=raw.get("details", UNSET),
                timestamp=timestamp,
                extra=rest(raw, "toolCallId", "toolName", "content", "isError", "details", "usage"),
                usage=raw.get("usage", UNSET),
            )
        case role:
            return CustomMessage(role, raw.get("content", UNSET), timestamp, rest(raw, "content"))


def assistant_in(raw: Raw) -> AssistantMessage:
    stop = raw.get("stopReason", "stop")
    usage = raw.get("usage") or {}
    error = None
    if "errorMessage" in raw:
        kind = ErrorKind.ABORTED if stop == "aborted" else ErrorKind.UNAVAILABLE
        error = ModelError(kind, raw["errorMessage"])
    known = (
        "content",
        "api",
        "provider",
        "model",
        "stopReason",
        "usage",
        "responseId",
        "errorMessage",
        "thinkingLevel",
    )
    return AssistantMessage(
        parts=tuple(part_in(block) for block in raw.get("content") or ()),
        api=raw.get("api", ""),
        provider=raw.get("provider", ""),
        model=raw.get("model", ""),
        stop=_STOPS.get(stop, StopReason.STOP),
        raw_stop=None if stop in _STOPS else stop,
        usage=usage_in(usage),
        response_id=raw.get("responseId"),
        error=error,
        timestamp=raw.get("timestamp"),
        extra={**rest(raw, *known), "usage": rest(usage, *_USAGE)},
        thinking_level=raw.get("thinkingLevel"),
    )


def usage_in(raw: Raw) -> Usage:
    return Usage(**{ours: raw.get(theirs, 0) for theirs, ours in _USAGE.items()})


def content_in(raw: Any) -> Content:
    return raw if raw is None or isinstance(raw, str) else tuple(part_in(block) for block in raw)


def part_in(raw: Raw) -> Any:
    match raw["type"]:
        case "text":
            return TextPart(raw["text"], raw.get("textSignature"), rest(raw, "type", "text", "textSignature"))
        case "thinking":
            known = ("type", "thinking", "thinkingSignature", "redacted")
            return ThinkingPart(
                raw["thinking"], raw.get("thinkingSignature"), raw.get("redacted", False), rest(raw, *known)
            )
        case "image":
            return ImagePart(raw["data"], raw["mimeType"], extra=rest(raw, "type", "data", "mimeType"))
        case _:
            known = ("type", "id", "name", "arguments", "thoughtSignature", "argumentsError")
            return CallPart(
                raw["id"],
                raw["name"],
                msgspec.json.encode(raw["arguments"]).decode(),
                raw.get("thoughtSignature"),
                rest(raw, *known),
                raw.get("argumentsError"),
            )


def declaration_in(raw: Raw) -> ToolDeclaration:
    extra = {name: raw[name] for name in ("constrainedSampling",) if name in raw}
    return ToolDeclaration(raw["name"], raw.get("description", ""), raw.get("parameters", {}), extra)


def model_in(raw: Raw) -> ModelChoice:
    return ModelChoice(
        raw.get("id", ""), raw.get("provider", ""), raw.get("api", ""), "", rest(raw, "id", "provider", "api")
    )


def result_in(raw: Raw) -> ToolResult:
    known = ("content", "details", "structuredContent", "usage", "isError", "terminate")
    terminate = raw.get("terminate")
    return ToolResult(
        content_in(raw.get("content", "")),
        raw.get("isError", False),
        raw.get("details", UNSET),
        raw.get("structuredContent", UNSET),
        usage=raw.get("usage", UNSET),
        terminate=terminate if isinstance(terminate, bool) else None,
        extra=rest(raw, *known),
    )


# --- messages out


def message_out(message: Message) -> Raw:
    raw: Raw
    match message:
        case SystemMessage():
            raw = {"role": "system", "content": content_out(message.content)}
            if message.sections is not None:
                raw["sections"] = dict(message.sections)
            if message.tools_added is not None:
                raw["toolsAdded"] = [declaration_out(tool) for tool in message.tools_added]
            if message.tools_removed is not None:
                raw["toolsRemoved"] = [{"name": name} for name in message.tools_removed]
        case UserMessage():
            raw = {"role": "user", "content": content_out(message.content)}
        case AssistantMessage():
            return assistant_out(message)
        case ToolResultMessage():
            raw = {
                "role": "toolResult",
                "toolCallId": message.call_id,
                "toolName": message.name,
                "content": content_out(message.content),
                "isError": message.is_error,
            }
            _set(raw, "details", message.details)
            _set(raw, "usage", message.usage)
        case CustomMessage():
            raw = {"role": message.role}
            _set(raw, "content", message.content)
    _set(raw, "timestamp", UNSET if message.timestamp is None else message.timestamp)
    return {**raw, **message.extra}


def assistant_out(message: AssistantMessage) -> Raw:
    extra = dict(message.extra)
    usage = {theirs: getattr(message.usage, ours) for theirs, ours in _USAGE.items()}
    usage |= extra.pop("usage", {"totalTokens": message.usage.total, "cost": _NO_COST})
    raw: Raw = {
        "role": "assistant",
        "content": [part_out(part) for part in message.parts],
        "api": message.api,
        "provider": message.provider,
        "model": message.model,
        "usage": usage,
        "stopReason": message.raw_stop or _STOP_NAMES[message.stop],
    }
    _set(raw, "timestamp", UNSET if message.timestamp is None else message.timestamp)
    _set(raw, "responseId", UNSET if message.response_id is None else message.response_id)
    _set(raw, "errorMessage", UNSET if message.error is None else message.error.message)
    _set(raw, "thinkingLevel", UNSET if message.thinking_level is None else message.thinking_level)
    return {**raw, **extra}


def content_out(content: Content) -> Any:
    return content if content is None or isinstance(content, str) else [part_out(part) for part in content]


def part_out(part: Any) -> Raw:
    raw: Raw
    match part:
        case TextPart():
            raw = {"type": "text", "text": part.text}
            _set(raw, "textSignature", UNSET if part.signature is None else part.signature)
        case ThinkingPart():
            raw = {"type": "thinking", "thinking": part.text}
            _set(raw, "thinkingSignature", UNSET if part.signature is None else part.signature)
            _set(raw, "redacted", True if part.redacted else UNSET)
        case ImagePart():
            raw = {"type": "image", "data": part.data, "mimeType": part.mime}
        case _:
            raw = {"type": "toolCall", "id": part.id, "name": part.name, "arguments": arguments_out(part.arguments)}
            _set(raw, "thoughtSignature", UNSET if part.signature is None else part.signature)
            _set(raw, "argumentsError", UNSET if part.arguments_error is None else part.arguments_error)
    return {**raw, **part.extra}


def arguments_out(text: str) -> Any:
    """The arguments as a value; text that is not whole yet is never compared."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {"unfinished": text}


def declaration_out(tool: ToolDeclaration) -> Raw:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters, **tool.extra}


def model_out(model: ModelChoice) -> Raw:
    raw: Raw = {"id": model.id, **model.extra}
    for name, value in (("api", model.api), ("provider", model.provider)):
        if value:
            raw[name] = value
    return raw


def result_out(result: ToolResult) -> Raw:
    raw: Raw = {}
    _set(raw, "content", UNSET if result.content == "" else content_out(result.content))
    _set(raw, "details", result.details)
    _set(raw, "structuredContent", result.structured)
    _set(raw, "usage", result.usage)
    _set(raw, "isError", True if result.is_error else UNSET)
    _set(raw, "terminate", UNSET if result.terminate is None else result.terminate)
    return {**raw, **result.extra}


def _set(raw: Raw, name: str, value: Any) -> None:
    if value is not UNSET:
        raw[name] = value


# --- events


def event_out(event: AgentEvent) -> Raw:
    match event:
        case AgentStarted():
            return {"type": "agent_start"}
        case TurnStarted():
            return {"type": "turn_start"}
        case MessageStarted(message=message):
            return {"type": "message_start", "message": message_out(message)}
        case MessageEnded(message=message):
            return {"type": "message_end", "message": message_out(message)}
        case MessageUpdated():
            message = message_out(event.message)
            return {"type": "message_update", "message": message, "assistantMessageEvent": delta_out(event, message)}
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
                "message": message_out(message),
                "toolResults": [message_out(result) for result in results],
            }
        case AgentEnded(messages=messages):
            return {"type": "agent_end", "messages": [message_out(message) for message in messages]}


_KINDS = {DeltaKind.TEXT: "text", DeltaKind.THINKING: "thinking", DeltaKind.CALL: "toolcall"}


def delta_out(event: MessageUpdated, message: Raw) -> Raw:
    delta = event.delta
    block = event.partial.blocks[delta.index]
    kind = _KINDS[block.kind]
    raw: Raw = {"contentIndex": delta.index, "partial": message}
    match delta:
        case BlockStarted():
            return {"type": f"{kind}_start", **raw}
        case BlockDelta(text=text):
            return {"type": f"{kind}_delta", "delta": text, **raw}
        case _ if block.kind is DeltaKind.CALL:
            return {"type": "toolcall_end", "toolCall": part_out(part_of(block)), **raw}
        case _:
            return {"type": f"{kind}_end", "content": getattr(part_of(block), "text", ""), **raw}


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
        block if block["type"] != "toolCall" or index in ended else {**block, "arguments": None}
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
