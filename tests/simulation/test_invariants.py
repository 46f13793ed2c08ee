"""Each invariant can fail: a state, a move or an order in which that very promise is broken, made from sound ones."""

import pytest
from turnfold.core.invariants import OF_A_MOVE, OF_A_STATE, OF_WHAT_IS_ASKED, broken, debts_are_paid, promise
from turnfold.core.run import RunState
from turnfold.core.run.phases import CallHandingOver, CallSettling, SavingStep
from turnfold.effects.journal import SaveStep, Step
from turnfold.effects.model import CallModel, ModelRequest
from turnfold.effects.record import Completion, CompletionSource
from turnfold.effects.sequence import Seq
from turnfold.effects.spending import NO_SPENDING
from turnfold.effects.transcript import AssistantMessage, CallPart, UserMessage
from turnfold.effects.values import replace
from turnfold.effects.vocabulary import Effect
from turnfold.shells.simulate import Scenario, World, calls, says, step

BATCH = Scenario(outputs=(calls(("lookup", "{}"), ("charge", "{}")), says("Done.")))


def after(steps: int) -> RunState:
    """The run's state after some ordinary steps."""
    world = World(BATCH)
    for _ in range(steps):
        step(world, 0)
    return world.executors[0].state


ASKING, STREAMED, STARTING, RUNNING, CONCLUDING, GIVING_BACK, ENDED = map(after, (5, 6, 7, 9, 15, 18, 19))
FIRST, SECOND = RUNNING.batch.live


def with_call(state: RunState, key: str, **changes: object) -> RunState:
    """The state with one live call changed."""
    live = {**state.batch.live, key: replace(state.batch.live[key], **changes)}
    return replace(state, batch=replace(state.batch, live=live))


def in_flight(state: RunState, ticket: int, order: type) -> RunState:
    """The state with one more ticket in flight, of which no region knows."""
    tickets = state.tickets
    return replace(state, tickets=replace(tickets, in_flight={**tickets.in_flight, ticket: (order, "")}))


def region(state: RunState, name: str, **changes: object) -> RunState:
    """The state with something in a region changed."""
    return replace(state, **{name: replace(getattr(state, name), **changes)})


STATES: dict[str, RunState] = {
    "tools_run_only_when_saved_as_running": with_call(RUNNING, FIRST, saved_rev=1),
    "calls_are_written_only_when_their_output_is_saved": region(
        with_call(STREAMED, next(iter(STREAMED.batch.live)), writing=1, phase=CallSettling()), "saving", wanted=0
    ),
    "the_model_is_asked_only_when_all_is_saved": region(ASKING, "saving", phase=SavingStep(99, 0)),
    "one_step_is_in_flight": in_flight(ASKING, 99, SaveStep),
    "one_write_per_call_is_in_flight": with_call(STARTING, next(iter(STARTING.batch.live)), writing=None),
    "no_step_is_in_flight_while_a_call_is_handed_over": region(
        with_call(RUNNING, FIRST, writing=2, phase=CallHandingOver(RUNNING.batch.live[FIRST].record)),
        "saving",
        phase=SavingStep(99, 0),
    ),
    "tickets_match_the_regions": region(ASKING, "model", ticket=None),
    "blocks_count_from_one": region(RUNNING, "process", blocks=Seq(list(RUNNING.process.blocks)[1:])),
    "open_calls_are_counted": region(RUNNING, "batch", open=1),
    "results_are_those_of_settled_calls": replace(
        RUNNING, loop=replace(RUNNING.loop, phase=replace(RUNNING.loop.phase, results={0: UserMessage("?")}))
    ),
    "calls_begin_in_order": replace(RUNNING, loop=replace(RUNNING.loop, phase=replace(RUNNING.loop.phase, begun=1))),
    "marks_are_ordered": region(CONCLUDING, "saving", saved=99),
    "an_outcome_waits_for_its_step": region(GIVING_BACK, "saving", saved=0),
    "an_ended_run_is_quiet": in_flight(ENDED, 99, CallModel),
}

MOVES: dict[str, tuple[RunState, RunState]] = {
    "usage_never_decreases": (CONCLUDING, region(CONCLUDING, "process", spending=NO_SPENDING)),
    "turns_never_decrease": (ASKING, region(ASKING, "turn", turns=0)),
    "corrections_never_decrease": (region(ASKING, "goal", corrections=1), ASKING),
    "a_fixed_value_stays": (
        region(ASKING, "goal", active=Completion(CompletionSource.TOOL, "1", fixed=True)),
        region(ASKING, "goal", active=Completion(CompletionSource.TOOL, "2", fixed=True)),
    ),
    "nothing_saved_becomes_unsaved": (STARTING, region(STARTING, "saving", saved=0)),
    "names_are_never_reused": (ASKING, region(ASKING, "tickets", last=1)),
    "what_has_ended_stays_as_it_ended": (ENDED, replace(ENDED, life=CONCLUDING.life)),
}

CALL = AssistantMessage((CallPart("1", "lookup"),))
ORDERS: dict[str, Effect] = {
    "every_call_has_its_result": CallModel(1, ModelRequest("m", Seq((CALL, UserMessage("and?"))))),
    "the_head_is_small": SaveStep(1, 1, Step(b" " * 1_025)),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_can_break_it(name: str) -> None:
    """The sound state keeps the promise, the broken one does not."""
    holds = next(one for one in OF_A_STATE if one.__name__ == name)
    assert not holds(STATES[name])
    assert all(holds(state) for state in (ASKING, STREAMED, STARTING, RUNNING, CONCLUDING, GIVING_BACK, ENDED))


@pytest.mark.parametrize("name", MOVES)
def test_a_move_can_break_it(name: str) -> None:
    """Standing still keeps every promise of a move."""
    holds = next(one for one in OF_A_MOVE if one.__name__ == name)
    before, then = MOVES[name]
    assert not holds(before, then)
    assert holds(before, before)


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_can_break_it(name: str) -> None:
    """One order is enough."""
    holds = next(one for one in OF_WHAT_IS_ASKED if one.__name__ == name)
    assert not holds(ORDERS[name])


def test_what_is_owed_and_not_asked_is_found_also_by_the_full_scan() -> None:
    """A call that wants something and does not stand among those that do."""
    rules = World(BATCH).rules
    forgotten = with_call(RUNNING, FIRST, phase=CallSettling(), writing=None)
    assert debts_are_paid(RUNNING, rules)
    assert not debts_are_paid(forgotten, rules)
    assert not debts_are_paid(region(ASKING, "model", wanted=True, ticket=None), rules)


def test_each_invariant_is_broken_here_and_says_what_it_promises() -> None:
    """So that none is left out, and each name leads to a sentence."""
    assert list(STATES) == [one.__name__ for one in OF_A_STATE]
    assert list(MOVES) == [one.__name__ for one in OF_A_MOVE]
    assert list(ORDERS) == [one.__name__ for one in OF_WHAT_IS_ASKED]
    assert all(promise(name) for name in (*STATES, *MOVES, *ORDERS, "debts_are_paid"))


def test_the_one_question_names_everything_that_is_broken() -> None:
    """All kinds together."""
    rules = World(BATCH).rules
    found = broken(ASKING, in_flight(region(ASKING, "turn", turns=0), 99, SaveStep), ORDERS.values(), rules)
    assert found == ("one_step_is_in_flight", "turns_never_decrease", *ORDERS)
