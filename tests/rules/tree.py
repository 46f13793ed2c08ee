"""The source tree as the rules see it: rooms, their modules, and what a module imports."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("effects", "core", "adapters", "shells")


@attrs.frozen
class Module:
    """One module of the product; ``name`` is its path from the root, such as ``core/run/state.py``."""

    name: str
    source: str = attrs.field(repr=False)
    tree: ast.Module = attrs.field(repr=False, eq=False)

    @property
    def dotted(self) -> str:
        """The name under which it is installed."""
        return ".".join(("turnfold", *self.name.removesuffix(".py").removesuffix("/__init__").split("/")))


@attrs.frozen
class Import:
    """One imported name: ``from collections import abc`` is module ``collections``, name ``abc``, level 0."""

    line: int
    module: str
    name: str | None
    level: int


@functools.cache
def modules(*rooms: str) -> tuple[Module, ...]:
    """The modules of rooms (of all, if none is named), in order of their names."""
    paths = sorted(path for room in rooms or ROOMS for path in (ROOT / room).rglob("*.py"))
    return tuple(read(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths)


def read(name: str, source: str) -> Module:
    """A module from its source."""
    return Module(name, source, ast.parse(source))


def imports(module: Module) -> Iterator[Import]:
    """Everything a module imports, wherever in it."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, None, 0)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import(node.lineno, node.module or "", alias.name, node.level)
