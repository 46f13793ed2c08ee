"""What the comparers of the proxy and of transcripts call equal, different and wrong, on recordings made up here."""

import copy
import json
from typing import Any

import pytest

from tests.oracle import proxy, transcript
from tests.oracle.verdict import EQUAL, UNEXPLAINED

Raw = dict[str, Any]
NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": NO_COST}


def chunk(**frame: Any) -> str:
    return f"data: {json.dumps(frame)}\n\n"


def output(stop: str, *content: Raw, **members: Any) -> Raw:
    named = {"api": "a", "provider": "p", "model": "m", "usage": NO_USAGE, "timestamp": proxy.CLOCK}
    return {"role": "assistant", "content": list(content), "stopReason": stop, **named, **members}


def called(stop: str, value: Any) -> Raw:
    return output(stop, {"type": "toolCall", "id": "c", "name": "t", "arguments": value})


def recorded() -> Raw:
    """A call whose arguments are never whole, and an error in JavaScript's words."""
    started, grown, whole = called("pending", {}), called("pending", "not compared"), called("pending", {"a": 1})
    failed = {**called("error", {"a": 1}), "errorMessage": "<json>"}
    return {
        "name": "made up",
        "input": {
            "model": {"id": "m", "api": "a", "provider": "p"},
            "context": {"messages": []},
            "authToken": "tok-123",
            "errorKind": "json",
            "response": {
                "chunks": [
                    chunk(type="start"),
                    chunk(type="toolcall_start", contentIndex=0, id="c", toolName="t"),
                    chunk(type="toolcall_delta", contentIndex=0, delta='{"a":1'),
                    chunk(type="toolcall_end", contentIndex=0),
                    "data: {oops\n",
                ]
            },
        },
        "expected": {
            "events": [
                {"type": "start", "partial": output("pending")},
                {"type": "toolcall_start", "contentIndex": 0, "partial": started},
                {"type": "toolcall_delta", "contentIndex": 0, "delta": '{"a":1', "partial": grown},
                {"type": "toolcall_end", "contentIndex": 0, "toolCall": whole["content"][0], "partial": whole},
                {"type": "error", "reason": "error", "error": failed},
            ],
            "result": failed,
            "requests": [
                {
                    "method": "POST",
                    "path": "/api/stream",
                    "authorization": "Bearer tok-123",
                    "contentType": "application/json",
                    "body": '{"model":{"id":"m","api":"a","provider":"p"},"context":{"messages":[]},"options":{}}',
                }
            ],
        },
    }


def test_what_the_proxy_said_is_equal() -> None:
    assert proxy.compare(recorded()).why == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("events", 2, "delta"), "other"),
        (("events", 3, "toolCall", "arguments"), {}),
        (("events", 3, "partial", "content", 0, "arguments"), {"a": True}),
        (("events", 4, "reason"), "aborted"),
        (("result", "content", 0, "arguments"), {"a": 2}),
        (("result", "errorMessage"), ""),
        (("result", "usage", "totalTokens"), 1),
        (("requests", 0, "body"), "{}"),
        (("requests", 0, "authorization"), "Bearer other"),
    ],
)
def test_anything_else_is_wrong(path: tuple[Any, ...], value: Any) -> None:
    case = copy.deepcopy(recorded())
    place = case["expected"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert proxy.compare(case).kind == UNEXPLAINED


def transformed(messages: list[Raw], expected: list[Raw]) -> str:
    model = {"id": "m", "api": "a", "provider": "p", "input": ["text"]}
    case = {"function": "transformMessages", "messages": messages, "model": model}
    return transcript.compare({"input": case, "expected": {"value": expected}}).kind


def test_a_second_result_differs_by_its_rule_and_anything_else_is_wrong() -> None:
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": "x", "isError": False}
    call = called("toolUse", {})
    assert transformed([call, result], [call, result]) == EQUAL
    assert transformed([call, result, result], [call, result, result]) == "i"
    assert transformed([call, result], [call, result, result]) == UNEXPLAINED
    assert transformed([result, call, result], [result, call, result]) == UNEXPLAINED


def test_nothing_is_not_null() -> None:
    case: Raw = {"function": "getCurrentSystemMessage", "messages": []}
    assert transcript.compare({"input": case, "expected": {"absent": True}}).kind == EQUAL
    assert transcript.compare({"input": case, "expected": {"value": None}}).kind == UNEXPLAINED
