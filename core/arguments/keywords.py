"""The words of JSON Schema, by what they hold. All drafts together; see ``dialect`` for the one that is used."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from ...effects.schema import Way

__all__ = ["IN_PLACE", "LISTS", "NAMED", "ONE", "PLAIN", "REFERENCES", "TYPES", "as_list", "as_mapping", "children"]

TYPES = ("null", "boolean", "number", "integer", "string", "array", "object")

REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")
"""Hold the name of a schema."""

ONE = (
    "additionalProperties",
    "propertyNames",
    "contains",
    "items",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
)
"""Hold a schema; ``items`` may hold a list."""

LISTS = ("prefixItems", "allOf", "anyOf", "oneOf")
"""Hold a list of schemas."""

NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
"""Hold schemas by name; ``dependencies`` may hold lists of names."""

IN_PLACE = frozenset(["not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"])
"""Apply schemas to the very value, not to a part of it."""

PLAIN = (
    "required",
    "dependentRequired",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "multipleOf",
    "const",
    "enum",
    "default",
)
"""Hold something that is no schema."""


def as_mapping(value: Any) -> Mapping[str, Any] | None:
    """The value, if it is an object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: Any) -> list[Any] | None:
    """The value, if it is a list."""
    return cast("list[Any]", value) if isinstance(value, list | tuple) else None


def children(node: Mapping[str, Any]) -> Iterator[tuple[Way, Any]]:
    """What lies in a schema where schemas lie, and the way there. It may still be none."""
    for keyword in ONE:
        if keyword in node and as_list(node[keyword]) is None:
            yield (keyword,), node[keyword]
    for keyword in (*LISTS, "items"):
        for index, child in enumerate(as_list(node.get(keyword)) or ()):
            yield (keyword, index), child
    for keyword in NAMED:
        for name, child in (as_mapping(node.get(keyword)) or {}).items():
            yield (keyword, name), child
