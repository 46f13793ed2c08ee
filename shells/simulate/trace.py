"""What happened in a world, as text that a person reads: one line for each event with what was asked then.

Ids are shortened to ``#1``, ``#2`` … in the order in which they appear; what viewers are shown is left out. A trace is
recorded as values and rendered only when somebody looks, since nearly nobody ever does.
"""

import re
from hashlib import blake2b

from ...effects.clock import WakeAt
from ...effects.codec import encode_effect, encode_event
from ...effects.feed import ClaimInput, FeedFailed, FeedPolled, InputClaimed, PollFeed
from ...effects.journal import (
    AttemptBegun,
    AttemptRefused,
    CallRefused,
    CallSaved,
    JournalFailed,
    SaveCall,
    SaveStep,
    Step,
)
from ...effects.lifecycle import CancelAsked, Publish, RunEnded, RunResult, RunStarted
from ...effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    Delta,
    DeltaKind,
    ModelBroke,
    ModelStreamed,
    StreamFailed,
    StreamFinished,
)
from ...effects.outcome import Completed, Delivered, Failed, Outcome, Suspended
from ...effects.question import (
    AskPolicy,
    AskReconcile,
    CallPolicy,
    PolicyGiven,
    QuestionFailed,
    Reconciled,
    VerdictGiven,
)
from ...effects.record import ToolCall
from ...effects.tool import RunTool, ToolControlled, ToolFailed
from ...effects.values import frozen
from ...effects.vocabulary import Effect, Event

__all__ = ["Line", "Trace", "describe_effect", "describe_event"]

LONGEST = 200
"""How many lines a trace is rendered with at most; of a longer one the middle is left out."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@frozen
class Line:
    """One thing that happened: an event of an executor, by number, or something outside (executor 0) in words."""

    executor: int
    event: Event | str
    effects: tuple[Effect, ...] = ()


def _written(event: Event) -> bytes:
    """The event as it is written, or shown where a host gave what JSON cannot hold."""
    try:
        return encode_event(event)
    except TypeError:
        return repr(event).encode()


class Trace:
    """Everything that happened in a world, in order."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def add(self, executor: int, event: Event | str, effects: tuple[Effect, ...] = ()) -> None:
        """Record one thing."""
        self.lines.append(Line(executor, event, effects))

    def digest(self) -> str:
        """A digest of all events and effects as they are written: two runs that agree in it agree in every byte."""
        digest = blake2b(digest_size=16)
        for line in self.lines:
            digest.update(line.event.encode() if isinstance(line.event, str) else _written(line.event))
            for effect in line.effects:
                digest.update(encode_effect(effect))
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.lines)

    def __str__(self) -> str:
        names: dict[str, str] = {}
        lines = [f"{number:>3} {_line(line)}" for number, line in enumerate(self.lines, 1)]
        if len(lines) > LONGEST:
            half = LONGEST // 2
            lines[half:-half] = [f"... {len(lines) - 2 * half} more ..."]
        return _ID.sub(lambda match: names.setdefault(match[0], f"#{len(names) + 1}"), "\n".join(lines))


def _line(line: Line) -> str:
    if isinstance(line.event, str):
        return f"--- {line.event}"
    asked = [text for text in map(describe_effect, line.effects) if text]
    return f"[{line.executor}] {describe_event(line.event)}" + (f"  =>  {', '.join(asked)}" if asked else "")


def describe_event(event: Event) -> str:
    """An event in a few words."""
    ticket = getattr(event, "ticket", None)
    name = type(event).__name__ if ticket is None else f"{type(event).__name__} t{ticket}"
    more = _told(event)
    return f"{name} {more}" if more else name


def _told(event: Event) -> str:
    match event:
        case RunStarted(take_over=True):
            return "taking over"
        case CancelAsked(reason=reason):
            return reason
        case AttemptBegun(begun=begun):
            entries = len(begun.resume.logs.get("main", ()))
            return f"attempt {begun.attempt}, {entries} entries" + _ending(begun.resume.outcome)
        case AttemptRefused(until=until):
            return f"until {until}"
        case CallSaved(call=call):
            return _call(call)
        case CallRefused(reason=text) | JournalFailed(message=text) | FeedFailed(message=text):
            return text
        case ModelBroke(message=text) | ToolFailed(message=text) | QuestionFailed(message=text):
            return text
        case ToolControlled(control=said) | Reconciled(finding=said):
            return _words(type(said).__name__)
        case VerdictGiven(verdict=verdict):
            return _words(type(verdict.ruling).__name__)
        case PolicyGiven(policy=policy):
            return _policy(policy)
        case FeedPolled(latest=latest):
            return f"latest {latest}"
        case InputClaimed(claim=claim):
            return f"{len(claim.messages)} messages up to {claim.boundary}"
        case ModelStreamed(deltas=deltas):
            return _deltas(deltas)
        case _:
            return ""


def _words(name: str) -> str:
    """The name of a class as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _policy(policy: CallPolicy) -> str:
    asked = [_words(type(one).__name__) for one in (policy.submit, policy.confirm) if one is not None]
    return " and ".join(asked) or "run"


def describe_effect(effect: Effect) -> str:
    """An effect in a few words; empty for what only viewers see."""
    match effect:
        case Publish():
            return ""
        case RunEnded(result=result):
            return f"RunEnded {_result(result)}"
        case WakeAt(at=at):
            return f"WakeAt {at}"
        case _:
            return f"{type(effect).__name__} t{effect.ticket}{_asked(effect)}"


def _asked(effect: Effect) -> str:
    match effect:
        case SaveStep(step=step):
            return f" ({_step(step)})"
        case SaveCall(call=call):
            return f" {_call(call)}"
        case RunTool(invocation=invocation) | AskPolicy(invocation=invocation) | AskReconcile(invocation=invocation):
            return f" {invocation.name} {invocation.key}"
        case CallModel(request=request):
            return f" of {len(request.context)} messages"
        case ClaimInput(after=after, through=through):
            return f" {after + 1} to {through}"
        case PollFeed(after=after):
            return f" above {after}"
        case _:
            return ""


def _step(step: Step) -> str:
    said: list[str] = []
    for name, change in step.logs.items():
        said.append(f"{name} {change.keep}+{len(change.append)}")
    said += [f"block {block.position} {block.kind.value}" for block in step.changes.blocks]
    said += [_call(call) for call in step.changes.calls]
    said += [f"without {gone}" for gone in (*step.changes.removed_blocks, *step.changes.removed_calls)]
    return ", ".join(said or ["nothing new"]) + _ending(step.outcome)


def _call(call: ToolCall) -> str:
    handover = f" {call.handover.value}" if call.handover else ""
    return f"{call.id} {call.status}{handover} rev {call.rev}"


def _deltas(deltas: tuple[Delta, ...]) -> str:
    said: list[str] = []
    for delta in deltas:
        match delta:
            case BlockStarted(kind=DeltaKind.CALL, name=name):
                said.append(f"call {name}")
            case BlockDelta(text=text):
                said.append(repr(text))
            case StreamFinished(stop=stop):
                said.append(stop.value)
            case StreamFailed(error=error):
                said.append(f"failed: {error.kind.value}")
            case _:
                continue
    return " ".join(said)


def _ending(outcome: Outcome | None) -> str:
    return "" if outcome is None else f", outcome {_outcome(outcome)}"


def _result(result: RunResult) -> str:
    if result.busy_until is not None:
        return f"busy until {result.busy_until}"
    return _outcome(result.outcome) if result.outcome is not None else "without outcome"


def _outcome(outcome: Outcome) -> str:
    match outcome:
        case Delivered(text=text, boundary=boundary):
            return f"{text!r} at {boundary}"
        case Completed(completion=completion, boundary=boundary):
            return f"{completion.value} at {boundary}"
        case Suspended(waits_for=waits_for, boundary=boundary):
            return f"waiting for {' '.join(waits_for)} at {boundary}"
        case Failed(kind=kind, message=message, boundary=boundary):
            return f"failed {kind.value}: {message} at {boundary}"
