"""What a provider sends is read the same however it is cut: the fixtures, without a network."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turnfold.adapters.models.openai_usage import chat_usage
from turnfold.effects.model import BlockStarted, Started, StreamFailed
from turnfold.effects.transcript import ErrorKind, ModelError, Usage

from tests.adapters.models.answers import PROTOCOLS, STREAMS, answer_of, config_of, read, stream_of


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_the_answer_written_beside_it(name: str) -> None:
    """Decisions 22 to 26."""
    protocol, body, answer = stream_of(name)
    assert answer_of(read(protocol, [body])) == answer


@pytest.mark.parametrize("name", STREAMS)
def test_byte_by_byte_it_is_the_same_answer(name: str) -> None:
    protocol, body, answer = stream_of(name)
    assert answer_of(read(protocol, (body[i : i + 1] for i in range(len(body))))) == answer


@given(st.sampled_from(STREAMS), st.lists(st.integers(1, 700), max_size=40))
def test_any_split_gives_the_same_deltas(name: str, sizes: list[int]) -> None:
    protocol, body, answer = stream_of(name)
    pieces, at = [], 0
    for size in sizes:
        pieces.append(body[at : at + size])
        at += size
    assert answer_of(read(protocol, [*pieces, body[at:]])) == answer


@given(st.sampled_from(STREAMS), st.integers(0, 4000))
def test_a_stream_that_breaks_off_anywhere_is_a_failure_or_the_whole_answer(name: str, length: int) -> None:
    """Decision 22: what is not known to be complete is never taken for a success."""
    protocol, body, answer = stream_of(name)
    got = answer_of(read(protocol, [body[:length]]))
    if got["error"] is None:
        assert {**got, "usage": 0} == {**answer, "usage": 0}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_says_who_gave_it(protocol: str) -> None:
    """Decision 25: api, provider and model as they were asked for."""
    _, body, answer = stream_of(f"{protocol}/plain")
    config = config_of(protocol)
    first = next(read(protocol, [body]))
    assert first == Started(protocol, config.vendor.name, "the-model", answer["response_id"], answer["response_model"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_that_never_began_says_who_should_have_given_it(protocol: str) -> None:
    """Decision 25; whether an error around it ended it or the bytes did."""
    config = config_of(protocol)
    whose = Started(protocol, config.vendor.name, "the-model")
    error = ModelError(ErrorKind.RATE_LIMITED, "too many", 429)
    assert PROTOCOLS[protocol].reader(config).fail(error) == [whose, StreamFailed(error)]
    assert [type(delta) for delta in read(protocol, [])] == [Started, StreamFailed]
    assert next(read(protocol, [])) == whose


def test_an_answer_whose_beginning_is_missing_is_not_begun_at_its_end() -> None:
    block = b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    assert [type(delta) for delta in read("anthropic-messages", [block])] == [BlockStarted, StreamFailed]


def test_counts_that_contradict_each_other_never_make_a_negative_number() -> None:
    usage = chat_usage({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9, "cache_write_tokens": 9}})
    assert usage == Usage(input=0, cache_read=5)
    assert chat_usage({"completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 9}}).reasoning == 1


def test_an_index_that_a_provider_tool_had_may_be_used_again() -> None:
    def event(value: str) -> bytes:
        return f"data: {value}\n\n".encode()

    deltas = read(
        "anthropic-messages",
        [
            event('{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use"}}'),
            event('{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'),
            event('{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}'),
            event('{"type":"message_stop"}'),
        ],
    )
    assert answer_of(deltas)["parts"] == [{"type": "text", "text": "Hi"}]


# --- providers that send anything at all

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud83d"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def mixed(value: Any) -> st.SearchStrategy[Any]:
    """Values of the same shape in which any member may have become anything."""
    if isinstance(value, dict):
        whole: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional={k: mixed(v) for k, v in value.items()})
    elif isinstance(value, list):
        whole = st.lists(st.one_of([mixed(item) for item in value]), max_size=3) if value else st.just([])
    else:
        whole = st.just(value)
    return st.integers(0, 9).flatmap(lambda roll: JSON if roll == 0 else whole)


def events_of(protocol: str) -> list[Any]:
    found = []
    for name in STREAMS:
        if name.startswith(protocol):
            lines = stream_of(name)[1].decode().splitlines()
            found += [line[6:] for line in lines if line.startswith("data: {") and line.endswith("}")]
    decoded = {line: json.loads(line) for line in dict.fromkeys(found) if _is_json(line)}
    return list(decoded.values())


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


EVENTS = {protocol: events_of(protocol) for protocol in PROTOCOLS}


@settings(max_examples=150)
@given(st.data())
def test_a_reader_never_raises_and_always_ends_once(data: st.DataObject) -> None:
    """Decision 28: whatever a provider sends, and in whatever order."""
    protocol = data.draw(st.sampled_from(sorted(PROTOCOLS)))
    events = data.draw(st.lists(st.sampled_from(EVENTS[protocol]).flatmap(mixed), max_size=8))
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    answer_of(read(protocol, [body.encode()]))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_endless_nesting_is_not_json(protocol: str) -> None:
    _, failed = read(protocol, [b"data: " + b"[" * 100_000 + b"\n\n"])
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind == "protocol"
