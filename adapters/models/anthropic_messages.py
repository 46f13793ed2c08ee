"""Anthropic's Messages API.

Read ``build_request`` for the way out and ``MessagesReader`` for the way back. Caching and the like are options:
members of the body that go in last (``cache_control={"type": "ephemeral"}``). So is ``thinking`` with a budget, for
models before 4.6; later ones know the adaptive thinking that a ``reasoning`` level asks for. The version of the API
is the SDK's, and is a header that can be set. A system message in mid-conversation, which only some models take, is
put into the one system prompt there is.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from types import ModuleType
from typing import Any

from ...effects.model import DeltaKind, ModelRequest
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    Content,
    ImagePart,
    Message,
    StopReason,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
    parts_of,
)
from ...effects.transcript.boundary import Boundary
from ...effects.values import replace
from .config import ModelConfig
from .environment import overruled
from .prompt import arguments_of, collapsed_system, messages_of, options_of, reasoning_of, tools_of, valid_name
from .protocols import SdkClient, WireProtocol
from .reader import AnswerReader
from .wire import as_count, as_object, as_text

__all__ = ["ANTHROPIC_MESSAGES", "DEFAULT_MAX_TOKENS", "MessagesReader", "build_request", "valid_id"]

DEFAULT_MAX_TOKENS = 16_384
"""The limit of the output where nobody set one: this protocol must have one."""


# The way out.


def valid_id(id: str) -> str:
    """A call id as this protocol takes it: letters, digits, ``_`` and ``-``, at most 64."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id)[:64]


def build_request(request: ModelRequest, config: ModelConfig, boundary: Boundary | None = None) -> dict[str, Any]:
    """The body of a request. Raises ``DecodeError`` for a sealed message that holds none, and nothing else."""
    messages = messages_of(request, config, valid_id, boundary)
    limit = request.max_output_tokens or config.max_output_tokens or DEFAULT_MAX_TOKENS
    body: dict[str, Any] = {"model": config.model, "max_tokens": limit, "messages": list(_messages(messages))}
    system = collapsed_system(request.instruction, messages)
    if system:
        body["system"] = system
    tools = tools_of(request, messages)
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    if level := reasoning_of(request, config):
        body["thinking"] = {"type": "adaptive"}
        body["output_config"] = {"effort": "low" if level == "minimal" else level}
    options = options_of(request, config)
    budget = as_count(as_object(options.get("thinking")).get("budget_tokens"))
    if budget is not None and budget >= limit:
        body["max_tokens"] = budget + limit  # thinking counts towards the limit and must leave room for an answer
    return {**body, **options, "stream": True}


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    """Users and outputs in turn; the results of a batch are one message."""
    for is_result, group in groupby(messages, lambda message: isinstance(message, ToolResultMessage)):
        if is_result:
            results = [_result(message) for message in group if isinstance(message, ToolResultMessage)]
            yield {"role": "user", "content": results}
            continue
        for message in group:
            if isinstance(message, UserMessage) and (blocks := _blocks(message.content)):
                yield {"role": "user", "content": blocks}
            elif isinstance(message, AssistantMessage) and (blocks := list(_output(message))):
                yield {"role": "assistant", "content": blocks}


def _blocks(content: Content) -> list[dict[str, Any]]:
    """Content as blocks; text without a letter in it is an error here, so it is left out."""
    return [
        _image(part) if isinstance(part, ImagePart) else {"type": "text", "text": part.text}
        for part in parts_of(content)
        if isinstance(part, ImagePart) or part.text.strip()
    ]


def _image(part: ImagePart) -> dict[str, Any]:
    if part.url:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": part.mime, "data": part.data}}


def _output(message: AssistantMessage) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if isinstance(part, CallPart):
            arguments = arguments_of(part.arguments) or {}
            yield {"type": "tool_use", "id": part.id, "name": valid_name(part.name), "input": arguments}
        elif isinstance(part, ThinkingPart) and part.redacted:
            if part.signature:
                yield {"type": "redacted_thinking", "data": part.signature}
        elif isinstance(part, ThinkingPart) and part.signature:
            yield {"type": "thinking", "thinking": part.text, "signature": part.signature}
        elif part.text.strip():
            yield {"type": "text", "text": part.text}


def _result(message: ToolResultMessage) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id}
    if blocks := _blocks(message.content):
        result["content"] = blocks
    if message.is_error:
        result["is_error"] = True
    return result


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": tool.name, "input_schema": tool.parameters}
    if tool.description:
        declared["description"] = tool.description
    return declared


# The way back.

_STOPS = {
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "tool_use": StopReason.TOOL_USE,
    "refusal": StopReason.REFUSAL,
    "sensitive": StopReason.REFUSAL,
}
_KINDS = {
    "text": DeltaKind.TEXT,
    "thinking": DeltaKind.THINKING,
    "redacted_thinking": DeltaKind.THINKING,
    "tool_use": DeltaKind.CALL,
}


class MessagesReader(AnswerReader):
    """One answer: blocks under indices, ended by ``message_stop``.

    Blocks of the provider's own tools are passed over: they are not ours to run or to show.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._passed_over: set[int | None] = set()
        self._given: dict[int | None, dict[str, Any]] = {}

    def on_event(self, name: str, value: dict[str, Any]) -> None:
        """Take in one event; its type is in the data, and its name says the same."""
        match as_text(value.get("type")) or name:
            case "message_start":
                message = as_object(value.get("message"))
                self.response_id = as_text(message.get("id")) or None
                self.answer.start(self.response_id, as_text(message.get("model")) or None)
                self._count(message)
            case "content_block_start":
                self._on_block(as_count(value.get("index")), as_object(value.get("content_block")))
            case "content_block_delta":
                self._on_delta(as_count(value.get("index")), as_object(value.get("delta")))
            case "content_block_stop":
                self._on_block_end(as_count(value.get("index")))
            case "message_delta":
                self._count(value)
                self._on_stop(as_object(value.get("delta")))
            case "message_stop":
                self.complete = self.over = True
            case "error":
                self.report(value)
            case _:
                pass

    def _on_block(self, key: int | None, block: dict[str, Any]) -> None:
        kind = _KINDS.get(as_text(block.get("type")))
        if kind is None:
            self._passed_over.add(key)
            return
        self._passed_over.discard(key)
        self.answer.open(key, kind, as_text(block.get("id")), as_text(block.get("name")))
        self._given[key] = as_object(block.get("input"))
        self.answer.append(key, kind, as_text(block.get("text")) or as_text(block.get("thinking")))
        if block.get("type") == "redacted_thinking":
            self.answer.sign(key, as_text(block.get("data")), redacted=True)
        elif signature := as_text(block.get("signature")):
            self.answer.sign(key, signature)

    def _on_delta(self, key: int | None, delta: dict[str, Any]) -> None:
        if key in self._passed_over:
            return
        match as_text(delta.get("type")):
            case "text_delta":
                self.answer.append(key, DeltaKind.TEXT, as_text(delta.get("text")))
            case "thinking_delta":
                self.answer.append(key, DeltaKind.THINKING, as_text(delta.get("thinking")))
            case "input_json_delta":
                self.answer.append(key, DeltaKind.CALL, as_text(delta.get("partial_json")))
            case "signature_delta":
                self.answer.sign(key, as_text(delta.get("signature")))
            case _:
                pass

    def _on_block_end(self, key: int | None) -> None:
        if key in self._passed_over:
            return
        given = self._given.pop(key, None)
        if given and self.answer.is_empty(key):  # some servers give the arguments at once, at the start
            self.answer.append(key, DeltaKind.CALL, json.dumps(given, ensure_ascii=False, separators=(",", ":")))
        self.answer.close(key)

    def _on_stop(self, delta: dict[str, Any]) -> None:
        reason = as_text(delta.get("stop_reason"))
        if not reason:
            return
        self.raw_stop, self.stop = reason, _STOPS.get(reason, StopReason.STOP)
        explanation = as_text(as_object(delta.get("stop_details")).get("explanation"))
        if self.stop is StopReason.REFUSAL and explanation:
            self.answer.say(DeltaKind.TEXT, explanation)

    def _count(self, holder: dict[str, Any]) -> None:
        """Counts so far; a later report replaces only what it has, since some servers leave out the rest."""
        usage = as_object(holder.get("usage"))
        told = {
            "input": as_count(usage.get("input_tokens")),
            "cache_read": as_count(usage.get("cache_read_input_tokens")),
            "cache_write": as_count(usage.get("cache_creation_input_tokens")),
            "output": as_count(usage.get("output_tokens")),
            "reasoning": as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
        }
        changes = {part: count for part, count in told.items() if count is not None}
        if changes:
            known: Usage = replace(self.answer.usage, **changes)
            self.answer.count(known)


# The SDK.


def _headers(sdk: ModuleType, config: ModelConfig) -> dict[str, Any]:
    headers: dict[str, Any] = overruled("ANTHROPIC_CUSTOM_HEADERS", sdk.omit)
    if config.base_url != config.vendor.base_url:
        headers["X-Api-Key"] = config.api_key  # how gateways know it; the SDK sends a bearer token since its version 2
    return headers


def _connect(sdk: ModuleType, config: ModelConfig, http_client: Any) -> SdkClient:
    client: SdkClient = sdk.AsyncAnthropic(
        api_key=config.api_key,
        base_url=config.base_url,
        max_retries=0,
        default_query=dict(config.query),
        http_client=http_client,
    )
    return client


ANTHROPIC_MESSAGES = WireProtocol(
    name="anthropic-messages",
    sdk="anthropic",
    path="/v1/messages",
    id_rule=valid_id,
    build=build_request,
    reader=MessagesReader,
    headers=_headers,
    connect=_connect,
)
