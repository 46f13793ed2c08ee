"""The head of a checkpoint: a few numbers, whose version is looked at before all else."""

import functools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.run.head import HEAD_VERSION, Head, decode_head, encode_head, rows_of, spending_of, spent_so_far
from turnfold.effects.spending import NO_SPENDING, Spending, Spent
from turnfold.effects.transcript import DecodeError, Usage
from turnfold.effects.values import replace

from tests.strategies import TEXTS, values

COUNTS = st.integers(0, 2**53)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
SPENT = st.builds(Spent, TEXTS, TEXTS, TEXTS, USAGES)
SPENDINGS = st.lists(SPENT, max_size=5).map(lambda rows: functools.reduce(Spending.plus, rows, NO_SPENDING))


@given(values(Head), SPENDINGS, SPENDINGS)
def test_a_head_reads_back_as_it_was(head: Head, base: Spending, spent: Spending) -> None:
    head = replace(head, version=HEAD_VERSION, base=rows_of(base), spent=rows_of(spent))
    again = decode_head(encode_head(head))
    assert again == head
    assert (spending_of(again.base), spent_so_far(again, spent.total)) == (base, spent)


def test_a_head_that_tells_nothing_is_that_of_a_beginning() -> None:
    head = decode_head(b'{"version":1}')
    assert (head.turns, head.iterations, head.after, head.claimed, head.delivered) == (0, 0, 0, 0, False)


def test_a_head_of_before_models_were_told_apart_can_be_read() -> None:
    head = decode_head(b'{"version":1,"turns":1,"base":{"input":5,"output":1}}')
    assert spending_of(head.base) == Spending((Spent(usage=Usage(5, output=1)),))
    assert spent_so_far(head, Usage(7, output=3)) == Spending((Spent(usage=Usage(7, output=3)),))


def test_the_largest_head_is_small() -> None:
    """decision 1"""
    largest = Head(HEAD_VERSION, *[2**63 - 1] * 4, delivered=True)
    assert len(encode_head(largest)) < 200
    rows = (Spent("acme", f"large-{place}", usage=Usage(*[10**9] * 5)) for place in range(1_000))
    spent = rows_of(functools.reduce(Spending.plus, rows, NO_SPENDING))
    assert len(encode_head(Head(spent=spent, base=spent))) < 2_500


@pytest.mark.parametrize("version", [0, HEAD_VERSION + 1, "1", None])
def test_another_version_is_refused_by_both_names(version: object) -> None:
    """N-21: whatever else such a head may hold."""
    raw = msgspec.json.encode({"version": version, "turns": "a later meaning"})
    with pytest.raises(DecodeError) as caught:
        decode_head(raw)
    assert str(caught.value) == f"it has version {version!r}, and this release reads version {HEAD_VERSION}"


@pytest.mark.parametrize(
    "raw",
    [b"", b"garbage", b"[1]", b'{"version":', b'{"version":1,"turns":"x"}', b"\xff", b'{"version":1,"claimed":1.5}'],
)
def test_garbage_is_refused(raw: bytes) -> None:
    """N-21"""
    with pytest.raises(DecodeError, match="it cannot be read"):
        decode_head(raw)


def test_what_a_later_release_adds_is_passed_over() -> None:
    assert decode_head(b'{"version":1,"turns":2,"added_later":true}') == Head(turns=2)
