"""Anthropic's Messages API: what is sent.

Apart from ``messages_reader``, which is the way back. Read ``build_request`` first; ``anthropic_thinking`` has what is
said about thinking. Caching and the like are options, members of the body that go in last: ``cache_control={"type":
"ephemeral"}`` lets the API choose what it caches. ``cache_breakpoints`` of the same value is no member: it marks the
system prompt, the last tool and the last block of the user, up to which the API then caches. The version of the API is
the SDK's, and is a header that can be set. A system message in mid-conversation, which only some models take, is put
into the one system prompt there is.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from types import ModuleType
from typing import Any

from ...effects.model import ModelRequest
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    Content,
    ImagePart,
    Message,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    parts_of,
)
from ...effects.transcript.boundary import Boundary, Wording
from .anthropic_thinking import limit_for, permitted, thinking_of
from .config import ModelConfig
from .connections import Connection, SdkConnection
from .environment import overruled
from .messages_reader import MessagesReader
from .prompt import (
    arguments_of,
    begun_by_user,
    cache_breakpoints_of,
    collapsed_system,
    in_turns,
    messages_of,
    options_of,
    tools_of,
    valid_name,
)
from .protocols import WireProtocol
from .wire import as_list, as_text

__all__ = ["ANTHROPIC_MESSAGES", "DEFAULT_MAX_TOKENS", "build_request", "valid_id"]

DEFAULT_MAX_TOKENS = 16_384
"""The limit of the output where nobody set one: this protocol must have one."""


def valid_id(id: str) -> str:
    """A call id as this protocol takes it: letters, digits, ``_`` and ``-``, at most 64."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id)[:64]


def build_request(request: ModelRequest, config: ModelConfig, boundary: Boundary | None = None) -> dict[str, Any]:
    """The body of a request. Raises ``DecodeError`` for a sealed message that holds none, and nothing else."""
    messages = messages_of(request, config, valid_id, boundary)
    limit = request.max_output_tokens or config.max_output_tokens or DEFAULT_MAX_TOKENS
    opening = {"role": "user", "content": [{"type": "text", "text": config.wording.opening}]}
    sent = begun_by_user(in_turns(_whole(_messages(messages, config.wording)), "content"), opening)
    options = options_of(request, config)
    members = permitted({**thinking_of(request, config), **options}, sent, config)
    limit = limit_for(members, limit, config, asked="thinking" not in options)
    body: dict[str, Any] = {"model": config.model, "max_tokens": limit, "messages": sent}
    if system := collapsed_system(request.instruction, messages):
        body["system"] = system
    if tools := tools_of(request, messages):
        body["tools"] = [_tool(tool) for tool in tools]
    if marker := cache_breakpoints_of(request, config):
        _mark(body, marker)
    return {**body, **members, "stream": True}


def _mark(body: dict[str, Any], marker: dict[str, Any]) -> None:
    """Mark what the API shall cache: everything up to each of these blocks. It takes four markers in all."""
    if "system" in body:
        body["system"] = [{"type": "text", "text": body["system"]}]
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    for blocks in (body.get("system"), body.get("tools"), users[-1] if users else None):
        if blocks:
            blocks[-1]["cache_control"] = dict(marker)


def _messages(messages: Iterable[Message], wording: Wording) -> Iterator[dict[str, Any]]:
    """Users and outputs in the order in which they spoke; the results of a batch are one message."""
    for is_result, group in groupby(messages, lambda message: isinstance(message, ToolResultMessage)):
        if is_result:
            results = [_result(message, wording) for message in group if isinstance(message, ToolResultMessage)]
            yield {"role": "user", "content": results}
            continue
        for message in group:
            if isinstance(message, UserMessage) and (blocks := _blocks(message.content)):
                yield {"role": "user", "content": blocks}
            elif isinstance(message, AssistantMessage):
                yield {"role": "assistant", "content": list(_said(message))}


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


def _whole(sent: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is sent, without what the API would reject in an output: see ``_accepted``. One may be nothing then.

    A call of the provider's own tools may have its result in a later output, and has it still to come where results of
    ours are the last words.
    """
    told: set[str] = set()
    goes_on = False
    kept: list[dict[str, Any]] = []
    for message in reversed(list(sent)):
        blocks: list[dict[str, Any]] = message["content"]
        if message["role"] == "user":
            only_results = all(block["type"] == "tool_result" for block in blocks)
            goes_on = only_results and (goes_on or not kept)
        else:
            told |= {as_text(block.get("tool_use_id")) for block in blocks if block["type"].endswith("_tool_result")}
            message["content"] = _accepted(blocks, None if goes_on else told)
        if message["content"]:
            kept.append(message)
    return kept[::-1]


def _accepted(blocks: list[dict[str, Any]], told: set[str] | None) -> list[dict[str, Any]]:
    """An output's blocks without calls of the provider's own tools that have no result (``told``: the ids that have).

    Nor may it end with a thought, so one that led to nothing is left out.
    """
    if told is not None:
        blocks = [
            block for block in blocks if not block["type"].endswith("_tool_use") or as_text(block.get("id")) in told
        ]
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()
    return blocks


def _said(message: AssistantMessage) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if isinstance(part, CallPart):
            arguments = arguments_of(part.arguments) or {}
            yield {"type": "tool_use", "id": part.id, "name": valid_name(part.name), "input": arguments}
        elif isinstance(part, ThinkingPart) and part.redacted:
            if part.signature:
                yield _own_block(part.signature) or {"type": "redacted_thinking", "data": part.signature}
        elif isinstance(part, ThinkingPart) and part.signature:
            yield {"type": "thinking", "thinking": part.text, "signature": part.signature}
        elif part.text.strip():
            citations = as_list((arguments_of(part.signature or "") or {}).get("citations"))
            yield {"type": "text", "text": part.text, **({"citations": citations} if citations else {})}


def _own_block(payload: str) -> dict[str, Any]:
    """The block of the provider's own that a hidden part holds, if it holds one and no encrypted thinking."""
    block = (arguments_of(payload) or {}) if payload.startswith("{") else {}
    return block if as_text(block.get("type")) else {}


def _result(message: ToolResultMessage, wording: Wording) -> dict[str, Any]:
    """A result; an error must say something."""
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id}
    blocks = _blocks(message.content)
    if message.is_error:
        blocks = blocks or [{"type": "text", "text": wording.no_result}]
        result["is_error"] = True
    if blocks:
        result["content"] = blocks
    return result


def _tool(tool: ToolDeclaration) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": tool.name, "input_schema": tool.parameters}
    if tool.description:
        declared["description"] = tool.description
    return declared


def _headers(sdk: ModuleType, config: ModelConfig) -> dict[str, Any]:
    headers: dict[str, Any] = overruled("ANTHROPIC_CUSTOM_HEADERS", sdk.omit)
    if not config.api_key:
        return {**headers, "Authorization": sdk.omit, "X-Api-Key": sdk.omit}
    gateway = config.vendor.name != "anthropic" or config.base_url != config.vendor.base_url
    if gateway and not config.bearer:
        headers["X-Api-Key"] = config.api_key  # how gateways know it; the SDK sends a bearer token since its version 2
    return headers


def _connect(sdk: ModuleType, config: ModelConfig, http_client: Any) -> Connection:
    client = sdk.AsyncAnthropic(
        api_key=config.api_key or "none",
        base_url=config.base_url,
        max_retries=0,
        http_client=http_client,
    )
    return SdkConnection(sdk, client, config.api_key)


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
