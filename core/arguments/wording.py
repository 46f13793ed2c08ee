"""What a model is told about arguments that are not valid: which lines, in which order, in which words.

A checker's own order and words depend on its version; these depend on the schema and the value alone. Read ``lines``
first. Lines go depth first through the schema: in a schema by the rank of its keywords (``RANKS``), in ``properties`` and
lists in the order of the schema, and else in the order of the value. Most keywords that apply schemas leave it to these to
say what is wrong; ``SUMMED_UP`` add a line of their own behind theirs, and ``OPAQUE`` have nothing but their own line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ...effects.schema import Document, Failure, Schema, Way
from ...effects.values import frozen
from .dialect import TUPLE, target_of
from .keywords import as_list, as_mapping
from .numbers import number_text
from .received import in_order

__all__ = ["OPAQUE", "RANKS", "SUMMED_UP", "lines"]

RANKS = (
    "type", "required", "additionalProperties", "dependencies", "dependentRequired", "dependentSchemas",
    "patternProperties", "properties", "propertyNames", "minProperties", "maxProperties", "additionalItems", "contains",
    "items", "maxContains", "maxItems", "minContains", "minItems", "prefixItems", "uniqueItems", "maxLength", "minLength",
    "format", "pattern", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf", "$ref", "const",
    "enum", "then", "else", "not", "allOf", "anyOf", "oneOf", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
SUMMED_UP = frozenset(["additionalProperties", "propertyNames", "else", "anyOf", "oneOf"])
OPAQUE = frozenset(["then", "not", "contains", "unevaluatedItems", "unevaluatedProperties"])

_COUNTED = frozenset(["contains", "minContains", "maxContains"])

# Keywords that apply schemas: whether these have names (or indices), and whether they are about parts of the value.
_APPLIES: Mapping[str, tuple[bool, bool]] = {
    "properties": (True, True),
    "patternProperties": (True, True),
    "additionalProperties": (False, True),
    "propertyNames": (False, True),
    "prefixItems": (True, True),
    "items": (False, True),
    "dependentSchemas": (True, False),
    "dependencies": (True, False),
    "allOf": (True, False),
    "anyOf": (True, False),
    "oneOf": (True, False),
    "$ref": (False, False),
    "else": (False, False),
}

_SAYINGS: Mapping[str, Callable[[Any], str]] = {
    "type": lambda types: f"must be {types}" if isinstance(types, str) else f"must be either {' or '.join(types)}",
    "additionalProperties": lambda _: "must not have additional properties",
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
    "contains": lambda _: "must contain at least 1 valid item",
    "minContains": lambda _: "must contain at least 1 valid item",
    "maxContains": lambda _: "must contain at least 1 valid item",
    "minimum": lambda limit: f"must be >= {_number(limit)}",
    "maximum": lambda limit: f"must be <= {_number(limit)}",
    "exclusiveMinimum": lambda limit: f"must be > {_number(limit)}",
    "exclusiveMaximum": lambda limit: f"must be < {_number(limit)}",
    "multipleOf": lambda divisor: f"must be multiple of {_number(divisor)}",
    "not": lambda _: "must not be valid",
    "anyOf": lambda _: "must match a schema in anyOf",
    "oneOf": lambda _: "must match exactly one schema in oneOf",
    "then": lambda _: 'must match "then" schema',
    "else": lambda _: 'must match "else" schema',
    "unevaluatedItems": lambda _: "must not have unevaluated items",
    "unevaluatedProperties": lambda _: "must not have unevaluated properties",
}

Line = tuple[str, str]
"""The path of a part of the value (``root`` for all of it), and what must be true of it."""


def lines(document: Document, schema: Schema, value: Any, failures: Iterable[Failure]) -> Iterator[Line]:
    """What is wrong with a value, line by line. ``failures`` are the checker's, in any order."""
    place = _Place(document, (), value, (), 0, tuple(failures))
    return _Lines(document, schema).of(place)


@frozen
class _Place:
    """A schema (which lies ``at`` a place of the document) and the part of the value that it is about (``where``).

    The rules of the ``failures`` that were found there lead here with their first ``depth`` steps.
    """

    schema: Any
    at: Way
    value: Any
    where: Way
    depth: int
    failures: tuple[Failure, ...]

    @property
    def node(self) -> Mapping[str, Any]:
        """The members of the schema."""
        return as_mapping(self.schema) or {}


@frozen
class _Lines:
    _document: Document
    _schema: Schema

    def of(self, place: _Place) -> Iterator[Line]:
        if any(len(failure.rule) == place.depth for failure in place.failures):
            yield _path(place.where), "schema is false"
            return
        failed: dict[str, list[Failure]] = {}
        for failure in place.failures:
            failed.setdefault(str(failure.rule[place.depth]), []).append(failure)
        if _COUNTED & failed.keys():
            failed = {keyword: [] for keyword in self._counted(place)} | {
                keyword: found for keyword, found in failed.items() if keyword not in _COUNTED
            }
        for keyword in sorted(failed, key=lambda keyword: _rank(place.node, keyword)):
            yield from self._by(keyword, place, failed[keyword])

    def _counted(self, place: _Place) -> Iterator[str]:
        """Which of the keywords fail that count certain items; checkers differ in which of them they name."""
        at, node = (*place.at, "contains"), place.node
        count = sum(self._schema.accepts(item, at) for item in as_list(place.value) or ())
        if count == 0 and node.get("minContains") != 0:
            yield "contains"
        if count > node.get("maxContains", count):
            yield "maxContains"
        if count < node.get("minContains", count):
            yield "minContains"

    def _by(self, keyword: str, place: _Place, failures: list[Failure]) -> Iterator[Line]:
        if keyword == "dependencies":
            yield from self._by_dependencies(place, failures)
            return
        if keyword in _APPLIES:
            named, inside = _APPLIES[keyword]
            below = [failure for failure in failures if not named or len(failure.rule) > place.depth + 1]
            if inside and any(len(failure.where) == len(place.where) for failure in below):
                # A checker gave up before it came to a part of the value.
                yield _path(place.where), f"must meet {keyword}"
                return
            if keyword == "items" and TUPLE in place.node:
                first = min(failure.where[len(place.where)] for failure in below)
                below = [failure for failure in below if failure.where[len(place.where)] == first]
            yield from self._below(keyword, place, below)
        if keyword not in _APPLIES or keyword in SUMMED_UP:
            yield from _own(keyword, place, failures)

    def _by_dependencies(self, place: _Place, failures: list[Failure]) -> Iterator[Line]:
        """Of these, some name members and some are schemas; each is said in its turn."""
        lists = {name: needed for name, needed, missing in _needed(place, "dependencies") if missing}
        for name in in_order(place.node["dependencies"]):
            if name in lists:
                yield _dependent(place, name, lists[name])
            below = [failure for failure in failures if failure.rule[place.depth + 1 : place.depth + 2] == (name,)]
            yield from self._below("dependencies", place, below)

    def _below(self, keyword: str, place: _Place, failures: list[Failure]) -> Iterator[Line]:
        named, inside = _APPLIES[keyword]
        schemas = place.node.get(keyword)
        by_name = _positions(schemas) if named else {}
        by_step = _positions(place.value) if inside else {}

        def step(failure: Failure) -> tuple[Any, Any]:
            name = failure.rule[place.depth + 1] if named else None
            return name, failure.where[len(place.where)] if inside else None

        def order(failure: Failure) -> tuple[int, int]:
            name, key = step(failure)
            return by_name.get(name, len(by_name)), by_step.get(key, len(by_step))

        for (name, key), found in groupby(sorted(failures, key=order), step):
            schema, at = _part(schemas, name) if named else schemas, (*place.at, keyword, *((name,) if named else ()))
            if keyword == "$ref":
                schema, at = target_of(self._document, place.node["$ref"])
            value = place.value
            if inside:
                value = key if keyword == "propertyNames" else _part(place.value, key)
            where = (*place.where, key) if inside else place.where
            yield from self.of(_Place(schema, at, value, where, place.depth + 1 + named, tuple(found)))


def _own(keyword: str, place: _Place, failures: list[Failure]) -> Iterator[Line]:
    """The lines of a keyword itself."""
    match keyword:
        case "required":
            yield from _missing(place)
        case "dependentRequired":
            for name, needed, missing in _needed(place, keyword):
                yield from [_dependent(place, name, needed)] * missing
        case "propertyNames":
            names = {failure.where[len(place.where)] for failure in failures}
            listed = ", ".join(name for name in in_order(place.value) if name in names)
            yield _path(place.where), f"property names {listed} are invalid"
        case _ if keyword in _SAYINGS:
            yield _path(place.where), _SAYINGS[keyword](place.node.get(keyword))
        case _:
            yield _path(place.where), f"must meet {keyword}"


def _missing(place: _Place) -> Iterator[Line]:
    value = as_mapping(place.value) or {}
    names = [name for name in place.node["required"] if name not in value]
    if names:
        path = ".".join(part for part in (_steps(place.where), names[0]) if part)
        yield path or "root", f"must have required properties {', '.join(names)}"


def _needed(place: _Place, keyword: str) -> Iterator[tuple[str, list[Any], int]]:
    """Each member that needs others: its name, those it needs, and how many of them are missing."""
    value = as_mapping(place.value) or {}
    for name in in_order(place.node[keyword]):
        needed = as_list(place.node[keyword][name])
        if needed is not None and name in value:
            yield name, needed, sum(other not in value for other in needed)


def _dependent(place: _Place, name: str, needed: list[Any]) -> Line:
    return _path(place.where), f"must have properties {', '.join(needed)} when property {name} is present"


def _rank(node: Mapping[str, Any], keyword: str) -> int:
    if TUPLE in node:
        keyword = {"prefixItems": "items", "items": "additionalItems"}.get(keyword, keyword)
    return RANKS.index(keyword) if keyword in RANKS else len(RANKS)


def _positions(value: Any) -> dict[Any, int]:
    """The names or indices of what lies in an object or list, each with its position."""
    mapping = as_mapping(value)
    return {step: index for index, step in enumerate(in_order(mapping) if mapping is not None else range(len(value)))}


def _part(value: Any, step: Any) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


def _path(where: Way) -> str:
    return _steps(where) or "root"


def _steps(where: Way) -> str:
    return ".".join(str(step).replace("/", ".") for step in where)


def _number(limit: Any) -> str:
    return number_text(limit) if isinstance(limit, int | float) else str(limit)
