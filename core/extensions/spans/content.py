"""Messages as the GenAI conventions write them: JSON texts of roles and parts. Used only where content is asked for.

Bytes are left out: of an image there is its type and its size in characters of base64.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ....effects.transcript import (
    AssistantMessage,
    CallPart,
    CustomMessage,
    ImagePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolResultMessage,
    parts_of,
    text_of,
)

__all__ = ["input_messages", "output_messages", "system_instructions"]


def input_messages(messages: Iterable[Message]) -> str:
    """What the model was given, but for the instructions at its head."""
    return _text([written for message in messages for written in _message(message)])


def output_messages(answer: AssistantMessage) -> str:
    """What the model gave."""
    return _text([{**written, "finish_reason": answer.raw_stop or str(answer.stop)} for written in _message(answer)])


def system_instructions(messages: Iterable[Message]) -> str:
    """The instructions at the head of a conversation; nothing if there are none."""
    first = next(iter(messages), None)
    if not isinstance(first, SystemMessage):
        return ""
    sections = [text for text in (first.sections or {}).values() if text]
    texts = [text for text in (text_of(first), *sections) if text]
    return _text([_text_part(text) for text in texts]) if texts else ""


def _message(message: Message) -> Iterator[dict[str, Any]]:
    match message:
        case SystemMessage():
            text = text_of(message)
            if text:
                yield {"role": "system", "parts": [_text_part(text)]}
        case AssistantMessage(parts=parts):
            yield {"role": "assistant", "parts": [_part(part) for part in parts]}
        case ToolResultMessage():
            response = {"type": "tool_call_response", "id": message.call_id, "response": text_of(message)}
            yield {"role": "tool", "parts": [response]}
        case CustomMessage(role=role):
            yield {"role": role, "parts": []}
        case _:
            yield {"role": "user", "parts": [_part(part) for part in parts_of(message.content)]}


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text=text):
            return _text_part(text)
        case ThinkingPart(text=text):
            return {"type": "reasoning", "content": text}
        case CallPart():
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
        case ImagePart():
            return {"type": "image", "mime_type": part.mime, "size": len(part.data)}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
