"""Time limits, which are off unless given: what takes too long is cut off, and says so."""

from typing import Any

import pytest
from turnfold.effects.agent import FinishAction, ToolEnded
from turnfold.effects.agent_vocabulary import AgentInput
from turnfold.effects.clock import WakeAt, Woke
from turnfold.effects.hook import FinishTurn
from turnfold.effects.model import BlockDelta, BlockStarted, CallModel, DeltaKind, ModelCutOff, ModelStreamed, Started
from turnfold.effects.tool import CancelTool, RunTool, ToolCutOff, ToolResult, ToolReturned
from turnfold.effects.transcript import ErrorKind, StopReason

from tests.core.agent.balance import unbalanced
from tests.core.agent.world import ALL_HOOKS, NOW, World, answer, call, limits, rules


def waiting(world_rules: Any, *answers: Any) -> World:
    """A world in which neither model nor tools answer by themselves."""
    return World(world_rules, answers, held=lambda order: isinstance(order, RunTool | CallModel))


def wakes(world: World) -> list[int]:
    return [effect.at for effect in world.effects if isinstance(effect, WakeAt)]


def test_no_limit_asks_for_no_wake_up() -> None:
    assert wakes(World(answers=[answer(call("a"))]).prompt("hi")) == []


def test_a_call_that_takes_too_long_is_cut_off_and_the_model_is_told() -> None:
    """Decision 21."""
    world = World(
        rules(limits=limits(tool_ms=2_000)),
        [answer(call("a"), call("b"))],
        held=lambda order: isinstance(order, RunTool),
    ).prompt("hi")
    tickets = {order.invocation.call_id: order.ticket for order in world.waiting if isinstance(order, RunTool)}
    assert wakes(world) == [NOW + 2_000]
    world.waiting.clear()
    world.feed(ToolReturned(NOW + 1, tickets["b"], ToolResult("ok")), Woke(NOW + 2_000))
    assert [effect.ticket for effect in world.effects if isinstance(effect, CancelTool)] == [tickets["a"]]
    world.feed(ToolCutOff(NOW + 2_500, tickets["a"]))
    ended = next(event for event in world.events if isinstance(event, ToolEnded) and event.call_id == "a")
    assert ended.result.content[0].text == 'Tool call "a" was stopped after 2 seconds without a result.'.replace(
        '"a"', '"clock"'
    )
    assert world.added[-1] == "A:done"


def test_waking_too_early_is_harmless() -> None:
    world = waiting(rules(limits=limits(model_ms=1_000))).prompt("hi")
    world.feed(Woke(NOW + 500))
    assert not [effect for effect in world.effects if type(effect).__name__ == "CancelModel"]


def test_a_silent_model_is_cut_off_and_answers_as_timed_out() -> None:
    world = waiting(rules(limits=limits(model_ms=1_000))).prompt("hi")
    ticket = world.requests[0].ticket
    world.waiting.clear()
    world.feed(Woke(NOW + 1_000), ModelCutOff(NOW + 1_500, ticket))
    message = world.settled.messages[-1]
    assert (message.stop, message.error.kind) == (StopReason.ERROR, ErrorKind.TIMEOUT)
    assert message.error.message == "The model said nothing for 1 seconds."


def test_every_delta_gives_the_model_its_time_anew() -> None:
    world = waiting(rules(limits=limits(model_ms=1_000))).prompt("hi")
    ticket = world.requests[0].ticket
    deltas = (Started(), BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "a"))
    events: list[AgentInput] = [ModelStreamed(NOW + 600 * n, ticket, (delta,)) for n, delta in enumerate(deltas, 1)]
    world.feed(*events, Woke(NOW + 2_000))
    assert not [effect for effect in world.effects if type(effect).__name__ == "CancelModel"]
    world.waiting.clear()
    world.feed(Woke(NOW + 2_800), ModelCutOff(NOW + 2_900, ticket))
    assert world.settled.messages[-1].parts[0].text == "a"


@pytest.mark.parametrize("told", [True, False])
def test_a_run_that_takes_too_long_fails(told: bool) -> None:
    world = waiting(rules(told=told, limits=limits(run_ms=5_000))).prompt("hi")
    world.feed(Woke(NOW + 5_000))
    assert (world.settled.failure, world.settled.told) == ("The run was stopped after 5 seconds.", told)
    assert not told or unbalanced(world.events) is None


# --- turns


def test_a_model_that_is_cut_off_again_and_again_is_stopped() -> None:
    """Decision 43: a length stop never ends a run by itself, so there is a limit that does."""
    cut_off = [answer(call(f"c{n}"), stop=StopReason.LENGTH) for n in range(9)]
    world = World(rules(told=True, limits=limits(turns=3)), cut_off).prompt("hi")
    assert len(world.requests) == 3
    assert world.settled.failure == "The run was stopped at its limit of turns (3)."
    assert unbalanced(world.events) is None


def test_a_run_that_is_over_by_then_ends_well() -> None:
    world = World(rules(limits=limits(turns=2)), [answer(call("a")), answer("done")]).prompt("hi")
    assert world.settled.failure is None
    assert len(world.requests) == 2


def test_a_wish_to_go_on_beyond_the_last_turn_fails_the_run() -> None:
    hooks = {FinishTurn: [FinishAction.CONTINUE]}
    world = World(rules(*ALL_HOOKS, limits=limits(turns=1)), hooks=hooks).prompt("hi")
    assert world.settled.failure == "The run was stopped at its limit of turns (1)."


def test_after_the_last_turn_what_is_queued_stays_queued() -> None:
    world = World(rules(*ALL_HOOKS, limits=limits(turns=1))).prompt("hi")
    assert world.settled.failure is None
    assert [line for line in world.timeline if line.startswith("Poll")] == ["PollSteering"]
