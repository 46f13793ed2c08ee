"""Stored runs in words and as JSON: what ``runs``, ``show`` and the demonstration have in common."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs
import msgspec

from ...adapters.stores import RunSummary, WaitingCall
from ...core.run.stored import spent_by
from ...effects.codec import to_data
from ...effects.journal import Resume
from ...effects.outcome import Completed, Delivered, Failed, Outcome, Suspended
from ...effects.record import (
    CallDecision,
    CallStatus,
    Completion,
    CompletionSource,
    Handover,
    ToolCall,
    Wait,
    waits_for,
)
from ...effects.spending import NO_SPENDING, Spending, Spent
from ...effects.transcript import DecodeError, Usage
from .style import clean, clock_time, duration, shortened

__all__ = ["CUT_OFF", "arguments_text", "completion_text", "decision_text", "json_text", "model_text", "outcome_text",
           "result_text", "run_data", "spending_of", "state_of", "status_text", "summary_data", "token_counts", "took",
           "usage_text", "waiting_data", "waits_text"]  # fmt: skip

CUT_OFF = "cut off at the output limit; --max-tokens raises it"
"""What to say below an answer that is not complete."""


def state_of(summary: RunSummary) -> str:
    """How a run stands, in a few words; what needs a person comes with it."""
    words = [_state(summary)]
    if summary.needs_review:
        words.append(f"{summary.needs_review} to review")
    if summary.waiting and words[0] != "waits":
        words.append(f"{summary.waiting} waiting")
    elif summary.waiting:
        words[0] = f"waits for {'a call' if summary.waiting == 1 else f'{summary.waiting} calls'}"
    if summary.outstanding:
        words.append(f"{summary.outstanding} outstanding")
    return ", ".join(words)


def _state(summary: RunSummary) -> str:
    if summary.lease_until is not None:
        until = clock_time(summary.lease_until)
        return f"running (held until {until})" if summary.held else "interrupted"
    match summary.outcome:
        case None | Suspended():
            # Waiting is no outcome that is saved: it ends when the calls are there, and nobody has to write that down.
            return "not begun" if not summary.attempt else "waits" if summary.waiting else "can go on"
        case Delivered():
            return "answered"
        case Completed():
            return "completed"
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
            return f"completed {completion_text(completion)}"
        case Suspended():
            return "none yet: it had to wait, and can go on"
        case Failed(kind=kind, message=message):
            return f"failed ({kind.replace('_', ' ')}): {shortened(message, 400)}"


def completion_text(completion: Completion) -> str:
    """Who ended a run with which value, on one line."""
    by = {
        CompletionSource.TOOL: "by a tool",
        CompletionSource.GUARD: "by the guard",
        CompletionSource.FALLBACK: f"by the fallback ({clean(completion.reason).replace('_', ' ')})",
    }[completion.source]
    return f"{by}{', for good,' if completion.fixed else ''} with {shortened(completion.value, 400)}"


def waits_text(calls: Iterable[ToolCall]) -> str:
    """What a run waits for, by the names of its calls; nothing if it does not."""
    words = [
        f"{'a decision on' if wait is Wait.DECISION else 'the result of'} {clean(call.name)}"
        for call in calls
        if (wait := waits_for(call)) is not None and wait.holds_up
    ]
    return f"waits for {', '.join(words)}" if words else ""


def decision_text(decision: CallDecision, limit: int, with_arguments: bool = False) -> str:
    """What a person said about a call, on one line."""
    if decision.result is not None:
        said = f"given the result {shortened(decision.result, limit)}"
    elif not decision.approved:
        said = "rejected"
    elif decision.arguments:
        said = "approved with " + (shortened(decision.arguments, limit) if with_arguments else "other arguments")
    else:
        said = "approved"
    by = f" by {clean(decision.by)}" if decision.by else ""
    return f"{said}{by}" + (f": {shortened(decision.reason, limit)}" if decision.reason else "")


def status_text(call: ToolCall) -> str:
    """A call's status as words. A call that was submitted keeps the status it had; that is not what it waits for."""
    if call.handover is Handover.SUBMITTED and not call.settled:
        return "submitted"
    return clean(call.status).replace("_", " ")


def took(call: ToolCall) -> str:
    """How long a call took, where it came to an end of its own."""
    if call.started_at is None or call.completed_at is None or call.status in _CUT_OFF:
        return ""
    return duration(call.completed_at - call.started_at)


_CUT_OFF = (CallStatus.INTERRUPTED, CallStatus.NEEDS_REVIEW)


def arguments_text(text: str, limit: int) -> str:
    """Arguments as a call of a function would show them."""
    try:
        found = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, UnicodeError):
        return shortened(text, limit)
    if not isinstance(found, dict):
        return shortened(text, limit)
    named = cast("Mapping[str, Any]", found)
    return shortened(", ".join(f"{name}={_written(value)}" for name, value in named.items()), limit)


def _written(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def result_text(call: ToolCall, limit: int) -> str:
    """What a call gave, or why not, on one line."""
    return shortened(call.error or call.result or "", limit)


def usage_text(usage: Usage) -> str:
    """Tokens, in total and by part."""
    total, _, parts = token_counts(usage).partition(" ")
    return f"{total} tokens {parts}".rstrip()


def token_counts(usage: Usage) -> str:
    """The numbers of ``usage_text``, where something else says what they count."""
    parts = (("input", usage.input), ("cached", usage.cache_read), ("to cache", usage.cache_write))
    said = [f"{name} {count}" for name, count in (*parts, ("output", usage.output)) if count]
    return str(usage.total) + (f" ({', '.join(said)})" if said else "")


def json_text(value: Any) -> str:
    """JSON for people and programs: indented, and safe to print."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def summary_data(summary: RunSummary) -> dict[str, Any]:
    """A run of a listing as JSON-ready data, with every member whatever its value."""
    outcome = None if summary.outcome is None else to_data(summary.outcome, Outcome)
    return {**attrs.asdict(summary), "outcome": outcome, "state": state_of(summary)}


def waiting_data(waiting: WaitingCall) -> dict[str, Any]:
    """A call that waits as JSON-ready data, with its arguments."""
    return {**attrs.asdict(waiting), "holds_up": waiting.kind.holds_up}


def run_data(summary: RunSummary, resume: Resume, with_arguments: bool) -> dict[str, Any]:
    """All of a run as JSON-ready data, but for its checkpoint."""
    return {
        **summary_data(summary),
        "usage": _usage_data(resume.usage),
        "spending": [{**attrs.asdict(row), "usage": _usage_data(row.usage)} for row in spending_of(resume).rows],
        "plan": [attrs.asdict(task) for task in resume.plan],
        "blocks": [attrs.asdict(block) for block in resume.blocks],
        "calls": [_call_data(call, with_arguments) for call in resume.calls],
    }


def _usage_data(usage: Usage) -> dict[str, int]:
    return {**attrs.asdict(usage), "total": usage.total}


def spending_of(resume: Resume) -> Spending:
    """What a run has used, by model and purpose; nothing where its checkpoint cannot be read."""
    try:
        return spent_by(resume)
    except DecodeError:
        return NO_SPENDING


def model_text(row: Spent) -> str:
    """Whose tokens they are."""
    name = clean(row.name) or "a model that did not say which"
    return name if row.purpose == "main" else f"{name} ({clean(row.purpose)})"


def _call_data(call: ToolCall, with_arguments: bool) -> dict[str, Any]:
    data = attrs.asdict(call)
    if not with_arguments:
        del data["arguments"]
    return data
