"""What is sent to a provider for a given request: all protocols, side by side, as snapshots."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.vendors import VENDORS
from turnfold.effects.model import ModelRequest
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ImagePart,
    Message,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
)
from turnfold.effects.transcript.boundary import Wording

from tests.adapters.models.answers import PROTOCOLS, config_of

WEATHER = ToolDeclaration(
    "get_weather",
    "The weather of a place.",
    {"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "$defs": {"City": {"type": "string"}}},
)
BARE = ToolDeclaration("now", parameters={})
PICTURE = ImagePart("iVBORw0KGgo=", "image/png")


def by(protocol: str, *parts: Any, model: str = "the-model") -> AssistantMessage:
    return AssistantMessage(parts, protocol, config_of(protocol).vendor.name, model)


def asking(*messages: Message, **members: Any) -> ModelRequest:
    return ModelRequest("call-1", Seq(messages), **members)


def body_of(protocol: str, request: ModelRequest, config: ModelConfig | None = None) -> dict[str, Any]:
    body = PROTOCOLS[protocol].build(request, config or config_of(protocol), None)
    json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    return body


@pytest.fixture
def shown(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(JSONSnapshotExtension)


def plain(protocol: str) -> ModelRequest:
    return asking(UserMessage("Hi"), by(protocol, TextPart("Hello!")), UserMessage("Bye"), instruction="Be kind.")


def tools(protocol: str) -> ModelRequest:
    return asking(UserMessage("And now?"), tools=(WEATHER, BARE), notice="Answer now.")


def results(protocol: str) -> ModelRequest:
    return asking(
        UserMessage("Oslo and Rome?"),
        by(protocol, TextPart("Both."), CallPart("a", "get_weather", '{"city": "Oslo"}'), CallPart("b", "get_weather")),
        ToolResultMessage("a", "get_weather", "Rain"),
        ToolResultMessage("b", "get_weather", "Invalid arguments", is_error=True),
        UserMessage("Thanks"),
    )


def unanswered(protocol: str) -> ModelRequest:
    """Open calls are closed, whatever is the matter with them."""
    return asking(
        by(
            protocol,
            CallPart("", "cut", '{"text": "Once upon'),
            CallPart("x", "", "[1, 2]"),
            CallPart("x", "huge", '{"n": 1e999}'),
            CallPart("y", "what is this?", r'{"lone": "\ud800", "big": 12345678901234567890}'),
        )
    )


def images(protocol: str) -> ModelRequest:
    return asking(
        UserMessage((TextPart("Like these?"), PICTURE, ImagePart(url="https://example.com/a.png"))),
        by(protocol, CallPart("a", "draw", "{}"), CallPart("b", "draw", "{}")),
        ToolResultMessage("a", "draw", (TextPart("Done:"), PICTURE)),
        ToolResultMessage("b", "draw", (PICTURE,)),
    )


def own_reasoning(protocol: str) -> ModelRequest:
    """What only the model itself gets back, as it was."""
    return asking(
        UserMessage("2+2?"),
        by(
            protocol,
            ThinkingPart("Adding. ", "reasoning_content"),
            ThinkingPart("Done.", "reasoning_content"),
            ThinkingPart("", "c2lnbmVk"),
            ThinkingPart("", "ZW5jcnlwdGVk", redacted=True),
            ThinkingPart("", redacted=True),
            ThinkingPart("unsigned"),
            TextPart("4"),
        ),
    )


REASONING_ITEM = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAABl", "status": None}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}


def signed(protocol: str) -> ModelRequest:
    """Each protocol's own signatures, on thoughts, texts and calls."""
    parts: dict[str, tuple[Any, ...]] = {
        "openai-chat": (
            ThinkingPart("Adding.", "content"),
            TextPart("4"),
            ThinkingPart("", '[{"type":"reasoning.encrypted","data":"ZW5j"}]', redacted=True),
            CallPart("a", "now", "{}", "c2lnbmVk"),
        ),
        "openai-responses": (
            ThinkingPart("Adding.", json.dumps(REASONING_ITEM)),
            TextPart("4", '{"id":"msg_1","phase":"commentary"}'),
            CallPart("a", "now", "{}", '{"id":"fc_1"}'),
        ),
        "anthropic-messages": (
            ThinkingPart("Adding.", "c2lnbmVk"),
            ThinkingPart("", json.dumps(SEARCH), redacted=True),
            TextPart("4"),
            CallPart("a", "now", "{}"),
        ),
        "gemini-generate": (
            ThinkingPart("Adding."),
            TextPart("4"),
            TextPart("", "c2lnbmVk"),
            CallPart("a", "now", "{}", "c2lnbmVk"),
            CallPart("b", "now", "{}", "no base64"),
        ),
    }
    return asking(UserMessage("2+2?"), by(protocol, *parts[protocol]), ToolResultMessage("a", "now", "noon"))


def foreign_reasoning(protocol: str) -> ModelRequest:
    """Another model's reasoning is plain text; what is hidden in it is left out, and its ids are made valid."""
    return asking(
        UserMessage("2+2?"),
        by(
            protocol,
            ThinkingPart("Adding.", "c2lnbmVk"),
            ThinkingPart("", "ZW5jcnlwdGVk", redacted=True),
            CallPart("call_1|fc_1", "add", "{}", "c2lnbmVk"),
            CallPart("call_" + "2" * 70, "add", "{}"),
            model="another",
        ),
        ToolResultMessage("call_" + "2" * 70, "add", "5"),
        ToolResultMessage("call_1|fc_1", "add", "4"),
    )


def systems(protocol: str) -> ModelRequest:
    """System messages at the beginning and in mid-conversation, with sections and tools of their own."""
    return asking(
        SystemMessage("Be kind.", {"date": "Monday", "place": "Oslo"}, tools_added=(WEATHER, BARE)),
        UserMessage("Hi"),
        SystemMessage("", {"date": "Tuesday", "place": None}, tools_removed=("now",)),
        UserMessage("Still there?"),
        instruction="",
    )


def empty(protocol: str) -> ModelRequest:
    """Nothing in it that says anything."""
    return asking(
        UserMessage(""),
        by(protocol, TextPart("")),
        UserMessage((TextPart("  "),)),
        by(protocol, CallPart("a", "now")),
        ToolResultMessage("a", "now", ""),
        AssistantMessage((TextPart("half"), CallPart("b", "now")), stop=StopReason.ERROR),
    )


def limits(protocol: str) -> ModelRequest:
    return asking(UserMessage("Hi"), max_output_tokens=500, options={"seed": 7, "metadata": {"user_id": "u"}})


REQUESTS = [
    plain, tools, results, unanswered, images, own_reasoning, signed, foreign_reasoning, systems, empty, limits,
]  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("request_of", REQUESTS)
def test_a_request_is_this_body(protocol: str, request_of: Any, shown: SnapshotAssertion) -> None:
    assert body_of(protocol, request_of(protocol)) == shown


# --- what the snapshots are about, in words


@pytest.mark.parametrize(
    ("brand", "member"),
    [("openai", "max_completion_tokens"), ("openai_compatible", "max_tokens"), ("ollama", "max_tokens")],
)
def test_the_limit_of_the_output_has_the_name_its_vendor_gives_it(brand: str, member: str) -> None:
    config = ModelConfig(vendor=VENDORS[brand], model="m", base_url="http://localhost/v1", max_output_tokens=9)
    body = body_of("openai-chat", asking(UserMessage("Hi")), config)
    assert body[member] == 9
    assert body_of("openai-chat", asking(max_output_tokens=5), config)[member] == 5


def test_the_limit_is_left_out_where_it_may_be_and_made_up_where_it_must_be_there() -> None:
    assert not [name for name in body_of("openai-chat", asking()) if name.startswith("max_")]
    assert body_of("anthropic-messages", asking())["max_tokens"] == 16_384


def test_a_budget_for_thinking_leaves_room_for_an_answer() -> None:
    config = config_of("anthropic-messages", options={"thinking": {"type": "enabled", "budget_tokens": 4_000}})
    assert body_of("anthropic-messages", asking(max_output_tokens=1_000), config)["max_tokens"] == 5_000
    assert body_of("anthropic-messages", asking(max_output_tokens=4_000), config)["max_tokens"] == 8_000
    assert body_of("anthropic-messages", asking(max_output_tokens=4_001), config)["max_tokens"] == 4_001


SAID = {
    "openai-chat": {"minimal": {"reasoning_effort": "minimal"}, "high": {"reasoning_effort": "high"}},
    "openai-responses": {
        level: {"include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto", "effort": level}}
        for level in ("minimal", "high")
    },
    "anthropic-messages": {
        level: {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
        for level, effort in {"minimal": "low", "high": "high"}.items()
    },
    "gemini-generate": {
        level: {"generationConfig": {"thinkingConfig": {"thinkingLevel": said, "includeThoughts": True}}}
        for level, said in {"minimal": "low", "high": "high"}.items()
    },
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("level", ["minimal", "high", "off", ""])
def test_a_level_of_reasoning_is_said_in_each_protocols_way(protocol: str, level: str) -> None:
    assert body_of(protocol, asking(options={"reasoning": level})) == {
        **body_of(protocol, asking()),
        **SAID[protocol].get(level, {}),
    }


def test_reasoning_that_is_no_level_is_a_member_of_the_body() -> None:
    config = config_of("openai-chat", options={"reasoning": {"effort": "none"}})
    assert body_of("openai-chat", asking(), config)["reasoning"] == {"effort": "none"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_options_go_in_last_the_requests_after_the_models(protocol: str) -> None:
    config = config_of(protocol, options={"model": "a", "top_k": 1, "stop": ["x"]})
    body = body_of(protocol, asking(options={"top_k": 2, "stream": False}), config)
    assert (body["model"], body["top_k"], body["stop"]) == ("a", 2, ["x"])
    assert body.get("stream", True) is True


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_that_sees_no_images_gets_a_text_in_the_hosts_words(protocol: str) -> None:
    config = config_of(protocol, images=False, wording=Wording(image_omitted="[Bild]", tool_image_omitted="[Bild]"))
    text = json.dumps(body_of(protocol, images(protocol), config))
    assert "iVBOR" not in text
    assert "example.com" not in text
    assert text.count("[Bild]") == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_text_that_cannot_be_sent_is_made_sendable_everywhere(protocol: str) -> None:
    """Unpaired surrogates in whatever a host may have put into a request (decision 15)."""
    bad = "\ud800"
    request = ModelRequest(
        "call-1",
        Seq([UserMessage(bad), by(protocol, CallPart(bad, bad, bad))]),
        instruction=bad,
        tools=(ToolDeclaration(bad, bad, {bad: bad}),),
        notice=bad,
        options={bad: [bad], "generationConfig": {bad: [bad]}},
    )
    body_of(protocol, request)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_context_gives_the_same_beginning_as_it_grows(protocol: str) -> None:
    """Providers cache by the beginning: nothing that was sent may change because something was added."""
    config = config_of(protocol)
    context: list[Message] = []
    before: list[Any] = []
    for step in range(6):
        context += [by(protocol, CallPart("", "f", "{}")), ToolResultMessage("", "f", str(step)), UserMessage("go on")]
        body = body_of(protocol, asking(*context), config)
        messages = next(body[name] for name in ("messages", "input", "contents") if name in body)
        assert messages[: len(before)] == before
        before = messages


@given(st.binary(max_size=30), st.sampled_from(sorted(PROTOCOLS)))
def test_ids_are_valid_and_the_rule_leaves_valid_ones_alone(raw: bytes, protocol: str) -> None:
    rule = PROTOCOLS[protocol].id_rule
    id = rule(raw.decode("utf-8", "replace") * 3)
    assert rule(id) == id
    assert len(id) <= {"openai-chat": 40}.get(protocol, 64)
    assert all(character.isascii() and (character.isalnum() or character in "_-") for character in id)
