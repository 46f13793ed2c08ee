"""Reading one answer: its text, what it used, how it ended. The object is in the text, or in the forced call."""

from collections.abc import Iterator, Sequence
from typing import Any

from ....effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from ....effects.transcript import (
    ZERO_USAGE,
    AssistantMessage,
    CallPart,
    ErrorKind,
    ModelError,
    StopReason,
    Usage,
    calls_of,
    text_of,
)
from ....effects.transcript.partial_json import PartialJson
from ....effects.values import frozen
from ..vendors import Strategy

__all__ = ["Answer", "Attempt", "PartialObject", "usage_of"]


@frozen
class Attempt:
    """One call to a model: our id of it, how it asked, and what it used. ``error``, if it failed.

    ``provider`` and ``model`` say whose tokens these are, as far as it is known.
    """

    model_call_id: str
    strategy: Strategy
    usage: Usage = ZERO_USAGE
    stop: StopReason = StopReason.STOP
    error: ModelError | None = None
    provider: str = ""
    model: str = ""


def usage_of(attempts: Sequence[Attempt]) -> Usage:
    """The tokens of several calls; each counts once (decision 26)."""
    return sum((attempt.usage for attempt in attempts), ZERO_USAGE)


class Answer:
    """One answer while it is read. ``tool`` names the call whose arguments are the object; empty: it is the text."""

    def __init__(self, tool: str = "") -> None:
        self.stop = StopReason.PENDING
        self.raw_stop: str | None = None
        self.usage = ZERO_USAGE
        self.error: ModelError | None = None
        self.provider = ""
        self.model = ""
        self._tool = tool
        self._blocks: dict[int, tuple[DeltaKind, str, list[str]]] = {}
        self._whole: AssistantMessage | None = None

    def feed(self, delta: Delta) -> None:
        """Take in a delta."""
        match delta:
            case Started(provider=provider, model=model):
                self.provider, self.model = self.provider or provider, self.model or model
            case BlockStarted(index, kind, _, name):
                _, known, pieces = self._blocks.get(index, (kind, "", []))
                self._blocks[index] = kind, name or known, [] if delta.again else pieces
            case BlockDelta(index, text):
                _, _, pieces = self._blocks.setdefault(index, (DeltaKind.TEXT, "", []))
                pieces.append(text)
            case BlockEnded(index, part=CallPart() as part):
                self._blocks[index] = DeltaKind.CALL, part.name, [part.arguments]
            case UsageReported(usage):
                self.usage = usage
            case StreamFinished() | StreamFailed():
                self._end(delta)
            case _:
                pass

    def piece(self, delta: Delta) -> str:
        """What a delta that was taken in adds to the text of the object that is being written."""
        if not isinstance(delta, BlockDelta) or delta.index not in self._blocks:
            return ""
        kind, name, _ = self._blocks[delta.index]
        return delta.text if self._is_object(kind, name) else ""

    def finish(self) -> None:
        """The deltas have ended, as they should have with a terminal one."""
        if self.stop is StopReason.PENDING:
            self.stop = StopReason.ERROR
            self.error = ModelError(ErrorKind.PROTOCOL, "the answer ended without saying how")

    @property
    def said(self) -> bool:
        """Whether anything came that a person could have seen."""
        return any(pieces for _, _, pieces in self._blocks.values())

    @property
    def text(self) -> str:
        """The text of the object; without a call of the tool, whatever the model said instead."""
        calls = [arguments for name, arguments in self._calls() if name == self._tool] if self._tool else []
        if calls:
            return calls[0]
        if self._whole is not None:
            return text_of(self._whole)
        return "".join("".join(pieces) for kind, _, pieces in self._blocks.values() if kind is DeltaKind.TEXT)

    def _is_object(self, kind: DeltaKind, name: str) -> bool:
        if kind is DeltaKind.CALL:
            return bool(self._tool) and name == self._tool
        return kind is DeltaKind.TEXT and not self._tool

    def _calls(self) -> Iterator[tuple[str, str]]:
        if self._whole is not None:
            yield from ((call.name, call.arguments) for call in calls_of(self._whole))
            return
        for kind, name, pieces in self._blocks.values():
            if kind is DeltaKind.CALL:
                yield name, "".join(pieces)

    def _end(self, delta: StreamFinished | StreamFailed) -> None:
        self.raw_stop, self._whole = delta.raw_stop, delta.message
        if delta.message is not None and delta.message.usage.total:
            self.usage = delta.message.usage
        if isinstance(delta, StreamFailed):
            self.stop, self.error = StopReason.ERROR, delta.error
        else:
            self.stop = delta.stop
            if delta.stop in (StopReason.ERROR, StopReason.ABORTED):
                kind = ErrorKind.ABORTED if delta.stop is StopReason.ABORTED else ErrorKind.PROTOCOL
                self.error = ModelError(kind, "the answer was broken off")


class PartialObject:
    """The object in a text that is still arriving, from its first ``{`` on."""

    def __init__(self) -> None:
        self._json = PartialJson()
        self._begun = False

    def feed(self, text: str) -> Any:
        """More of the text; gives what the object holds so far, nothing before it begins."""
        if not self._begun:
            start = text.find("{")
            if start < 0:
                return None
            text, self._begun = text[start:], True
        self._json.feed(text)
        return self._json.value()
