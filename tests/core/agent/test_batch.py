"""The calls of an answer: who runs when, what ends in which order, and whether the run goes on."""

from itertools import permutations
from typing import Any

import pytest
from turnfold.core.agent import Hook
from turnfold.effects.agent import ToolEnded, ToolStarted, ToolUpdated, TurnEnded
from turnfold.effects.agent_vocabulary import AbortAsked, CallAsked, ToolNotRun
from turnfold.effects.hook import AfterTool, BeforeTool, Block, PollSteering, Proceed, ResultPatch
from turnfold.effects.tool import CancelTool, RunTool, ToolCutOff, ToolProgressed, ToolResult, ToolReturned
from turnfold.effects.transcript import AssistantMessage, CallPart, StopReason, TextPart, ToolResultMessage
from turnfold.effects.values import UNSET

from tests.core.agent.world import ALL_HOOKS, NOW, World, answer, call, limits, rules, tool, user

ABORTED = "Operation aborted"
PLAIN = rules()


def batch(world: World) -> list[str]:
    """What was told of the first batch."""
    start = next(place for place, line in enumerate(world.timeline) if line.startswith("tool+"))
    return [line for line in world.timeline[start : world.timeline.index("turn-")] if not line[0].isupper()]


def held_tools(*ids: str, world_rules: Any = PLAIN, **members: Any) -> World:
    """A world whose tools wait until they are answered by hand."""
    answers = [answer(*map(call, ids)), answer("done")]
    return World(world_rules, answers, held=lambda order: isinstance(order, RunTool), **members)


def running(world: World) -> dict[str, int]:
    """The calls that run, and their tickets."""
    return {order.invocation.call_id: order.ticket for order in world.waiting if isinstance(order, RunTool)}


def result_of(world: World, call_id: str) -> str:
    ended = next(event for event in world.events if isinstance(event, ToolEnded) and event.call_id == call_id)
    assert isinstance(ended.result.content, tuple)
    part = ended.result.content[0]
    assert isinstance(part, TextPart)
    return part.text


# --- order


def test_one_call_is_told_step_by_step() -> None:
    world = World(answers=[answer(call("a"))], outcomes={"a": [ToolResult("half"), ToolResult("ok")]}).prompt("hi")
    assert batch(world) == ["tool+a", "tool~a", "tool-a", "+R:a:ok", "-R:a:ok"]


def test_calls_one_by_one_publish_each_result_before_the_next_begins() -> None:
    world = World(rules(sequential=True), [answer(call("a"), call("b"))]).prompt("hi")
    assert batch(world) == [
        "tool+a", "tool-a", "+R:a:ok", "-R:a:ok", "tool+b", "tool-b", "+R:b:ok", "-R:b:ok",
    ]  # fmt: skip


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_results_enter_in_call_order_whatever_ends_first(order: tuple[str, ...]) -> None:
    """Decision 14."""
    world = held_tools("a", "b", "c").prompt("hi")
    tickets = running(world)
    for call_id in order:
        world.feed(ToolReturned(NOW, tickets[call_id], ToolResult(call_id)))
    ends = [event.call_id for event in world.events if isinstance(event, ToolEnded)]
    assert ends == list(order)
    assert world.added[3:6] == ["R:a:a", "R:b:b", "R:c:c"]


def test_calls_that_run_together_are_all_taken_up_first() -> None:
    world = held_tools("a", "b").prompt("hi")
    assert [line for line in world.timeline if line.startswith("tool")] == ["tool+a", "tool+b"]
    assert list(running(world)) == ["a", "b"]


def test_one_sequential_tool_makes_the_whole_batch_sequential() -> None:
    tools = (tool("clock"), tool("safe", sequential=True))
    world = World(answers=[answer(call("a"), call("b", "safe"))], tools=tools).prompt("hi")
    assert batch(world)[:3] == ["tool+a", "tool-a", "+R:a:ok"]


def test_a_sequential_tool_that_is_not_called_makes_nothing_sequential() -> None:
    tools = (tool("clock"), tool("safe", sequential=True))
    world = World(answers=[answer(call("a"), call("b"))], tools=tools).prompt("hi")
    assert batch(world)[:2] == ["tool+a", "tool+b"]


def test_a_call_that_settles_early_ends_before_the_next_is_taken_up() -> None:
    world = held_tools("a", "b", world_rules=rules(Hook.BEFORE_TOOL), hooks={BeforeTool: [Block("no")]}).prompt("hi")
    assert [line for line in world.timeline if line.startswith("tool")] == ["tool+a", "tool!a", "tool+b"]


def test_a_limit_on_calls_at_once_starts_the_next_in_call_order() -> None:
    world = held_tools("a", "b", "c", world_rules=rules(limits=limits(parallel=2))).prompt("hi")
    assert list(running(world)) == ["a", "b"]
    world.feed(ToolReturned(NOW, running(world)["b"], ToolResult("ok")))
    assert list(running(world)) == ["a", "b", "c"]


def test_a_limit_of_one_still_takes_up_all_calls_first() -> None:
    world = World(rules(limits=limits(parallel=1)), [answer(call("a"), call("b"))]).prompt("hi")
    assert batch(world)[:4] == ["tool+a", "tool+b", "tool-a", "tool-b"]


def test_events_carry_the_arguments_as_the_model_wrote_them() -> None:
    seen: list[Any] = []
    world = World(
        rules(check=lambda tool, arguments: _accepted({"n": 1})),
        [answer(call("a", arguments='{"n": "1"}'))],
        outcomes={"a": [ToolResult("half"), ToolResult("ok")]},
        held=lambda order: isinstance(order, RunTool) and seen.append(order.invocation.arguments) is not None,
    ).prompt("hi")
    told = [event for event in world.events if isinstance(event, ToolStarted | ToolUpdated)]
    assert {event.arguments for event in told} == {'{"n": "1"}'}
    assert seen == [{"n": 1}]


def _accepted(arguments: Any) -> Any:
    from turnfold.core.agent import Accepted

    return Accepted(arguments)


# --- before a call runs


def test_an_unknown_tool_is_an_error_the_model_sees() -> None:
    world = World(rules(*ALL_HOOKS), [answer(call("a", "nope"))]).prompt("hi")
    assert result_of(world, "a") == "Tool nope not found"
    assert "BeforeTool" not in world.timeline
    assert "AfterTool" not in world.timeline


def test_the_first_of_two_tools_with_one_name_is_called() -> None:
    tools = (tool("clock"), tool("clock", sequential=True))
    world = World(answers=[answer(call("a"), call("b"))], tools=tools).prompt("hi")
    assert batch(world)[:2] == ["tool+a", "tool+b"]


@pytest.mark.parametrize("text", ['{"a": ', "[1, 2", "nonsense", '{"a": 1e999}'])
def test_arguments_that_are_no_json_never_run(text: str) -> None:
    """Decision 12."""
    world = World(answers=[answer(call("a", arguments=text))]).prompt("hi")
    assert result_of(world, "a").startswith('Invalid arguments for tool "clock": ')
    assert "RunTool" not in world.timeline


def test_what_the_port_says_of_arguments_is_heeded() -> None:
    """Decision 46 c."""
    part = CallPart("a", "clock", "{}", arguments_error="cut off")
    world = World(answers=[answer(part)]).prompt("hi")
    assert result_of(world, "a") == 'Invalid arguments for tool "clock": cut off'


def test_blank_arguments_are_an_empty_object() -> None:
    """Decision 43."""
    world = World(answers=[answer(call("a", arguments=" "))]).prompt("hi")
    order = next(effect for effect in world.effects if isinstance(effect, RunTool))
    assert order.invocation.arguments == {}


def test_a_tool_that_prepares_gets_the_raw_arguments_and_what_it_gives_is_checked() -> None:
    from turnfold.effects.hook import PrepareArguments

    checked: list[Any] = []
    world = World(
        rules(check=lambda tool, arguments: checked.append(arguments) or _accepted(arguments)),
        [answer(call("a", arguments='{"old": 1}'))],
        {PrepareArguments: lambda order: {"new": order.arguments["old"]}},
        tools=(tool("clock", prepares=True),),
    ).prompt("hi")
    assert checked == [{"new": 1}]
    assert "PrepareArguments" in world.timeline


def test_a_preparation_that_fails_is_the_calls_error() -> None:
    from turnfold.effects.hook import PrepareArguments

    world = World(
        rules(*ALL_HOOKS),
        [answer(call("a"))],
        {PrepareArguments: [ValueError("no such form")]},
        tools=(tool("clock", prepares=True),),
    ).prompt("hi")
    assert result_of(world, "a") == "no such form"
    assert "AfterTool" not in world.timeline


def test_arguments_that_are_refused_are_an_error_without_any_hook() -> None:
    world = World(rules(*ALL_HOOKS, check=lambda tool, arguments: "bad"), [answer(call("a"))]).prompt("hi")
    assert result_of(world, "a") == "bad"
    assert "BeforeTool" not in world.timeline


def test_a_check_that_raises_is_an_error_of_the_call() -> None:
    def check(tool: Any, arguments: Any) -> Any:
        raise ValueError

    world = World(rules(check=check), [answer(call("a"))]).prompt("hi")
    assert result_of(world, "a") == "ValueError"


@pytest.mark.parametrize(("reason", "text"), [("not now", "not now"), ("", "Tool execution was blocked")])
def test_a_blocked_call_tells_the_model_why(reason: str, text: str) -> None:
    world = World(rules(*ALL_HOOKS), [answer(call("a"))], {BeforeTool: [Block(reason)]}).prompt("hi")
    assert result_of(world, "a") == text
    assert "RunTool" not in world.timeline
    assert "AfterTool" not in world.timeline


def test_a_hook_before_a_call_that_fails_is_the_calls_error() -> None:
    world = World(rules(*ALL_HOOKS), [answer(call("a"))], {BeforeTool: [ValueError("no entry")]}).prompt("hi")
    assert result_of(world, "a") == "no entry"
    assert len(world.requests) == 2


@pytest.mark.parametrize(("recheck", "times"), [(True, 2), (False, 1)])
def test_arguments_that_a_hook_replaced_are_checked_again(recheck: bool, times: int) -> None:
    checked: list[Any] = []
    world = World(
        rules(
            Hook.BEFORE_TOOL, recheck=recheck, check=lambda tool, arguments: checked.append(1) or _accepted(arguments)
        ),
        [answer(call("a"))],
        {BeforeTool: [Proceed({"n": 2})]},
    ).prompt("hi")
    order = next(effect for effect in world.effects if isinstance(effect, RunTool))
    assert (order.invocation.arguments, len(checked)) == ({"n": 2}, times)


# --- after it ran


def test_a_tool_that_raises_is_an_error_the_host_may_look_at() -> None:
    hooks = {AfterTool: [ResultPatch(is_error=False)]}
    world = World(rules(Hook.AFTER_TOOL), [answer(call("a"))], hooks, {"a": ValueError("broken")}).prompt("hi")
    assert "tool-a" in world.timeline
    assert result_of(world, "a") == "broken"


def test_a_tool_may_flag_its_result() -> None:
    world = World(answers=[answer(call("a"))], outcomes={"a": ToolResult("no", is_error=True)}).prompt("hi")
    assert "tool!a" in world.timeline


RAW = ToolResult((TextPart("raw"),), details={"n": 1}, structured={"v": 1}, usage={"u": 1}, extra={"custom": "kept"})
OTHER = (TextPart("other"),)


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        (ResultPatch(), {}),
        (ResultPatch(content=OTHER), {"content": OTHER, "structured": UNSET}),
        (ResultPatch(content=()), {"content": (), "structured": UNSET}),
        (ResultPatch(content=OTHER, structured={"v": 2}), {"content": OTHER, "structured": {"v": 2}}),
        (ResultPatch(content=OTHER, structured=None), {"content": OTHER, "structured": UNSET}),
        (ResultPatch(structured={"v": 2}), {"structured": {"v": 2}}),
        (ResultPatch(structured=None), {}),
        (ResultPatch(details={"n": 2}), {"details": {"n": 2}}),
        (ResultPatch(details=None), {}),
        (ResultPatch(usage={"u": 2}), {"usage": {"u": 2}}),
        (ResultPatch(usage=None), {"usage": None}),
        (ResultPatch(terminate=False), {"terminate": False}),
    ],
)
def test_a_patch_replaces_what_it_has(patch: ResultPatch, changed: dict[str, Any]) -> None:
    from turnfold.effects.values import replace

    hooks = {AfterTool: [patch]}
    world = World(rules(Hook.AFTER_TOOL), [answer(call("a"))], hooks, {"a": RAW}).prompt("hi")
    ended = next(event for event in world.events if isinstance(event, ToolEnded))
    assert ended.result == replace(RAW, **changed)


def test_a_hook_after_a_call_that_fails_replaces_the_result() -> None:
    """Decision 19."""
    hooks = {AfterTool: [ValueError("audit failed")]}
    world = World(rules(Hook.AFTER_TOOL), [answer(call("a"))], hooks, {"a": RAW}).prompt("hi")
    ended = next(event for event in world.events if isinstance(event, ToolEnded))
    assert ended.is_error
    assert ended.result == ToolResult((TextPart("audit failed"),), details={})


def test_a_result_message_carries_what_the_model_and_the_host_need_and_no_more() -> None:
    world = World(answers=[answer(call("a"))], outcomes={"a": RAW}).prompt("hi")
    message = next(m for m in world.settled.messages if isinstance(m, ToolResultMessage))
    assert message == ToolResultMessage(
        "a", "clock", (TextPart("raw"),), details={"n": 1}, timestamp=NOW, usage={"u": 1}
    )


@pytest.mark.parametrize("content", [None, ""])
def test_a_result_without_content_is_an_empty_list_for_the_model(content: str | None) -> None:
    world = World(answers=[answer(call("a"))], outcomes={"a": ToolResult(content)}).prompt("hi")
    message = next(m for m in world.settled.messages if isinstance(m, ToolResultMessage))
    assert message.content == ()


# --- whether the run goes on


@pytest.mark.parametrize(("wishes", "requests"), [((True, True), 1), ((True, None), 2), ((True, False), 2)])
def test_all_results_must_wish_to_terminate(wishes: tuple[bool | None, ...], requests: int) -> None:
    outcomes = {name: ToolResult("ok", terminate=wish) for name, wish in zip("ab", wishes, strict=True)}
    world = World(answers=[answer(call("a"), call("b"))], outcomes=outcomes).prompt("hi")
    assert len(world.requests) == requests


def test_a_blocked_call_may_wish_to_terminate() -> None:
    hooks = {BeforeTool: [Block("stop", terminate=True)]}
    world = World(rules(Hook.BEFORE_TOOL), [answer(call("a"))], hooks).prompt("hi")
    assert len(world.requests) == 1


def test_what_waits_goes_before_a_wish_to_terminate() -> None:
    hooks = {PollSteering: [[], [user("wait")]]}
    outcomes = {"a": ToolResult("ok", terminate=True)}
    world = World(rules(Hook.STEERING), [answer(call("a"))], hooks, outcomes).prompt("hi")
    assert len(world.requests) == 2


def test_a_length_stop_runs_no_call_and_asks_again() -> None:
    """Decision 43."""
    world = World(rules(*ALL_HOOKS), [answer(call("a"), call("b", 'x"y'), stop=StopReason.LENGTH)]).prompt("hi")
    assert batch(world) == ["tool+a", "tool!a", "+R!a", "-R!a", "tool+b", "tool!b", "+R!b", "-R!b"]
    assert 'Tool call "x"y" was not executed' in result_of(world, "b")
    assert len(world.requests) == 2
    assert "BeforeTool" not in world.timeline


def test_a_length_stop_without_calls_is_an_ordinary_end() -> None:
    world = World(answers=[answer("cut", stop=StopReason.LENGTH)]).prompt("hi")
    assert len(world.requests) == 1


# --- cancellation


def abort(world: World, event: Any) -> None:
    """A listener that aborts at the first start of a call."""
    if isinstance(event, ToolStarted) and event.call_id == "a":
        world.inbox.append(AbortAsked(NOW))


@pytest.mark.parametrize("sequential", [True, False])
def test_an_abort_when_a_call_begins_stops_it_and_takes_up_no_other(sequential: bool) -> None:
    world = held_tools("a", "b", world_rules=rules(sequential=sequential), on_event=abort).prompt("hi")
    assert result_of(world, "a") == ABORTED
    assert batch(world) == ["tool+a", "tool!a", "+R!a", "-R!a"]


def test_an_abort_in_a_hook_beats_its_decision() -> None:
    def before(order: BeforeTool) -> Block:
        world.inbox.append(AbortAsked(NOW))
        return Block("no")

    world = World(rules(Hook.BEFORE_TOOL), [answer(call("a"))], {BeforeTool: before})
    world.prompt("hi")
    assert result_of(world, "a") == ABORTED


def test_an_abort_while_calls_are_taken_up_ends_those_that_could_run() -> None:
    def before(order: BeforeTool) -> None:
        if order.call.id == "b":
            world.inbox.append(AbortAsked(NOW))

    world = World(rules(Hook.BEFORE_TOOL), [answer(*map(call, "abc"))], {BeforeTool: before})
    world.prompt("hi")
    assert batch(world) == [
        "tool+a", "tool+b", "tool!b", "tool!a", "+R!a", "-R!a", "+R!b", "-R!b",
    ]  # fmt: skip
    assert "RunTool" not in world.timeline


def test_an_abort_cuts_off_running_calls_and_the_next_request() -> None:
    """Decision 47."""
    world = held_tools("a", "b").prompt("hi")
    world.feed(AbortAsked(NOW))
    assert [effect.ticket for effect in world.effects if isinstance(effect, CancelTool)] != []
    assert [result_of(world, "a"), result_of(world, "b")] == [ABORTED, ABORTED]
    assert type(world.effects[world.effects.index(world.requests[1]) + 1]).__name__ == "CancelModel"


def test_a_result_within_the_grace_counts() -> None:
    world = held_tools("a").prompt("hi")
    ticket = running(world)["a"]
    world.waiting.clear()
    world.feed(AbortAsked(NOW), ToolReturned(NOW, ticket, ToolResult("just in time")))
    assert "R:a:just in time" in world.added


def test_a_call_cut_off_while_it_ran_is_shown_to_the_host() -> None:
    world = held_tools("a", world_rules=rules(Hook.AFTER_TOOL)).prompt("hi")
    world.feed(ToolCutOff(NOW, running(world)["a"]))
    assert "AfterTool" in world.timeline


def test_a_call_that_never_started_is_not() -> None:
    world = held_tools("a", world_rules=rules(Hook.AFTER_TOOL)).prompt("hi")
    world.feed(ToolNotRun(NOW, running(world)["a"]))
    assert "AfterTool" not in world.timeline
    assert result_of(world, "a") == ABORTED


def test_an_abort_during_calls_one_by_one_takes_up_no_other() -> None:
    world = held_tools("a", "b", world_rules=rules(sequential=True)).prompt("hi")
    ticket = running(world)["a"]
    world.waiting.clear()
    world.feed(AbortAsked(NOW), ToolReturned(NOW, ticket, ToolResult("ok")))
    ended = next(event for event in world.events if isinstance(event, TurnEnded))
    assert [result.call_id for result in ended.results] == ["a"]


def test_an_abort_before_the_run_reaches_the_first_request() -> None:
    world = World(answers=[answer("x")])
    world.start()
    world.feed(AbortAsked(NOW))
    from turnfold.effects.agent_vocabulary import Prompted

    world.feed(Prompted(NOW, (user("hi"),)))
    assert type(world.effects[world.effects.index(world.requests[0]) + 1]).__name__ == "CancelModel"


# --- one call by itself


def test_one_call_by_itself_passes_every_rule_and_gives_its_outcome() -> None:
    hooks = {AfterTool: [ResultPatch(terminate=True)]}
    world = World(rules(*ALL_HOOKS), hooks=hooks).run(CallAsked(NOW, call("a"), AssistantMessage((call("a"),))))
    assert world.settled.outcome is not None
    assert world.settled.outcome.result == ToolResult("ok", terminate=True)
    assert [line for line in world.timeline if line[0].isupper()] == ["BeforeTool", "RunTool", "AfterTool"]


def test_updates_of_a_call_that_is_over_are_impossible() -> None:
    from turnfold.core.agent import IllegalEvent

    world = held_tools("a").prompt("hi")
    ticket = running(world)["a"]
    world.feed(ToolReturned(NOW, ticket, ToolResult("ok")))
    with pytest.raises(IllegalEvent):
        world.feed(ToolProgressed(NOW, ticket, ToolResult("late")))
