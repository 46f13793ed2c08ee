"""The tools of a chat: they answer, they refuse in words, and nothing keeps them busy."""

import re

import pytest
from turnfold.shells.cli.builtin_tools import BUILTIN_TOOLS, calculator, current_time


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("6 * 7", "42"),
        ("-(3 + 4) * 2 ** 10", "-7168"),
        (" 7 // 2 + 7 % 2 - +1 ", "3"),
        ("1 / 4", "0.25"),
        ("2 ** -1", "0.5"),
        ("10 ** 100", "1" + "0" * 100),
    ],
)
def test_the_calculator_works_out(expression: str, value: str) -> None:
    assert calculator(expression) == value


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "this is no arithmetic expression"),
        ("2 +", "this is no arithmetic expression"),
        ("__import__('os')", "this is no arithmetic expression"),
        ("(1).__class__", "this is no arithmetic expression"),
        ("'a' * 3", "this is no arithmetic expression"),
        ("True + 1", "this is no arithmetic expression"),
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "the result is too large"),
        ("9.0 ** 999", "the result is too large"),
        ("*".join(["10 ** 900"] * 20), "the result is too large"),
        ("(-1) ** 0.5", "the result is no real number"),
        ("1" * 2000, "the expression has 2000 characters, and 1000 are allowed"),
        ("(" * 450 + "1" + ")" * 450, "this is no arithmetic expression"),
    ],
)
def test_the_calculator_refuses_in_words(expression: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        calculator(expression)


def test_the_clock_knows_zones_and_refuses_others() -> None:
    assert re.fullmatch(r"\w+day, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", current_time())
    for zone in ("Mars/Olympus", "../etc/passwd", ""):
        with pytest.raises(ValueError, match="there is no time zone"):
            current_time(zone)


def test_they_may_be_called_again_after_a_crash() -> None:
    assert [(tool.spec.name, tool.spec.replayable, tool.spec.side_effects) for tool in BUILTIN_TOOLS] == [
        ("current_time", True, False),
        ("calculator", True, False),
    ]
