"""The way back of OpenAI's Responses API: items under their index, each announced, filled and told again when done.

Read ``ResponsesReader.on_event`` for the events. What an item says at its end is compared with what its pieces said:
missing text is added, arguments that differ replace those of the pieces, and an item that never came in pieces (some
servers send it whole, or only in the last event) is read from there. Every other item, such as a call of one of the
provider's own tools, says nothing here and is kept hidden, whole: the reasoning before it may not go back without it.
"""

from collections import deque
from itertools import count
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

    def __init__(self, key: int, kind: DeltaKind, call_id: str, named: bool) -> None:
        self.key = key
        self.kind = kind
        self.call_id = call_id
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
        self._fresh = count(_NAMELESS)
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
        """Where the item of an event is: at its index, whatever its id; servers without one at least give the id."""
        index, item = as_count(value.get("output_index")), as_object(value.get("item"))
        id = as_text(value.get("item_id")) or as_text(item.get("id"))
        key = self._keys.get(id) if index is None else index
        key = next(self._fresh) if key is None else key
        for name in (id, _call_id(item)):
            if name or index is None:
                self._keys.setdefault(name, key)
        return key

    def _places(self, output: list[dict[str, Any]]) -> list[int]:
        """Where the items of the last event are: servers that leave some out while they stream count otherwise there.

        An item is found by its id, then by its call's id, then as the next that says the beginning of the same, then
        at its index; else it is new. Nothing is found twice.
        """
        places: list[int | None] = [None] * len(output)
        found: set[int] = set()

        def find(index: int, key: int | None) -> None:
            if places[index] is None and key is not None and key not in found:
                places[index] = key
                found.add(key)

        for index, item in enumerate(output):
            names = (as_text(item.get("id")), _call_id(item))
            find(index, next((self._keys[name] for name in names if name and name in self._keys), None))
        left = deque(item for item in self._items.values() if item.key not in found)
        for index, item in enumerate(output):
            if places[index] is None and left and self._may_be(left[0], item, by_text=True):
                find(index, left.popleft().key)
        for index, item in enumerate(output):
            if self._may_be(self._items.get(index), item) or (index in self._done and _is_nameless(item)):
                find(index, index)
        taken = {*self._items, *self._done}
        new = (index if index not in taken else next(self._fresh) for index in range(len(output)))
        return [own if key is None else key for key, own in zip(places, new, strict=True)]

    def _may_be(self, item: _Item | None, value: dict[str, Any], by_text: bool = False) -> bool:
        """Whether an item is this one, by its kind and its call's id; ``by_text``: and says the beginning of it."""
        kind = _KINDS.get(as_text(value.get("type")))
        if item is None or kind is None or item.kind is not kind or (item.call_id and item.call_id != _call_id(value)):
            return False
        return not by_text or item.text.rest_of(self._told(kind, value)) is not None

    def _opened(self, key: int, kind: DeltaKind, id: str = "", name: str = "") -> _Item:
        """The item there, begun if it was not announced."""
        item = self._items.get(key)
        if item is None or item.kind is not kind:
            item = self._items[key] = _Item(key, kind, id, bool(id and name))
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
            if done and type and (id or key) not in self._done and _is_whole(value):
                self._done |= {key, id} - {""}
                self._hide(value)
            return
        if key in self._done or id in self._done:
            return
        call_id = _call_id(value)
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
        output = [as_object(item) for item in as_list(response.get("output"))]
        for key, item in zip(self._places(output), output, strict=True):
            self._on_item(key, item, done=True)
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


def _call_id(value: dict[str, Any]) -> str:
    """The id of the call that an item is; a server that gives none at least gives the item's."""
    if _KINDS.get(as_text(value.get("type"))) is not DeltaKind.CALL:
        return ""
    return as_text(value.get("call_id")) or as_text(value.get("id"))


def _is_nameless(value: dict[str, Any]) -> bool:
    """Whether it is an item of the provider's own that can only be told by its index."""
    return as_text(value.get("type")) not in _KINDS and not as_text(value.get("id"))


def _is_whole(value: dict[str, Any]) -> bool:
    """Whether an item of the provider's own came to its end; a picture that is there did, whatever its status says."""
    return as_text(value.get("status")) in _WHOLE or bool(value.get("result"))


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
