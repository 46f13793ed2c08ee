"""What was used, by model and purpose (decision 26)."""

import functools

from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.spending import MAX_NAME, MAX_ROWS, NO_SPENDING, Spending, Spent
from turnfold.effects.transcript import ZERO_USAGE, Usage

from tests.strategies import WILD_TEXTS

COUNTS = st.integers(0, 9)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
NAMES = st.sampled_from("abcd") | WILD_TEXTS
ROWS = st.lists(st.builds(Spent, NAMES, NAMES, st.sampled_from(["main", "summary"]), USAGES), max_size=40)


def spending(rows: list[Spent]) -> Spending:
    return functools.reduce(Spending.plus, rows, NO_SPENDING)


@given(ROWS)
def test_no_token_is_lost_and_the_rows_stay_few(rows: list[Spent]) -> None:
    found = spending(rows)
    assert found.total == sum((row.usage for row in rows), ZERO_USAGE)
    assert len(found.rows) <= MAX_ROWS
    assert len({row.key for row in found.rows}) == len(found.rows)
    assert ZERO_USAGE not in [row.usage for row in found.rows]


@given(ROWS, ROWS)
def test_what_was_used_since_is_what_came_later(before: list[Spent], after: list[Spent]) -> None:
    earlier = spending(before)
    since = functools.reduce(Spending.plus, after, earlier).since(earlier)
    assert since.total == sum((row.usage for row in after), ZERO_USAGE)
    if len({row.key for row in (*before, *after)}) < MAX_ROWS:
        assert {row.key: row.usage for row in since.rows} == {row.key: row.usage for row in spending(after).rows}


def test_models_and_purposes_are_told_apart() -> None:
    one, two = Spent("acme", "large", usage=Usage(1)), Spent("acme", "large", "summary", Usage(2))
    assert spending([one, two, one]).rows == (Spent("acme", "large", usage=Usage(2)), two)
    assert one.key == ("acme", "large", "main")


def test_models_beyond_the_limit_are_counted_together() -> None:
    found = spending([Spent(model=str(place), usage=Usage(1)) for place in range(MAX_ROWS + 3)])
    assert [row.model for row in found.rows] == [*map(str, range(MAX_ROWS - 1)), ""]
    assert found.rows[-1].usage == Usage(4)


def test_a_model_that_has_its_row_keeps_it_when_there_is_no_room_for_others() -> None:
    full = spending([Spent(model=str(place), usage=Usage(1)) for place in range(MAX_ROWS)])
    assert full.plus(Spent(model="0", usage=Usage(2))).rows[0] == Spent(model="0", usage=Usage(3))


def test_what_was_used_since_leaves_out_who_used_nothing() -> None:
    before = spending([Spent("acme", "large", usage=Usage(5)), Spent("acme", "small", usage=Usage(1))])
    after = before.plus(Spent("acme", "large", usage=Usage(2))).plus(Spent("acme", "tiny", usage=Usage(4)))
    assert after.since(before).rows == (Spent("acme", "large", usage=Usage(2)), Spent("acme", "tiny", usage=Usage(4)))
    assert after.since(NO_SPENDING) == after


def test_names_are_storable_and_short() -> None:
    (row,) = spending([Spent("a\ud800", "x" * 1_000, usage=Usage(1))]).rows
    assert (row.provider, len(row.model)) == ("a\ufffd", MAX_NAME)
