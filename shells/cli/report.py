"""Stored runs in words and as JSON: what ``runs``, ``show`` and the demonstration have in common."""

from collections.abc import Mapping
from typing import Any, cast

import attrs
import msgspec

from ...adapters.stores import RunSummary
from ...effects.codec import to_data
from ...effects.journal import Resume
from ...effects.outcome import Completed, Delivered, Failed, Outcome, Suspended
from ...effects.record import CallStatus, ToolCall
from ...effects.transcript import Usage
from .style import clean, clock_time, duration, shortened

__all__ = ["arguments_text", "json_text", "outcome_text", "result_text", "run_data", "state_of", "status_text",
           "summary_data", "took", "usage_text"]  # fmt: skip


def state_of(summary: RunSummary) -> str:
    """How a run stands, in a few words; what needs a person comes with it."""
    words = [_state(summary)]
    if summary.needs_review:
        words.append(f"{summary.needs_review} to review")
    if summary.waiting:
        words.append(f"{summary.waiting} waiting")
    return ", ".join(words)


def _state(summary: RunSummary) -> str:
    if summary.lease_until is not None:
        until = clock_time(summary.lease_until)
        return f"running (held until {until})" if summary.held else "interrupted"
    match summary.outcome:
        case None:
            return "not begun" if not summary.attempt else "unfinished"
        case Delivered():
            return "answered"
        case Completed():
            return "completed"
        case Suspended():
            return "waits"
        case Failed(kind=kind):
            return f"failed: {kind.replace('_', ' ')}"


def outcome_text(outcome: Outcome | None) -> str:
    """An outcome for people: an answer as it is, everything else on one line."""
    match outcome:
        case None:
            return "none yet"
        case Delivered(text=text):
            return clean(text)
        case Completed(completion=completion):
            return f"completed with {shortened(completion.value, 400)}"
        case Suspended(waits_for=waits_for):
            return f"waits for {', '.join(waits_for)}"
        case Failed(kind=kind, message=message):
            return f"failed ({kind.replace('_', ' ')}): {shortened(message, 400)}"


def status_text(call: ToolCall) -> str:
    """A call's status as words."""
    return clean(call.status).replace("_", " ")


def took(call: ToolCall) -> str:
    """How long a call took, where it came to an end of its own."""
    if call.started_at is None or call.completed_at is None or call.status in _CUT_OFF:
        return ""
    return duration(call.completed_at - call.started_at)


_CUT_OFF = (CallStatus.INTERRUPTED, CallStatus.NEEDS_REVIEW)


def arguments_text(call: ToolCall, limit: int) -> str:
    """The arguments as a call of a function would show them."""
    try:
        found = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, UnicodeError):
        return shortened(call.arguments, limit)
    if not isinstance(found, dict):
        return shortened(call.arguments, limit)
    named = cast("Mapping[str, Any]", found)
    return shortened(", ".join(f"{name}={_written(value)}" for name, value in named.items()), limit)


def _written(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def result_text(call: ToolCall, limit: int) -> str:
    """What a call gave, or why not, on one line."""
    return shortened(call.error or call.result or "", limit)


def usage_text(usage: Usage) -> str:
    """Tokens, in total and by part."""
    parts = (("input", usage.input), ("cached", usage.cache_read), ("to cache", usage.cache_write))
    said = [f"{name} {count}" for name, count in (*parts, ("output", usage.output)) if count]
    return f"{usage.total} tokens" + (f" ({', '.join(said)})" if said else "")


def json_text(value: Any) -> str:
    """JSON for people and programs: indented, and safe to print."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def summary_data(summary: RunSummary) -> dict[str, Any]:
    """A run of a listing as JSON-ready data, with every member whatever its value."""
    outcome = None if summary.outcome is None else to_data(summary.outcome, Outcome)
    return {**attrs.asdict(summary), "outcome": outcome, "state": state_of(summary)}


def run_data(summary: RunSummary, resume: Resume, with_arguments: bool) -> dict[str, Any]:
    """All of a run as JSON-ready data, but for its checkpoint."""
    return {
        **summary_data(summary),
        "usage": {**attrs.asdict(resume.usage), "total": resume.usage.total},
        "plan": [attrs.asdict(task) for task in resume.plan],
        "blocks": [attrs.asdict(block) for block in resume.blocks],
        "calls": [_call_data(call, with_arguments) for call in resume.calls],
    }


def _call_data(call: ToolCall, with_arguments: bool) -> dict[str, Any]:
    data = attrs.asdict(call)
    if not with_arguments:
        del data["arguments"]
    return data
