"""Saving a run: the orders, their answers, the port, and what the stored data means.

``merge_call`` and ``overlay_external`` are the whole meaning of concurrent writes to a call: every
store applies them, so no store has rules of its own. ``Step`` and ``Resume`` are the two sides of a checkpoint: a small
head, append-only logs, and named values (decision 1).
"""

from collections.abc import Mapping
from typing import Protocol

from .outcome import Outcome
from .record import Block, CallDecision, Completion, Handover, MediaRef, PlanTask, ToolCall
from .transcript import ZERO_USAGE, Usage
from .values import frozen, replace

__all__ = [
    "NO_CHANGES",
    "AttemptBegun",
    "AttemptEnded",
    "AttemptRefused",
    "AttemptStale",
    "BeginAttempt",
    "Begun",
    "CallRefused",
    "CallRejected",
    "CallSaved",
    "CallUpdate",
    "Changes",
    "EndAttempt",
    "Journal",
    "JournalFailed",
    "LeaseRenewed",
    "LogChange",
    "RenewLease",
    "Resume",
    "RunBusy",
    "SaveCall",
    "SaveStep",
    "StaleAttempt",
    "Step",
    "StepSaved",
    "merge_call",
    "overlay_external",
]


@frozen
class Changes:
    """What changed in the process record since the last saved step. Removals apply first, then calls, then blocks.

    ``blocks`` are in position order; ``calls`` are full snapshots, the main agent's in block order and then the
    sub-agents'; the two lists of removed ids are sorted. Removing a block does not remove its call.
    """

    blocks: tuple[Block, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    removed_blocks: tuple[str, ...] = ()
    removed_calls: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.blocks or self.calls or self.removed_blocks or self.removed_calls)


NO_CHANGES = Changes()


@frozen
class LogChange:
    """Cut a log to its first ``keep`` entries (absolute, so a repeated step changes nothing) and add ``append``."""

    keep: int
    append: tuple[bytes, ...] = ()


@frozen
class Step:
    """What is saved at a safe point, atomically.

    ``state`` (the head, opaque, about a kilobyte at most), ``usage``, ``completion`` and ``outcome`` replace what is
    stored, ``None`` clearing the latter two. ``logs``, ``values`` (``None`` drops one), ``changes`` and ``plan``
    (``None``: as it was) carry only what changed.
    """

    state: bytes
    logs: Mapping[str, LogChange] = {}
    values: Mapping[str, bytes | None] = {}
    changes: Changes = NO_CHANGES
    usage: Usage = ZERO_USAGE
    plan: tuple[PlanTask, ...] | None = None
    completion: Completion | None = None
    outcome: Outcome | None = None


@frozen
class Resume:
    """Everything a journal holds of one run. A run that never saved a step has no ``state``.

    ``blocks`` are in position order; ``calls`` are all call records, merged: those of blocks in block order, then the
    others by id.
    """

    state: bytes | None = None
    logs: Mapping[str, tuple[bytes, ...]] = {}
    values: Mapping[str, bytes] = {}
    blocks: tuple[Block, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    plan: tuple[PlanTask, ...] = ()
    usage: Usage = ZERO_USAGE
    completion: Completion | None = None
    outcome: Outcome | None = None


@frozen
class Begun:
    """A new attempt, and what all earlier ones left: numbers grow by one, and older attempts can write no more."""

    attempt: int
    resume: Resume


def merge_call(stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
    """The record after the runtime wrote a snapshot: JC-01 to JC-11.

    A snapshot that is not newer changes nothing. Otherwise descriptive fields and notes follow it; a decision, once
    stored, stays; and the outcome follows it only while the call is neither settled nor handed over. On a call that
    is handed over, a snapshot that hands over too may fill a missing payload and a missing receipt.
    """
    if stored is None:
        return incoming
    if incoming.rev <= stored.rev:
        return stored
    decision = stored.decision or incoming.decision
    if stored.handover is Handover.NONE and not stored.settled:
        return replace(incoming, id=stored.id, decision=decision)
    merged = replace(
        stored,
        rev=incoming.rev,
        parent_id=incoming.parent_id,
        model_call_id=incoming.model_call_id,
        call_id=incoming.call_id,
        name=incoming.name,
        arguments=incoming.arguments,
        digest=incoming.digest,
        replayable=incoming.replayable,
        side_effects=incoming.side_effects,
        notes=incoming.notes,
        decision=decision,
    )
    if stored.handover is Handover.NONE or incoming.handover is Handover.NONE:
        return merged
    receipt_missing = stored.result is None and stored.error is None
    return replace(
        merged,
        payload=stored.payload or incoming.payload,
        result=incoming.result if receipt_missing else stored.result,
    )


@frozen
class CallUpdate:
    """What a host writes on a call it owns; what is not set stays as it is.

    ``media`` tells ``None`` (not set) from ``()`` (cleared). A result replaces a structured one, so it clears
    ``parts``.
    """

    id: str
    status: str = ""
    result: str | None = None
    error: str | None = None
    media: tuple[MediaRef, ...] | None = None
    completed_at: int | None = None
    handover: Handover = Handover.NONE
    payload: str = ""
    decision: CallDecision | None = None


def overlay_external(stored: ToolCall, update: CallUpdate) -> ToolCall:
    """The record after the host's authoritative write. The revision never changes."""
    return replace(
        stored,
        status=update.status or stored.status,
        result=stored.result if update.result is None else update.result,
        parts=stored.parts if update.result is None else None,
        error=stored.error if update.error is None else update.error,
        media=stored.media if update.media is None else update.media,
        completed_at=stored.completed_at if update.completed_at is None else update.completed_at,
        handover=stored.handover if update.handover is Handover.NONE else update.handover,
        payload=update.payload or stored.payload,
        decision=stored.decision if update.decision is None else update.decision,
    )


@frozen
class BeginAttempt:
    """Start a new attempt with a lease, and load what earlier ones left. Answered once."""

    ticket: int
    lease_ms: int
    take_over: bool = False


@frozen
class SaveStep:
    """Save a step; never two at a time."""

    ticket: int
    attempt: int
    step: Step


@frozen
class SaveCall:
    """Save the newest snapshot of a call; calls are saved concurrently with each other and with a step."""

    ticket: int
    attempt: int
    call: ToolCall


@frozen
class RenewLease:
    """Keep the attempt's lease for another ``lease_ms`` from now."""

    ticket: int
    attempt: int
    lease_ms: int


@frozen
class EndAttempt:
    """Give the lease back: the next executor need not wait for it to run out."""

    ticket: int
    attempt: int


@frozen
class AttemptBegun:
    """The attempt is ours; nobody older writes any more."""

    at: int
    ticket: int
    begun: Begun


@frozen
class AttemptRefused:
    """Another executor's lease is live until ``until``."""

    at: int
    ticket: int
    until: int


@frozen
class StepSaved:
    """The step is stored, whole."""

    at: int
    ticket: int


@frozen
class CallSaved:
    """The call is stored; ``call`` is the merged record, and it is the truth (decision 37)."""

    at: int
    ticket: int
    call: ToolCall


@frozen
class CallRefused:
    """The host refused a submission or a pause; nothing was stored."""

    at: int
    ticket: int
    reason: str


@frozen
class LeaseRenewed:
    """The lease runs anew from the moment it was asked for."""

    at: int
    ticket: int


@frozen
class AttemptEnded:
    """The lease is given back."""

    at: int
    ticket: int


@frozen
class AttemptStale:
    """A newer attempt has begun: nothing this executor writes counts any more (answers any of the orders above)."""

    at: int
    ticket: int


@frozen
class JournalFailed:
    """The journal could not do it, and the run cannot go on (answers any of the orders above)."""

    at: int
    ticket: int
    message: str


class StaleAttempt(Exception):
    """Raised by a journal for a write of an attempt that is no longer the newest."""


class RunBusy(Exception):
    """Raised by ``begin`` while another executor's lease is live; ``until`` is in milliseconds since the epoch."""

    def __init__(self, until: int) -> None:
        super().__init__(f"another executor holds this run until {until} (milliseconds since the epoch)")
        self.until = until


class CallRejected(Exception):
    """Raised by ``save_call`` when the host refuses a submission or pause; the model sees ``reason`` (JU-01)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @staticmethod
    def within(error: BaseException | None) -> "CallRejected | None":
        """The rejection anywhere in an exception's chain of causes, or nothing."""
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            if isinstance(error, CallRejected):
                return error
            seen.add(id(error))
            error = error.__cause__ or error.__context__
        return None


class Journal(Protocol):
    """The stored side of one run. No host write goes through it. ``tests`` for your own: the contract suites.

    ``begin`` fences and then loads, in one transaction: whatever an older attempt wrote is in what it returns, and its
    later writes raise ``StaleAttempt``. Steps arrive one at a time; calls arrive concurrently. Any other exception
    ends the run as failed.
    """

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        """Start the next attempt; raises ``RunBusy`` while a lease is live, unless told to take over."""
        ...

    async def renew(self, attempt: int, lease_ms: int) -> None:
        """Extend the lease; raises ``StaleAttempt``."""
        ...

    async def save_step(self, attempt: int, step: Step) -> None:
        """Apply a step in one transaction, all or nothing; raises ``StaleAttempt``, ``InvalidCall`` for a bad call."""
        ...

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        """Merge a snapshot and return the record; raises ``StaleAttempt``, ``InvalidCall`` or ``CallRejected``."""
        ...

    async def end(self, attempt: int) -> None:
        """Give the lease back; raises ``StaleAttempt``."""
        ...
