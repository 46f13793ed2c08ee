"""What the documents promise can be run, and what in them is made from the code is up to date."""

import re

import pytest
from turnfold.core.extensions.spans import SCHEMA

from tests.rules.marked import MAKERS, documents, marked, rewritten
from tests.rules.tree import ROOT

COMMANDS = ["pip install . && turnfold demo", "pip install '.[test]' && pytest"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_shows_the_commands_that_ci_runs(command: str) -> None:
    blocks = re.findall(r"^```\w*\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert command in [line.strip() for block in blocks for line in block.splitlines()]
    assert command in (ROOT / ".ci" / "run").read_text()


def test_what_is_made_from_the_code_is_up_to_date() -> None:
    for document in documents():
        text = document.read_text()
        assert rewritten(text, MAKERS) == text, f"{document.name}: run python -m tests.rules.marked"


def test_everything_that_can_be_made_is_shown_somewhere_once() -> None:
    shown = [name for document in documents() for name in marked(document.read_text())]
    assert sorted(shown) == sorted(MAKERS)


def test_the_readme_names_the_version_of_the_conventions_that_spans_follow() -> None:
    assert f"GenAI conventions ({SCHEMA.rpartition('/')[2]})" in (ROOT / "README.md").read_text()


def test_links_between_the_documents_lead_somewhere() -> None:
    for document in documents():
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_a_part_is_made_anew_between_its_marks() -> None:
    old = "a\n<!-- made by x -->\nold\nold\n<!-- end of x -->\nb\n<!-- made by y-z -->\n<!-- end of y-z -->\n"
    new = "a\n<!-- made by x -->\n| 1 |\n<!-- end of x -->\nb\n<!-- made by y-z -->\n2\n<!-- end of y-z -->\n"
    makers = {"x": lambda: "| 1 |\n", "y-z": lambda: "2"}
    assert marked(old) == {"x": "old\nold\n", "y-z": ""}
    assert rewritten(old, makers) == new
    assert rewritten(new, makers) == new
    with pytest.raises(KeyError):
        rewritten(old, {})
