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
from ...effects.values import frozen
from .dialect import TUPLE, target_of
from .keywords import as_list, as_mapping
from .numbers import number_text
from .received import in_order

__all__ = ["RANKS", "Line", "Probe", "lines"]

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
# What evaluates parts of a value, in groups that depend on each other.
_EVALUATING = (
    ("properties", "patternProperties", "additionalProperties"),
    ("prefixItems", "items"),
    ("contains",),
    ("$ref",),
    ("allOf",),
    ("anyOf",),
    ("oneOf",),
    ("if", "then", "else"),
    ("dependentSchemas",),
    ("dependencies",),
)

Line = tuple[str, str]
"""The path of a part of the value (``root`` for all of it), and what must be true of it."""


class Probe:
    """What can be asked about a document: about the schemas in it, and about single keywords, each made ready once."""

    def __init__(self, document: Document, schema: Schema, checker: SchemaChecker) -> None:
        self.document = document
        self.schema = schema
        self._checker = checker
        self._single: dict[Way, Schema] = {}
        self._patterns: dict[str, Schema] = {}

    def accepts(self, value: Any, at: Way) -> bool:
        """Whether a value meets the schema at a place."""
        return self.schema.accepts(value, at)

    def meets(self, value: Any, at: Way, keyword: str, limit: Any) -> bool:
        """Whether a value meets one keyword alone; ``at`` is where it stands."""
        place = (*at, keyword)
        single = self._single.get(place)
        if single is None:
            single = self._single[place] = self._checker({keyword: limit})
        return single.accepts(value)

    def evaluates(self, value: Any, at: Way, keyword: str, node: Mapping[str, Any]) -> bool:
        """Whether nothing of a value is left unevaluated that may not be; what a failed keyword looked at is left."""
        place = (*at, keyword)
        ready = self._single.get(place)
        if ready is None:
            groups = [{name: node[name] for name in group if name in node} for group in _EVALUATING]
            parts = [{"anyOf": [group, True]} for group in groups if group]
            defs = (as_mapping(self.document) or {}).get("$defs", {})
            ready = self._checker({"allOf": [True, *parts], keyword: node[keyword], "$defs": defs})
            self._single[place] = ready
        return ready.accepts(value)

    def matches(self, name: str, pattern: str) -> bool:
        """Whether a regular expression matches a name."""
        ready = self._patterns.get(pattern)
        if ready is None:
            ready = self._patterns[pattern] = self._checker({"pattern": pattern})
        return ready.accepts(name)


@frozen
class _Place:
    """A schema, ``at`` a place in the document, and the part of the value (``where``) that it is about."""

    schema: Any
    at: Way
    value: Any
    where: Way

    @property
    def node(self) -> Mapping[str, Any]:
        """The members of the schema."""
        return as_mapping(self.schema) or {}

    @property
    def members(self) -> Mapping[str, Any]:
        """The members of the value, if it is an object."""
        return as_mapping(self.value) or {}

    @property
    def items(self) -> list[Any]:
        """The items of the value, if it is a list."""
        return as_list(self.value) or []

    def line(self, problem: str) -> Line:
        """A line about this part of the value."""
        return _path(self.where) or "root", problem


def lines(probe: Probe, value: Any) -> Iterator[Line]:
    """What is wrong with a value that the document did not accept, line by line: at least one."""
    found = _Lines(probe).of(_Place(probe.document, (), value, ()))
    yield next(found, ("root", "must be valid"))
    yield from found


class _Lines:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def of(self, place: _Place) -> Iterator[Line]:
        """What is wrong at a place."""
        if place.schema is False:
            yield place.line("schema is false")
            return
        for keyword in sorted(place.node, key=lambda keyword: _rank(place.node, keyword)):
            yield from self._by(keyword, place)

    def _by(self, keyword: str, place: _Place) -> Iterator[Line]:
        node = place.node
        match keyword:
            case "required":
                return self._by_required(place)
            case "additionalProperties":
                return self._by_additional(place)
            case "dependencies" | "dependentRequired" | "dependentSchemas":
                return self._by_dependents(keyword, place)
            case "patternProperties":
                return self._by_patterns(place)
            case "properties":
                names = (name for name in in_order(node[keyword]) if name in place.members)
                return self._below(self._part(place, (keyword, name), name) for name in names)
            case "propertyNames":
                return self._by_names(place)
            case "contains" | "minContains" | "maxContains":
                return self._by_count(keyword, place)
            case "items" | "prefixItems":
                return self._by_items(keyword, place)
            case "$ref":
                schema, at = target_of(self._probe.document, node["$ref"])
                return self._below([_Place(schema, at, place.value, place.where)])
            case "allOf":
                return self._below(self._branches(place, keyword))
            case "anyOf" | "oneOf":
                return self._by_union(keyword, place)
            case "if":
                return self._by_condition(place)
            case "not":
                return self._alone(self._accepts(place, "not"), place, "must not be valid")
            case "unevaluatedItems" | "unevaluatedProperties":
                wrong = not self._probe.evaluates(place.value, place.at, keyword, node)
                kind = keyword.removeprefix("unevaluated").lower()
                return self._alone(wrong, place, f"must not have unevaluated {kind}")
            case _:
                limit = node[keyword]
                wrong = keyword in _SAYINGS and not self._probe.meets(place.value, place.at, keyword, limit)
                return self._alone(wrong, place, _SAYINGS[keyword](limit) if wrong else "")

    def _alone(self, wrong: bool, place: _Place, problem: str) -> Iterator[Line]:
        if wrong:
            yield place.line(problem)

    def _accepts(self, place: _Place, *way: str | int) -> bool:
        """Whether the very value is accepted by a schema in the schema."""
        return self._probe.accepts(place.value, (*place.at, *way))

    def _below(self, places: Iterable[_Place]) -> Iterator[Line]:
        """The lines of those places where something is wrong."""
        for place in places:
            if not self._probe.accepts(place.value, place.at):
                yield from self.of(place)

    def _part(self, place: _Place, way: Way, step: str | int) -> _Place:
        """Where a schema in the schema meets a part of the value."""
        schema = place.node
        for name in way:
            schema = schema[name]  # type: ignore[index]
        return _Place(schema, (*place.at, *way), place.value[step], (*place.where, step))

    def _branches(self, place: _Place, keyword: str) -> list[_Place]:
        """The schemas of a list, each about the very value."""
        children = enumerate(place.node[keyword])
        return [_Place(child, (*place.at, keyword, index), place.value, place.where) for index, child in children]

    def _by_required(self, place: _Place) -> Iterator[Line]:
        if not isinstance(place.value, dict):
            return
        names = [name for name in place.node["required"] if name not in place.members]
        if names:
            path = ".".join(part for part in (_path(place.where), names[0]) if part)
            yield path or "root", f"must have required properties {', '.join(names)}"

    def _by_additional(self, place: _Place) -> Iterator[Line]:
        declared, patterns = place.node.get("properties", {}), place.node.get("patternProperties", {})
        others = [
            self._part(place, ("additionalProperties",), name)
            for name in in_order(place.members)
            if name not in declared and not any(self._probe.matches(name, pattern) for pattern in patterns)
        ]
        wrong = False
        for line in self._below(others):
            wrong = True
            yield line
        yield from self._alone(wrong, place, "must not have additional properties")

    def _by_patterns(self, place: _Place) -> Iterator[Line]:
        for pattern in in_order(place.node["patternProperties"]):
            names = (name for name in in_order(place.members) if self._probe.matches(name, pattern))
            yield from self._below(self._part(place, ("patternProperties", pattern), name) for name in names)

    def _by_names(self, place: _Place) -> Iterator[Line]:
        schema, at = place.node["propertyNames"], (*place.at, "propertyNames")
        wrong = [name for name in in_order(place.members) if not self._probe.accepts(name, at)]
        for name in wrong:
            yield from self.of(_Place(schema, at, name, (*place.where, name)))
        yield from self._alone(bool(wrong), place, f"property names {', '.join(wrong)} are invalid")

    def _by_dependents(self, keyword: str, place: _Place) -> Iterator[Line]:
        """Members that ask for others, or for a schema, when they are there."""
        for name in in_order(place.node[keyword]):
            if name not in place.members:
                continue
            needed = as_list(place.node[keyword][name])
            if needed is None:
                schema, at = place.node[keyword][name], (*place.at, keyword, name)
                yield from self._below([_Place(schema, at, place.value, place.where)])
                continue
            missing = [other for other in needed if other not in place.members]
            problem = f"must have properties {', '.join(needed)} when property {name} is present"
            # The one word has a line for each that is missing, the other one for all of them.
            for _ in missing[:1] if keyword == "dependencies" else missing:
                yield place.line(problem)

    def _by_items(self, keyword: str, place: _Place) -> Iterator[Line]:
        first = place.node.get("prefixItems", [])
        if keyword == "prefixItems":
            indices = range(min(len(first), len(place.items)))
            yield from self._below(self._part(place, (keyword, index), index) for index in indices)
            return
        for index in range(len(first), len(place.items)):
            rest = self._part(place, (keyword,), index)
            if not self._probe.accepts(rest.value, rest.at):
                yield from self.of(rest)
                if TUPLE in place.node:
                    # Of additional items, only the first wrong one is told.
                    return

    def _by_count(self, keyword: str, place: _Place) -> Iterator[Line]:
        node = place.node
        if not isinstance(place.value, list) or "contains" not in node:
            return
        count = sum(self._probe.accepts(item, (*place.at, "contains")) for item in place.items)
        wrong = {
            "contains": count == 0 and node.get("minContains") != 0,
            "minContains": count < node.get("minContains", 0),
            "maxContains": count > node.get("maxContains", count),
        }
        yield from self._alone(wrong[keyword], place, "must contain at least 1 valid item")

    def _by_union(self, keyword: str, place: _Place) -> Iterator[Line]:
        """A union that no branch accepts is told by all of them; when too many do, the others do not matter."""
        branches = self._branches(place, keyword)
        accepted = sum(self._probe.accepts(branch.value, branch.at) for branch in branches)
        if accepted == 0:
            yield from self._below(branches)
        if keyword == "anyOf":
            yield from self._alone(accepted == 0, place, "must match a schema in anyOf")
        else:
            yield from self._alone(accepted != 1, place, "must match exactly one schema in oneOf")

    def _by_condition(self, place: _Place) -> Iterator[Line]:
        keyword = "then" if self._accepts(place, "if") else "else"
        if keyword in place.node and not self._accepts(place, keyword):
            if keyword == "else":
                yield from self.of(_Place(place.node["else"], (*place.at, "else"), place.value, place.where))
            yield place.line(f'must match "{keyword}" schema')


def _rank(node: Mapping[str, Any], keyword: str) -> int:
    if TUPLE in node:
        keyword = {"prefixItems": "items", "items": "additionalItems"}.get(keyword, keyword)
    return RANKS.index(keyword) if keyword in RANKS else len(RANKS)


def _path(where: Way) -> str:
    return ".".join(str(step).replace("/", ".") for step in where)


def _number(limit: Any) -> str:
    return number_text(limit) if isinstance(limit, int | float) else str(limit)
