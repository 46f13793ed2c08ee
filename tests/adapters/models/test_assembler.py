"""Which piece belongs to which block (decision 23)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.adapters.models.assembler import Assembler
from turnfold.effects.model import BlockDelta, DeltaKind, UsageReported
from turnfold.effects.transcript import StopReason, Usage
from turnfold.effects.transcript.boundary import Target

from tests.adapters.models.answers import answer_of

Piece = tuple[int | None, str, str, str]


def calls_from(*pieces: Piece) -> list[tuple[str, str, str]]:
    assembler = Assembler(Target())
    for piece in pieces:
        assembler.call(*piece)
    assembler.finish(StopReason.STOP, None)
    parts = answer_of(assembler.take())["parts"]
    return [(part["id"], part["name"], part["arguments"]) for part in parts]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        # by index
        ("0:a:f:1 1:b:g:2 0:::3 1:::4", "a:f:13 b:g:24"),
        ("0:a:f:1 0:a:f:2", "a:f:12"),
        # a new id, or a new name after arguments, under a used index
        ("0:a:f:1 0:b:f:2 0:::3", "a:f:1 b:f:23"),
        ("0::f:1 0::g:2", ":f:1 :g:2"),
        ("0::f: 0::g:1", ":f: :g:1"),
        ("0::f: 0::f:1", ":f:1"),
        # an id or a name that comes late
        ("0:::1 0:a::2 0::f:3", "a:f:123"),
        ("-::f:1 -:a::2", "a:f:12"),
        # by id
        ("-:a:f: -:b:g: -:a::1 -:b::2", "a:f:1 b:g:2"),
        ("-:a:f:1 -:a:f:2", "a:f:12"),
        ("-:a:f:1 -:b::2", "a:f:1 b::2"),
        ("-:a:f:1 3:::2 -:b:g: 3:::4", "a:f:124 b:g:"),
        ("0:a:f:1 1:b:g:2 7:a::3", "a:f:13 b:g:2"),
        ("-:a:f:1 -:b:g:2 0:a::3 0:::4", "a:f:134 b:g:2"),
        # one id for two calls
        ("0:a:f:1 1:a:f:2", "a:f:1 a:f:2"),
        ("-:a:f:1 -:a:g:2", "a:f:1 a:g:2"),
        # by nothing: the last call
        ("-::f:1 -:::2 -::g:3 -:::4", ":f:12 :g:34"),
        ("0:a:f:1 9:::2", "a:f:12"),
        ("0:a:f: 1:b:g: 0:::1 -:::2", "a:f:12 b:g:"),
        ("-:::1", "::1"),
    ],
)
def test_pieces_of_calls_find_their_call(pieces: str, calls: str) -> None:
    """A piece is its index (``-``: none), id, name and arguments; a call its id, name and arguments."""
    split = [piece.split(":") for piece in pieces.split()]
    got = calls_from(*((None if key == "-" else int(key), *rest) for key, *rest in split))  # type: ignore[misc]
    assert " ".join(map(":".join, got)) == calls


@given(st.lists(st.tuples(st.integers(0, 3), st.text("xyz", max_size=2)), max_size=20), st.booleans())
def test_however_calls_are_interleaved_each_gets_its_own_pieces(pieces: list[tuple[int, str]], by_id: bool) -> None:
    wanted: dict[int, str] = {}
    sent: list[Piece] = []
    for index, text in pieces:
        first = index not in wanted
        wanted[index] = wanted.get(index, "") + text
        id, name = f"id{index}", f"f{index}"
        sent.append((None if by_id else index, id if first or by_id else "", name if first else "", text))
    assert calls_from(*sent) == [(f"id{index}", f"f{index}", text) for index, text in wanted.items()]


def parts_after(*steps: Callable[[Assembler], Any]) -> list[dict[str, Any]]:
    assembler = Assembler(Target())
    for step in steps:
        step(assembler)
    assembler.finish(StopReason.STOP, None)
    return answer_of(assembler.take())["parts"]


def test_text_and_reasoning_change_blocks_when_the_other_comes() -> None:
    think, say = DeltaKind.THINKING, DeltaKind.TEXT
    parts = parts_after(
        lambda a: a.say(think, "a", signature="s"),
        lambda a: a.say(think, "b", signature="s"),
        lambda a: a.say(think, "c", signature="other"),
        lambda a: a.say(say, "d"),
        lambda a: a.call(0, "1", "f", "{"),
        lambda a: a.say(say, "e"),
        lambda a: a.call(0, "", "", "}"),
        lambda a: a.say(say, ""),
    )
    told = [(part["type"], part.get("text") or part.get("arguments"), part.get("signature")) for part in parts]
    assert told == [
        ("thinking", "ab", "s"),
        ("thinking", "c", "other"),
        ("text", "d", None),
        ("call", "{}", None),
        ("text", "e", None),
    ]


def test_text_for_a_block_that_was_never_opened_is_not_lost() -> None:
    parts = parts_after(
        lambda a: a.append(0, DeltaKind.TEXT, "a"),
        lambda a: a.append(0, DeltaKind.TEXT, "b"),
        lambda a: a.append(None, DeltaKind.THINKING, "c"),
        lambda a: a.append(5, DeltaKind.CALL, "nobody's"),
    )
    assert [(part["type"], part["text"]) for part in parts] == [("text", "ab"), ("thinking", "c")]


def test_arguments_under_an_unknown_index_go_to_the_last_call() -> None:
    parts = parts_after(
        lambda a: a.open(0, DeltaKind.CALL, "1", "f"),
        lambda a: a.append(3, DeltaKind.CALL, "{}"),
    )
    assert parts == [{"type": "call", "id": "1", "name": "f", "arguments": "{}"}]


def test_a_block_opened_again_under_its_index_is_another_block() -> None:
    parts = parts_after(
        lambda a: a.open(0, DeltaKind.TEXT),
        lambda a: a.append(0, DeltaKind.TEXT, "a"),
        lambda a: a.open(0, DeltaKind.TEXT),
        lambda a: a.append(0, DeltaKind.TEXT, "b"),
        lambda a: a.close(0),
        lambda a: a.close(0),
        lambda a: a.append(0, DeltaKind.TEXT, "c"),
    )
    assert [part["text"] for part in parts] == ["a", "b", "c"]


def test_a_block_is_over_when_the_next_begins_unless_it_is_a_call() -> None:
    assembler = Assembler(Target())
    assembler.open(0, DeltaKind.TEXT)
    assembler.open(0, DeltaKind.TEXT)
    assembler.say(DeltaKind.THINKING, "a")
    assembler.call(1, "1", "f", "")
    assembler.say(DeltaKind.TEXT, "b")
    order = [(type(delta).__name__, delta.index) for delta in assembler.take() if not isinstance(delta, BlockDelta)]  # type: ignore[union-attr]
    assert order == [
        ("BlockStarted", 0),
        ("BlockEnded", 0),
        ("BlockStarted", 1),
        ("BlockEnded", 1),
        ("BlockStarted", 2),
        ("BlockEnded", 2),
        ("BlockStarted", 3),
        ("BlockStarted", 4),
    ]


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (["a\ud83d", "\ude00b"], ["a", "\U0001f600b"]),
        (["\ud83d", "x"], ["\ufffdx"]),
        (["\ud83d", "\ud83d", "\ude00"], ["\ufffd", "\U0001f600"]),
        (["\ude00a"], ["\ufffda"]),
        (["a", "\ud83d"], ["a", "\ufffd"]),
    ],
)
def test_every_delta_is_text_that_can_be_stored(pieces: list[str], told: list[str]) -> None:
    """Decision 45: halves that were split over deltas are joined first."""
    assembler = Assembler(Target())
    for piece in pieces:
        assembler.say(DeltaKind.TEXT, piece)
    assembler.finish(StopReason.STOP, None)
    assert [delta.text for delta in assembler.take() if isinstance(delta, BlockDelta)] == told


def test_usage_is_told_when_it_changes() -> None:
    assembler = Assembler(Target())
    for count in (1, 1, 2):
        assembler.count(Usage(input=count))
    assert assembler.take() == [UsageReported(Usage(input=1)), UsageReported(Usage(input=2))]
    assert assembler.take() == []
