"""Every case of the acceptance list is pinned by a test that names it.

A case is named in a test's docstring, or by the contract suites, which hosts run too: theirs begin with ``J4`` or
``F1`` for JC-04 and FC-01.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.rules.tree import ROOT


def numbered(prefix: str, *numbers: int) -> list[str]:
    return [f"{prefix}-{number:02}" for number in numbers]


REQUIRED = [
    *numbered("RT", *range(1, 27)),
    # Sub-agents and their tools come later: DC-05 and DC-13.
    *numbered("DC", *range(1, 5), *range(6, 13), *range(14, 18)),
    *numbered("HO", 4, 5),
    *numbered("JC", *range(1, 16)),
    *numbered("FC", *range(1, 6)),
    *numbered("N", *range(1, 11), 12, 13, 14, 18, 19, 20, 21, 23, 24),
]

SUITES = "adapters/contracts"

_CASE = re.compile(r"\b(?:RT|DC|HO|JC|FC|N)-\d\d\b")
_RANGE = re.compile(r"\b([A-Z]+)-(\d\d) to \1-(\d\d)\b")
_OF_A_SUITE = re.compile(r"([JF])(\d+)\b")


def cases_of(docstring: str) -> Iterator[str]:
    """The cases that a test's docstring names, ranges written out."""
    yield from _CASE.findall(docstring)
    for prefix, first, last in _RANGE.findall(docstring):
        yield from numbered(prefix, *range(int(first), int(last) + 1))


def case_of_suite(docstring: str) -> Iterator[str]:
    """The case of the original suites that a contract pins: the one its docstring begins with."""
    found = _OF_A_SUITE.match(docstring)
    if found is not None:
        yield f"{found[1]}C-{int(found[2]):02}"


def named_in(source: str, suite: bool = False) -> Iterator[str]:
    """The cases that the tests of a module name; whatever is no test names nothing."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            docstring = ast.get_docstring(node) or ""
            yield from case_of_suite(docstring) if suite else cases_of(docstring)


def all_named() -> dict[str, list[str]]:
    """Each case that is named, and the modules that do."""
    found: dict[str, list[str]] = {}
    for room, pattern in (("tests", "test_*.py"), (SUITES, "*.py")):
        for path in sorted((ROOT / room).rglob(pattern)):
            for case in named_in(path.read_text(encoding="utf-8"), room == SUITES):
                found.setdefault(case, []).append(path.relative_to(ROOT).as_posix())
    return found


def test_every_case_is_named_by_a_test() -> None:
    named = all_named()
    assert [case for case in REQUIRED if case not in named] == []


def test_no_case_is_required_twice() -> None:
    assert len(set(REQUIRED)) == len(REQUIRED) == 26 + 15 + 2 + 15 + 5 + 19


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ('def test_it():\n    """RT-05: why."""', ["RT-05"]),
        ('async def test_it():\n    """RT-05, and N-13 and N-14 too."""', ["RT-05", "N-13", "N-14"]),
        ('def test_it():\n    """DC-02 to DC-04."""', ["DC-02", "DC-04", "DC-02", "DC-03", "DC-04"]),
        ('class TestIt:\n    def test_it(self):\n        """HO-04"""', ["HO-04"]),
        ('"""RT-05"""', []),
        ('def helper():\n    """RT-05"""', []),
        ("def test_it():\n    # RT-05\n    return 'RT-05'", []),
        ('def test_it():\n    """ART-05, RT-5, RT-055, XN-13."""', []),
        ('def test_it():\n    """J4."""', []),
    ],
)
def test_only_the_docstring_of_a_test_names_a_case(source: str, named: list[str]) -> None:
    assert list(named_in(source)) == named


@pytest.mark.parametrize(
    ("docstring", "named"),
    [("J4.", ["JC-04"]), ("J15: no id.", ["JC-15"]), ("F1.", ["FC-01"]), ("As J4.", []), ("RT-05", []), ("", [])],
)
def test_a_contract_begins_with_its_case(docstring: str, named: list[str]) -> None:
    assert list(named_in(f'def test_it(self):\n    """{docstring}"""', suite=True)) == named
