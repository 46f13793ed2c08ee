"""What ``MemoryStore`` keeps: runs and conversations. They change in place and are never handed out.

What is handed out is made here too: values are frozen, and the mappings in them are copied.
"""

from ...effects.feed import InputMessage
from ...effects.journal import Resume
from ...effects.outcome import Outcome
from ...effects.record import Block, Completion, PlanTask, ToolCall, Wait, waits_for
from ...effects.transcript import ZERO_USAGE, Usage
from ...effects.values import frozen, replace
from .errors import MessageChanged
from .rules import in_resume_order, undecidable
from .store import RunSummary, WaitingCall

__all__ = ["NO_RUN", "Conversation", "MemoryRun", "Saved", "own_call", "own_message"]


class Conversation:
    """What is kept of one conversation: message i has the sequence number i + 1."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: list[InputMessage] = []
        self.consumed = 0
        self._sequences: dict[tuple[str, str], int] = {}

    def add(self, message: InputMessage) -> int:
        """The sequence number of the message, which is stored unless it already was."""
        identity = (message.id, message.revision)
        sequence = self._sequences.get(identity)
        if sequence is not None:
            if self.messages[sequence - 1] != message:
                raise MessageChanged(self.name, message.key)
            return sequence
        self.messages.append(message)
        self._sequences[identity] = len(self.messages)
        return len(self.messages)

    def consume(self, sequence: int) -> int:
        """Move the boundary forward, at most to the last message."""
        self.consumed = max(self.consumed, min(sequence, len(self.messages)))
        return self.consumed


@frozen
class Saved:
    """What each step replaces as a whole."""

    state: bytes | None = None
    usage: Usage = ZERO_USAGE
    completion: Completion | None = None
    outcome: Outcome | None = None


class MemoryRun:
    """What is kept of one run."""

    def __init__(self, now: int) -> None:
        self.conversation = ""
        self.meta: dict[str, str] = {}
        self.created_at = self.touched_at = self.saved_at = now
        self.attempt = 0
        self.lease_until: int | None = None
        self.saved = Saved()
        self.plan: tuple[PlanTask, ...] = ()
        self.logs: dict[str, list[bytes]] = {}
        self.values: dict[str, bytes] = {}
        self.blocks: dict[str, Block] = {}
        self.calls: dict[str, ToolCall] = {}
        self.waits: dict[str, tuple[Wait, int]] = {}

    def put(self, call: ToolCall, now: int) -> None:
        """Keep a record, and since when it waits for what, if for anybody."""
        self.calls[call.id] = call
        wait = waits_for(call)
        if wait is None:
            self.waits.pop(call.id, None)
        elif call.id not in self.waits or self.waits[call.id][0] is not wait:
            self.waits[call.id] = (wait, now)

    def drop(self, call_id: str) -> None:
        """Forget a record."""
        self.calls.pop(call_id, None)
        self.waits.pop(call_id, None)

    def waiting(self, run_id: str, now: int) -> list[WaitingCall]:
        """The calls that wait for somebody, by id."""
        found = [(kind, since, self.calls[call_id]) for call_id, (kind, since) in sorted(self.waits.items())]
        return [
            WaitingCall(run_id, self.conversation, kind, since, own_call(call), undecidable(call, now))
            for kind, since, call in found
        ]

    def resume(self) -> Resume:
        """All of it, for an executor."""
        blocks = tuple(sorted(self.blocks.values(), key=lambda block: (block.position, block.id)))
        return Resume(
            state=self.saved.state,
            logs={name: tuple(entries) for name, entries in self.logs.items()},
            values=dict(self.values),
            blocks=blocks,
            calls=in_resume_order(blocks, {call_id: own_call(call) for call_id, call in self.calls.items()}),
            plan=self.plan,
            usage=self.saved.usage,
            completion=self.saved.completion,
            outcome=self.saved.outcome,
        )

    def summary(self, run_id: str, now: int) -> RunSummary:
        """The gist of it, for a listing."""
        kinds = [kind for kind, _ in self.waits.values()]
        return RunSummary(
            run_id,
            self.conversation,
            self.created_at,
            max(self.touched_at, self.saved_at),
            self.attempt,
            self.lease_until,
            held=self.lease_until is not None and now < self.lease_until,
            outcome=self.saved.outcome,
            needs_review=kinds.count(Wait.REVIEW),
            waiting=sum(kind.holds_up for kind in kinds),
            outstanding=kinds.count(Wait.OUTSTANDING),
            meta=dict(self.meta),
        )


NO_RUN = MemoryRun(0)
"""Stands for a run that is not there: no attempt of it ever began."""


def own_call(call: ToolCall) -> ToolCall:
    """The record, sharing no mapping with the given one."""
    return replace(call, notes=dict(call.notes)) if call.notes else call


def own_message(message: InputMessage) -> InputMessage:
    """The message, sharing no mapping with the given one."""
    return replace(message, meta=dict(message.meta)) if message.meta else message
