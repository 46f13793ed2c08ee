"""What a simulated model says: ``Output``, and the functions that write one."""

from ...effects.model import (
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
from ...effects.transcript import ErrorKind, ModelError, StopReason, Usage
from ...effects.values import frozen, replace

__all__ = ["Output", "breaks_off", "calls", "cut_short", "fails", "refuses", "says", "says_nothing"]


@frozen
class Output:
    """What the model does when it is asked once: deltas that end with a terminal one, unless the port breaks off."""

    deltas: tuple[Delta, ...]

    @property
    def signed(self) -> "Output":
        """The same, with a name for the model that says it: by it the witness tells outputs from input."""
        return self if any(isinstance(one, Started) for one in self.deltas) else Output((_STARTED, *self.deltas))

    @property
    def terminal(self) -> StreamFinished | StreamFailed | None:
        """The delta that ends it, or nothing when the port breaks its contract."""
        last = self.deltas[-1] if self.deltas else None
        return last if isinstance(last, StreamFinished | StreamFailed) else None

    @property
    def blocks(self) -> tuple[tuple[DeltaKind, str, str], ...]:
        """What it says block by block, as (kind, tool's name, text), in the order in which the blocks appear."""
        found: dict[int, tuple[DeltaKind, str, str]] = {}
        for delta in self.deltas:
            if isinstance(delta, BlockStarted):
                new = (delta.kind, "", "")
                kind, name, text = new if delta.again else found.get(delta.index, new)
                found[delta.index] = (kind, name or delta.name, text)
            elif isinstance(delta, BlockDelta):
                kind, name, text = found.get(delta.index, (DeltaKind.TEXT, "", ""))
                found[delta.index] = (kind, name, text + delta.text)
        return tuple(found.values())

    @property
    def text(self) -> str:
        """All its text, thoughts and arguments left out."""
        return "".join(text for kind, _, text in self.blocks if kind is DeltaKind.TEXT)

    @property
    def wanted(self) -> tuple[tuple[str, str], ...]:
        """The calls in it, as (tool, arguments as text)."""
        return tuple((name, text) for kind, name, text in self.blocks if kind is DeltaKind.CALL)

    @property
    def cut_off(self) -> bool:
        """Whether it ended at its length limit."""
        return isinstance(self.terminal, StreamFinished) and self.terminal.stop is StopReason.LENGTH


_STARTED = Started(provider="simulated", model="large")
_CHEAP = Started(provider="simulated", model="small")
_USAGE = UsageReported(Usage(10, 0, 0, 2))


def says(text: str, thought: str = "") -> Output:
    """A text, and maybe a thought before it."""
    deltas = _thinking(thought) + _text(text, 1)
    return Output((_STARTED, *deltas, _USAGE, StreamFinished(StopReason.STOP)))


def calls(*wanted: tuple[str, str], text: str = "", thought: str = "", ids: tuple[str, ...] = ()) -> Output:
    """Calls, as (tool, arguments as text), after some text and thought; ``ids`` are the provider's, "1", "2" … if not
    given. Another model writes them than writes the texts, so that a run has more than one to pay for.
    """
    deltas = _thinking(thought) + _text(text, 1)
    for place, (name, arguments) in enumerate(wanted):
        call_id = ids[place] if place < len(ids) else str(place + 1)
        deltas += (BlockStarted(place + 2, DeltaKind.CALL, call_id, name), BlockDelta(place + 2, arguments))
    return Output((_CHEAP, *deltas, _USAGE, StreamFinished(StopReason.TOOL_USE)))


def says_nothing(thought: str = "") -> Output:
    """An output without text and calls."""
    return Output((_STARTED, *_thinking(thought), _USAGE, StreamFinished(StopReason.STOP)))


def refuses() -> Output:
    """A refusal."""
    return Output((_STARTED, *_text("no", 0), _USAGE, StreamFinished(StopReason.REFUSAL, "safety")))


def fails(kind: ErrorKind = ErrorKind.UNAVAILABLE, text: str = "", wait_ms: int | None = None) -> Output:
    """A failure, after some text; the provider may say how long to wait, in milliseconds."""
    error = ModelError(kind, f"simulated: {kind.value}", retry_after_ms=wait_ms)
    return Output((_STARTED, *_text(text, 0), StreamFailed(error)))


def cut_short(output: Output) -> Output:
    """The same output, stopped at its length limit."""
    return Output((*output.deltas[:-1], StreamFinished(StopReason.LENGTH)))


def breaks_off(output: Output) -> Output:
    """The same output without its end: the port broke its contract."""
    return replace(output, deltas=output.deltas[:-1])


def _text(text: str, index: int) -> tuple[Delta, ...]:
    if not text:
        return ()
    middle = (len(text) + 1) // 2
    pieces = (text[:middle], text[middle:])
    return (BlockStarted(index, DeltaKind.TEXT), *(BlockDelta(index, piece) for piece in pieces if piece))


def _thinking(thought: str) -> tuple[Delta, ...]:
    if not thought:
        return ()
    return (BlockStarted(0, DeltaKind.THINKING), BlockDelta(0, thought), BlockEnded(0, signature="signed"))
