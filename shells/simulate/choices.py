"""What may happen next in a world, as a list in which the most ordinary comes first.

A schedule is a list of numbers; each picks from the list as it is then, 0 always the most ordinary: the oldest order is
carried out and answered, and when nothing is out, time passes or the next execution begins. What a world's troubles do
not allow is not in its list, so a world without troubles has one future.
"""

from collections.abc import Callable, Iterator
from functools import partial

from ...effects.clock import Woke
from ...effects.feed import ClaimInput, FeedFailed, InputClaimed, WatchFeed
from ...effects.journal import CallRefused, CallUpdate, JournalFailed, SaveCall
from ...effects.model import CallModel, ModelBroke, ModelCutOff, ModelStreamed, StreamFailed
from ...effects.outcome import Delivered
from ...effects.record import CallStatus, Handover, ToolCall
from ...effects.tool import RunTool, ToolFailed, ToolProgressed, ToolResult
from ...effects.transcript import ErrorKind, ModelError
from .executor import Executor, Pending, is_journal_order
from .junk import impossible
from .ports import answer, behaviour, carry_out, hangs, stream
from .scenario import Behaviour, Trouble
from .store import claim
from .world import World

__all__ = ["Choice", "begin_when_free", "choices", "ordinary", "settle_call", "step"]

MAX_EXECUTIONS = 8
"""How many executions a schedule may begin; settling begins as many more as it needs."""

Choice = Callable[[], object]


def step(world: World, number: int) -> bool:
    """Let what ``number`` picks happen; false when nothing may happen any more."""
    world.now += 1
    world.schedule.append(number)
    if number == 0:
        choice = ordinary(world)
    else:
        found = choices(world)
        choice = found[number % len(found)] if found else None
    if choice is None:
        return False
    choice()
    return True


def choices(world: World) -> list[Choice]:
    """Everything that may happen now."""
    found: list[Choice] = []
    first = ordinary(world)
    if first is not None:
        found.append(first)
    if world.calm:
        return found
    for executor in world.alive:
        for pending in list(executor.pending.values()):
            found += _with_order(world, executor, pending)
        found += _with_executor(world, executor)
    found += _outside(world)
    return found


def ordinary(world: World) -> Choice | None:
    """What happens when nothing special does."""
    late: Choice | None = None
    for executor in world.alive:
        for pending in executor.pending.values():
            if hangs(world, pending):
                continue
            if behaviour(world, pending) is not Behaviour.SLOW or pending.cancelled:
                return partial(answer, world, executor, pending)
            late = late or partial(answer, world, executor, pending)
    if late is not None:
        return late
    waking = [executor for executor in world.alive if executor.wake is not None]
    if waking:
        return partial(_wake, world, min(waking, key=lambda executor: executor.wake or 0))
    return _next_execution(world)


def _next_execution(world: World) -> Choice | None:
    """A run that has not begun, died, or has more to say than it said is executed (again)."""
    last = world.last
    if last is not None and (last.alive or (len(world.executors) >= MAX_EXECUTIONS and not world.calm)):
        return None
    outcome = last.result.outcome if last is not None and last.result is not None else None
    if isinstance(outcome, Delivered) and outcome.boundary == len(world.conversation.messages) and not world.calm:
        return None
    return partial(begin_when_free, world)


def begin_when_free(world: World) -> None:
    """A new execution begins, once no other's lease is live."""
    world.now = max(world.now, world.stored.lease_until or 0)
    world.begin()


def _wake(world: World, executor: Executor) -> None:
    world.now = max(world.now, executor.wake or 0)
    _woken(world, executor)


def _woken(world: World, executor: Executor) -> None:
    executor.wake = None
    world.deliver(executor, Woke(world.now))


# --- what may happen to an order


def _with_order(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    troubles, order = world.scenario.troubles, pending.order
    if Trouble.REORDER in troubles and not hangs(world, pending):
        yield partial(answer, world, executor, pending)
    if Trouble.DELAY in troubles and pending.answer is None and pending.output is None:
        yield partial(_carry_out_quietly, world, executor, pending)
    if isinstance(order, CallModel):
        yield from _with_model(world, executor, pending)
    elif isinstance(order, RunTool):
        yield from _with_tool(world, executor, pending)
    elif is_journal_order(order):
        if Trouble.JOURNAL in troubles and world.faults:
            yield partial(_journal_fails, world, executor, pending, False)
            yield partial(_journal_fails, world, executor, pending, True)
            if isinstance(order, SaveCall):
                yield partial(_call_refused, world, executor, pending)
    elif Trouble.FEED in troubles:
        yield from _with_feed(world, executor, pending)


def _carry_out_quietly(world: World, executor: Executor, pending: Pending) -> None:
    order = pending.order
    world.trace.add(0, f"t{order.ticket} {type(order).__name__} of executor {executor.number} is carried out")
    carry_out(world, executor, pending)


def _with_model(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    troubles = world.scenario.troubles
    if Trouble.SPLIT in troubles:
        yield partial(stream, world, executor, pending, 1)
        yield partial(stream, world, executor, pending, 3)
    if Trouble.MODEL in troubles:
        if pending.cancelled:
            yield partial(stream, world, executor, pending, None)
        if world.faults:
            yield partial(_model_fails, world, executor, pending)
            yield partial(_model_breaks, world, executor, pending)
            yield partial(_model_is_cut_off, world, executor, pending)


def _model_fails(world: World, executor: Executor, pending: Pending) -> None:
    world.faults -= 1
    carry_out(world, executor, pending)
    executor.blamed.add("model")
    ticket = pending.order.ticket
    executor.settled(ticket)
    failed = StreamFailed(ModelError(ErrorKind.NETWORK, "simulated: the line went dead"))
    world.deliver(executor, ModelStreamed(world.now, ticket, (failed,)))


def _model_breaks(world: World, executor: Executor, pending: Pending) -> None:
    world.faults -= 1
    carry_out(world, executor, pending)
    ticket = pending.order.ticket
    executor.settled(ticket)
    world.deliver(executor, ModelBroke(world.now, ticket, "simulated: the port raised"))


def _model_is_cut_off(world: World, executor: Executor, pending: Pending) -> None:
    """Somebody else than the run cut it off."""
    world.faults -= 1
    carry_out(world, executor, pending)
    executor.blamed.add("model")
    ticket = pending.order.ticket
    executor.settled(ticket)
    world.deliver(executor, ModelCutOff(world.now, ticket))


def _with_tool(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    if Trouble.TOOL not in world.scenario.troubles:
        return
    if pending.cancelled and behaviour(world, pending) is not Behaviour.HANGS:
        yield partial(_answer_although_stopped, world, executor, pending)
    yield partial(_progress, world, executor, pending)
    if world.faults:
        yield partial(_tool_fails, world, executor, pending)


def _answer_although_stopped(world: World, executor: Executor, pending: Pending) -> None:
    pending.cancelled = False
    answer(world, executor, pending)


def _progress(world: World, executor: Executor, pending: Pending) -> None:
    carry_out(world, executor, pending)
    world.deliver(executor, ToolProgressed(world.now, pending.order.ticket, ToolResult("half way")))


def _tool_fails(world: World, executor: Executor, pending: Pending) -> None:
    world.faults -= 1
    carry_out(world, executor, pending)
    ticket = pending.order.ticket
    executor.settled(ticket)
    world.deliver(executor, ToolFailed(world.now, ticket, "simulated: it raised"))


def _journal_fails(world: World, executor: Executor, pending: Pending, stored: bool) -> None:
    world.faults -= 1
    if stored:
        _carry_out_quietly(world, executor, pending)
    ticket = pending.order.ticket
    executor.settled(ticket)
    world.deliver(executor, JournalFailed(world.now, ticket, "simulated: the disk is full"))


def _call_refused(world: World, executor: Executor, pending: Pending) -> None:
    world.faults -= 1
    ticket = pending.order.ticket
    executor.settled(ticket)
    executor.blamed.add("journal")
    world.deliver(executor, CallRefused(world.now, ticket, "simulated: not this one"))


def _with_feed(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    order = pending.order
    if isinstance(order, WatchFeed) and pending.open:
        yield partial(world.signal, executor)
    if isinstance(order, ClaimInput) and order.through > order.after + 1 and pending.answer is None:
        yield partial(_claim_less, world, executor, pending, order)
    if world.faults:
        yield partial(_feed_fails, world, executor, pending)


def _claim_less(world: World, executor: Executor, pending: Pending, order: ClaimInput) -> None:
    """The feed binds less than was asked for; a claim that was bound before it must repeat in full."""
    if order.through <= world.bound:
        answer(world, executor, pending)
        return
    claimed = claim(world.conversation, order.after, order.through - 1)
    executor.settled(order.ticket)
    kind = FeedFailed if isinstance(claimed, str) else InputClaimed
    world.deliver(executor, kind(world.now, order.ticket, claimed))


def _feed_fails(world: World, executor: Executor, pending: Pending) -> None:
    world.faults -= 1
    ticket = pending.order.ticket
    executor.settled(ticket)
    world.deliver(executor, FeedFailed(world.now, ticket, "simulated: the queue is gone"))


# --- what may happen to an executor


def _with_executor(world: World, executor: Executor) -> Iterator[Choice]:
    troubles = world.scenario.troubles
    if Trouble.CRASH in troubles and world.crashes:
        yield partial(_crash, world, executor, False)
        yield partial(_crash, world, executor, True)
    if Trouble.CANCEL in troubles and not world.cancelled:
        yield partial(_cancel, world, executor)
    if Trouble.TIME in troubles:
        if executor.wake is not None:
            yield partial(_woken, world, executor)
            yield partial(_wake, world, executor)
        yield partial(_sleep, world)
    if Trouble.JUNK in troubles:
        yield partial(_junk, world, executor)


def _crash(world: World, executor: Executor, carried_out: bool) -> None:
    """The executor dies; ``carried_out`` says whether what it had asked for still happens."""
    world.crashes -= 1
    if carried_out:
        for pending in list(executor.pending.values()):
            if isinstance(pending.order, CallModel | RunTool) or is_journal_order(pending.order):
                _carry_out_quietly(world, executor, pending)
    world.crash(executor)


def _cancel(world: World, executor: Executor) -> None:
    world.cancelled = True
    world.cancel(executor)


def _sleep(world: World) -> None:
    world.now += world.scenario.limits.lease_ms
    world.trace.add(0, f"it is {world.now}")


def _junk(world: World, executor: Executor) -> None:
    for event in impossible(world, executor):
        world.refuse(executor, event)


# --- what may happen outside


def _outside(world: World) -> Iterator[Choice]:
    troubles = world.scenario.troubles
    if Trouble.INPUT in troubles and world.arrived < len(world.scenario.later):
        yield partial(world.input_arrives, True)
        yield partial(world.input_arrives, False)
    if Trouble.RIVAL in troubles and world.rivals and world.executors and len(world.executors) < MAX_EXECUTIONS:
        yield partial(_rival, world, True)
        yield partial(_rival, world, False)
        if world.alive and world.stored.lease_until is not None:
            yield partial(_rival_when_free, world)
    if Trouble.HOST in troubles:
        yield from _with_host(world)


def _rival(world: World, take_over: bool) -> None:
    world.rivals -= 1
    world.begin(take_over)


def _rival_when_free(world: World) -> None:
    world.rivals -= 1
    begin_when_free(world)


def _with_host(world: World) -> Iterator[Choice]:
    for call in world.stored.calls.values():
        if call.settled:
            continue
        yield partial(settle_call, world, call, CallStatus.SUCCEEDED)
        yield partial(settle_call, world, call, CallStatus.FAILED)
        if not call.handover:
            yield partial(_hand_over, world, call, Handover.AWAIT)
            yield partial(_hand_over, world, call, Handover.DETACHED)
    outcome = world.stored.outcome
    if isinstance(outcome, Delivered) and outcome.boundary > world.conversation.consumed:
        yield world.consume


def settle_call(world: World, call: ToolCall, status: CallStatus = CallStatus.SUCCEEDED) -> None:
    """The host settles a call."""
    told = {"result": "the host's result"} if status is CallStatus.SUCCEEDED else {"error": "the host's error"}
    update = CallUpdate(call.id, status=status, completed_at=world.now, **told)
    world.host_writes(update, f"settles as {status.value}")


def _hand_over(world: World, call: ToolCall, handover: Handover) -> None:
    if handover is Handover.AWAIT:
        update = CallUpdate(call.id, status=CallStatus.WAITING, handover=handover)
    else:
        update = CallUpdate(call.id, result="a receipt", handover=handover)
    world.host_writes(update, f"takes ({handover.value})")
