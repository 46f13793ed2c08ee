"""Gates: after every event, the run takes each step that has become possible.

A gate opens when its mark is saved, its poll is answered, or its calls are settled. Nothing here depends on which event
came; so a resume, which begins with nothing in flight, passes the same gates.
"""

from ...effects.outcome import Completed, Delivered, FailureKind, Suspended
from ...effects.spending import Spent
from ...effects.values import replace
from ..loop import Acting
from .calls import stop_late_calls
from .decisions import carry_out, take_up
from .dispatch import start_calls
from .ending import advance_closing, close_run, fail
from .goal import account
from .inputs import fresh_poll, newer_input, polled, want_claim
from .phases import (
    BetweenIterations,
    BetweenTurns,
    CallDecided,
    CallSettled,
    Claiming,
    Closing,
    Concluding,
    LeaseHeld,
    Looping,
    Opening,
    Recovering,
    Rerunning,
    Reviewing,
    Unwatched,
    Watched,
    Working,
)
from .records import waiting
from .recovery import tell_restored
from .saving import saved, want
from .spec import Cost, Rules
from .state import RunState
from .superseding import drop_batch, supersede
from .turns import close_batch, iterate, next_iteration, on_model_silent


def advance(state: RunState, rules: Rules) -> RunState:
    """Everything that can be done without asking the world."""
    state = _look_at_the_clock(state, rules)
    while True:
        before = state
        if state.extended.failed and isinstance(state.life, Recovering | Opening | Working):
            state = fail(state, rules, FailureKind.EXTENSION, state.extended.failed)
        match state.life:
            case Recovering() as life:
                state = _after_recovery(state, life, rules)
            case Opening():
                state = _after_opening(state, rules)
            case Working():
                state = _turn(state, rules)
            case Closing():
                state = advance_closing(state)
            case _:
                return state
        if state is before:
            return state


def _look_at_the_clock(state: RunState, rules: Rules) -> RunState:
    """Only the nearest deadline wakes the run, but each is looked at whenever it is awake (rule 8 of the fold)."""
    now, lease = state.clock.now, state.lease
    if isinstance(lease.phase, LeaseHeld) and now >= lease.renew_at:
        state = replace(state, lease=replace(lease, renew=True))
    if isinstance(state.life, Working) and now >= state.clock.poll_at:
        state, _ = fresh_poll(state)
    end = run_deadline(state, rules)
    if end and now >= end and isinstance(state.life, Recovering | Opening | Working):
        return fail(
            state, rules, FailureKind.DEADLINE, f"the run took longer than {rules.spec.limits.run_ms / 1000:g} s"
        )
    if state.model.until and now >= state.model.until and state.model.ticket is not None:
        state = on_model_silent(state, rules)
    return stop_late_calls(state) if state.batch.until and now >= state.batch.until else state


def run_deadline(state: RunState, rules: Rules) -> int:
    """When the run has taken as long as it may, counting executions only; 0 for never."""
    limit, began = rules.spec.limits.run_ms, state.lease.began
    return limit and began and max(1, began + limit - state.goal.spent_ms)


def _after_recovery(state: RunState, life: Recovering, rules: Rules) -> RunState:
    lives = state.batch.live.values()
    if any(not isinstance(live.phase, CallSettled | CallDecided) for live in lives):
        return state
    if not life.told:
        return replace(tell_restored(state, rules), life=replace(life, told=True))
    state = take_up(state)
    waits_for = _waits_for(state)
    if waits_for:
        return close_run(state, rules, Suspended(waits_for, state.feed.claimed), save=False)
    active = state.goal.active
    if active is not None and active.fixed:
        # A fixed value is the end whatever has come in since; nothing else is asked (RT-15).
        return close_run(state, rules, Completed(active, state.feed.claimed))
    return replace(state, life=Opening(replayed=not life.replay))


def _waits_for(state: RunState) -> tuple[str, ...]:
    now = state.clock.now
    return tuple(live.record.id for live in state.batch.live.values() if waiting(live.record, now))


def _after_opening(state: RunState, rules: Rules) -> RunState:
    assert isinstance(state.life, Opening)
    feed = state.feed
    if isinstance(feed.watch, Unwatched) and not feed.watch.wanted:
        return replace(state, feed=replace(feed, watch=Unwatched(wanted=True)))
    if not isinstance(feed.watch, Watched):
        return state
    if not state.life.replayed:
        if feed.claim is None:
            return want_claim(state, feed.after, feed.claimed)
        return state
    poll_at = state.clock.now + rules.spec.limits.poll_ms
    return replace(state, life=Working(), clock=replace(state.clock, poll_at=poll_at))


def _turn(state: RunState, rules: Rules) -> RunState:
    match state.turn.phase:
        case BetweenTurns() as phase:
            return _between_turns(state, phase, rules)
        case Looping() as phase:
            return _looping(state, phase, rules)
        case BetweenIterations() as phase:
            return _between_iterations(state, phase, rules)
        case Concluding() as phase:
            return _concluding(state, phase, rules)
        case Rerunning() as phase:
            return _rerunning(state, phase)
        case _:
            return state


def _between_turns(state: RunState, phase: BetweenTurns, rules: Rules) -> RunState:
    if phase.poll is None:
        return _ask_the_feed(state, phase)
    if not polled(state, phase.poll):
        return state
    if newer_input(state):
        return _claim(state, rules)
    if phase.delivered is not None:
        return close_run(state, rules, phase.delivered)
    return fail(state, rules, FailureKind.FEED, "the run has no pending input", save=False)


def _ask_the_feed(state: RunState, phase: BetweenTurns | BetweenIterations | Concluding | Rerunning) -> RunState:
    state, number = fresh_poll(state)
    return replace(state, turn=replace(state.turn, phase=replace(phase, poll=number)))


def _claim(state: RunState, rules: Rules) -> RunState:
    limit = rules.spec.limits.turns
    if limit and state.turn.turns >= limit:
        return fail(state, rules, FailureKind.TURN_LIMIT, f"the run reached its limit of {limit} turns")
    state = want_claim(state, state.feed.claimed, state.feed.latest)
    return replace(state, turn=replace(state.turn, phase=Claiming()))


def _looping(state: RunState, phase: Looping, rules: Rules) -> RunState:
    acting = state.loop.phase
    if state.model.wanted:
        return _within_budget(state, rules)
    if not isinstance(acting, Acting) or not saved(state, phase.mark):
        return state
    if not acting.begun and state.batch.open and newer_input(state):
        return drop_batch(state, rules)
    if state.batch.open:
        return carry_out(state, rules) if state.batch.deciding else start_calls(state, rules)
    # What the batch changed beside its records goes with a step; usually nothing did, and the gate is open.
    state = account(state, rules)
    if not isinstance(state.life, Working):
        return state
    mark = state.saving.mark
    return want(replace(state, turn=replace(state.turn, phase=BetweenIterations(mark))), mark)


def _within_budget(state: RunState, rules: Rules) -> RunState:
    """The model is asked only while the run may still use tokens and money."""
    limits, used = rules.spec.limits, state.process.spending.since(state.goal.base)
    if limits.tokens and used.total.total >= limits.tokens:
        return fail(state, rules, FailureKind.BUDGET, f"the run used its {limits.tokens} tokens")
    cost = rules.functions.cost
    if not limits.cost or cost is None:
        return state
    try:
        spent = sum(_priced(cost, row) for row in used.rows)
    except Exception as error:
        return fail(state, rules, FailureKind.EXTENSION, f"the cost of the run is unknown: {error}")
    if spent >= limits.cost:
        return fail(state, rules, FailureKind.BUDGET, f"the run cost {spent:g} and may cost {limits.cost:g}")
    return state


def _priced(cost: Cost, row: Spent) -> float:
    price = cost(row.provider, row.model, row.usage)
    if price is None:
        raise LookupError(f"there is no price for the tokens of {row.name or 'a model that did not say which it is'}")
    return price


def _between_iterations(state: RunState, phase: BetweenIterations, rules: Rules) -> RunState:
    if not saved(state, phase.mark):
        return state
    if phase.poll is None:
        waits_for = _waits_for(state)
        if waits_for:
            # A step tells how long the run has taken, which nothing else would save.
            timed = bool(rules.spec.limits.run_ms)
            return close_run(state, rules, Suspended(waits_for, state.feed.claimed), save=timed)
        state = take_up(state)
        if state.batch.open:
            return replace(state, turn=replace(state.turn, phase=Looping(phase.mark)))
        if state.goal.active is not None:
            return replace(state, turn=replace(state.turn, phase=Concluding("", phase.mark)))
        return _ask_the_feed(state, phase)
    if not polled(state, phase.poll):
        return state
    if newer_input(state):
        return replace(close_batch(state), turn=replace(state.turn, phase=BetweenTurns(phase.poll)))
    return next_iteration(state)


def _concluding(state: RunState, phase: Concluding, rules: Rules) -> RunState:
    if not saved(state, phase.mark):
        return want(state, phase.mark)
    active = state.goal.active
    if active is not None and active.fixed:
        return close_run(state, rules, Completed(active, state.feed.claimed))
    if phase.poll is None:
        return _ask_the_feed(state, phase)
    if not polled(state, phase.poll):
        return state
    newer = newer_input(state)
    if active is None and phase.text and rules.spec.guarded and not phase.reviewed:
        return replace(state, turn=replace(state.turn, phase=Reviewing(phase.text, newer, phase.cut)))
    if newer:
        return supersede(state, phase.text, rules)
    if active is not None:
        return close_run(state, rules, Completed(active, state.feed.claimed))
    if not phase.text:
        return fail(state, rules, FailureKind.EMPTY_RESPONSE, "the model said nothing, twice")
    return close_run(state, rules, Delivered(phase.text, state.feed.claimed, phase.cut))


def _rerunning(state: RunState, phase: Rerunning) -> RunState:
    if not saved(state, phase.mark):
        return want(state, phase.mark)
    if phase.poll is None:
        return _ask_the_feed(state, phase)
    if not polled(state, phase.poll):
        return state
    if newer_input(state):
        return replace(state, turn=replace(state.turn, phase=BetweenTurns(phase.poll)))
    return iterate(state, *phase.entering)
