"""Frames become deltas, and the whole output beside them."""

from typing import Any

import pytest
from turnfold.adapters.proxy.answer import MAX_BLOCKS, Answer
from turnfold.adapters.proxy.lines import FrameError
from turnfold.core.loop import EMPTY_PARTIAL, fold_deltas
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    ModelError,
    StopReason,
    TextPart,
    ThinkingPart,
    Usage,
)
from turnfold.effects.values import replace

from tests.adapters.proxy.loopback import MODEL, NOW

Raw = dict[str, Any]
START: Raw = {"type": "start"}
DONE: Raw = {"type": "done", "reason": "stop", "usage": {"input": 3, "output": 2, "cacheRead": 1, "cacheWrite": 0}}
CALL: Raw = {"type": "toolcall_start", "contentIndex": 0, "id": "c1", "toolName": "find"}


def said(kind: str, index: int = 0, **members: Any) -> Raw:
    return {"type": kind, "contentIndex": index, **members}


def deltas(*frames: Raw) -> list[Delta]:
    answer = Answer(MODEL, NOW)
    return [delta for frame in frames for delta in answer.take(frame)]


def whole(*frames: Raw) -> AssistantMessage:
    last = deltas(*frames)[-1]
    assert isinstance(last, StreamFinished | StreamFailed)
    assert last.message is not None
    return last.message


def shown(*frames: Raw) -> AssistantMessage:
    """What an agent shows of an answer: its deltas, folded."""
    partial, _, _ = fold_deltas(EMPTY_PARTIAL, tuple(deltas(*frames)))
    return partial.message


def call(*frames: Raw) -> CallPart:
    """The one call of an answer; what was shown once it had ended is what the whole output says."""
    (part,) = whole(START, CALL, *frames, DONE).parts
    assert isinstance(part, CallPart)
    if any(frame["type"] == "toolcall_end" for frame in frames):
        assert shown(START, CALL, *frames).parts == (part,)
    return part


def test_text_and_reasoning_come_with_their_signatures() -> None:
    frames = [
        START,
        said("thinking_start"),
        said("thinking_delta", delta="hm"),
        said("thinking_end", contentSignature="sig"),
        said("text_start", 1),
        said("text_delta", 1, delta="He"),
        said("text_delta", 1, delta="llo"),
        said("text_end", 1),
    ]
    assert deltas(*frames) == [
        Started("chat-v1", "northwind", "px-1", timestamp=NOW),
        BlockStarted(0, DeltaKind.THINKING),
        BlockDelta(0, "hm"),
        BlockEnded(0, "sig"),
        BlockStarted(1, DeltaKind.TEXT),
        BlockDelta(1, "He"),
        BlockDelta(1, "llo"),
        BlockEnded(1),
    ]
    message = whole(*frames, DONE)
    assert message.parts == shown(*frames).parts == (ThinkingPart("hm", "sig"), TextPart("Hello"))
    assert (message.api, message.provider, message.model) == ("chat-v1", "northwind", "px-1")
    assert (message.stop, message.timestamp, message.usage) == (StopReason.STOP, NOW, Usage(3, 1, 0, 2))


def test_usage_is_told_before_the_end() -> None:
    """Decision 26: also that of an answer that failed."""
    assert UsageReported(Usage(3, 1, 0, 2)) in deltas(START, DONE)
    assert UsageReported(Usage(3, 1, 0, 2)) in deltas(START, {**DONE, "type": "error", "reason": "error"})


@pytest.mark.parametrize(
    ("given", "signature", "extra"),
    [({}, None, {}), ({"contentSignature": ""}, "", {}), ({"contentSignature": None}, None, {"textSignature": None})],
)
def test_an_empty_signature_a_null_and_none_are_three_things(given: Raw, signature: str | None, extra: Raw) -> None:
    frames = [START, said("text_start"), said("text_end", **given)]
    assert whole(*frames, DONE).parts == shown(*frames).parts == (TextPart("", signature, extra),)


def test_halves_of_a_character_in_two_frames_are_joined() -> None:
    """Decision 45."""
    frames = [said("text_start"), said("text_delta", delta="a\ud83d"), said("text_delta", delta="\ude00\ud83d")]
    assert whole(*frames, DONE).parts == shown(*frames).parts == (TextPart("a😀\ufffd"),)


# Calls.


def test_arguments_stay_as_they_were_streamed() -> None:
    """Byte by byte, if the end says the same."""
    text = '{ "n": 1.50, "s": "\\u00e9" }'
    ended = said("toolcall_end", toolCall={"id": "c1", "name": "find", "arguments": {"n": 1.5, "s": "é"}})
    for end in (ended, said("toolcall_end")):
        assert call(said("toolcall_delta", delta=text), end) == CallPart("c1", "find", text)
    assert call(said("toolcall_delta", delta=text)) == CallPart("c1", "find", text)


def test_the_end_of_a_call_has_the_last_word() -> None:
    told = {"id": "c9", "name": "search", "arguments": {"z": 1}, "thoughtSignature": "ts", "namespace": "n"}
    end = said("toolcall_end", toolCall={"type": "toolCall", **told})
    assert call(said("toolcall_delta", delta="{}"), end) == CallPart(
        "c9", "search", '{"z":1}', "ts", {"namespace": "n"}
    )


def test_true_is_not_one() -> None:
    end = said("toolcall_end", toolCall={"arguments": {"a": True}})
    assert call(said("toolcall_delta", delta='{"a":1}'), end).arguments == '{"a":true}'


def test_only_some_members_of_a_call_may_be_told_at_its_end() -> None:
    end = said("toolcall_end", toolCall={"thoughtSignature": "ts"})
    assert call(said("toolcall_delta", delta='{"a":1}'), end) == CallPart("c1", "find", '{"a":1}', "ts")
    null = said("toolcall_end", toolCall={"thoughtSignature": None})
    assert call(null) == CallPart("c1", "find", "{}", extra={"thoughtSignature": None})


@pytest.mark.parametrize("text", ["", "  ", "null", "false", "0", '""'])
def test_arguments_that_mean_nothing_are_an_empty_object(text: str) -> None:
    for frames in ([said("toolcall_delta", delta=text)], [said("toolcall_delta", delta=text), said("toolcall_end")]):
        assert call(*frames) == CallPart("c1", "find", "{}")


@pytest.mark.parametrize("text", ["[1]", '"s"', "7", "true", "[]"])
def test_arguments_that_are_no_object_are_the_validators_business(text: str) -> None:
    """Decision 45."""
    assert call(said("toolcall_delta", delta=text), said("toolcall_end")) == CallPart("c1", "find", text)


@pytest.mark.parametrize(
    ("text", "value"), [('{"a":[1,2', '{"a":[1,2]}'), ("garbage", "{}"), ('{"n":1e999}', '{"n":null}'), ("nul", "{}")]
)
def test_arguments_that_cannot_be_read_keep_what_was_shown_and_say_so(text: str, value: str) -> None:
    """Decisions 12 and 45: such a call never runs."""
    for frames in ([said("toolcall_delta", delta=text)], [said("toolcall_delta", delta=text), said("toolcall_end")]):
        part = call(*frames)
        assert (part.arguments, part.arguments_error) == (value, "they are not valid JSON")


def test_the_end_of_a_call_may_repair_its_arguments_or_say_what_is_wrong() -> None:
    cut = said("toolcall_delta", delta='{"a":')
    assert call(cut, said("toolcall_end", toolCall={"arguments": {"a": 1}})) == CallPart("c1", "find", '{"a":1}')
    wrong = said("toolcall_end", toolCall={"arguments": {}, "argumentsError": "column 3"})
    assert call(cut, wrong).arguments_error == "column 3"


def test_calls_may_interleave() -> None:
    frames = [
        START,
        CALL,
        said("toolcall_start", 1, id="c2", toolName="list"),
        said("toolcall_delta", 1, delta='{"k":'),
        said("toolcall_delta", 0, delta='{"j":1}'),
        said("toolcall_delta", 1, delta="2}"),
    ]
    parts = (CallPart("c1", "find", '{"j":1}'), CallPart("c2", "list", '{"k":2}'))
    assert whole(*frames, DONE).parts == shown(*frames).parts == parts


def test_the_end_of_a_call_that_is_none_is_ignored() -> None:
    frames = [START, said("text_start"), said("toolcall_end", toolCall={"id": "x"}), said("toolcall_end", 5), DONE]
    assert whole(*frames).parts == (TextPart(""),)
    assert sum(isinstance(delta, BlockEnded) for delta in deltas(*frames)) == 0


# Blocks.


def test_a_block_that_begins_again_is_a_new_one() -> None:
    frames = [
        START,
        said("text_start"),
        said("text_delta", delta="first"),
        said("text_end", contentSignature="sig"),
        {**CALL},
        said("toolcall_delta", delta="{}"),
    ]
    assert whole(*frames, DONE).parts == shown(*frames).parts == (CallPart("c1", "find", "{}"),)


def test_an_output_is_in_order_of_the_indices_whatever_came_first() -> None:
    frames = [START, said("text_start", 7), said("text_delta", 7, delta="b"), said("text_start", 2), DONE]
    assert whole(*frames).parts == (TextPart(""), TextPart("b"))


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([said("text_delta", delta="x")], "Received text_delta for non-text content"),
        ([said("text_start"), said("thinking_delta", delta="x")], "Received thinking_delta for non-thinking content"),
        ([said("text_start"), said("toolcall_delta", delta="x")], "Received toolcall_delta for non-toolCall content"),
        ([CALL, said("text_end")], "Received text_end for non-text content"),
        ([said("text_start"), said("thinking_end")], "Received thinking_end for non-thinking content"),
        ([said("text_start", -1)], "Invalid negative contentIndex"),
        ([said("text_start", MAX_BLOCKS)], "Received text_start with a contentIndex beyond 9999"),
        ([{"type": "text_start"}], "Received text_start without a contentIndex that is a whole number"),
        ([said("text_start", True)], "Received text_start without a contentIndex that is a whole number"),
        (
            [said("text_start"), said("text_delta")],
            "Received text_delta that cannot be read: the member delta is missing",
        ),
        ([said("text_start"), said("text_delta", delta=5)], "cannot be read: the member delta is no text"),
        ([said("toolcall_start", id="c")], "cannot be read: the member toolName is missing"),
        ([said("text_start"), said("text_end", contentSignature=1)], "the member contentSignature is no text"),
        ([CALL, said("toolcall_end", toolCall=[])], "the member toolCall is no JSON object"),
        ([CALL, said("toolcall_end", toolCall={"id": 1})], "the member id is no text"),
        ([CALL, said("toolcall_end"), said("toolcall_delta", delta="x")], "for a call that has ended"),
        ([{"type": "done"}], "the member reason is missing"),
        ([{"type": "done", "reason": "stop", "usage": []}], "usage is no JSON object"),
        ([{"type": "done", "reason": "stop", "usage": {"input": "many"}}], "no number of tokens"),
    ],
)
def test_a_frame_that_is_not_what_it_says_is_an_error(frames: list[Raw], text: str) -> None:
    with pytest.raises(FrameError) as raised:
        deltas(*frames)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    "frame", [{}, {"type": 5}, said("ping"), said("image_start"), said("text_middle"), said("text")]
)
def test_frames_of_other_kinds_are_ignored(frame: Raw) -> None:
    assert deltas(frame) == []


def test_members_that_a_frame_does_not_have_are_not_looked_at() -> None:
    assert deltas({**said("text_start"), "delta": 5, "toolCall": 7}) == [BlockStarted(0, DeltaKind.TEXT)]


# The end.


@pytest.mark.parametrize(
    ("reason", "stop", "raw"),
    [
        ("stop", StopReason.STOP, None),
        ("length", StopReason.LENGTH, None),
        ("toolUse", StopReason.TOOL_USE, None),
        ("pause", StopReason.STOP, "pause"),
    ],
)
def test_an_answer_ends_for_a_reason(reason: str, stop: StopReason, raw: str | None) -> None:
    message = whole(START, {**DONE, "reason": reason, "providerThinkingLevel": "high"})
    assert (message.stop, message.raw_stop, message.extra["providerThinkingLevel"]) == (stop, raw, "high")


def test_what_usage_says_besides_is_kept() -> None:
    usage = {"input": 3, "output": 2, "totalTokens": 5, "cost": {"total": 0.75}}
    message = whole({"type": "done", "reason": "stop", "usage": usage})
    assert (message.usage, message.extra) == (Usage(3, 0, 0, 2), {"usage": {"totalTokens": 5, "cost": {"total": 0.75}}})
    assert whole({"type": "done", "reason": "stop"}).usage == Usage()
    assert whole({"type": "done", "reason": "stop", "usage": None}).extra == {"usage": None}


@pytest.mark.parametrize(
    ("reason", "kind", "stop"),
    [
        ("error", ErrorKind.UNAVAILABLE, StopReason.ERROR),
        ("aborted", ErrorKind.ABORTED, StopReason.ABORTED),
        ("odd", ErrorKind.UNAVAILABLE, StopReason.ERROR),
    ],
)
def test_the_proxy_may_report_a_failure(reason: str, kind: ErrorKind, stop: StopReason) -> None:
    frames = [START, said("text_start"), said("text_delta", delta="so far")]
    *_, last = deltas(*frames, {"type": "error", "reason": reason, "errorMessage": "overloaded"})
    assert isinstance(last, StreamFailed)
    assert last.message is not None
    assert last.error == last.message.error == ModelError(kind, "overloaded")
    assert (last.message.stop, last.message.parts) == (stop, (TextPart("so far"),))


def test_a_failure_without_a_text_has_one_for_programs_only() -> None:
    *_, last = deltas(START, {"type": "error", "reason": "error"})
    assert isinstance(last, StreamFailed)
    assert last.message is not None
    assert last.message.error is None
    assert "without saying" in last.error.message


def test_nothing_follows_the_end() -> None:
    answer = Answer(MODEL, NOW)
    assert list(answer.take(DONE))
    assert answer.over
    assert list(answer.take(said("text_start"))) == []
    assert list(answer.take({**DONE, "reason": "length"})) == []
    assert list(answer.fail(ModelError(ErrorKind.NETWORK, "late"))) == []


def test_an_answer_that_breaks_off_keeps_what_had_come() -> None:
    for kind, stop in ((ErrorKind.NETWORK, StopReason.ERROR), (ErrorKind.ABORTED, StopReason.ABORTED)):
        answer = Answer(MODEL, NOW)
        for frame in (START, CALL, said("toolcall_delta", delta='{"a":1,')):
            list(answer.take(frame))
        error = ModelError(kind, "broke off")
        (last,) = answer.fail(error)
        part = CallPart("c1", "find", '{"a":1}', arguments_error="they are not valid JSON")
        expected = AssistantMessage((part,), "chat-v1", "northwind", "px-1", stop, error=error, timestamp=NOW)
        assert last == StreamFailed(error, message=expected)
        assert replace(expected, parts=()) != expected
