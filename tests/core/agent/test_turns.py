"""From turn to turn: what enters when, what is asked when, and when a run is over."""

import pytest
from turnfold.core.agent import Hook
from turnfold.effects.agent import AgentEnded, FinishAction, MessageEnded, Rewrite, Turn, TurnEnded, TurnUpdate
from turnfold.effects.hook import (
    ConvertToModel,
    FinishTurn,
    PollFollowUps,
    PollSteering,
    PrepareNextTurn,
    PrepareRequest,
    TransformContext,
)
from turnfold.effects.model import ModelChoice
from turnfold.effects.transcript import AssistantMessage, CustomMessage, StopReason, SystemMessage, ToolDeclaration

from tests.core.agent.world import ALL_HOOKS, World, answer, call, rules, tool, user

NO_TOOLS = {"tools": ()}
LOOP = rules(*ALL_HOOKS)


def declared(*names: str) -> SystemMessage:
    return SystemMessage("", tools_added=tuple(ToolDeclaration(name) for name in names), timestamp=1)


def test_a_plain_answer_is_one_turn() -> None:
    world = World(answers=[answer("hello")], **NO_TOOLS).prompt("hi")
    assert world.timeline == [
        "agent+", "turn+", "+U:hi", "-U:hi", "CallModel", "+A:hello", "-A:hello", "turn-", "agent-",
    ]  # fmt: skip
    assert world.added == ["U:hi", "A:hello"]


def test_only_configured_hooks_are_asked() -> None:
    world = World(answers=[answer(call("a")), answer("done")], history=(declared("clock"),)).prompt("hi")
    assert [line for line in world.timeline if line[0].isupper()] == ["CallModel", "RunTool", "CallModel"]


def test_the_hooks_of_a_turn_with_a_tool_are_asked_in_their_order() -> None:
    world = World(LOOP, [answer(call("a")), answer("done")], history=(declared("clock"),)).prompt("hi")
    asked = [line for line in world.timeline if line[0].isupper()]
    assert asked == [
        "PollSteering", "PrepareRequest", "TransformContext", "ConvertToModel", "CallModel", "BeforeTool", "RunTool",
        "AfterTool", "FinishTurn", "PollSteering", "PrepareNextTurn", "PollSteering", "PrepareRequest",
        "TransformContext", "ConvertToModel", "CallModel", "FinishTurn", "PollSteering", "PollFollowUps",
    ]  # fmt: skip


def test_a_later_turn_begins_after_its_preparation_and_its_own_poll() -> None:
    world = World(LOOP, [answer(call("a")), answer("done")], history=(declared("clock"),)).prompt("hi")
    first = world.timeline.index("turn-")
    assert world.timeline[first : first + 6] == [
        "turn-", "PollSteering", "PrepareNextTurn", "PollSteering", "turn+", "PrepareRequest",
    ]  # fmt: skip


def test_steering_at_the_start_enters_after_the_prompt() -> None:
    world = World(LOOP, hooks={PollSteering: [[user("psst")]]}, **NO_TOOLS).prompt("hi")
    assert world.asked(0) == ["U:hi", "U:psst"]


def test_steering_after_a_turn_makes_another_one() -> None:
    world = World(LOOP, hooks={PollSteering: [[], [user("wait")]]}, **NO_TOOLS).prompt("hi")
    assert world.asked(1) == ["U:hi", "A:done", "U:wait"]
    assert world.timeline.count("PollFollowUps") == 1


def test_steering_that_waits_is_not_topped_up() -> None:
    world = World(LOOP, hooks={PollSteering: [[], [user("one")], [user("two")]]}, **NO_TOOLS).prompt("hi")
    assert [world.asked(1)[-1], world.asked(2)[-1]] == ["U:one", "U:two"]
    assert world.timeline.count("PollSteering") == 4


def test_steering_that_arrives_while_a_turn_is_prepared_is_let_in() -> None:
    hooks = {PollSteering: [[], [], [user("late")]]}
    world = World(LOOP, [answer(call("a")), answer("done")], hooks, history=(declared("clock"),)).prompt("hi")
    assert world.asked(1)[-1] == "U:late"


def test_follow_ups_are_asked_only_when_nothing_else_goes_on() -> None:
    hooks = {PollSteering: [[], [user("one")]], PollFollowUps: [[user("more")]]}
    world = World(LOOP, hooks=hooks, **NO_TOOLS).prompt("hi")
    assert world.asked(2) == ["U:hi", "A:done", "U:one", "A:done", "U:more"]
    assert world.timeline.count("PollFollowUps") == 2


def test_what_a_preparation_brings_enters_before_what_waits() -> None:
    hooks = {
        PollFollowUps: [[user("more")]],
        PrepareNextTurn: [TurnUpdate(messages=(user("first"),), model=ModelChoice("m2"), thinking_level="high")],
    }
    world = World(LOOP, hooks=hooks, **NO_TOOLS).prompt("hi")
    assert world.asked(1)[-2:] == ["U:first", "U:more"]
    request = world.requests[1].request
    assert (request.model, request.options["reasoning"]) == (ModelChoice("m2"), "high")


def test_a_decision_to_end_skips_the_polls() -> None:
    world = World(LOOP, hooks={FinishTurn: [FinishAction.END], PollFollowUps: [[user("x")]]}, **NO_TOOLS).prompt("hi")
    assert world.timeline[-3:] == ["FinishTurn", "turn-", "agent-"]


def test_a_decision_to_end_holds_after_a_batch_too() -> None:
    hooks = {FinishTurn: [FinishAction.END]}
    world = World(LOOP, [answer(call("a"))], hooks, history=(declared("clock"),)).prompt("hi")
    assert len(world.requests) == 1


def test_a_decision_to_continue_makes_one_turn_if_nothing_else_does() -> None:
    world = World(LOOP, hooks={FinishTurn: [FinishAction.CONTINUE]}, **NO_TOOLS).prompt("hi")
    assert len(world.requests) == 2
    assert world.asked(1) == ["U:hi", "A:done"]


@pytest.mark.parametrize(
    ("hooks", "answers"),
    [
        ({PollSteering: [[], [user("s")]]}, [answer("a")]),
        ({PollFollowUps: [[user("f")]]}, [answer("a")]),
        ({}, [answer(call("a"))]),
    ],
)
def test_a_wish_to_continue_is_satisfied_by_anything_that_goes_on(hooks: dict, answers: list) -> None:
    hooks = {FinishTurn: [FinishAction.CONTINUE], **hooks}
    world = World(LOOP, answers, hooks, history=(declared("clock"),)).prompt("hi")
    assert len(world.requests) == 2


@pytest.mark.parametrize("stop", [StopReason.ERROR, StopReason.ABORTED])
def test_a_failed_answer_ends_the_run_and_leaves_the_queues(stop: StopReason) -> None:
    hooks = {FinishTurn: [FinishAction.CONTINUE], PollFollowUps: [[user("x")]]}
    world = World(LOOP, [answer("oh", call("a"), stop=stop)], hooks, **NO_TOOLS).prompt("hi")
    assert world.timeline[-4:] == ["-A!oha", "FinishTurn", "turn-", "agent-"]
    assert next(event for event in world.events if isinstance(event, TurnEnded)).results == ()


def test_hooks_see_the_turn_as_it_ended() -> None:
    seen: list[Turn] = []

    def finish(order: FinishTurn) -> None:
        seen.append(order.turn)

    answers = [answer(call("a")), answer("done")]
    World(LOOP, answers, {FinishTurn: finish}, history=(declared("clock"),)).prompt("hi")
    assert [len(turn.context.messages) for turn in seen] == [4, 5]
    assert [len(turn.new_messages) for turn in seen] == [3, 4]
    assert [result.call_id for result in seen[0].results] == ["a"]


def test_what_was_seen_never_changes() -> None:
    seen: list[Turn] = []
    world = World(LOOP, [answer(call("a")), answer("b")], {FinishTurn: lambda order: seen.append(order.turn)})
    world.prompt("hi")
    assert len(seen[0].new_messages) < len(seen[1].new_messages)
    assert list(seen[1].new_messages)[: len(seen[0].new_messages)] == list(seen[0].new_messages)


def test_a_replaced_context_is_what_the_run_goes_on_with() -> None:
    hooks = {PrepareNextTurn: [TurnUpdate(context=Rewrite(0, (user("in short"),)))], PollFollowUps: [[user("more")]]}
    world = World(LOOP, hooks=hooks, **NO_TOOLS).prompt("hi")
    assert world.asked(1) == ["U:in short", "U:more"]
    assert world.added == ["U:hi", "A:done", "U:more", "A:done"]


def test_a_request_update_lasts_and_its_messages_are_ignored() -> None:
    update = TurnUpdate(messages=(user("no"),), model=ModelChoice("m2"), thinking_level="low")
    hooks = {PrepareRequest: [update], PollFollowUps: [[user("more")]]}
    world = World(LOOP, hooks=hooks, **NO_TOOLS).prompt("hi")
    assert [order.request.model for order in world.requests] == [ModelChoice("m2")] * 2
    assert world.asked(0) == ["U:hi"]


@pytest.mark.parametrize(("level", "option"), [("off", None), ("", ""), ("max", "max")])
def test_off_asks_for_no_thinking_and_any_other_level_is_passed_on(level: str, option: str | None) -> None:
    hooks = {PrepareRequest: [TurnUpdate(thinking_level=level)]}
    world = World(LOOP, hooks=hooks, thinking="high", **NO_TOOLS).prompt("hi")
    assert world.requests[0].request.options.get("reasoning") == option
    assert next(m for m in world.settled.messages if isinstance(m, AssistantMessage)).thinking_level == level


def test_hooks_are_told_off_when_no_thinking_is_asked_for() -> None:
    levels: list[str] = []
    World(LOOP, hooks={PrepareRequest: lambda order: levels.append(order.thinking_level)}).prompt("hi")
    assert levels == ["off"]


def test_a_request_may_name_another_port() -> None:
    hooks = {PrepareRequest: [TurnUpdate(model=ModelChoice("m2", port="spare"))]}
    world = World(LOOP, hooks=hooks).prompt("hi")
    assert world.requests[0].request.model == ModelChoice("m2", port="spare")


def test_transformation_and_conversion_are_for_the_request_only() -> None:
    hooks = {
        TransformContext: lambda order: [user("before"), *order.messages],
        ConvertToModel: lambda order: [*order.messages, user("after")],
    }
    world = World(LOOP, hooks=hooks, **NO_TOOLS).prompt("hi")
    assert world.asked(0) == ["U:before", "U:hi", "U:after"]
    assert world.added == ["U:hi", "A:done"]


def test_without_a_conversion_a_hosts_own_messages_are_left_out() -> None:
    note = CustomMessage("note", "x")
    world = World(history=(note, user("old")), **NO_TOOLS).prompt("hi", note)
    assert world.asked(0) == ["U:old", "U:hi"]
    assert len(world.settled.messages) == 3


def test_a_transformation_may_bring_a_hosts_own_message_and_the_default_still_drops_it() -> None:
    hooks = {TransformContext: lambda order: [CustomMessage("note"), *order.messages]}
    world = World(rules(Hook.TRANSFORM_CONTEXT), hooks=hooks, **NO_TOOLS).prompt("hi")
    assert world.asked(0) == ["U:hi"]


def test_tools_are_declared_before_the_first_message_that_is_no_system_message() -> None:
    world = World().prompt(SystemMessage("be brief"), "hi")
    system = world.settled.messages[0]
    assert isinstance(system, SystemMessage)
    assert [one.name for one in system.tools_added] == ["clock"]
    world = World().prompt("hi")
    assert world.added == ["S:", "U:hi", "A:done"]


def test_declared_tools_are_not_declared_again() -> None:
    world = World(history=(declared("clock"),)).prompt("hi")
    assert world.added == ["U:hi", "A:done"]


def test_new_tools_are_called_at_once_and_declared_a_turn_later() -> None:
    hooks = {PrepareRequest: [TurnUpdate(tools=(tool("clock"), tool("map")))]}
    world = World(LOOP, [answer(call("a", "map")), answer("done")], hooks, history=(declared("clock"),)).prompt("hi")
    assert world.added == ["U:hi", "A:a", "R:a:ok", "S:", "A:done"]


def test_a_run_goes_on_from_what_is_there_without_telling_it_again() -> None:
    world = World(history=(user("hi"),), **NO_TOOLS).continue_()
    assert world.timeline[:3] == ["agent+", "turn+", "CallModel"]
    assert world.added == ["A:done"]


@pytest.mark.parametrize(
    ("history", "text"),
    [
        ((), "Cannot continue: no messages in context"),
        ((user("hi"), AssistantMessage()), "Cannot continue from message role: assistant"),
    ],
)
def test_a_run_that_cannot_go_on_is_refused_before_anything_is_told(history: tuple, text: str) -> None:
    world = World(history=history).continue_()
    assert (world.settled.failure, world.settled.told, world.events) == (text, False, [])


def test_the_messages_given_back_are_those_the_last_event_told() -> None:
    world = World(answers=[answer(call("a")), answer("done")]).prompt("hi")
    last = world.events[-1]
    assert isinstance(last, AgentEnded)
    assert last.messages is world.settled.messages


def test_an_answer_is_one_value_everywhere() -> None:
    world = World(LOOP, [answer("hello")]).prompt("hi")
    ended = [event.message for event in world.events if isinstance(event, MessageEnded)][-1]
    assert world.settled.messages[-1] is ended
    assert [event.message for event in world.events if isinstance(event, TurnEnded)] == [ended]


def test_options_are_forwarded() -> None:
    world = World(rules(options={"temperature": 1, "reasoning": "stale"})).prompt("hi")
    assert world.requests[0].request.options == {"temperature": 1}


def test_an_untouched_context_is_sent_by_reference() -> None:
    """A hook that changes nothing costs nothing, however long the conversation is."""
    history = tuple(user(str(n)) for n in range(50))
    world = World(LOOP, history=history, **NO_TOOLS).prompt("hi")
    transformed = next(effect for effect in world.effects if isinstance(effect, TransformContext))
    assert world.requests[0].request.context is transformed.messages
