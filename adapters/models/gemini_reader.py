"""The way back of Google's Gemini API: chunks, each a whole response with more parts.

Read ``GeminiReader.on_event``. A part says itself what it is; one piece of a text continues the one before. Signatures
belong to the part they came with: a later one without any never takes it away, and one that comes in an empty part
belongs to the text before it. Parts of the provider's own tools, and pictures that it drew, are kept to go back to it.
The ``finishReason`` of the first candidate ends an answer, as does a blocked prompt.
"""

import json
from typing import Any

from ...effects.model import DeltaKind
from ...effects.transcript import StopReason, Usage
from .config import ModelConfig
from .reader import AnswerReader
from .wire import as_count, as_list, as_object, as_text

__all__ = ["GeminiReader", "is_own_part", "usage_of"]

_STOPS = {
    "MAX_TOKENS": StopReason.LENGTH,
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
        ),
        StopReason.REFUSAL,
    ),
}
_BREAKDOWNS = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
    }
)
"""Reasons that are no end of an answer: the model wrote something that is none, and may not the next time."""


class GeminiReader(AnswerReader):
    """One answer: the parts of the first candidate."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._counts: dict[str, Any] = {}

    def on_event(self, name: str, value: dict[str, Any]) -> None:
        """Take in one chunk."""
        if value.get("error"):
            self.report(value)
            return
        self.response_id = self.response_id or as_text(value.get("responseId")) or None
        self.answer.start(self.response_id, as_text(value.get("modelVersion")) or None)
        self._count(as_object(value.get("usageMetadata")))
        candidates = [as_object(candidate) for candidate in as_list(value.get("candidates"))]
        candidate = as_object(next((each for each in candidates if each.get("index") in (0, None)), None))
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            self._on_part(as_object(part))
        if reason := as_text(candidate.get("finishReason")):
            self._on_finish(reason, as_text(candidate.get("finishMessage")))
        self._on_feedback(as_object(value.get("promptFeedback")))

    def _on_part(self, part: dict[str, Any]) -> None:
        signature = as_text(part.get("thoughtSignature"))
        if "functionCall" in part:
            self._on_call(as_object(part.get("functionCall")), signature)
            return
        if is_own_part(part):
            self.answer.hide(_written(part))
            return
        kind = DeltaKind.THINKING if part.get("thought") is True else DeltaKind.TEXT
        self.answer.say(kind, as_text(part.get("text")))
        if signature:
            self.answer.sign_last(kind, signature)

    def _on_call(self, call: dict[str, Any], signature: str) -> None:
        """A call, which comes whole."""
        arguments = _written(as_object(call.get("args")))
        self.answer.open(None, DeltaKind.CALL, as_text(call.get("id")), as_text(call.get("name")))
        self.answer.append(None, DeltaKind.CALL, arguments)
        if signature:
            self.answer.sign(None, signature)
        self.answer.close(None)

    def _on_finish(self, reason: str, message: str) -> None:
        self.raw_stop = reason
        if reason in _BREAKDOWNS:
            said = {"message": message} if message else {}
            self.report({"error": {"code": reason, **said}})
            return
        self.stop = _STOPS.get(reason, StopReason.STOP)
        if self.stop is StopReason.REFUSAL:
            self.answer.say(DeltaKind.TEXT, message)
        self.complete = True

    def _on_feedback(self, feedback: dict[str, Any]) -> None:
        """A prompt that was blocked has no candidates: the model refused before it began."""
        reason = as_text(feedback.get("blockReason"))
        if reason and not self.complete:
            self.raw_stop, self.stop = reason, StopReason.REFUSAL
            self.answer.say(DeltaKind.TEXT, as_text(feedback.get("blockReasonMessage")))
            self.complete = True

    def _count(self, usage: dict[str, Any]) -> None:
        """Counts so far; a later chunk replaces only what it has."""
        if usage:
            self._counts |= usage
            self.answer.count(usage_of(self._counts))


def is_own_part(part: dict[str, Any]) -> bool:
    """Whether a part is neither text nor a call, but something that only the provider itself can read."""
    told = {name for name, value in part.items() if as_object(value)}
    return bool(told) and not as_text(part.get("text")) and not told & {"functionCall", "functionResponse"}


def _written(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens in disjoint parts: cached ones are within the prompt, thoughts beside the output (decision 26)."""
    prompt = (as_count(usage.get("promptTokenCount")) or 0) + (as_count(usage.get("toolUsePromptTokenCount")) or 0)
    read = min(as_count(usage.get("cachedContentTokenCount")) or 0, prompt)
    thoughts = as_count(usage.get("thoughtsTokenCount")) or 0
    said = as_count(usage.get("candidatesTokenCount")) or 0
    return Usage(prompt - read, read, 0, said + thoughts, thoughts)
