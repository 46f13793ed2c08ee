"""The way back of OpenAI's Responses API: items under their index, each announced, filled and told again when done.

Read ``ResponsesReader.on_event`` for the events. What an item says at its end is compared with what its pieces said:
missing text is added, arguments that differ replace those of the pieces, and an item that never came in pieces (some
servers send it whole, or only in the last event) is read from there. Items of the provider's own tools are passed over.
"""

import json
from typing import Any

from ...effects.model import DeltaKind
from ...effects.transcript import StopReason, Usage
from .config import ModelConfig
from .reader import AnswerReader
from .wire import as_count, as_list, as_object, as_text

__all__ = ["ResponsesReader", "usage_of"]

_KINDS = {"message": DeltaKind.TEXT, "reasoning": DeltaKind.THINKING, "function_call": DeltaKind.CALL}
_REFUSALS = frozenset({"content_filter"})
_NAMELESS = 1 << 20


class _Item:
    """An item that is arriving: where it is, what it has said so far, and which of its parts is being said."""

    def __init__(self, key: int, kind: DeltaKind, named: bool) -> None:
        self.key = key
        self.kind = kind
        self.named = named
        self.text = ""
        self.part: object = None


class ResponsesReader(AnswerReader):
    """One answer: items, ended by ``response.completed`` or ``response.incomplete``."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._items: dict[int, _Item] = {}
        self._done: set[int | str] = set()
        self._keys: dict[str, int] = {}
        self._refused = False

    def on_event(self, name: str, value: dict[str, Any]) -> None:
        """Take in one event; its type is in the data, and its name says the same."""
        event = as_text(value.get("type")) or name
        if event == "error" or (not event and value.get("error")):
            self.report(value)
            return
        response = as_object(value.get("response"))
        self.response_id = self.response_id or as_text(response.get("id")) or None
        self.answer.start(self.response_id, as_text(response.get("model")) or None)
        match event:
            case "response.output_item.added":
                self._on_item(self._key(value), as_object(value.get("item")))
            case "response.output_item.done":
                self._on_item(self._key(value), as_object(value.get("item")), done=True)
            case "response.output_text.delta" | "response.refusal.delta":
                self._refused = self._refused or event == "response.refusal.delta"
                self._say(value, DeltaKind.TEXT)
            case "response.reasoning_summary_text.delta":
                self._say(value, DeltaKind.THINKING, ("summary", value.get("summary_index")))
            case "response.reasoning_text.delta":
                self._say(value, DeltaKind.THINKING, ("text", value.get("content_index")))
            case "response.function_call_arguments.delta":
                self._say(value, DeltaKind.CALL)
            case "response.function_call_arguments.done":
                self._settle(self._opened(self._key(value), DeltaKind.CALL), as_text(value.get("arguments")))
            case "response.completed" | "response.incomplete" | "response.done":
                self._on_end(response, event)
            case "response.failed" | "response.cancelled":
                self._on_failure(response, event)
            case _:
                pass

    def _key(self, value: dict[str, Any]) -> int:
        """Where the item of an event is; servers that give no index at least give the item's id."""
        index = as_count(value.get("output_index"))
        if index is not None:
            return index
        id = as_text(value.get("item_id")) or as_text(as_object(value.get("item")).get("id"))
        return self._keys.setdefault(id, _NAMELESS + len(self._keys))

    def _opened(self, key: int, kind: DeltaKind, id: str = "", name: str = "") -> _Item:
        """The item there, begun if it was not announced."""
        item = self._items.get(key)
        if item is None or item.kind is not kind:
            item = self._items[key] = _Item(key, kind, bool(id and name))
            self._done.discard(key)
            self.answer.open(key, kind, id, name)
        elif not item.named and (id or name):
            item.named = True
            self.answer.call(key, id, name, "")
        return item

    def _say(self, value: dict[str, Any], kind: DeltaKind, part: object = None) -> None:
        """More of an item; its next part begins a paragraph."""
        text = as_text(value.get("delta"))
        if not text:
            return
        item = self._opened(self._key(value), kind)
        if item.text and item.part != part:
            text = "\n\n" + text
        item.part = part
        self._add(item, text)

    def _add(self, item: _Item, text: str) -> None:
        if text:
            item.text += text
            self.answer.append(item.key, item.kind, text)

    def _settle(self, item: _Item, whole: str) -> None:
        """What the item says in the end: the rest of it, or for a call something else."""
        if whole.startswith(item.text):
            self._add(item, whole[len(item.text) :])
        elif item.kind is DeltaKind.CALL and whole:
            self.answer.restate(item.key, whole)

    def _on_item(self, key: int, value: dict[str, Any], done: bool = False) -> None:
        kind = _KINDS.get(as_text(value.get("type")))
        id = as_text(value.get("id"))
        if kind is None or key in self._done or id in self._done:
            return
        call_id = (as_text(value.get("call_id")) or id) if kind is DeltaKind.CALL else ""
        item = self._opened(key, kind, call_id, as_text(value.get("name")) if call_id else "")
        self._settle(item, self._told(kind, value))
        if done:
            self._done |= {key, id} - {""}
            if signature := _signature(kind, value):
                self.answer.sign(key, signature)
            self.answer.close(key)

    def _told(self, kind: DeltaKind, value: dict[str, Any]) -> str:
        """Everything that an item says."""
        content = [as_object(part) for part in as_list(value.get("content"))]
        match kind:
            case DeltaKind.CALL:
                return as_text(value.get("arguments"))
            case DeltaKind.TEXT:
                self._refused = self._refused or any(as_text(part.get("refusal")) for part in content)
                return "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in content)
            case DeltaKind.THINKING:
                summary = [as_object(part) for part in as_list(value.get("summary"))]
                return "\n\n".join(text for part in (*summary, *content) if (text := as_text(part.get("text"))))

    def _on_end(self, response: dict[str, Any], event: str) -> None:
        """The terminal event. It holds everything once more; what was not told before is taken from it."""
        status = as_text(response.get("status")) or event.removeprefix("response.")
        if status in ("failed", "cancelled"):
            self._on_failure(response, event)
            return
        for index, value in enumerate(as_list(response.get("output"))):
            item = as_object(value)
            known = self._keys.get(as_text(item.get("id")), index)
            self._on_item(known, item, done=True)
        self._count(response)
        details = as_object(response.get("incomplete_details"))
        reason = "content_filter" if details.get("content_filter") else as_text(details.get("reason"))
        self.raw_stop = reason or status
        if self._refused or reason in _REFUSALS:
            self.stop = StopReason.REFUSAL
        elif status == "incomplete" or reason:
            self.stop = StopReason.LENGTH
        self.complete = self.over = True

    def _on_failure(self, response: dict[str, Any], event: str) -> None:
        self._count(response)
        self.raw_stop = as_text(response.get("status")) or event.removeprefix("response.")
        self.report(as_object(response.get("error")) or {"code": self.raw_stop})

    def _count(self, response: dict[str, Any]) -> None:
        if usage := as_object(response.get("usage")):
            self.answer.count(usage_of(usage))


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens in disjoint parts: the provider counts cached ones within the input (decision 26)."""
    prompt, output = as_count(usage.get("input_tokens")) or 0, as_count(usage.get("output_tokens")) or 0
    details = as_object(usage.get("input_tokens_details"))
    read = min(as_count(details.get("cached_tokens")) or 0, prompt)
    written = min(as_count(details.get("cache_write_tokens")) or 0, prompt - read)
    reasoning = as_count(as_object(usage.get("output_tokens_details")).get("reasoning_tokens")) or 0
    return Usage(prompt - read - written, read, written, output, min(reasoning, output))


def _signature(kind: DeltaKind, value: dict[str, Any]) -> str:
    """What must go back with an item: reasoning as a whole, of a text its id and phase, of a call its id."""
    id = as_text(value.get("id"))
    match kind:
        case DeltaKind.THINKING:
            kept = value if value.get("encrypted_content") or value.get("summary") or value.get("content") else {}
        case DeltaKind.TEXT:
            phase = as_text(value.get("phase"))
            kept = {"id": id, **({"phase": phase} if phase else {})} if id or phase else {}
        case DeltaKind.CALL:
            kept = {"id": id} if id else {}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")) if kept else ""
