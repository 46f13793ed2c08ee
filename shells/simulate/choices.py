"""What may happen next in a world, as a list in which the most ordinary comes first.

A schedule is a list of numbers; each picks from the list as it is then, 0 always the most ordinary: the oldest order is
carried out and answered, and when nothing is out, time passes or the next execution begins. What a world's troubles do
not allow is not in its list, so a world without troubles has one future.
"""

from collections.abc import Callable, Iterator
from functools import partial

from ...effects.clock import Woke
from ...effects.feed import Claim, ClaimInput, FeedFailed, InputClaimed, PollFeed, WatchFeed
from ...effects.journal import CallUpdate, JournalFailed
from ...effects.model import CallModel, ModelBroke, ModelStreamed, StreamFailed
from ...effects.outcome import Delivered
from ...effects.record import CallStatus, Handover, ToolCall
from ...effects.tool import RunTool, ToolFailed, ToolProgressed, ToolResult
from ...effects.transcript import ErrorKind, ModelError
from .executor import Executor, Pending, is_journal_order
from .junk import impossible
from .ports import answer, behaviour, carry_out, hangs, stream
from .scenario import Behaviour, Trouble
from .world import World

__all__ = ["Choice", "choices", "ordinary", "step"]

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
    if world.alive or (len(world.executors) >= MAX_EXECUTIONS and not world.calm):
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


# --- an order


def _with_order(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    troubles, order = world.scenario.troubles, pending.order
    act = partial(partial, world=world, executor=executor, pending=pending)
    if Trouble.REORDER in troubles and not hangs(world, pending):
        yield partial(answer, world, executor, pending)
    if Trouble.DELAY in troubles and pending.answer is None and pending.output is None:
        yield partial(_carry_out_quietly, world, executor, pending)
    if isinstance(order, CallModel):
        yield from _with_model(world, executor, pending)
    elif isinstance(order, RunTool):
        yield from _with_tool(world, executor, pending)
    if world.faults:
        if Trouble.JOURNAL in troubles and is_journal_order(order):
            yield partial(_journal_fails, world, executor, pending, False)
            yield partial(_journal_fails, world, executor, pending, True)
        if Trouble.FEED in troubles and isinstance(order, WatchFeed | PollFeed | ClaimInput):
            yield partial(_feed_fails, world, executor, pending)
    if Trouble.FEED in troubles:
        if isinstance(order, ClaimInput) and order.through > order.after + 1 and pending.answer is None:
            yield partial(_claim_less, world, executor, pending)
        if isinstance(order, WatchFeed) and pending.open:
            yield partial(world.signal, executor)
