"""An object from models of which the next one answers where the one before cannot: each is asked in its own way."""

import json
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from turnfold.adapters.models import (
    ConfigError,
    FallbackModel,
    RemoteModel,
    Retries,
    ScriptedModel,
    Strategy,
    Tried,
    call,
    fail,
    make_model,
    raw,
    say,
    vendor_of,
)
from turnfold.adapters.models.structured import (
    Ask,
    CallFailedError,
    GeneratedObject,
    ObjectSoFar,
    generate,
    generate_object,
    stream_object,
)
from turnfold.effects.model import Started, UsageReported
from turnfold.effects.transcript import ErrorKind, Usage

from tests.adapters.models.loopback import KEY, Loopback, in_real_time, says, serving
from tests.adapters.models.structured.world import Answered, by_body, chat, in_turn, members, rejects

OBJECT = '{"title": "ok", "note": null}'
FORMAT_WORDS = ("response_format", "tools", "tool_choice", "thinking", "reasoning_effort")
DOWN = fail("down", ErrorKind.UNAVAILABLE)
AT_ONCE = Retries(1, 0)


def model_of(brand: str, server: Loopback, **options: Any) -> RemoteModel:
    return make_model(brand, f"{brand}-1", server.url, KEY, **options)


@in_real_time
async def test_each_candidate_is_asked_in_its_own_way() -> None:
    async with (
        serving(says("503 X")) as first,
        serving(chat(OBJECT)) as second,
        FallbackModel([model_of("openai", first, reasoning="low"), model_of("deepseek", second)], AT_ONCE) as model,
    ):
        found = await generate_object(model, Answered, Ask("what is it?", "Be brief."))
        assert members([asked.body for asked in first.asked], *FORMAT_WORDS) == [
            ["response_format", "reasoning_effort"],
            ["response_format", "reasoning_effort"],
        ]
        assert {asked.body["response_format"]["type"] for asked in first.asked} == {"json_schema"}
        (body,) = [asked.body for asked in second.asked]
    assert body["response_format"] == {"type": "json_object"}
    assert body["thinking"] == {"type": "disabled"}
    assert body["messages"][0]["content"].startswith("Be brief.\n\n")
    assert '"title"' in body["messages"][0]["content"]
    assert found.value == Answered("ok")
    assert [(each.strategy, each.provider, each.model, each.error is None) for each in found.attempts] == [
        (Strategy.JSON_SCHEMA, "openai", "openai-1", False),
        (Strategy.JSON_SCHEMA, "openai", "openai-1", False),
        (Strategy.JSON_OBJECT, "deepseek", "deepseek-1", True),
    ]
    assert len({each.model_call_id for each in found.attempts}) == 3


@in_real_time
async def test_a_refused_strategy_stays_with_its_candidate() -> None:
    """The candidate is asked by its next strategy, not passed over; and the others lose nothing."""
    refusing = by_body(
        lambda body: rejects("unknown: response_format") if "response_format" in body else chat(OBJECT, tool="Answered")
    )
    told: list[Tried] = []
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(serving(each)) for each in (refusing, chat(OBJECT))]
        models = [model_of("mistral", first), model_of("openai", second)]
        model = await stack.enter_async_context(FallbackModel(models, observe=told.append))
        found = await generate_object(model, Answered, "what is it?")
        assert (len(first.asked), len(second.asked)) == (2, 0)
        assert [each.strategy for each in found.attempts] == [Strategy.JSON_SCHEMA, Strategy.FORCED_TOOL]
        await generate_object(model, Answered, "what is it?")
        await generate_object(models[1], Answered, "what is it?")
        assert members([asked.body for asked in first.asked], "response_format") == [["response_format"], [], []]
        assert "response_format" in second.asked[0].body
    assert [(each.provider, each.error) for each in told] == [("mistral", None)] * 2


@in_real_time
async def test_a_second_attempt_goes_by_the_same_rules() -> None:
    async with (
        serving(in_turn(chat("no object"), says("503 X"))) as first,
        serving(chat(OBJECT, usage=4)) as second,
        FallbackModel([model_of("openai", first), model_of("openai", second)], Retries(0)) as model,
    ):
        found = await generate_object(model, Answered, "what is it?")
        roles = [message["role"] for message in second.asked[0].body["messages"]]
    assert roles == ["user", "assistant", "user"]
    assert found.usage == Usage(input=7, output=4)


@in_real_time
async def test_what_an_asker_says_of_a_model_is_for_those_that_do_not_tell() -> None:
    silent = ScriptedModel([DOWN])
    async with serving(chat(OBJECT)) as server, model_of("deepseek", server) as telling:
        ask = Ask("what is it?", vendor=vendor_of("openai"))
        found = await generate_object(FallbackModel([silent, telling], Retries(0)), Answered, ask)
        assert server.asked[0].body["response_format"] == {"type": "json_object"}
    assert [each.strategy for each in found.attempts] == [Strategy.JSON_SCHEMA, Strategy.JSON_OBJECT]
    assert silent.requests[0].options["response_format"]["type"] == "json_schema"


@in_real_time
async def test_a_chosen_strategy_that_one_of_them_has_not_is_an_error_before_anything_is_sent() -> None:
    async with serving(says("500 X")) as server:
        model = FallbackModel([model_of("openai", server), model_of("anthropic", server)])
        with pytest.raises(ConfigError, match=r"json_schema.*anthropic"):
            await generate_object(model, Answered, Ask("x", strategy=Strategy.JSON_SCHEMA))
        assert server.connections == 0


def fallback(retries: Retries = AT_ONCE) -> tuple[FallbackModel, list[ScriptedModel]]:
    """Two models that fail, each twice, and one that answers."""
    lost = raw(Started("a", "p", "m1"), UsageReported(Usage(7))) + DOWN
    scripts = ([DOWN, DOWN], [lost, lost], [say(OBJECT, usage=Usage(1, output=1))])
    models = [ScriptedModel(script, provider="p", model=f"m{place}") for place, script in enumerate(scripts)]
    return FallbackModel([FallbackModel(models[:2], retries), models[2]], Retries(0)), models


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_what_all_candidates_used_is_told_under_any_framework(backend: str) -> None:
    async def run() -> None:
        model, models = fallback()
        found = await generate_object(model, Answered, "what is it?")
        assert found.usage == Usage(15, output=1)
        used = [(each.provider, each.model, each.usage.total) for each in found.attempts]
        assert used[2:] == [("p", "m1", 7), ("p", "m1", 7), ("p", "m2", 2)]
        assert [len(each.requests) for each in models] == [2, 2, 1]
        model, _ = fallback()
        text = await generate(model, "what is it?")
        assert (text.text, text.usage) == (OBJECT, Usage(15, output=1))

    anyio.run(run, backend=backend)


async def test_when_nobody_answers_the_failure_tells_how_many_were_tried_and_what_they_used() -> None:
    lost = raw(UsageReported(Usage(7))) + DOWN
    model = FallbackModel([ScriptedModel([lost]), ScriptedModel([lost])], Retries(0))
    with pytest.raises(CallFailedError, match="2 models were tried, with 2 requests in all") as failed:
        await generate_object(model, Answered, "what is it?")
    assert failed.value.usage == Usage(14)


async def test_the_object_can_be_seen_while_a_candidate_writes_it() -> None:
    """Of a candidate that was given up nothing is seen, and the arguments of a call are the object where one is due."""
    broken = call("Answered", {"title": "lost"})
    ask = Ask("x", strategy=Strategy.FORCED_TOOL, vendor=vendor_of("anthropic"))
    model = FallbackModel([ScriptedModel([DOWN]), ScriptedModel([broken], chunk=9)], Retries(0))
    *parts, last = [part async for part in stream_object(model, Answered, ask)]
    assert [part.data for part in parts if isinstance(part, ObjectSoFar)][-1] == {"title": "lost"}
    assert len(parts) > 1
    assert isinstance(last, GeneratedObject)
    assert json.loads(last.text) == {"title": "lost"}
