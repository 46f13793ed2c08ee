"""What ``effects`` and ``core`` may name: a short list of pure modules, and nothing that waits, draws or looks outside.

The rules read the source; what is really loaded is looked at in ``test_loading``.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.rules.tree import ROOMS, Module, imports, modules, read

THIRD_PARTY = ("attrs", "cattrs", "msgspec")
STANDARD = frozenset(
    [
        "base64",
        "collections",
        "collections.abc",
        "enum",
        "functools",
        "hashlib",
        "itertools",
        "math",
        "operator",
        "typing",
    ]
)
# Modules that are allowed in some places only, or with one name only.
TEXT_ONLY = {"re": ("core/arguments", "core/text", "effects/transcript")}
ONE_NAME = {"contextlib": "AbstractAsyncContextManager"}
BUILTINS_THAT_REACH_OUT = frozenset(
    ["__import__", "breakpoint", "compile", "eval", "exec", "exit", "globals", "hash", "input", "open", "print", "quit"]
)
WAITING = (ast.Await, ast.AsyncFor, ast.AsyncWith)


def wrong_imports(module: Module) -> Iterator[str]:
    """What a module of ``effects`` or ``core`` imports and may not."""
    depth = module.name.count("/")
    for found in imports(module):
        name = found.module
        if found.level > depth + 1:
            yield f"{module.name}:{found.line} reaches out of the product"
        if found.level or name.split(".")[0] in THIRD_PARTY or name in STANDARD:
            continue
        if name in TEXT_ONLY and module.name.startswith(TEXT_ONLY[name]):
            continue
        if name in ONE_NAME and found.name == ONE_NAME[name]:
            continue
        yield f"{module.name}:{found.line} may not import {name}"


def wrong_code(module: Module) -> Iterator[str]:
    """What a module of ``effects`` or ``core`` does that only a shell or an adapter may."""
    promised = _methods_of_protocols(module) if module.name.startswith("effects/") else set[int]()
    for node in ast.walk(module.tree):
        where = f"{module.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.AsyncFunctionDef) and id(node) not in promised:
            yield f"{where} declares {node.name} async, which only a Protocol in effects may"
        if isinstance(node, WAITING) or (isinstance(node, ast.comprehension) and node.is_async):
            yield f"{where} waits"
        if isinstance(node, ast.Call) and _reaches_out(node.func, module):
            yield f"{where} calls {_called(node.func)}"
        if isinstance(node, ast.For | ast.comprehension) and _is_set(node.iter):
            yield f"{where} goes through a set, whose order is not the same in every process"


def _methods_of_protocols(module: Module) -> set[int]:
    return {
        id(method)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and any(_called(base) == "Protocol" for base in node.bases)
        for method in node.body
    }


def _reaches_out(function: ast.expr, module: Module) -> bool:
    """``hash`` differs between processes, so it may only serve a ``__hash__``."""
    if not isinstance(function, ast.Name) or function.id not in BUILTINS_THAT_REACH_OUT:
        return False
    owners = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef) and node.name == "__hash__"]
    return function.id != "hash" or not any(function is inner for owner in owners for inner in ast.walk(owner))


def _is_set(node: ast.expr) -> bool:
    return isinstance(node, ast.Set | ast.SetComp) or _called(node) in ("set", "frozenset")


def _called(node: ast.expr) -> str | None:
    """The plain name of what is called or subscripted: ``set`` of ``set(x)``, ``Protocol`` of ``Protocol[T]``."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def absolute_imports_of_ourselves(module: Module) -> Iterator[str]:
    """Where the product names itself, or its tests, other than relatively."""
    for found in imports(module):
        if not found.level and found.module.split(".")[0] in ("turnfold", "tests", *ROOMS):
            yield f"{module.name}:{found.line} imports {found.module}"


def test_the_inner_rooms_import_only_what_is_pure() -> None:
    assert [problem for module in modules("effects", "core") for problem in wrong_imports(module)] == []


def test_the_inner_rooms_neither_wait_nor_look_outside() -> None:
    assert [problem for module in modules("effects", "core") for problem in wrong_code(module)] == []


def test_the_product_imports_itself_relatively() -> None:
    """So that whatever reads the tree sees the arrows, installed or not."""
    assert [problem for module in modules() for problem in absolute_imports_of_ourselves(module)] == []
    assert list(absolute_imports_of_ourselves(read("shells/agent.py", "import trio, turnfold.core")))


def test_there_is_something_to_look_at() -> None:
    names = {module.name for module in modules("effects", "core")}
    assert {"effects/vocabulary.py", "core/__init__.py"} <= names


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path",
        "from random import random",
        "import asyncio",
        "import re",
        "import json",
        "import dataclasses",
        "from contextlib import contextmanager",
        "import contextlib",
        "import collections.abc, time",
        "def f():\n    import logging",
        "from ....tests import strategies",
    ],
)
def test_a_wrong_import_is_found(source: str) -> None:
    assert list(wrong_imports(read("core/run/state.py", source)))


def test_a_right_import_is_let_pass() -> None:
    source = "import attrs, cattrs.gen\nfrom collections.abc import Mapping\nfrom ...effects.record import Block\n"
    assert not list(wrong_imports(read("core/run/state.py", source)))
    assert not list(wrong_imports(read("core/text/words.py", "import re")))
    assert not list(wrong_imports(read("effects/feed.py", "from contextlib import AbstractAsyncContextManager")))


@pytest.mark.parametrize(
    "source",
    [
        "async def f(): pass",
        "class Port(Protocol):\n    async def f(self): ...",
        "def f():\n    return [x async for x in y]",
        "print(1)",
        "key = hash('a')",
        "for x in {1, 2}: pass",
        "y = [x for x in set(z)]",
        "def f():\n    for x in frozenset(z): pass",
    ],
)
def test_wrong_code_is_found(source: str) -> None:
    assert list(wrong_code(read("core/run/state.py", source)))


def test_effects_may_promise_what_others_wait_for() -> None:
    port = "class Port(Protocol):\n    async def f(self) -> None: ...\n"
    assert not list(wrong_code(read("effects/tool.py", port)))
    assert list(wrong_code(read("effects/tool.py", port.replace("(Protocol)", ""))))
    assert list(wrong_code(read("effects/tool.py", port + "async def g(): pass")))
    assert list(wrong_code(read("effects/tool.py", port.replace("...", "await other()"))))
    assert not list(wrong_code(read("effects/values.py", "class A:\n    def __hash__(self): return hash(1)")))
