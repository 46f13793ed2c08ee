"""What is sent to each brand for the options that brands have different words for, as snapshots."""

import json
from typing import Any

import attrs
import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension
from turnfold.adapters.models import ScriptedModel, Strategy, brands, say, vendor_of
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.gemini_generate import thinking_config
from turnfold.adapters.models.prompt import nine_characters
from turnfold.adapters.models.structured import Ask, generate_object
from turnfold.adapters.models.vendors import Gateway, protocols_of, through
from turnfold.effects.model import ModelRequest
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
)

from tests.adapters.models.answers import PROTOCOLS, config_of

ROWS = [f"{brand}/{protocol}" for brand in brands() for protocol in protocols_of(brand)]
TOOL = ToolDeclaration("answer", "Hand in the answer.", {"type": "object", "properties": {"n": {"type": "integer"}}})
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.fixture
def shown(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(JSONSnapshotExtension)


def config_for(name: str, model: str = "the-model", **changes: Any) -> ModelConfig:
    brand, _, protocol = name.partition("/")
    vendor = vendor_of(brand, protocol)
    assert vendor is not None
    return ModelConfig(vendor=vendor, model=model, base_url="https://x.example", api_key="sk-secret-key", **changes)


def body_of(config: ModelConfig, *messages: Message, **members: Any) -> dict[str, Any]:
    request = ModelRequest("call-1", Seq(messages or (UserMessage("Hi"),)), **members)
    body = PROTOCOLS[config.vendor.protocol].build(request, config, None)
    json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    return body


FOREIGN = (
    UserMessage((TextPart("Draw."), ImagePart("iVBORw0KGgo=", "image/png"))),
    AssistantMessage((CallPart("toolu_01A", "draw", '{"n": 1}'),), "anthropic-messages", "somebody", "else"),
    ToolResultMessage("toolu_01A", "draw", (TextPart("Drawn:"), ImagePart("iVBORw0KGgo=", "image/png"))),
    UserMessage("Thanks"),
)


@pytest.mark.parametrize("name", ROWS)
def test_a_brand_is_asked_in_its_own_words(name: str, shown: SnapshotAssertion) -> None:
    """§21.2 TestRequestFields: the limit of the output, thinking on and off; and another model's call with images."""
    bodies = {
        "plain": body_of(config_for(name)),
        "limited": body_of(config_for(name, max_output_tokens=100), max_output_tokens=50),
        "thinking off": body_of(config_for(name), options={"reasoning": "off"}),
        "thinking low": body_of(config_for(name, options={"reasoning": "low"})),
        "thinking high": body_of(config_for(name), options={"reasoning": "high"}),
        "another model's call": body_of(config_for(name), *FOREIGN),
    }
    assert bodies == shown


@attrs.frozen
class Shape:
    """What is asked for in a shape."""

    n: int


async def body_in_a_shape(name: str, strategy: Strategy) -> dict[str, Any]:
    """What the brand is sent when an object is asked for by this strategy."""
    config = config_for(name, max_output_tokens=100)
    port = ScriptedModel([say('{"n": 1}')])
    ask = Ask("How many?", strategy=strategy, vendor=config.vendor, reasoning="off")
    assert (await generate_object(port, Shape, ask)).value == Shape(1)
    (request,) = port.requests
    return PROTOCOLS[config.vendor.protocol].build(request, config, None)


@pytest.mark.parametrize("name", ROWS)
async def test_a_brand_is_asked_for_a_shape_in_its_own_words(name: str, shown: SnapshotAssertion) -> None:
    """Formats of the answer and forced tools: every strategy that the brand has, with thinking off."""
    vendor = config_for(name).vendor
    strategies = [strategy for strategy in Strategy if vendor.supports(strategy)]
    assert vendor.structured in strategies
    assert {strategy.value: await body_in_a_shape(name, strategy) for strategy in strategies} == shown


OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "openai-chat": {
        "forced tool": {"tool_choice": {"type": "function", "function": {"name": "answer"}}},
        "response format": {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
            }
        },
        "cache": {"prompt_cache_key": "run-1"},
    },
    "openai-responses": {
        "forced tool": {"tool_choice": {"type": "function", "name": "answer"}},
        "response format": {
            "text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}}
        },
        "cache": {"prompt_cache_key": "run-1"},
    },
    "anthropic-messages": {
        "forced tool": {"tool_choice": {"type": "tool", "name": "answer"}},
        "cache": {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
        "budget": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
    },
    "gemini-generate": {
        "forced tool": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["answer"]}}},
        "response format": {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}},
        "cache": {"cachedContent": "cachedContents/1"},
    },
}


@pytest.mark.parametrize(("protocol", "option"), [(name, option) for name in PROTOCOLS for option in OPTIONS[name]])
def test_an_option_in_the_protocols_words_is_sent_as_it_is(
    protocol: str, option: str, shown: SnapshotAssertion
) -> None:
    config = config_of(protocol, max_output_tokens=100)
    body = body_of(config, tools=(TOOL,), options={**OPTIONS[protocol][option], "reasoning": "off"})
    assert body == shown
    if option == "response format":  # what else is in the same member stays
        assert "100" in json.dumps(body)


# --- what the snapshots are about, in words


def test_zhipus_limit_and_switch() -> None:
    """§21.2 TestRequestFields."""
    body = body_of(config_for("zhipu", max_output_tokens=100), max_output_tokens=50, options={"reasoning": "off"})
    assert (body["max_tokens"], body["thinking"]) == (50, {"type": "disabled"})


def test_qwens_switch_goes_together_with_a_response_format() -> None:
    """§21.2 TestQwenStructuredWithoutThinking."""
    body = body_of(config_for("alibaba"), options={"reasoning": "off", "response_format": {"type": "json_object"}})
    assert body["enable_thinking"] is False
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("brand", ["openai", "anthropic", "xai", "mistral", "ollama", "typesafe"])
def test_a_brand_without_a_switch_is_not_told_to_think_less(brand: str) -> None:
    assert body_of(config_for(brand), options={"reasoning": "off"}) == body_of(config_for(brand))


def test_behind_a_gateway_the_switch_is_sent_only_when_it_passes_it_on() -> None:
    for keeps in (False, True):
        config = config_for("zhipu")
        config = ModelConfig(through(config.vendor, Gateway(keeps_thinking=keeps)), "m", config.base_url)
        assert ("thinking" in body_of(config, options={"reasoning": "off"})) is keeps


def test_a_sent_body_shares_nothing_with_the_table() -> None:
    body = body_of(config_for("zhipu"), options={"reasoning": "off"})
    body["thinking"]["type"] = "changed"
    assert body_of(config_for("zhipu"), options={"reasoning": "off"})["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("brand", ["deepseek", "moonshot"])
def test_a_call_that_came_without_a_thought_gets_one_that_says_nothing_where_the_server_insists(brand: str) -> None:
    _, output, *_ = body_of(config_for(brand), *FOREIGN)["messages"]
    assert output["reasoning_content"] == " "
    assert "reasoning_content" not in body_of(config_for("zhipu"), *FOREIGN)["messages"][1]


def test_a_call_that_another_model_made_is_signed_by_a_stand_in_at_google() -> None:
    for name in ("google/openai-chat", "google/gemini-generate"):
        body = json.dumps(body_of(config_for(name, "gemini-3-flash"), *FOREIGN))
        assert body.count("skip_thought_signature_validator") == 1
        assert "skip" not in json.dumps(body_of(config_for(name, "gemini-2.5-flash"), *FOREIGN))
    own = AssistantMessage((CallPart("a", "f", "{}"), CallPart("b", "f", "{}", "c2ln")), "openai-chat", "google", "m")
    first, second = body_of(config_for("google/openai-chat", "m"), UserMessage("Hi"), own)["messages"][1]["tool_calls"]
    assert "extra_content" not in first
    assert second["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_mistrals_call_ids_have_nine_characters_and_stay_apart() -> None:
    calls = tuple(CallPart(f"toolu_{n}", "f", "{}") for n in range(30))
    message = AssistantMessage((*calls, CallPart("abcDEF123", "f", "{}"), CallPart("", "f", "{}")), model="another")
    _, output, *results = body_of(config_for("mistral"), UserMessage("Hi"), message)["messages"]
    ids = [call["id"] for call in output["tool_calls"]]
    assert len(set(ids)) == len(ids) == 32
    assert ids[30] == "abcDEF123"
    assert all(len(id) == 9 and id.isascii() and id.isalnum() for id in ids)
    assert [result["tool_call_id"] for result in results] == ids


def test_the_rule_of_nine_characters_leaves_valid_ids_alone_and_makes_none_of_nothing() -> None:
    assert nine_characters("abcDEF123") == "abcDEF123"
    assert nine_characters(nine_characters("x")) == nine_characters("x")
    assert nine_characters("x") != nine_characters("y")
    assert nine_characters("") == ""


@pytest.mark.parametrize(
    ("model", "level", "config"),
    [
        ("gemini-3-pro-preview", "minimal", {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-3-pro-preview", "medium", {"thinkingLevel": "high", "includeThoughts": True}),
        ("gemini-3.5-flash", "medium", {"thinkingLevel": "medium", "includeThoughts": True}),
        ("gemini-3.5-flash", "xhigh", {"thinkingLevel": "high", "includeThoughts": True}),
        ("gemini-3.5-flash", "off", {}),
        ("models/gemini-2.5-flash", "minimal", {"thinkingBudget": 512, "includeThoughts": True}),
        ("gemini-2.5-flash", "high", {"thinkingBudget": 24_576, "includeThoughts": True}),
        ("gemini-2.5-flash-lite", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "off", {}),
        ("gemini-2.0-flash", "high", {}),
        ("gemini-4-ultra", "low", {"thinkingLevel": "low", "includeThoughts": True}),
        ("some-endpoint", "low", {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-3-flash", "", {}),
    ],
)
def test_gemini_is_told_how_to_think_as_its_generation_has_it(model: str, level: str, config: dict[str, Any]) -> None:
    assert thinking_config(model, level) == config


def test_older_gemini_models_get_no_ids_no_stand_in_signature_and_images_after_the_results() -> None:
    older = body_of(config_for("google", "gemini-2.5-flash"), *FOREIGN)["contents"]
    latest = body_of(config_for("google", "gemini-3-flash"), *FOREIGN)["contents"]
    assert older[1]["parts"] == [{"functionCall": {"name": "draw", "args": {"n": 1}}}]
    assert older[2]["parts"] == [{"functionResponse": {"name": "draw", "response": {"output": "Drawn:"}}}]
    assert "inlineData" in older[3]["parts"][1]
    assert latest[1]["parts"][0]["functionCall"]["id"] == "toolu_01A"
    assert latest[1]["parts"][0]["thoughtSignature"]
    assert "inlineData" in latest[2]["parts"][0]["functionResponse"]["parts"][0]
    assert older[3]["parts"][2:] == latest[3]["parts"] == [{"text": "Thanks"}]


def test_reasoning_that_would_end_an_output_and_ids_whose_reasoning_is_lost_stay_away_from_the_responses_api() -> None:
    config = config_for("openai/openai-responses")

    def items(*parts: Any) -> list[dict[str, Any]]:
        message = AssistantMessage(parts, "openai-responses", "openai", "the-model")
        return body_of(config, UserMessage("Hi"), message)["input"][1:]

    item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    thought, lost = ThinkingPart("Hm", json.dumps(item)), ThinkingPart("Hm", "no item")
    said = TextPart("4", '{"id":"msg_1"}')
    assert items(thought) == []
    bare = [{"role": "assistant", "content": "4"}]
    assert items(said) == items(said, thought) == items(lost, said) == bare
    assert items(thought, said)[0] == item
    assert items(thought, said)[1]["id"] == "msg_1"
    assert items(said, thought, said) == [*bare, *items(thought, said)]
    assert items(thought, TextPart("4", "msg_older"))[1]["id"] == "msg_older"
    assert items(thought, TextPart("4", json.dumps({"id": "m" * 65}))) == [item, *bare]
    call = CallPart("call_1", "f", "{}", '{"id":"fc_1"}')
    assert items(thought, call)[1]["id"] == "fc_1"
    assert "id" not in items(call)[0]
