"""What may happen around a run: the host writes what it knows of calls, and people decide those that are paused.

Everything goes through the store, which may refuse it; then nothing changes.
"""

from collections.abc import Iterator

from ...effects.journal import CallUpdate
from ...effects.outcome import Completed, Delivered
from ...effects.record import CallDecision, CallStatus, Handover, ToolCall
from ...effects.values import replace
from .scenario import Trouble
from .world import World

__all__ = ["Happening", "approve", "around", "is_paused", "settle_call"]

Happening = tuple[str, CallUpdate | None]
"""What may happen, in words, and what the host writes then (nothing: it passes on what was delivered)."""

EDITED = '{"edited": 1}'
"""What a reviewer puts in the place of a call's arguments."""


def around(world: World) -> Iterator[Happening]:
    """Everything that the host, and people, may do now."""
    troubles = world.scenario.troubles
    for call in world.stored.calls.values():
        if Trouble.HOST in troubles:
            yield from _with_call(world, call)
        if Trouble.DECIDE in troubles and (is_paused(call) or call.decision is not None):
            yield from _decisions(world, call)
    outcome = world.stored.outcome
    consumed = world.conversation.consumed
    if Trouble.HOST in troubles and isinstance(outcome, Delivered | Completed) and outcome.boundary > consumed:
        yield "the host consumes", None


def _with_call(world: World, call: ToolCall) -> Iterator[Happening]:
    if call.settled:
        if world.witness.calls.is_hosted(call.id):
            yield f"the host settles again ({call.status})", _repeated(call, world.now)
        return
    for status in (CallStatus.SUCCEEDED, CallStatus.FAILED):
        yield f"the host settles ({status})", _outcome(call, status, world.now)
    if not call.handover:
        waits = CallUpdate(call.id, status=CallStatus.WAITING, handover=Handover.AWAIT)
        yield "the host takes (await)", waits
        yield "the host takes (detached)", CallUpdate(call.id, result="a receipt", handover=Handover.DETACHED)


def _outcome(call: ToolCall, status: CallStatus, now: int) -> CallUpdate:
    well = status is CallStatus.SUCCEEDED
    return CallUpdate(
        call.id,
        status=status,
        result="the host's result" if well else None,
        error=None if well else "the host's error",
        completed_at=now,
    )


def _repeated(call: ToolCall, now: int) -> CallUpdate:
    """The same news once more, later."""
    return CallUpdate(call.id, status=call.status, result=call.result, error=call.error, completed_at=now)


def settle_call(world: World, call: ToolCall) -> None:
    """The host settles a call."""
    world.host_writes(_outcome(call, CallStatus.SUCCEEDED, world.now), "the host settles (succeeded)")


# --- people


def is_paused(call: ToolCall) -> bool:
    """Whether the call waits for somebody to decide, or has a decision that was not carried out."""
    return call.status == CallStatus.AWAITING_DECISION and not call.handover


def approve(world: World, call: ToolCall) -> None:
    """Somebody lets a paused call run."""
    world.host_writes(CallUpdate(call.id, decision=CallDecision(True, digest=call.digest)), "somebody approves")


def _decisions(world: World, call: ToolCall) -> Iterator[Happening]:
    """The first decision counts; any other is refused, as is one that comes too late or is about something else."""
    digest = call.digest
    decisions = {
        "approves": CallDecision(True, digest=digest, by="ada"),
        "approves with changes": CallDecision(True, arguments=EDITED, digest=digest),
        "approves with bad changes": CallDecision(True, arguments="[1]", digest=digest),
        "approves for a moment": CallDecision(True, expires_at=world.now + 3),
        "rejects": CallDecision(reason="too dear", digest=digest),
        "gives a result": CallDecision(True, result="the reviewer's result"),
        "approves other arguments": CallDecision(True, digest="of something else"),
    }
    if call.decision is not None:
        yield "somebody decides the same again", CallUpdate(call.id, decision=call.decision)
        yield "somebody decides otherwise", CallUpdate(call.id, decision=replace(call.decision, by="eve", reason="no"))
        return
    for words, decision in decisions.items():
        yield f"somebody {words}", CallUpdate(call.id, decision=decision)
