"""Messages on the line, both ways."""

from typing import Any

import pytest
from hypothesis import given
from turnfold.adapters.proxy import WireError, message_from_wire, message_to_wire
from turnfold.adapters.proxy.wire import declaration_from_wire, model_to_wire
from turnfold.effects.model import ModelChoice
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    CustomMessage,
    ErrorKind,
    Message,
    ModelError,
    StopReason,
    SystemMessage,
    TextPart,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from turnfold.effects.values import replace

from tests.strategies import values

Raw = dict[str, Any]
USAGE = {"input": 3, "output": 2, "cacheRead": 1, "cacheWrite": 0, "totalTokens": 6, "cost": {"total": 0.5}}
ASSISTANT: Raw = {
    "role": "assistant",
    "content": [],
    "api": "chat-v1",
    "provider": "northwind",
    "model": "px-1",
    "usage": USAGE,
    "stopReason": "stop",
    "timestamp": 7,
}
CALL: Raw = {"type": "toolCall", "id": "c", "name": "find", "arguments": {"a": [1, 2.5, None]}}


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "user", "content": "hello", "timestamp": 7},
        {"role": "user", "content": None},
        {"role": "user", "content": [{"type": "image", "data": "AA==", "mimeType": "image/png", "alt": "x"}]},
        {
            "role": "system",
            "content": "Rules.",
            "sections": {"tone": "calm", "old": None},
            "toolsAdded": [{"name": "find", "description": "Finds.", "parameters": {}, "constrainedSampling": {}}],
            "toolsRemoved": [{"name": "list"}],
        },
        {"role": "system", "content": "", "sections": {}, "toolsAdded": [], "toolsRemoved": []},
        {**ASSISTANT, "content": [{"type": "text", "text": "a", "textSignature": ""}]},
        {**ASSISTANT, "content": [{"type": "text", "text": "a", "textSignature": None}]},
        {**ASSISTANT, "content": [{"type": "thinking", "thinking": "", "thinkingSignature": "s", "redacted": True}]},
        {**ASSISTANT, "content": [{**CALL, "thoughtSignature": "s", "namespace": "n"}]},
        {**ASSISTANT, "content": [{**CALL, "arguments": "no object", "argumentsError": "column 3"}]},
        {**ASSISTANT, "usage": None},
        {**ASSISTANT, "usage": {**USAGE, "reasoning": 0, "cacheWrite1h": 4}},
        {**ASSISTANT, "stopReason": "aborted", "errorMessage": ""},
        {**ASSISTANT, "stopReason": "odd", "rawStopReason": "very odd", "responseId": "r", "thinkingLevel": "high"},
        {**ASSISTANT, "stopReason": ""},
        {**ASSISTANT, "api": 5, "model": {"id": "x"}, "diagnostics": [1], "endTurn": True},
        {"role": "toolResult", "toolCallId": "c", "toolName": "find", "content": [], "isError": False, "timestamp": 7},
        {
            "role": "toolResult",
            "toolCallId": "c",
            "toolName": "find",
            "content": "x",
            "isError": True,
            "details": None,
            "usage": None,
            "nestedCalls": [1],
        },
        {"role": "note", "content": {"any": "thing"}, "more": 1},
        {"role": "note"},
    ],
)
def test_what_comes_in_goes_out_as_it_was(raw: Raw) -> None:
    """An absent member, a null and a value are three things."""
    assert message_to_wire(message_from_wire(raw)) == raw


@given(values(UserMessage) | values(SystemMessage) | values(AssistantMessage) | values(ToolResultMessage))
def test_whatever_we_have_can_be_written_and_read_again(message: Message) -> None:
    if isinstance(message, AssistantMessage):
        message = replace(message, usage=Usage(3, 1, 0, 2, 1))
    raw = message_to_wire(replace(message, timestamp=7))
    assert message_to_wire(message_from_wire(raw)) == raw


def test_an_output_of_ours_says_everything() -> None:
    call = CallPart("c", "find", '{"a":1}')
    message = AssistantMessage(
        (TextPart("hm"), call), "a", "p", "m", StopReason.TOOL_USE, "tool_calls", Usage(3, 1, 0, 2, 1), "r", timestamp=7
    )
    assert list(message_to_wire(message).items()) == [
        ("role", "assistant"),
        ("content", [{"type": "text", "text": "hm"}, {**CALL, "arguments": {"a": 1}}]),
        ("api", "a"),
        ("provider", "p"),
        ("model", "m"),
        (
            "usage",
            {
                "input": 3,
                "output": 2,
                "cacheRead": 1,
                "cacheWrite": 0,
                "reasoning": 1,
                "totalTokens": 6,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
            },
        ),
        ("stopReason", "toolUse"),
        ("rawStopReason", "tool_calls"),
        ("responseId", "r"),
        ("timestamp", 7),
    ]


def test_a_refusal_is_an_ordinary_end_there() -> None:
    raw = message_to_wire(AssistantMessage(stop=StopReason.REFUSAL, raw_stop="content_filter"))
    assert (raw["stopReason"], raw["rawStopReason"]) == ("stop", "content_filter")


def test_a_failure_has_its_text_and_no_more() -> None:
    error = ModelError(ErrorKind.QUOTA, "used up", 429, "code", "request", 7)
    raw = message_to_wire(AssistantMessage(stop=StopReason.ERROR, error=error))
    assert raw["errorMessage"] == "used up"
    read = message_from_wire(raw)
    assert isinstance(read, AssistantMessage)
    assert read.error == ModelError(ErrorKind.UNAVAILABLE, "used up")


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [("", {}, None), ("null", None, None), ('{"a":[1', {"a": [1]}, True), ("[" * 5_000, None, True), ("5", 5, None)],
)
def test_arguments_go_out_as_a_value_and_cut_ones_say_so(text: str, value: Any, problem: bool | None) -> None:
    """Decision 45."""
    (block,) = message_to_wire(AssistantMessage((CallPart("c", "find", text),)))["content"]
    assert ("argumentsError" in block) is bool(problem)
    if value is not None or not problem:
        assert block["arguments"] == value


def test_halves_of_characters_do_not_come_in() -> None:
    """Decision 45."""
    message = message_from_wire({"role": "user", "content": "a\ud83d", "extra\ud83d": ["\ude00"]})
    assert message == UserMessage("a\ufffd", extra={"extra\ufffd": ["\ufffd"]})


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"role": 5},
        {"role": "user", "content": 5},
        {"role": "user", "content": [5]},
        {"role": "user", "content": [CALL]},
        {"role": "user", "content": [{"type": "sound"}]},
        {"role": "user", "content": "x", "timestamp": "now"},
        {**ASSISTANT, "content": [{"type": "image", "data": "", "mimeType": "x"}]},
        {**ASSISTANT, "content": [{**CALL, "id": None}]},
        {**ASSISTANT, "content": [{"type": "text", "text": "a", "textSignature": 5}]},
        {**ASSISTANT, "usage": 5},
        {**ASSISTANT, "usage": {"input": -1}},
        {**ASSISTANT, "usage": {"input": True}},
        {**ASSISTANT, "usage": {"input": float("inf")}},
        {**ASSISTANT, "timestamp": float("nan")},
        {**ASSISTANT, "stopReason": 5},
        {"role": "toolResult", "content": "x"},
        {"role": "system", "content": "x", "sections": {"a": 5}},
        {"role": "system", "content": "x", "toolsAdded": {}},
        {"role": "system", "content": "x", "toolsAdded": [{"name": "a", "parameters": 5}]},
        {"role": "system", "content": "x", "toolsRemoved": [{}]},
    ],
)
def test_what_is_no_message_is_refused(raw: Any) -> None:
    with pytest.raises(WireError):
        message_from_wire(raw)


def test_a_message_of_a_hosts_own_may_hold_anything() -> None:
    assert message_from_wire({"role": "note", "content": [5]}) == CustomMessage("note", [5])


def test_a_declaration_keeps_what_we_do_not_know() -> None:
    raw = {"name": "a", "parameters": {"type": "object"}, "label": "x"}
    assert declaration_from_wire(raw) == ToolDeclaration("a", "", {"type": "object"}, {"label": "x"})


def test_a_model_is_named_in_the_same_order_always() -> None:
    choice = ModelChoice("m", "p", "a", "port", {"input": ["text"], "name": "M"})
    assert list(model_to_wire(choice).items()) == [
        ("id", "m"),
        ("name", "M"),
        ("api", "a"),
        ("provider", "p"),
        ("input", ["text"]),
    ]
    assert model_to_wire(ModelChoice()) == {"id": ""}
