"""Broken rules are found: the fold with one rule taken out of it, in worlds that look at it from outside only.

Each rule is broken where it stands in the code, so a rule that moves takes its test with it. The simulator must find
each within the budget of the default run, without a look into the state, and tell it in a story that fits a screen.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from turnfold.core.loop import Acting, Item, Loop, Resting
from turnfold.core.run import (
    calls,
    debts,
    decisions,
    dispatch,
    gates,
    goal,
    recovery,
    review,
    saving,
    superseding,
    turns,
)
from turnfold.core.run.calls import put
from turnfold.core.run.keys import Keys
from turnfold.core.run.phases import (
    CallHandingOver,
    CallRunning,
    CallStarting,
    Concluding,
    Opening,
)
from turnfold.core.run.spec import Rules
from turnfold.core.run.state import Extended, LiveCall, RunState
from turnfold.effects.journal import CallSaved
from turnfold.effects.outcome import Completed, Delivered, Outcome
from turnfold.effects.question import CallPolicy
from turnfold.effects.record import CallDecision, CallStatus
from turnfold.effects.spending import NO_SPENDING, Spent
from turnfold.effects.transcript import ModelError
from turnfold.effects.values import replace
from turnfold.shells.simulate import PromiseBroken, Watch, run_schedule, shrink

from tests.simulation.explore import tape
from tests.simulation.test_generated_worlds import WORLDS
from tests.simulation.worlds import Case, case

LONGEST = 34
"""How many lines a story may take. The shortest whole run takes eleven, one that waits for a decision twenty-six."""

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
    def count(state: RunState, spent: Spent) -> RunState:
        return replace(state, process=replace(state.process, spending=NO_SPENDING.plus(spent)))

    patch.setattr(turns, "_count", count)


@rule
def tokens_are_nobodys(patch: Patch) -> None:
    def count(state: RunState, spent: Spent) -> RunState:
        spending = state.process.spending.plus(replace(spent, model=""))
        return replace(state, process=replace(state.process, spending=spending))

    patch.setattr(turns, "_count", count)


# --- calls that are not simply run


@rule
def a_decision_is_carried_out_twice(patch: Patch) -> None:
    on_call_saved = calls.on_call_saved

    def again(state: RunState, event: CallSaved, rules: Rules, record_id: str) -> RunState:
        live, record = state.batch.live[record_id], event.call
        if record.decision is None or not record.decision.approved or record.status != CallStatus.SUCCEEDED:
            return on_call_saved(state, event, rules, record_id)
        record = replace(record, status=CallStatus.RUNNING)
        live = replace(live, record=record, phase=CallRunning(), writing=None, saved_rev=record.rev)
        return put(state, live, owed=True)

    patch.setattr(calls, "on_call_saved", again)


def started_anyway(patch: Patch, which: str) -> None:
    """A call that should be handed over starts instead."""
    hand_over = dispatch._hand_over

    def handed(state: RunState, live: LiveCall, policy: CallPolicy, rules: Rules) -> RunState:
        if getattr(policy, which) is None:
            return hand_over(state, live, policy, rules)
        return dispatch._start(state, live, CallPolicy(), rules)

    patch.setattr(dispatch, "_hand_over", handed)


@rule
def a_paused_call_runs_without_a_decision(patch: Patch) -> None:
    started_anyway(patch, "confirm")


@rule
def a_submission_runs_its_tool(patch: Patch) -> None:
    started_anyway(patch, "submit")


@rule
def a_step_is_saved_while_a_pause_is_written(patch: Patch) -> None:
    start = gates.start_calls

    def started(state: RunState, rules: Rules) -> RunState:
        state = start(state, rules)
        lives = state.batch.live.values()
        pausing = any(isinstance(live.phase, CallHandingOver) and live.writing is not None for live in lives)
        if pausing and state.saving.wanted <= state.saving.saved:
            state = saving.touch(state)
            state = saving.want(state, state.saving.mark)
        return state

    patch.setattr(gates, "start_calls", started)


@rule
def edited_arguments_are_ignored(patch: Patch) -> None:
    patch.setattr(debts, "effective_arguments", lambda record: record.arguments)


@rule
def a_rejection_counts_as_an_approval(patch: Patch) -> None:
    carry_out = decisions._carry_out

    def approved(state: RunState, live: LiveCall, rules: Rules) -> RunState:
        decision = replace(live.record.decision or CallDecision(), approved=True)
        return carry_out(state, replace(live, record=replace(live.record, decision=decision)), rules)

    patch.setattr(decisions, "_carry_out", approved)


@rule
def an_approval_that_is_too_old_counts(patch: Patch) -> None:
    patch.setattr(decisions, "expired", lambda end, now: False)


@rule
def a_cancelled_run_leaves_calls_to_be_decided(patch: Patch) -> None:
    patch.setattr(decisions, "give_up_paused", lambda state, rules: state)
    patch.setattr(calls, "_was_cancelled", lambda state: False)


# --- how a run ends


@rule
def a_correction_is_not_charged(patch: Patch) -> None:
    for module in (goal, review):
        patch.setattr(module, "charge", lambda state: state)


@rule
def a_correction_is_charged_twice(patch: Patch) -> None:
    charge = goal.charge
    for module in (goal, review):
        patch.setattr(module, "charge", lambda state: charge(charge(state)))


@rule
def a_value_is_delivered_over_newer_input(patch: Patch) -> None:
    conclude = gates._concluding

    def at_once(state: RunState, phase: Concluding, rules: Rules) -> RunState:
        active = state.goal.active
        if active is not None and saving.saved(state, phase.mark):
            return gates.close_run(state, rules, Completed(active, state.feed.claimed))
        return conclude(state, phase, rules)

    patch.setattr(gates, "_concluding", at_once)


@rule
def a_fixed_value_is_superseded(patch: Patch) -> None:
    activate = goal.activate
    for module in (goal, review):
        patch.setattr(module, "activate", lambda state, value: activate(state, replace(value, fixed=False)))


@rule
def a_value_that_was_superseded_stays_in_the_context(patch: Patch) -> None:
    def kept(state: RunState) -> RunState:
        state = replace(state, goal=replace(state.goal, active=None))
        return turns.close_batch(state) if state.batch.live else state

    patch.setattr(superseding, "_drop_completion", kept)


@rule
def the_guard_is_skipped(patch: Patch) -> None:
    conclude = gates._concluding
    patch.setattr(
        gates, "_concluding", lambda state, phase, rules: conclude(state, replace(phase, reviewed=True), rules)
    )


@rule
def what_the_guard_notes_is_forgotten(patch: Patch) -> None:
    patch.setattr(review, "_annotate", lambda state, verdict: state)


@rule
def a_retry_keeps_what_was_shown(patch: Patch) -> None:
    failure = turns._model_failure

    def keeping(state: RunState, error: ModelError, rules: Rules) -> RunState:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(turns, "withdraw", lambda state: state)
            return failure(state, error, rules)

    patch.setattr(turns, "_model_failure", keeping)


@rule
def an_output_that_is_taken_back_leaves_no_verdict(patch: Patch) -> None:
    patch.setattr(superseding, "record_voided", lambda state: state)
    patch.setattr(recovery, "record_superseded", lambda state: state)


@rule
def a_slice_is_saved_with_a_claim_that_led_to_nothing(patch: Patch) -> None:
    values = saving._values

    def at_once(extended: Extended, settled: bool) -> Any:
        return values(extended, True)

    patch.setattr(saving, "_values", at_once)


@pytest.fixture(scope="module")
def seed(exploring: bool) -> str:
    """Of the worlds that are tried. Any will do, though a rule that few worlds need may take as long as all others."""
    return os.urandom(8).hex() if exploring else "demo"


def breaks(one: Case) -> bool:
    """Whether a promise is broken in a world, as it looks from outside."""
    try:
        run_schedule(one.scenario, one.schedule, watch=Watch.FROM_OUTSIDE)
    except PromiseBroken:
        return True
    return False


@pytest.mark.parametrize("broken", RULES, ids=lambda broken: broken.__name__)
def test_a_broken_rule_is_found_and_told_in_a_short_story(
    broken: Callable[[Patch], None], seed: str, monkeypatch: Patch
) -> None:
    """From outside, within the default budget, and short enough to be read."""
    broken(monkeypatch)
    worlds = (case(tape(seed, number)) for number in range(WORLDS))
    found = next(filter(breaks, worlds), None)
    assert found is not None, f"none of {WORLDS} worlds of seed {seed!r} breaks a promise"
    told = shrink(found.scenario, found.schedule, watch=Watch.FROM_OUTSIDE)
    assert len(told.trace) <= LONGEST, str(told)
    assert sum(map(bool, told.schedule)) <= 6, str(told)
