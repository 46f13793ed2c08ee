"""What a viewer sees: applying deltas, all or nothing, and merging them without a difference to be seen."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.display import (
    AppendCandidate,
    AppendText,
    BadOperation,
    BlockView,
    ClearCandidate,
    DeltaGap,
    DeltaMismatch,
    DisplayDelta,
    Operation,
    RemoveBlocks,
    SetPlan,
    Snapshot,
    UpsertBlock,
    apply_delta,
    merge_deltas,
    merge_operations,
    text_bytes,
)
from turnfold.effects.record import BlockKind, PlanStatus, PlanTask
from turnfold.effects.values import replace

from tests.strategies import TEXTS, values


def view(id: str, text: str = "") -> BlockView:
    return BlockView(id, 1, "m1", BlockKind.CONTENT, text)


def delta(base: int, *operations: Operation, stream: str = "s") -> DisplayDelta:
    return DisplayDelta(stream, base, base + 1, operations)


def test_apply() -> None:
    """ST-01"""
    empty = Snapshot("s")
    first = apply_delta(
        empty,
        delta(
            0,
            UpsertBlock(view("a", "hel")),
            AppendText("a", "lo"),
            UpsertBlock(view("b")),
            AppendCandidate("so "),
            AppendCandidate("far"),
            SetPlan((PlanTask("1", "think"),)),
        ),
    )
    assert first == Snapshot("s", 1, (view("a", "hello"), view("b")), "so far", (PlanTask("1", "think"),))
    assert apply_delta(first, delta(0, AppendText("a", "again"))) is first
    with pytest.raises(DeltaMismatch, match="stream 't'"):
        apply_delta(first, delta(1, stream="t"))
    with pytest.raises(DeltaGap, match="starts at 2, the snapshot is at 1"):
        apply_delta(first, delta(2))
    for broken in (AppendText("c", "x"), RemoveBlocks(("a", "c")), RemoveBlocks(("a", "a"))):
        with pytest.raises(BadOperation, match="unknown block"):
            apply_delta(first, delta(1, AppendText("a", "!"), ClearCandidate(), broken))
    assert first == Snapshot("s", 1, (view("a", "hello"), view("b")), "so far", (PlanTask("1", "think"),))
    second = apply_delta(first, delta(1, RemoveBlocks(("a",)), ClearCandidate(), SetPlan(())))
    assert second == Snapshot("s", 2, (view("b"),))
    assert empty == Snapshot("s")


def test_a_block_that_is_replaced_keeps_its_place() -> None:
    """ST-01"""
    shown = apply_delta(Snapshot("s"), delta(0, UpsertBlock(view("a")), UpsertBlock(view("b"))))
    replaced = apply_delta(shown, delta(1, UpsertBlock(view("a", "new")), UpsertBlock(view("c"))))
    assert [(block.id, block.text) for block in replaced.blocks] == [("a", "new"), ("b", ""), ("c", "")]


def test_merge() -> None:
    """ST-02"""
    operations = (
        UpsertBlock(view("a", "1")),
        UpsertBlock(view("a", "2")),
        AppendText("a", "3"),
        AppendText("a", "4"),
        AppendText("b", "x"),
        AppendText("b", "y"),
        AppendText("a", "5"),
        AppendCandidate("p"),
        AppendCandidate("q"),
        ClearCandidate(),
        AppendCandidate("r"),
        SetPlan(()),
        SetPlan((PlanTask("1", "think"),)),
        RemoveBlocks(("a",)),
        RemoveBlocks(("b",)),
    )
    before = tuple(replace(operation) for operation in operations)
    assert merge_operations(operations) == (
        UpsertBlock(view("a", "234")),
        AppendText("b", "xy"),
        AppendText("a", "5"),
        AppendCandidate("pq"),
        ClearCandidate(),
        AppendCandidate("r"),
        SetPlan((PlanTask("1", "think"),)),
        RemoveBlocks(("a",)),
        RemoveBlocks(("b",)),
    )
    assert operations == before
    earlier, later = delta(0, AppendText("a", "1")), delta(1, AppendText("a", "2"))
    assert merge_deltas(earlier, later) == DisplayDelta("s", 0, 2, (AppendText("a", "12"),))
    assert (earlier, later) == (delta(0, AppendText("a", "1")), delta(1, AppendText("a", "2")))


def test_deltas_that_do_not_follow_each_other_are_not_merged() -> None:
    """ST-02"""
    assert merge_deltas(delta(0), delta(2)) is None
    assert merge_deltas(delta(1), delta(0)) is None
    assert merge_deltas(delta(0), delta(1, stream="t")) is None


def test_text_is_counted_in_bytes() -> None:
    """ST-02"""
    counted = delta(
        0,
        UpsertBlock(view("ignored", "é")),
        AppendText("ignored", "😀"),
        AppendCandidate("ab"),
        ClearCandidate(),
        RemoveBlocks(("ignored",)),
        SetPlan((PlanTask("ignored", "é", PlanStatus.PENDING, "c"), PlanTask("ignored", "d"))),
    )
    assert text_bytes(counted) == 2 + 4 + 2 + (2 + 1) + 1
    assert text_bytes(delta(0)) == 0


# --- properties, over few blocks, so that operations meet

IDS = st.sampled_from("ab")
ANY_OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(UpsertBlock, st.builds(view, IDS, TEXTS)),
    st.builds(AppendText, IDS, TEXTS),
    st.builds(RemoveBlocks, st.lists(IDS, max_size=2).map(tuple)),
    st.builds(AppendCandidate, TEXTS),
    st.just(ClearCandidate()),
    values(SetPlan),
)
LISTS = st.lists(ANY_OPERATIONS, max_size=8).map(tuple)
SHOWN = Snapshot("s", 0, (view("a", "old"),), "said")


def outcome(*deltas: DisplayDelta) -> Any:
    """What applying gives, or that it is refused."""
    snapshot = SHOWN
    try:
        for one in deltas:
            snapshot = apply_delta(snapshot, one)
    except BadOperation:
        return BadOperation
    return snapshot


@given(LISTS)
def test_merging_operations_never_changes_what_is_shown(operations: tuple[Operation, ...]) -> None:
    merged = merge_operations(operations)
    assert outcome(delta(0, *merged)) == outcome(delta(0, *operations))
    assert len(merged) <= len(operations)
    assert merge_operations(merged) == merged
    assert text_bytes(delta(0, *merged)) <= text_bytes(delta(0, *operations))


@given(st.tuples(LISTS, LISTS, LISTS))
def test_merging_deltas_is_associative(lists: tuple[tuple[Operation, ...], ...]) -> None:
    one, two, three = (delta(base, *operations) for base, operations in enumerate(lists))
    left, right = merge_deltas(one, two), merge_deltas(two, three)
    assert left is not None
    assert right is not None
    assert merge_deltas(left, three) == merge_deltas(one, right)


@given(st.tuples(LISTS, LISTS))
def test_a_merged_delta_shows_what_the_two_show(lists: tuple[tuple[Operation, ...], ...]) -> None:
    one, two = (delta(base, *operations) for base, operations in enumerate(lists))
    merged = merge_deltas(one, two)
    assert merged is not None
    assert outcome(merged) == outcome(one, two)


@given(LISTS, st.integers(-1, 1), st.sampled_from("st"))
def test_a_delta_is_looked_at_before_it_is_applied(operations: tuple[Operation, ...], base: int, stream: str) -> None:
    before = replace(SHOWN)
    arrived = delta(base, *operations, stream=stream)
    if stream != SHOWN.stream:
        with pytest.raises(DeltaMismatch):
            apply_delta(SHOWN, arrived)
    elif base < 0:
        assert apply_delta(SHOWN, arrived) is SHOWN
    elif base > 0:
        with pytest.raises(DeltaGap):
            apply_delta(SHOWN, arrived)
    else:
        shown = outcome(arrived)
        assert shown is BadOperation or shown.sequence == 1
    assert before == SHOWN
