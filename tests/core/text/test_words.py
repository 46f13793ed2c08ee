"""The catalogue: every text in both languages, and overrides that cannot surprise a prompt."""

import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.text import CHINESE, ENGLISH, Language, WordError, Words, fill, words_for

from tests.strategies import TEXTS

NAMES = [field.name for field in attrs.fields(Words)]
PLACEHOLDERS = re.compile(r"\{([a-z_]*)\}")


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_the_same_with_the_same_placeholders(name: str) -> None:
    english, chinese = getattr(ENGLISH, name), getattr(CHINESE, name)
    assert sorted(PLACEHOLDERS.findall(english)) == sorted(PLACEHOLDERS.findall(chinese))
    assert english
    assert not english.isspace()
    assert any("\u3001" <= sign <= "\u9fff" for sign in chinese)
    assert all(ord(sign) < 128 for sign in english)


@pytest.mark.parametrize(("language", "words"), [("en", ENGLISH), ("zh", CHINESE), ("tlh", ENGLISH), ("", ENGLISH)])
def test_an_unknown_language_is_answered_in_english(language: str, words: Words) -> None:
    assert words_for(language) is words
    assert words_for(Language.CHINESE) is CHINESE


@pytest.mark.parametrize("name", NAMES)
def test_any_text_can_be_put_otherwise_and_the_others_stay(name: str) -> None:
    """HO-04 and decision 36"""
    own = "".join(f"{{{placeholder}}}" for placeholder in PLACEHOLDERS.findall(getattr(ENGLISH, name))) + "!"
    words = words_for("zh", {name: own})
    assert getattr(words, name) == own
    assert attrs.evolve(words, **{name: getattr(CHINESE, name)}) == CHINESE


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"greeting": "hello"}, "there is no text called 'greeting'; known ones are "),
        ({"unknown_tool": "No such tool."}, "'unknown_tool' must use exactly the placeholders {name}, not (none)"),
        ({"unknown_tool": "{name} {x}"}, "must use exactly the placeholders {name}, not {name}, {x}"),
        ({"final_notice": "Enough, {name}."}, "must use exactly the placeholders (none), not {name}"),
        ({"invalid_arguments": "{problem}"}, "must use exactly the placeholders {name}, {problem}, not {problem}"),
    ],
)
def test_a_wrong_override_is_an_error_at_once(overrides: dict[str, str], told: str) -> None:
    """decision 36"""
    with pytest.raises(WordError, match=re.escape(told)):
        words_for("en", overrides)


@given(TEXTS, TEXTS)
def test_what_is_filled_in_is_not_interpreted_again(name: str, problem: str) -> None:
    filled = fill("{name}: {problem} {other} {{name}}", name="{problem}" + name, problem=problem)
    assert filled == "{problem}" + name + ": " + problem + " {other} {{problem}" + name + "}"


@given(st.text())
def test_a_text_without_placeholders_stays_as_it_is(text: str) -> None:
    assert fill(text) == text
