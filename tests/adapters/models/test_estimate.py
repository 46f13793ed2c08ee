"""How many tokens a text may have."""

import unicodedata

import pytest
from hypothesis import given
from turnfold.adapters.models import DEFAULT_CONTEXT_WINDOW, context_window, estimate_tokens

from tests.strategies import TEXTS


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abc", 0), ("abcd", 1), ("你好abcd", 3), ("ひらカタ한글", 6), ("，。！？", 1), ("漢" * 7 + "abc", 7)],
)
def test_a_character_is_a_token_or_a_quarter_of_one(text: str, tokens: int) -> None:
    """TestEstimateTokens."""
    assert estimate_tokens(text) == tokens


def test_an_unknown_window_is_the_usual_one() -> None:
    """TestEstimateTokens."""
    assert context_window(0) == context_window(-1) == DEFAULT_CONTEXT_WINDOW == 32_000
    assert context_window(10) == 10


@given(TEXTS)
def test_an_estimate_grows_with_the_text_and_is_never_longer(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= len(text)
    assert estimate_tokens(text) <= estimate_tokens(text + "a") <= estimate_tokens(text + "漢")


def test_the_letters_of_three_languages_count_whole() -> None:
    """By the names that Unicode gives them."""
    scripts = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER", "HANGUL SYLLABLE")
    wrong: list[str] = []
    for code in range(0x20000):
        name = unicodedata.name(chr(code), "")
        if name.startswith(scripts) and estimate_tokens(chr(code)) != 1:
            wrong.append(name)
        if name.startswith(("LATIN", "CYRILLIC", "GREEK", "ARABIC", "DEVANAGARI")) and estimate_tokens(chr(code)):
            wrong.append(name)
    assert wrong == []
