"""What the agent loop says to a model: the same in both languages, and every placeholder is filled."""

import re

import attrs
import pytest
from turnfold.core.agent import CHINESE, ENGLISH, AgentWords

NAMES = [field.name for field in attrs.fields(AgentWords)]


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_have_the_same_placeholders(name: str) -> None:
    """Decision 36."""
    english, chinese = (re.findall(r"\{(\w+)\}", getattr(words, name)) for words in (ENGLISH, CHINESE))
    assert sorted(english) == sorted(chinese)
    assert getattr(ENGLISH, name) != getattr(CHINESE, name)
