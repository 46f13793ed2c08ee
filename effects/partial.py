"""What has arrived of an answer, as a value: cheap to grow, read only by those who ask.

Texts are ropes that share their beginnings, so every state of an answer may be kept. Folding deltas into one is the
core's business; ``message`` is what it looks like to people, and ``arguments_so_far`` what a call's arguments do.
"""

from collections.abc import Mapping
from typing import Any

from .model import DeltaKind, Started
from .sequence import Seq
from .transcript import (
    NO_EXTRA,
    ZERO_USAGE,
    AssistantMessage,
    AssistantPart,
    CallPart,
    Spent,
    StopReason,
    TextPart,
    ThinkingPart,
    Usage,
    clean_text,
)
from .transcript.partial_json import PartialJson
from .values import field, frozen

__all__ = ["EMPTY_PARTIAL", "OpenBlock", "Partial", "arguments_so_far", "part_of", "text_so_far"]


@frozen
class OpenBlock:
    """One block of an answer that is still arriving."""

    kind: DeltaKind
    id: str = ""
    name: str = ""
    text: Seq[str] = field(factory=Seq)
    signature: str | None = None
    redacted: bool = False
    extra: Mapping[str, Any] = NO_EXTRA
    arguments_error: str | None = None


@frozen
class Partial:
    """What has arrived of one answer: blocks by the provider's index, in order of their first appearance."""

    started: Started | None = None
    blocks: Mapping[int, OpenBlock] = {}
    usage: Usage = ZERO_USAGE
    besides: tuple[Spent, ...] = ()

    @property
    def spent(self) -> tuple[Spent, ...]:
        """What was used for the answer so far, by model."""
        started = self.started or Started()
        return (Spent(started.provider, started.model, usage=self.usage), *self.besides)

    @property
    def message(self) -> AssistantMessage:
        """The output so far, empty blocks included. It is put together anew each time, which costs what it is long."""
        started = self.started or Started()
        return AssistantMessage(
            parts=tuple(part_of(block) for block in self.blocks.values()),
            api=started.api,
            provider=started.provider,
            model=started.model,
            stop=StopReason.PENDING,
            usage=self.usage,
            response_id=started.response_id,
            timestamp=started.timestamp,
            besides=self.besides,
        )


EMPTY_PARTIAL = Partial()


def part_of(block: OpenBlock) -> AssistantPart:
    """A block as a part of a message, storable."""
    text = text_so_far(block)
    match block.kind:
        case DeltaKind.CALL:
            return CallPart(block.id, block.name, text, block.signature, block.extra, block.arguments_error)
        case DeltaKind.THINKING:
            return ThinkingPart(text, block.signature, block.redacted, block.extra)
        case DeltaKind.TEXT:
            return TextPart(text, block.signature, block.extra)


def text_so_far(block: OpenBlock) -> str:
    """The text of a block that is still arriving, storable."""
    return clean_text("".join(block.text))


def arguments_so_far(block: OpenBlock) -> Any:
    """What the arguments of a call that is still arriving hold, for display.

    Asked at each delta it reads every character once, however long they get. Treat it as a constant: values asked for
    before and after share parts of it.
    """
    return block.text.read_by(_Arguments).json.value()


class _Arguments:
    """Reads arguments in pieces. Half of a surrogate pair at the end of one waits for the other half."""

    def __init__(self) -> None:
        self.json = PartialJson()
        self._half = ""

    def feed(self, text: str, /) -> None:
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        self.json.feed(clean_text(text))
