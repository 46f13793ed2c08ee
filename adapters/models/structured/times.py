"""Times in a schema, which says ``string`` and no more of them: as models write them best, with their format.

msgspec leaves the format out where a time may come without a zone, as a plain ``datetime`` may. It reads both, so it is
safe to ask for one with a zone. What it describes and what it knows of a type are walked side by side.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, cast

from msgspec import inspect

__all__ = ["with_formats"]

Schema = dict[str, Any]

_CLASSES = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)
_FORMATS: Mapping[type[inspect.Type], str] = {inspect.DateTimeType: "date-time", inspect.TimeType: "time"}


def with_formats(components: Mapping[str, Schema], wanted: type[Any]) -> None:
    """Add formats to the components of a type, in place."""
    for known in _classes(inspect.type_info(wanted)):
        described = components.get(known.cls.__name__, {}).get("properties", {})
        for field in known.fields:
            if field.encode_name in described:
                _mark(described[field.encode_name], field.type)


def _classes(
    start: inspect.Type,
) -> Iterator[inspect.StructType | inspect.DataclassType | inspect.TypedDictType]:
    """The classes that a type is made of, each once."""
    waiting, seen = [start], set[int]()
    while waiting:
        known = waiting.pop()
        if id(known) in seen:
            continue
        seen.add(id(known))
        if isinstance(known, _CLASSES):
            yield known
            waiting += [field.type for field in known.fields]
        else:
            waiting += _parts(known)


def _parts(known: inspect.Type) -> list[inspect.Type]:
    """The types directly within a type that is no class."""
    match known:
        case inspect.Metadata(type=inner):
            return [inner]
        case inspect.UnionType(types=types):
            return list(types)
        case inspect.DictType(value_type=value):
            return [value]
        case inspect.TupleType(item_types=items):
            return list(items)
        case _:
            item = getattr(known, "item_type", None)
            return [item] if isinstance(item, inspect.Type) else []


def _mark(schema: Schema, known: inspect.Type) -> None:
    """Add the format to what is described as a string and is a time, and to what is within."""
    match known:
        case inspect.Metadata(type=inner):
            _mark(schema, inner)
        case inspect.UnionType(types=types):
            for one, described in product(types, schema.get("anyOf", [])):
                _mark_within(described, one)  # marks nothing where the two do not belong together
        case inspect.DictType(value_type=value):
            _mark_within(schema.get("additionalProperties"), value)
        case inspect.TupleType(item_types=items):
            for described, item in zip(schema.get("prefixItems", []), items, strict=False):
                _mark_within(described, item)
        case _:
            if (format := _FORMATS.get(type(known))) and schema.get("type") == "string":
                schema.setdefault("format", format)
            for part in _parts(known):
                _mark_within(schema.get("items"), part)


def _mark_within(schema: Any, known: inspect.Type) -> None:
    if isinstance(schema, dict):
        _mark(cast("Schema", schema), known)
