"""Mutants: every change to the functions, the field defaults and the tables of a module, and how one is put in place.

A mutant is made in the running process: the changed module is compiled, and the code of the one function that differs
takes the place of the code that was there. Nothing is imported anew, so everybody who holds the function runs the
mutant. What is changed outside of functions (defaults of fields, tables of a module) is changed where it is kept.
"""

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs

from .changes import Edit, edits

ROOT = Path(__file__).resolve().parents[2]


class CannotBePlaced(Exception):
    """A change that the running process cannot take, such as one that is no valid code."""


@attrs.frozen(eq=False)
class Mutant:
    """One change: in ``function`` of ``file``, ``was`` reads ``now``; ``nth`` counts those that read the same.

    ``reach`` is the line of the statement that a test runs if it meets the change, 0 where no line tells.
    """

    file: str
    function: str
    line: int
    reach: int
    was: str
    now: str
    nth: int
    edit: Edit
    source: "Source"

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What it is known by; lines may move."""
        return self.file, self.function, self.was, self.now, self.nth

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: `{self.was}` -> `{self.now}`"

    def put_in_place(self) -> None:
        """Change the running code, for good; raises ``CannotBePlaced``."""
        with self.edit:
            self.source.place(self.function, self.edit.unit)


class Source:
    """A module's source, its tree, and the module itself."""

    def __init__(self, file: str, module: ModuleType, text: str) -> None:
        self.file = file
        self.module = module
        self.tree = ast.parse(text)

    @classmethod
    def of(cls, file: str) -> "Source":
        """A module of the product, by its path from the root."""
        return cls(file, importlib.import_module(_dotted(file)), (ROOT / file).read_text())

    def mutants(self) -> Iterator[Mutant]:
        """All of them, in the order of the code."""
        counts: dict[tuple[str, str, str], int] = {}
        for name, root in _roots(self.tree, ""):
            for edit in edits(root, vars(self.module)):
                was = _text(edit.was)
                with edit:
                    now = _text(edit.now) if edit.now is not None else ""
                nth = counts[name, was, now] = counts.get((name, was, now), 0) + 1
                line = getattr(edit.was, "lineno", edit.unit.lineno)
                yield Mutant(self.file, name, line, _reach(root, edit.unit), was, now, nth, edit, self)

    def place(self, name: str, unit: ast.AST) -> None:
        """Put what the tree says now in the place of what runs."""
        ast.fix_missing_locations(self.tree)
        try:
            code = compile(self.tree, self.module.__file__ or self.file, "exec", dont_inherit=True)
        except (SyntaxError, TypeError, ValueError) as error:
            raise CannotBePlaced(str(error)) from error
        if isinstance(unit, ast.AnnAssign | ast.Assign) and name not in functions(self.module):
            _place_outside(self.module, name, unit)
            return
        function = functions(self.module)[name]
        try:
            function.__code__ = next(one for one in codes(code) if one.co_qualname == name)
        except ValueError as error:
            raise CannotBePlaced(str(error)) from error
        if isinstance(unit, ast.FunctionDef | ast.AsyncFunctionDef) and unit.args.defaults:
            defaults = [eval(_compiled(node), function.__globals__) for node in unit.args.defaults]
            function.__defaults__ = tuple(defaults)


def _dotted(file: str) -> str:
    return ".".join(("turnfold", *file.removesuffix(".py").removesuffix("/__init__").split("/")))


def _roots(parent: ast.AST, path: str) -> Iterator[tuple[str, Any]]:
    """What may be changed: functions, fields with plain defaults, and a module's tables, with their names."""
    for node in ast.iter_child_nodes(parent):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield path + name, node
            case ast.ClassDef(name=name):
                yield from _roots(node, f"{path}{name}.")
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant() | ast.Dict()):
                yield path + name, node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()) if not path and name.isupper():
                yield name, node
            case _:
                pass


def _reach(root: ast.stmt, unit: ast.stmt) -> int:
    if not isinstance(root, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    return statements(root.body)[0].lineno if unit is root else unit.lineno


def statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body without its docstring, unless that is all there is."""
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] if documented and len(body) > 1 else body


def _text(node: ast.AST) -> str:
    """A node on one line, without what is inside of its blocks."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            text = ast.unparse(node.args)
        case ast.ExceptHandler():
            # How an exception is caught may have changed, or that it is let through.
            text = ast.unparse(_shell(ast.Try([ast.Pass()], [node], [], []))).removeprefix("try:\n    pass\n")
        case ast.match_case():
            case = ast.match_case(node.pattern, node.guard, [ast.Expr(ast.Constant(...))])
            text = ast.unparse(_shell(ast.Match(ast.Name("_"), [case]))).removeprefix("match _:")
        case ast.If() | ast.While() | ast.For() | ast.Match() | ast.With() | ast.Try():
            text = ast.unparse(node).partition("\n")[0]
        case _:
            text = ast.unparse(_shell(node))
    return " ".join(text.split())


def _shell(node: ast.AST) -> ast.AST:
    """A node that was just made, as one that can be read."""
    return ast.fix_missing_locations(node)


def _compiled(node: ast.expr) -> CodeType:
    return compile(ast.Expression(node), "<default>", "eval")


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of everything that is defined in some code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def functions(module: ModuleType) -> dict[str, FunctionType]:
    """The functions written in a module, by their qualified names."""
    found: dict[str, FunctionType] = {}

    def look(value: object) -> None:
        if isinstance(value, property):
            value = value.fget
        value = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else value
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            found.setdefault(value.__code__.co_qualname, value)

    for value in vars(module).values():
        look(value)
        if isinstance(value, type) and value.__module__ == module.__name__:
            for member in vars(value).values():
                look(member)
    return found


def _place_outside(module: ModuleType, name: str, unit: ast.AnnAssign | ast.Assign) -> None:
    """Another default of a field, or another table of the module."""
    assert unit.value is not None
    value = eval(_compiled(unit.value), vars(module))
    owner, _, member = name.rpartition(".")
    if owner:
        _place_default(getattr(module, owner), member, value)
        return
    old = vars(module)[name]
    if isinstance(old, dict):
        old.clear()
        old.update(value)
        return
    for other in [one for one in sys.modules.values() if getattr(one, "__name__", "").startswith("turnfold")]:
        for held in [held for held, what in vars(other).items() if what is old]:
            setattr(other, held, value)


def _place_default(owner: type, member: str, value: object) -> None:
    make: Any = owner.__dict__.get("__init__")
    if make is None or member not in inspect.signature(make).parameters:
        setattr(owner, member, value)
        return
    names = [one.name for one in inspect.signature(make).parameters.values() if one.default is not inspect._empty]
    defaults = list(make.__defaults__)
    defaults[names.index(member)] = value
    make.__defaults__ = tuple(defaults)
