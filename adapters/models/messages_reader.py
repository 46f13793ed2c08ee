"""The way back of Anthropic's Messages API: blocks under indices, each begun, filled and ended.

Read ``MessagesReader.on_event`` for the events, and ``resumed`` for an answer in several requests. ``anthropic_blocks``
puts a block together as the provider will want it back.
"""

import json
from typing import Any

from ...effects.model import DeltaKind
from ...effects.transcript import ZERO_USAGE, StopReason
from ...effects.values import replace
from .anthropic_blocks import ArrivingBlock
from .config import ModelConfig
from .reader import AnswerReader
from .wire import as_count, as_object, as_text

__all__ = ["MessagesReader"]

PAUSED = "pause_turn"
"""The reason of an answer that the provider interrupted itself, and goes on with when asked again."""

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

    Blocks of the provider's own tools are not ours to run or to show; they are kept to go back to it, which looks for
    them in the conversation. Where it only paused in its own work (``pause_turn``), ``resumed`` makes the request that
    lets it go on, and what comes then continues this answer.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._arriving: dict[int | None, ArrivingBlock] = {}
        self._said: list[dict[str, Any]] = []
        self._pauses = config.pauses
        self._counted = self._counted_before = ZERO_USAGE

    def on_event(self, name: str, value: dict[str, Any]) -> None:
        """Take in one event; its type is in the data, and its name says the same."""
        match as_text(value.get("type")) or name:
            case "message_start":
                message = as_object(value.get("message"))
                self.response_id = self.response_id or as_text(message.get("id")) or None
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

    def resumed(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The request that follows ``body`` where the provider paused, with all that it has said; bounded in number."""
        paused = self.complete and self.raw_stop == PAUSED
        calls = any(block.get("type") == "tool_use" for block in self._said)  # those would want their results first
        if not paused or calls or not self._said or not self._pauses:
            return None
        self._pauses -= 1
        self.complete = self.over = False
        self.stop, self.raw_stop = StopReason.STOP, None
        self._arriving.clear()
        self._counted_before, self._counted = self._counted_before + self._counted, ZERO_USAGE
        said, self._said = self._said, []
        return {**body, "messages": [*body["messages"], {"role": "assistant", "content": said}]}

    def _on_block(self, key: int | None, block: dict[str, Any]) -> None:
        self._arriving[key] = ArrivingBlock(block)
        kind = _KINDS.get(as_text(block.get("type")))
        if kind is None:
            return
        self.answer.open(key, kind, as_text(block.get("id")), as_text(block.get("name")))
        self.answer.append(key, kind, as_text(block.get("text")) or as_text(block.get("thinking")))
        if block.get("type") == "redacted_thinking":
            self.answer.sign(key, as_text(block.get("data")), redacted=True)
        elif signature := as_text(block.get("signature")):
            self.answer.sign(key, signature)

    def _on_delta(self, key: int | None, delta: dict[str, Any]) -> None:
        if (block := self._arriving.get(key)) is not None:
            block.take(delta)
            if block.type not in _KINDS:
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
        block = self._arriving.pop(key, None)
        whole = block.whole() if block is not None else {}
        if whole:
            self._said.append(whole)
        if block is not None and block.type not in _KINDS:
            if whole:
                self.answer.hide(_written(whole))
            return
        if block is not None and block.type == "text" and block.citations:
            self.answer.sign(key, _written(block.citations))
        if block is not None and block.given and self.answer.is_empty(key):  # some servers give arguments at once
            self.answer.append(key, DeltaKind.CALL, _written(block.given))
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
            self._counted = replace(self._counted, **changes)
            self.answer.count(self._counted_before + self._counted)


def _written(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
