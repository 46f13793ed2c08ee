"""Messages as they are on the line, both ways: the JSON that the proxy's protocol has for them.

Names are the protocol's (``toolCallId``), ours are the attributes. A member that we do not name stays in ``extra`` and
goes out again; it also says what is kept of members that ours cannot hold, such as an unknown ``stopReason`` or the
totals of ``usage``. Arguments of a call are a value there and text here: text that is no JSON goes out as far as it can
be read, with ``argumentsError`` beside it. ``blocks`` has the parts of messages.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ...effects.model import ModelChoice
from ...effects.transcript import (
    AssistantMessage,
    CustomMessage,
    ErrorKind,
    Message,
    ModelError,
    StopReason,
    SystemMessage,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
    clean_json,
)
from ...effects.values import UNSET
from .blocks import (
    WireError,
    as_object,
    as_text,
    assistant_parts,
    content_from_wire,
    content_to_wire,
    part_to_wire,
    rest,
    set_if,
    text_or_none,
)

__all__ = [
    "STOPS",
    "Raw",
    "WireError",
    "declaration_from_wire",
    "declaration_to_wire",
    "message_from_wire",
    "message_to_wire",
    "model_to_wire",
    "usage_from_wire",
]

Raw = dict[str, Any]

STOPS = {
    "stop": StopReason.STOP,
    "length": StopReason.LENGTH,
    "toolUse": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "aborted": StopReason.ABORTED,
    "pending": StopReason.PENDING,
}
"""What the protocol calls the ends of an output; any other word is an ordinary end."""

_STOP_NAMES = {stop: name for name, stop in STOPS.items()} | {StopReason.REFUSAL: "stop"}
_USAGE = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheWrite": "cache_write"}
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


# Out.


def message_to_wire(message: Message) -> Raw:
    """The message as the protocol writes it."""
    match message:
        case SystemMessage():
            raw = _system_to_wire(message)
        case UserMessage():
            raw = {"role": "user", "content": content_to_wire(message.content)}
        case AssistantMessage():
            raw = _assistant_to_wire(message)
        case ToolResultMessage():
            raw = _result_to_wire(message)
        case CustomMessage():
            raw = {"role": message.role}
            set_if(raw, "content", message.content)
    set_if(raw, "timestamp", message.timestamp, absent=None)
    extra = {name: value for name, value in message.extra.items() if name != "usage" or raw["role"] != "assistant"}
    return {**raw, **extra}


def _system_to_wire(message: SystemMessage) -> Raw:
    raw: Raw = {"role": "system", "content": content_to_wire(message.content)}
    if message.sections is not None:
        raw["sections"] = dict(message.sections)
    if message.tools_added is not None:
        raw["toolsAdded"] = list(map(declaration_to_wire, message.tools_added))
    if message.tools_removed is not None:
        raw["toolsRemoved"] = [{"name": name} for name in message.tools_removed]
    return raw


def _assistant_to_wire(message: AssistantMessage) -> Raw:
    raw: Raw = {
        "role": "assistant",
        "content": list(map(part_to_wire, message.parts)),
        "api": message.api,
        "provider": message.provider,
        "model": message.model,
        "usage": _usage_to_wire(message.usage, message.extra.get("usage", UNSET)),
        "stopReason": _STOP_NAMES[message.stop],
    }
    set_if(raw, "rawStopReason", message.raw_stop, absent=None)
    set_if(raw, "responseId", message.response_id, absent=None)
    set_if(raw, "errorMessage", message.error and message.error.message, absent=None)
    set_if(raw, "thinkingLevel", message.thinking_level, absent=None)
    return raw


def _usage_to_wire(usage: Usage, more: Any) -> Raw | None:
    """Our parts, and beside them what came with them; totals of our own where nothing did."""
    if more is None:
        return None
    raw: Raw = {theirs: getattr(usage, ours) for theirs, ours in _USAGE.items()}
    if usage.reasoning:
        raw["reasoning"] = usage.reasoning
    if isinstance(more, Mapping):
        return {**raw, **cast("Mapping[str, Any]", more)}
    return {**raw, "totalTokens": usage.total, "cost": dict(_NO_COST)}


def _result_to_wire(message: ToolResultMessage) -> Raw:
    raw: Raw = {
        "role": "toolResult",
        "toolCallId": message.call_id,
        "toolName": message.name,
        "content": content_to_wire(message.content),
        "isError": message.is_error,
    }
    set_if(raw, "details", message.details)
    set_if(raw, "usage", message.usage)
    return raw


def declaration_to_wire(tool: ToolDeclaration) -> Raw:
    """A tool as transcripts declare it."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters), **tool.extra}


def model_to_wire(model: ModelChoice) -> Raw:
    """A model as the protocol names it: id, name, api and provider first, then whatever else a host said of it."""
    known = {"id": model.id, "name": model.extra.get("name"), "api": model.api, "provider": model.provider}
    named = {name: value for name, value in known.items() if value or name == "id"}
    return {**named, **model.extra}


# In.


def message_from_wire(value: Any) -> Message:
    """The message that this JSON is; raises ``WireError`` for what is none."""
    raw = as_object(clean_json(value), "a message")
    role = as_text(raw, "role")
    timestamp = raw.get("timestamp")
    at = None if timestamp is None else _whole(timestamp, "the timestamp of a message is no time")
    match role:
        case "system":
            return _system_from_wire(raw, at)
        case "user":
            return UserMessage(content_from_wire(raw.get("content")), at, _rest(raw, "content"))
        case "assistant":
            return _assistant_from_wire(raw, at)
        case "toolResult":
            return _result_from_wire(raw, at)
        case _:
            return CustomMessage(role, raw.get("content", UNSET), at, _rest(raw, "content"))


def _system_from_wire(raw: Raw, at: int | None) -> SystemMessage:
    added, removed, sections = raw.get("toolsAdded"), raw.get("toolsRemoved"), raw.get("sections")
    return SystemMessage(
        content_from_wire(raw.get("content")),
        None if sections is None else _sections(sections),
        None if added is None else tuple(map(declaration_from_wire, _list(added, "toolsAdded"))),
        None if removed is None else tuple(as_text(as_object(one, "a tool"), "name") for one in _list(removed, "")),
        at,
        _rest(raw, "content", "sections", "toolsAdded", "toolsRemoved"),
    )


def _sections(value: Any) -> dict[str, str | None]:
    sections = as_object(value, "sections")
    for text in sections.values():
        if text is not None and not isinstance(text, str):
            raise WireError("a section of a system message is neither text nor null")
    return sections


def _assistant_from_wire(raw: Raw, at: int | None) -> AssistantMessage:
    said = text_or_none(raw, "stopReason")
    said = "stop" if said is None else said
    stop = STOPS.get(said, StopReason.STOP)
    identity = {name: value for name in ("api", "provider", "model") if isinstance(value := raw.get(name), str)}
    known = {"content", "usage", "responseId", "rawStopReason", "errorMessage", "thinkingLevel", *identity}
    if said in STOPS:
        known.add("stopReason")
    usage, more = usage_from_wire(raw["usage"]) if "usage" in raw else (Usage(), {})
    failed = text_or_none(raw, "errorMessage")
    kind = ErrorKind.ABORTED if stop is StopReason.ABORTED else ErrorKind.UNAVAILABLE
    return AssistantMessage(
        parts=assistant_parts(raw.get("content")),
        api=identity.get("api", ""),
        provider=identity.get("provider", ""),
        model=identity.get("model", ""),
        stop=stop,
        raw_stop=text_or_none(raw, "rawStopReason"),
        usage=usage,
        response_id=text_or_none(raw, "responseId"),
        error=None if failed is None else ModelError(kind, failed),
        timestamp=at,
        extra={**_rest(raw, *known), **more},
        thinking_level=text_or_none(raw, "thinkingLevel"),
    )


def usage_from_wire(value: Any) -> tuple[Usage, Raw]:
    """Our parts of some usage, and what an output's ``extra`` keeps of the rest; raises ``WireError``."""
    if value is None:
        return Usage(), {"usage": None}
    raw = as_object(value, "usage")
    counts = {ours: _count(raw.get(theirs)) for theirs, ours in _USAGE.items()}
    reasoning = min(_count(raw.get("reasoning")), counts["output"])
    return Usage(**counts, reasoning=reasoning), {"usage": rest(raw, *_USAGE)}


def _count(value: Any) -> int:
    return 0 if value is None else _whole(value, "usage has a count that is no number of tokens")


def _whole(value: Any, problem: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**63:
        raise WireError(problem)
    return int(value)


def _result_from_wire(raw: Raw, at: int | None) -> ToolResultMessage:
    return ToolResultMessage(
        as_text(raw, "toolCallId"),
        as_text(raw, "toolName"),
        content_from_wire(raw.get("content")),
        raw.get("isError") is True,
        details=raw.get("details", UNSET),
        timestamp=at,
        extra=_rest(raw, "toolCallId", "toolName", "content", "isError", "details", "usage"),
        usage=raw.get("usage", UNSET),
    )


def declaration_from_wire(value: Any) -> ToolDeclaration:
    """The declaration that this JSON is; raises ``WireError``."""
    raw = as_object(value, "a tool")
    parameters = as_object(raw.get("parameters", {}), "the parameters of a tool")
    extra = rest(raw, "name", "description", "parameters")
    return ToolDeclaration(as_text(raw, "name"), text_or_none(raw, "description") or "", parameters, extra)


def _rest(raw: Raw, *known: str) -> Raw:
    return rest(raw, "role", "timestamp", *known)


def _list(value: Any, what: str) -> Iterable[Any]:
    if not isinstance(value, list):
        raise WireError(f"{what or 'toolsRemoved'} is no list")
    return cast("list[Any]", value)
