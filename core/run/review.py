"""The guard: it sees a text before it is delivered, and may accept it, have it put right, or end the run otherwise."""

from ...effects.model import ModelRequest
from ...effects.outcome import FailureKind
from ...effects.question import Accept, Correct, Finish, QuestionCutOff, QuestionFailed, TurnView, Verdict, VerdictGiven
from ...effects.record import Completion, CompletionSource, Standing, ToolCall
from ...effects.transcript import Sealed, UserMessage, clean_text
from ...effects.values import replace
from .ending import fail
from .goal import Reason, activate, charge, corrections_left, fall_back, final_iteration
from .phases import Concluding, Rerunning, Reviewing
from .process import keep_text
from .records import NotJson, clean_notes, json_text
from .requests import request_for
from .saving import record_rejected, touch
from .spec import Rules
from .state import RunState
from .superseding import supersede


def turn_view(state: RunState, phase: Reviewing, rules: Rules) -> TurnView:
    """What the guard is shown; the same after a resume."""
    spent = final_iteration(state, rules)
    asked: ModelRequest = request_for(state, rules, state.model.call_id, len(state.loop.context) - 1)
    return TurnView(
        messages=state.turn.claim,
        input=asked,
        calls=tuple(state.process.calls[state.turn.first_call :]),
        text=phase.text,
        superseded=phase.superseded,
        truncated=phase.cut,
        budget_spent=spent,
        corrections_left=corrections_left(state, rules),
    )


def on_verdict(state: RunState, event: VerdictGiven | QuestionFailed | QuestionCutOff, rules: Rules) -> RunState:
    """The guard has spoken; its notes are saved whatever it says (N-06). A guard that fails ends the run."""
    phase = state.turn.phase
    assert isinstance(phase, Reviewing)
    # The question is answered, so there is nothing to withdraw when the run ends here.
    state = replace(state, turn=replace(state.turn, phase=replace(phase, ticket=None)))
    match event:
        case VerdictGiven(verdict=verdict):
            return _rule(_annotate(state, verdict), phase, verdict, rules)
        case QuestionFailed(message=message):
            return fail(state, rules, FailureKind.EXTENSION, f"the guard failed: {message}")
        case QuestionCutOff():
            return fail(state, rules, FailureKind.EXTENSION, "the guard was cut off")


def _annotate(state: RunState, verdict: Verdict) -> RunState:
    """Notes go on the records they name, with the next step; unknown names are ignored."""
    wanted = {record_id: notes for record_id, notes in verdict.notes.items() if notes}
    calls, saving = state.process.calls, state.saving
    noted: dict[int, ToolCall] = {}
    for place in range(len(calls) - 1, -1, -1):
        if not wanted:
            break
        record = calls[place]
        notes = wanted.pop(record.id, None)
        if notes is not None:
            noted[place] = replace(record, rev=record.rev + 1, notes={**record.notes, **clean_notes(notes)})
    if not noted:
        return state
    first = min(noted)
    kept = calls.cut(first).extend(noted.get(place, calls[place]) for place in range(first, len(calls)))
    saving = replace(saving, calls={**saving.calls, **{record.id: record for record in noted.values()}})
    return touch(replace(state, process=replace(state.process, calls=kept), saving=saving))


def _rule(state: RunState, phase: Reviewing, verdict: Verdict, rules: Rules) -> RunState:
    if phase.superseded:
        return supersede(state, phase.text, rules)
    mark = state.saving.mark
    match verdict.ruling:
        case Accept():
            return _turn(state, Concluding(phase.text, mark, reviewed=True, cut=phase.cut))
        case Correct(prompt=prompt):
            return _correct(state, phase, clean_text(prompt), rules)
        case Finish(value=value, fixed=fixed):
            try:
                completion = Completion(CompletionSource.GUARD, json_text(value), fixed)
            except NotJson as error:
                text = f"the guard gave a value that cannot be written as JSON: {error}"
                return fail(state, rules, FailureKind.EXTENSION, text)
            return _end(activate(state, completion), phase)


def _correct(state: RunState, phase: Reviewing, prompt: str, rules: Rules) -> RunState:
    """The text is rejected: ask again while corrections are left, else fall back, else fail (RT-13, RT-14).

    The verdict is saved in any case, so nobody reviews the text again: a run that failed is resumed with the prompt.
    """
    spent = final_iteration(state, rules)
    item = Sealed.of(UserMessage(prompt, timestamp=state.clock.now))
    if not spent and corrections_left(state, rules):
        state = keep_text(record_rejected(charge(state), item), phase.text, Standing.REJECTED)
        length = len(state.loop.context)
        turn = replace(
            state.turn,
            phase=Rerunning((item,), state.saving.mark),
            passing=(*state.turn.passing, length - 1, length),
        )
        return replace(state, turn=turn)
    if rules.functions.fallback is not None:
        reason = Reason.BUDGET_EXHAUSTED if spent else Reason.GUARD_REJECTED
        return _end(fall_back(state, rules, reason), phase)
    state = keep_text(record_rejected(state, item), phase.text, Standing.REJECTED)
    return fail(state, rules, FailureKind.GUARD_REJECTED, "the guard rejected the text, and no correction was left")


def _end(state: RunState, phase: Reviewing) -> RunState:
    """A value ends the run in place of the text."""
    if state.goal.active is None:
        return state
    state = keep_text(state, phase.text, Standing.REJECTED)
    return _turn(state, Concluding("", state.saving.mark))


def _turn(state: RunState, phase: Concluding) -> RunState:
    return replace(state, turn=replace(state.turn, phase=phase))
