"""Bytes become frames, however they are cut."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.adapters.proxy import lines
from turnfold.adapters.proxy.lines import FrameError, LineReader, frame_of


def payloads(*chunks: bytes) -> list[str]:
    reader = LineReader()
    return [*(payload for chunk in chunks for payload in reader.feed(chunk)), *reader.flush()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: 1\ndata: 2\n", ["1", "2"]),
        (b"data: 1", ["1"]),
        (b"data: 1\r\n\r\n", ["1"]),
        (b"data:   1 \t\xc2\xa0\xef\xbb\xbf\n", ["1"]),
        (b"data:   \n", []),
        (b"data:1\n data: 2\nDATA: 3\nevent: x\nid: 4\n: 5\n\n", []),
        (b"data: 1\rdata: 2\n", ["1\rdata: 2"]),
        (b"\xef\xbb\xbfdata: 1\n\xef\xbb\xbfdata: 2\n", ["1"]),
        (b'data: "\xff\xc3"\n', ['"\ufffd\ufffd"']),
        (b"", []),
    ],
)
def test_only_lines_that_begin_with_data_and_a_space_count(body: bytes, expected: list[str]) -> None:
    assert payloads(body) == expected


@given(st.lists(st.text() | st.sampled_from(["data: ", "\n", "\ufeff", "\r\n", "é漢🙂"])), st.lists(st.integers(0, 99)))
def test_it_makes_no_difference_how_the_bytes_are_cut(texts: list[str], places: list[int]) -> None:
    body = "".join(texts).encode()
    cuts = [0, *sorted(min(place, len(body)) for place in places), len(body)]
    assert payloads(*(body[start:end] for start, end in itertools.pairwise(cuts))) == payloads(body)


def test_a_line_without_end_is_refused_whether_or_not_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10)
    assert payloads(b"data: 4567", b"\ndata: 4567\n") == ["4567", "4567"]
    for chunks in ([b"data: 45678\n"], [b": 34567", b"8901"]):
        with pytest.raises(FrameError, match="more than 10 bytes"):
            payloads(*chunks)


@pytest.mark.parametrize("payload", ["5", '"text"', "[1]", "true", "[]"])
def test_a_value_that_is_no_object_is_no_frame(payload: str) -> None:
    assert frame_of(payload) is None


@pytest.mark.parametrize("payload", ["{oops", "{}}", "NaN", '{"x": Infinity}', '{"x": 1e999}', "[" * 100_000, "null"])
def test_what_is_no_json_and_null_are_errors_that_do_not_quote_it(payload: str) -> None:
    with pytest.raises(FrameError) as raised:
        frame_of(payload)
    assert "oops" not in str(raised.value)


def test_half_a_character_is_let_through() -> None:
    """Decision 45: the other half may come in the next frame."""
    assert frame_of(json.dumps({"delta": "\ud83d"})) == {"delta": "\ud83d"}
