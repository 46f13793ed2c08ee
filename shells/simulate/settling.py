"""Bringing a world to its end: the troubles are switched off, and the run must end or wait for something it names.

Safety first, then liveness. Whatever was left behind, an execution that nothing disturbs comes to its end; a run that
waits goes on once the host has settled what it waits for; and at last all input is answered. What was delivered is
delivered again, without a model call, by every later execution that finds no newer input.
"""

from ...effects.outcome import Completed, Delivered, Failed, FailureKind, Suspended
from ...effects.record import ToolCall
from ...effects.tool import RunTool
from .choices import begin_when_free, ordinary
from .executor import Executor
from .hosting import approve, is_paused, settle_call
from .ports import hangs
from .reading import is_final
from .world import World

__all__ = ["run_on", "settle"]

MAX_EVENTS = 400
MAX_WAKINGS = 4


def settle(world: World) -> None:
    """Switch the troubles off and demand the end."""
    world.calm = True
    while world.alive:
        run_on(world)
    for _ in range(len(world.scenario.outputs) + len(world.scenario.reviews) + 8):
        last = world.last if world.over else next_execution(world)
        outcome = last.result.outcome if last and last.result else None
        match outcome:
            case Delivered(boundary=boundary) | Completed(boundary=boundary):
                if boundary != len(world.conversation.messages) and not is_final(outcome):
                    world.fail("what is delivered undisturbed answers all input there is", "")
                _again(world, outcome)
                world.verdict()
                return
            case Suspended(waits_for=waits_for):
                _wait(world, outcome, waits_for)
            case Failed(kind=kind) if _no_way_on(world, kind):
                return
            case _:
                continue
    world.fail("with the troubles switched off a run comes to its end", "it does not")


def next_execution(world: World) -> Executor:
    """One more execution, from begin to end."""
    begin_when_free(world)
    executor = world.executors[-1]
    while executor.alive:
        run_on(world)
    return executor


def run_on(world: World) -> None:
    """Let the ordinary happen until an execution ends; a tool that hangs is stopped by cancelling its run."""
    alive, idle = len(world.alive), 0
    for _ in range(MAX_EVENTS):
        if len(world.alive) < alive:
            return
        choice = ordinary(world)
        if choice is None:
            break
        world.now += 1
        idle += _only_hangs(world)
        if idle > MAX_WAKINGS:
            _cancel_hanging(world)
            idle = 0
        else:
            choice()
    world.fail("every debt is paid or withdrawn", "the run neither ends nor waits for anything")


def _only_hangs(world: World) -> bool:
    """Whether nothing will answer by itself, and it is a tool that is waited for."""
    pending = [pending for executor in world.alive for pending in executor.pending.values()]
    return any(isinstance(one.order, RunTool) for one in pending) and all(hangs(world, one) for one in pending)


def _cancel_hanging(world: World) -> None:
    for executor in world.alive:
        hanging = [pending for pending in executor.waiting_for(RunTool) if not pending.cancelled]
        if hanging and "cancel" not in executor.blamed:
            world.cancel(executor)
            return
    world.fail("every debt is paid or withdrawn", "the run waits for nothing it names")


def _again(world: World, outcome: Delivered | Completed) -> None:
    """Without newer input the next execution gives the same, and asks no model."""
    last = next_execution(world)
    if last.asked_model or last.result is None or last.result.outcome != outcome:
        world.fail("a delivered outcome is what every later execution without newer input gives", "")


def _wait(world: World, outcome: Suspended, waits_for: tuple[str, ...]) -> None:
    """A suspended run stays suspended until somebody settles or decides what it names; then it goes on."""
    calls = [world.stored.calls[key] for key in waits_for]
    expires = any(is_paused(call) and call.expires_at is not None for call in calls)
    if all(_is_open(call) for call in calls) and not expires:
        last = next_execution(world)
        if last.asked_model or last.result is None or last.result.outcome != outcome:
            world.fail("a suspended run stays suspended while nothing changes", "")
    for call in calls:
        if not _is_open(call):
            continue
        if not is_paused(call):
            settle_call(world, call)
        elif call.expires_at is None or world.now < call.expires_at:
            approve(world, call)


def _is_open(call: ToolCall) -> bool:
    return not call.settled and not (is_paused(call) and call.decision is not None)


def _no_way_on(world: World, kind: FailureKind) -> bool:
    """Whether a failure is the end by rights: a bound of the run is reached, or there never was any input."""
    limits, functions = world.scenario.limits, world.scenario.functions
    match kind:
        case FailureKind.FEED:
            return not world.conversation.messages
        case FailureKind.TURN_LIMIT:
            return bool(limits.turns)
        case FailureKind.BUDGET:
            return bool(limits.tokens or limits.cost)
        case FailureKind.DEADLINE:
            return bool(limits.run_ms)
        case FailureKind.EXTENSION:
            return functions.fallback is not None
        case _:
            return False
