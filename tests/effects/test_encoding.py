"""Messages to JSON and back: lossless, with absent, null and value kept apart, and errors that name the member."""

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    CustomMessage,
    DecodeError,
    ErrorKind,
    ImagePart,
    Message,
    ModelError,
    Sealed,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
    decode_message,
    encode_message,
)
from turnfold.effects.values import UNSET

from tests.strategies import MESSAGES, values


@given(MESSAGES)
def test_every_message_reads_back_as_it_was(message: Message) -> None:
    again = decode_message(encode_message(message))
    assert again == message
    assert type(again) is type(message)


@given(MESSAGES)
def test_the_encoding_is_compact_json_that_any_parser_reads_alike(message: Message) -> None:
    raw = encode_message(message)
    assert json.loads(raw) == msgspec.json.decode(raw)
    assert encode_message(decode_message(raw)) == raw


def test_each_kind_of_message_and_part_has_its_tag() -> None:
    """CK-01: signatures, reasoning, arguments, usage, image data, result text and extra members survive."""
    output = AssistantMessage(
        parts=(
            ThinkingPart("hm", signature="", redacted=True, extra={"note": None}),
            TextPart("hello", signature="sig"),
            CallPart("1", "add", '{"a": 1', extra={"index": 0}),
        ),
        api="chat",
        stop=StopReason.TOOL_USE,
        usage=Usage(1, 2, 3, 4, 5),
        error=ModelError(ErrorKind.NETWORK, "gone"),
    )
    assert json.loads(encode_message(output)) == {
        "type": "assistant",
        "parts": [
            {"type": "thinking", "text": "hm", "signature": "", "redacted": True, "extra": {"note": None}},
            {"type": "text", "text": "hello", "signature": "sig"},
            {"type": "call", "id": "1", "name": "add", "arguments": '{"a": 1', "extra": {"index": 0}},
        ],
        "api": "chat",
        "stop": "tool_use",
        "usage": {"input": 1, "cache_read": 2, "cache_write": 3, "output": 4, "reasoning": 5},
        "error": {"kind": "network", "message": "gone"},
    }
    rest: list[tuple[Message, dict[str, Any]]] = [
        (UserMessage((ImagePart("aGk="),)), {"type": "user", "content": [{"type": "image", "data": "aGk="}]}),
        (ToolResultMessage("1", "add", "2"), {"type": "tool", "call_id": "1", "name": "add", "content": "2"}),
        (CustomMessage("note", [1]), {"type": "custom", "role": "note", "content": [1]}),
        (
            SystemMessage(sections={"a": None, "b": ""}, tools_added=(ToolDeclaration("t"),), tools_removed=()),
            {
                "type": "system",
                "sections": {"a": None, "b": ""},
                "tools_added": [{"name": "t"}],
                "tools_removed": [],
            },
        ),
    ]
    for message, encoded in rest:
        assert json.loads(encode_message(message)) == encoded
    assert {AssistantMessage, *(type(message) for message, _ in rest)} == set(get_args(Message))


@pytest.mark.parametrize("value", [UNSET, None, "", {}, [], 0, False, {"a": None}])
@pytest.mark.parametrize("member", ["details", "structured"])
def test_absent_null_and_value_stay_three_things(member: str, value: Any) -> None:
    message = ToolResultMessage("1", "add", **{member: value})
    encoded = json.loads(encode_message(message))
    assert (member in encoded) is (value is not UNSET)
    again = getattr(decode_message(encode_message(message)), member)
    assert again == value
    assert type(again) is type(value)


def test_content_may_be_absent_empty_or_parts() -> None:
    for content in (None, "", "x", (), (TextPart(""),), (TextPart("a"), ImagePart(url="https://example.org/a.png"))):
        for message in (UserMessage(content), SystemMessage(content), ToolResultMessage("1", "add", content)):
            assert decode_message(encode_message(message)) == message


def test_a_signature_that_is_empty_is_not_absent() -> None:
    for signature in (None, "", "s"):
        message = AssistantMessage((ThinkingPart("", signature),))
        assert decode_message(encode_message(message)) == message


def test_integers_are_exact_however_large() -> None:
    message = CustomMessage("note", {"large": 2**70, "small": -(2**70)})
    assert decode_message(encode_message(message)) == message


def test_members_that_we_do_not_know_are_passed_over() -> None:
    assert decode_message(b'{"type":"user","content":"hello","later":1}') == UserMessage("hello")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b'{"type":"user"} x', "not JSON"),
        (b"[]", "expected an object whose type is one of system, user, assistant, tool, custom @ $"),
        (b"{}", "expected an object whose type is one of system, user, assistant, tool, custom @ $"),
        (b'{"type":"robot"}', "expected an object whose type is one of system, user, assistant, tool, custom @ $"),
        (b'{"type":"tool","call_id":"1"}', "required field missing @ $.name"),
        (b'{"type":"user","content":[{"type":"text","text":1}]}', "expected str, got int @ $.content[0].text"),
        (b'{"type":"user","content":[{"type":"text","text":{}}]}', "expected str, got dict @ $.content[0].text"),
        (b'{"type":"user","content":[{"type":"call"}]}', "whose type is one of text, image @ $.content[0]"),
        (b'{"type":"user","content":5}', "expected a list, got int @ $.content"),
        (b'{"type":"user","timestamp":1.5}', "expected int, got float @ $.timestamp"),
        (b'{"type":"user","timestamp":true}', "expected int, got bool @ $.timestamp"),
        (b'{"type":"user","extra":[1]}', "expected a mapping @ $.extra"),
        (b'{"type":"tool","call_id":"1","name":"a","is_error":"no"}', "expected bool, got str @ $.is_error"),
        (b'{"type":"assistant","parts":"abc"}', "expected a list, got str @ $.parts"),
        (b'{"type":"assistant","stop":"tired"}', "invalid value for type, expected StopReason @ $.stop"),
        (b'{"type":"assistant","usage":{"input":"1"}}', "expected int, got str @ $.usage.input"),
        (b'{"type":"system","sections":{"a":1}}', "@ $.sections"),
    ],
)
def test_data_that_is_no_message_is_refused_by_path(raw: bytes, problem: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_message(raw)
    assert problem in str(caught.value)


def test_everything_that_is_wrong_is_named() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_message(b'{"type":"tool","call_id":1,"content":[{"type":"text"}],"is_error":0}')
    for path in ("$.call_id", "$.name", "$.content[0].text", "$.is_error"):
        assert f"@ {path}" in str(caught.value)


# --- sealed messages


@given(MESSAGES)
def test_a_sealed_message_opens_to_the_message(message: Message) -> None:
    sealed = Sealed.of(message)
    assert sealed.open() is message
    stored = Sealed(sealed.raw)
    assert stored.open() == message
    assert stored.open() is stored.open()
    assert (stored, hash(stored)) == (sealed, hash(sealed))


@given(values(UserMessage), values(UserMessage))
def test_sealed_messages_are_equal_when_their_bytes_are(one: Message, other: Message) -> None:
    assert (Sealed.of(one) == Sealed.of(other)) is (encode_message(one) == encode_message(other))
    assert Sealed.of(one) != one


def test_a_sealed_message_is_not_read_before_it_is_opened() -> None:
    sealed = Sealed(b"broken")
    assert repr(sealed) == "Sealed(b'broken')"
    with pytest.raises(DecodeError):
        sealed.open()
