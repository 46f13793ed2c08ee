"""From frames to deltas, and to the whole output: what the proxy left out of its frames is put together again here.

Pure. Read ``Answer.take`` first: a table of frames. Deltas go out as the frames come; the output is kept beside them,
because its end says things of blocks that no delta can, and goes out with the terminal delta.

Strict where the protocol's first client was not: a frame that lacks what it is about, or has it in another type, is an
error, since the output would be a different one without anybody noticing.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ...effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelChoice,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from ...effects.transcript import (
    ZERO_USAGE,
    AssistantMessage,
    AssistantPart,
    CallPart,
    ErrorKind,
    ModelError,
    StopReason,
    TextPart,
    ThinkingPart,
    clean_json,
    clean_text,
)
from ...effects.values import frozen, replace
from .blocks import (
    WireError,
    as_object,
    as_text,
    call_from_wire,
    json_text,
    read_json,
    shown_arguments,
    text_or_none,
)
from .lines import FrameError
from .wire import STOPS, usage_from_wire

__all__ = ["MAX_BLOCKS", "UNFINISHED", "Answer"]

MAX_BLOCKS = 10_000
"""One more than the highest index that a block may have."""

UNFINISHED = "Connection closed by proxy server before the response completed"
NO_REASON = "The proxy reported a failure without saying what it was"

_KINDS = {"text": DeltaKind.TEXT, "thinking": DeltaKind.THINKING, "toolcall": DeltaKind.CALL}
_NAMES = {DeltaKind.TEXT: "text", DeltaKind.THINKING: "thinking", DeltaKind.CALL: "toolCall"}
_SIGNATURES = {DeltaKind.TEXT: "textSignature", DeltaKind.THINKING: "thinkingSignature"}


class _Block:
    """A block while it arrives. ``call`` is what the end of a call made of it."""

    def __init__(self, kind: DeltaKind, id: str = "", name: str = "") -> None:
        self.kind = kind
        self.id = id
        self.name = name
        self.pieces: list[str] = []
        self.signature: str | None = None
        self.extra: dict[str, Any] = {}
        self.call: CallPart | None = None

    @property
    def text(self) -> str:
        return clean_text("".join(self.pieces))

    @property
    def part(self) -> AssistantPart:
        match self.kind:
            case DeltaKind.TEXT:
                return TextPart(self.text, self.signature, self.extra)
            case DeltaKind.THINKING:
                return ThinkingPart(self.text, self.signature, False, self.extra)
            case DeltaKind.CALL:
                return self.call or _readable(CallPart(clean_text(self.id), clean_text(self.name), self.text))


@frozen
class _End:
    """What the terminal frame says: the output, and the failure if it is one."""

    message: AssistantMessage
    error: ModelError | None = None


class Answer:
    """One answer while its frames come in. ``over``: the terminal frame was among them, and what follows is nothing.

    ``scrub`` makes a text of the proxy's fit to be shown; ``now`` is when it was asked, in milliseconds.
    """

    def __init__(self, model: ModelChoice, now: int, scrub: Callable[[str], str] = clean_text) -> None:
        self.over = False
        self._scrub = scrub
        self._blocks: dict[int, _Block] = {}
        self._message = AssistantMessage(
            (), model.api, model.provider, model.id, StopReason.PENDING, usage=ZERO_USAGE, timestamp=now
        )

    def take(self, frame: dict[str, Any]) -> Iterable[Delta]:
        """The deltas of one frame; raises ``FrameError``. Kinds that are unknown have none."""
        said = frame.get("type")
        if self.over or not isinstance(said, str):
            return ()
        try:
            return self._take(frame, said)
        except WireError as wrong:
            raise FrameError(f"Received {said} that cannot be read: {wrong}") from None

    def _take(self, frame: dict[str, Any], said: str) -> Iterable[Delta]:
        what, _, happens = said.partition("_")
        kind = _KINDS.get(what)
        match happens:
            case "" if said == "start":
                about = self._message
                return (Started(about.api, about.provider, about.model, timestamp=about.timestamp),)
            case "" if said in ("done", "error"):
                return self._finish(frame, failed=said == "error")
            case "start" if kind is not None:
                return (self._begin(frame, kind),)
            case "delta" if kind is not None:
                return (self._grow(frame, kind),)
            case "end" if kind is DeltaKind.CALL:
                return self._end_call(frame)
            case "end" if kind is not None:
                return (self._end(frame, kind),)
            case _:
                return ()

    def fail(self, error: ModelError) -> Iterable[Delta]:
        """The terminal delta of an answer that ends here; the output is what has come so far."""
        if self.over:
            return ()
        self.over = True
        stop = StopReason.ABORTED if error.kind is ErrorKind.ABORTED else StopReason.ERROR
        return (StreamFailed(error, message=replace(self._message, parts=self._parts(), stop=stop, error=error)),)

    def _parts(self) -> tuple[AssistantPart, ...]:
        return tuple(self._blocks[index].part for index in sorted(self._blocks))

    # Blocks.

    def _begin(self, frame: dict[str, Any], kind: DeltaKind) -> Delta:
        index = _index(frame)
        again = index in self._blocks
        if kind is not DeltaKind.CALL:
            self._blocks[index] = _Block(kind)
            return BlockStarted(index, kind, again=again)
        block = self._blocks[index] = _Block(kind, text_or_none(frame, "id") or "", as_text(frame, "toolName"))
        return BlockStarted(index, kind, block.id, block.name, again=again)

    def _grow(self, frame: dict[str, Any], kind: DeltaKind) -> Delta:
        index, block = self._found(frame, kind)
        if block.call is not None:
            raise FrameError("Received toolcall_delta for a call that has ended")
        text = as_text(frame, "delta")
        block.pieces.append(text)
        return BlockDelta(index, text)

    def _end(self, frame: dict[str, Any], kind: DeltaKind) -> Delta:
        index, block = self._found(frame, kind)
        signature = text_or_none(frame, "contentSignature")
        block.signature = None if signature is None else clean_text(signature)
        # A signature that is null is not an absent one.
        block.extra = {_SIGNATURES[kind]: None} if frame.get("contentSignature", "") is None else {}
        return BlockEnded(index, block.signature, extra=block.extra)

    def _end_call(self, frame: dict[str, Any]) -> Iterable[Delta]:
        """A call is whole. What its end says of it counts, and is checked against what was streamed."""
        index = _index(frame)
        block = self._blocks.get(index)
        if block is None or block.kind is not DeltaKind.CALL:
            return ()
        streamed = CallPart(block.id, block.name, block.text)
        call = _readable(streamed) if block.call is None else block.call
        if frame.get("toolCall") is not None:
            call = _overwritten(call, as_object(frame["toolCall"], "the member toolCall"))
        block.call = call
        if replace(call, signature=None, extra={}) == streamed:
            return (BlockEnded(index, call.signature, extra=call.extra),)
        return (BlockEnded(index, part=call),)

    def _found(self, frame: dict[str, Any], kind: DeltaKind) -> tuple[int, _Block]:
        index = _index(frame)
        block = self._blocks.get(index)
        if block is None or block.kind is not kind:
            raise FrameError(f"Received {frame['type']} for non-{_NAMES[kind]} content")
        return index, block

    # The end.

    def _finish(self, frame: dict[str, Any], failed: bool) -> Iterable[Delta]:
        said = as_text(frame, "reason")
        stop = STOPS.get(said, StopReason.ERROR if failed else StopReason.STOP)
        raw_stop = None if said in STOPS else clean_text(said)
        usage, extra = usage_from_wire(frame["usage"]) if "usage" in frame else (ZERO_USAGE, dict[str, Any]())
        if "providerThinkingLevel" in frame:
            extra["providerThinkingLevel"] = frame["providerThinkingLevel"]
        text = text_or_none(frame, "errorMessage") if failed else None
        kind = ErrorKind.ABORTED if stop is StopReason.ABORTED else ErrorKind.UNAVAILABLE
        error = None if text is None else ModelError(kind, self._scrub(text))
        came = replace(self._message, parts=self._parts(), usage=usage, extra=clean_json(extra))
        message = replace(came, stop=stop, raw_stop=raw_stop, error=error)
        self.over = True
        if failed:
            failure = error or ModelError(kind, NO_REASON)
            return (UsageReported(usage), StreamFailed(failure, raw_stop, message))
        return (UsageReported(usage), StreamFinished(stop, raw_stop, message))


def _index(frame: dict[str, Any]) -> int:
    index = frame.get("contentIndex")
    if isinstance(index, bool) or not isinstance(index, int):
        raise FrameError(f"Received {frame['type']} without a contentIndex that is a whole number")
    if index < 0:
        raise FrameError("Invalid negative contentIndex")
    if index >= MAX_BLOCKS:
        raise FrameError(f"Received {frame['type']} with a contentIndex beyond {MAX_BLOCKS - 1}")
    return index


def _readable(call: CallPart) -> CallPart:
    """The call with arguments that are JSON: as far as they can be read, with what is wrong with them beside it.

    What means nothing (null, false, 0, empty text) is an empty object.
    """
    value, problem = shown_arguments(call.arguments)
    if not value and not isinstance(value, dict | list):
        value = {}
    elif problem is None and call.arguments.strip():
        return call
    return replace(call, arguments=json_text(value), arguments_error=problem)


def _overwritten(call: CallPart, said: dict[str, Any]) -> CallPart:
    """The call with the members that its end names. Text that says the same as the value stays as it was streamed."""
    said = clean_json(said)
    given = call_from_wire({"id": call.id, "name": call.name, "thoughtSignature": call.signature, **said})
    extra = {name: item for name, item in given.extra.items() if name != "thoughtSignature" or name in said}
    given = replace(given, extra={**call.extra, **extra})
    if "arguments" not in said:
        problem = given.arguments_error or call.arguments_error
        return replace(given, arguments=call.arguments, arguments_error=problem)
    same = call.arguments_error is None and json_text(read_json(call.arguments)) == given.arguments
    return replace(given, arguments=call.arguments) if same else given
