"""From an order to a port and back to an event, in plain async/await: no framework is named here.

Every exception of a port becomes the event that says so; the framework's own cancellation passes through. Nothing here
is a rule of a run: the only branches are which port, and which of its answers.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Protocol, TypeVar

from ..effects.feed import Claim, ClaimInput, Feed, FeedFailed, FeedPolled, InputClaimed, PollFeed
from ..effects.journal import (
    AttemptBegun,
    AttemptEnded,
    AttemptRefused,
    AttemptStale,
    BeginAttempt,
    Begun,
    CallRefused,
    CallRejected,
    CallSaved,
    EndAttempt,
    Journal,
    JournalFailed,
    LeaseRenewed,
    RenewLease,
    RunBusy,
    SaveCall,
    SaveStep,
    StaleAttempt,
    StepSaved,
)
from ..effects.model import CallModel, Delta, ModelBroke, ModelPort, StreamFailed, StreamFinished
from ..effects.question import (
    AskGuard,
    AskPolicy,
    AskReconcile,
    CallPolicy,
    Guard,
    NeverHappened,
    OutcomeUnknown,
    Policy,
    PolicyGiven,
    QuestionFailed,
    Reconcile,
    Reconciled,
    Verdict,
    VerdictGiven,
)
from ..effects.record import ToolCall
from ..effects.tool import (
    Control,
    RunTool,
    Tool,
    ToolControlled,
    ToolFailed,
    ToolProgressed,
    ToolResult,
    ToolReturned,
)
from ..effects.values import frozen
from ..effects.vocabulary import Event

__all__ = [
    "BATCH",
    "FeedOrder",
    "Inbox",
    "JournalOrder",
    "Ports",
    "Question",
    "Tool",
    "explain",
    "perform_feed",
    "perform_journal",
    "perform_question",
    "perform_tool",
    "stream_model",
]

T = TypeVar("T")

BATCH = 512
"""How many deltas may wait for the fold before the model's stream is held back."""

JournalOrder = BeginAttempt | RenewLease | EndAttempt | SaveStep | SaveCall
FeedOrder = PollFeed | ClaimInput
Question = AskPolicy | AskReconcile | AskGuard


@frozen
class Ports:
    """What one run is connected to. ``now`` gives wall time in milliseconds, which never goes back in an execution.

    ``policies`` and ``reconcilers`` are by tool, and with ``guard`` asked only where the run's set-up says so.
    """

    journal: Journal
    feed: Feed
    model: ModelPort
    tools: Mapping[str, Tool]
    now: Callable[[], int]
    policies: Mapping[str, Policy] = {}
    reconcilers: Mapping[str, Reconcile] = {}
    guard: Guard | None = None


class Inbox(Protocol):
    """Where answers go. Deltas of a model call wait in one buffer, so that a batch is what came since the last one."""

    def put(self, event: Event) -> None:
        """Hand in an event."""
        ...

    def put_deltas(self, ticket: int, buffer: list[Delta]) -> None:
        """Say that a buffer has become non-empty; it is emptied when its batch is made."""
        ...

    async def drained(self, buffer: list[Delta]) -> None:
        """Return when the buffer has been emptied."""
        ...


async def perform_journal(order: JournalOrder, journal: Journal, now: Callable[[], int]) -> Event:
    """Carry out one order to the journal."""
    ticket = order.ticket
    try:
        match order:
            case SaveCall(attempt=attempt, call=call):
                saved = await journal.save_call(attempt, call)
                return CallSaved(now(), ticket, _given(ToolCall, saved))
            case SaveStep(attempt=attempt, step=step):
                await journal.save_step(attempt, step)
                return StepSaved(now(), ticket)
            case RenewLease(attempt=attempt, lease_ms=lease_ms):
                await journal.renew(attempt, lease_ms)
                return LeaseRenewed(now(), ticket)
            case BeginAttempt(lease_ms=lease_ms, take_over=take_over):
                begun = await journal.begin(lease_ms, take_over)
                return AttemptBegun(now(), ticket, _given(Begun, begun))
            case EndAttempt(attempt=attempt):
                await journal.end(attempt)
                return AttemptEnded(now(), ticket)
    except StaleAttempt:
        return AttemptStale(now(), ticket)
    except RunBusy as busy:
        return AttemptRefused(now(), ticket, busy.until)
    except Exception as error:
        rejection = CallRejected.within(error) if isinstance(order, SaveCall) else None
        if rejection is not None:
            return CallRefused(now(), ticket, rejection.reason)
        return JournalFailed(now(), ticket, explain(error))


async def perform_feed(order: FeedOrder, feed: Feed, now: Callable[[], int]) -> Event:
    """Carry out one question to the feed."""
    try:
        match order:
            case PollFeed(after=after):
                latest = await feed.pending(after)
                return FeedPolled(now(), order.ticket, _given(int, latest))
            case ClaimInput(after=after, through=through):
                claim = await feed.claim(after, through)
                return InputClaimed(now(), order.ticket, _given(Claim, claim))
    except Exception as error:
        return FeedFailed(now(), order.ticket, explain(error))


async def stream_model(order: CallModel, model: ModelPort, inbox: Inbox, now: Callable[[], int]) -> None:
    """Ask the model; its deltas go to the inbox as they come, the terminal one last, once the stream is closed."""
    ticket = order.ticket
    buffer: list[Delta] = []
    append = buffer.append
    terminal: StreamFinished | StreamFailed | None = None
    problem = "the stream ended without a terminal delta"
    try:
        deltas = model.stream(order.request)
        try:
            async for delta in deltas:
                if isinstance(delta, StreamFinished | StreamFailed):
                    terminal = delta
                    break
                append(delta)
                if len(buffer) == 1:
                    inbox.put_deltas(ticket, buffer)
                elif len(buffer) >= BATCH:
                    await inbox.drained(buffer)
        finally:
            await _close(deltas)
    except Exception as error:
        problem = explain(error)
    if terminal is None:
        inbox.put(ModelBroke(now(), ticket, problem))
        return
    append(terminal)
    if len(buffer) == 1:
        inbox.put_deltas(ticket, buffer)


async def _close(deltas: AsyncIterator[Delta]) -> None:
    """Let a generator give back what it holds now, not when it is collected."""
    if isinstance(deltas, AsyncGenerator):
        await deltas.aclose()


async def perform_tool(order: RunTool, tools: Mapping[str, Tool], inbox: Inbox, now: Callable[[], int]) -> Event:
    """Carry out one call. Progress that is reported after its end is nobody's business any more."""
    over = False

    async def progress(update: ToolResult) -> None:
        if not over:
            inbox.put(ToolProgressed(now(), order.ticket, _given(ToolResult, update)))

    try:
        result = await tools[order.invocation.name].run(order.invocation, progress)
        if isinstance(result, Control):
            return ToolControlled(now(), order.ticket, result)
        return ToolReturned(now(), order.ticket, _given(ToolResult, result))
    except Exception as error:
        return ToolFailed(now(), order.ticket, str(error) or type(error).__name__)
    finally:
        over = True


async def perform_question(question: Question, ports: Ports) -> Event:
    """Carry out one question to the host. What it raises is the answer."""
    ticket, now = question.ticket, ports.now
    try:
        match question:
            case AskPolicy(invocation=invocation):
                policy = await ports.policies[invocation.name](invocation)
                return PolicyGiven(now(), ticket, CallPolicy() if policy is None else _given(CallPolicy, policy))
            case AskReconcile(invocation=invocation):
                finding = await ports.reconcilers[invocation.name](invocation)
                kind = type(finding) if isinstance(finding, NeverHappened | OutcomeUnknown) else ToolResult
                return Reconciled(now(), ticket, _given(kind, finding))
            case AskGuard(view=view):
                assert ports.guard is not None
                return VerdictGiven(now(), ticket, _given(Verdict, await ports.guard.review(view)))
    except Exception as error:
        return QuestionFailed(now(), ticket, str(error) or type(error).__name__)


def _given(wanted: type[T], value: T) -> T:
    """The value, if a host's port gave what it promised: the fold must not stumble over anything else."""
    if not isinstance(value, wanted):
        raise TypeError(f"expected {wanted.__name__}, got {type(value).__name__}")
    return value


def explain(error: Exception) -> str:
    """An exception as one line for people: its text, and its class where the text alone would say little."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
