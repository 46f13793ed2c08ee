"""The parts of messages on the line, both ways, and how members of the wrong type are refused."""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from ...effects.transcript import AssistantPart, CallPart, Content, ImagePart, Part, TextPart, ThinkingPart, clean_json
from ...effects.transcript.partial_json import partial_json
from ...effects.values import UNSET

__all__ = [
    "WireError",
    "as_object",
    "as_text",
    "assistant_parts",
    "call_from_wire",
    "content_from_wire",
    "content_to_wire",
    "json_text",
    "part_to_wire",
    "read_json",
    "rest",
    "set_if",
    "shown_arguments",
    "strict_json",
    "text_or_none",
]

NOT_JSON = "they are not valid JSON"
"""What is wrong with arguments that cannot be read, as the end of a sentence about them."""


class WireError(ValueError):
    """JSON that is not what the protocol says; the text names the member, never its value."""


# Out.


def content_to_wire(content: Content) -> Any:
    """The content of a message: text, a list of parts, or null."""
    return content if content is None or isinstance(content, str) else list(map(part_to_wire, content))


def part_to_wire(part: Part) -> dict[str, Any]:
    """One part of a message."""
    raw: dict[str, Any]
    match part:
        case TextPart():
            raw = {"type": "text", "text": part.text}
            set_if(raw, "textSignature", part.signature, absent=None)
        case ThinkingPart():
            raw = {"type": "thinking", "thinking": part.text}
            set_if(raw, "thinkingSignature", part.signature, absent=None)
            if part.redacted:
                raw["redacted"] = True
        case ImagePart():
            raw = {"type": "image", "data": part.data, "mimeType": part.mime}
            set_if(raw, "url", part.url, absent=None)
        case CallPart():
            value, problem = shown_arguments(part.arguments)
            raw = {"type": "toolCall", "id": part.id, "name": part.name, "arguments": value}
            set_if(raw, "thoughtSignature", part.signature, absent=None)
            set_if(raw, "argumentsError", part.arguments_error or problem, absent=None)
    return {**raw, **part.extra}


def shown_arguments(text: str) -> tuple[Any, str | None]:
    """The value of a call's argument text, and what is wrong with the text, which is read as far as possible then.

    Blank text is an empty object (decision 45).
    """
    if not text.strip():
        return {}, None
    try:
        return read_json(text), None
    except ValueError:
        return clean_json(partial_json(text)), NOT_JSON


def json_text(value: Any) -> str:
    """A value that came as JSON, as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_json(text: str) -> Any:
    """The value of a JSON text, storable; raises ``ValueError`` as ``strict_json`` does."""
    value = strict_json(text)
    return clean_json(value) if "\\u" in text else value


def strict_json(text: str) -> Any:
    """The value of a JSON text; raises ``ValueError`` for anything else, numbers out of range included."""
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number out of range")
    return number


def set_if(raw: dict[str, Any], name: str, value: Any, absent: Any = UNSET) -> None:
    """Set a member unless its value says that there is none."""
    if value is not absent:
        raw[name] = value


# In.


def assistant_parts(value: Any) -> tuple[AssistantPart, ...]:
    """The parts of an output; none where there is no content. Raises ``WireError``."""
    parts: list[AssistantPart] = []
    for part in _parts(value):
        if isinstance(part, ImagePart):
            raise WireError("an output holds an image")
        parts.append(part)
    return tuple(parts)


def content_from_wire(value: Any) -> Content:
    """The content of any other message; raises ``WireError``."""
    if value is None or isinstance(value, str):
        return value
    parts: list[TextPart | ImagePart] = []
    for part in _parts(value):
        if not isinstance(part, TextPart | ImagePart):
            raise WireError("a message that is no output holds a call or reasoning")
        parts.append(part)
    return tuple(parts)


def _parts(value: Any) -> list[Part]:
    if isinstance(value, str):
        return [TextPart(value)]
    if value is not None and not isinstance(value, list):
        raise WireError("the content of a message is neither text nor a list")
    return list(map(_part, cast("list[Any]", value or [])))


def _part(value: Any) -> Part:
    raw = as_object(value, "a block of content")
    kind = as_text(raw, "type")
    match kind:
        case "text":
            return TextPart(as_text(raw, "text"), *_signed(raw, "textSignature", "text"))
        case "thinking":
            signature, extra = _signed(raw, "thinkingSignature", "thinking", "redacted")
            return ThinkingPart(as_text(raw, "thinking"), signature, raw.get("redacted") is True, extra)
        case "image":
            extra = rest(raw, "type", "data", "mimeType", "url")
            return ImagePart(as_text(raw, "data"), as_text(raw, "mimeType"), text_or_none(raw, "url"), extra)
        case "toolCall":
            return call_from_wire(raw)
        case _:
            raise WireError(f"there are no blocks of content called {kind[:50]!r}")


def call_from_wire(raw: dict[str, Any]) -> CallPart:
    """A call whose arguments are a value; raises ``WireError``."""
    signature, extra = _signed(raw, "thoughtSignature", "id", "name", "arguments", "argumentsError")
    arguments = json_text(raw.get("arguments", {}))
    problem = text_or_none(raw, "argumentsError")
    return CallPart(as_text(raw, "id"), as_text(raw, "name"), arguments, signature, extra, problem)


def _signed(raw: dict[str, Any], name: str, *known: str) -> tuple[str | None, dict[str, Any]]:
    """A signature and the members that we do not know, among them a signature that is null: it is not an absent one."""
    extra = rest(raw, "type", name, *known)
    if name in raw and raw[name] is None:
        extra[name] = None
    return text_or_none(raw, name), extra


def rest(raw: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """The members that are not named."""
    return {name: value for name, value in raw.items() if name not in known}


def as_object(value: Any, what: str) -> dict[str, Any]:
    """The object; raises ``WireError`` for anything else."""
    if not isinstance(value, dict):
        raise WireError(f"{what} is no JSON object")
    return cast("dict[str, Any]", value)


def as_text(raw: Mapping[str, Any], name: str) -> str:
    """The text of a member that must be there; raises ``WireError``."""
    value = raw.get(name)
    if not isinstance(value, str):
        raise WireError(f"the member {name} {'is no text' if name in raw else 'is missing'}")
    return value


def text_or_none(raw: Mapping[str, Any], name: str) -> str | None:
    """The text of a member, or nothing if it is absent or null; raises ``WireError``."""
    return None if raw.get(name) is None else as_text(raw, name)
