"""What is sent to Gemini beyond what all protocols share: parts of its own, pictures in results, and turns."""

import json
from typing import Any

import pytest
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.gemini_generate import build_request
from turnfold.adapters.models.vendors import vendor_of
from turnfold.effects.model import ModelRequest
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolResultMessage,
    UserMessage,
)

from tests.adapters.models.answers import answer_of, read, stream_of

ASKED = UserMessage("Hi")
CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "QUJD"}
PICTURE = ImagePart("iVBORw0KGgo=", "image/png")
ADDRESS = ImagePart(url="https://example.com/a.png")


def config_for(model: str = "gemini-3-flash") -> ModelConfig:
    vendor = vendor_of("google", "gemini-generate")
    assert vendor is not None
    return ModelConfig(vendor=vendor, model=model, base_url="https://x.example")


def contents_of(config: ModelConfig, *messages: Message, **members: Any) -> list[dict[str, Any]]:
    body = build_request(ModelRequest("call-1", Seq(messages), **members), config)
    json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    return body["contents"]


def said_by(config: ModelConfig, *parts: Any) -> AssistantMessage:
    target = config.target
    return AssistantMessage(parts, target.api, target.provider, target.model)


def test_parts_of_its_own_go_back_to_the_model_where_they_were_and_to_no_other() -> None:
    _, stream, _ = stream_of("gemini-generate/own-parts")
    parts: list[Any] = []
    for part in answer_of(read("gemini-generate", [stream]))["parts"]:
        if part["type"] == "thinking":
            parts.append(ThinkingPart(part["text"], part["signature"], part["redacted"]))
        else:
            parts.append(TextPart(part["text"], part.get("signature")))
    config = config_for()
    assert contents_of(config, ASKED, said_by(config, *parts))[1]["parts"] == [
        {"text": "Let me compute."},
        CODE,
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "It is 1."},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "thoughtSignature": "REVG"},
        {"text": "", "thoughtSignature": "R0hJ"},
    ]
    other = said_by(config_for("gemini-3-pro"), *parts)
    assert contents_of(config, ASKED, other)[1]["parts"] == [{"text": "Let me compute."}, {"text": "It is 1."}]


@pytest.mark.parametrize(
    "payload",
    ["ZW5j", "", '{"id":"x"}', '{"functionCall":{"name":"f"}}', '{"text":"x","executableCode":{"a":1}}', "[1]"],
)
def test_what_is_hidden_and_no_part_of_its_own_is_not_sent(payload: str) -> None:
    config = config_for()
    output = said_by(config, ThinkingPart("", payload, redacted=True), TextPart("a"))
    assert contents_of(config, ASKED, output)[1]["parts"] == [{"text": "a"}]


def test_pictures_with_data_are_in_a_response_and_those_with_an_address_follow() -> None:
    config = config_for()
    call = said_by(config, CallPart("c1", "draw", "{}", "c2ln"))

    def sent(*parts: Any, config: ModelConfig = config) -> list[dict[str, Any]]:
        return contents_of(config, ASKED, call, ToolResultMessage("c1", "draw", parts))[2:]

    data = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    address = {"fileData": {"fileUri": "https://example.com/a.png", "mimeType": "image/png"}}
    heading = {"text": "Images from the tool results above:"}
    (only,) = sent(PICTURE)
    assert only["parts"][0]["functionResponse"]["parts"] == [data]
    assert only["parts"][0]["functionResponse"]["response"] == {"output": ""}
    response, after = sent(PICTURE, ADDRESS)
    assert response["parts"][0]["functionResponse"]["parts"] == [data]
    assert response["parts"][0]["functionResponse"]["response"] == {"output": "(see the images below)"}
    assert after["parts"] == [heading, address]
    older = config_for("gemini-2.5-flash")
    _, after = sent(PICTURE, ADDRESS, config=older)
    assert after["parts"] == [heading, data, address]


def test_users_and_outputs_take_turns_and_responses_are_apart() -> None:
    """A call is rejected after an output, and so is anything beside responses."""
    config = config_for()
    contents = contents_of(
        config,
        UserMessage("a"),
        UserMessage("b"),
        said_by(config, TextPart("c")),
        UserMessage(" "),
        said_by(config, CallPart("c1", "f", "{}", "c2ln")),
        ToolResultMessage("c1", "f", "ok"),
        UserMessage("d"),
        notice="e",
    )
    told = [(content["role"], [next(iter(part)) for part in content["parts"]]) for content in contents]
    assert told == [
        ("user", ["text", "text"]),
        ("model", ["text", "functionCall"]),
        ("user", ["functionResponse"]),
        ("user", ["text", "text"]),
    ]
