"""OpenAI's Chat Completions, also as a whole world of compatible servers speaks it.

Read ``build_request`` for the way out and ``ChatReader`` for the way back. Peculiarities of servers that are handled:
reasoning in one of several members, in the content or in details that must go back, calls without index or id, several
calls under one index, the older kind of call, usage inside a choice, a refusal in a member of its own, no ``[DONE]``.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ...effects.model import DeltaKind, ModelRequest
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    Content,
    ImagePart,
    Message,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
    clean_text,
    parts_of,
)
from ...effects.transcript.boundary import Boundary, Wording
from ...effects.transcript.declared import system_text
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
from .reader import AnswerReader
from .wire import as_count, as_list, as_object, as_text

__all__ = ["OPENAI_CHAT", "ChatReader", "build_request", "valid_id"]

REASONING_MEMBERS = ("reasoning_content", "reasoning", "reasoning_text")
"""Where servers put reasoning. It goes back where it came from: the member's name is kept as the signature."""

WITHIN_CONTENT = "content"
"""The signature of reasoning that came as a part of the content, as Mistral has it."""


# The way out.


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
    if tools:
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
    """The reasoning details that a gateway gave to be given back."""
    try:
        return as_list(json.loads(signature or "null"))
    except (ValueError, RecursionError):
        return []


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


# The way back.

_STOPS = {
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "model_length": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
    "safety": StopReason.REFUSAL,
    "sensitive": StopReason.REFUSAL,
}
_BREAKDOWNS = frozenset({"error", "insufficient_system_resource", "network_error"})


class ChatReader(AnswerReader):
    """One answer: chunks of choice 0, ended by its ``finish_reason``; usage may follow."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._refused = False
        self._reasoning_member = ""
        self._details: dict[tuple[int | None, str], dict[str, Any]] = {}

    def on_event(self, name: str, value: dict[str, Any]) -> None:
        """Take in one chunk."""
        if value.get("error"):
            self.report(value)
            return
        self.response_id = self.response_id or as_text(value.get("id")) or None
        choices = [as_object(choice) for choice in as_list(value.get("choices"))]
        choice = next((choice for choice in choices if choice.get("index") in (0, None)), None)
        if choice is not None or self.response_id:
            self.answer.start(self.response_id, as_text(value.get("model")) or None)
        if choice is not None:
            self._on_choice(choice)
        usage = as_object(value.get("usage")) or as_object(choice and choice.get("usage"))
        if usage:
            self.answer.count(usage_of(usage))

    def _on_choice(self, choice: dict[str, Any]) -> None:
        delta = as_object(choice.get("delta"))
        self._on_reasoning(delta)
        self._on_content(delta.get("content"))
        if refusal := as_text(delta.get("refusal")):
            self._refused = True
            self.answer.say(DeltaKind.TEXT, refusal)
        for piece in map(as_object, as_list(delta.get("tool_calls"))):
            self._on_call(piece, as_object(piece.get("function")))
        if older := as_object(delta.get("function_call")):
            self._on_call({}, older)
        if reason := as_text(choice.get("finish_reason")):
            self._on_finish(reason, choice)

    def _on_content(self, content: Any) -> None:
        """Text; or parts, of which some are reasoning."""
        self.answer.say(DeltaKind.TEXT, as_text(content))
        for part in map(as_object, as_list(content)):
            self.answer.say(DeltaKind.TEXT, as_text(part.get("text")))
            thoughts = part.get("thinking")
            for thought in as_list(thoughts) or [{"text": thoughts}]:
                self.answer.say(DeltaKind.THINKING, as_text(as_object(thought).get("text")), signature=WITHIN_CONTENT)

    def _on_call(self, piece: dict[str, Any], function: dict[str, Any]) -> None:
        self.answer.call(
            as_count(piece.get("index")),
            as_text(piece.get("id")),
            as_text(function.get("name")),
            as_text(function.get("arguments")),
        )
        google = as_object(as_object(piece.get("extra_content")).get("google"))
        if signature := as_text(google.get("thought_signature")):
            self.answer.sign(None, signature)

    def _on_reasoning(self, delta: dict[str, Any]) -> None:
        """Reasoning from one member only: some servers say the same in two."""
        details = [as_object(detail) for detail in as_list(delta.get("reasoning_details"))]
        for detail in details:
            self._keep(detail)
        members = (self._reasoning_member,) if self._reasoning_member else REASONING_MEMBERS
        for member in members:
            if text := as_text(delta.get(member)):
                self._reasoning_member = member
                self.answer.say(DeltaKind.THINKING, text, signature=member)
                return
        if not self._reasoning_member:
            for detail in details:
                self.answer.say(DeltaKind.THINKING, as_text(detail.get("text")) or as_text(detail.get("summary")))

    def _keep(self, detail: dict[str, Any]) -> None:
        """A piece of what a gateway wants back: pieces under one index are one, their texts joined."""
        key = as_count(detail.get("index")), as_text(detail.get("type"))
        kept = self._details.setdefault(key, {})
        for name, value in detail.items():
            if name in ("text", "summary", "data") and isinstance(value, str):
                kept[name] = as_text(kept.get(name)) + value
            elif value is not None or name not in kept:
                kept[name] = value

    def _on_finish(self, reason: str, choice: dict[str, Any]) -> None:
        self.raw_stop = reason
        if reason in _BREAKDOWNS:
            self.report(choice if choice.get("error") else {"error": {"code": reason}})
            return
        if self._details and not self.complete:
            self.answer.hide(json.dumps([*self._details.values()], ensure_ascii=False, separators=(",", ":")))
        self.stop = StopReason.REFUSAL if self._refused else _STOPS.get(reason, StopReason.STOP)
        self.complete = True


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens in disjoint parts: the provider counts cached ones within the prompt (decision 26)."""
    prompt, output = as_count(usage.get("prompt_tokens")) or 0, as_count(usage.get("completion_tokens")) or 0
    prompt_details = as_object(usage.get("prompt_tokens_details"))
    cached = as_count(prompt_details.get("cached_tokens")) or as_count(usage.get("prompt_cache_hit_tokens")) or 0
    read = min(cached, prompt)
    written = min(as_count(prompt_details.get("cache_write_tokens")) or 0, prompt - read)
    reasoning = as_count(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens")) or 0
    if as_count(usage.get("total_tokens")) == prompt + output + reasoning:
        output += reasoning  # some servers count reasoning beside the output, not within it
    return Usage(prompt - read - written, read, written, output, min(reasoning, output))


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
