"""The in-memory agent, as others see it: the events it tells, and the views and answers its host's hooks work with.

Read the events first, in the order in which they come: a run (``AgentStarted`` to ``AgentEnded``) is a row of turns
(``TurnStarted`` to ``TurnEnded``), each one answer of the model and the batch of calls it asked for. Everything here is
a frozen value: what a listener keeps never changes, and what a hook wants changed it returns.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from .model import BlockDelta, BlockEnded, BlockStarted, DeltaKind, ModelChoice
from .partial import Partial, arguments_so_far
from .sequence import Seq
from .tool import ToolResult, ToolSpec
from .transcript import AssistantMessage, Message, ToolResultMessage
from .values import field, frozen

__all__ = [
    "AgentEnded",
    "AgentEvent",
    "AgentStarted",
    "Context",
    "FinishAction",
    "MessageEnded",
    "MessageStarted",
    "MessageUpdated",
    "Rewrite",
    "Settled",
    "ToolEnded",
    "ToolOutcome",
    "ToolStarted",
    "ToolUpdated",
    "Turn",
    "TurnEnded",
    "TurnStarted",
    "TurnUpdate",
]


@frozen
class AgentStarted:
    """A run begins."""


@frozen
class TurnStarted:
    """A turn begins: what enters the conversation next, then one answer of the model."""


@frozen
class MessageStarted:
    """A message appears. An answer that is still arriving is told as far as it has come (its stop is ``pending``)."""

    message: Message


@frozen
class MessageUpdated:
    """An answer grew by ``delta``."""

    partial: Partial
    delta: BlockStarted | BlockDelta | BlockEnded

    @property
    def message(self) -> AssistantMessage:
        """The answer so far. Made when asked for, so that an event costs what its delta carries."""
        return self.partial.message

    @property
    def arguments(self) -> Any:
        """What the arguments of the call that grew hold so far, for display; nothing when it is no call that grew.

        Read when asked for, on from where an earlier event was asked; an event before that one is read from the start.
        Treat it as a constant: what later events give shares parts of it.
        """
        block = self.partial.blocks[self.delta.index]
        return arguments_so_far(block) if block.kind is DeltaKind.CALL else None


@frozen
class MessageEnded:
    """A message is whole, and part of the conversation."""

    message: Message


@frozen
class ToolStarted:
    """A call is taken up. ``arguments`` is the raw text the model wrote."""

    call_id: str
    name: str
    arguments: str


@frozen
class ToolUpdated:
    """A call that is carried out has something to show."""

    call_id: str
    name: str
    arguments: str
    update: ToolResult


@frozen
class ToolEnded:
    """A call is over. ``is_error`` is how the model sees it, whatever ``result.is_error`` says."""

    call_id: str
    name: str
    result: ToolResult
    is_error: bool


@frozen
class TurnEnded:
    """A turn is over: the model's answer, and the results of its calls in call order."""

    message: AssistantMessage
    results: tuple[ToolResultMessage, ...] = ()


@frozen
class AgentEnded:
    """The run is over. ``messages`` are those it added, in the order of the conversation."""

    messages: Seq[Message]


AgentEvent = (
    AgentStarted
    | TurnStarted
    | MessageStarted
    | MessageUpdated
    | MessageEnded
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | TurnEnded
    | AgentEnded
)


@frozen
class Context:
    """A conversation and the tools that may be called in it."""

    messages: Seq[Message] = field(factory=Seq)
    tools: tuple[ToolSpec, ...] = ()


@frozen
class Turn:
    """A turn that is over: the answer, its results, and where the conversation stands.

    ``new_messages`` are the messages this run has added so far.
    """

    message: AssistantMessage
    results: tuple[ToolResultMessage, ...]
    context: Context
    new_messages: Seq[Message]


class FinishAction(StrEnum):
    """What is to follow a turn: the run ends here, or goes on for one more turn if nothing else makes it go on."""

    END = "end"
    CONTINUE = "continue"


@frozen
class Rewrite:
    """A changed list, told by what stays: the first ``keep`` messages, then ``append``.

    So a hook that changes nothing costs nothing, here and in a recording.
    """

    keep: int
    append: tuple[Message, ...] = ()

    @classmethod
    def of(cls, before: Seq[Message], after: Sequence[Message]) -> "Rewrite":
        """What makes ``before`` into ``after``."""
        if after is before:
            return cls(len(before))
        keep = 0
        for old, new in zip(before, after, strict=False):
            if old is not new:
                break
            keep += 1
        return cls(keep, tuple(after[keep:]))

    def apply(self, before: Seq[Message]) -> Seq[Message]:
        """The list after the change; the very same one if nothing changes."""
        if self.keep == len(before) and not self.append:
            return before
        return before.cut(self.keep).extend(self.append)


@frozen
class TurnUpdate:
    """What is to change from here on, for the rest of the run. What is ``None`` stays.

    ``context`` replaces the conversation and ``tools`` what may be called; ``messages`` enter before everything else
    that waits (in the preparation of a turn only). The thinking level ``off`` asks for none.
    """

    context: Rewrite | None = None
    tools: tuple[ToolSpec, ...] | None = None
    messages: tuple[Message, ...] = ()
    model: ModelChoice | None = None
    thinking_level: str | None = None


@frozen
class ToolOutcome:
    """What became of one call; ``is_error`` is how a model would see it, whatever ``result.is_error`` says."""

    result: ToolResult
    is_error: bool


@frozen
class Settled:
    """What a run gives back: the messages it added, or the text of what made it fail.

    A failure that is ``told`` has been closed by events: its message is the last of ``messages``. ``outcome`` is what a
    call gave that a program asked for by itself.
    """

    messages: Seq[Message] = field(factory=Seq)
    failure: str | None = None
    told: bool = True
    outcome: ToolOutcome | None = None
