"""The ways to ask for an object, through the real SDKs and on the wire; and what comes after one that is refused."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import attrs
import pytest
from turnfold.adapters.models import ConfigError, Gateway, RemoteModel, Strategy, Vendor, make_model, vendor_of
from turnfold.adapters.models.structured import (
    CHINESE_WORDS,
    Ask,
    CallFailedError,
    GeneratedObject,
    RefusedError,
    TruncatedError,
    generate,
    generate_object,
    schema_for,
    stream_object,
)
from turnfold.adapters.models.structured.strategies import Memory
from turnfold.adapters.models.structured.words import ENGLISH_WORDS
from turnfold.adapters.models.vendors import VENDORS
from turnfold.effects.transcript import ErrorKind, ModelError, Usage

from tests.adapters.models.loopback import KEY, Answer, Loopback, in_real_time, says, serving, streams
from tests.adapters.models.structured.world import Answered, Node, by_body, chat, in_turn, members, rejects

OBJECT = '{"title": "ok", "note": null}'
SCHEMA = schema_for(Answered)
NOT_KNOWN = "Unrecognized request argument supplied: response_format"
NOT_THIS_ONE = "This model does not support response_format of type json_schema"
SHAPES = ("response_format", "tools", "tool_choice")


def model_of(brand: str, server: Loopback, path: str = "/v1", **options: Any) -> RemoteModel:
    return make_model(brand, "the-model", server.url + path, KEY, **options)


def bodies(server: Loopback) -> list[dict[str, Any]]:
    return [asked.body for asked in server.asked]


async def asked_of(brand: str, answer: Answer, ask: Ask | None = None, wanted: type = Answered, **options: Any) -> Any:
    """The first request for an object, answered so."""
    path = "" if brand in ("anthropic", "google") else "/v1"
    async with serving(answer) as server, model_of(brand, server, path, **options) as model:
        await generate_object(model, wanted, ask or Ask("what is it?", "Be brief."))
        assert len(server.asked) == 1
        return server.asked[0].body


# What is asked.


@in_real_time
async def test_a_schema_is_the_format_of_the_answer() -> None:
    body = await asked_of("openai", chat(OBJECT))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Answered", "schema": dict(SCHEMA.schema), "strict": True},
    }
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert "tools" not in body


@in_real_time
async def test_a_schema_that_is_open_is_not_strict() -> None:
    words = attrs.make_class("Words", {"words": attrs.field(type=Mapping[str, int])})
    body = await asked_of("openai", chat('{"words": {"a": 1}}'), wanted=words)
    assert body["response_format"]["json_schema"]["strict"] is False


@in_real_time
async def test_a_strict_schema_holds_nothing_that_is_refused() -> None:
    """OpenAI's subset; where a schema is not strict, or only shown, the model has the whole of it."""
    kind = attrs.make_class("Bill", {"sum": attrs.field(type=Decimal), "level": attrs.field(type=Literal["low"])})
    answer = '{"sum": "1.50", "level": "low"}'
    due = {"type": "string", "description": "format: decimal"}
    body = await asked_of("openai", chat(answer), wanted=kind)
    named = body["response_format"]["json_schema"]
    assert named["schema"]["properties"] == {"sum": due, "level": {"type": "string", "enum": ["low"]}}
    assert named["strict"] is True
    body = await asked_of("openai", responses(answer), wanted=kind, protocol="openai-responses")
    assert body["text"]["format"]["schema"]["properties"]["sum"] == due
    body = await asked_of("deepseek", chat(answer), wanted=kind)
    assert '"format": "decimal"' in body["messages"][0]["content"]


@pytest.mark.parametrize("brand", ["deepseek", "alibaba", "moonshot", "zhipu"])
@in_real_time
async def test_where_only_some_object_can_be_asked_for_the_schema_is_shown(brand: str) -> None:
    """TestRequestFields: deepseek's response_format."""
    body = await asked_of(brand, chat(OBJECT))
    assert body["response_format"] == {"type": "json_object"}
    shown = ENGLISH_WORDS.show(json.dumps(SCHEMA.schema))
    assert body["messages"][0] == {"role": "system", "content": f"Be brief.\n\n{shown}"}


@pytest.mark.parametrize("brand", ["ollama", "typesafe", "openai_compatible", "minimax"])
@in_real_time
async def test_where_nothing_can_be_asked_for_the_model_is_told(brand: str) -> None:
    body = await asked_of(brand, chat(f"Well: {OBJECT}"))
    assert members([body], *SHAPES) == [[]]
    assert '"title"' in body["messages"][0]["content"]


@in_real_time
async def test_a_strategy_may_be_chosen() -> None:
    """TestStructuredOverride."""
    body = await asked_of("openai_compatible", chat(OBJECT), Ask("x", strategy=Strategy.JSON_OBJECT))
    assert body["response_format"] == {"type": "json_object"}


@in_real_time
async def test_a_format_and_the_thinking_switch_go_together() -> None:
    """TestQwenStructuredWithoutThinking."""
    body = await asked_of("alibaba", chat(OBJECT))
    assert body["enable_thinking"] is False
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["response_format"] == {"type": "json_object"}


@in_real_time
async def test_a_forced_call_over_a_compatible_protocol() -> None:
    """TestForcedToolOverCompatibleProtocol: the arguments are the object, the description is Chinese."""
    answer = chat('{"title": ', '"ok"}', tool="Answered", finish="tool_calls")
    async with serving(answer) as server, model_of("anthropic", server, gateway=Gateway("openai-chat")) as model:
        found = await generate_object(model, Answered, Ask("什么?", language="zh"))
        (body,) = bodies(server)
    assert found.value == Answered("ok")
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Answered"}}
    ((tool),) = body["tools"]
    assert tool["function"]["description"] == CHINESE_WORDS.tool
    assert tool["function"]["parameters"] == dict(SCHEMA.schema)


def anthropic(*pieces: str) -> Answer:
    """A forced call as the Messages API streams it."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 3, "output_tokens": 0}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": "Answered", "input": {}},
        },
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return streams(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


@in_real_time
async def test_the_messages_api_is_forced_to_call() -> None:
    body = await asked_of("anthropic", anthropic('{"title": ', '"ok"}'))
    assert body["tool_choice"] == {"type": "tool", "name": "Answered"}
    assert body["tools"][0]["input_schema"] == dict(SCHEMA.schema)
    assert "thinking" not in body


def gemini(*texts: str, finish: str = "STOP") -> Answer:
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]} for text in texts]
    end = {"candidates": [{"finishReason": finish, "index": 0}], "usageMetadata": {"promptTokenCount": 3}}
    return streams(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in [*chunks, end])


@in_real_time
async def test_gemini_has_a_schema_of_its_own_beside_other_settings() -> None:
    ask = Ask("what?", max_output_tokens=9, options={"generationConfig": {"temperature": 0.5}})
    body = await asked_of("google", gemini(OBJECT), ask, generationConfig={"topP": 0.9})
    config = body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == dict(SCHEMA.schema)
    assert (config["temperature"], config["topP"], config["maxOutputTokens"]) == (0.5, 0.9, 9)


@in_real_time
async def test_what_contains_itself_is_only_told_to_gemini() -> None:
    body = await asked_of("google", gemini('{"name": "a", "children": []}'), wanted=Node)
    assert "responseJsonSchema" not in body.get("generationConfig", {})
    assert "$defs" in body["systemInstruction"]["parts"][0]["text"]


def responses(text: str) -> Answer:
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m1"}},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "m1", "content_index": 0, "delta": text},
        {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": []}},
    ]
    return streams(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


@in_real_time
async def test_the_responses_api_has_its_own_words() -> None:
    ask = Ask("what?", options={"text": {"verbosity": "low"}})
    body = await asked_of("openai", responses(OBJECT), ask, protocol="openai-responses")
    named = {"type": "json_schema", "name": "Answered", "schema": dict(SCHEMA.schema), "strict": True}
    assert body["text"] == {"verbosity": "low", "format": named}
    ask = Ask("what?", strategy=Strategy.FORCED_TOOL)
    body = await asked_of("openai", responses(OBJECT), ask, protocol="openai-responses")
    assert body["tool_choice"] == {"type": "function", "name": "Answered"}


@pytest.mark.parametrize(
    ("brand", "strategy"),
    [
        ("volcengine", Strategy.JSON_SCHEMA),
        ("google", Strategy.JSON_OBJECT),
        ("deepseek", Strategy.JSON_SCHEMA),
        ("anthropic", Strategy.GEMINI),
    ],
)
@in_real_time
async def test_a_strategy_that_is_not_there_is_an_error_before_anything_is_sent(brand: str, strategy: Strategy) -> None:
    """TestConfigErrors."""
    async with serving(says("500 X")) as server, model_of(brand, server) as model:
        with pytest.raises(ConfigError, match=f"{strategy.value}.*{brand}"):
            await generate_object(model, Answered, Ask("x", strategy=strategy))
        assert server.connections == 0


@pytest.mark.parametrize(
    ("made_of", "said"),
    [
        ({"brand": "nobody"}, "unknown brand 'nobody'"),
        ({"brand": "mistral", "protocol": "smoke-signals"}, "does not speak 'smoke-signals'"),
        ({"brand": "mistral", "gateway": Gateway("smoke-signals")}, "unknown protocol 'smoke-signals'"),
        ({"brand": "mistral", "base_url": "localhost:8080"}, "base URL is malformed"),
        ({"brand": "mistral", "base_url": "not an address"}, "base URL is malformed"),
    ],
)
def test_a_model_that_cannot_be_made_is_an_error_at_once(made_of: dict[str, Any], said: str) -> None:
    """TestConfigErrors: brand, protocol, address."""
    with pytest.raises(ConfigError, match=said):
        make_model(**{"model": "m", "api_key": KEY, **made_of})


@in_real_time
async def test_a_limit_that_the_protocol_must_have_is_put_in_where_nobody_gives_one() -> None:
    """TestConfigErrors: anthropic without an output limit, which elsewhere is an error; here it has a usual limit."""
    assert (await asked_of("anthropic", anthropic(OBJECT)))["max_tokens"] == 16_384
    assert (await asked_of("anthropic", anthropic(OBJECT), Ask("x", max_output_tokens=50)))["max_tokens"] == 50


# How hard the model thinks.


@pytest.mark.parametrize(
    ("brand", "set_up", "sent"),
    [
        ("openai", {}, {}),
        ("openai", {"reasoning": "high"}, {"reasoning_effort": "high"}),
        ("openai", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ("openai", {"reasoning": ""}, {}),
        ("deepseek", {}, {"thinking": {"type": "disabled"}}),
        ("deepseek", {"reasoning": ""}, {"thinking": {"type": "disabled"}}),
        ("deepseek", {"reasoning": "high"}, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("deepseek", {"thinking": {"type": "enabled"}}, {"thinking": {"type": "enabled"}}),
        ("deepseek", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ("alibaba", {"enable_thinking": True}, {"enable_thinking": True}),
        ("openrouter", {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "low"}}),
    ],
)
@in_real_time
async def test_a_model_thinks_as_it_was_set_up_and_not_at_all_otherwise(
    brand: str, set_up: dict[str, Any], sent: dict[str, Any]
) -> None:
    """Generate: thinking off, unless the model was made to think."""
    members = ("reasoning", "reasoning_effort", "thinking", "enable_thinking", "chat_template_kwargs")
    body = await asked_of(brand, chat(OBJECT), **set_up)
    assert {name: body[name] for name in members if name in body} == sent
    body = await asked_of(brand, chat(OBJECT), Ask("x", reasoning="off"), reasoning="high")
    assert body.get("reasoning_effort") is None
    async with serving(chat("hello")) as server, model_of(brand, server, **set_up) as model:
        await generate(model, "x")
        assert {name: value for name, value in server.asked[0].body.items() if name in members} == sent


@in_real_time
async def test_gemini_thinks_as_it_was_set_up() -> None:
    for set_up, sent in (({}, {"thinkingBudget": 0}), ({"thinkingBudget": 9}, {"thinkingBudget": 9})):
        given = {"generationConfig": {"thinkingConfig": set_up}} if set_up else {}
        async with serving(gemini("hello")) as server:
            async with make_model("google", "gemini-2.5-flash", server.url, KEY, **given) as model:
                await generate(model, "x")
            assert server.asked[0].body["generationConfig"]["thinkingConfig"] == sent


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=lambda vendor: vendor.name)
def test_every_vendor_has_words_for_its_own_strategy(vendor: Vendor) -> None:
    first, *others = Memory().forms(vendor, None, SCHEMA, ENGLISH_WORDS, "schema")
    assert first.strategy == vendor.structured
    assert first.options or first.tools or first.shown
    for form in others:
        assert vendor.supports(form.strategy)
    assert (first, *others)[-1].strategy == Strategy.NONE


# What comes after a refusal.


@in_real_time
async def test_a_refused_format_is_left_out_and_not_tried_again() -> None:
    """TestStructuredOutputFallsBackWhenRejected; the refusal is remembered for the model."""
    answer = by_body(lambda body: rejects(NOT_KNOWN) if "response_format" in body else chat(OBJECT))
    async with serving(answer) as server, model_of("mistral", server) as model:
        found = await generate_object(model, Answered, "what is it?")
        assert members(bodies(server), "response_format") == [["response_format"], []]
        assert found.value == Answered("ok")
        assert found.text == OBJECT
        assert [attempt.strategy for attempt in found.attempts] == [Strategy.JSON_SCHEMA, Strategy.FORCED_TOOL]
        assert found.usage == Usage(input=3, output=2)
        assert members(bodies(server), "reasoning", "reasoning_effort") == [[], []]
        await generate_object(model, Answered, "and this?")
        assert len(server.asked) == 3
        assert "response_format" not in server.asked[2].body
    async with serving(chat(OBJECT)) as server, model_of("mistral", server) as other:
        await generate_object(other, Answered, "what is it?")
        assert "response_format" in server.asked[0].body


@in_real_time
async def test_one_format_that_is_refused_does_not_rule_out_the_other() -> None:
    answer = in_turn(rejects(NOT_THIS_ONE, "422 Unprocessable"), chat(OBJECT))
    async with serving(answer) as server, model_of("openai", server) as model:
        await generate_object(model, Answered, "what is it?")
        assert [body["response_format"]["type"] for body in bodies(server)] == ["json_schema", "json_object"]


@in_real_time
async def test_everything_may_be_refused_but_being_told() -> None:
    def answer_to(body: dict[str, Any]) -> Answer:
        if "response_format" in body:
            return rejects(f"{body['response_format']['type']} is not supported: response_format")
        return rejects("this model does not support tools") if "tools" in body else chat(OBJECT)

    async with serving(by_body(answer_to)) as server, model_of("openai", server) as model:
        found = await generate_object(model, Answered, "what is it?")
        assert members(bodies(server), *SHAPES) == [
            ["response_format"],
            ["response_format"],
            ["tools", "tool_choice"],
            [],
        ]
    assert [attempt.strategy.value for attempt in found.attempts] == [
        "json_schema",
        "json_object",
        "forced_tool",
        "none",
    ]
    assert [attempt.error is None for attempt in found.attempts] == [False, False, False, True]


@in_real_time
async def test_a_schema_that_is_refused_is_refused_alone() -> None:
    def answer_to(body: dict[str, Any]) -> Answer:
        named = body.get("response_format", {}).get("json_schema", {}).get("name")
        return rejects("Invalid schema for response_format 'Answered'") if named == "Answered" else chat(OBJECT)

    async with serving(by_body(answer_to)) as server, model_of("openai", server) as model:
        await generate_object(model, Answered, "what is it?")
        await generate_object(model, Answered, "what is it?")
        kinds = [body["response_format"]["type"] for body in bodies(server)]
        assert kinds == ["json_schema", "json_object", "json_object"]
    memory = Memory()
    openai = vendor_of("openai")
    form = memory.forms(openai, None, SCHEMA, ENGLISH_WORDS, "one")[0]
    refusal = ModelError(ErrorKind.INVALID_REQUEST, "Invalid schema for response_format 'Answered'", 400)
    assert memory.refuses(form, refusal, "one")
    assert memory.forms(openai, None, SCHEMA, ENGLISH_WORDS, "one")[0].strategy == Strategy.JSON_OBJECT
    assert memory.forms(openai, None, SCHEMA, ENGLISH_WORDS, "other")[0].strategy == Strategy.JSON_SCHEMA


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("400 Bad Request", "temperature must not be negative"),
        ("401 Unauthorized", "response_format is for paying customers"),
        ("429 Too Many Requests", "response_format"),
        ("500 Internal Server Error", "an error while processing your json_schema; retry"),
        ("501 Not Implemented", "response_format"),
        ("503 Unavailable", "response_format"),
        ("404 Not Found", "no such model"),
    ],
)
@in_real_time
async def test_other_failures_are_failures(status: str, message: str) -> None:
    """Only what says that the request was wrong is a refusal, and only that is remembered."""
    async with serving(in_turn(rejects(message, status), chat(OBJECT))) as server, model_of("openai", server) as model:
        with pytest.raises(CallFailedError) as failed:
            await generate_object(model, Answered, "what is it?")
        assert len(server.asked) == 1
        await generate_object(model, Answered, "what is it?")
        assert bodies(server)[1]["response_format"]["type"] == "json_schema"
    assert failed.value.error.status == int(status[:3])


@pytest.mark.parametrize(
    ("status", "is_one"), [(0, False), (400, True), (404, True), (415, True), (422, True), (500, False), (501, False)]
)
def test_a_refusal_has_a_status_that_says_so(status: int, is_one: bool) -> None:
    memory = Memory()
    form = memory.forms(vendor_of("openai"), None, SCHEMA, ENGLISH_WORDS, "one")[0]
    failure = ModelError(ErrorKind.INVALID_REQUEST, "json_schema is not supported", status)
    assert memory.refuses(form, failure, "one") is is_one


TOO_MUCH = (
    "The specified schema produces a constraint that has too many states for serving. Typical causes of this error are "
    "schemas with lots of text (for example, very long property or enum names), schemas with long array length limits"
)


TOO_DEEP = "A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth."
TOO_LARGE = "The request's total referenced or nested schema properties exceed the limit"


@pytest.mark.parametrize("said", [TOO_MUCH, TOO_DEEP, TOO_LARGE], ids=["states", "depth", "properties"])
@pytest.mark.parametrize(("refuses_calls", "strategy"), [(False, Strategy.FORCED_TOOL), (True, Strategy.NONE)])
@in_real_time
async def test_a_schema_that_is_too_much_for_gemini_is_asked_for_otherwise(
    refuses_calls: bool, strategy: Strategy, said: str
) -> None:
    """And remembered for this schema alone."""

    def answer_to(body: dict[str, Any]) -> Answer:
        is_asked = '"note"' in json.dumps([body.get("generationConfig"), body.get("tools") if refuses_calls else None])
        return rejects(said) if is_asked else gemini(OBJECT)

    async with serving(by_body(answer_to)) as server, model_of("google", server, "") as model:
        found = await generate_object(model, Answered, "what is it?")
        assert found.attempts[-1].strategy == strategy
        count = len(server.asked)
        assert count == len(found.attempts) == (3 if refuses_calls else 2)
        await generate_object(model, Answered, "what is it?")
        assert len(server.asked) == count + 1
        titled = attrs.make_class("Titled", {"title": attrs.field(type=str)})
        await generate_object(model, titled, "what is it?")
        assert "responseJsonSchema" in bodies(server)[-1]["generationConfig"]


@in_real_time
async def test_a_model_that_is_called_like_a_member_is_not_taken_for_one() -> None:
    async with serving(rejects("gone", "404 Not Found")) as server:
        async with make_model("anthropic", "tool-smith-1", server.url, KEY) as model:
            with pytest.raises(CallFailedError):
                await generate_object(model, Answered, "what is it?")
        assert len(server.asked) == 1


@pytest.mark.parametrize("name", ["m", "schema", "e", "format."])
def test_of_what_is_said_only_the_models_name_itself_means_nothing(name: str) -> None:
    memory, message = Memory(), f"json_schema is not enabled for models/{name}"
    form = memory.forms(vendor_of("openai"), None, SCHEMA, ENGLISH_WORDS, "one")[0]
    assert memory.refuses(form, ModelError(ErrorKind.INVALID_REQUEST, message, 400), "one", (name,))
    alone = ModelError(ErrorKind.INVALID_REQUEST, "no such model: json_schema", 400)
    assert not memory.refuses(form, alone, "one", ("json_schema",))


@in_real_time
async def test_a_refusal_after_visible_output_is_a_failure() -> None:
    chunk = {"id": "r1", "choices": [{"index": 0, "delta": {"content": "{"}}]}
    report = {"error": {"message": "response_format broke", "code": 400}}
    answer = streams(f"data: {json.dumps(piece)}\n\n".encode() for piece in (chunk, report))
    async with serving(answer) as server, model_of("openai", server) as model:
        with pytest.raises(CallFailedError):
            await generate_object(model, Answered, "what is it?")
        assert len(server.asked) == 1


# How it ends.


@in_real_time
async def test_a_reached_limit_and_a_refusal_are_told_apart() -> None:
    """TestStopReasonsAndRefusals."""
    async with serving(chat(OBJECT, finish="length")) as server, model_of("openai", server) as model:
        with pytest.raises(TruncatedError) as cut:
            await generate_object(model, Answered, "what is it?")
    assert cut.value.usage.total == 5
    async with serving(chat(refusal="I will not.")) as server, model_of("openai", server) as model:
        with pytest.raises(RefusedError) as refused:
            await generate_object(model, Answered, "what is it?")
    assert refused.value.text == "I will not."
    assert refused.value.usage.total == 5


@in_real_time
async def test_an_object_in_a_shape_streams() -> None:
    """TestStructuredModelsDoNotStream, turned around: here they do."""
    async with serving(chat('{"title": ', '"ok"}')) as server, model_of("openai", server) as model:
        *parts, last = [part async for part in stream_object(model, Answered, "what is it?")]
        assert server.asked[0].body["stream"] is True
    assert [part.data for part in parts] == [{}, {"title": "ok"}]
    assert isinstance(last, GeneratedObject)


@in_real_time
async def test_a_second_attempt_uses_what_the_first_one_learned() -> None:
    answer = in_turn(rejects(NOT_THIS_ONE), chat("no object"), chat(OBJECT))
    async with serving(answer) as server, model_of("openai", server) as model:
        found = await generate_object(model, Answered, "what is it?")
        kinds = [body["response_format"]["type"] for body in bodies(server)]
        assert kinds == ["json_schema", "json_object", "json_object"]
        roles = [message["role"] for message in bodies(server)[2]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert found.usage == Usage(input=6, output=4)
