"""Checking values against a JSON Schema: what a checker is asked, and what it answers.

A checker is a pure callable that is handed to the fold (decision 48), not a port: a library does the checking, and says
no more than yes or no; the core finds out where and why. What crosses the border here is JSON as Python has it: None,
booleans, numbers, texts, lists, and dicts with texts for names.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

__all__ = ["Document", "Schema", "SchemaChecker", "SchemaError", "Way"]

Document = Mapping[str, Any] | bool
"""A JSON Schema as data: draft 2020-12 (and ``dependencies``). It refers to places in itself only, by JSON pointers in
fragments (``#/$defs/point``). Members that the draft does not know mean nothing."""

Way = tuple[str | int, ...]
"""The way to a place in a value or a document: names and indices."""


class Schema(Protocol):
    """A document that is ready to check values."""

    def accepts(self, value: Any, at: Way = ()) -> bool:
        """Whether a value meets the schema that lies at a place in the document. No value and no schema may hang it."""
        ...


SchemaChecker = Callable[[Document], Schema]
"""Makes a document ready. Raises ``SchemaError`` when it is no schema, or holds something that cannot be checked."""


class SchemaError(ValueError):
    """A schema that cannot be used. ``where`` is the way to what is wrong, ``problem`` says what it is."""

    def __init__(self, where: Way, problem: str) -> None:
        place = ".".join(map(str, where))
        super().__init__(f"the schema cannot be used: {place + ': ' if place else ''}{problem}")
        self.where = where
        self.problem = problem
