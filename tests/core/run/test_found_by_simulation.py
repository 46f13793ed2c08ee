"""What the simulator found in the fold, each in the smallest world that showed it, kept so that it stays repaired."""

import pytest
from turnfold.effects.clock import WakeAt
from turnfold.effects.journal import SaveCall, StepSaved
from turnfold.effects.model import BlockDelta, BlockStarted, DeltaKind, StreamFinished
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.question import Correct
from turnfold.effects.record import CallStatus
from turnfold.effects.transcript import ErrorKind
from turnfold.effects.values import replace
from turnfold.shells.simulate import (
    Behaviour,
    Output,
    Review,
    Scenario,
    World,
    breaks_off,
    calls,
    fails,
    run_schedule,
    says,
)

from tests.simulation.demo import COMPLETING, CONFIRM, GUARDED, HANDED_OVER, ONE_CHARGE, troubled

TEXT = Scenario(outputs=(says("Done."),))
CALL = Scenario(outputs=(calls(("charge", "{}")), says("Done.")))
HANGING = Scenario(outputs=(calls(("crawl", "{}")),), behaviours={"crawl": Behaviour.HANGS})


def run(scenario: Scenario, *names: str | int) -> World:
    """The world after a story: numbers are ordinary steps, names are what happens instead."""
    steps = [step for name in names for step in ([""] * name if isinstance(name, int) else [name])]
    world = run_schedule(troubled(scenario), steps)
    assert [name for name in world.names if name] == [name for name in names if isinstance(name, str)]
    return world


def test_a_model_call_that_broke_is_not_withdrawn_once_more() -> None:
    """It had answered; withdrawing it left the run waiting for a second answer that nobody owed (decision 28)."""
    run(Scenario(outputs=(breaks_off(says("never whole")),)))
    run(TEXT, 5, "cuts off CallModel")


def test_a_poll_waits_for_the_claim_in_flight() -> None:
    """Both were wanted, only one was asked, and the other stayed owed without anything to remind the run of it."""
    run(TEXT, 3, "sleeps")


def test_an_execution_that_became_stale_asks_for_nothing_as_it_ends() -> None:
    """It ended and asked for another step in the same breath (decision 9)."""
    run(TEXT, 6, "a rival takes over", "answers BeginAttempt", "answers SaveStep")


def test_a_poll_that_outlives_its_subscription_is_still_taken_off_the_list() -> None:
    """The feed region went on believing that it was in flight."""
    run(TEXT, 3, "fails WatchFeed")


def test_cancelling_a_run_that_has_delivered_leaves_the_delivered_outcome_stored() -> None:
    """A failed outcome took its place, although nothing had happened since (decision 2)."""
    world = run(TEXT, 10, "a rival takes over", 1, "is cancelled")
    assert world.stored.outcome == Delivered("Done.", 1)


def test_a_run_that_is_woken_too_early_asks_to_be_woken_again() -> None:
    """The only wake-up was spent, so the lease of a run with a long tool was never renewed (rule 8 of the fold)."""
    run(HANGING, 4, "wakes early")
    run(HANGING, 9, "wakes early")


@pytest.mark.parametrize("kind", [DeltaKind.CALL, DeltaKind.THINKING, DeltaKind.TEXT])
@pytest.mark.parametrize("first", [DeltaKind.THINKING, DeltaKind.TEXT])
def test_a_block_that_begins_again_is_shown_as_what_it_became(first: DeltaKind, kind: DeltaKind) -> None:
    """Viewers kept the block, or the text, that it was before."""
    began = (BlockStarted(0, first), BlockDelta(0, "{}"), BlockStarted(0, kind, "1", "lookup", again=True))
    output = Output((*began, BlockDelta(0, '{"b": 1}'), StreamFinished()))
    run(Scenario(outputs=(output,)), 5, "sends 3 of CallModel")


@pytest.mark.parametrize("ending", ["is cancelled", "fails WatchFeed"])
def test_no_call_is_written_before_the_step_with_its_output(ending: str) -> None:
    """A run that closed while the step was in flight wrote records of calls whose output might never be stored."""
    world = run(CALL, 6, ending)
    saved = next(place for place, line in enumerate(world.trace.lines) if isinstance(line.event, StepSaved))
    asked = [effect for line in world.trace.lines[: saved + 1] for effect in line.effects]
    written = [effect for effect in world.trace.lines[saved].effects if isinstance(effect, SaveCall)]
    assert [effect for effect in asked if isinstance(effect, SaveCall)] == written != []


# --- what a call can do


def test_a_call_that_is_being_paused_is_given_up_with_its_run() -> None:
    """Its record was on its way when the run was cancelled, and somebody could still approve it (decision 40)."""
    world = run(replace(ONE_CHARGE, policies={"charge": CONFIRM}), 8, "is cancelled")
    assert [call.status for call in world.stored.calls.values()] == [CallStatus.INTERRUPTED]


def test_a_resumed_run_is_not_woken_at_once() -> None:
    """It had never asked the feed, so the time to ask it again was long over: it asked to be woken at the epoch."""
    world = run(HANDED_OVER)
    wakes = [effect.at for line in world.trace.lines for effect in line.effects if isinstance(effect, WakeAt)]
    assert min(wakes) > 1_000_000


# --- how a run ends


@pytest.mark.parametrize("review", [Review(Correct("no")), Review(error="asleep")])
def test_a_guard_that_has_answered_is_not_asked_to_stop(review: Review) -> None:
    """A run that ended with the answer withdrew the question, which was out no more."""
    limits = replace(GUARDED.limits, corrections=0)
    run(replace(GUARDED, spec=replace(GUARDED.spec, limits=limits), reviews=(review,)))


VALUE = replace(COMPLETING, outputs=COMPLETING.outputs[1:2], extensions=())
LATE = fails(ErrorKind.UNAUTHORIZED)


def test_a_delivered_value_that_was_superseded_can_be_gone_on_from() -> None:
    """It was cut out of the log, and if the next turn failed the log ended with input: nobody could resume that."""
    world = run(replace(VALUE, outputs=(*VALUE.outputs, LATE)), 12, "input arrives silently")
    assert isinstance(world.stored.outcome, Delivered)


def test_an_output_that_is_taken_back_leaves_a_log_that_can_be_gone_on_from() -> None:
    """The same for a call that would only have ended the run, was cut off, and never was (N-09)."""
    world = run(replace(VALUE, outputs=(*VALUE.outputs, LATE)), 8, "dies")
    assert isinstance(world.stored.outcome, Delivered)


def test_a_run_that_used_up_its_turn_can_be_gone_on_from() -> None:
    """A call that failed in the last iteration ended every later execution as well, whatever came in (decision 33)."""
    limits = replace(VALUE.limits, iterations=1)
    scenario = replace(VALUE, spec=replace(VALUE.spec, limits=limits), behaviours={"finish": Behaviour.FAILS})
    world = run(scenario)
    first = world.executors[0].result
    assert first is not None
    assert isinstance(first.outcome, Failed)
    assert first.outcome.kind is FailureKind.TOOL_LIMIT
    assert isinstance(world.stored.outcome, Delivered)
