"""The model without a network: it says what its script says."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import trio
from turnfold.adapters.models import Reply, ScriptedModel, ScriptExhaustedError, call, fail, pause, raw, say, think
from turnfold.effects.model import BlockDelta, Delta, ModelPort, ModelRequest, Started, StreamFailed, StreamFinished
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import ErrorKind, StopReason, Usage, UserMessage

from tests.adapters.models.answers import answer_of

REQUEST = ModelRequest("call-1", Seq([UserMessage("hi"), UserMessage("there")]))


async def asked(model: ModelPort, request: ModelRequest = REQUEST) -> list[Delta]:
    deltas: Any = model.stream(request)
    async with aclosing(deltas):
        return [delta async for delta in deltas]


async def answer(*script: Any, **options: Any) -> dict[str, Any]:
    return answer_of(await asked(ScriptedModel(script, **options)))


async def test_text_is_said_in_pieces_and_counted() -> None:
    model = ScriptedModel(["Hello there"], chunk=4, provider="p", model="m")
    deltas = await asked(model)
    assert deltas[0] == Started("scripted", "p", "m", "response-1")
    assert [delta.text for delta in deltas if isinstance(delta, BlockDelta)] == ["Hell", "o th", "ere"]
    assert answer_of(deltas) == {
        "response_id": "response-1",
        "response_model": None,
        "parts": [{"type": "text", "text": "Hello there"}],
        "usage": {"input": 10, "cache_read": 0, "cache_write": 0, "output": 2, "reasoning": 0},
        "stop": "stop",
        "raw_stop": None,
        "error": None,
    }


async def test_replies_are_put_together_with_plus() -> None:
    said = think("hm", "sig") + say("Both:")
    told = await answer(said + call("f", {"a": "é", "b": [1]}) + call("g", id="mine") + call("h", '{"cut'))
    assert told["stop"] == "tool_use"
    assert told["parts"] == [
        {"type": "thinking", "text": "hm", "signature": "sig", "redacted": False},
        {"type": "text", "text": "Both:"},
        {"type": "call", "id": "call-1", "name": "f", "arguments": '{"a":"é","b":[1]}'},
        {"type": "call", "id": "mine", "name": "g", "arguments": ""},
        {"type": "call", "id": "call-2", "name": "h", "arguments": '{"cut'},
    ]


async def test_an_id_may_be_empty() -> None:
    assert (await answer(call("f", id="")))["parts"][0]["id"] == ""


async def test_hidden_reasoning_keeps_its_payload() -> None:
    (part,) = (await answer(think("", "payload", redacted=True)))["parts"]
    assert part == {"type": "thinking", "text": "", "signature": "payload", "redacted": True}


async def test_stop_and_usage_may_be_given() -> None:
    told = await answer(call("f") + say("", stop=StopReason.LENGTH, raw_stop="max", usage=Usage(input=1, output=3)))
    assert (told["stop"], told["raw_stop"]) == ("length", "max")
    assert (told["usage"]["input"], told["usage"]["output"]) == (1, 3)
    assert (await answer("x", usage=Usage(input=7)))["usage"]["input"] == 7


async def test_a_failure_comes_after_what_was_said_before_it() -> None:
    model = ScriptedModel([say("Half") + fail("too busy", ErrorKind.RATE_LIMITED, retry_after_ms=5) + say("never")])
    deltas = await asked(model)
    told = answer_of(deltas)
    assert told["parts"] == [{"type": "text", "text": "Half"}]
    assert told["error"] == {"kind": "rate_limited"}
    assert isinstance(deltas[-1], StreamFailed)
    assert (deltas[-1].error.message, deltas[-1].error.retry_after_ms) == ("too busy", 5)


async def test_raw_deltas_are_passed_on_as_they_are() -> None:
    deltas = (BlockDelta(3, "stray"), StreamFinished(), BlockDelta(3, "late"))
    assert await asked(ScriptedModel([raw(*deltas[:2])])) == list(deltas[:2])
    assert await asked(ScriptedModel([raw(deltas[0])])) == [deltas[0]]
    assert await asked(ScriptedModel([raw()])) == []
    for reply in (raw() + say("a"), say("a") + raw()):
        assert [type(delta).__name__ for delta in await asked(ScriptedModel([reply]))] == [
            "BlockStarted",
            "BlockDelta",
            "BlockEnded",
        ]


async def test_replies_may_depend_on_the_request() -> None:
    def length(request: ModelRequest) -> str:
        return str(len(request.context))

    def reply(request: ModelRequest) -> Reply:
        return call("f", id=request.model_call_id)

    model = ScriptedModel([length, reply])
    assert answer_of(await asked(model))["parts"] == [{"type": "text", "text": "2"}]
    assert answer_of(await asked(model))["parts"][0]["id"] == "call-1"


async def test_a_function_alone_answers_for_ever() -> None:
    model = ScriptedModel(lambda request: call("f"))
    ids = [answer_of(await asked(model))["parts"][0]["id"] for _ in range(3)]
    assert ids == ["call-1", "call-2", "call-3"]


async def test_a_script_that_is_used_up_says_so() -> None:
    model = ScriptedModel(["a"])
    await asked(model)
    with pytest.raises(ScriptExhaustedError, match="has 1 replies, and the model was asked 2 times"):
        await asked(model)


async def test_requests_are_kept_with_or_without_their_contexts() -> None:
    model = ScriptedModel(["a"])
    await asked(model)
    assert model.requests == [REQUEST]
    light = ScriptedModel(["a"], keep_contexts=False)
    await asked(light)
    assert light.context_lengths == [2]
    assert light.requests[0].context == Seq()
    assert light.requests[0].model_call_id == "call-1"


async def test_pauses_and_gaps_take_the_time_of_the_clock_that_is_given() -> None:
    model = ScriptedModel([pause(60) + say("abcdef")], chunk=2, sleep=trio.sleep, gap_s=1)
    started = trio.current_time()
    times = []
    async with aclosing(model.stream(REQUEST)) as deltas:
        async for delta in deltas:
            if isinstance(delta, BlockDelta):
                times.append(round(trio.current_time() - started))
    assert times == [61, 62, 63]


async def test_time_without_a_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a sleep"):
        ScriptedModel([], gap_s=1)
    with pytest.raises(ValueError, match="needs a sleep"):
        await asked(ScriptedModel([pause(1)]))
    with pytest.raises(ValueError, match="at least one character"):
        ScriptedModel([], chunk=0)


def test_it_needs_no_framework() -> None:
    async def drain(deltas: AsyncIterator[Delta]) -> int:
        return len([delta async for delta in deltas])

    coroutine = drain(ScriptedModel(["hi"]).stream(REQUEST))
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    assert done.value.value == 6
