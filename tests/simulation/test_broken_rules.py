"""Broken rules are found: the fold with one rule taken out of it, in worlds that look at it from outside only.

Each rule is broken where it stands in the code, so a rule that moves takes its test with it. The simulator must find
each within the budget of the default run, without a look into the state, and tell it in a story that fits a screen.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, find, settings
from turnfold.core.loop import Acting, Item, Loop, Resting
from turnfold.core.run import calls, debts, gates, recovery, superseding, turns
from turnfold.core.run.calls import put
from turnfold.core.run.keys import Keys
from turnfold.core.run.phases import CallRunning, CallStarting, Opening
from turnfold.core.run.spec import Rules
from turnfold.core.run.state import LiveCall, RunState
from turnfold.effects.journal import CallSaved
from turnfold.effects.outcome import Delivered, Outcome
from turnfold.effects.record import CallStatus
from turnfold.effects.transcript import Usage
from turnfold.effects.values import replace
from turnfold.shells.simulate import PromiseBroken, Watch, run_schedule, shrink

from tests.simulation.test_generated_worlds import WORLDS
from tests.simulation.worlds import CASES, Case

LONGEST = 26
"""How many lines a story may take. The shortest whole run takes eleven, and one with a call sixteen."""

Patch = pytest.MonkeyPatch
RULES: list[Callable[[Patch], None]] = []


def rule(broken: Callable[[Patch], None]) -> Callable[[Patch], None]:
    """One broken rule; its name says what it does wrong."""
    RULES.append(broken)
    return broken


# --- saved before acted on


@rule
def a_tool_starts_before_its_record_is_saved(patch: Patch) -> None:
    start = gates.start_calls

    def started(state: RunState, rules: Rules) -> RunState:
        state = start(state, rules)
        for live in state.batch.live.values():
            if isinstance(live.phase, CallStarting):
                state = put(state, replace(live, phase=CallRunning()), owed=True)
        return state

    patch.setattr(gates, "start_calls", started)


@rule
def the_model_is_called_before_the_step_is_saved(patch: Patch) -> None:
    patch.setattr(gates, "saved", lambda state, mark: True)


@rule
def an_outcome_is_given_before_its_step_is_saved(patch: Patch) -> None:
    close = gates.close_run

    def closed(state: RunState, rules: Rules, outcome: Outcome, save: bool = True) -> RunState:
        return close(state, rules, outcome, save and not isinstance(outcome, Delivered))

    patch.setattr(gates, "close_run", closed)


@rule
def what_the_store_answers_is_not_adopted(patch: Patch) -> None:
    saved = calls.on_call_saved

    def unheard(state: RunState, event: CallSaved, rules: Rules, record_id: str) -> RunState:
        return saved(state, replace(event, call=state.batch.live[record_id].record), rules, record_id)

    patch.setattr(calls, "on_call_saved", unheard)


@rule
def the_lease_is_ignored(patch: Patch) -> None:
    patch.setattr(debts, "_time_to_spare", lambda state: True)


# --- recovery


@rule
def recovery_takes_running_for_never_started(patch: Patch) -> None:
    patch.setattr(recovery, "by_traits", recovery.never_started)


@rule
def recovery_takes_never_started_for_running(patch: Patch) -> None:
    patch.setattr(recovery, "never_started", recovery.by_traits)


@rule
def recovery_runs_an_interrupted_call_again(patch: Patch) -> None:
    def again(state: RunState, live: LiveCall, rules: Rules) -> RunState:
        if live.record.settled or live.record.handover:
            return recovery.show_result(state, live, rules)
        record = replace(live.record, status=CallStatus.RUNNING, rev=live.record.rev + 1)
        return put(state, replace(live, record=record, phase=CallStarting()), owed=True)

    patch.setattr(recovery, "_go_on_with", again)


@rule
def a_call_that_waits_is_settled_again(patch: Patch) -> None:
    patch.setattr(gates, "waiting", lambda call, now: False)


@rule
def the_claim_is_not_replayed(patch: Patch) -> None:
    after = gates._after_recovery

    def skipped(state: RunState, *rest: Any) -> RunState:
        state = after(state, *rest)
        return replace(state, life=Opening(replayed=True)) if isinstance(state.life, Opening) else state

    patch.setattr(gates, "_after_recovery", skipped)


# --- input


@rule
def a_poll_from_before_the_gate_counts(patch: Patch) -> None:
    patch.setattr(gates, "fresh_poll", lambda state: (state, state.feed.answered))


@rule
def newer_input_is_overlooked(patch: Patch) -> None:
    patch.setattr(gates, "newer_input", lambda state: not state.feed.claimed and state.feed.latest > 0)


@rule
def input_is_taken_twice(patch: Patch) -> None:
    patch.setattr(Keys, "__contains__", lambda self, key: False)


# --- what the model and the viewers see


@rule
def results_enter_in_the_order_of_completion(patch: Patch) -> None:
    def close(loop: Loop) -> tuple[Loop, tuple[Item, ...]]:
        acting = loop.phase
        assert isinstance(acting, Acting)
        results = tuple(acting.results.values())
        return Loop(loop.context.extend(results), Resting()), results

    patch.setattr(turns, "close", close)


@rule
def a_batch_is_dropped_without_results(patch: Patch) -> None:
    drop = gates.drop_batch

    def dropped(state: RunState, rules: Rules) -> RunState:
        context = state.loop.context
        state = drop(state, rules)
        return replace(state, loop=replace(state.loop, context=context))

    patch.setattr(gates, "drop_batch", dropped)


@rule
def results_are_not_stored(patch: Patch) -> None:
    patch.setattr(turns, "hold", lambda state, entry: state)


@rule
def a_discarded_text_stays_stored(patch: Patch) -> None:
    patch.setattr(superseding, "cut_last", lambda state: state)


@rule
def viewers_keep_what_was_withdrawn(patch: Patch) -> None:
    patch.setattr(turns, "withdraw", lambda state: state)


@rule
def tokens_are_forgotten(patch: Patch) -> None:
    def count(state: RunState, usage: Usage) -> RunState:
        return replace(state, process=replace(state.process, usage=usage))

    patch.setattr(turns, "_count", count)


@pytest.mark.parametrize("broken", RULES, ids=lambda broken: broken.__name__)
def test_a_broken_rule_is_found_and_told_in_a_short_story(broken: Callable[[Patch], None], monkeypatch: Patch) -> None:
    """From outside, within the default budget, and short enough to be read."""
    broken(monkeypatch)

    def breaks(case: Case) -> bool:
        try:
            run_schedule(case.scenario, case.schedule, watch=Watch.FROM_OUTSIDE)
        except PromiseBroken:
            return True
        return False

    case = find(CASES, breaks, settings=settings(max_examples=WORLDS, phases=[Phase.generate]))
    told = shrink(case.scenario, case.schedule, watch=Watch.FROM_OUTSIDE)
    assert len(told.trace) <= LONGEST, str(told)
    assert sum(map(bool, told.schedule)) <= 6, str(told)
