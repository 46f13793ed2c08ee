"""What a call's arguments look like while they arrive: what their text says so far, and each character read once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.model import DeltaKind
from turnfold.effects.partial import OpenBlock, arguments_so_far
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript.partial_json import PartialJson, partial_json

DOCUMENT = {"path": "a\nb", "edits": [{"old": "x", "new": "\U0001f600"}] * 3, "count": 12.5, "done": None}


def block(*pieces: str) -> OpenBlock:
    return OpenBlock(DeltaKind.CALL, "a", "write", Seq(pieces))


def growing(pieces: list[str]) -> list[OpenBlock]:
    """The block after each of the pieces."""
    text: Seq[str] = Seq()
    return [OpenBlock(DeltaKind.CALL, text=(text := text.append(piece))) for piece in pieces]


@given(st.lists(st.integers(1, 12), min_size=100, max_size=100), st.lists(st.booleans(), min_size=100, max_size=100))
def test_they_are_what_the_text_says_so_far_whoever_asked_before(sizes: list[int], asked: list[bool]) -> None:
    text, pieces = json.dumps(DOCUMENT), list[str]()
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
        if not pieces[-1]:  # one more than there is
            break
    blocks = growing(pieces)
    said = [partial_json("".join(pieces[: number + 1])) for number in range(len(pieces))]
    for number, one in enumerate(blocks):
        if asked[number]:
            assert arguments_so_far(one) == said[number]
    for number, one in enumerate(blocks):
        assert arguments_so_far(one) == said[number]


def test_what_was_given_before_stays_as_it_was() -> None:
    blocks = growing(['{"a": [1, ', "2, ", '3], "b": "x', 'y"}'])
    given_before = [arguments_so_far(one) for one in blocks]
    assert given_before == [{"a": [1]}, {"a": [1, 2]}, {"a": [1, 2, 3], "b": "x"}, {"a": [1, 2, 3], "b": "xy"}]


def test_nothing_is_an_empty_object() -> None:
    assert arguments_so_far(block()) == {}


def test_a_surrogate_pair_may_come_in_two_pieces() -> None:
    """Decision 45."""
    blocks = growing(['{"a": "x\ud83d', "\ude00y", "\ud83d", 'z\udc00"}'])
    found = [arguments_so_far(one)["a"] for one in blocks]
    assert found == ["x", "x\U0001f600y", "x\U0001f600y", "x\U0001f600y\ufffdz\ufffd"]


def test_two_ways_on_from_one_beginning_are_read_apart() -> None:
    begun = Seq(('{"a": "x',))
    one, other = (OpenBlock(DeltaKind.CALL, text=begun.append(text)) for text in ('y"}', 'z"}'))
    assert [arguments_so_far(part) for part in (one, other, one)] == [{"a": "xy"}, {"a": "xz"}, {"a": "xy"}]


def test_each_character_is_read_once_by_who_asks_at_each_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    feed = PartialJson.feed

    def counting(self: PartialJson, chunk: str) -> None:
        nonlocal read
        read += len(chunk)
        feed(self, chunk)

    monkeypatch.setattr(PartialJson, "feed", counting)
    text = json.dumps({"content": "a line " * 1_000})
    for one in growing([text[place : place + 10] for place in range(0, len(text), 10)]):
        arguments_so_far(one)
        arguments_so_far(one)
    assert read == len(text)
