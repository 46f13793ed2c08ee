"""What a run leaves behind: blocks and tool calls, as journals keep them.

String values are persisted and never reused for another meaning. A host may invent final statuses of its own, so
``ToolCall.status`` is a plain string and ``settled`` is the question to ask about it.
"""

from collections.abc import Mapping
from enum import StrEnum

from .values import frozen, region

__all__ = [
    "NO_NOTES",
    "Block",
    "BlockKind",
    "CallCompletion",
    "CallDecision",
    "CallStatus",
    "Completion",
    "CompletionSource",
    "Handover",
    "InvalidCall",
    "MediaRef",
    "PlanStatus",
    "PlanTask",
    "Standing",
    "ToolCall",
    "Wait",
    "settled",
    "validate_call",
    "waits_for",
]

NO_NOTES: Mapping[str, str] = {}


class BlockKind(StrEnum):
    """What a block of the process record shows."""

    THINKING = "thinking"
    CONTENT = "content"
    TOOL_CALL = "tool_call"


class Standing(StrEnum):
    """What became of text that is in the record but was not delivered (decision 2)."""

    SUPERSEDED = "superseded"
    REJECTED = "rejected"
    BROKEN_OFF = "broken_off"


class CallStatus(StrEnum):
    """The statuses that the runtime itself gives to calls."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    AWAITING_DECISION = "awaiting_decision"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    NEEDS_REVIEW = "needs_review"
    REJECTED = "rejected"


_OPEN = frozenset({"", CallStatus.QUEUED, CallStatus.RUNNING, CallStatus.WAITING, CallStatus.AWAITING_DECISION})


def settled(status: str) -> bool:
    """Whether a call with this status is over. Statuses we do not know are a host's own final ones (JU-02)."""
    return status not in _OPEN


class Handover(StrEnum):
    """Who advances a call other than the runtime."""

    NONE = ""
    AWAIT = "await"
    DETACHED = "detached"
    SUBMITTED = "submitted"


class CompletionSource(StrEnum):
    """What ended a run with a structured value."""

    TOOL = "tool"
    GUARD = "guard"
    FALLBACK = "fallback"


class PlanStatus(StrEnum):
    """The state of one entry of the task list."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@frozen
class PlanTask:
    """One entry of the task list that a run shows."""

    id: str
    subject: str
    status: PlanStatus = PlanStatus.PENDING
    active_form: str = ""


@frozen
class MediaRef:
    """Media that the host stores; records hold the reference, never the bytes. ``size`` is in bytes."""

    key: str
    mime: str
    size: int = 0
    sha256: str = ""


@frozen
class CallCompletion:
    """The value a completion tool returned: a copy kept with the call, as JSON text."""

    value: str
    fixed: bool = False


@frozen
class CallDecision:
    """What a person decided about a paused call (decision 17). The zero value is a rejection without a reason.

    ``digest`` binds the decision to the arguments it was made on; ``arguments`` replace them; ``result`` settles the
    call as given by the reviewer; ``by`` names the reviewer; ``expires_at`` is in milliseconds since the epoch.
    """

    approved: bool = False
    reason: str = ""
    arguments: str = ""
    digest: str = ""
    result: str | None = None
    expires_at: int | None = None
    by: str = ""


@region
class ToolCall:
    """The record of one tool call; every write of it is a full snapshot with a higher ``rev``.

    ``id`` is ours, ``call_id`` the provider's. ``parent_id`` is set on a sub-agent's calls. ``payload`` is JSON text,
    ``parts`` the structured result as JSON text, ``digest`` the digest of the arguments; times are in milliseconds
    since the epoch.
    """

    id: str
    status: str
    rev: int = 0
    parent_id: str = ""
    model_call_id: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    digest: str = ""
    replayable: bool = False
    side_effects: bool = False
    notes: Mapping[str, str] = NO_NOTES
    result: str | None = None
    error: str | None = None
    parts: str | None = None
    media: tuple[MediaRef, ...] = ()
    started_at: int | None = None
    completed_at: int | None = None
    expires_at: int | None = None
    completion: CallCompletion | None = None
    handover: Handover = Handover.NONE
    payload: str = ""
    decision: CallDecision | None = None

    @property
    def settled(self) -> bool:
        """Whether the call has a final outcome."""
        return settled(self.status)


class Wait(StrEnum):
    """What a call waits for that only somebody outside the run can give.

    ``DECISION``: a person's, on a call that is paused. ``RESULT``: of a call that its run awaits. Both hold the run up.
    ``OUTSTANDING``: the result of a call that was submitted or detached; its run went on. ``REVIEW``: somebody has to
    find out what a call did that was cut off.
    """

    DECISION = "decision"
    RESULT = "result"
    OUTSTANDING = "outstanding"
    REVIEW = "review"

    @property
    def holds_up(self) -> bool:
        """Whether the run stays suspended for it."""
        return self in (Wait.DECISION, Wait.RESULT)


def waits_for(call: ToolCall) -> Wait | None:
    """What the call waits for, if for anybody. One that is decided waits for nobody: its run can carry that out."""
    if call.status == CallStatus.NEEDS_REVIEW:
        return Wait.REVIEW
    if call.settled:
        return None
    if call.handover is not Handover.NONE:
        return Wait.RESULT if call.handover is Handover.AWAIT else Wait.OUTSTANDING
    return Wait.DECISION if call.status == CallStatus.AWAITING_DECISION and call.decision is None else None


@frozen
class Block:
    """One piece of a run's process, in the order the model produced it; ``position`` counts from 1.

    A ``tool_call`` block links to its call by ``call_id`` (our record id); the call itself is stored once, beside it.
    """

    id: str
    position: int
    model_call_id: str
    kind: BlockKind
    text: str = ""
    call_id: str = ""
    standing: Standing | None = None


@frozen
class Completion:
    """A structured result that ends a run: ``value`` is JSON text, ``call_id`` the record of the completion call."""

    source: CompletionSource
    value: str
    fixed: bool = False
    call_id: str = ""
    reason: str = ""


class InvalidCall(ValueError):
    """A call record that no journal may store."""


def validate_call(call: ToolCall) -> ToolCall:
    """The call itself, if it can be stored; raises ``InvalidCall`` when it has no id or no status."""
    if not call.id:
        raise InvalidCall("a call record without an id cannot be stored")
    if not call.status:
        raise InvalidCall(f"the call record {call.id} has no status")
    return call
