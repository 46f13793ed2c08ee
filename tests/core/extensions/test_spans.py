"""The mapping from a run to spans: balanced for any run, cheap for a delta, and true when a listener raises."""

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from turnfold.core.agent import AgentRules, Hook
from turnfold.core.extensions.spans import EndSpan, SpanOperation, SpanRules, StartSpan, Watched, watch
from turnfold.core.extensions.spans.content import input_messages, output_messages, system_instructions
from turnfold.effects.agent import MessageEnded, ToolStarted
from turnfold.effects.agent_vocabulary import AbortAsked, Emit, Prompted
from turnfold.effects.hook import FinishTurn, PollFollowUps
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    DeltaKind,
    ModelRequest,
    ModelStreamed,
    Started,
)
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    CustomMessage,
    ImagePart,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolResultMessage,
    UserMessage,
)

from tests.core.agent.test_properties import worlds
from tests.core.agent.world import World, answer, call

TOLD = AgentRules(told=True)


def operations(world: World, rules: SpanRules | None = None) -> list[SpanOperation]:
    """What is done to spans over a whole run."""
    watched, found = Watched(), []
    for event, effects in world.trace:
        watched, some = watch(watched, event, effects, rules or SpanRules())
        found += some
    assert watched.run is None
    return found


def ends(found: Iterable[SpanOperation]) -> dict[str, list[str | None]]:
    """How the spans ended, by name."""
    names, ended = {}, dict[str, list[str | None]]()
    for operation in found:
        if isinstance(operation, StartSpan):
            names[operation.key] = operation.name
        elif isinstance(operation, EndSpan):
            ended.setdefault(names[operation.key], []).append(operation.error)
    return ended


@given(worlds())
def test_every_span_ends_once_and_within_its_run(world: World) -> None:
    """For any script, any failure and any abort; nothing is done to a span that is over."""
    world.prompt("hi")
    live: dict[int, int | None] = {}
    seen: set[int] = set()
    for operation in operations(world, SpanRules(content=True)):
        if isinstance(operation, StartSpan):
            assert operation.key not in seen
            assert operation.parent is None or operation.parent in live
            live[operation.key] = operation.parent
            seen.add(operation.key)
        elif isinstance(operation, EndSpan):
            del live[operation.key]
            assert operation.key not in live.values()
            assert (operation.error is None) == ("error.type" not in operation.attributes)
        else:
            assert operation.key in live
    assert not live


@given(worlds())
def test_every_call_that_listeners_saw_has_a_span(world: World) -> None:
    world.prompt("hi")
    started = [one for one in operations(world) if isinstance(one, StartSpan)]
    tools = [one for one in started if one.name.startswith("execute_tool ")]
    told = [event for event in world.events if isinstance(event, ToolStarted)]
    assert len(tools) >= len(told)
    assert len([one for one in started if one.name.startswith("chat")]) >= len(world.requests)


def test_a_delta_costs_nothing_once_the_first_one_is_there() -> None:
    watched, _ = watch(Watched(), Prompted(1), (CallModel(1, ModelRequest("1", Seq())),), SpanRules())
    watched, _ = watch(watched, ModelStreamed(2, 1, (Started(),)), (), SpanRules())
    watched, _ = watch(watched, ModelStreamed(2, 1, (BlockStarted(0, DeltaKind.TEXT),)), (), SpanRules())
    after, found = watch(watched, ModelStreamed(3, 1, (BlockDelta(0, "x"),)), (), SpanRules())
    assert after is watched
    assert found == ()


def test_nothing_is_done_before_a_run_and_after_it() -> None:
    assert watch(Watched(), ModelStreamed(1, 1, ()), (), SpanRules()) == (Watched(), ())


def test_an_order_that_a_failed_listener_withheld_ends_its_span() -> None:
    """The model call was ordered in the same breath as the event at which a listener raised: it was never made."""
    world = World(TOLD, breaks=frozenset({3})).prompt("hi")
    assert isinstance(world.events[3], MessageEnded)
    assert ends(operations(world)) == {"chat m1": ["not_sent"], "invoke_agent": ["run_failed"]}
    assert world.requests == []


def test_a_call_that_no_listener_heard_of_ends_its_span() -> None:
    """The listener raised at the end of the answer, behind which the call was to be taken up."""
    world = World(TOLD, [answer(call("a"))])
    world.breaks = frozenset({7})
    world.prompt("hi")
    assert isinstance(world.events[7], MessageEnded)
    assert not any(isinstance(event, ToolStarted) for event in world.events)
    assert ends(operations(world))["execute_tool clock"] == ["not_run"]


def test_what_is_open_when_a_run_was_torn_down_ends_before_the_next_begins() -> None:
    taken_up = (CallModel(1, ModelRequest("1", Seq())), Emit(ToolStarted("a", "clock", "{}")))
    watched, _ = watch(Watched(), Prompted(1), taken_up, SpanRules())
    watched, found = watch(watched, Prompted(2), (), SpanRules())
    assert [(type(one), one.key) for one in found] == [(EndSpan, 1), (EndSpan, 2), (EndSpan, 0), (StartSpan, 3)]
    assert {one.error for one in found if isinstance(one, EndSpan)} == {"cut_off"}
    assert (watched.run, watched.models, watched.tools) == (3, {}, ())


def test_a_run_that_fails_after_an_abort_was_aborted() -> None:
    def abort(world: World, event: Any) -> None:
        if isinstance(event, ToolStarted):
            world.inbox.append(AbortAsked(1_000))

    world = World(AgentRules(told=True, hooks=frozenset({Hook.FINISH_TURN})), [answer(call("a"))], on_event=abort)
    world.hooks = {FinishTurn: [RuntimeError("too late")]}
    assert ends(operations(world.prompt("hi")))["invoke_agent"] == ["aborted"]


def test_calls_with_one_id_each_have_a_span() -> None:
    world = World(TOLD, [answer(call("a"), call("a"))]).prompt("hi")
    assert ends(operations(world))["execute_tool clock"] == [None, None]


def test_an_answer_after_the_run_has_failed_still_ends_its_span() -> None:
    world = World(AgentRules(told=True, hooks=frozenset({Hook.FOLLOW_UPS})), hooks={PollFollowUps: [RuntimeError("x")]})
    found = ends(operations(world.prompt("hi")))
    assert found == {"chat m1": [None], "invoke_agent": ["run_failed"]}


def test_a_response_id_and_model_are_taken_from_the_first_delta() -> None:
    watched, _ = watch(Watched(), Prompted(1), (CallModel(7, ModelRequest("7", Seq())),), SpanRules())
    watched, _ = watch(watched, ModelStreamed(1500, 7, (Started("", "", "", "r", "m-2"),)), (), SpanRules())
    told = (Emit(MessageEnded(AssistantMessage())),)
    _, found = watch(watched, ModelStreamed(1600, 7, answer("x")), told, SpanRules())
    (end,) = [one for one in found if isinstance(one, EndSpan)]
    assert end.attributes["gen_ai.response.id"] == "r"
    assert end.attributes["gen_ai.response.model"] == "m-2"
    assert end.attributes["gen_ai.response.time_to_first_chunk"] == 1.499


# --- content


def test_messages_are_written_by_role_and_part() -> None:
    written = json.loads(
        input_messages(
            [
                UserMessage((TextPart("look"), ImagePart("AAAA", "image/gif"))),
                AssistantMessage((ThinkingPart("hm"), CallPart("a", "read", '{"p": 1}'))),
                ToolResultMessage("a", "read", "found"),
                SystemMessage(),
                SystemMessage("be quick"),
                CustomMessage("note", "for the host"),
            ]
        )
    )
    text = {"type": "text", "content": "look"}
    assert written == [
        {"role": "user", "parts": [text, {"type": "image", "mime_type": "image/gif", "size": 4}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "a", "name": "read", "arguments": '{"p": 1}'},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "a", "response": "found"}]},
        {"role": "system", "parts": [{"type": "text", "content": "be quick"}]},
        {"role": "note", "parts": []},
    ]


def test_an_output_says_why_it_ended_in_the_providers_word_if_there_is_one() -> None:
    def reason(**members: Any) -> str:
        return json.loads(output_messages(AssistantMessage(**members)))[0]["finish_reason"]

    assert reason(stop=StopReason.TOOL_USE) == "tool_use"
    assert reason(stop=StopReason.TOOL_USE, raw_stop="tool_calls") == "tool_calls"


def test_the_instructions_are_those_at_the_head() -> None:
    head = SystemMessage("be brief", {"style": "plain", "gone": None})
    assert [part["content"] for part in json.loads(system_instructions([head, UserMessage("x")]))] == [
        "be brief",
        "plain",
    ]
    assert system_instructions([UserMessage("x"), head]) == ""
    assert system_instructions([SystemMessage()]) == ""
    assert system_instructions([]) == ""
