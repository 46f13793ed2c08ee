"""Asking a model: the order, the deltas of its answer, and the port.

A provider's stream becomes ``Started``, per block ``BlockStarted`` / ``BlockDelta`` / ``BlockEnded``,
``UsageReported``, and exactly one terminal delta. Which provider chunk belongs to which block is the adapter's business
(decision 23); folding deltas into a message is the core's.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from enum import StrEnum
from typing import Any, Protocol

from .sequence import Seq
from .transcript import (
    NO_EXTRA,
    AssistantMessage,
    CallPart,
    Message,
    ModelError,
    Sealed,
    Spent,
    StopReason,
    SystemMessage,
    ToolDeclaration,
    Usage,
    UserMessage,
)
from .values import field, frozen

__all__ = [
    "BlockDelta",
    "BlockEnded",
    "BlockStarted",
    "CallModel",
    "CancelModel",
    "Delta",
    "DeltaKind",
    "ModelBroke",
    "ModelChoice",
    "ModelCutOff",
    "ModelPort",
    "ModelRequest",
    "ModelStreamed",
    "Started",
    "StreamFailed",
    "StreamFinished",
    "UsageReported",
]


class DeltaKind(StrEnum):
    """What a block of an output is."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"


@frozen
class Started:
    """The provider answers. Optional; a second one is ignored.

    ``api``, ``provider`` and ``model`` are the identity that the output carries from then on; ``model`` is the one that
    was asked for, ``response_model`` what the provider says it used, ``timestamp`` when it says it began.
    """

    api: str = ""
    provider: str = ""
    model: str = ""
    response_id: str | None = None
    response_model: str | None = None
    timestamp: int | None = None


@frozen
class BlockStarted:
    """Block ``index`` begins. A call may learn its ``id`` and ``name`` later, by another ``BlockStarted`` of its index.

    ``again``: the block begins anew in the place it has, and whatever it held is dropped.
    """

    index: int
    kind: DeltaKind
    id: str = ""
    name: str = ""
    extra: Mapping[str, Any] = NO_EXTRA
    again: bool = False


@frozen
class BlockDelta:
    """More text of block ``index``: text, reasoning, or the raw text of a call's arguments."""

    index: int
    text: str


@frozen
class BlockEnded:
    """Block ``index`` is complete; what only the end tells (a signature) comes with it. Optional before a terminal.

    ``part``, when given, is the whole call where its end says something else than its deltas, and replaces them.
    """

    index: int
    signature: str | None = None
    redacted: bool = False
    extra: Mapping[str, Any] = NO_EXTRA
    part: CallPart | None = None


@frozen
class UsageReported:
    """Tokens so far; a later report replaces an earlier one.

    ``besides`` is what other models used for this answer before they were given up; ``usage`` leaves it out.
    """

    usage: Usage
    besides: tuple[Spent, ...] = ()


@frozen
class StreamFinished:
    """The terminal delta of an answer. ``message``, when given, is the whole output and replaces what was folded."""

    stop: StopReason = StopReason.STOP
    raw_stop: str | None = None
    message: AssistantMessage | None = None


@frozen
class StreamFailed:
    """The terminal delta of a failure, wherever it happened: before, in or after the stream.

    ``message``, when given, is the whole output as far as it came, and replaces what was folded.
    """

    error: ModelError
    raw_stop: str | None = None
    message: AssistantMessage | None = None


Delta = Started | BlockStarted | BlockDelta | BlockEnded | UsageReported | StreamFinished | StreamFailed


@frozen
class ModelChoice:
    """Which model is meant, as hosts and messages name it. ``port`` names who serves it (empty: whoever is there)."""

    id: str = ""
    provider: str = ""
    api: str = ""
    port: str = ""
    extra: Mapping[str, Any] = NO_EXTRA


_KEY = "api_key"


def _shown(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options as a ``repr`` may have them: a key that was resolved for one call is in no text (decision 49)."""
    return {**options, _KEY: "***"} if _KEY in options else options


@frozen
class ModelRequest:
    """What to ask: the whole context by reference, and the tools on offer.

    ``notice`` is one more thing said to the model, after everything else and in this request only. ``purpose`` says
    what the call is for (``main``, a summary, ...); ``model_call_id`` is our id of this attempt. ``options`` are passed
    on to the provider. ``model`` is given where the asker can choose.
    """

    model_call_id: str
    context: Seq[Message | Sealed]
    instruction: str = ""
    tools: tuple[ToolDeclaration, ...] = ()
    notice: str = ""
    max_output_tokens: int = 0
    purpose: str = "main"
    options: Mapping[str, Any] = field(default=NO_EXTRA, repr=lambda options: repr(_shown(options)))
    model: ModelChoice | None = None

    @property
    def messages(self) -> Iterator[Message]:
        """The context, message by message: the instruction first and the notice last, where there is one."""
        if self.instruction:
            yield SystemMessage(self.instruction)
        for item in self.context:
            yield item.open() if isinstance(item, Sealed) else item
        if self.notice:
            yield UserMessage(self.notice)


@frozen
class CallModel:
    """Ask the model. Answered by batches of deltas, the last of which ends with the terminal one."""

    ticket: int
    request: ModelRequest


@frozen
class CancelModel:
    """Stop asking: what still comes is not wanted. The call answers all the same, if only as cut off."""

    ticket: int


@frozen
class ModelStreamed:
    """What arrived since the last batch."""

    at: int
    ticket: int
    deltas: tuple[Delta, ...]


@frozen
class ModelCutOff:
    """The call was withdrawn before it answered."""

    at: int
    ticket: int


@frozen
class ModelBroke:
    """The port raised, or ended without a terminal delta: it broke its contract and the run fails (decision 28)."""

    at: int
    ticket: int
    message: str


class ModelPort(Protocol):
    """A model. One method: it yields deltas, ends with a terminal one, and never raises for a provider's failure."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The deltas of one answer. Cancellation arrives as the framework's own, at any await."""
        ...
