"""Checking values against a JSON Schema: what a checker is asked, and what it answers.

A checker is a pure callable that is handed to the fold (decision 48), not a port: a library does the checking, and the
core words and orders what it finds. What crosses the border here is JSON as Python has it: None, booleans, numbers,
texts, lists, and dicts with texts for names.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .values import frozen

__all__ = ["Document", "Failure", "Schema", "SchemaChecker", "SchemaError", "Way"]

Document = Mapping[str, Any] | bool
"""A JSON Schema as data: draft 2020-12 (and ``dependencies``), with references to places in itself only, as JSON pointers
in fragments (``#/$defs/point``). Members that draft does not know mean nothing."""

Way = tuple[str | int, ...]
"""The way to a place in a value or a document: names and indices."""


@frozen
class Failure:
    """A keyword of a schema that a value does not meet.

    ``where`` is the way to the part of the value, ``rule`` the way to the keyword as the check went, so through ``$ref``
    and not to where it points. The rule of a ``false`` ends at that schema. A keyword that applies schemas fails with
    what they found in it; ``anyOf``, ``oneOf`` and ``not`` also by themselves. Of ``additionalProperties`` and
    ``propertyNames``, ``where`` includes the name.
    """

    where: Way
    rule: Way


class Schema(Protocol):
    """A document that is ready to check values."""

    def accepts(self, value: Any, at: Way = ()) -> bool:
        """Whether a value meets the schema, or the one that lies at a place in the document."""
        ...

    def failures(self, value: Any) -> tuple[Failure, ...]:
        """Everything that a value does not meet, in any order; nothing when it is accepted."""
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
