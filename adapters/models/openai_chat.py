"""OpenAI's Chat Completions, also as a whole world of compatible servers speaks it: what is sent.

Apart from ``chat_reader``, which is the way back. Read ``build_request``, then ``_output`` for what goes back of an
output: reasoning in the member that it came in, a gateway's details and Google's signatures as they were. Caching by a
key of one's own is an option, a member of the body that goes in last (``prompt_cache_key="..."``).
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
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
from ...effects.transcript.boundary import Boundary, Wording
from ...effects.transcript.declared import system_text
from .chat_reader import REASONING_MEMBERS, WITHIN_CONTENT, ChatReader
from .config import ModelConfig
from .generations import stand_in_for
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
from .wire import as_list

__all__ = ["OPENAI_CHAT", "build_request", "valid_id"]


def valid_id(id: str) -> str:
    """A call id as this protocol takes it: at most 40 characters; of a double id only the call's half."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id.partition("|")[0])[:40]


def build_request(request: ModelRequest, config: ModelConfig, boundary: Boundary | None = None) -> dict[str, Any]:
    """The body of a request. Raises ``DecodeError`` for a sealed message that holds none, and nothing else."""
    messages = messages_of(request, config, valid_id, boundary)
    sent = list(_messages(clean_text(request.instruction), messages, config))
    body: dict[str, Any] = {
        "model": config.model,
        "messages": list(_bridged(sent, config.wording)) if config.vendor.bridges else sent,
    }
    if config.vendor.asks_for_usage:
        body["stream_options"] = {"include_usage": True}
    limit = request.max_output_tokens or config.max_output_tokens
    if limit:
        body[config.vendor.max_tokens] = limit
    body |= reasoning_of(request, config)
    tools = tools_of(request, messages)
    if tools or (config.vendor.tools_due and any("tool_calls" in message for message in sent)):
        body["tools"] = [_tool(tool) for tool in tools]
    return {**body, **options_of(request, config), "stream": True}


def _messages(instruction: str, messages: Iterable[Message], config: ModelConfig) -> Iterator[dict[str, Any]]:
    if instruction:
        yield {"role": "system", "content": instruction}
    said = bool(instruction)
    for is_result, group in groupby(messages, lambda message: isinstance(message, ToolResultMessage)):
        if is_result:
            yield from _results(
                (message for message in group if isinstance(message, ToolResultMessage)), config.wording
            )
            continue
        for message in group:
            if isinstance(message, SystemMessage):
                text = system_update(message) if said else system_text(message)
                if text:
                    yield {"role": "system", "content": text}
            elif isinstance(message, UserMessage):
                yield {"role": "user", "content": _content(message.content)}
            elif isinstance(message, AssistantMessage):
                yield from _output(message, config)
            said = True


def _bridged(sent: Iterable[dict[str, Any]], wording: Wording) -> Iterator[dict[str, Any]]:
    """The messages, with an output between results and what the user says next."""
    before = ""
    for message in sent:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": wording.bridge}
        before = message["role"]
        yield message


def _content(content: Content) -> str | list[dict[str, Any]]:
    """Plain text as a string, which every server takes; with images, parts."""
    parts = parts_of(content)
    if not any(isinstance(part, ImagePart) for part in parts):
        return text_of_parts(content)
    return [_image(part) if isinstance(part, ImagePart) else {"type": "text", "text": part.text} for part in parts]


def _image(part: ImagePart) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(part)}}


def _output(message: AssistantMessage, config: ModelConfig) -> Iterator[dict[str, Any]]:
    """An output, unless there is nothing in it that can be sent."""
    text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
    calls = [_call(part) for part in message.parts if isinstance(part, CallPart)]
    if not text and not calls:
        return
    sent: dict[str, Any] = {"role": "assistant", "content": text or None}
    thoughts = [part for part in message.parts if isinstance(part, ThinkingPart)]
    if within := [_thought(part) for part in thoughts if part.signature == WITHIN_CONTENT]:
        sent["content"] = [*within, *([{"type": "text", "text": text}] if text else [])]
    if details := [detail for part in thoughts if part.redacted for detail in _details(part.signature)]:
        sent["reasoning_details"] = details
    else:
        for part in thoughts:
            if part.signature in REASONING_MEMBERS:
                sent[part.signature] = sent.get(part.signature, "") + part.text
    if calls:
        sent["tool_calls"] = calls
        if (stand_in := stand_in_for(config)) and not any("extra_content" in call for call in calls):
            calls[0]["extra_content"] = _signed_by_google(stand_in)
        if (due := config.vendor.reasoning_due) and not sent.get(due):
            sent[due] = " "  # an empty one counts as missing
    yield sent


def _thought(part: ThinkingPart) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]}


def _details(signature: str | None) -> list[Any]:
    """The reasoning details that a gateway gave to be given back, without what JSON cannot hold."""
    return as_list((arguments_of(f'{{"details":{signature}}}') or {}).get("details"))


def _call(part: CallPart) -> dict[str, Any]:
    """A call with its arguments as they were written; what is no object would break servers that parse it."""
    arguments = part.arguments if arguments_of(part.arguments) is not None else "{}"
    call: dict[str, Any] = {
        "id": part.id,
        "type": "function",
        "function": {"name": valid_name(part.name), "arguments": arguments},
    }
    return {**call, "extra_content": _signed_by_google(part.signature)} if part.signature else call


def _signed_by_google(signature: str) -> dict[str, Any]:
    return {"google": {"thought_signature": signature}}


def _results(results: Iterable[ToolResultMessage], wording: Wording) -> Iterator[dict[str, Any]]:
    """Results one by one, then the images of all of them as if the user showed them: results are text here."""
    images: list[ImagePart] = []
    for result in results:
        shown = [part for part in parts_of(result.content) if isinstance(part, ImagePart)]
        text = text_of_parts(result.content) or (wording.tool_image_follows if shown else "")
        yield {"role": "tool", "tool_call_id": result.call_id, "content": text}
        images += shown
    if images:
        heading = {"type": "text", "text": wording.tool_images}
        yield {"role": "user", "content": [heading, *map(_image, images)]}


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.parameters}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


OPENAI_CHAT = WireProtocol(
    name="openai-chat",
    sdk="openai",
    path="/chat/completions",
    id_rule=valid_id,
    build=build_request,
    reader=ChatReader,
    headers=sdk_headers,
    connect=sdk_connection,
)
