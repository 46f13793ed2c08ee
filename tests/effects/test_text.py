"""Text that may be stored: whatever comes in, what comes out is clean, and clean text is left alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.transcript import clean_json, clean_text, without_nul
from turnfold.effects.transcript.text import escape_halves, unescape_halves

from tests.strategies import JSON, TEXTS, WILD_TEXTS

WILD_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WILD_TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WILD_TEXTS, inner, max_size=3),
    max_leaves=6,
)


def expected(text: str) -> str:
    """The same by a plain walk over the text."""
    clean, rest = "", text
    while rest:
        high, low = ord(rest[0]), ord(rest[1]) if len(rest) > 1 else 0
        if 0xD800 <= high <= 0xDBFF and 0xDC00 <= low <= 0xDFFF:
            clean, rest = clean + chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)), rest[2:]
        else:
            clean, rest = clean + ("\ufffd" if 0xD800 <= high <= 0xDFFF else rest[0]), rest[1:]
    return clean


@given(WILD_TEXTS)
def test_pairs_are_joined_and_lone_halves_replaced(text: str) -> None:
    assert clean_text(text) == expected(text)
    assert clean_text(text).encode().decode() == clean_text(text)


@given(TEXTS)
def test_clean_text_is_left_alone(text: str) -> None:
    assert clean_text(text) is text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\ud83d\ude00b", "a😀b"),
        ("\ud83d", "\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("\ud83dx", "\ufffdx"),
    ],
)
def test_halves_of_a_surrogate_pair(text: str, clean: str) -> None:
    assert clean_text(text) == clean


@given(WILD_JSON)
def test_every_text_in_a_value_is_cleaned_and_nothing_else_changes(value: Any) -> None:
    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return expected(item)
        if isinstance(item, list):
            return [walk(one) for one in item]
        return {expected(name): walk(one) for name, one in item.items()} if isinstance(item, dict) else item

    assert clean_json(value) == walk(value)
    assert clean_json(clean_json(value)) == clean_json(value)


@given(JSON)
def test_a_clean_value_comes_out_equal(value: Any) -> None:
    assert clean_json(value) == value


def test_tuples_become_lists_as_in_json() -> None:
    assert clean_json(("a", ["\ud800"])) == ["a", ["\ufffd"]]


@given(WILD_TEXTS)
def test_databases_get_no_nul(text: str) -> None:
    """N-24"""
    assert without_nul(text) == expected(text).replace("\0", "")


@given(st.text(st.characters() | st.sampled_from("\\u\ud800\ude00d8"), max_size=12))
def test_escaped_text_can_be_written_and_comes_back_as_it_was(text: str) -> None:
    """decision 45"""
    escaped = escape_halves(text)
    assert escaped.encode().decode() == escaped
    assert unescape_halves(escaped) == text


@pytest.mark.parametrize("text", ["\\u", "\\ud8", "\\uxyzw"])
def test_what_was_never_escaped_cannot_be_undone(text: str) -> None:
    with pytest.raises(ValueError, match=r"hexadecimal|invalid literal"):
        unescape_halves(text)
