"""Endings: from the decision that a run is over to the last thing that happens (decisions 2, 5, 33 and 34).

The order is always the same: what is in flight is cut off; calls are settled by what they are; the last step is saved
with the outcome; the lease is given back; then, with nothing in flight, the run has ended.
"""

from ...effects.lifecycle import RunResult
from ...effects.outcome import Failed, FailureKind, Outcome
from ...effects.record import Standing
from ...effects.transcript import ZERO_USAGE, ModelError, clean_text
from ...effects.values import replace
from ..loop import Asking
from .calls import abandon_writes, cut_calls
from .phases import BetweenTurns, Closing, Ended, Resting, Reviewing, Unwatched
from .process import keep_text, withdraw
from .saving import saved, want
from .spec import Rules
from .state import RunState


def fail(
    state: RunState,
    rules: Rules,
    kind: FailureKind,
    message: str,
    error: ModelError | None = None,
    save: bool = True,
) -> RunState:
    """The run fails; a run that is ending already keeps the failure it had."""
    return close_run(state, rules, Failed(kind, clean_text(message), state.feed.claimed, error), save)


def close_run(state: RunState, rules: Rules, outcome: Outcome, save: bool = True) -> RunState:
    """The outcome is decided: cut off what is in flight, and begin to close.

    Where nothing has happened since an outcome was delivered, that one stays what is saved.
    """
    if isinstance(state.life, Closing):
        return state
    phase = state.turn.phase
    kept = isinstance(phase, BetweenTurns) and phase.delivered is not None
    guard = phase.ticket if isinstance(phase, Reviewing) else None
    return _wind_down(replace(state, life=Closing(outcome, save and not kept, guard=guard)), rules)


def _wind_down(state: RunState, rules: Rules) -> RunState:
    state = cut_calls(_stop_model(state), rules)
    return replace(state, turn=replace(state.turn, phase=Resting()))


def _stop_model(state: RunState) -> RunState:
    phase = state.loop.phase
    if not isinstance(phase, Asking):
        return state
    model = replace(state.model, wanted=False, until=0)
    if model.ticket is not None:
        model = replace(model, ticket=None, withdrawn=model.ticket, late=phase.partial.spent)
    text = "".join(state.process.candidate).strip()
    state = withdraw(replace(state, model=model))
    return keep_text(state, text, Standing.BROKEN_OFF) if text else state


def on_unwritable(state: RunState, rules: Rules, kind: FailureKind, message: str) -> RunState:
    """The journal cannot, or must not, be written any more: end without another write.

    A failure that was decided before stands; an outcome that is not saved is no outcome.
    """
    failure = Failed(kind, clean_text(message), state.feed.claimed)
    life = state.life
    if not isinstance(life, Closing):
        phase = state.turn.phase
        guard = phase.ticket if isinstance(phase, Reviewing) else None
        closing = Closing(failure, writable=False, guard=guard)
        return abandon_writes(_wind_down(replace(state, life=closing), rules), rules.words)
    was_saved = not life.save or (life.mark is not None and saved(state, life.mark))
    outcome = life.outcome if was_saved or isinstance(life.outcome, Failed) else failure
    state = replace(state, life=replace(life, outcome=outcome, writable=False, given_back=True))
    return abandon_writes(state, rules.words)


def on_attempt_ended(state: RunState) -> RunState:
    """The lease is given back."""
    assert isinstance(state.life, Closing)
    return replace(state, life=replace(state.life, given_back=True))


def end_busy(state: RunState, until: int) -> RunState:
    """Another executor holds the run: this execution never began."""
    return replace(state, life=Ended(RunResult(None, ZERO_USAGE, busy_until=until)))


def advance_closing(state: RunState) -> RunState:
    """Take the next step of closing that is possible now."""
    life = state.life
    assert isinstance(life, Closing)
    if state.model.withdrawn is not None or state.batch.open:
        return state
    if life.writable and not life.given_back:
        if not life.save or life.mark is not None:
            return state
        mark = state.saving.mark + 1
        state = replace(state, saving=replace(state.saving, mark=mark, outcome=life.outcome))
        return want(replace(state, life=replace(life, mark=mark)), mark)
    watching = 0 if isinstance(state.feed.watch, Unwatched) else 1
    if len(state.tickets.in_flight) > watching:
        return state
    return replace(state, life=Ended(_result(state, life.outcome)))


def _result(state: RunState, outcome: Outcome) -> RunResult:
    process = state.process
    return RunResult(
        outcome=outcome,
        usage=process.spending.total,
        spending=process.spending,
        blocks=tuple(process.blocks),
        calls=(*process.calls, *(live.record for live in state.batch.live.values())),
        plan=process.plan,
        changed=state.extended.changed,
    )
