"""The stages that a call passes, in their order; which of them see it depends on where it ends."""

from typing import Any

import pytest
from turnfold.core.agent import Accepted
from turnfold.effects.agent_vocabulary import AbortAsked
from turnfold.effects.hook import AfterTool, BeforeTool, Block, PrepareArguments, ResultPatch
from turnfold.effects.tool import RunTool, ToolCutOff, ToolResult, ToolReturned
from turnfold.effects.transcript import StopReason

from tests.core.agent.world import ALL_HOOKS, NOW, Broken, World, answer, call, rules, tool

PREPARES = (tool("clock", prepares=True),)
STAGES = ("PrepareArguments", "BeforeTool", "RunTool", "AfterTool")


def stages(world: World) -> list[str]:
    """The stages of the first batch, checks included, and what listeners heard of it."""
    start = next(place for place, line in enumerate(world.timeline) if line.startswith("tool"))
    return world.timeline[start : world.timeline.index("FinishTurn")]


def staged(*answers: Any, check: Any = None, **members: Any) -> World:
    """A world whose check of arguments is in its timeline too."""

    def checking(spec: Any, arguments: Any) -> Any:
        world.timeline.append("check")
        return Accepted(arguments) if check is None else check

    world_rules = rules(*ALL_HOOKS, check=checking, sequential=members.pop("sequential", False))
    world = World(world_rules, answers or [answer(call("a"))], **{"tools": PREPARES, **members})
    return world


@pytest.mark.parametrize("sequential", [True, False])
def test_a_call_passes_every_stage_in_order(sequential: bool) -> None:
    world = staged(outcomes={"a": [ToolResult("half"), ToolResult("ok")]}, sequential=sequential).prompt("hi")
    assert stages(world) == [
        "tool+a", "PrepareArguments", "check", "BeforeTool", "RunTool", "tool~a", "AfterTool", "tool-a",
        "+R:a:ok", "-R:a:ok",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "seen"),
    [
        ({"tools": ()}, []),
        ({"hooks": {PrepareArguments: [Broken("no form")]}}, ["PrepareArguments"]),
        ({"check": "bad"}, ["PrepareArguments", "check"]),
        ({"hooks": {BeforeTool: [Broken("no entry")]}}, ["PrepareArguments", "check", "BeforeTool"]),
        ({"hooks": {BeforeTool: [Block("no")]}}, ["PrepareArguments", "check", "BeforeTool"]),
        ({"hooks": {BeforeTool: [Block("no", terminate=True)]}}, ["PrepareArguments", "check", "BeforeTool"]),
    ],
    ids=["unknown", "not prepared", "refused", "hook raised", "blocked", "blocked for good"],
)
@pytest.mark.parametrize("sequential", [True, False])
def test_a_call_that_ends_before_it_runs_is_not_shown_to_the_host_afterwards(
    members: dict[str, Any], seen: list[str], sequential: bool
) -> None:
    world = staged(**members, sequential=sequential).prompt("hi")
    assert stages(world) == ["tool+a", *seen, "tool!a", "+R!a", "-R!a"]


def test_arguments_that_cannot_be_read_pass_no_stage() -> None:
    world = staged(answer(call("a", arguments="{"))).prompt("hi")
    assert stages(world) == ["tool+a", "tool!a", "+R!a", "-R!a"]


def test_calls_of_an_answer_that_was_cut_off_pass_no_stage() -> None:
    world = staged(answer(call("a"), stop=StopReason.LENGTH)).prompt("hi")
    assert stages(world) == ["tool+a", "tool!a", "+R!a", "-R!a"]


def test_an_abort_before_the_call_runs_is_the_last_stage() -> None:
    def before(order: BeforeTool) -> None:
        world.inbox.append(AbortAsked(NOW))

    world = staged(hooks={BeforeTool: before})
    world.prompt("hi")
    assert stages(world) == ["tool+a", "PrepareArguments", "check", "BeforeTool", "tool!a", "+R!a", "-R!a"]


@pytest.mark.parametrize("outcome", [Broken("broken"), ToolResult("no", is_error=True)])
def test_a_tool_that_fails_is_shown_to_the_host_afterwards(outcome: Any) -> None:
    world = staged(outcomes={"a": outcome}).prompt("hi")
    assert [line for line in stages(world) if line in STAGES][-2:] == ["RunTool", "AfterTool"]


# --- whether the run goes on


@pytest.mark.parametrize(
    ("wishes", "patches", "requests"),
    [
        ((None, None), (True, True), 1),
        ((True, True), (None, None), 1),
        ((True, True), (None, False), 2),
        ((True, None), (None, True), 1),
        ((False, True), (True, None), 1),
    ],
)
def test_what_counts_is_the_wish_of_the_final_result(wishes: Any, patches: Any, requests: int) -> None:
    """The hook after a call has the last word about it."""
    outcomes = {name: ToolResult("ok", terminate=wish) for name, wish in zip("ab", wishes, strict=True)}
    hooks = {AfterTool: [ResultPatch(terminate=wish) for wish in patches]}
    world = World(rules(*ALL_HOOKS), [answer(call("a"), call("b"))], hooks, outcomes).prompt("hi")
    assert len(world.requests) == requests


def test_an_error_counts_as_a_result_that_wishes_nothing() -> None:
    outcomes = {"a": ToolResult("ok", terminate=True)}
    world = World(answers=[answer(call("a"), call("b", "nope"))], outcomes=outcomes).prompt("hi")
    assert len(world.requests) == 2


def test_calls_that_were_never_taken_up_do_not_count() -> None:
    held = {"held": lambda order: isinstance(order, RunTool)}
    world = World(rules(sequential=True), [answer(call("a"), call("b"))], **held).prompt("hi")
    (order,) = world.waiting
    world.waiting.clear()
    world.feed(AbortAsked(NOW), ToolReturned(NOW, order.ticket, ToolResult("ok", terminate=True)))
    assert world.added[-1] == "R:a:ok"
    assert len(world.requests) == 1


def test_a_call_that_was_cut_off_wishes_nothing() -> None:
    world = World(answers=[answer(call("a"))], held=lambda order: isinstance(order, RunTool)).prompt("hi")
    (order,) = world.waiting
    world.waiting.clear()
    world.feed(ToolCutOff(NOW, order.ticket))
    assert len(world.requests) == 2
