"""Structured ends: which outputs may complete a run, what a wrong one costs, and what stands in when nothing is left.

One pool of corrections serves outputs that break the rules of completion tools, completion calls that fail, and texts
that the guard rejects. What a batch did is accounted when it is over, from its records; so a resume, which finds the
same records, comes to the same end (decision 3).
"""

from enum import StrEnum

from ...effects.outcome import FailureKind
from ...effects.record import CallStatus, Completion, CompletionSource
from ...effects.transcript import CallPart
from ...effects.values import replace
from ..text import fill
from .calls import tool_name
from .ending import fail
from .records import NotJson, json_text
from .saving import log_length, record_charge, touch
from .spec import Rules
from .state import RunState


class Reason(StrEnum):
    """Why a fallback ended the run."""

    CORRECTIONS_EXHAUSTED = "corrections_exhausted"
    BUDGET_EXHAUSTED = "budget_exhausted"
    GUARD_REJECTED = "guard_rejected"


def final_iteration(state: RunState, rules: Rules) -> bool:
    """Whether this iteration is the last of its turn: only completion tools are on offer, and it says so (N-02)."""
    return state.turn.iterations >= rules.spec.limits.iterations


def corrections_left(state: RunState, rules: Rules) -> int:
    """How many outputs may still be put right."""
    return max(0, rules.spec.limits.corrections - state.goal.corrections)


def tools_told(rules: Rules) -> str:
    """The completion tools, as the model is told of them."""
    return rules.words.separator.join(rules.completion)


def violations(state: RunState, parts: tuple[CallPart, ...], rules: Rules) -> tuple[str, ...]:
    """What is wrong with an output's calls taken together, a text for each call; nothing for a good output.

    A completion tool is called once and alone, and at the end of the budget nothing else is on offer (decision 13).
    """
    completing = sum(part.name in rules.completion for part in parts)
    if completing > 1:
        return (fill(rules.words.batch_too_many, tools=tools_told(rules)),) * len(parts)
    if completing and len(parts) > 1:
        return (fill(rules.words.batch_mixed, tools=tools_told(rules)),) * len(parts)
    if not completing and final_iteration(state, rules):
        return tuple(fill(rules.words.not_offered, name=part.name) for part in parts)
    return ()


def account(state: RunState, rules: Rules) -> RunState:
    """What a settled batch means for the end of the run: a completion, or a correction for one that failed.

    A value counts whether or not its tool could still give one: what was saved with the call stands.
    """
    if len(state.batch.live) != 1:
        return state
    (live,) = state.batch.live.values()
    record = live.record
    if record.status == CallStatus.SUCCEEDED and record.completion is not None:
        value, fixed = record.completion.value, record.completion.fixed
        return activate(state, Completion(CompletionSource.TOOL, value, fixed, record.id))
    failed = tool_name(state, live) in rules.completion and record.status == CallStatus.FAILED
    return reject(state, rules) if failed else state


def activate(state: RunState, completion: Completion) -> RunState:
    """The run has a value to end with, unless it has a fixed one already."""
    active = state.goal.active
    if active == completion or (active is not None and active.fixed):
        return state
    return touch(replace(state, goal=replace(state.goal, active=completion)))


def reject(state: RunState, rules: Rules) -> RunState:
    """The last output will not do: charge a correction for it, once, or end the run where there is none left."""
    if state.goal.charged == log_length(state):
        return state
    spent = final_iteration(state, rules)
    if not spent and corrections_left(state, rules):
        return charge(state)
    if rules.functions.fallback is not None:
        return fall_back(state, rules, Reason.BUDGET_EXHAUSTED if spent else Reason.CORRECTIONS_EXHAUSTED)
    if spent:
        # Said once: a run that is resumed goes on from there, with newer input or with another answer.
        state = record_charge(replace(state, goal=replace(state.goal, charged=log_length(state))))
        text = f"the turn reached its limit of {state.turn.iterations} iterations, and its last output is no answer"
        return fail(state, rules, FailureKind.TOOL_LIMIT, text)
    return state


def charge(state: RunState) -> RunState:
    """One correction is used for the output at the end of the log."""
    goal = state.goal
    goal = replace(goal, corrections=goal.corrections + 1, charged=log_length(state))
    return record_charge(replace(state, goal=goal))


def fall_back(state: RunState, rules: Rules, reason: Reason) -> RunState:
    """The host's value ends the run; a function that raises fails it (N-03)."""
    function = rules.functions.fallback
    assert function is not None
    try:
        value = json_text(function(reason.value))
    except NotJson as error:
        return fail(state, rules, FailureKind.EXTENSION, f"the fallback value cannot be written as JSON: {error}")
    except Exception as error:
        text = f"the fallback for {reason.value} failed: {type(error).__name__}: {error}"
        return fail(state, rules, FailureKind.EXTENSION, text)
    return activate(state, Completion(CompletionSource.FALLBACK, value, fixed=True, reason=reason.value))
