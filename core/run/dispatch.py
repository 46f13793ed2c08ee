"""How calls start: what is wrong with them, what their policies say, and then run, submit or pause.

A policy is asked for each call that has one; calls start in call order, each once those in front of it are clear.
"""

from typing import Any

from ...effects.question import CallPolicy, PolicyGiven, QuestionCutOff, QuestionFailed
from ...effects.record import CallStatus, Handover
from ...effects.tool import ToolSpec
from ...effects.transcript import CallPart, without_nul
from ...effects.values import replace
from ..loop import Acting, begin, startable
from ..text import fill
from .calls import fail_call, never_started, put, tool_name
from .phases import CallAsking, CallCleared, CallHandingOver, CallStarting, Closing
from .records import NotJson, clean_notes, json_text, parse_arguments
from .spec import Rules
from .state import LiveCall, RunState

NO_POLICY = CallPolicy()


def start_calls(state: RunState, rules: Rules) -> RunState:
    """Prepare the calls that may start now, in call order: each fails, or is asked about, or is clear to start."""
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    indices = startable(acting)
    if indices:
        lives = list(state.batch.live.values())
        state = replace(state, loop=begin(state.loop, indices.stop))
        for index in indices:
            state = _prepare(state, lives[index], acting.calls[index], rules)
    return _start_cleared(state, rules)


def _prepare(state: RunState, live: LiveCall, part: CallPart, rules: Rules) -> RunState:
    problem = _problem(state, rules, part)
    if problem:
        return fail_call(state, live, problem)
    if rules.tools[part.name].has_policy:
        return put(state, replace(live, phase=CallAsking()), owed=True, view=False)
    return put(state, replace(live, phase=CallCleared(NO_POLICY)), view=False)


def _problem(state: RunState, rules: Rules, part: CallPart) -> str:
    words = rules.words
    if state.batch.cut:
        return fill(words.cut_off, name=part.name)
    if part.name not in rules.tools:
        return fill(words.unknown_tool, name=part.name)
    arguments = parse_arguments(part.arguments)
    if isinstance(arguments, str):
        return fill(words.invalid_arguments, name=part.name, problem=arguments)
    return ""


def on_policy(
    state: RunState, event: PolicyGiven | QuestionFailed | QuestionCutOff, rules: Rules, record_id: str
) -> RunState:
    """The call is clear; a policy that failed fails the call, and the model sees the text (N-12)."""
    live = state.batch.live[record_id]
    if isinstance(state.life, Closing):
        return never_started(state, live, rules)
    match event:
        case PolicyGiven(policy=policy):
            return put(state, replace(live, phase=CallCleared(policy)), view=False)
        case QuestionFailed(message=message):
            return fail_call(state, live, message)
        case QuestionCutOff():
            return fail_call(state, live, "the question for the call's policy was cut off")


def _start_cleared(state: RunState, rules: Rules) -> RunState:
    for live in state.batch.live.values():
        match live.phase:
            case CallAsking():
                break
            case CallCleared(policy=policy):
                state = _start(state, live, policy, rules)
            case _:
                continue
    return state


def _start(state: RunState, live: LiveCall, policy: CallPolicy, rules: Rules) -> RunState:
    record = live.record
    record = replace(
        record,
        replayable=record.replayable if policy.replayable is None else policy.replayable,
        side_effects=record.side_effects if policy.side_effects is None else policy.side_effects,
        notes={**record.notes, **clean_notes(policy.notes)},
    )
    if policy.submit is not None or policy.confirm is not None:
        return _hand_over(state, replace(live, record=record), policy, rules)
    record = replace(record, status=CallStatus.RUNNING, rev=record.rev + 1, started_at=state.clock.now)
    return put(state, replace(live, record=record, phase=CallStarting()), owed=True)


def _hand_over(state: RunState, live: LiveCall, policy: CallPolicy, rules: Rules) -> RunState:
    """Submit or pause the call, which the host may refuse; a call that ends the run can be neither (decision 18)."""
    name, words = tool_name(state, live), rules.words
    if policy.submit is not None and policy.confirm is not None:
        return fail_call(state, live, fill(words.submit_and_confirm, name=name))
    tool = rules.tools[name]
    if tool.completion:
        return fail_call(state, live, fill(_refusal(tool, policy, rules), name=name))
    try:
        fields = _handed(state, policy)
    except NotJson as error:
        return fail_call(state, live, fill(words.not_json, name=name, problem=str(error)))
    handed = replace(live.record, rev=live.record.rev + 1, status=CallStatus.AWAITING_DECISION, **fields)
    return put(state, replace(live, record=handed, phase=CallHandingOver(live.record)), owed=True)


def _refusal(tool: ToolSpec, policy: CallPolicy, rules: Rules) -> str:
    return rules.words.cannot_confirm if policy.confirm is not None else rules.words.cannot_hand_over


def _handed(state: RunState, policy: CallPolicy) -> dict[str, Any]:
    now = state.clock.now
    if policy.submit is not None:
        return {
            "handover": Handover.SUBMITTED,
            "result": without_nul(policy.submit.receipt),
            "payload": json_text(policy.submit.payload),
            "started_at": now,
        }
    assert policy.confirm is not None
    lasts = policy.confirm.expires_in_ms
    return {"payload": json_text(policy.confirm.payload), "expires_at": None if lasts is None else now + lasts}
