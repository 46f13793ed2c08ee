"""The checklist of ARCHITECTURE.md: every line names tests, and each of them exists."""

import ast
import functools
import re
from collections.abc import Iterator

import pytest

from tests.oracle.verdict import RULES
from tests.rules.tree import ROOT

LINES = 21
_ROW = re.compile(r"^\| (\w+) \|(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")


def part(name: str) -> str:
    """A part of ARCHITECTURE.md that is written by hand."""
    found = re.search(
        rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", (ROOT / "ARCHITECTURE.md").read_text(), re.DOTALL
    )
    assert found is not None, f"ARCHITECTURE.md has no part called {name}"
    return found[1]


def rows(table: str) -> dict[str, str]:
    """The rows of a table, by their first cell."""
    found = _ROW.findall(table)
    assert len(dict(found)) == len(found), "two rows have one name"
    return dict(found)


@functools.cache
def names_in(path: str) -> frozenset[str]:
    """The tests of a module: ``test_x``, or ``TestX::test_y``."""
    file = ROOT / path
    return frozenset(_tests(ast.parse(file.read_text()))) if file.is_file() else frozenset()


def _tests(parent: ast.Module | ast.ClassDef) -> Iterator[str]:
    for node in parent.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from (f"{node.name}::{name}" for name in _tests(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def missing(text: str) -> list[str]:
    """The tests that a text names and that do not exist."""
    named = [name.partition("::") for name in _TEST.findall(text)]
    return [f"{path}::{test}" for path, _, test in named if test not in names_in(path)]


def test_the_checklist_has_all_its_lines_in_order() -> None:
    assert list(rows(part("checklist"))) == [str(number) for number in range(1, LINES + 1)]


@pytest.mark.parametrize("number", [str(number) for number in range(1, LINES + 1)])
def test_every_line_names_tests_that_exist(number: str) -> None:
    row = rows(part("checklist"))[number]
    assert _TEST.findall(row)
    assert missing(row) == []
    assert row.count("tests/") == len(_TEST.findall(row)), "something that looks like a test is none"


def test_the_differences_are_the_letters_that_the_comparison_knows() -> None:
    """Decision 46: arguments are compared by a comparer of their own, whose one letter is h."""
    assert list(rows(part("differences"))) == sorted({*RULES, "h"})


def test_a_test_that_does_not_exist_is_found() -> None:
    here = "tests/rules/test_checklist.py"
    assert missing(f"`{here}::test_a_test_that_does_not_exist_is_found`") == []
    assert missing("`tests/core/arguments/test_wording.py::TestOrder::test_items_come_before_prefix_items`") == []
    gone = [
        f"{here}::test_nothing",
        f"{here}::missing",
        "tests/rules/test_nowhere.py::test_x",
        f"{here}::TestX::test_y",
    ]
    assert missing(" ".join(f"`{name}`" for name in gone)) == gone
