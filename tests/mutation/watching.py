"""Which statements are reached: while ``watched`` is entered, every statement of some modules leaves its line behind.

The code of their functions is replaced by the same code with a note before each statement, which costs far less than a
trace function would.
"""

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from .mutants import Source, codes, functions, statements

NOTES = "_statements_reached"

Reached = Callable[[], frozenset[tuple[str, int]]]
"""What was reached, as (file, line), since this was last asked."""


@contextmanager
def watched(sources: Iterable[Source]) -> Iterator[Reached]:
    """Watch these modules until it is left."""
    notes: dict[str, set[int]] = {}
    before = []
    for source in sources:
        notes[source.file] = set()
        setattr(source.module, NOTES, notes[source.file])
        module = compile(_noting(source.tree), source.module.__file__ or "", "exec", dont_inherit=True)
        noting = {code.co_qualname: code for code in codes(module)}
        for name, function in functions(source.module).items():
            if name in noting:
                before.append((function, function.__code__))
                function.__code__ = noting[name]

    def reached() -> frozenset[tuple[str, int]]:
        found = frozenset((file, line) for file, lines in notes.items() for line in lines)
        for lines in notes.values():
            lines.clear()
        return found

    try:
        yield reached
    finally:
        for function, code in before:
            function.__code__ = code


def _noting(tree: ast.Module) -> ast.Module:
    """The tree with a note before each statement inside of functions."""
    tree = copy.deepcopy(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in list(ast.walk(node)):
                _note(inner)
    return ast.fix_missing_locations(tree)


def _note(node: ast.AST) -> None:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list) and body and not _is_note(statements(body)[0]):
            kept = statements(body)
            noted = [one for statement in kept for one in (_line(statement), statement)]
            setattr(node, field, [*body[: len(body) - len(kept)], *noted])


def _line(statement: ast.stmt) -> ast.stmt:
    note = ast.parse(f"{NOTES}.add({statement.lineno})").body[0]
    return ast.copy_location(note, statement)


def _is_note(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and ast.unparse(statement).startswith(NOTES)
