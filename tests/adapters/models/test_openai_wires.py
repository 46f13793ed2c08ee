"""What OpenAI's two protocols do that the other tests of all protocols have no place for."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turnfold.adapters.models.chat_reader import ChatReader
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.openai_pieces import GrowingText, arguments_text, written
from turnfold.adapters.models.openai_usage import chat_usage
from turnfold.adapters.models.responses_reader import ResponsesReader
from turnfold.adapters.models.vendors import CallIds, Gateway, Vendor, through, vendor_of
from turnfold.effects.model import BlockDelta, BlockEnded, ModelRequest, StreamFailed, StreamFinished
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    Message,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    UserMessage,
)

from tests.adapters.models.answers import PROTOCOLS, answer_of, config_of, read

INCLUDE = ["reasoning.encrypted_content"]


def row(brand: str, protocol: str = "") -> Vendor:
    vendor = vendor_of(brand, protocol)
    assert vendor is not None
    return vendor


def body_of(vendor: Vendor, *context: Message, model: str = "m", **members: Any) -> dict[str, Any]:
    config = ModelConfig(vendor=vendor, model=model, base_url="https://x.example", api_key="sk-secret-key")
    request = ModelRequest("call-1", Seq(context or [UserMessage("Hi")]), **members)
    body = PROTOCOLS[vendor.protocol].build(request, config, None)
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    return body


# --- reasoning that comes back encrypted


@pytest.mark.parametrize(
    "model", ["gpt-5", "gpt-5.1-codex-mini", "gpt-6-luna", "gpt-10", "o3", "o4-mini", "ft:o4-mini:x"]
)
def test_a_model_that_thinks_unasked_is_asked_for_its_thoughts_whatever_the_level(model: str) -> None:
    vendor = row("openai", "openai-responses")
    for options in ({}, {"reasoning": "off"}, {"reasoning": "high"}):
        assert body_of(vendor, model=model, options=options)["include"] == INCLUDE
    assert "reasoning" not in body_of(vendor, model=model)
    assert body_of(vendor, model=model, options={"include": []})["include"] == []


@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "ft:gpt-4o-mini:x", "chatgpt-4o-latest"]
)
def test_a_model_that_does_not_think_is_not_asked_since_it_would_refuse(model: str) -> None:
    assert "include" not in body_of(row("openai", "openai-responses"), model=model)


@pytest.mark.parametrize("brand", ["openai_compatible", "volcengine"])
def test_other_servers_are_not_asked(brand: str) -> None:
    assert "include" not in body_of(row(brand, "openai-responses"), model="gpt-5")


def test_a_body_shares_nothing_with_the_table() -> None:
    vendor = row("openai", "openai-responses")
    body_of(vendor, model="gpt-5")["include"].append("x")
    assert body_of(vendor, model="gpt-5")["include"] == INCLUDE


# --- signatures with what JSON cannot hold

LONE = "\\ud800"
SIGNED = {
    "openai-chat": (
        ThinkingPart("", f'[{{"type":"x","data":"{LONE}"}}]', redacted=True),
        ThinkingPart("", '[{"type":"x","data":1e999}]', redacted=True),
        TextPart("a"),
    ),
    "openai-responses": (
        ThinkingPart("", f'{{"id":"rs_1","type":"reasoning","encrypted_content":"e{LONE}"}}'),
        ThinkingPart("", f'{{"id":"ws_1","type":"web_search_call","query":"{LONE}"}}', redacted=True),
        TextPart("a", f'{{"id":"m{LONE}","phase":"{LONE}"}}'),
        CallPart("c", "f", "{}", f'{{"id":"f{LONE}"}}'),
    ),
}


@pytest.mark.parametrize("protocol", SIGNED)
def test_escaped_halves_of_surrogates_in_a_signature_are_replaced(protocol: str) -> None:
    """Decision 15."""
    vendor = config_of(protocol).vendor
    message = AssistantMessage(SIGNED[protocol], protocol, vendor.name, "m")
    assert "\ufffd" in json.dumps(body_of(vendor, UserMessage("Hi"), message), ensure_ascii=False)


@pytest.mark.parametrize(
    "signature",
    [
        '{"id":1e999,"type":"reasoning","encrypted_content":"e"}',
        "[1]",
        "{",
        "[" * 9_999,
        '{"type":"reasoning","encrypted_content":"e"}',
        '{"id":"x","type":"message","encrypted_content":"e"}',
    ],
)
def test_what_is_no_signature_signs_nothing(signature: str) -> None:
    message = AssistantMessage(
        (ThinkingPart("", signature), TextPart("a", signature)), "openai-responses", "openai", "m"
    )
    body = body_of(row("openai", "openai-responses"), UserMessage("Hi"), message)
    assert body["input"][1:] == [{"role": "assistant", "content": "a"}]


# --- conversations with calls, and gateways


def called(vendor: Vendor) -> tuple[Message, ...]:
    return UserMessage("Hi"), AssistantMessage((CallPart("a", "f", "{}"),), vendor.protocol, vendor.name, "m")


def test_calls_without_tools_have_an_empty_list_of_tools_only_where_that_is_due() -> None:
    """LiteLLM insists for models of Anthropic; OpenAI, DeepSeek and others reject an empty list."""
    vendor = through(row("anthropic"), Gateway())
    assert body_of(vendor, *called(vendor))["tools"] == []
    assert "tools" not in body_of(vendor)
    offered = body_of(vendor, *called(vendor), tools=(ToolDeclaration("f"),))["tools"]
    assert [tool["function"]["name"] for tool in offered] == ["f"]
    for other in (row("openai"), row("deepseek"), row("openai_compatible"), through(row("openai"), Gateway())):
        assert "tools" not in body_of(other, *called(other))


@pytest.mark.parametrize("keeps", [False, True])
def test_a_gateway_changes_nothing_about_what_the_models_demand_of_a_conversation(keeps: bool) -> None:
    gateway = Gateway(keeps_thinking=keeps)
    mistral = through(row("mistral"), gateway)
    assert (mistral.call_ids, mistral.bridges) == (CallIds.NINE, True)
    assert through(row("deepseek"), gateway).reasoning_due == ("reasoning_content" if keeps else "")
    assert bool(through(row("google"), gateway).unsigned) is keeps


@pytest.mark.parametrize("keeps", [False, True])
def test_behind_a_gateway_thinking_is_asked_for_in_the_gateways_protocol(keeps: bool) -> None:
    vendor = through(row("openai"), Gateway("openai-responses", keeps))
    assert vendor.sealed
    body = body_of(vendor, model="gpt-5", options={"reasoning": "low"})
    assert "reasoning_effort" not in body
    assert body["reasoning"]["effort"] == "low"
    assert ("include" in body) is keeps
    assert ("include" in body_of(vendor, model="gpt-5")) is keeps


def test_a_row_that_a_host_changed_is_not_looked_up_again() -> None:
    mine = Vendor("openai", "openai-responses", bridges=True)
    assert through(mine, Gateway("openai-responses", True)).bridges
    assert not through(mine, Gateway("openai-responses", True)).sealed


# --- details that a gateway wants back


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        ([{"type": "a", "data": "1"}, {"type": "a", "data": "2", "id": "x"}], 2),
        ([{"type": "a", "text": "1", "id": "x"}, {"type": "a", "text": "2"}], 2),
        ([{"type": "a", "text": "1"}, {"type": "b", "text": "2"}, {"type": "a", "text": "3"}], 3),
        ([{"type": "a", "text": "1", "index": 0}, {"type": "a", "text": "2"}], 2),
        ([{"type": "a", "data": "1"}, {"type": "a", "data": "2"}], 2),
        ([{"type": "a", "data": "1", "index": 0}, {"type": "a", "data": "2", "index": 1}], 2),
        ([{"type": "a", "data": "1", "index": 0}, {"type": "b", "data": "2", "index": 0}], 2),
        ([{"type": "a", "data": "1", "id": "x", "index": 0}, {"type": "a", "data": "2", "index": 0}], 1),
        ([{"type": "a", "text": "1"}, {"type": "a", "text": "2"}], 1),
    ],
)
def test_pieces_of_details_are_joined_only_where_they_are_known_to_be_of_one(
    pieces: list[dict[str, Any]], kept: int
) -> None:
    chunk = {"id": "r", "choices": [{"index": 0, "delta": {"reasoning_details": pieces}, "finish_reason": "stop"}]}
    *_, hidden = answer_of(read("openai-chat", [f"data: {json.dumps(chunk)}\n\n".encode()]))["parts"]
    details = json.loads(hidden["signature"])
    assert len(details) == kept
    said = "".join(detail.get("text", "") + detail.get("data", "") for detail in details)
    assert said == "123"[: len(pieces)]


# --- usage

CHAT_USAGES = [
    ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, (20, 0, 0, 603, 405)),
    ({"prompt_tokens": 20, "completion_tokens": 0, "total_tokens": 81}, (20, 0, 0, 61, 61)),
    ({"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}, (20, 0, 0, 8, 0)),
    ({"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 20}, (20, 0, 0, 8, 0)),
    ({"prompt_tokens": 20, "total_tokens": 81}, (20, 0, 0, 0, 0)),
    ({"completion_tokens": 20, "total_tokens": 81}, (0, 0, 0, 20, 0)),
    ({"total_tokens": 81}, (0, 0, 0, 0, 0)),
    (  # the rest is what was cached
        {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 38, "cached_tokens": 10},
        (20, 10, 0, 8, 0),
    ),
    (
        {
            "prompt_tokens": 20,
            "completion_tokens": 8,
            "total_tokens": 43,
            "prompt_tokens_details": {"cached_tokens": 10, "cache_creation_input_tokens": 5},
        },
        (20, 10, 5, 8, 0),
    ),
    (  # a gateway's Anthropic: the cache beside the prompt, in members of Anthropic's
        {
            "prompt_tokens": 10,
            "completion_tokens": 20,
            "total_tokens": 6030,
            "prompt_tokens_details": {"cached_tokens": 5000},
            "cache_read_input_tokens": 5000,
            "cache_creation_input_tokens": 1000,
        },
        (10, 5000, 1000, 20, 0),
    ),
    (
        {
            "prompt_tokens": 10,
            "completion_tokens": 20,
            "total_tokens": 6030,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 6000,
        },
        (10, 0, 6000, 20, 0),
    ),
    (
        {
            "prompt_tokens": 10,
            "completion_tokens": 20,
            "total_tokens": 5030,
            "prompt_tokens_details": {"cached_tokens": 5000},
            "cache_creation_input_tokens": 0,
        },
        (10, 5000, 0, 20, 0),
    ),
    (  # another gateway has all of it within
        {
            "prompt_tokens": 6010,
            "completion_tokens": 20,
            "total_tokens": 6030,
            "cache_read_input_tokens": 5000,
            "cache_creation_input_tokens": 1000,
        },
        (10, 5000, 1000, 20, 0),
    ),
    (  # the prompt cannot hold the cache, the total does not: nothing is known but the prompt
        {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 90, "cached_tokens": 5000},
        (0, 10, 0, 20, 0),
    ),
    (
        {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 50, "cached_tokens": 10},
        (10, 10, 0, 30, 22),
    ),
    (  # told apart, beside the output
        {
            "prompt_tokens": 20,
            "completion_tokens": 8,
            "total_tokens": 33,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        (20, 0, 0, 13, 5),
    ),
    (  # as much of the cache as of reasoning: the one beside the prompt, the other within the output
        {
            "prompt_tokens": 20,
            "completion_tokens": 8,
            "total_tokens": 33,
            "cached_tokens": 5,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        (20, 5, 0, 8, 5),
    ),
    (  # told within the output: whatever else is in the total is nothing that we know
        {
            "prompt_tokens": 20,
            "completion_tokens": 8,
            "total_tokens": 99,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        (20, 0, 0, 8, 5),
    ),
]


@pytest.mark.parametrize(("told", "counted"), CHAT_USAGES)
def test_tokens_that_only_the_total_has_are_reasoning_unless_they_may_be_something_else(
    told: dict[str, Any], counted: tuple[int, ...]
) -> None:
    """Decision 26."""
    usage = chat_usage(told)
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning) == counted


COUNTS = st.integers(0, 6)


@settings(max_examples=500)
@given(st.data())
def test_however_a_server_places_what_it_counts_each_token_is_counted_once(data: st.DataObject) -> None:
    """Decision 26: cache within the prompt or beside it, reasoning within the output, beside it, or not told."""
    fresh, read, written, said, thought = (data.draw(COUNTS) for _ in range(5))
    reads_within, writes_within, thought_within, is_told = (data.draw(st.booleans()) for _ in range(4))
    told: dict[str, Any] = {
        "prompt_tokens": fresh + read * reads_within + written * writes_within,
        "completion_tokens": said + thought * thought_within,
        "total_tokens": fresh + read + written + said + thought,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "completion_tokens_details": {"reasoning_tokens": thought * is_told},
    }
    usage = chat_usage(told)
    assert usage.total == told["total_tokens"]
    assert (usage.cache_read, usage.cache_write) == (read, written)
    if is_told:
        assert usage.reasoning == thought


@given(st.lists(COUNTS, min_size=6, max_size=6))
def test_no_part_is_larger_than_what_was_told(counts: list[int]) -> None:
    """Decision 26."""
    prompt, output, total, read, written, thought = counts
    told: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": total,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    usage = chat_usage(told)
    assert min(usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning) >= 0
    assert (usage.input <= prompt, usage.cache_read <= read, usage.cache_write <= written) == (True, True, True)
    assert usage.reasoning <= usage.output
    assert prompt + output <= usage.total <= max(total, prompt + output)


# --- breakdowns


def test_what_a_chunk_counts_comes_before_the_breakdown_that_it_tells() -> None:
    chunk = {"id": "r", "choices": [{"index": 0, "finish_reason": "abort"}], "usage": {"prompt_tokens": 7}}
    *_, last = deltas = list(read("openai-chat", [f"data: {json.dumps(chunk)}\n\n".encode()]))
    assert isinstance(last, StreamFailed)
    assert answer_of(deltas)["usage"]["input"] == 7


# --- cost


class Counted(str):
    """Text that counts how many characters are copied whenever it is put behind other text."""

    __slots__ = ()
    copied = 0

    def __radd__(self, other: str) -> str:
        type(self).copied += len(other)
        return type(self)(str(other) + str(self))


def responses_event(kind: str, text: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": 0, "summary_index": 0, "delta": text}


def chat_event(text: str) -> dict[str, Any]:
    return {
        "id": "r",
        "choices": [
            {"index": 0, "delta": {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text}]}}
        ],
    }


@pytest.mark.parametrize("kind", ["output_text", "reasoning_summary_text", "function_call_arguments", "details"])
def test_taking_in_a_piece_costs_what_the_piece_is_long(kind: str) -> None:
    config = config_of("openai-chat" if kind == "details" else "openai-responses")
    reader = ChatReader(config) if kind == "details" else ResponsesReader(config)
    Counted.copied = 0
    deltas: list[Any] = []
    for _ in range(2_000):
        piece = Counted("abcd")
        reader.on_event("", chat_event(piece) if kind == "details" else responses_event(kind, piece))
        deltas += reader.answer.take()
    assert "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta)) == "abcd" * 2_000
    assert Counted.copied <= 2_000 * 4


def test_what_is_shorter_than_a_text_is_told_apart_without_putting_the_text_together() -> None:
    class Apart(GrowingText):
        def text(self) -> str:
            raise AssertionError

    text = Apart()
    for piece in ("ab", "cd"):
        text.add(piece)
    assert text.rest_of("abc") is None


def test_an_item_that_is_told_again_shorter_or_otherwise_is_not_said_twice() -> None:
    events: list[dict[str, Any]] = [
        responses_event("output_text", "Hello"),
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "message", "content": [{"text": "Hel"}]},
        },
        {"type": "response.completed", "response": {"status": "completed"}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    assert answer_of(read("openai-responses", [body.encode()]))["parts"] == [{"type": "text", "text": "Hello"}]


# --- values that are no text


def test_arguments_are_written_down_as_they_came() -> None:
    assert arguments_text('{"a": 1}') == '{"a": 1}'
    assert arguments_text({"b": "é", "a": [1]}) == '{"b":"é","a":[1]}'
    assert [arguments_text(value) for value in (None, {}, [], 0, False)] == ["", "{}", "[]", "0", "false"]


def test_what_is_nested_too_deeply_to_be_written_is_no_object() -> None:
    value: Any = {}
    for _ in range(100_000):
        value = {"a": value}
    assert written(value) == arguments_text(value) == "null"


def test_surrogates_in_arguments_that_came_as_an_object_are_replaced() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"a": "\ud800"}}}
    chunks = [{"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "stop"}]}]
    deltas = list(read("openai-chat", ["".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()]))
    assert isinstance(deltas[-1], StreamFinished)
    assert answer_of(deltas)["parts"][0]["arguments"] == '{"a":"\ufffd"}'


def test_a_providers_own_item_does_not_end_the_text_that_is_being_said() -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    events: list[dict[str, Any]] = [
        responses_event("output_text", "Hel"),
        {"type": "response.output_item.done", "output_index": 1, "item": item},
        responses_event("output_text", "lo"),
        {"type": "response.completed", "response": {"status": "completed", "output": [{}, item]}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    deltas = list(read("openai-responses", [body.encode()]))
    said, hidden = answer_of(deltas)["parts"]
    assert said["text"] == "Hello"
    assert json.loads(hidden["signature"]) == item
    assert [delta.redacted for delta in deltas if isinstance(delta, BlockEnded)] == [True, False]


# --- the last event, which tells everything again


def item_of(type: str, said: str, **members: str) -> dict[str, Any]:
    if type == "function_call":
        return {"type": type, "name": "f", "arguments": said, **members}
    return {"type": type, "content": [{"text": said}], **members}


def told_again(streamed: list[dict[str, Any]], output: list[dict[str, Any]], done: bool = False) -> list[str]:
    """What an answer says in the end, whose items were first streamed and then told again."""
    kind = "response.output_item.done" if done else "response.output_item.added"
    events = [{"type": kind, "output_index": index, "item": item} for index, item in enumerate(streamed)]
    events.append({"type": "response.completed", "response": {"status": "completed", "output": output}})
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    parts = answer_of(read("openai-responses", [body.encode()]))["parts"]
    return [part.get("arguments") or part.get("text") or part["signature"] for part in parts]


TEXT, CALL, NEW = "message", "function_call", item_of("reasoning", "Hm")


@pytest.mark.parametrize(
    ("streamed", "output", "said"),
    [
        ([item_of(TEXT, "ab", id="m")], [NEW, item_of(TEXT, "a", id="m")], ["ab", "Hm"]),
        (
            [item_of(CALL, "{}", id="f1", call_id="c")],
            [NEW, item_of(CALL, '{"a":1}', id="f2", call_id="c")],
            ['{"a":1}', "Hm"],
        ),
        ([item_of(TEXT, "ab")], [item_of(TEXT, "c"), item_of(TEXT, "abc")], ["abc", "c"]),
        ([item_of(TEXT, "ab")], [item_of(TEXT, "a")], ["ab"]),
        ([item_of(CALL, "{}", call_id="c1")], [item_of(CALL, "{}", call_id="c2")], ["{}", "{}"]),
        (
            [item_of(CALL, '{"a":1}', call_id="c"), item_of(CALL, '{"a":2}', call_id="c")],
            [item_of(CALL, '{"a":1}', call_id="c"), item_of(CALL, '{"a":2}', call_id="c")],
            ['{"a":1}', '{"a":2}'],
        ),
    ],
    ids=["its id", "its call's id", "what it says", "its index", "another call", "one id for two"],
)
def test_an_item_that_is_told_again_is_found_by(
    streamed: list[dict[str, Any]], output: list[dict[str, Any]], said: list[str]
) -> None:
    assert told_again(streamed, output) == said


def test_a_providers_own_item_without_an_id_is_kept_once() -> None:
    search = {"type": "web_search_call", "status": "completed"}
    assert told_again([search], [search], done=True) == [written(search)]
    assert told_again([item_of(TEXT, "a")], [search, item_of(TEXT, "ab")]) == ["ab", written(search)]
