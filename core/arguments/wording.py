"""What a model is told about arguments that are not valid: which lines, in which order, in which words.

A checker says only that they are not; where and why is found out here, by asking it about parts of the value and of the
schema. So the lines depend on these two alone, and no more is looked at than is needed for the lines that are taken.
Read ``lines``, then ``_Lines.of``: lines go depth first through the schema, in a schema by the rank of its keywords
(``RANKS``), in ``properties`` and lists in the order of the schema, and else in the order of the value.

Most keywords that apply schemas leave it to these to say what is wrong. ``additionalProperties``, ``propertyNames``,
``else`` and unions sum up behind them; ``then``, ``not``, ``contains`` and what was left unevaluated say only that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...effects.schema import Document, Schema, SchemaChecker, Way
from .dialect import TUPLE, target_of
from .keywords import as_list, as_mapping
from .numbers import number_text
from .received import in_order

__all__ = ["RANKS", "Line", "lines"]

RANKS = (
    "type", "required", "additionalProperties", "dependencies", "dependentRequired", "dependentSchemas",
    "patternProperties", "properties", "propertyNames", "minProperties", "maxProperties", "additionalItems",
    "contains", "items", "maxContains", "maxItems", "minContains", "minItems", "prefixItems", "uniqueItems",
    "maxLength", "minLength", "format", "pattern", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum",
    "multipleOf", "$ref", "const", "enum", "if", "not", "allOf", "anyOf", "oneOf", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip

_SAYINGS: Mapping[str, Callable[[Any], str]] = {
    "type": lambda types: f"must be {types}" if isinstance(types, str) else f"must be either {' or '.join(types)}",
    "enum": lambda _: "must be equal to one of the allowed values",
    "const": lambda _: "must be equal to constant",
    "minLength": lambda limit: f"must not have fewer than {_number(limit)} characters",
    "maxLength": lambda limit: f"must not have more than {_number(limit)} characters",
    "minItems": lambda limit: f"must not have fewer than {_number(limit)} items",
    "maxItems": lambda limit: f"must not have more than {_number(limit)} items",
    "minProperties": lambda limit: f"must not have fewer than {_number(limit)} properties",
    "maxProperties": lambda limit: f"must not have more than {_number(limit)} properties",
    "uniqueItems": lambda _: "must not have duplicate items",
    "pattern": lambda pattern: f'must match pattern "{pattern}"',
    "format": lambda name: f'must match format "{name}"',
    "minimum": lambda limit: f"must be >= {_number(limit)}",
    "maximum": lambda limit: f"must be <= {_number(limit)}",
    "exclusiveMinimum": lambda limit: f"must be > {_number(limit)}",
    "exclusiveMaximum": lambda limit: f"must be < {_number(limit)}",
    "multipleOf": lambda divisor: f"must be multiple of {_number(divisor)}",
}
_UNEVALUATED = {"unevaluatedItems": "items", "unevaluatedProperties": "properties"}

Line = tuple[str, str]
"""The path of a part of the value (``root`` for all of it), and what must be true of it."""


def lines(document: Document, schema: Schema, checker: SchemaChecker, value: Any) -> Iterator[Line]:
    """What is wrong with a value that was not accepted, line by line: at least one."""
    found = _Lines(document, schema, checker).of(document, (), value, ())
    yield next(found, ("root", "must be valid"))
    yield from found


class _Lines:
    """The lines of one value. ``at`` is always the place of a schema, ``where`` that of the part of the value."""

    def __init__(self, document: Document, schema: Schema, checker: SchemaChecker) -> None:
        self._document = document
        self._schema = schema
        self._checker = checker

    def of(self, schema: Any, at: Way, value: Any, where: Way) -> Iterator[Line]:
        """What is wrong with a part of the value that a schema did not accept."""
        if schema is False:
            yield _path(where), "schema is false"
            return
        node: Mapping[str, Any] = as_mapping(schema) or {}
        place = _Place(node, at, value, where)
        said = False
        for keyword in sorted(node, key=lambda keyword: _rank(node, keyword)):
            if keyword in _UNEVALUATED and said:
                continue
            for line in self._by(keyword, place):
                said = True
                yield line

    def _by(self, keyword: str, place: "_Place") -> Iterator[Line]:
        if keyword in _SAYINGS:
            if not self._meets(keyword, place.node[keyword], place.value):
                yield place.line(_SAYINGS[keyword](place.node[keyword]))
        elif keyword in _HANDLERS:
            yield from _HANDLERS[keyword](self, place)

    def _meets(self, keyword: str, limit: Any, value: Any) -> bool:
        return self._checker({keyword: limit}).accepts(value)
