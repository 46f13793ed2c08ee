"""How a world carries orders out: its store, its feed, its model and its tools, each in two steps.

First an order is *carried out* (something is stored, a tool begins, the model hears the request), then it is
*answered*. Between the two anything may happen, a crash above all. ``carry_out`` does the first, ``answer`` what is
left of both.
"""

from ...effects.feed import ClaimInput, FeedFailed, FeedPolled, FeedWatched, InputClaimed, PollFeed, WatchFeed
from ...effects.journal import (
    AttemptBegun,
    AttemptEnded,
    AttemptRefused,
    AttemptStale,
    BeginAttempt,
    Begun,
    CallSaved,
    EndAttempt,
    LeaseRenewed,
    RenewLease,
    SaveCall,
    SaveStep,
    StepSaved,
)
from ...effects.model import CallModel, ModelBroke, ModelCutOff, ModelStreamed, StreamFinished
from ...effects.question import AskGuard, AskPolicy, AskReconcile, QuestionCutOff
from ...effects.tool import RunTool, ToolCutOff
from ...effects.transcript import StopReason
from . import store
from .executor import Answer, Executor, JournalOrder, Pending
from .outputs import Output
from .promises import Complaint
from .questions import answer_of, given_by
from .scenario import Behaviour
from .store import BadWrite, Stored
from .world import World

__all__ = ["answer", "behaviour", "carry_out", "hangs", "stream"]


def behaviour(world: World, pending: Pending) -> Behaviour | None:
    """How the tool behaves that an order calls; nothing for any other order."""
    order = pending.order
    if not isinstance(order, RunTool):
        return None
    return world.scenario.behaviours.get(order.invocation.name, Behaviour.RETURNS)


def hangs(world: World, pending: Pending) -> bool:
    """Whether the order is never answered by itself: a subscription in effect, or a tool that hangs until stopped."""
    return pending.open or (not pending.cancelled and behaviour(world, pending) is Behaviour.HANGS)


# --- carrying out


def carry_out(world: World, executor: Executor, pending: Pending) -> None:
    """Do what was ordered, once, and tell nobody yet."""
    if pending.answer is not None or pending.output is not None:
        return
    match pending.order:
        case CallModel() as order:
            pending.output = _hear(world, executor, order)
        case RunTool() as order:
            pending.answer = _begin_tool(world, executor, pending, order)
        case WatchFeed():
            pending.answer = (FeedWatched, ())
        case PollFeed(after=after):
            pending.answer = (FeedPolled, (store.pending(world.conversation, after),))
        case ClaimInput(after=after, through=through):
            claimed = store.claim(world.conversation, after, through)
            pending.answer = (FeedFailed if isinstance(claimed, str) else InputClaimed, (claimed,))
        case BeginAttempt() | RenewLease() | EndAttempt() | SaveStep() | SaveCall() as order:
            pending.answer = _write(world, order)
        case AskPolicy() | AskReconcile() | AskGuard() as order:
            pending.answer = answer_of(world, executor, order)


def _write(world: World, order: JournalOrder) -> Answer:
    try:
        if isinstance(order, BeginAttempt):
            return _begin(world, order)
        after = _stored(world, order)
    except BadWrite as error:
        world.complain(Complaint("a step fits what is stored", str(error)))
    if after is None:
        return AttemptStale, ()
    world.store(after, order.step if isinstance(order, SaveStep) else None)
    match order:
        case RenewLease():
            return LeaseRenewed, ()
        case EndAttempt():
            return AttemptEnded, ()
        case SaveStep():
            return StepSaved, ()
        case SaveCall(call=call):
            return CallSaved, (after.calls[call.id],)


def _begin(world: World, order: BeginAttempt) -> Answer:
    begun = store.begin(world.stored, world.now, order.lease_ms, order.take_over)
    if isinstance(begun, int):
        return AttemptRefused, (begun,)
    world.store(begun)
    return AttemptBegun, (Begun(begun.attempt, store.load(begun)),)


def _stored(world: World, order: RenewLease | EndAttempt | SaveStep | SaveCall) -> Stored | None:
    match order:
        case RenewLease(attempt=attempt, lease_ms=lease_ms):
            return store.renew(world.stored, attempt, world.now, lease_ms)
        case EndAttempt(attempt=attempt):
            return store.give_back(world.stored, attempt)
        case SaveStep(attempt=attempt, step=step):
            return store.save_step(world.stored, attempt, step)
        case SaveCall(attempt=attempt, call=call):
            return store.save_call(world.stored, attempt, call)


def _hear(world: World, executor: Executor, order: CallModel) -> Output:
    try:
        inputs = world.witness.model_is_asked(executor, order, world.conversation.messages, world.stored)
    except Complaint as complaint:
        world.complain(complaint)
    output = world.next_output()
    executor.asked_model += 1
    world.witness.model_answers(order.request, output, inputs)
    return output


def _begin_tool(world: World, executor: Executor, pending: Pending, order: RunTool) -> Answer:
    try:
        world.witness.tool_begins(executor, order)
    except Complaint as complaint:
        world.complain(complaint)
    return given_by(world, order, behaviour(world, pending))


# --- answering


def answer(world: World, executor: Executor, pending: Pending) -> None:
    """Carry an order out, if it was not yet, and give its last answer."""
    order = pending.order
    if isinstance(order, CallModel):
        _answer_model(world, executor, pending)
        return
    if pending.cancelled:
        executor.settled(order.ticket)
        cut_off = ToolCutOff if isinstance(order, RunTool) else QuestionCutOff
        world.deliver(executor, cut_off(world.now, order.ticket))
        return
    carry_out(world, executor, pending)
    assert pending.answer is not None
    if isinstance(order, WatchFeed):
        pending.open = True
    else:
        executor.settled(order.ticket)
    kind, more = pending.answer
    world.deliver(executor, kind(world.now, order.ticket, *more))


def _answer_model(world: World, executor: Executor, pending: Pending) -> None:
    ticket = pending.ticket
    if pending.cancelled:
        executor.settled(ticket)
        world.deliver(executor, ModelCutOff(world.now, ticket))
        return
    stream(world, executor, pending, None)


def stream(world: World, executor: Executor, pending: Pending, count: int | None) -> None:
    """Give the model's next ``count`` deltas (all, if ``None``); a port that breaks off does so after its last."""
    carry_out(world, executor, pending)
    assert pending.output is not None
    ticket, output, sent = pending.ticket, pending.output, pending.sent
    deltas = output.deltas[sent:] if count is None else output.deltas[sent : sent + count]
    pending.sent += len(deltas)
    done = pending.sent == len(output.deltas)
    if done and output.terminal is not None:
        executor.settled(ticket)
        executor.blamed |= _blames(output)
    if deltas:
        world.deliver(executor, ModelStreamed(world.now, ticket, deltas))
    if done and output.terminal is None and ticket in executor.pending:
        executor.settled(ticket)
        world.deliver(executor, ModelBroke(world.now, ticket, "it broke off"))


def _blames(output: Output) -> set[str]:
    terminal = output.terminal
    if not isinstance(terminal, StreamFinished):
        return {"model"}
    if output.wanted:
        return {"calls"}
    if terminal.stop in (StopReason.REFUSAL, StopReason.LENGTH):
        return {"model"}
    return set() if output.text.strip() else {"empty"}
