"""Whatever a provider said can be sent back to it: every stream of the fixtures, with results for its calls."""

import json
from typing import Any

import pytest
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.vendors import vendor_of
from turnfold.effects.model import ModelRequest
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    AssistantPart,
    CallPart,
    Message,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolResultMessage,
    UserMessage,
)

from tests.adapters.models.answers import PROTOCOLS, STREAMS, config_of, stream_of
from tests.adapters.models.transcripts import check


def part_of(part: dict[str, Any]) -> AssistantPart:
    match part["type"]:
        case "call":
            return CallPart(part["id"], part["name"], part["arguments"], part.get("signature"))
        case "text":
            return TextPart(part["text"], part.get("signature"))
        case _:
            return ThinkingPart(part["text"], part["signature"], part["redacted"])


def after(name: str, *said: Message, config: ModelConfig | None = None) -> dict[str, Any]:
    """The request that follows the answer of a stream: its calls have results, and then comes what is ``said``."""
    protocol, _, answer = stream_of(name)
    config = config or config_of(protocol)
    stop = StopReason(answer["stop"] or "error")
    message = AssistantMessage(tuple(map(part_of, answer["parts"])), *_author(config), stop)
    calls = [part for part in message.parts if isinstance(part, CallPart)]
    results = [ToolResultMessage(call.id, call.name, "ok") for call in calls]
    context = Seq([UserMessage("Hi"), message, *results, *said])
    return PROTOCOLS[protocol].build(ModelRequest("call-2", context), config, None)


def _author(config: ModelConfig) -> tuple[str, str, str]:
    return config.target.api, config.target.provider, config.target.model


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("said", [(), (UserMessage("And now?"),)], ids=["at once", "later"])
def test_an_answer_can_go_back_to_its_model(name: str, said: tuple[Message, ...]) -> None:
    """Decisions 15 and 25."""
    protocol, *_ = stream_of(name)
    check(protocol, after(name, *said))


@pytest.mark.parametrize("name", [name for name in STREAMS if name.startswith("openai-responses/")])
def test_an_item_goes_back_under_its_id_only_with_all_reasoning_before_it(name: str) -> None:
    """The server rejects an item without its reasoning, and reasoning that it has not stored unless it is sealed."""
    items = after(name)["input"]
    thoughts = [
        json.loads(part["signature"] or "{}") for part in stream_of(name)[2]["parts"] if part["type"] == "thinking"
    ]
    made = [thought.get("id") for thought in thoughts if thought.get("type") == "reasoning"]
    sent = [item["id"] for item in items if item.get("type") == "reasoning"]
    assert all(item.get("encrypted_content") for item in items if item.get("type") == "reasoning")
    if any("id" in item for item in items):
        assert sent == made
    else:
        assert not sent
    said = [item for item in items if item.get("type") in ("message", "function_call")]
    assert sent or not any("id" in item for item in said), "without reasoning nobody knows whether there was none"


def items_after(name: str, brand: str = "openai") -> list[dict[str, Any]]:
    vendor = vendor_of(brand, "openai-responses")
    assert vendor is not None
    config = ModelConfig(vendor=vendor, model="the-model", base_url="https://x.example", api_key="sk-secret-key")
    return after(f"openai-responses/{name}", config=config)["input"][1:]


SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}


def test_the_providers_own_items_go_back_as_they_were_with_the_reasoning_that_led_to_them() -> None:
    first, search, second, said = items_after("web-search-with-reasoning")
    assert (first["id"], first["encrypted_content"]) == ("rs_1", "gAAAArs_1")
    assert search == SEARCH
    assert (second["id"], said["id"]) == ("rs_2", "msg_1")
    picture, said = items_after("image-generation")
    assert (picture["id"], picture["result"]) == ("ig_1", "iVBORw0KGgo=")
    assert said == {"role": "assistant", "content": "Here."}
    types = ["reasoning", "image_generation_call", "message"]
    assert [item["type"] for item in items_after("image-generating-when-done")] == types
    types = ["reasoning", "shell_call", "shell_call_output", "message"]
    assert [item["type"] for item in items_after("call-with-its-output")] == types


def test_another_model_gets_none_of_them() -> None:
    parts = tuple(map(part_of, stream_of("openai-responses/web-search-with-reasoning")[2]["parts"]))
    other = AssistantMessage(parts, "openai-responses", "openai", "another")
    request = ModelRequest("call-2", Seq([UserMessage("Hi"), other]))
    body = PROTOCOLS["openai-responses"].build(request, config_of("openai-responses"), None)
    assert body["input"][1:] == [{"role": "assistant", "content": "Found."}]


@pytest.mark.parametrize("name", ["reasoning-empty", "reasoning-summary-only", "call-in-want-of-an-output"])
def test_where_an_item_cannot_go_back_what_was_said_goes_without_its_id(name: str) -> None:
    (said,) = items_after(name)
    assert said["role"] == "assistant"
    assert "id" not in said


def test_a_call_whose_reasoning_was_not_given_goes_back_without_its_id() -> None:
    call, result = items_after("reasoning-not-given-before-a-call")
    assert "id" not in call
    assert result["call_id"] == call["call_id"] == "call_1"


@pytest.mark.parametrize("brand", ["volcengine", "openai_compatible"])
def test_servers_that_seal_nothing_get_their_summaries_back_but_no_empty_reasoning(brand: str) -> None:
    thought, said = items_after("reasoning-summary-only", brand)
    assert thought == {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Adding."}]}
    assert said["id"] == "msg_1"
    assert items_after("reasoning-empty", brand) == [{"role": "assistant", "content": "Four."}]


def test_a_gateways_details_go_back_each_on_its_own() -> None:
    _, output, *_ = after("openai-chat/reasoning-details-by-id")["messages"]
    assert [(detail["id"], detail["data"]) for detail in output["reasoning_details"]] == [
        ("a", "AAAAaa"),
        ("b", "BBBBbb"),
    ]
