"""``Seq``: whatever is appended to or cut from whichever version, each one behaves as a tuple of its own items."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule
from turnfold.effects.sequence import Seq

ITEMS = st.integers(0, 3)


def encode(item: int) -> bytes:
    return bytes([item])


def recomputed(items: tuple[int, ...]) -> str:
    digest = b""
    for item in items:
        digest = blake2b(digest + encode(item), digest_size=16).digest()
    return digest.hex()


class Reading:
    """A reader that knows what it was fed."""

    def __init__(self) -> None:
        self.items: list[int] = []

    def feed(self, item: int, /) -> None:
        self.items.append(item)


class Branching(RuleBasedStateMachine):
    """Versions grow out of each other in every way; each is kept beside the tuple that it must be."""

    versions = Bundle("versions")

    def __init__(self) -> None:
        super().__init__()
        self.all: list[tuple[Seq[int], tuple[int, ...]]] = []

    def keep(self, seq: Seq[int], model: tuple[int, ...]) -> tuple[Seq[int], tuple[int, ...]]:
        self.all.append((seq, model))
        return seq, model

    @initialize(target=versions, items=st.lists(ITEMS, max_size=3))
    def start(self, items: list[int]):
        return multiple(self.keep(Seq(items), tuple(items)), self.keep(Seq(), ()))

    @rule(target=versions, version=versions, items=st.lists(ITEMS, max_size=3))
    def append(self, version: tuple[Seq[int], tuple[int, ...]], items: list[int]):
        seq, model = version
        return self.keep(seq.append(*items), (*model, *items))

    @rule(target=versions, version=versions, items=st.lists(ITEMS, max_size=3))
    def extend_by_an_iterator(self, version: tuple[Seq[int], tuple[int, ...]], items: list[int]):
        seq, model = version
        return self.keep(seq.extend(iter(items)), (*model, *items))

    @rule(target=versions, version=versions, other=versions)
    def extend_by_a_version(self, version: tuple[Seq[int], tuple[int, ...]], other: tuple[Seq[int], tuple[int, ...]]):
        return self.keep(version[0].extend(other[0]), version[1] + other[1])

    @rule(target=versions, version=versions, share=st.floats(0, 1))
    def cut(self, version: tuple[Seq[int], tuple[int, ...]], share: float):
        seq, model = version
        length = round(share * len(model))
        return self.keep(seq.cut(length), model[:length])

    @rule(
        target=versions,
        version=versions,
        part=st.slices(6),
    )
    def slice(self, version: tuple[Seq[int], tuple[int, ...]], part: slice):
        return self.keep(version[0][part], version[1][part])

    @rule(version=versions)
    def digest(self, version: tuple[Seq[int], tuple[int, ...]]) -> None:
        assert version[0].digest(encode) == recomputed(version[1])

    @rule(version=versions)
    def read(self, version: tuple[Seq[int], tuple[int, ...]]) -> None:
        assert version[0].read_by(Reading).items == list(version[1])

    def teardown(self) -> None:
        for seq, model in self.all:
            assert tuple(seq) == model
            assert seq.read_by(Reading).items == list(model)
            assert len(seq) == len(model)
            assert bool(seq) is bool(model)
            assert [seq[index] for index in range(-len(model), len(model))] == list(model * 2)
            assert list(reversed(seq)) == list(reversed(model))
            assert seq.digest(encode) == recomputed(model)
            assert repr(seq) == f"Seq({list(model)!r})"
            for other, other_model in self.all:
                assert (seq == other) is (model == other_model)
                assert model != other_model or hash(seq) == hash(other)


TestBranching = Branching.TestCase


@given(st.lists(ITEMS), st.integers(-9, 9))
def test_an_index_out_of_range_is_refused_as_for_a_tuple(items: list[int], index: int) -> None:
    seq = Seq(items)
    if -len(items) <= index < len(items):
        assert seq[index] == items[index]
    else:
        with pytest.raises(IndexError, match=f"index {index} in a sequence of {len(items)} items"):
            seq[index]


@pytest.mark.parametrize("length", [-1, 3])
def test_a_cut_out_of_range_is_refused(length: int) -> None:
    with pytest.raises(IndexError, match=f"cannot cut a sequence of 2 items at {length}"):
        Seq((1, 2)).cut(length)


def test_the_list_it_was_made_from_is_not_shared() -> None:
    items = [1, 2]
    seq = Seq(items)
    items.append(3)
    assert tuple(seq) == (1, 2)


def test_an_iterator_that_breaks_off_leaves_every_version_as_it_was() -> None:
    def broken():
        yield 3
        raise RuntimeError("no more")

    seq = Seq((1, 2))
    with pytest.raises(RuntimeError):
        seq.extend(broken())
    assert tuple(seq) == (1, 2)
    assert tuple(seq.append(4)) == (1, 2, 4)


def test_it_is_no_tuple() -> None:
    assert Seq((1, 2)) != (1, 2)
    assert Seq(()) != []


def test_each_item_is_encoded_once_however_often_the_digest_is_asked() -> None:
    encoded: list[int] = []

    def counting(item: int) -> bytes:
        encoded.append(item)
        return bytes([item])

    seq: Seq[int] = Seq()
    for item in range(50):
        seq = seq.append(item)
        assert seq.digest(counting)
    assert encoded == list(range(50))
    assert seq.cut(20).digest(counting) == recomputed(tuple(range(20)))
    assert len(encoded) == 50


def test_appending_to_the_newest_version_copies_nothing() -> None:
    seq: Seq[int] = Seq()
    for item in range(1_000):
        newer = seq.append(item)
        assert newer._backing is seq._backing
        seq = newer
    older = seq.cut(500).append(-1)
    assert older._backing is not seq._backing
    assert seq[500] == 500


def test_each_item_is_read_once_by_who_asks_every_version() -> None:
    class Counting(Reading):
        fed = 0

        def feed(self, item: int, /) -> None:
            super().feed(item)
            Counting.fed += 1

    seq: Seq[int] = Seq()
    for item in range(50):
        seq = seq.append(item)
        assert seq.read_by(Counting).items == list(range(item + 1))
        assert seq.read_by(Counting).items == list(range(item + 1))
    assert Counting.fed == 50
    seq.cut(10).read_by(Counting)
    assert Counting.fed == 60
    assert seq.append(50).read_by(Counting).items == list(range(51))
    assert Counting.fed == 61


def test_a_reader_of_another_kind_reads_from_the_beginning() -> None:
    class Other(Reading):
        pass

    seq = Seq((1, 2))
    assert type(seq.read_by(Reading)) is Reading
    assert seq.read_by(Other).items == [1, 2]
    assert type(seq.read_by(Other)) is Other
