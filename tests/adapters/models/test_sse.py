"""Server-sent events from bytes, as the standard has them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.adapters.models import sse
from turnfold.adapters.models.sse import EventDecoder, EventTooLargeError, ServerEvent


def decoded(*chunks: bytes) -> list[tuple[str, str]]:
    decoder = EventDecoder()
    return [(event.name, event.data) for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\n\n", [("", "a")]),
        (b"data:  a\n\n", [("", " a")]),
        (b"data: a\rdata: b\r\r", [("", "a\nb")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", "a"), ("", "b")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("", "b")]),
        (b"event: x\n\ndata: b\n\n", [("", "b")]),
        (b"data\n\n", [("", "")]),
        (b"data: \n\n", [("", "")]),
        (b": comment\n\nid: 7\nretry: 5\n\nother: x\n\ndata: a\n\n", [("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b"data: \xff\n\n", [("", "\ufffd")]),
        (b"data: a\x0bb\xc2\x85c\xe2\x80\xa8d\n\n", [("", "a\x0bb\x85c\u2028d")]),
        (b"data: unfinished\n", []),
    ],
)
def test_events_are_what_the_standard_says(body: bytes, events: list[tuple[str, str]]) -> None:
    assert decoded(body) == events
    assert decoded(*(body[i : i + 1] for i in range(len(body)))) == events


LINES = st.sampled_from(
    [b"data: a", b"data:", b"event: x", b": c", b"", b"id: 1", b"data: \xe6\xbc\xa2", b"\xef\xbb\xbfdata: b"]
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(st.lists(st.tuples(LINES, ENDS), max_size=12), st.lists(st.integers(0, 60), max_size=6))
def test_where_the_bytes_are_cut_makes_no_difference(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    body = b"".join(line + end for line, end in lines)
    at = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    assert decoded(*(body[a:b] for a, b in itertools.pairwise(at))) == decoded(body)


@given(st.lists(LINES, max_size=8))
def test_which_line_ends_are_used_makes_no_difference(lines: list[bytes]) -> None:
    bodies = [b"".join(line + end for line in lines) for end in (b"\n", b"\r\n", b"\r")]
    assert decoded(bodies[0]) == decoded(bodies[1]) == decoded(bodies[2])


@pytest.mark.parametrize("rest", [b"data: b", b"data: b\n", b"event: x\ndata: b\n"])
def test_an_event_without_its_end_can_be_asked_for(rest: bytes) -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\n\n" + rest) == [ServerEvent("", "a")]
    assert [event.data for event in decoder.flush()] == ["b"]
    assert decoder.flush() == []


def test_nothing_unfinished_is_nothing() -> None:
    decoder = EventDecoder()
    decoder.feed(b"data: a\n\n: comment")
    assert decoder.flush() == []


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 90, b"data: x\n" * 12, b"x" * 90])
def test_an_event_that_does_not_end_is_given_up(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    decoder = EventDecoder()
    decoder.feed(piece)
    with pytest.raises(EventTooLargeError):
        decoder.feed(piece)


def test_many_small_events_are_not_one_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    assert len(decoded(*[b"data: 1234567890\n\n"] * 50)) == 50


@pytest.mark.parametrize(
    ("body", "foreign"),
    [
        (b"data: a\n\n", False),
        (b"\xef\xbb\xbf: comment\nid: 7\nretry: 5\nevent: x\ndata\n\n", False),
        (b"<html>\n", True),
        (b'{"error": {"message": "data: no"}}', True),
        (b"data: a\n\nother: x\n", True),
    ],
)
def test_lines_that_no_stream_has_are_noticed(body: bytes, foreign: bool) -> None:
    decoder = EventDecoder()
    decoder.feed(body)
    decoder.flush()
    assert decoder.foreign is foreign
