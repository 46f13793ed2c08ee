"""Gates: after every event, the run takes each step that has become possible.

A gate opens when its mark is saved, its poll is answered, or its calls are settled. Nothing here depends on which event
came; so a resume, which begins with nothing in flight, passes the same gates.
"""

from ...effects.outcome import Delivered, FailureKind, Suspended
from ...effects.values import replace
from ..loop import Acting
from .calls import start_calls, waiting
from .ending import advance_closing, close_run, fail
from .inputs import fresh_poll, newer_input, polled, want_claim
from .phases import (
    BetweenIterations,
    BetweenTurns,
    Claiming,
    Closing,
    Concluding,
    LeaseHeld,
    Looping,
    Opening,
    Recovering,
    Unwatched,
    Watched,
    Working,
)
from .saving import saved, want
from .spec import Rules
from .state import RunState
from .turns import close_batch, drop_batch, next_iteration, supersede


def advance(state: RunState, rules: Rules) -> RunState:
    """Everything that can be done without asking the world."""
    state = _look_at_the_clock(state, rules)
    while True:
        before = state
        match state.life:
            case Recovering() as life:
                state = _after_recovery(state, life, rules)
            case Opening():
                state = _after_opening(state)
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
    now, feed, lease = state.clock.now, state.feed, state.lease
    if isinstance(lease.phase, LeaseHeld) and now >= lease.renew_at and not lease.renew:
        state = replace(state, lease=replace(lease, renew=True))
    idle = feed.wanted == feed.answered
    if isinstance(state.life, Working) and isinstance(feed.watch, Watched) and idle and now >= state.clock.poll_at:
        state, _ = fresh_poll(state)
    return state


def _after_recovery(state: RunState, life: Recovering, rules: Rules) -> RunState:
    if state.batch.open:
        return state
    waits_for = tuple(live.record.id for live in state.batch.live.values() if waiting(live.record))
    if waits_for:
        return close_run(state, rules, Suspended(waits_for, state.feed.claimed), save=False)
    return replace(state, life=Opening(replayed=not life.replay))


def _after_opening(state: RunState) -> RunState:
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
    return replace(state, life=Working())


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
        case _:
            return state


def _between_turns(state: RunState, phase: BetweenTurns, rules: Rules) -> RunState:
    if phase.poll is None:
        state, number = fresh_poll(state)
        return replace(state, turn=replace(state.turn, phase=replace(phase, poll=number)))
    if not polled(state, phase.poll):
        return state
    if newer_input(state):
        return _claim(state, rules)
    if phase.delivered is not None:
        return close_run(state, rules, phase.delivered, save=False)
    return fail(state, rules, FailureKind.FEED, "the run has no pending input", save=False)


def _claim(state: RunState, rules: Rules) -> RunState:
    limit = rules.spec.limits.turns
    if limit and state.turn.turns >= limit:
        return fail(state, rules, FailureKind.TURN_LIMIT, f"the run reached its limit of {limit} turns")
    state = want_claim(state, state.feed.claimed, state.feed.latest)
    saving = replace(state.saving, outcome=None)
    return replace(state, saving=saving, turn=replace(state.turn, phase=Claiming()))


def _looping(state: RunState, phase: Looping, rules: Rules) -> RunState:
    acting = state.loop.phase
    if not isinstance(acting, Acting) or not saved(state, phase.mark):
        return state
    if not acting.begun and newer_input(state):
        state = drop_batch(state, rules)
        return replace(state, turn=replace(state.turn, phase=BetweenTurns(state.feed.answered)))
    if not state.batch.open:
        # What the batch changed beside its records goes with a step; usually nothing did, and the gate is open.
        mark = state.saving.mark
        return want(replace(state, turn=replace(state.turn, phase=BetweenIterations(mark))), mark)
    return start_calls(state, rules)


def _between_iterations(state: RunState, phase: BetweenIterations, rules: Rules) -> RunState:
    if not saved(state, phase.mark):
        return state
    if phase.poll is None:
        waits_for = tuple(live.record.id for live in state.batch.live.values() if waiting(live.record))
        if waits_for:
            return close_run(state, rules, Suspended(waits_for, state.feed.claimed), save=False)
        state, number = fresh_poll(state)
        return replace(state, turn=replace(state.turn, phase=replace(phase, poll=number)))
    if not polled(state, phase.poll):
        return state
    if newer_input(state):
        return replace(close_batch(state), turn=replace(state.turn, phase=BetweenTurns(phase.poll)))
    return next_iteration(state)


def _concluding(state: RunState, phase: Concluding, rules: Rules) -> RunState:
    if not saved(state, phase.mark):
        return want(state, phase.mark)
    if phase.poll is None:
        state, number = fresh_poll(state)
        return replace(state, turn=replace(state.turn, phase=replace(phase, poll=number)))
    if not polled(state, phase.poll):
        return state
    if newer_input(state):
        state = supersede(state, phase.text, rules)
        return replace(state, turn=replace(state.turn, phase=BetweenTurns(phase.poll)))
    if not phase.text:
        return fail(state, rules, FailureKind.EMPTY_RESPONSE, "the model said nothing, twice")
    return close_run(state, rules, Delivered(phase.text, state.feed.claimed))
