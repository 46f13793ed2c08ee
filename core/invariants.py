"""What holds of every run at any time, as predicates with names; the docstring of each is the promise.

Nothing in the fold asks these. Tests and the simulator do, after every event: ``broken`` is the one question, and
answers with the names of the promises that do not hold. They are of three kinds: of a state, of a move from one state
to the next, and of what an event made the run ask for. ``debts_are_paid`` stands apart: it asks the fold again.
"""

from collections.abc import Callable, Iterable

from ..effects.feed import ClaimInput, PollFeed, WatchFeed
from ..effects.journal import BeginAttempt, EndAttempt, RenewLease, SaveCall, SaveStep
from ..effects.model import CallModel, ModelRequest
from ..effects.outcome import Completed, Delivered
from ..effects.question import AskGuard, AskPolicy, AskReconcile
from ..effects.record import CallStatus, Handover
from ..effects.tool import RunTool
from ..effects.transcript import ZERO_USAGE, AssistantMessage, ToolResultMessage, Usage, calls_of
from ..effects.values import replace
from ..effects.vocabulary import Effect
from .loop import Acting
from .run.debts import due
from .run.log import EntryKind, decode_entry
from .run.phases import (
    Beginning,
    CallAsking,
    CallHandingOver,
    CallReconciling,
    CallRunning,
    CallSettled,
    CallSettling,
    CallStarting,
    Closing,
    Ended,
    LeaseRenewing,
    NoStep,
    Reviewing,
    SavingStep,
    Watched,
    WatchOpening,
)
from .run.spec import Rules
from .run.state import RunState

__all__ = ["OF_A_MOVE", "OF_A_STATE", "OF_WHAT_IS_ASKED", "broken", "debts_are_paid", "promise"]

MAX_HEAD_BYTES = 1024


# --- of a state


def tools_run_only_when_saved_as_running(state: RunState) -> bool:
    """A call whose tool is asked for, or about to be, is saved as running, and nobody else owns it."""
    running = (live for live in state.batch.live.values() if isinstance(live.phase, CallRunning))
    return all(
        live.saved_rev == live.record.rev
        and live.writing is None
        and live.record.status == CallStatus.RUNNING
        and live.record.handover is Handover.NONE
        for live in running
    )


def calls_are_written_only_when_their_output_is_saved(state: RunState) -> bool:
    """Before a call is written by itself, the step with its output, which holds its first record, is saved."""
    saving = state.saving
    first = [key for key, live in state.batch.live.items() if live.writing is not None and not live.saved_rev]
    return not first or (isinstance(saving.phase, NoStep) and saving.calls.keys().isdisjoint(first))


def the_model_is_asked_only_when_all_is_saved(state: RunState) -> bool:
    """While the model is asked no output, no batch and no step waits to be saved."""
    if state.model.ticket is None:
        return True
    return not _output_waits(state) and not state.batch.live and isinstance(state.saving.phase, NoStep)


def one_step_is_in_flight(state: RunState) -> bool:
    """At most one step is in flight, and the saving region knows which."""
    phase = state.saving.phase
    steps = [ticket for ticket, (order, _) in state.tickets.in_flight.items() if order is SaveStep]
    return steps == ([phase.ticket] if isinstance(phase, SavingStep) else [])


def one_write_per_call_is_in_flight(state: RunState) -> bool:
    """A call has at most one write in flight, of the revision it says."""
    writing = sorted(subject for order, subject in state.tickets.in_flight.values() if order is SaveCall)
    return writing == sorted(key for key, live in state.batch.live.items() if live.writing is not None)


def no_step_is_in_flight_while_a_call_is_handed_over(state: RunState) -> bool:
    """While the host is asked to take a call, no step is in flight: it sees the call before what came after (I-09)."""
    lives = state.batch.live.values()
    handing = any(isinstance(live.phase, CallHandingOver) and live.writing is not None for live in lives)
    return not handing or isinstance(state.saving.phase, NoStep)


def tickets_match_the_regions(state: RunState) -> bool:
    """What is in flight is exactly what the regions say is in flight."""
    life, feed, model = state.life, state.feed, state.model
    asked: dict[type, list[int]] = {}
    for ticket, (order, _) in state.tickets.in_flight.items():
        asked.setdefault(order, []).append(ticket)
    phases = [live.phase for live in state.batch.live.values()]
    for order, kind in ((RunTool, CallRunning), (AskPolicy, CallAsking), (AskReconcile, CallReconciling)):
        wanted = [phase.ticket for phase in phases if isinstance(phase, kind) and phase.ticket is not None]
        if sorted(asked.pop(order, ())) != sorted(wanted):
            return False
    turn = state.turn.phase
    if isinstance(turn, Reviewing) and asked.pop(AskGuard, []) != [turn.ticket]:
        return False
    if sorted(asked.pop(CallModel, ())) != sorted(t for t in (model.ticket, model.withdrawn) if t is not None):
        return False
    counts = {
        BeginAttempt: isinstance(life, Beginning) and state.lease.asked is not None,
        RenewLease: isinstance(state.lease.phase, LeaseRenewing),
        EndAttempt: isinstance(life, Closing) and life.giving_back and not life.given_back,
        WatchFeed: isinstance(feed.watch, WatchOpening | Watched),
        PollFeed: feed.asked - feed.answered,
        ClaimInput: feed.claiming,
    }
    return all(len(asked.get(order, ())) == count for order, count in counts.items())


def blocks_count_from_one(state: RunState) -> bool:
    """The positions of the blocks are 1, 2, 3 … without a gap."""
    return all(block.position == place for place, block in enumerate(state.process.blocks, 1))


def open_calls_are_counted(state: RunState) -> bool:
    """The batch counts the calls that are not settled, and owes nothing to a call it does not have."""
    live = state.batch.live
    unsettled = sum(not isinstance(call.phase, CallSettled) for call in live.values())
    return state.batch.open == unsettled and live.keys() >= set(state.batch.owed)


def results_are_those_of_settled_calls(state: RunState) -> bool:
    """While a batch is carried out, a call has a result when it is settled; until then, only one that was paused."""
    acting = state.loop.phase
    if not isinstance(acting, Acting) or isinstance(state.life, Closing | Ended):
        return True
    lives = state.batch.live.values()
    settled = {live.index for live in lives if isinstance(live.phase, CallSettled)}
    paused = {live.index for live in lives if live.record.decision is not None or live.record.expires_at is not None}
    return settled <= set(acting.results) <= settled | paused and len(acting.calls) == len(state.batch.live)


def calls_begin_in_order(state: RunState) -> bool:
    """No call is under way before all calls in front of it have begun; in a sequential batch, have ended."""
    acting = state.loop.phase
    if not isinstance(acting, Acting) or isinstance(state.life, Closing):
        return True
    under_way = [live.index for live in state.batch.live.values() if isinstance(live.phase, CallStarting | CallRunning)]
    if acting.sequential and len(under_way) > 1:
        return False
    return all(index < acting.begun for index in under_way)


def marks_are_ordered(state: RunState) -> bool:
    """Nothing is saved, or waited for, that was never marked; a step in flight covers what was marked before it."""
    saving = state.saving
    phase = saving.phase
    covered = phase.mark if isinstance(phase, SavingStep) else saving.saved
    return saving.saved <= covered <= saving.mark and saving.wanted <= saving.mark


def an_outcome_waits_for_its_step(state: RunState) -> bool:
    """The lease is given back, and the run ends, only when the outcome that must be saved is saved."""
    life, saving = state.life, state.saving
    if isinstance(life, Closing) and life.giving_back and life.writable:
        return not life.save or (life.mark is not None and saving.saved >= life.mark)
    if isinstance(life, Ended) and isinstance(life.result.outcome, Delivered | Completed):
        return saving.saved >= saving.wanted and not _output_waits(state)
    return True


def an_ended_run_is_quiet(state: RunState) -> bool:
    """When a run has ended nothing is in flight but its subscription, and nothing is owed."""
    if not isinstance(state.life, Ended):
        return True
    return all(order is WatchFeed for order, _ in state.tickets.in_flight.values()) and not state.batch.owed


OF_A_STATE: tuple[Callable[[RunState], bool], ...] = (
    tools_run_only_when_saved_as_running,
    calls_are_written_only_when_their_output_is_saved,
    the_model_is_asked_only_when_all_is_saved,
    one_step_is_in_flight,
    one_write_per_call_is_in_flight,
    no_step_is_in_flight_while_a_call_is_handed_over,
    tickets_match_the_regions,
    blocks_count_from_one,
    open_calls_are_counted,
    results_are_those_of_settled_calls,
    calls_begin_in_order,
    marks_are_ordered,
    an_outcome_waits_for_its_step,
    an_ended_run_is_quiet,
)


# --- of a move


def usage_never_decreases(before: RunState, after: RunState) -> bool:
    """No token that was counted is forgotten, of whichever model (I-07)."""
    one, two = before.process.spending, after.process.spending
    if one is two:
        return True
    later = {row.key: row.usage for row in two.rows}
    return all(_within(row.usage, later.get(row.key, ZERO_USAGE)) for row in one.rows)


def _within(one: Usage, two: Usage) -> bool:
    more = two - one
    return min(more.input, more.output, more.cache_read, more.cache_write) >= 0


def turns_never_decrease(before: RunState, after: RunState) -> bool:
    """The count of turns only grows (I-04); it begins anew only where an execution begins."""
    return before.turn.turns <= after.turn.turns or isinstance(before.life, Beginning)


def corrections_never_decrease(before: RunState, after: RunState) -> bool:
    """The count of corrections only grows (I-04); it begins anew only where an execution begins."""
    return before.goal.corrections <= after.goal.corrections or isinstance(before.life, Beginning)


def a_fixed_value_stays(before: RunState, after: RunState) -> bool:
    """What a run ends with, whatever comes in, is never replaced (I-03)."""
    active = before.goal.active
    return active is None or not active.fixed or after.goal.active == active


def nothing_saved_becomes_unsaved(before: RunState, after: RunState) -> bool:
    """What was acknowledged stays acknowledged, and marks are never given out twice."""
    return isinstance(before.life, Beginning) or (
        before.saving.saved <= after.saving.saved and before.saving.mark <= after.saving.mark
    )


def names_are_never_reused(before: RunState, after: RunState) -> bool:
    """Tickets and ids only count up, and time never goes back."""
    return (
        before.tickets.last <= after.tickets.last
        and before.tickets.minted <= after.tickets.minted
        and before.clock.now <= after.clock.now
    )


def what_has_ended_stays_as_it_ended(before: RunState, after: RunState) -> bool:
    """After the end nothing changes the result."""
    return not isinstance(before.life, Ended) or after.life == before.life


OF_A_MOVE: tuple[Callable[[RunState, RunState], bool], ...] = (
    usage_never_decreases,
    turns_never_decrease,
    corrections_never_decrease,
    a_fixed_value_stays,
    nothing_saved_becomes_unsaved,
    names_are_never_reused,
    what_has_ended_stays_as_it_ended,
)


# --- of what is asked


def every_call_has_its_result(effect: Effect) -> bool:
    """In every model request the results stand directly after their output, one for each call, in call order (I-05)."""
    return not isinstance(effect, CallModel) or _paired(effect.request)


def the_head_is_small(effect: Effect) -> bool:
    """The head of a step takes at most a kilobyte, whatever the length of the run (decision 1)."""
    return not isinstance(effect, SaveStep) or len(effect.step.state) <= MAX_HEAD_BYTES


OF_WHAT_IS_ASKED: tuple[Callable[[Effect], bool], ...] = (every_call_has_its_result, the_head_is_small)


def _paired(request: ModelRequest) -> bool:
    awaited: list[str] = []
    for message in request.messages:
        if isinstance(message, ToolResultMessage):
            if not awaited or awaited.pop(0) != message.call_id:
                return False
        elif awaited:
            return False
        elif isinstance(message, AssistantMessage):
            awaited = [call.id for call in calls_of(message)]
    return not awaited


# --- debts


def debts_are_paid(state: RunState, rules: Rules) -> bool:
    """Asking marks as asked: after what was due is asked, nothing is due, also when every live call is looked at."""
    wanting = tuple(key for key, live in state.batch.live.items() if _wants(live.phase))
    _, orders = due(replace(state, batch=replace(state.batch, owed=wanting)), rules)
    return not orders


def _wants(phase: object) -> bool:
    asking = isinstance(phase, CallRunning | CallAsking | CallReconciling) and phase.ticket is None
    return asking or isinstance(phase, CallStarting | CallSettling | CallHandingOver)


# --- all of them


def broken(before: RunState, after: RunState, effects: Iterable[Effect], rules: Rules) -> tuple[str, ...]:
    """The names of the promises that do not hold after an event."""
    names = [holds.__name__ for holds in OF_A_STATE if not holds(after)]
    names += [holds.__name__ for holds in OF_A_MOVE if not holds(before, after)]
    for effect in effects:
        names += [holds.__name__ for holds in OF_WHAT_IS_ASKED if not holds(effect)]
    if not debts_are_paid(after, rules):
        names.append(debts_are_paid.__name__)
    return tuple(names)


def promise(name: str) -> str:
    """What the predicate of that name promises."""
    return _PROMISES[name]


_PROMISES = {
    holds.__name__: holds.__doc__ or "" for holds in (*OF_A_STATE, *OF_A_MOVE, *OF_WHAT_IS_ASKED, debts_are_paid)
}


def _output_waits(state: RunState) -> bool:
    return any(decode_entry(raw).kind is EntryKind.OUTPUT for raw in state.saving.log.ready)
