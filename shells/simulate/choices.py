"""What may happen next in a world, as a list in which the most ordinary comes first.

A schedule is a list of numbers; each picks from the list as it is then, and 0 is always the most ordinary: the oldest
order is carried out and answered, and when nothing is out, time passes or the next execution begins. A number beyond
the end of the list picks the ordinary too, so no two numbers mean the same. What a world's troubles do not allow is not
in its list: a world without troubles has one future.

A choice also has a name, by which stories that people write pick it: ``"dies"``, ``"answers SaveStep"``.
"""

from collections.abc import Callable, Iterator

from ...effects.clock import Woke
from ...effects.feed import ClaimInput, FeedFailed, InputClaimed, WatchFeed
from ...effects.journal import CallRefused, JournalFailed, SaveCall
from ...effects.model import CallModel, ModelBroke, ModelCutOff, ModelStreamed, StreamFailed
from ...effects.question import AskGuard, AskPolicy, AskReconcile, QuestionFailed
from ...effects.tool import RunTool, ToolFailed, ToolProgressed, ToolResult
from ...effects.transcript import ErrorKind, ModelError
from ...effects.vocabulary import Event
from .executor import Executor, Pending, asks_host, is_journal_order
from .hosting import around
from .junk import impossible
from .ports import answer, behaviour, carry_out, hangs, stream
from .scenario import Behaviour, Trouble
from .store import claim
from .world import World

__all__ = ["Choice", "begin_when_free", "choices", "ordinary", "step"]

MAX_EXECUTIONS = 8
"""How many executions a schedule may begin; settling begins as many more as it needs."""


class Choice:
    """One thing that may happen: what it is in words, whom and which order it is about, and doing it."""

    __slots__ = ("_act", "_executor", "_pending", "_words")

    def __init__(
        self, words: str, act: Callable[[], object], executor: Executor | None = None, pending: Pending | None = None
    ) -> None:
        self._words = words
        self._act = act
        self._executor = executor
        self._pending = pending

    @property
    def name(self) -> str:
        """``"dies"``, ``"answers SaveStep"`` …: the same whatever happened before, so stories can be told by names."""
        order = f" {type(self._pending.order).__name__}" if self._pending is not None else ""
        return self._words + order

    def __call__(self) -> None:
        """Let it happen."""
        self._act()


def step(world: World, which: int | str) -> str:
    """Let what is picked happen, by its number or its name; returns the name.

    A name that is not among the choices picks the most ordinary. When nothing may happen, nothing does.
    """
    world.now += 1
    number, choice = _pick(world, which)
    world.schedule.append(number)
    world.names.append(choice.name if number and choice else "")
    if choice is not None:
        choice()
    return world.names[-1]


def _pick(world: World, which: int | str) -> tuple[int, Choice | None]:
    if not which:
        return 0, ordinary(world)
    found = choices(world)
    if isinstance(which, int):
        number = which if which < len(found) else 0
    else:
        number = next((place for place, choice in enumerate(found) if place and choice.name == which), 0)
    return number, found[number] if found else None


def choices(world: World) -> list[Choice]:
    """Everything that may happen now."""
    first = ordinary(world)
    found = [first or Choice("nothing happens", lambda: None)]
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
    late: tuple[Executor, Pending] | None = None
    for executor in world.alive:
        for pending in executor.pending.values():
            if hangs(world, pending):
                continue
            if behaviour(world, pending) is not Behaviour.SLOW or pending.cancelled:
                return _answers(world, executor, pending)
            late = late or (executor, pending)
    if late is not None:
        return _answers(world, *late)
    waking = [executor for executor in world.alive if executor.wake is not None]
    if waking:
        first = min(waking, key=lambda executor: executor.wake or 0)
        return Choice("wakes", lambda: _wake(world, first), first)
    return _next_execution(world)


def _answers(world: World, executor: Executor, pending: Pending) -> Choice:
    return Choice("answers", lambda: answer(world, executor, pending), executor, pending)


def _next_execution(world: World) -> Choice | None:
    """A run that has not begun, died, or has more to say than it said is executed (again)."""
    if world.alive or (not world.calm and (world.over or len(world.executors) >= MAX_EXECUTIONS)):
        return None
    return Choice("begins", lambda: begin_when_free(world))


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
        yield _answers(world, executor, pending)
    if Trouble.DELAY in troubles and pending.answer is None and pending.output is None:
        yield Choice("carries out", lambda: _carry_out_quietly(world, executor, pending), executor, pending)
    if isinstance(order, CallModel):
        yield from _with_model(world, executor, pending)
    elif isinstance(order, RunTool):
        yield from _with_tool(world, executor, pending)
    elif isinstance(order, AskPolicy | AskReconcile | AskGuard):
        if Trouble.QUESTION in troubles and world.faults:
            yield Choice("fails", lambda: _question_fails(world, executor, pending), executor, pending)
    elif is_journal_order(order):
        yield from _with_journal(world, executor, pending)
    elif Trouble.FEED in troubles:
        yield from _with_feed(world, executor, pending)


def _carry_out_quietly(world: World, executor: Executor, pending: Pending) -> None:
    order = pending.order
    world.trace.add(0, f"t{pending.ticket} {type(order).__name__} of executor {executor.number} is carried out")
    carry_out(world, executor, pending)


def _fault(world: World, executor: Executor, pending: Pending, event: Event, blame: str = "") -> None:
    """The order is over with this event, for no fault of the run's."""
    world.faults -= 1
    if blame:
        executor.blamed.add(blame)
    executor.settled(pending.ticket)
    world.deliver(executor, event)


def _with_model(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    troubles = world.scenario.troubles
    if Trouble.SPLIT in troubles:
        for count in (1, 3):
            yield Choice(f"sends {count} of", lambda n=count: stream(world, executor, pending, n), executor, pending)
    if Trouble.MODEL not in troubles:
        return
    if pending.cancelled:
        yield Choice("still answers", lambda: stream(world, executor, pending, None), executor, pending)
    if world.faults:
        for words, kind in (("fails", ModelStreamed), ("breaks", ModelBroke), ("cuts off", ModelCutOff)):
            yield Choice(words, lambda k=kind: _model_ends(world, executor, pending, k), executor, pending)


def _model_ends(world: World, executor: Executor, pending: Pending, kind: type) -> None:
    carry_out(world, executor, pending)
    now, ticket = world.now, pending.ticket
    if kind is ModelStreamed:
        failed = StreamFailed(ModelError(ErrorKind.NETWORK, "simulated: the line went dead"))
        _fault(world, executor, pending, ModelStreamed(now, ticket, (failed,)), "model")
    elif kind is ModelBroke:
        _fault(world, executor, pending, ModelBroke(now, ticket, "simulated: the port raised"))
    else:
        _fault(world, executor, pending, ModelCutOff(now, ticket), "model")


def _with_tool(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    if Trouble.TOOL not in world.scenario.troubles:
        return
    if pending.cancelled and behaviour(world, pending) is not Behaviour.HANGS:
        yield Choice("still answers", lambda: _answer_although_stopped(world, executor, pending), executor, pending)
    yield Choice("progresses", lambda: _progress(world, executor, pending), executor, pending)
    if world.faults:
        yield Choice("fails", lambda: _tool_fails(world, executor, pending), executor, pending)


def _answer_although_stopped(world: World, executor: Executor, pending: Pending) -> None:
    pending.cancelled = False
    answer(world, executor, pending)


def _progress(world: World, executor: Executor, pending: Pending) -> None:
    carry_out(world, executor, pending)
    world.deliver(executor, ToolProgressed(world.now, pending.ticket, ToolResult("half way")))


def _tool_fails(world: World, executor: Executor, pending: Pending) -> None:
    carry_out(world, executor, pending)
    _fault(world, executor, pending, ToolFailed(world.now, pending.ticket, "simulated: it raised"))


def _question_fails(world: World, executor: Executor, pending: Pending) -> None:
    failed = QuestionFailed(world.now, pending.ticket, "simulated: nobody answers")
    _fault(world, executor, pending, failed, "guard" if isinstance(pending.order, AskGuard) else "")


def _with_journal(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    troubles, order = world.scenario.troubles, pending.order
    if not world.faults:
        return
    if asks_host(order) and Trouble.HOST in troubles and pending.answer is None:
        refused = CallRefused(world.now, pending.ticket, "simulated: the host will not have it")
        yield Choice("refuses", lambda: _fault(world, executor, pending, refused), executor, pending)
    if Trouble.JOURNAL not in troubles:
        return
    yield Choice("fails", lambda: _journal_fails(world, executor, pending, False), executor, pending)
    yield Choice("stores, and fails", lambda: _journal_fails(world, executor, pending, True), executor, pending)
    if isinstance(order, SaveCall) and not asks_host(order):
        refused = CallRefused(world.now, pending.ticket, "simulated: not this one")
        yield Choice("refuses", lambda: _fault(world, executor, pending, refused, "journal"), executor, pending)


def _journal_fails(world: World, executor: Executor, pending: Pending, stored: bool) -> None:
    if stored:
        _carry_out_quietly(world, executor, pending)
    failed = JournalFailed(world.now, pending.ticket, "simulated: the disk is full")
    _fault(world, executor, pending, failed)


def _with_feed(world: World, executor: Executor, pending: Pending) -> Iterator[Choice]:
    order = pending.order
    if isinstance(order, WatchFeed) and pending.open:
        yield Choice("signals", lambda: world.signal(executor), executor, pending)
    if isinstance(order, ClaimInput) and order.through > order.after + 1 and pending.answer is None:
        yield Choice("gives less", lambda: _claim_less(world, executor, pending, order), executor, pending)
    if world.faults:
        gone = FeedFailed(world.now, order.ticket, "simulated: the queue is gone")
        yield Choice("fails", lambda: _fault(world, executor, pending, gone), executor, pending)


def _claim_less(world: World, executor: Executor, pending: Pending, order: ClaimInput) -> None:
    """The feed binds less than was asked for; a claim that was bound before it must repeat in full."""
    if order.through <= world.bound:
        answer(world, executor, pending)
        return
    claimed = claim(world.conversation, order.after, order.through - 1)
    executor.settled(pending.ticket)
    if isinstance(claimed, str):
        world.deliver(executor, FeedFailed(world.now, pending.ticket, claimed))
    else:
        world.deliver(executor, InputClaimed(world.now, pending.ticket, claimed))


# --- what may happen to an executor


def _with_executor(world: World, executor: Executor) -> Iterator[Choice]:
    troubles = world.scenario.troubles
    if Trouble.CRASH in troubles and world.crashes:
        yield Choice("dies", lambda: _crash(world, executor, False), executor)
        yield Choice("dies, and all it asked for happens", lambda: _crash(world, executor, True), executor)
    if Trouble.CANCEL in troubles and not world.cancelled:
        yield Choice("is cancelled", lambda: _cancel(world, executor), executor)
    if Trouble.TIME in troubles:
        if executor.wake is not None:
            yield Choice("wakes early", lambda: _woken(world, executor), executor)
            yield Choice("wakes", lambda: _wake(world, executor), executor)
        yield Choice("sleeps", lambda: _sleep(world), executor)
    if Trouble.JUNK in troubles:
        yield Choice("is told nonsense", lambda: world.refuse(executor, impossible(world, executor)), executor)


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


# --- what may happen outside


def _outside(world: World) -> Iterator[Choice]:
    troubles = world.scenario.troubles
    if Trouble.INPUT in troubles and world.arrived < len(world.scenario.later):
        yield Choice("input arrives", lambda: world.input_arrives(True))
        yield Choice("input arrives silently", lambda: world.input_arrives(False))
    if Trouble.RIVAL in troubles and world.rivals and world.executors and len(world.executors) < MAX_EXECUTIONS:
        yield Choice("a rival takes over", lambda: _rival(world, lambda: world.begin(True)))
        yield Choice("a rival tries", lambda: _rival(world, lambda: world.begin(False)))
        if world.alive and world.stored.lease_until is not None:
            yield Choice("a rival begins", lambda: _rival(world, lambda: begin_when_free(world)))
    if Trouble.CANCEL in troubles and not world.cancelled and world.executors and len(world.executors) < MAX_EXECUTIONS:
        yield Choice("is cancelled from outside", world.cancel_from_outside)
    for words, update in around(world):
        yield Choice(words, (lambda w=words, u=update: world.host_writes(u, w)) if update else world.consume)


def _rival(world: World, begin: Callable[[], object]) -> None:
    world.rivals -= 1
    begin()
