"""An answer that its provider interrupts itself is gone on with, as one answer."""

import json
from typing import Any

import pytest
import trio
from turnfold.adapters.models import RemoteModel
from turnfold.adapters.models.anthropic_blocks import ArrivingBlock
from turnfold.effects.model import Delta, StreamFailed
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.answers import answer_of, stream_of
from tests.adapters.models.loopback import Answer, Asked, Loopback, ask, in_real_time, model_at, says, serving, streams

PAUSED = "anthropic-messages/pause-turn-with-server-tools"


def in_turn(*answers: Answer) -> Answer:
    """The first answer to the first request and so on; the last one to all that follow."""
    left = list(answers)

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(stream, asked)

    return answer


async def asked_of(answer: Answer, **options: Any) -> tuple[list[Delta], Loopback]:
    model: RemoteModel
    async with serving(answer) as server, model_at(server, "anthropic-messages", **options) as model:
        return await ask(model), server


@in_real_time
async def test_a_paused_answer_goes_on_with_all_that_was_said() -> None:
    """The provider's own blocks, with their whole input, are in the request that lets it go on."""
    _, first, begun = stream_of(PAUSED)
    _, second, ended = stream_of("anthropic-messages/thinking-and-two-calls")
    deltas, server = await asked_of(in_turn(streams([first]), streams([second])))
    got = answer_of(deltas)
    assert got["parts"] == begun["parts"] + ended["parts"]
    assert (got["stop"], got["raw_stop"]) == (ended["stop"], ended["raw_stop"])
    assert got["response_id"] == begun["response_id"]
    assert got["usage"] == {name: begun["usage"][name] + ended["usage"][name] for name in begun["usage"]}
    before, after = (asked.body for asked in server.asked)
    *messages, said = after["messages"]
    assert {**after, "messages": messages} == before
    assert said["role"] == "assistant"
    text, *own = said["content"]
    assert text == {"type": "text", "text": "Searching."}
    assert own == [json.loads(part["signature"]) for part in begun["parts"][1:]]


@in_real_time
async def test_a_provider_that_keeps_pausing_is_asked_so_often_and_no_more() -> None:
    _, body, begun = stream_of(PAUSED)
    deltas, server = await asked_of(streams([body]), pauses=2)
    assert len(server.asked) == 3
    assert [len(asked.body["messages"]) for asked in server.asked] == [1, 2, 3]
    got = answer_of(deltas)
    assert got["parts"] == begun["parts"] * 3
    assert (got["stop"], got["raw_stop"]) == ("stop", "pause_turn")


@in_real_time
async def test_a_failure_on_the_way_on_is_the_failure_of_the_answer() -> None:
    _, body, begun = stream_of(PAUSED)
    deltas, _ = await asked_of(in_turn(streams([body]), says("529 Overloaded")))
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind == ErrorKind.UNAVAILABLE
    assert answer_of(deltas)["parts"] == begun["parts"]


@in_real_time
async def test_a_pause_that_said_nothing_or_that_left_a_call_open_is_an_end() -> None:
    _, body, _ = stream_of(PAUSED)
    nothing = body[: body.index(b"event: content_block_start")] + body[body.index(b"event: message_delta") :]
    _, call, _ = stream_of("anthropic-messages/call-without-arguments")
    for paused in (nothing, call.replace(b'"stop_reason":"tool_use"', b'"stop_reason":"pause_turn"')):
        deltas, server = await asked_of(streams([paused]))
        assert len(server.asked) == 1
        assert answer_of(deltas)["raw_stop"] == "pause_turn"


@pytest.mark.parametrize(
    ("block", "deltas", "whole"),
    [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": "Hm"},
                {"type": "signature_delta", "signature": "c2"},
                {"type": "signature_delta", "signature": "ln"},
            ],
            {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
        ),
        ({"type": "redacted_thinking", "data": "ZW5j"}, [], {"type": "redacted_thinking", "data": "ZW5j"}),
        (
            {"type": "text", "text": "", "citations": []},
            [{"type": "text_delta", "text": "a"}, {"type": "citations_delta", "citation": {}}],
            {"type": "text", "text": "a"},
        ),
        (
            {"type": "text", "text": "", "citations": []},
            [
                {"type": "text_delta", "text": "a"},
                {"type": "citations_delta", "citation": {"type": "char_location", "file_id": "f"}},
                {"type": "text_delta", "text": "b"},
                {"type": "citations_delta", "citation": {"type": "page_location"}},
            ],
            {"type": "text", "text": "ab", "citations": [{"type": "char_location"}, {"type": "page_location"}]},
        ),
        ({"type": "text", "text": " "}, [], {}),
        ({"type": "new", "x": 1}, [{"type": "new_delta"}], {}),
        ({"x": 1}, [], {}),
        ({"type": "server_tool_use", "input": {}}, [{"type": "input_json_delta", "partial_json": "[1]"}], {}),
        (
            {"type": "server_tool_use", "input": {}},
            [{"type": "input_json_delta", "partial_json": '{"a"'}, {"type": "input_json_delta", "partial_json": ":1}"}],
            {"type": "server_tool_use", "input": {"a": 1}},
        ),
    ],
)
def test_a_block_is_put_together_as_it_must_go_back(
    block: dict[str, Any], deltas: list[dict[str, Any]], whole: dict[str, Any]
) -> None:
    arriving = ArrivingBlock(block)
    for delta in deltas:
        arriving.take(delta)
    assert arriving.whole() == whole
