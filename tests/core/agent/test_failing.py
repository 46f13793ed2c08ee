"""How a run fails: what is cut off first, what is told, and what is given back."""

from typing import Any

import pytest
from turnfold.effects.agent import AgentEnded, MessageEnded, MessageStarted, ToolEnded, TurnEnded
from turnfold.effects.agent_vocabulary import AbortAsked, CredentialsFailed, SinkFailed
from turnfold.effects.hook import (
    ConvertToModel,
    FinishTurn,
    PollFollowUps,
    PollSteering,
    PrepareNextTurn,
    PrepareRequest,
    TransformContext,
)
from turnfold.effects.model import BlockDelta, BlockStarted, CallModel, DeltaKind, ModelStreamed, Started
from turnfold.effects.tool import CancelTool, RunTool, ToolProgressed, ToolResult, ToolReturned
from turnfold.effects.transcript import AssistantMessage, StopReason, ToolResultMessage

from tests.core.agent.balance import unbalanced
from tests.core.agent.world import ALL_HOOKS, NOW, Broken, World, answer, call, rules, short, user

LOOP = rules(*ALL_HOOKS)
TOLD = rules(*ALL_HOOKS, told=True)
HOOKS = [PollSteering, PrepareRequest, TransformContext, ConvertToModel, FinishTurn, PrepareNextTurn, PollFollowUps]


def failing(world_rules: Any, hook: type, **members: Any) -> World:
    """A run with a tool turn in which one hook raises."""
    answers = [answer(call("a")), answer("done")]
    return World(world_rules, answers, {hook: [Broken("no luck")]}, **members).prompt("hi")


@pytest.mark.parametrize("hook", HOOKS)
def test_a_failing_hook_breaks_the_loop_off_where_it_is(hook: type) -> None:
    world = failing(LOOP, hook)
    assert (world.settled.failure, world.settled.told) == ("no luck", False)
    assert world.timeline[-1] == hook.__name__


@pytest.mark.parametrize("hook", HOOKS)
def test_the_agent_closes_what_is_open_and_tells_the_failure(hook: type) -> None:
    """Decision 46 g."""
    world = failing(TOLD, hook)
    assert unbalanced(world.events) is None
    message = world.settled.messages[0]
    assert isinstance(message, AssistantMessage)
    assert (message.stop, message.error.message, message.model) == (StopReason.ERROR, "no luck", "m1")
    assert [short(event) for event in world.events[-4:]] == ["+A!", "-A!", "turn-", "agent-"]
    assert (world.settled.failure, world.settled.told) == ("no luck", True)


def test_a_port_that_raises_fails_the_run() -> None:
    """Decision 28."""
    world = World(TOLD, [Broken("no route")]).prompt("hi")
    assert world.settled.failure == "no route"
    assert unbalanced(world.events) is None


def test_a_failed_answer_is_no_failure_of_the_run() -> None:
    world = World(TOLD, [answer(stop=StopReason.ERROR)]).prompt("hi")
    assert world.settled.failure is None


def test_missing_credentials_fail_the_run() -> None:
    """Decision 49: the failure is an event."""
    world = World(TOLD, held=lambda order: isinstance(order, CallModel)).prompt("hi")
    world.feed(CredentialsFailed(NOW, world.requests[0].ticket, "no key"))
    assert world.settled.failure == "no key"
    assert unbalanced(world.events) is None


def test_the_failure_of_an_aborted_run_is_told_as_aborted() -> None:
    def transform(order: TransformContext) -> Exception:
        world.inbox.append(AbortAsked(NOW))
        return Broken("stopped")

    world = World(TOLD, hooks={TransformContext: transform})
    world.prompt("hi")
    assert world.settled.messages[0].stop is StopReason.ABORTED


# --- listeners


def story(world_rules: Any, broken: int | None = None) -> World:
    """A run with streamed text, two calls with an update, and a second turn."""
    parts = (Started("api", "acme", "m1"), BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "go"))
    outcomes = {"a": [ToolResult("half"), ToolResult("ok")]}
    answers = [(*parts, *answer("go", call("a"), call("b"))), answer("done")]
    breaks = frozenset() if broken is None else frozenset([broken])
    return World(world_rules, answers, outcomes=outcomes, breaks=breaks).prompt("hi")


WHOLE = [short(event) for event in story(TOLD).events]


@pytest.mark.parametrize("place", range(len(WHOLE)), ids=WHOLE)
def test_a_listener_that_raises_anywhere_leaves_events_balanced(place: int) -> None:
    """Decision 46 g; at the very end no event follows, and the failure is given back instead."""
    world = story(TOLD, place)
    assert unbalanced(world.events) is None
    assert world.settled.failure == f"listener broke at {place}"
    assert world.settled.told is (place != len(WHOLE) - 1)
    if world.settled.told:
        assert [short(event) for event in world.events[-4:]] == ["+A!", "-A!", "turn-", "agent-"]


@pytest.mark.parametrize("place", range(len(WHOLE)), ids=WHOLE)
def test_a_listener_that_raises_breaks_the_loop_off(place: int) -> None:
    world = story(LOOP, place)
    assert (world.settled.failure, world.settled.told) == (f"listener broke at {place}", False)
    told = [short(event) for event in world.events]
    assert told == WHOLE[: len(told)]
    # Only while calls run does anything follow: a call whose update broke a listener ends before the run fails.
    assert len(told) == place + 1


@pytest.mark.parametrize("place", range(len(WHOLE)), ids=WHOLE)
def test_every_call_of_the_last_answer_has_a_result(place: int) -> None:
    world = story(TOLD, place)
    answers = [
        e.message for e in world.events if isinstance(e, MessageEnded) and isinstance(e.message, AssistantMessage)
    ]
    results = [
        e.message for e in world.events if isinstance(e, MessageEnded) and isinstance(e.message, ToolResultMessage)
    ]
    acted = [message for message in answers if message.stop is StopReason.TOOL_USE]
    assert [result.call_id for result in results] == [part.id for message in acted for part in message.parts[1:]]


def test_an_answer_that_was_arriving_ends_as_broken_off() -> None:
    world = story(TOLD, WHOLE.index("~"))
    ended = next(
        e.message for e in world.events if isinstance(e, MessageEnded) and isinstance(e.message, AssistantMessage)
    )
    assert ended.stop is StopReason.ERROR
    assert ended.error.message == f"listener broke at {WHOLE.index('~')}"


def test_a_listener_that_raises_while_the_failure_is_told_does_not_stop_the_telling() -> None:
    place = WHOLE.index("tool+a")
    world = World(TOLD, [answer("go", call("a"))], breaks=frozenset([6, 7, 8, 9, 10])).prompt("hi")
    assert place
    assert unbalanced(world.events) is None
    assert world.settled.failure == "listener broke at 6"


def test_a_listener_that_raises_at_the_end_of_a_told_failure_gives_it_back() -> None:
    first = World(TOLD, [Broken("x")]).prompt("hi")
    world = World(TOLD, [Broken("x")], breaks=frozenset([len(first.events) - 1])).prompt("hi")
    assert world.settled.told is False
    assert isinstance(world.events[-1], AgentEnded)


def test_a_failed_update_fails_the_run_after_its_tool_and_not_before() -> None:
    world = World(LOOP, [answer(call("a"))], held=lambda order: isinstance(order, RunTool)).prompt("hi")
    ticket = next(order.ticket for order in world.waiting)
    world.breaks = frozenset([len(world.events)])
    world.feed(ToolProgressed(NOW, ticket, ToolResult("half")))
    assert world.settled is None
    world.waiting.clear()
    world.feed(ToolReturned(NOW, ticket, ToolResult("ok")))
    assert world.settled.failure.startswith("listener broke")
    assert "AfterTool" not in world.timeline


def test_siblings_are_cut_off_and_awaited_before_a_failure_is_told() -> None:
    world = World(TOLD, [answer(call("a"), call("b"))], held=lambda order: isinstance(order, RunTool)).prompt("hi")
    tickets = {order.invocation.call_id: order.ticket for order in world.waiting}
    world.breaks = frozenset([len(world.events)])
    world.waiting = [order for order in world.waiting if order.ticket != tickets["a"]]
    world.feed(ToolReturned(NOW, tickets["a"], ToolResult("ok")))
    world.feed()
    assert [effect.ticket for effect in world.effects if isinstance(effect, CancelTool)] == [tickets["b"]]
    assert [event.call_id for event in world.events if isinstance(event, ToolEnded)] == ["a", "b"]
    assert unbalanced(world.events) is None


def test_what_ended_keeps_its_result_when_the_failure_closes_the_batch() -> None:
    world = story(TOLD, WHOLE.index("tool-b"))
    results = [
        e.message for e in world.events if isinstance(e, MessageEnded) and isinstance(e.message, ToolResultMessage)
    ]
    assert [result.is_error for result in results] == [False, False]


def test_a_failure_before_any_turn_opens_one_for_its_message() -> None:
    world = failing(TOLD, PrepareNextTurn)
    assert [short(event) for event in world.events[-6:]] == ["turn-", "turn+", "+A!", "-A!", "turn-", "agent-"]


def test_an_abort_that_came_with_the_listeners_failure_is_known() -> None:
    world = World(TOLD)
    world.start()
    from turnfold.effects.agent_vocabulary import Prompted

    world.breaks = frozenset([2])
    original = world._tell

    def tell(event: Any, rest: Any) -> SinkFailed | None:
        from turnfold.effects.values import replace

        failed = original(event, rest)
        return None if failed is None else replace(failed, aborted=True)

    world._tell = tell  # type: ignore[method-assign]
    world.feed(Prompted(NOW, (user("hi"),)))
    assert world.settled.messages[0].stop is StopReason.ABORTED


def test_nothing_is_in_flight_once_a_run_has_failed() -> None:
    for place in range(len(WHOLE)):
        assert not story(TOLD, place).state.tickets.in_flight


def test_deltas_that_still_come_after_a_failure_are_not_wanted() -> None:
    parts = (Started(), BlockStarted(0, DeltaKind.TEXT))
    world = World(TOLD, held=lambda order: isinstance(order, CallModel), breaks=frozenset([8])).prompt("hi")
    ticket = world.requests[0].ticket
    started = sum(isinstance(event, MessageStarted) for event in world.events)
    world.breaks = frozenset([len(world.events)])
    world.waiting.clear()
    world.feed(*(ModelStreamed(NOW, ticket, (part,)) for part in parts))
    assert world.settled is None
    world.feed(ModelStreamed(NOW, ticket, answer("late")))
    assert world.settled.failure is not None
    assert sum(isinstance(event, MessageStarted) for event in world.events) == started + 2
    assert len([event for event in world.events if isinstance(event, TurnEnded)]) == 1
