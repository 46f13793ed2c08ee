"""The mutation check checked: mutants are made, known by what they change, put in place, and told apart or not."""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutation import explained
from tests.mutation.changes import edits
from tests.mutation.mutants import CannotBePlaced, Mutant, Source
from tests.mutation.trial import Known, Trial, Verdict, fork
from tests.mutation.watching import watched

CODE = '''
from enum import Enum

class Colour(Enum):
    RED = 1
    GREEN = 2

class Kept:
    count: int = 3

def of(state: int, step: int = 1) -> int:
    """A docstring, which is left alone."""
    if step > 0 and state is not None:
        return of(state, step - 1) + 10
    match step:
        case 0 | 2:
            return state - 1
        case _:
            return state

def colour() -> Colour:
    return Colour.RED

def kind(value: object) -> bool:
    assert value is not None
    return isinstance(value, int | str)

TABLE: dict = {"a": 1, "b": 2}
'''


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """The code above as a loaded module."""
    (tmp_path / "mutated.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("mutated")
    yield Source("mutated.py", module, CODE)
    del sys.modules["mutated"]


def named(source: Source, was: str, now: str) -> Mutant:
    (found,) = [mutant for mutant in source.mutants() if (mutant.was, mutant.now) == (was, now)]
    return found


def test_the_usual_slips_are_made(source: Source) -> None:
    told = {(mutant.was, mutant.now) for mutant in source.mutants()}
    assert told >= {
        ("if step > 0 and state is not None:", "if True:"),
        ("step > 0 and state is not None", "step > 0 or state is not None"),
        ("step > 0", "step >= 0"),
        ("state is not None", "state is None"),
        ("of(state, step - 1)", "state"),
        ("step - 1", "step + 1"),
        ("case 0 | 2: ...", ""),
        ("0 | 2", "2"),
        ("return Colour.RED", "return Colour.GREEN"),
        ("isinstance(value, int | str)", "isinstance(value, str)"),
        ("state: int, step: int=1", "state: int, step: int=2"),
        ("count: int = 3", "count: int = 4"),
        ("{'a': 1, 'b': 2}", "{'b': 2}"),
    }


def test_assertions_and_docstrings_are_left_alone(source: Source) -> None:
    assert not [mutant for mutant in source.mutants() if "assert" in mutant.was or "docstring" in mutant.was]


def test_every_mutant_differs_and_has_a_name_of_its_own(source: Source) -> None:
    mutants = list(source.mutants())
    assert len({mutant.key for mutant in mutants}) == len(mutants)
    assert all(mutant.was != mutant.now for mutant in mutants)


def test_the_name_of_a_mutant_survives_that_lines_move(source: Source) -> None:
    moved = Source("mutated.py", source.module, "\n\n# Moved.\n" + CODE)
    assert [mutant.key for mutant in moved.mutants()] == [mutant.key for mutant in source.mutants()]
    assert [mutant.line for mutant in moved.mutants()] == [mutant.line + 3 for mutant in source.mutants()]


def test_a_change_is_taken_back() -> None:
    tree = ast.parse(CODE)
    before = ast.dump(tree)
    for statement in tree.body:
        for edit in edits(statement, {}):
            with edit:
                assert ast.dump(tree) != before
            assert ast.dump(tree) == before


@pytest.mark.parametrize(
    ("was", "now", "ask", "before", "after"),
    [
        ("of(state, step - 1) + 10", "of(state, step - 1) - 10", "of(1, 1)", 10, -10),
        ("state: int, step: int=1", "state: int, step: int=2", "of(0)", 9, 19),
        ("count: int = 3", "count: int = 4", "Kept().count", 3, 4),
        ("{'a': 1, 'b': 2}", "{'b': 2}", "len(TABLE)", 2, 1),
        ("return Colour.RED", "return Colour.GREEN", "colour().name", "RED", "GREEN"),
    ],
)
def test_a_mutant_is_put_in_place(source: Source, was: str, now: str, ask: str, before: object, after: object) -> None:
    mutant = named(source, was, now)
    assert eval(ask, vars(source.module)) == before
    mutant.put_in_place()
    assert eval(ask, vars(source.module)) == after


def test_what_is_no_valid_code_cannot_be_put_in_place(source: Source) -> None:
    mutant = named(source, "0 | 2", "2")
    mutant.edit.swaps[0] = (mutant.edit.swaps[0][0], "patterns", [ast.MatchAs(None, "x"), ast.MatchAs(None, "y")])
    with pytest.raises(CannotBePlaced):
        mutant.put_in_place()


def check(mutant: Mutant, ask: str, seconds: float = 0.001, line: int | None = None) -> Known:
    """A test of the code above: an expression that holds."""
    reached = frozenset({(mutant.file, mutant.reach if line is None else line)})
    return Known(ask, reached, seconds, lambda: bool(eval(ask, vars(mutant.source.module))))


def tried(mutant: Mutant, *tests: Known) -> Verdict:
    """What becomes of a mutant that meets these tests."""
    trial = Trial([mutant], jobs=1, budget=1)
    pid, answer = fork(mutant, tests)
    trial.collect({pid: (mutant, list(tests), answer)})
    (verdict,) = trial.verdicts
    return verdict


def test_a_killed_and_a_surviving_mutant_are_told_apart(source: Source) -> None:
    mutant = named(source, "of(state, step - 1) + 10", "of(state, step - 1) - 10")
    killed = tried(mutant, check(mutant, "of(1, 0) == 0"), check(mutant, "of(1, 1) == 10"))
    assert (killed.killed, killed.how) == (True, "of(1, 1) == 10")
    alive = tried(mutant, check(mutant, "of(1, 0) == 0"), check(mutant, "of(1, 1) != 12"))
    assert (alive.killed, alive.how) == (False, "passed 2 tests")
    assert eval("of(1, 1)", vars(source.module)) == 10


def test_a_mutant_that_hangs_is_told_apart(source: Source) -> None:
    mutant = named(source, "of(state, step - 1) + 10", "of(state, step - 1) - 10")
    hanging = Known("hangs", frozenset(), -0.45, lambda: bool([1 for _ in iter(int, 1)]))
    assert tried(mutant, hanging).killed


def test_only_tests_that_reach_a_mutant_meet_it_and_the_fastest_first(source: Source) -> None:
    mutant = named(source, "of(state, step - 1) + 10", "of(state, step - 1) - 10")
    slow, fast = check(mutant, "slow", 0.2), check(mutant, "fast", 0.1)
    far = check(mutant, "far", line=1)
    trial = Trial([mutant], jobs=1, budget=1)
    assert trial.tests_for(mutant, [slow, far, fast]) == [fast, slow]


def test_what_is_reached_is_seen(source: Source) -> None:
    lines = {mutant.function: mutant.reach for mutant in source.mutants() if "isinstance" in mutant.was}
    with watched([source]) as reached:
        assert eval("(of(2, 0), of(0))", vars(source.module)) == (1, 9)
        seen = {line for _, line in reached()}
        assert eval("kind('a')", vars(source.module))
        assert lines["kind"] in {line for _, line in reached()}
    told = CODE.splitlines()
    assert {told[line - 1].strip() for line in seen} == {
        "if step > 0 and state is not None:",
        "return of(state, step - 1) + 10",
        "match step:",
        "return state - 1",
    }
    assert eval("of(0)", vars(source.module)) == 9
    assert reached() == frozenset()


def test_the_tests_of_one_mutant_stay_within_its_budget(source: Source) -> None:
    mutant = named(source, "of(state, step - 1) + 10", "of(state, step - 1) - 10")
    tests = [check(mutant, "a", 0.4), check(mutant, "b", 0.5), check(mutant, "c", 0.6)]
    assert Trial([mutant], jobs=1, budget=1).tests_for(mutant, tests) == tests[:2]


def test_an_explanation_needs_a_reason_and_a_mutant(source: Source, tmp_path: Path) -> None:
    mutant = named(source, "of(state, step - 1) + 10", "of(state, step - 1) - 10")
    entry = f'file = "mutated.py"\nfunction = "of"\nwas = "{mutant.was}"\nnow = "{mutant.now}"\n'
    path = tmp_path / "explained.toml"
    path.write_text(f'[[mutant]]\n{entry}why = "nobody asks"\n')
    entries = explained.read(path)
    assert mutant.key in entries
    assert explained.stale(entries.values(), [mutant], ["mutated.py"]) == []
    assert [one.key for one in explained.stale(entries.values(), [], ["mutated.py"])] == [mutant.key]
    path.write_text(f"[[mutant]]\n{entry}")
    with pytest.raises(ValueError, match="gives no reason"):
        explained.read(path)
