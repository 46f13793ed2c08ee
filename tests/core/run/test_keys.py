"""``Keys`` is a set that only grows, and every version of it stays what it was."""

from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.run.keys import Keys

KEYS = st.text("abcdef", min_size=1, max_size=1)


@given(st.lists(KEYS), st.lists(st.lists(KEYS, max_size=4), max_size=6))
def test_keys_behave_as_a_set_that_grows(first: list[str], batches: list[list[str]]) -> None:
    keys, model = Keys(first), set(first)
    for batch in batches:
        keys = keys.add(*batch)
        model |= set(batch)
        assert len(keys) == len(model)
        assert all((key in keys) == (key in model) for key in "abcdefg")


@given(st.lists(st.tuples(st.integers(0, 20), st.lists(KEYS, max_size=3)), max_size=12))
def test_every_version_stays_as_it_was(growths: list[tuple[int, list[str]]]) -> None:
    """Growing an old version must not show in its other descendants."""
    versions: list[tuple[Keys, set[str]]] = [(Keys(), set())]
    for which, batch in growths:
        keys, model = versions[which % len(versions)]
        versions.append((keys.add(*batch), model | set(batch)))
    for keys, model in versions:
        assert len(keys) == len(model)
        assert {key for key in "abcdefg" if key in keys} == model


@given(st.lists(KEYS), st.lists(KEYS))
def test_keys_are_equal_when_they_hold_the_same(one: list[str], other: list[str]) -> None:
    assert (Keys(one) == Keys(other)) == (set(one) == set(other))
    assert Keys(one) == Keys(reversed(one))
    assert hash(Keys(one)) == hash(Keys(reversed(one)))
    assert Keys(one) != set(one)


def test_adding_to_the_newest_version_copies_nothing() -> None:
    keys = Keys(map(str, range(1_000)))
    assert keys.add("one more")._table is keys._table
    assert "one more" not in keys


def test_keys_can_be_read_by_people() -> None:
    assert repr(Keys(["b", "a", "b"])) == "Keys(['b', 'a'])"
