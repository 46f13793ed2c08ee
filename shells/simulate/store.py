"""The store of a simulated world, as a value: what ``effects.journal`` means, and nothing else.

Every function here takes the store as it is and gives the store as it is afterwards, so a world can look at both. It
is stricter than a real store: what no sound executor ever writes is a ``BadWrite``, which the simulator reports.
"""

from collections.abc import Iterable, Mapping

from ...effects.feed import Claim, InputMessage
from ...effects.journal import CallUpdate, Resume, Step, merge_call, overlay_external
from ...effects.outcome import Outcome
from ...effects.record import Block, CallStatus, Completion, PlanTask, ToolCall, validate_call
from ...effects.transcript import ZERO_USAGE, Usage
from ...effects.values import frozen, replace

__all__ = [
    "BadWrite",
    "Conversation",
    "Stored",
    "begin",
    "claim",
    "give_back",
    "host_writes",
    "load",
    "pending",
    "renew",
]
__all__ += ["save_call", "save_step"]


class BadWrite(Exception):
    """A write that no sound executor ever makes."""


@frozen
class Stored:
    """All that is stored of the run."""

    attempt: int = 0
    lease_until: int | None = None
    state: bytes | None = None
    logs: Mapping[str, tuple[bytes, ...]] = {}
    values: Mapping[str, bytes] = {}
    blocks: Mapping[str, Block] = {}
    calls: Mapping[str, ToolCall] = {}
    plan: tuple[PlanTask, ...] = ()
    usage: Usage = ZERO_USAGE
    completion: Completion | None = None
    outcome: Outcome | None = None


def begin(stored: Stored, now: int, lease_ms: int, take_over: bool) -> Stored | int:
    """The store with a new attempt, or until when another's lease is live."""
    if stored.lease_until is not None and now < stored.lease_until and not take_over:
        return stored.lease_until
    return replace(stored, attempt=stored.attempt + 1, lease_until=now + lease_ms)


def renew(stored: Stored, attempt: int, now: int, lease_ms: int) -> Stored | None:
    """The store with the lease running anew, or nothing for a stale attempt."""
    return replace(stored, lease_until=now + lease_ms) if attempt == stored.attempt else None


def give_back(stored: Stored, attempt: int) -> Stored | None:
    """The store without a lease, or nothing for a stale attempt."""
    return replace(stored, lease_until=None) if attempt == stored.attempt else None


def save_call(stored: Stored, attempt: int, call: ToolCall) -> Stored | None:
    """The store with the snapshot merged, or nothing for a stale attempt."""
    if attempt != stored.attempt:
        return None
    validate_call(call)
    return _with_calls(stored, (call,))


def save_step(stored: Stored, attempt: int, step: Step) -> Stored | None:
    """The store with the step in it, or nothing for a stale attempt."""
    if attempt != stored.attempt:
        return None
    changes = step.changes
    calls = {key: call for key, call in stored.calls.items() if key not in changes.removed_calls}
    blocks = {key: block for key, block in stored.blocks.items() if key not in changes.removed_blocks}
    kept = _with_calls(replace(stored, calls=calls), changes.calls)
    blocks.update({block.id: block for block in changes.blocks})
    logs = dict(stored.logs)
    for name, change in step.logs.items():
        before = logs.get(name, ())
        if not 0 <= change.keep <= len(before):
            raise BadWrite(f"the step keeps {change.keep} entries of log {name!r}, which has {len(before)}")
        logs[name] = before[: change.keep] + change.append
    values = {**stored.values, **step.values}
    return replace(
        kept,
        state=step.state,
        logs=logs,
        values={name: value for name, value in values.items() if value is not None},
        blocks=blocks,
        plan=stored.plan if step.plan is None else step.plan,
        usage=step.usage,
        completion=step.completion,
        outcome=step.outcome,
    )


def host_writes(stored: Stored, update: CallUpdate, now: int) -> Stored | str:
    """The store after a host's own write, which no attempt fences; or why a decision is refused (decision 17)."""
    call, decision = stored.calls[update.id], update.decision
    if decision is not None and decision != call.decision:
        ends = (decision.expires_at, call.expires_at)
        if call.decision is not None:
            return "it was decided before"
        if call.status != CallStatus.AWAITING_DECISION:
            return "nobody has to decide it"
        if decision.digest not in ("", call.digest):
            return "it has other arguments"
        if any(end is not None and end <= now for end in ends):
            return "it is too late"
    return replace(stored, calls={**stored.calls, update.id: overlay_external(call, update)})


def load(stored: Stored) -> Resume:
    """All of it, as an executor gets it."""
    blocks = tuple(sorted(stored.blocks.values(), key=lambda block: (block.position, block.id)))
    linked = {block.call_id: stored.calls[block.call_id] for block in blocks if block.call_id in stored.calls}
    others = (stored.calls[key] for key in sorted(stored.calls.keys() - linked.keys()))
    return Resume(
        state=stored.state,
        logs=dict(stored.logs),
        values=dict(stored.values),
        blocks=blocks,
        calls=(*linked.values(), *others),
        plan=stored.plan,
        usage=stored.usage,
        completion=stored.completion,
        outcome=stored.outcome,
    )


def _with_calls(stored: Stored, snapshots: Iterable[ToolCall]) -> Stored:
    calls = dict(stored.calls)
    for call in snapshots:
        calls[call.id] = merge_call(calls.get(call.id), call)
    return replace(stored, calls=calls)


# --- the feed


@frozen
class Conversation:
    """The durable input: message i has the sequence number i + 1; those up to ``consumed`` are dealt with."""

    messages: tuple[InputMessage, ...] = ()
    consumed: int = 0


def pending(conversation: Conversation, after: int) -> int:
    """The highest number above ``after`` that can be claimed, or 0."""
    latest = len(conversation.messages)
    return latest if latest > max(after, conversation.consumed) else 0


def claim(conversation: Conversation, after: int, through: int) -> Claim | str:
    """What is above ``after`` and up to ``through``, or why nothing can be claimed."""
    end = min(through, len(conversation.messages))
    if end <= after or end <= conversation.consumed:
        return f"there is nothing to claim above {after} up to {through}"
    return Claim(conversation.messages[max(after, 0) : end], end)
