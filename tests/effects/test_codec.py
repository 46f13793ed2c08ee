"""Everything that crosses the border can be written, and what a store or a recording holds reads back as it was."""

from typing import Any, get_args

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.codec import (
    DecodeError,
    decode_block,
    decode_call,
    decode_event,
    decode_outcome,
    decode_value,
    dump,
    encode,
    encode_effect,
    encode_event,
    encode_outcome,
    from_data,
    load,
    to_data,
)
from turnfold.effects.display import Operation
from turnfold.effects.feed import Claim, InputMessage
from turnfold.effects.journal import Changes, Step
from turnfold.effects.lifecycle import RunStarted
from turnfold.effects.model import BlockDelta, CallModel, ModelChoice, ModelRequest, ModelStreamed
from turnfold.effects.outcome import Outcome
from turnfold.effects.record import Block, Completion, MediaRef, PlanTask, ToolCall
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import Sealed, ToolDeclaration, Usage, UserMessage
from turnfold.effects.values import replace
from turnfold.effects.vocabulary import Effect, Event

from tests.strategies import BLOCKS, CALLS, FEW, OUTCOMES, WILD_TEXTS, values

EFFECTS_BY_VALUE = [cls for cls in get_args(Effect) if cls is not CallModel]
SINGLE_VALUES = [
    Block, Changes, Claim, Completion, InputMessage, MediaRef, PlanTask, Step, ToolCall, ToolDeclaration, ToolResult,
    ToolSpec, Usage,
]  # fmt: skip


@pytest.mark.parametrize("cls", get_args(Event))
def test_every_event_reads_back_as_it_was(cls: type[Any]) -> None:
    @FEW
    @given(values(cls))
    def check(event: Event) -> None:
        raw = encode_event(event)
        again = decode_event(raw)
        assert again == event
        assert type(again) is cls
        assert msgspec.json.decode(raw)["type"] == cls.__name__
        assert encode_event(again) == raw

    check()


@pytest.mark.parametrize("cls", EFFECTS_BY_VALUE)
def test_effects_that_are_written_alike_are_equal(cls: type[Any]) -> None:
    @FEW
    @given(values(cls), values(cls))
    def check(one: Effect, other: Effect) -> None:
        assert encode_effect(one) != encode_effect(other) or one == other
        assert encode_effect(replace(one)) == encode_effect(one)
        assert msgspec.json.decode(encode_effect(one))["type"] == cls.__name__

    check()


@given(st.lists(WILD_TEXTS, min_size=1))
def test_halves_of_surrogate_pairs_in_an_event_come_back_as_they_were(texts: list[str]) -> None:
    """decision 45"""
    streamed = ModelStreamed(1, 2, tuple(BlockDelta(0, text) for text in texts))
    returned = ToolReturned(1, 2, ToolResult(texts[0], details={texts[-1]: [texts[0], 1.5, None]}))
    for event in (streamed, returned):
        raw = encode_event(event)
        assert decode_event(raw) == event
        assert encode_event(decode_event(raw)) == raw


@given(st.recursive(WILD_TEXTS, lambda inner: st.lists(inner) | st.dictionaries(WILD_TEXTS, inner), max_leaves=4))
def test_any_data_can_be_dumped_and_loaded(data: Any) -> None:
    if not isinstance(data, dict) or data.keys() != {"escaped"}:
        assert load(dump(data)) == data


def test_only_what_may_be_escaped_is_read_as_escaped() -> None:
    assert decode_value(b'{"escaped":"\\\\ud800"}', dict[str, str]) == {"escaped": "\\ud800"}
    with pytest.raises(DecodeError, match="not escaped as it should be"):
        load(b'{"escaped":"\\\\ud8"}')


def test_an_effect_that_holds_half_a_pair_can_be_written() -> None:
    order = CallModel(1, ModelRequest("m", Seq(), instruction="\ud800"))
    assert load(encode_effect(order))["request"]["instruction"] == "\ud800"


@given(values(CallModel))
def test_a_model_request_is_written_as_its_length_and_digest(order: CallModel) -> None:
    written = msgspec.json.decode(encode_effect(order))
    request = written["request"]
    assert (written["type"], written["ticket"]) == ("CallModel", order.ticket)
    assert request["context"]["length"] == len(order.request.context)
    assert request["tools"] == [tool.name for tool in order.request.tools]
    opened = Seq([item.open() if isinstance(item, Sealed) else item for item in order.request.context])
    sealed = Seq([Sealed.of(item) for item in opened])
    for context in (opened, sealed):
        same = replace(order, request=replace(order.request, context=context))
        assert encode_effect(same) == encode_effect(order)


def test_a_trace_does_not_grow_with_the_context() -> None:
    context = Seq([UserMessage("hello")] * 1_000)
    short, long = (encode_effect(CallModel(1, ModelRequest("m", context.cut(length)))) for length in (10, 1_000))
    assert len(long) - len(short) == len("1000") - len("10")


def test_every_member_of_a_request_is_in_its_trace() -> None:
    base = ModelRequest("m", Seq([UserMessage("hello")]))
    others = [
        replace(base, model_call_id="n"),
        replace(base, context=Seq([UserMessage("hullo")])),
        replace(base, instruction="be brief"),
        replace(base, tools=(ToolDeclaration("add"),)),
        replace(base, notice="last one"),
        replace(base, max_output_tokens=1),
        replace(base, purpose="summary"),
        replace(base, options={"top_p": 1}),
        replace(base, model=ModelChoice("large")),
    ]
    changed = {
        field.name
        for field in attrs.fields(ModelRequest)
        if any(getattr(other, field.name) != getattr(base, field.name) for other in others)
    }
    assert changed == {field.name for field in attrs.fields(ModelRequest)}
    assert len({encode_effect(CallModel(1, request)) for request in (base, *others)}) == len(others) + 1


@given(CALLS)
def test_every_call_record_reads_back_as_it_was(call: ToolCall) -> None:
    assert decode_call(encode(call)) == call == decode_value(encode(call), ToolCall)


@given(BLOCKS)
def test_every_block_reads_back_as_it_was(block: Block) -> None:
    assert decode_block(encode(block)) == block == decode_value(encode(block), Block)


@given(OUTCOMES | st.none())
def test_every_outcome_reads_back_as_it_was(outcome: Outcome | None) -> None:
    assert decode_outcome(encode_outcome(outcome)) == outcome


@pytest.mark.parametrize("cls", SINGLE_VALUES)
def test_every_value_of_a_store_reads_back_as_it_was(cls: type[Any]) -> None:
    @FEW
    @given(values(cls))
    def check(value: Any) -> None:
        assert decode_value(encode(value), cls) == value

    check()


@given(values(Operation))
def test_a_member_of_a_union_is_told_apart_again(operation: Operation) -> None:
    raw = msgspec.json.encode(to_data(operation, Operation))
    assert decode_value(raw, Operation) == operation  # type: ignore[arg-type]
    assert from_data(to_data(operation, Operation), Operation) == operation  # type: ignore[arg-type]


@given(st.binary())
def test_bytes_are_text_where_they_can_be(seed: bytes) -> None:
    written = msgspec.json.decode(encode_event(RunStarted(1, seed)))["seed"]
    try:
        assert written == seed.decode()
    except UnicodeDecodeError:
        assert written.keys() == {"base64"}


def test_a_status_that_only_a_host_knows_is_kept() -> None:
    call = ToolCall("c1", "expired")
    assert decode_call(encode(call)) == call
    assert decode_call(encode(call)).settled


def test_defaults_are_not_written() -> None:
    assert encode(ToolCall("c1", "queued")) == b'{"id":"c1","status":"queued"}'


@pytest.mark.parametrize("decode", [decode_call, decode_block, decode_event, decode_outcome])
@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"[]", b'{"type":"Unheard"}', b'{"type":["x"]}']
)
def test_what_is_no_such_value_is_refused(decode: Any, raw: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(raw)


@pytest.mark.parametrize(
    ("decode", "raw", "path"),
    [
        (decode_call, b'{"id":"a","status":1}', "$.status"),
        (decode_call, b'{"id":"a","status":"queued","media":[{"key":"k","mime":1}]}', "$.media[0].mime"),
        (decode_block, b'{"id":"a","position":1,"model_call_id":"m","kind":"film"}', "$.kind"),
        (decode_event, b'{"type":"Woke","at":"now"}', "$.at"),
        (decode_event, b'{"type":"RunStarted","at":1,"seed":{"base64":"!"}}', "$.seed"),
        (decode_event, b'{"type":"RunStarted","at":1,"seed":7}', "$.seed"),
        (decode_event, b'{"type":"AttemptBegun","at":1,"ticket":1,"begun":{"attempt":1,"resume":{"blocks":[{}]}}}',
         "$.begun.resume.blocks[0].id"),
        (decode_outcome, b'{"type":"Failed","kind":"boredom","message":"m"}', "$.kind"),
        (decode_outcome, b'{"type":"Suspended","waits_for":"call"}', "$.waits_for"),
        (decode_event, b'{"type":"AttemptBegun","at":1,"ticket":1,"begun":{"attempt":1,"resume":{"outcome":{}}}}',
         "$.begun.resume.outcome"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_path(decode: Any, raw: bytes, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(raw)
    assert path in str(caught.value)
