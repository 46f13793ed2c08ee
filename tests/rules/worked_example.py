"""One turn with one tool call, as (event → effects), for ARCHITECTURE.md. It is run, so it cannot go stale."""

from collections.abc import Iterator

from turnfold.core.run import Fold, RunSpec, rules_for
from turnfold.effects.clock import WakeAt
from turnfold.effects.feed import (
    Claim,
    ClaimInput,
    FeedPolled,
    FeedWatched,
    InputClaimed,
    InputMessage,
    PollFeed,
    WatchFeed,
)
from turnfold.effects.journal import (
    AttemptBegun,
    AttemptEnded,
    BeginAttempt,
    Begun,
    CallSaved,
    EndAttempt,
    Resume,
    SaveCall,
    SaveStep,
    StepSaved,
)
from turnfold.effects.lifecycle import Publish, RunEnded, RunStarted
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    Delta,
    DeltaKind,
    ModelStreamed,
    StreamFinished,
)
from turnfold.effects.tool import RunTool, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import StopReason, ToolDeclaration
from turnfold.effects.vocabulary import Effect, Event

__all__ = ["worked_example"]

ANSWERS: tuple[tuple[Delta, ...], ...] = (
    (
        BlockStarted(0, DeltaKind.CALL, "call_1", "weather"),
        BlockDelta(0, '{"city": "Bergen"}'),
        StreamFinished(StopReason.TOOL_USE),
    ),
    (BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "It rains in Bergen."), StreamFinished()),
)


def worked_example() -> str:
    """The table: each event, what is owed after it, and why."""
    fold = Fold(rules_for(RunSpec("example", tools=(ToolSpec(ToolDeclaration("weather"), replayable=True),))))
    state = fold.start()
    answers = iter(ANSWERS)
    waiting: list[Event] = [RunStarted(at=0, seed=b"example")]
    lines = ["| event | what is owed after it |", "|---|---|"]
    while waiting:
        event = waiting.pop(0)
        state, effects = fold.reduce(state, event)
        told = [_told(effect) for effect in effects if not isinstance(effect, WakeAt)]
        lines.append(f"| {_told(event)} | {', '.join(told) or '–'} |")
        waiting += [answer for effect in effects if (answer := _answer(effect, answers)) is not None]
    return "\n".join(lines)


def _answer(effect: Effect, answers: Iterator[tuple[Delta, ...]]) -> Event | None:
    match effect:
        case BeginAttempt(ticket=ticket):
            return AttemptBegun(1, ticket, Begun(1, Resume()))
        case WatchFeed(ticket=ticket):
            return FeedWatched(1, ticket)
        case PollFeed(ticket=ticket, after=after):
            return FeedPolled(1, ticket, 0 if after else 1)
        case ClaimInput(ticket=ticket):
            return InputClaimed(1, ticket, Claim((InputMessage("How is the weather in Bergen?", "m1"),), 1))
        case CallModel(ticket=ticket):
            return ModelStreamed(1, ticket, next(answers))
        case SaveStep(ticket=ticket):
            return StepSaved(1, ticket)
        case SaveCall(ticket=ticket, call=call):
            return CallSaved(1, ticket, call)
        case RunTool(ticket=ticket):
            return ToolReturned(1, ticket, ToolResult("rain"))
        case EndAttempt(ticket=ticket):
            return AttemptEnded(1, ticket)
        case _:
            return None


def _told(item: Event | Effect) -> str:
    name = f"`{type(item).__name__}`"
    match item:
        case InputClaimed(claim=claim):
            return f"{name} “{claim.messages[0].content}”"
        case ModelStreamed(deltas=deltas):
            return f"{name} {', '.join(type(delta).__name__ for delta in deltas)}"
        case CallModel(request=request):
            return f"{name} with {len(request.context)} message{'s' if len(request.context) > 1 else ''}"
        case SaveStep(step=step):
            carried = [f"log +{len(change.append)}" for log, change in step.logs.items() if log == "main"]
            carried += [f"{len(step.changes.calls)} call" for _ in step.changes.calls[:1]]
            carried += ["the outcome" for _ in [step.outcome] if step.outcome is not None]
            return f"{name} ({', '.join(carried)})"
        case SaveCall(call=call) | CallSaved(call=call):
            return f"{name} {call.status}"
        case RunTool(invocation=invocation):
            return f"{name} {invocation.name}"
        case ToolReturned(result=result):
            return f"{name} “{result.content}”"
        case Publish(operations=operations):
            return f"{name} {', '.join(type(operation).__name__ for operation in operations)}"
        case RunEnded(result=result):
            return f"{name} “{result.text}”"
        case _:
            return name
