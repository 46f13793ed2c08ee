"""The way back of OpenAI's Responses API: items under their index, each announced, filled and told again when done.

Read ``ResponsesReader.on_event`` for the events. What an item says at its end is compared with what its pieces said:
missing text is added, arguments that differ replace those of the pieces, and an item that never came in pieces (some
servers send it whole, or only in the last event) is read from there. Every other item, such as a call of one of the
provider's own tools, says nothing here and is kept hidden, whole: the reasoning before it may not go back without it.
"""

from typing import Any

from ...effects.model import DeltaKind
from ...effects.transcript import StopReason
from .config import ModelConfig
from .openai_pieces import GrowingText, arguments_text, written
from .openai_usage import responses_usage
from .reader import AnswerReader
from .wire import as_count, as_list, as_object, as_text

__all__ = ["ResponsesReader"]

_KINDS = {"message": DeltaKind.TEXT, "reasoning": DeltaKind.THINKING, "function_call": DeltaKind.CALL}
_REFUSALS = frozenset({"content_filter"})
_WHOLE = frozenset({"", "completed", "failed"})
_NAMELESS = 1 << 20


class _Item:
    """An item that is arriving: where it is, what it has said so far, and which of its parts is being said."""

    def __init__(self, key: int, kind: DeltaKind, named: bool) -> None:
        self.key = key
        self.kind = kind
        self.named = named
        self.text = GrowingText()
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
                self._settle(self._opened(self._key(value), DeltaKind.CALL), arguments_text(value.get("arguments")))
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
        if item.text.length and item.part != part:
            text = "\n\n" + text
        item.part = part
        self._add(item, text)

    def _add(self, item: _Item, text: str) -> None:
        if text:
            item.text.add(text)
            self.answer.append(item.key, item.kind, text)

    def _settle(self, item: _Item, whole: str) -> None:
        """What the item says in the end: the rest of it, or for a call something else."""
        rest = item.text.rest_of(whole)
        if rest is not None:
            self._add(item, rest)
        elif item.kind is DeltaKind.CALL and whole:
            self.answer.restate(item.key, whole)

    def _on_item(self, key: int, value: dict[str, Any], done: bool = False) -> None:
        type, id = as_text(value.get("type")), as_text(value.get("id"))
        kind = _KINDS.get(type)
        if kind is None:
            if done and type and (id or key) not in self._done and as_text(value.get("status")) in _WHOLE:
                self._done |= {key, id} - {""}
                self._hide(value)
            return
        if key in self._done or id in self._done:
            return
        call_id = (as_text(value.get("call_id")) or id) if kind is DeltaKind.CALL else ""
        item = self._opened(key, kind, call_id, as_text(value.get("name")) if call_id else "")
        self._settle(item, self._told(kind, value))
        if done:
            self._done |= {key, id} - {""}
            if signature := _signature(kind, value):
                self.answer.sign(key, signature)
            self.answer.close(key)

    def _hide(self, value: dict[str, Any]) -> None:
        """An item that only goes back to the provider; what else is being said goes on."""
        self.answer.open(None, DeltaKind.THINKING)
        self.answer.sign(None, written(value), redacted=True)
        self.answer.close(None)

    def _told(self, kind: DeltaKind, value: dict[str, Any]) -> str:
        """Everything that an item says."""
        content = [as_object(part) for part in as_list(value.get("content"))]
        match kind:
            case DeltaKind.CALL:
                return arguments_text(value.get("arguments"))
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
        reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        self.report(as_object(response.get("error")) or {"code": reason or self.raw_stop})

    def _count(self, response: dict[str, Any]) -> None:
        if usage := as_object(response.get("usage")):
            self.answer.count(responses_usage(usage))


def _signature(kind: DeltaKind, value: dict[str, Any]) -> str:
    """What must go back with an item: reasoning as a whole, of a text its id and phase, of a call its id.

    Reasoning is kept even where nothing is in it: what came after it may not go back under its id then.
    """
    id = as_text(value.get("id"))
    match kind:
        case DeltaKind.THINKING:
            kept = value if id or any(value.get(name) for name in ("encrypted_content", "summary", "content")) else {}
        case DeltaKind.TEXT:
            phase = as_text(value.get("phase"))
            kept = {"id": id, **({"phase": phase} if phase else {})} if id or phase else {}
        case DeltaKind.CALL:
            kept = {"id": id} if id else {}
    return written(kept) if kept else ""
