"""Transcripts of any kind, and what each protocol demands of a request: its own rules, told to a request's body."""

import json
import re
from typing import Any

from hypothesis import strategies as st
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    CustomMessage,
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

from tests.adapters.models.answers import config_of

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ITEM = json.dumps({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"})

TEXTS = st.sampled_from(["", " ", "\n", "hello", "é🙂", "\ud800", "x\udc00y"]) | st.text(max_size=5)
IDS = st.sampled_from(["", "a", "b", "call_1", "call_2", "call_1|fc_1", "c/1", "c|1", "x" * 90, "abcDEF123", "\ud800"])
ARGUMENTS = st.sampled_from(["", "{}", '{"a": 1}', '{"a": "\\ud800"}', "[1]", "null", '{"a', '{"n": 1e999}', "NaN"])
SIGNATURES = st.sampled_from(
    [
        None,
        "",
        "c2lnbmVk",
        "reasoning_content",
        "content",
        ITEM,
        '{"id":"msg_1"}',
        "[1]",
        '[{"type":"x"}]',
        '{"type":"y"}',
    ]
)
IMAGES = st.sampled_from([ImagePart("iVBORw0KGgo=", "image/png"), ImagePart(url="https://example.com/a.png")])
CONTENTS = TEXTS | st.lists(TEXTS.map(TextPart) | IMAGES, max_size=3).map(tuple)
CALLS = st.builds(CallPart, IDS, st.sampled_from(["f", "", "what is this?", "\ud800"]), ARGUMENTS, SIGNATURES)
PARTS = (
    st.builds(TextPart, TEXTS, SIGNATURES) | st.builds(ThinkingPart, TEXTS, SIGNATURES, st.booleans()) | CALLS | CALLS
)
TOOLS = st.sampled_from([(), (ToolDeclaration("f", "", {"type": "object", "properties": {}}),)])


def messages(protocol: str) -> st.SearchStrategy[Message]:
    """Any message, among them outputs of the protocol's own model, of another one, and such that failed."""
    own = config_of(protocol).target
    authors = st.sampled_from([(own.api, own.provider, own.model), ("other", "somebody", "else")])
    stops = st.sampled_from([StopReason.STOP, StopReason.TOOL_USE, StopReason.LENGTH, StopReason.ERROR])
    outputs = st.builds(
        lambda parts, author, stop: AssistantMessage(tuple(parts), *author, stop),
        st.lists(PARTS, max_size=4),
        authors,
        stops,
    )
    return (
        outputs
        | outputs
        | st.builds(UserMessage, CONTENTS)
        | st.builds(ToolResultMessage, IDS, st.just("f"), CONTENTS, st.booleans())
        | st.builds(SystemMessage, TEXTS, st.none() | st.just({"date": "Monday"}))
        | st.just(CustomMessage("note", "x"))
    )


def check(protocol: str, body: dict[str, Any]) -> None:
    """Fail where a body breaks a rule of its protocol."""
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    {
        "openai-chat": _chat,
        "openai-responses": _responses,
        "anthropic-messages": _anthropic,
        "gemini-generate": _gemini,
    }[protocol](body)


def _unique(ids: list[str]) -> None:
    assert len(set(ids)) == len(ids), "ids are unique"
    assert all(ids), "ids are not empty"


def _object(arguments: str) -> None:
    assert isinstance(json.loads(arguments or "{}"), dict), "arguments are an object"


def _chat(body: dict[str, Any]) -> None:
    due: list[str] = []
    seen: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] in due, "a result answers a call of the output before it"
            due.remove(message["tool_call_id"])
            continue
        assert not due, "results come directly after their calls"
        calls = message.get("tool_calls", [])
        assert calls or message["content"] is not None
        for call in calls:
            _object(call["function"]["arguments"])
            assert NAME.fullmatch(call["function"]["name"])
        due = [call["id"] for call in calls]
        seen += due
    assert not due, "every call is answered"
    _unique(seen)


def _responses(body: dict[str, Any]) -> None:
    due: list[str] = []
    seen: list[str] = []
    before = ""
    for item in body["input"]:
        kind = item.get("type", item.get("role"))
        if kind == "function_call_output":
            assert item["call_id"] in due, "a result answers a call of the output before it"
            due.remove(item["call_id"])
        elif kind == "function_call":
            _object(item["arguments"])
            assert NAME.fullmatch(item["name"])
            assert len(item["call_id"]) <= 64 or before
            due.append(item["call_id"])
            seen.append(item["call_id"])
        elif kind in ("user", "system"):
            assert not due, "results come directly after their calls"
        if before == "reasoning":
            assert kind in ("reasoning", "message", "function_call", "assistant"), "reasoning leads to something"
        before = kind
    assert before != "reasoning"
    assert not due, "every call is answered"
    _unique(seen)


def _anthropic(body: dict[str, Any]) -> None:
    due: list[str] = []
    seen: list[str] = []
    assert not body["messages"] or body["messages"][0]["role"] == "user", "the user begins"
    for message in body["messages"]:
        assert message["content"], "a message says something"
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert sorted(results) == sorted(due), "the next message has all results and no others"
        assert not results or len(results) == len(message["content"])
        for block in message["content"]:
            assert block["type"] != "text" or block["text"].strip(), "a text says something"
            assert block["type"] != "tool_use" or NAME.fullmatch(block["name"])
            assert block["type"] != "tool_use" or isinstance(block["input"], dict)
        due = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        seen += due
    assert not due, "every call is answered"
    _unique(seen)


def _gemini(body: dict[str, Any]) -> None:
    due: list[tuple[str, str | None]] = []
    assert not body["contents"] or body["contents"][0]["role"] == "user", "the user begins"
    for content in body["contents"]:
        assert content["parts"], "a content says something"
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        given = [(result["name"], result.get("id")) for result in results]
        assert sorted(given, key=str) == sorted(due, key=str), "the next content has all responses and no others"
        assert not (calls and content["role"] != "model")
        assert not (results and content["role"] != "user")
        for call in calls:
            assert NAME.fullmatch(call["name"])
            assert isinstance(call["args"], dict)
        signed = [part.get("thoughtSignature") for part in content["parts"] if "functionCall" in part]
        assert not signed or any(signed), "a step with calls is signed"
        for part in content["parts"]:
            assert part.get("text", "x").strip() or part.get("thoughtSignature"), "a part says something"
        due = [(call["name"], call.get("id")) for call in calls]
    assert not due, "every call is answered"
