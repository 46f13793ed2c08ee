"""What an extension of a run may be: a name, a slice of state, an instruction, and observers. All of it pure.

The fold keeps the slice, hands it to each observer, and takes back what it returns. The slices are saved with the
run and restored from it; a checkpoint and a set-up that do not have the same extensions do not go together.
"""

from enum import StrEnum
from typing import Any

import msgspec

from ...effects.feed import InputMessage
from ...effects.record import Block, ToolCall
from ...effects.transcript import AssistantMessage
from ...effects.values import frozen


class Origin(StrEnum):
    """How a call came to its outcome: its tool ran (or was about to), it was submitted, or a resume found it so."""

    EXECUTED = "executed"
    SUBMITTED = "submitted"
    RESTORED = "restored"


@frozen
class CallOutcome:
    """What an observer of calls sees: the record as it is now, and how it came to be so."""

    call: ToolCall
    origin: Origin


class Extension:
    """Subclass it, name it, and override what you need; every method must be pure, and one that raises fails the run.

    ``stateful`` says whether the slice is saved. ``encode`` and ``decode`` turn it into bytes and back; by default it
    is any value that JSON can hold. Observers return the new slice, and are asked in the order of registration.
    """

    name: str = ""
    stateful: bool = True

    def start(self) -> Any:
        """The slice of a run that has just begun."""
        return None

    def encode(self, state: Any) -> bytes:
        """The slice as bytes."""
        return msgspec.json.encode(state)

    def decode(self, raw: bytes) -> Any:
        """The slice in the bytes that ``encode`` gave; may raise anything for bytes it cannot read."""
        return msgspec.json.decode(raw)

    def instruction(self, state: Any) -> str:
        """What the model is told beside the run's instruction; asked once an execution, after restoring (RT-25)."""
        return ""

    def on_claim(self, state: Any, messages: tuple[InputMessage, ...]) -> Any:
        """New input is claimed; a claim that a resume repeats is not told again."""
        return state

    def on_output(self, state: Any, output: AssistantMessage) -> Any:
        """The model's output is accepted; its tools have not begun."""
        return state

    def on_call(self, state: Any, outcome: CallOutcome) -> Any:
        """A call has an outcome, or is somebody else's from now on."""
        return state

    def on_restore(self, state: Any, blocks: tuple[Block, ...], calls: tuple[ToolCall, ...]) -> Any:
        """The run goes on from what is stored; what was cut off is settled."""
        return state
