"""The way back of OpenAI's Chat Completions: chunks of one choice, ended by its ``finish_reason``.

Read ``ChatReader.on_event`` first. Peculiarities of servers that are handled: reasoning in one of several members, in
the content or in details that must go back, calls without index or id, several calls under one index, arguments that
are no text, the older kind of call, usage inside a choice, a refusal in a member of its own, no ``[DONE]``.
"""

from typing import Any

from ...effects.model import Delta, DeltaKind
from ...effects.transcript import StopReason
from ...effects.transcript.reports import is_report
from .config import ModelConfig
from .openai_pieces import GrowingText, arguments_text, written
from .openai_usage import chat_usage
from .reader import AnswerReader
from .wire import as_count, as_list, as_object, as_text

__all__ = ["REASONING_MEMBERS", "WITHIN_CONTENT", "ChatReader"]

REASONING_MEMBERS = ("reasoning_content", "reasoning", "reasoning_text")
"""Where servers put reasoning. It goes back where it came from: the member's name is kept as the signature."""

WITHIN_CONTENT = "content"
"""The signature of reasoning that came as a part of the content, as Mistral has it."""

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
_BREAKDOWNS = frozenset({"abort", "error", "insufficient_system_resource", "network_error"})


class ChatReader(AnswerReader):
    """One answer: chunks of choice 0, ended by its ``finish_reason``; usage and reasoning details may follow."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._refused = False
        self._reasoning_member = ""
        self._details = _Details()

    def on_event(self, name: str, value: dict[str, Any]) -> None:
        """Take in one chunk."""
        if is_report(value):
            self.report(value)
            return
        self.response_id = self.response_id or as_text(value.get("id")) or None
        choices = [as_object(choice) for choice in as_list(value.get("choices"))]
        choice = next((choice for choice in choices if choice.get("index") in (0, None)), None)
        if choice is not None or self.response_id:
            self.answer.start(self.response_id, as_text(value.get("model")) or None)
        usage = as_object(value.get("usage")) or as_object(choice and choice.get("usage"))
        if usage:  # first, since the choice may say that it broke down
            self.answer.count(chat_usage(usage))
        if choice is not None:
            self._on_choice(choice)

    def finish(self) -> list[Delta]:
        """The last deltas; before them what a gateway wants back, some of which may follow the end of the answer."""
        if self.complete and (details := self._details.take()):
            self.answer.hide(written(details))
        return super().finish()

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
            arguments_text(function.get("arguments")),
        )
        google = as_object(as_object(piece.get("extra_content")).get("google"))
        if signature := as_text(google.get("thought_signature")):
            self.answer.sign(None, signature)

    def _on_reasoning(self, delta: dict[str, Any]) -> None:
        """Reasoning from one member only: some servers say the same in two."""
        details = [as_object(detail) for detail in as_list(delta.get("reasoning_details"))]
        for detail in details:
            self._details.add(detail)
        members = (self._reasoning_member,) if self._reasoning_member else REASONING_MEMBERS
        for member in members:
            if text := as_text(delta.get(member)):
                self._reasoning_member = member
                self.answer.say(DeltaKind.THINKING, text, signature=member)
                return
        if not self._reasoning_member:
            for detail in details:
                self.answer.say(DeltaKind.THINKING, as_text(detail.get("text")) or as_text(detail.get("summary")))

    def _on_finish(self, reason: str, choice: dict[str, Any]) -> None:
        self.raw_stop = reason
        if reason in _BREAKDOWNS:
            self.report(choice if choice.get("error") else {"error": {"code": reason}})
            return
        self.stop = StopReason.REFUSAL if self._refused else _STOPS.get(reason, StopReason.STOP)
        self.complete = True


# What a gateway wants back.

_TEXTS = ("text", "summary", "data")


class _Detail:
    """One detail while its pieces arrive; ``place`` is its index and its type."""

    def __init__(self, place: tuple[int | None, str]) -> None:
        self.place = place
        self.members: dict[str, Any] = {}
        self.texts: dict[str, GrowingText] = {}

    @property
    def id(self) -> str:
        return as_text(self.members.get("id"))

    def add(self, piece: dict[str, Any]) -> None:
        for name, value in piece.items():
            if name in _TEXTS and isinstance(value, str):
                self.texts.setdefault(name, GrowingText()).add(value)
                self.members.setdefault(name, "")
            elif value is not None or name not in self.members:
                self.members[name] = value

    @property
    def may_go_on(self) -> bool:
        """Whether a piece that does not say where it belongs goes on with this one: text that is not signed yet."""
        return not (self.id or "data" in self.texts or self.members.get("signature"))

    def whole(self) -> dict[str, Any]:
        return {**self.members, **{name: text.text() for name, text in self.texts.items()}}


class _Details:
    """Reasoning details, each put together of the pieces under its index and its id."""

    def __init__(self) -> None:
        self._all: list[_Detail] = []
        self._at: dict[tuple[int | None, str], _Detail] = {}
        self._named: dict[tuple[tuple[int | None, str], str], _Detail] = {}

    def add(self, piece: dict[str, Any]) -> None:
        """One piece: of the detail with its id, or of the latest at its index that has no other id."""
        place, id = (as_count(piece.get("index")), as_text(piece.get("type"))), as_text(piece.get("id"))
        detail = self._named.get((place, id)) if id else self._latest(place)
        if detail is None and id and place[0] is not None and (latest := self._at.get(place)) and not latest.id:
            detail = latest
        if detail is None:
            detail = _Detail(place)
            self._all.append(detail)
        detail.add(piece)
        self._at[place] = detail
        if id:
            self._named[place, id] = detail

    def take(self) -> list[dict[str, Any]]:
        """All details, in the order in which they began; afterwards there are none."""
        taken, self._all = self._all, []
        return [detail.whole() for detail in taken]

    def _latest(self, place: tuple[int | None, str]) -> _Detail | None:
        """The detail that a piece without an id goes on with."""
        if place[0] is not None:
            return self._at.get(place)
        last = self._all[-1] if self._all else None
        return last if last is not None and last.place == place and last.may_go_on else None
