"""Docstrings in the Google style, read as they are really written."""

import pytest
from turnfold.adapters.tools.docstring import read_docstring


@pytest.mark.parametrize("docstring", [None, "", "   \n  "])
def test_no_docstring_says_nothing(docstring: str | None) -> None:
    assert read_docstring(docstring) == ("", {})


def test_text_without_a_section_is_kept_whole() -> None:
    assert read_docstring("Do it.\n\n    Args are none: really.\n    ") == ("Do it.\n\nArgs are none: really.", {})


@pytest.mark.parametrize("word", ["Args", "Arguments", "Parameters"])
def test_the_section_may_have_any_of_its_names(word: str) -> None:
    assert read_docstring(f"Do it.\n\n    {word}:\n        a: one\n    ") == ("Do it.", {"a": "one"})


def test_what_comes_after_the_section_stays_in_the_text() -> None:
    text, described = read_docstring(
        """Do it.

        Args:
            a (int, optional): one,

                and two
            b:
                on its own line: with a colon
        Returns:
            a: not a parameter
        """
    )
    assert text == "Do it.\n\nReturns:\n    a: not a parameter"
    assert described == {"a": "one, and two", "b": "on its own line: with a colon"}


def test_a_line_that_describes_nothing_belongs_to_the_one_before() -> None:
    assert read_docstring("Do.\n\nArgs:\n    stray\n    a: one\n    more of it\n\n") == (
        "Do.",
        {"a": "one more of it"},
    )


def test_an_empty_section_is_no_trouble() -> None:
    assert read_docstring("Do it.\n\nArgs:\n") == ("Do it.", {})
    assert read_docstring("Do it.\n\nArgs:\nReturns:\n    one") == ("Do it.\n\nReturns:\n    one", {})
