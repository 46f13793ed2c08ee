"""A model without a network: ``ScriptedModel`` says what its script says. For tests, demonstrations and benchmarks.

A script is data: replies put together from ``say``, ``think``, ``call``, ``fail``, ``pause`` and ``raw`` with ``+``::

    ScriptedModel([think("Let me look.") + call("read", {"path": "a"}), say("It is empty.")])

A reply may also be a function of the request, and so may the whole script. Needs no framework: only a script with
pauses awaits anything, and then it is the ``sleep`` that was handed in.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from ...effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelRequest,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from ...effects.sequence import Seq
from ...effects.transcript import CallPart, ErrorKind, ModelError, StopReason, TextPart, ThinkingPart, Usage
from ...effects.values import frozen, replace

__all__ = ["Reply", "ScriptExhaustedError", "ScriptedModel", "call", "fail", "pause", "raw", "say", "think"]

DEFAULT_USAGE = Usage(input=10, output=2)
DEFAULT_CHUNK = 16
_NUMBERED = "\0numbered"


class ScriptExhaustedError(LookupError):
    """The model was asked more often than its script foresees."""


@frozen
class Pause:
    """Nothing for ``seconds``."""

    seconds: float


Step = TextPart | ThinkingPart | CallPart | Pause | Delta


@frozen
class Reply:
    """One prepared answer: parts, pauses and raw deltas in their order; ``+`` puts replies one after the other.

    ``stop`` is worked out where it is not given. A terminal delta among the steps ends the reply; without one the usage
    and the terminal delta are added, unless the reply is ``exact``: then nothing is, whatever a port should do.
    """

    steps: tuple[Step, ...] = ()
    stop: StopReason | None = None
    raw_stop: str | None = None
    usage: Usage | None = None
    exact: bool = False

    def __add__(self, other: "Reply") -> "Reply":
        return Reply(
            self.steps + other.steps,
            other.stop or self.stop,
            other.raw_stop or self.raw_stop,
            other.usage or self.usage,
            self.exact or other.exact,
        )


ReplyLike = Reply | str
Answer = ReplyLike | Callable[[ModelRequest], ReplyLike]


def say(text: str, *, stop: StopReason | None = None, raw_stop: str | None = None, usage: Usage | None = None) -> Reply:
    """The model says ``text``."""
    return Reply((TextPart(text),), stop, raw_stop, usage)


def think(text: str, signature: str | None = None, *, redacted: bool = False) -> Reply:
    """The model reasons."""
    return Reply((ThinkingPart(text, signature, redacted),))


def call(tool: str, arguments: Mapping[str, Any] | str = "", *, id: str | None = None) -> Reply:
    """The model calls a tool: with arguments as data, or as the raw text it would write. Without an id it gets one."""
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return Reply((CallPart(_NUMBERED if id is None else id, tool, text),))


def fail(
    message: str = "scripted failure", kind: ErrorKind = ErrorKind.UNAVAILABLE, *, retry_after_ms: int | None = None
) -> Reply:
    """The model fails, after whatever came before it."""
    return Reply((StreamFailed(ModelError(kind, message, retry_after_ms=retry_after_ms)),))


def pause(seconds: float) -> Reply:
    """The model says nothing for a while; needs a ``sleep``."""
    return Reply((Pause(seconds),))


def raw(*deltas: Delta) -> Reply:
    """Exactly these deltas and nothing else, not even a terminal one."""
    return Reply(deltas, exact=True)


class ScriptedModel:
    """A ``ModelPort`` with prepared answers, used in the order in which it is asked; a function answers for ever.

    Text comes in pieces of ``chunk`` characters. ``gap_s`` seconds pass before each piece and a ``pause`` takes its
    time, both by ``sleep``; raises ``ValueError`` for a gap without one. ``requests`` are those it saw; with
    ``keep_contexts`` off their contexts are emptied, and ``context_lengths`` tells how long they were.
    """

    def __init__(
        self,
        script: Iterable[Answer] | Callable[[ModelRequest], ReplyLike],
        *,
        chunk: int = DEFAULT_CHUNK,
        usage: Usage = DEFAULT_USAGE,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        gap_s: float = 0.0,
        keep_contexts: bool = True,
        provider: str = "scripted",
        model: str = "scripted",
    ) -> None:
        if chunk < 1:
            raise ValueError("a piece of text has at least one character: chunk must be 1 or more")
        if gap_s and sleep is None:
            raise ValueError("a model with gaps needs a sleep, such as trio.sleep")
        self.requests: list[ModelRequest] = []
        self.context_lengths: list[int] = []
        self._always = script if callable(script) else None
        self._answers = iter(()) if callable(script) else iter(script)
        self._chunk = chunk
        self._usage = usage
        self._sleep = sleep
        self._gap_s = gap_s
        self._keep_contexts = keep_contexts
        self._provider = provider
        self._model = model
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The deltas of the next reply; raises ``ScriptExhaustedError`` when there is none."""
        deltas = self._deltas(self._next(request))
        sleep = self._sleep
        if sleep is None:
            for delta in deltas:
                yield delta
            return
        for delta in deltas:
            if isinstance(delta, Pause):
                await sleep(delta.seconds)
                continue
            if self._gap_s and isinstance(delta, BlockDelta):
                await sleep(self._gap_s)
            yield delta

    def _next(self, request: ModelRequest) -> Reply:
        self.context_lengths.append(len(request.context))
        self.requests.append(request if self._keep_contexts else replace(request, context=Seq()))
        answer = self._always or next(self._answers, None)
        if answer is None:
            asked = len(self.requests)
            raise ScriptExhaustedError(f"the script has {asked - 1} replies, and the model was asked {asked} times")
        reply = answer(request) if callable(answer) else answer
        return say(reply) if isinstance(reply, str) else reply

    def _deltas(self, reply: Reply) -> list[Any]:
        """The whole reply, deltas and pauses."""
        out: list[Delta | Pause] = []
        if not reply.exact:
            out.append(Started("scripted", self._provider, self._model, f"response-{len(self.requests)}"))
        index = 0
        for step in reply.steps:
            if isinstance(step, TextPart | ThinkingPart | CallPart):
                out += self._block(index, step)
                index += 1
            elif isinstance(step, Pause) and self._sleep is None:
                raise ValueError("a script with pauses needs a sleep, such as trio.sleep")
            else:
                out.append(step)
                if isinstance(step, StreamFinished | StreamFailed):
                    return out
        if not reply.exact:
            calls = any(isinstance(step, CallPart) for step in reply.steps)
            stop = reply.stop or (StopReason.TOOL_USE if calls else StopReason.STOP)
            out += (UsageReported(reply.usage or self._usage), StreamFinished(stop, reply.raw_stop))
        return out

    def _block(self, index: int, part: TextPart | ThinkingPart | CallPart) -> list[Delta]:
        if isinstance(part, CallPart):
            started = BlockStarted(index, DeltaKind.CALL, self._id(part.id), part.name)
            text, redacted = part.arguments, False
        else:
            thinking = isinstance(part, ThinkingPart)
            started = BlockStarted(index, DeltaKind.THINKING if thinking else DeltaKind.TEXT)
            text, redacted = part.text, isinstance(part, ThinkingPart) and part.redacted
        return [started, *_pieces(index, text, self._chunk), BlockEnded(index, part.signature, redacted)]

    def _id(self, id: str) -> str:
        if id != _NUMBERED:
            return id
        self._calls += 1
        return f"call-{self._calls}"


_set_index: Callable[[BlockDelta, int], None] = vars(BlockDelta)["index"].__set__
_set_text: Callable[[BlockDelta, str], None] = vars(BlockDelta)["text"].__set__


def _pieces(index: int, text: str, size: int) -> list[Delta]:
    """The text in pieces. Slots are filled directly, at half the cost of a call: benchmarks measure others by this."""
    pieces: list[Delta] = []
    for start in range(0, len(text), size):
        piece = object.__new__(BlockDelta)
        _set_index(piece, index)
        _set_text(piece, text[start : start + size])
        pieces.append(piece)
    return pieces
