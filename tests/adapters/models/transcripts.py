"""Transcripts of any kind, and what each protocol demands of a request: its own rules, told to a request's body."""

import functools
import json
import re
from itertools import pairwise
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
IDS_OF_OTHERS = {
    "openai-chat": r"[a-zA-Z0-9_-]{1,40}",
    "openai-responses": r"[a-zA-Z0-9_-]{0,63}[a-zA-Z0-9-]",
    "anthropic-messages": r"[a-zA-Z0-9_-]{1,64}",
    "gemini-generate": r"[a-zA-Z0-9_-]{1,64}",
}
"""What an id must look like where the model has not made it up itself: it takes its own as they were."""

THEIRS = "theirs"
"""The tool that only other models call, so that their calls can be told from the model's own."""

FAILED = "failed"
"""What is said, and called, in outputs that failed or were broken off: nothing of it may be sent."""

ITEM = json.dumps({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"})

TEXTS = st.sampled_from(["", " ", "\n", "hello", "é🙂", "\ud800", "x\udc00y"]) | st.text(max_size=5)
IDS = st.sampled_from(
    ["", "a", "b", "call_1", "call_2", "call_1|fc_1", "c/", "c|1", "x" * 90, "y" * 80, "abcDEF123", "\ud800"]
)
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
        '{"executableCode":{"code":"1"}}',
        '{"citations":[{"type":"x"}]}',
        r'{"id":"rs_\ud800","type":"reasoning","summary":[{"text":"\ud800"}]}',
        r'{"id":"msg_\ud800","phase":"\ud800"}',
        r'[{"type":"x","data":"\ud800"}]',
        r'{"type":"y","input":{"\ud800":1}}',
        r'{"executableCode":{"code":"\ud800"}}',
        r'{"citations":[{"cited_text":"\ud800"}]}',
    ]
)
IMAGES = st.sampled_from([ImagePart("iVBORw0KGgo=", "image/png"), ImagePart(url="https://example.com/a.png")])
CONTENTS = st.one_of(TEXTS, st.lists(TEXTS.map(TextPart) | IMAGES | IMAGES, min_size=1, max_size=3).map(tuple))
CALLS = st.builds(CallPart, IDS, st.sampled_from(["f", "", "what is this?", "\ud800"]), ARGUMENTS, SIGNATURES)
PARTS = (
    st.builds(TextPart, TEXTS, SIGNATURES) | st.builds(ThinkingPart, TEXTS, SIGNATURES, st.booleans()) | CALLS | CALLS
)
TOOLS = st.sampled_from([(), (ToolDeclaration("f", "", {"type": "object", "properties": {}}),)])


@functools.cache  # a strategy that is made anew is looked through anew, which takes longer than to draw from it
def transcripts(protocol: str, provider: str = "", model: str = "") -> st.SearchStrategy[list[Message]]:
    """Any messages, among them outputs of the model itself (by default the protocol's), of another, and failed ones.

    Many outputs have their results directly after them, as they should.
    """
    own = config_of(protocol).target
    author, another = (own.api, provider or own.provider, model or own.model), ("other", "somebody", "else")
    ours, theirs = _outputs(author, PARTS), _outputs(another, PARTS.map(_called_by_another))
    failures = st.builds(
        lambda id, author, stop: AssistantMessage((TextPart(FAILED), CallPart(id, FAILED, "{}")), *author, stop),
        IDS,
        st.sampled_from([author, another]),
        st.sampled_from([StopReason.ERROR, StopReason.ABORTED]),
    )
    single = (
        ours
        | theirs
        | failures
        | st.builds(UserMessage, CONTENTS)
        | st.builds(ToolResultMessage, IDS, st.just("f"), CONTENTS, st.booleans())
        | st.builds(SystemMessage, TEXTS, st.none() | st.just({"date": "Monday"}))
        | st.just(CustomMessage("note", "x"))
    ).map(lambda message: [message])
    steps = st.one_of(single, ours.flatmap(_answered), theirs.flatmap(_answered))
    return st.lists(steps, min_size=4, max_size=8).map(lambda steps: [message for step in steps for message in step])


def _outputs(author: tuple[str, str, str], parts: st.SearchStrategy[Any]) -> st.SearchStrategy[AssistantMessage]:
    stops = st.sampled_from([StopReason.STOP, StopReason.TOOL_USE, StopReason.LENGTH])
    return st.builds(
        lambda parts, stop: AssistantMessage(tuple(parts), *author, stop),
        st.lists(parts, min_size=1, max_size=4),
        stops,
    )


def _answered(output: AssistantMessage) -> st.SearchStrategy[list[Message]]:
    """An output and a result for each of its calls."""
    calls = [part for part in output.parts if isinstance(part, CallPart)]
    results = [st.builds(ToolResultMessage, st.just(call.id), st.just("f"), CONTENTS, st.booleans()) for call in calls]
    return st.tuples(st.just(output), *results).map(list)


def _called_by_another(part: Any) -> Any:
    return CallPart(part.id, THEIRS, part.arguments, part.signature) if isinstance(part, CallPart) else part


def check(protocol: str, body: dict[str, Any], ids: str = "", latest: bool = True) -> None:
    """Fail where a body breaks a rule of its protocol.

    ``ids``: the vendor's own rule for ids. ``latest``: whether the model is of a generation that wants signed calls.
    """
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    text.encode()
    assert FAILED not in text, "what failed is not sent"
    calls: list[tuple[str, str]] = {
        "openai-chat": _chat,
        "openai-responses": _responses,
        "anthropic-messages": _anthropic,
        "gemini-generate": _gemini if latest else _older_gemini,
    }[protocol](body)
    rule = ids or IDS_OF_OTHERS[protocol]
    wrong = [id for name, id in calls if name == THEIRS and not re.fullmatch(rule, id)]
    assert not wrong, "ids of other models' calls are as the protocol wants them"


def _unique(calls: list[tuple[str, str]]) -> list[tuple[str, str]]:
    ids = [id for _, id in calls]
    assert len(set(ids)) == len(ids), "ids are unique"
    assert all(ids), "ids are not empty"
    return calls


def _object(arguments: str) -> None:
    value = json.loads(arguments or "{}")
    assert isinstance(value, dict), "arguments are an object"
    json.dumps(value, ensure_ascii=False).encode()


def _chat(body: dict[str, Any]) -> list[tuple[str, str]]:
    due: list[str] = []
    seen: list[tuple[str, str]] = []
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
        seen += [(call["function"]["name"], call["id"]) for call in calls]
    assert not due, "every call is answered"
    return _unique(seen)


def _responses(body: dict[str, Any]) -> list[tuple[str, str]]:
    due: list[str] = []
    seen: list[tuple[str, str]] = []
    before = ""
    for item in body["input"]:
        kind = item.get("type", item.get("role"))
        if kind == "function_call_output":
            assert item["call_id"] in due, "a result answers a call of the output before it"
            due.remove(item["call_id"])
        elif kind == "function_call":
            _object(item["arguments"])
            assert NAME.fullmatch(item["name"])
            due.append(item["call_id"])
            seen.append((item["name"], item["call_id"]))
        elif kind in ("user", "system"):
            assert not due, "results come directly after their calls"
        if before == "reasoning":
            assert kind not in ("user", "system", "function_call_output"), "reasoning leads to something"
        before = kind
    assert before != "reasoning"
    assert not due, "every call is answered"
    return _unique(seen)


def _anthropic(body: dict[str, Any]) -> list[tuple[str, str]]:
    due: list[str] = []
    seen: list[tuple[str, str]] = []
    assert not body["messages"] or body["messages"][0]["role"] == "user", "the user begins"
    assert all(a["role"] != b["role"] for a, b in pairwise(body["messages"])), "users and outputs take turns"
    for message in body["messages"]:
        assert message["content"], "a message says something"
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert sorted(results) == sorted(due), "the next message has all results and no others"
        types = [block["type"] for block in message["content"]]
        assert types[: len(results)] == ["tool_result"] * len(results), "results come first"
        assert "thinking" not in types[-1], "no message ends with a thought"
        for block in message["content"]:
            assert block["type"] != "text" or block["text"].strip(), "a text says something"
            assert block["type"] != "tool_use" or NAME.fullmatch(block["name"])
            assert block["type"] != "tool_use" or isinstance(block["input"], dict)
            assert not block.get("is_error") or block["content"], "an error says something"
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        due = [call["id"] for call in calls]
        seen += [(call["name"], call["id"]) for call in calls]
    assert not due, "every call is answered"
    return _unique(seen)


def _gemini(body: dict[str, Any], latest: bool = True) -> list[tuple[str, str]]:
    due: list[tuple[str, str | None]] = []
    seen: list[tuple[str, str]] = []
    contents = body["contents"]
    assert not contents or contents[0]["role"] == "user", "the user begins"
    turns = [(content["role"], "functionResponse" in content["parts"][0]) for content in contents]
    assert all(a != b for a, b in pairwise(turns)), "users and outputs take turns, and responses are apart"
    for content in contents:
        assert content["parts"], "a content says something"
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        assert not results or len(results) == len(content["parts"]), "nothing else is beside responses"
        given = [(result["name"], result.get("id")) for result in results]
        assert sorted(given, key=str) == sorted(due, key=str), "the next content has all responses and no others"
        assert not (calls and content["role"] != "model")
        assert not (results and content["role"] != "user")
        for call in calls:
            assert NAME.fullmatch(call["name"])
            assert isinstance(call["args"], dict)
            assert latest or "id" not in call, "older models know no ids"
        for result in results:
            assert all("inlineData" in part for part in result.get("parts", [])), "responses have no addresses in them"
            assert latest or "parts" not in result
        signed = [part.get("thoughtSignature") for part in content["parts"] if "functionCall" in part]
        assert not latest or not signed or any(signed), "a step with calls is signed"
        for part in content["parts"]:
            assert part.get("text", "x").strip() or part.get("thoughtSignature"), "a part says something"
        due = [(call["name"], call.get("id")) for call in calls]
        seen += [(call["name"], call["id"]) for call in calls if "id" in call]
    assert not due, "every call is answered"
    return _unique(seen)


def _older_gemini(body: dict[str, Any]) -> list[tuple[str, str]]:
    return _gemini(body, latest=False)
