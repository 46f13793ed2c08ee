"""Paused calls that go on, and calls of an earlier execution that their tools know of.

Decisions are carried out one after another, in call order, within the turn that asked for them (run by run, once): the
record is saved as running before an approved tool starts, so nothing is carried out twice (decision 17).
"""

from collections.abc import Mapping
from typing import Any

from ...effects.question import NeverHappened, QuestionCutOff, QuestionFailed, Reconciled
from ...effects.record import CallStatus
from ...effects.tool import ToolResult
from ...effects.values import replace
from ..text import fill
from .calls import by_traits, conclude, fail_call, never_started, put, resettle, tool_name
from .phases import CallDecided, CallSettled, CallStarting, Closing
from .records import effective_arguments, expired, parse_arguments, paused, result_fields, waiting
from .spec import Rules
from .state import LiveCall, RunState


def take_up(state: RunState) -> RunState:
    """Paused calls that have a decision, or whose time to get one is over, go on."""
    for live in state.batch.live.values():
        record = live.record
        if isinstance(live.phase, CallSettled) and paused(record) and not waiting(record, state.clock.now):
            state = _decided(state, live)
    return state


def _decided(state: RunState, live: LiveCall) -> RunState:
    state = put(state, replace(live, phase=CallDecided()), view=False)
    return replace(state, batch=replace(state.batch, deciding=True))


def carry_out(state: RunState, rules: Rules) -> RunState:
    """Begin the next decision, unless one is under way."""
    lives = state.batch.live.values()
    if any(not isinstance(live.phase, CallDecided | CallSettled) for live in lives):
        return state
    for live in lives:
        if isinstance(live.phase, CallDecided):
            return _carry_out(state, live, rules)
    return state


def _carry_out(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    record, decision, words = live.record, live.record.decision, rules.words
    if decision is None or expired(decision.expires_at, state.clock.now):
        return resettle(state, live, CallStatus.REJECTED, words.expired)
    if decision.digest and decision.digest != record.digest:
        return fail_call(state, live, words.decision_void)
    if decision.result is not None:
        return resettle(state, live, CallStatus.SUCCEEDED, decision.result)
    if not decision.approved:
        text = fill(words.rejected_for, reason=decision.reason) if decision.reason else words.rejected
        return resettle(state, live, CallStatus.REJECTED, text)
    problem = _problem(state, live, rules)
    if problem:
        return fail_call(state, live, problem)
    running = replace(record, status=CallStatus.RUNNING, rev=record.rev + 1, started_at=state.clock.now)
    return put(state, replace(live, record=running, phase=CallStarting()), owed=True)


def _problem(state: RunState, live: LiveCall, rules: Rules) -> str:
    """Why an approved call cannot run after all (decisions 17 and 35)."""
    name, words = tool_name(state, live), rules.words
    tool = rules.tools.get(name)
    if tool is None:
        return fill(words.unknown_tool, name=name)
    if tool.completion:
        return fill(words.cannot_confirm, name=name)
    text = effective_arguments(live.record)
    arguments = parse_arguments(text)
    if isinstance(arguments, str):
        return fill(words.edit_invalid, problem=arguments)
    problem = _check(rules, name, arguments) if text is not live.record.arguments else ""
    return fill(words.edit_invalid, problem=problem) if problem else ""


def _check(rules: Rules, name: str, arguments: Mapping[str, Any]) -> str:
    check = rules.functions.checks.get(name)
    try:
        return check(arguments) if check is not None else ""
    except Exception as error:
        return f"they could not be checked: {type(error).__name__}: {error}"


def on_reconciled(
    state: RunState, event: Reconciled | QuestionFailed | QuestionCutOff, rules: Rules, record_id: str
) -> RunState:
    """What became of the call is known, or its traits decide (decision 11)."""
    live = state.batch.live[record_id]
    match event:
        case Reconciled(finding=ToolResult() as result):
            return conclude(state, live, **result_fields(result))
        case Reconciled(finding=NeverHappened()):
            decision = live.record.decision
            if decision is None or not decision.approved or isinstance(state.life, Closing):
                return never_started(state, live, rules)
            return _decided(state, live)
        case _:
            return by_traits(state, live, rules)


def give_up_paused(state: RunState, rules: Rules) -> RunState:
    """A cancelled run asks nobody any more: calls that are paused did not run, and nobody can approve them later.

    So it is with one that is owed again, since its tool knows that it never happened.
    """
    for live in state.batch.live.values():
        if isinstance(live.phase, CallDecided) or (isinstance(live.phase, CallSettled) and paused(live.record)):
            state = never_started(state, live, rules)
    return state
