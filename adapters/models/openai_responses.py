"""OpenAI's Responses API, also as Volcengine's Ark and other servers speak it: what is sent.

Apart from ``responses_reader``, which is the way back. Nothing is stored by the provider: every request carries the
whole conversation, and what only the model itself may read again goes back as it came, the reasoning as the item it
was (with its encrypted content), calls of the provider's own tools likewise, texts and calls behind reasoning under
the ids of their items. Read ``build_request``, then ``_output`` for the rules about which items may go back. Options
are members of the body that go in last; an ``include`` among them replaces ours, which asks for the encrypted
reasoning.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from ...effects.model import ModelRequest
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    Content,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    clean_text,
    parts_of,
)
from ...effects.transcript.boundary import Boundary
from ...effects.transcript.declared import system_text
from .config import ModelConfig
from .openai_sdk import sdk_connection, sdk_headers
from .prompt import (
    arguments_of,
    data_url,
    messages_of,
    options_of,
    reasoning_of,
    system_update,
    text_of_parts,
    tools_of,
    valid_name,
)
from .protocols import WireProtocol
from .responses_reader import ResponsesReader
from .wire import as_text

__all__ = ["OPENAI_RESPONSES", "build_request", "valid_id"]

_LONGEST_ID = 64


def valid_id(id: str) -> str:
    """A call id as this protocol takes it: letters, digits, ``_`` and ``-``, at most 64, no ``_`` at the end."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id.partition("|")[0])[:_LONGEST_ID].rstrip("_")


def build_request(request: ModelRequest, config: ModelConfig, boundary: Boundary | None = None) -> dict[str, Any]:
    """The body of a request. Raises ``DecodeError`` for a sealed message that holds none, and nothing else."""
    messages = messages_of(request, config, valid_id, boundary)
    instruction = clean_text(request.instruction)
    body: dict[str, Any] = {
        "model": config.model,
        "input": list(_items(messages, bool(instruction), config.vendor.sealed)),
        "store": False,
    }
    if instruction:
        body["instructions"] = instruction
    if limit := request.max_output_tokens or config.max_output_tokens:
        body[config.vendor.max_tokens] = limit
    thinking = config.vendor.thinking
    if re.match(thinking.thinkers, config.model):
        body |= deepcopy(dict(thinking.always))
    body |= reasoning_of(request, config)
    if tools := tools_of(request, messages):
        body["tools"] = [_tool(tool) for tool in tools]
    return {**body, **options_of(request, config), "stream": True}


def _items(messages: Iterable[Message], said: bool, sealed: bool) -> Iterator[dict[str, Any]]:
    """The conversation as input items; ``said``: whether something comes before it."""
    for message in messages:
        if isinstance(message, SystemMessage):
            if text := system_update(message) if said else system_text(message):
                yield {"role": "system", "content": text}
        elif isinstance(message, UserMessage):
            yield {"role": "user", "content": _content(message.content)}
        elif isinstance(message, AssistantMessage):
            yield from _output(message, sealed)
        elif isinstance(message, ToolResultMessage):
            yield {"type": "function_call_output", "call_id": message.call_id, "output": _content(message.content)}
        said = True


def _content(content: Content) -> str | list[dict[str, Any]]:
    """Plain text as a string; with images, parts."""
    parts = parts_of(content)
    if not any(isinstance(part, ImagePart) for part in parts):
        return text_of_parts(content)
    return [_shown(part) for part in parts]


def _shown(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}


def _output(message: AssistantMessage, sealed: bool) -> list[dict[str, Any]]:
    """An output as items.

    The server pairs the items that it made: a reasoning item must be followed by what it was for, and an item under
    its id must come with its reasoning. So all of them go back, or where one is missing only what was said and called,
    and reasoning at the end stays away. A text or a call needs no id: it has one only where reasoning is before it, for
    without any nobody knows whether there was none.
    """
    own = _own_items(message, sealed)
    paired = all(own)
    hidden = iter(own)
    led = False
    items: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, ThinkingPart):
            item = next(hidden) if paired else {}
            led = led or item.get("type") == "reasoning"
        elif isinstance(part, CallPart):
            item = _call(part, led)
        else:
            item = _text(part, led)
        if item:
            items.append(item)
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _own_items(message: AssistantMessage, sealed: bool) -> list[dict[str, Any]]:
    """For each thinking part the provider's item that it is; an empty one where that is missing or cannot go back.

    A call that is in want of an output cannot: the provider's tools bring theirs with them, under the same call id.
    """
    signed = [(part, _signed(part.signature)) for part in message.parts if isinstance(part, ThinkingPart)]
    ids = Counter(id for _, item in signed if (id := as_text(item.get("call_id"))))
    own: list[dict[str, Any]] = []
    for part, item in signed:
        if not as_text(item.get("type")):
            own.append({})
        elif not part.redacted:
            own.append(_thought(item, sealed))
        else:
            own.append(item if ids[as_text(item.get("call_id"))] != 1 else {})
    return own


def _thought(item: dict[str, Any], sealed: bool) -> dict[str, Any]:
    """The reasoning item that the provider gave, without what it left empty; nothing if this is none.

    One that says nothing at all is of no use to anybody, and where reasoning is sealed, neither is one without its
    encrypted content: the provider looks for it among what it has stored, which is nothing.
    """
    said = ("encrypted_content",) if sealed else ("encrypted_content", "summary", "content")
    if item["type"] != "reasoning" or not as_text(item.get("id")) or not any(item.get(name) for name in said):
        return {}
    return {"summary": [], **{name: value for name, value in item.items() if value is not None}}


def _call(part: CallPart, led: bool) -> dict[str, Any]:
    """A call with its arguments as they were written; what is no object would break servers that parse it."""
    arguments = part.arguments if arguments_of(part.arguments) is not None else "{}"
    item: dict[str, Any] = {
        "type": "function_call",
        "call_id": part.id,
        "name": valid_name(part.name),
        "arguments": arguments,
    }
    id = as_text(_signed(part.signature).get("id"))
    return {**item, "id": id} if led and 0 < len(id) <= _LONGEST_ID else item


def _text(part: TextPart, led: bool) -> dict[str, Any]:
    """A text under the id of its item, with its phase, where both are known; else as something that was said."""
    if not part.text:
        return {}
    signed = _signed(part.signature)
    id, phase = as_text(signed.get("id")), as_text(signed.get("phase"))
    kept = {"phase": phase} if phase else {}
    if not led or not 0 < len(id) <= _LONGEST_ID:
        return {"role": "assistant", "content": part.text, **kept}
    content: list[dict[str, Any]] = [{"type": "output_text", "text": part.text, "annotations": []}]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content, **kept}


def _signed(signature: str | None) -> dict[str, Any]:
    """What a signature of this protocol holds, without what JSON cannot hold; older ones are the bare id."""
    if not signature:
        return {}
    if re.fullmatch("[a-zA-Z0-9_-]+", signature):
        return {"id": signature}
    return arguments_of(signature) or {}


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    declared: dict[str, Any] = {"type": "function", "name": tool.name, "parameters": tool.parameters, "strict": False}
    if tool.description:
        declared["description"] = tool.description
    return declared


OPENAI_RESPONSES = WireProtocol(
    name="openai-responses",
    sdk="openai",
    path="/responses",
    id_rule=valid_id,
    build=build_request,
    reader=ResponsesReader,
    headers=sdk_headers,
    connect=sdk_connection,
)
