"""What a person can do about a call that waits, as commands that can be pasted."""

from ...adapters.stores import RunSummary
from ...adapters.stores.rules import undecidable
from ...effects.record import CallStatus, ToolCall, Wait, waits_for
from .hints import typed
from .style import clean

__all__ = ["is_ours", "todo"]


def todo(summary: RunSummary, call: ToolCall, now: int) -> tuple[str, ...]:
    """One way to go on a line; nothing where there is nothing to do. ``now`` is in milliseconds since the epoch."""
    call_id, run_id = clean(call.id), clean(summary.run_id)
    go_on = typed("resume", run_id) if is_ours(summary) else "resume the run with the program that made it"
    if undecidable(call, now):
        return go_on, typed("cancel", run_id)
    match waits_for(call):
        case Wait.DECISION:
            return typed("decide", call_id, "--approve"), typed("decide", call_id, "--reject", "REASON")
        case Wait.REVIEW | Wait.RESULT | Wait.OUTSTANDING:
            return typed("settle", call_id, "--result", "TEXT"), typed("settle", call_id, "--error", "TEXT")
        case None:
            decided = call.status == CallStatus.AWAITING_DECISION and call.decision is not None
            return (go_on,) if decided else ()


def is_ours(summary: RunSummary) -> bool:
    """Whether ``turnfold resume`` can go on with a run: only chat and demo know their tools."""
    return summary.meta.get("kind") in ("chat", "demo")
