"""The rules that ``effects.journal`` leaves to a store, as pure functions: every store applies these, none has its own.

First what a host may write (messages, updates of a call, decisions), then what ``begin`` and ``load`` hand out.
"""

from collections.abc import Callable, Iterable
from time import time_ns
from uuid import uuid4

import msgspec

from ...effects.feed import ClaimFailed, InputMessage
from ...effects.journal import CallUpdate, RunBusy, StaleAttempt, overlay_external
from ...effects.record import Block, CallDecision, CallStatus, Handover, ToolCall, Wait, waits_for
from ...effects.transcript import clean_text
from ...effects.values import replace
from .errors import BadLogCut, DecisionRefused, Refusal, TooLarge

__all__ = [
    "MAX_BYTES",
    "MAX_LISTED",
    "Admit",
    "admitted",
    "check_attempt",
    "check_cut",
    "check_lease",
    "check_size",
    "claimed_end",
    "clean_message",
    "clean_update",
    "in_resume_order",
    "listed",
    "overlaid",
    "random_id",
    "undecidable",
    "wall_clock",
]

MAX_BYTES = 64 * 1024 * 1024
"""The largest single value a store takes unless told otherwise, in bytes."""

MAX_LISTED = 1000
"""The most runs, calls or messages that one listing gives."""

Admit = Callable[[str, ToolCall], None]
"""A host's say on a call that is about to be submitted or paused: it gets the run's id and the record, and may raise
``CallRejected``, in which case nothing is stored."""


def wall_clock() -> int:
    """Now, in milliseconds since the epoch."""
    return time_ns() // 1_000_000


def random_id() -> str:
    """An id for a message that comes without one."""
    return str(uuid4())


def clean_message(message: InputMessage, new_id: Callable[[], str]) -> InputMessage:
    """The message as it is kept: with an id, without unpaired surrogates, and sharing no memory with the given one."""
    return replace(
        message,
        id=clean_text(message.id) or new_id(),
        revision=clean_text(message.revision),
        content=clean_text(message.content),
        meta={clean_text(name): clean_text(value) for name, value in message.meta.items()},
    )


def clean_update(update: CallUpdate) -> CallUpdate:
    """The update with its texts fit to be stored (decision 45: cleaned where they enter)."""
    return replace(
        update,
        status=clean_text(update.status),
        result=update.result if update.result is None else clean_text(update.result),
        error=update.error if update.error is None else clean_text(update.error),
        payload=clean_text(update.payload),
        decision=update.decision if update.decision is None else _clean_decision(update.decision),
    )


def _clean_decision(decision: CallDecision) -> CallDecision:
    return replace(
        decision,
        reason=clean_text(decision.reason),
        arguments=clean_text(decision.arguments),
        result=decision.result if decision.result is None else clean_text(decision.result),
        by=clean_text(decision.by),
    )


def overlaid(stored: ToolCall, update: CallUpdate, now: int) -> ToolCall:
    """The record after the host's write. A decision in it is a compare-and-set; raises ``DecisionRefused``."""
    if update.decision is not None:
        _check_decision(stored, update.decision, now)
    return overlay_external(stored, update)


def _check_decision(call: ToolCall, decision: CallDecision, now: int) -> None:
    """Decision 17: used once, bound to the call's arguments, and not for ever. The same one again is no harm."""
    if call.decision is not None:
        if call.decision != decision:
            raise DecisionRefused(call.id, Refusal.ALREADY_DECIDED)
        return
    if call.status != CallStatus.AWAITING_DECISION:
        raise DecisionRefused(call.id, Refusal.NOT_WAITING)
    if decision.digest and decision.digest != call.digest:
        raise DecisionRefused(call.id, Refusal.OTHER_ARGUMENTS)
    if _over(decision.expires_at, now) or _over(call.expires_at, now):
        raise DecisionRefused(call.id, Refusal.EXPIRED)
    if decision.arguments and not _is_object(decision.arguments):
        raise DecisionRefused(call.id, Refusal.BAD_ARGUMENTS)


def _is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def undecidable(call: ToolCall, now: int) -> bool:
    """Whether the time to decide the call is over, if it waits for a decision at all."""
    return waits_for(call) is Wait.DECISION and _over(call.expires_at, now)


def _over(end: int | None, now: int) -> bool:
    return end is not None and end <= now


def admitted(admit: Admit | None, run_id: str, stored: ToolCall | None, merged: ToolCall) -> ToolCall:
    """The merged record, after the host was asked, once, whether it takes a call that now waits for it.

    Raises the host's ``CallRejected``.
    """
    if admit is not None and _is_asking(merged) and not (stored is not None and _is_asking(stored)):
        admit(run_id, merged)
    return merged


def _is_asking(call: ToolCall) -> bool:
    return call.handover is Handover.SUBMITTED or call.status == CallStatus.AWAITING_DECISION


def check_attempt(attempt: int, newest: int) -> None:
    """Only the newest attempt writes (decision 9), lease or no lease; raises ``StaleAttempt``."""
    if attempt != newest or attempt < 1:
        raise StaleAttempt(f"attempt {attempt} may write no more: the newest attempt of this run is {newest}")


def check_lease(lease_until: int | None, now: int, take_over: bool) -> None:
    """Nobody begins while another's lease is live, unless told to take over; raises ``RunBusy``."""
    if lease_until is not None and now < lease_until and not take_over:
        raise RunBusy(lease_until)


def check_cut(log: str, keep: int, length: int) -> None:
    """A log can be cut, not stretched; raises ``BadLogCut``."""
    if not 0 <= keep <= length:
        raise BadLogCut(log, keep, length)


def check_size(what: str, size: int, limit: int) -> None:
    """Raises ``TooLarge`` for more than ``limit`` bytes."""
    if size > limit:
        raise TooLarge(f"{what} has {size} bytes and a store takes {limit}: make it smaller, or store a reference")


def listed(limit: int) -> int:
    """How many rows a listing gives when ``limit`` are wanted."""
    return max(0, min(limit, MAX_LISTED))


def claimed_end(after: int, through: int, latest: int, consumed: int) -> int:
    """The boundary that a claim reaches; raises ``ClaimFailed`` when that is nothing, or nothing new, or consumed."""
    end = min(through, latest)
    if end <= 0:
        raise ClaimFailed("there is no input to claim")
    if end <= consumed:
        raise ClaimFailed(f"the input up to {consumed} was consumed, so {end} cannot be claimed")
    if end <= after:
        raise ClaimFailed(f"there is no input above {after} up to {end}")
    return end


def in_resume_order(blocks: Iterable[Block], calls: dict[str, ToolCall]) -> tuple[ToolCall, ...]:
    """All calls: those of blocks in block order, then the others by id. Empties ``calls``."""
    linked = [calls.pop(block.call_id) for block in blocks if block.call_id in calls]
    return (*linked, *(calls[call_id] for call_id in sorted(calls)))
