"""Deltas fold into a message: the same one however they arrive in batches, at a cost that does not grow."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.loop import EMPTY_PARTIAL, Partial, fold_deltas, message_of
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
    clean_text,
)

from tests.strategies import JSON, TEXTS, WILD_TEXTS, values

EXTRA = st.dictionaries(TEXTS, JSON, max_size=2)
INDICES = st.integers(0, 3)
GROWING: st.SearchStrategy[Delta] = st.one_of(
    values(Started),
    st.builds(BlockStarted, INDICES, st.sampled_from(DeltaKind), TEXTS, TEXTS, EXTRA),
    st.builds(BlockDelta, INDICES, WILD_TEXTS),
    st.builds(BlockEnded, INDICES, st.none() | TEXTS, st.booleans(), EXTRA),
    st.builds(UsageReported, values(Usage)),
)
REPLACING: st.SearchStrategy[Delta] = st.one_of(
    st.builds(BlockStarted, INDICES, st.sampled_from(DeltaKind), TEXTS, TEXTS, EXTRA, again=st.just(True)),
    st.builds(BlockEnded, INDICES, part=values(CallPart)),
)
PIECES = GROWING | REPLACING
FINISHED = StreamFinished(StopReason.STOP)


def folded(*batches: tuple[Delta, ...]) -> Partial:
    partial = EMPTY_PARTIAL
    for batch in batches:
        partial, _, _ = fold_deltas(partial, batch)
    return partial


def message(*deltas: Delta, terminal: StreamFinished = FINISHED) -> AssistantMessage:
    return message_of(folded(deltas), terminal, 7)


@given(st.lists(PIECES, max_size=20), st.lists(st.integers(0, 20), max_size=5))
def test_any_split_into_batches_gives_the_same_message(deltas: list[Delta], places: list[int]) -> None:
    cuts = [0, *sorted(min(place, len(deltas)) for place in places), len(deltas)]
    batches = [tuple(deltas[start:end]) for start, end in itertools.pairwise(cuts)]
    one, many = folded(tuple(deltas)), folded(*batches)
    assert message_of(many, FINISHED, 7) == message_of(one, FINISHED, 7)
    assert {index: "".join(block.text) for index, block in many.blocks.items()} == {
        index: "".join(block.text) for index, block in one.blocks.items()
    }
    assert list(many.blocks) == list(one.blocks)


@given(st.lists(GROWING, max_size=20), st.lists(st.integers(0, 20), max_size=5))
def test_the_growths_of_all_batches_are_the_text_of_the_blocks(deltas: list[Delta], places: list[int]) -> None:
    cuts = [0, *sorted(min(place, len(deltas)) for place in places), len(deltas)]
    grown: dict[int, str] = {}
    partial, seen = EMPTY_PARTIAL, set[int]()
    for start, end in itertools.pairwise(cuts):
        partial, growths, _ = fold_deltas(partial, tuple(deltas[start:end]))
        assert [growth.index for growth in growths] == [
            index for index in partial.blocks if index in {growth.index for growth in growths}
        ]
        for growth in growths:
            assert growth.announced or growth.index in seen
            assert growth.block == partial.blocks[growth.index]
            seen.add(growth.index)
            grown[growth.index] = grown.get(growth.index, "") + growth.text
    assert grown == {index: "".join(block.text) for index, block in partial.blocks.items()}


@given(st.lists(PIECES, max_size=20))
def test_a_message_is_always_storable(deltas: list[Delta]) -> None:
    """Decision 45, as far as text goes; ids and names are cleaned where the whole output is sealed."""
    for part in message(*deltas).parts:
        text = part.arguments if isinstance(part, CallPart) else part.text
        assert clean_text(text) == text


def test_blocks_keep_the_order_of_their_first_appearance() -> None:
    found = message(
        BlockStarted(5, DeltaKind.CALL, "b", "late"),
        BlockStarted(2, DeltaKind.TEXT),
        BlockDelta(5, '{"x":'),
        BlockDelta(2, "between"),
        BlockDelta(5, "1}"),
        BlockDelta(9, "never announced"),
    )
    assert found.parts == (CallPart("b", "late", '{"x":1}'), TextPart("between"), TextPart("never announced"))


def test_what_is_empty_and_unsigned_is_left_out() -> None:
    found = message(
        BlockStarted(0, DeltaKind.THINKING),
        BlockStarted(1, DeltaKind.THINKING),
        BlockEnded(1, signature="signed"),
        BlockStarted(2, DeltaKind.THINKING),
        BlockEnded(2, redacted=True),
        BlockStarted(3, DeltaKind.TEXT),
        BlockEnded(3),
        BlockStarted(4, DeltaKind.TEXT),
        BlockEnded(4, signature="signed"),
    )
    assert found.parts == (ThinkingPart("", "signed"), ThinkingPart("", None, True), TextPart("", "signed"))


def test_a_call_may_learn_its_id_and_its_name_later_but_not_forget_them() -> None:
    found = message(
        BlockStarted(0, DeltaKind.CALL, extra={"a": 1}),
        BlockStarted(0, DeltaKind.CALL, "id"),
        BlockStarted(0, DeltaKind.CALL, "", "name", {"b": 2}),
        BlockStarted(0, DeltaKind.CALL, "other", "another"),
        BlockEnded(0, "signed", extra={"a": 3}),
    )
    assert found.parts == (CallPart("id", "name", "", "signed", {"a": 3, "b": 2}),)


def test_a_block_stays_of_the_kind_it_had_first() -> None:
    assert message(BlockDelta(0, "text"), BlockStarted(0, DeltaKind.CALL, "a", "echo")).parts == (TextPart("text"),)


def test_a_block_that_begins_again_keeps_its_place_and_nothing_else() -> None:
    first = (BlockStarted(0, DeltaKind.TEXT, extra={"a": 1}), BlockDelta(0, "old"), BlockEnded(0, "signed"))
    begun = (BlockStarted(1, DeltaKind.TEXT), BlockDelta(1, "last"), BlockStarted(0, DeltaKind.CALL, "b", again=True))
    assert message(*first, *begun, BlockDelta(0, "{}")).parts == (CallPart("b", "", "{}"), TextPart("last"))
    _, growths, _ = fold_deltas(folded(first), begun)
    assert [(growth.index, growth.text, growth.announced) for growth in growths] == [(0, "", True), (1, "last", True)]


def test_the_end_of_a_call_may_bring_the_whole_call() -> None:
    whole = CallPart("b", "find", '{"a":1}', "signed", {"n": 1}, "what is wrong")
    begun = (BlockStarted(0, DeltaKind.CALL, "a", "list", {"m": 1}), BlockDelta(0, "{"))
    partial = folded((*begun, BlockEnded(0, part=whole)))
    assert partial.message.parts == folded(begun, (BlockEnded(0, part=whole),)).message.parts == (whole,)
    _, growths, _ = fold_deltas(EMPTY_PARTIAL, (*begun, BlockEnded(0, part=whole)))
    assert [(growth.text, growth.announced) for growth in growths] == [("", True)]


def test_only_the_first_start_and_the_last_report_of_usage_count() -> None:
    found = message(
        Started("api", "provider", "model", "response"),
        UsageReported(Usage(1)),
        Started("other", "other", "other"),
        UsageReported(Usage(2, output=3)),
        terminal=StreamFinished(StopReason.LENGTH, "max_tokens"),
    )
    assert (found.api, found.provider, found.model, found.response_id) == ("api", "provider", "model", "response")
    assert found.usage == Usage(2, output=3)
    assert (found.stop, found.raw_stop, found.timestamp) == (StopReason.LENGTH, "max_tokens", 7)


def test_nothing_counts_after_a_terminal_delta() -> None:
    failure = StreamFailed(ModelError(ErrorKind.NETWORK, "gone"))
    for terminal in (FINISHED, failure):
        partial, growths, found = fold_deltas(EMPTY_PARTIAL, (BlockDelta(0, "a"), terminal, BlockDelta(0, "b")))
        assert found is terminal
        assert [growth.text for growth in growths] == ["a"]
        assert "".join(partial.blocks[0].text) == "a"


def test_a_terminal_delta_may_bring_the_whole_message() -> None:
    whole = AssistantMessage((TextPart("whole"),), model="m")
    assert message(BlockDelta(0, "half"), terminal=StreamFinished(message=whole)) is whole


def test_the_end_of_a_block_that_was_never_there_is_nothing() -> None:
    assert message(BlockEnded(3, "signed")).parts == ()


def test_a_batch_costs_what_it_carries() -> None:
    """Rule 5 of the fold: appending to a long text copies none of it."""
    partial = folded(*((BlockDelta(0, "x" * 100),) for _ in range(1_000)))
    rope = partial.blocks[0].text
    again, (growth,), _ = fold_deltas(partial, (BlockDelta(0, "y"), BlockDelta(0, "z")))
    assert growth.text == "yz"
    assert len(again.blocks[0].text) == len(rope) + 1
    assert again.blocks[0].text._backing is rope._backing
    assert len("".join(rope)) == 100_000
