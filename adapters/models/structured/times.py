"""Times in a schema, which says ``string`` and no more of them: as models write them best, with their format.

msgspec leaves the format out where a time may come without a zone, as a plain ``datetime`` may. It reads both, so it is
safe to ask for one with a zone. What it describes and what it knows of a type are walked side by side.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, cast

from msgspec import inspect

from .kinds import parts_of

__all__ = ["mark_times"]

Schema = dict[str, Any]

_FORMATS: Mapping[type[inspect.Type], str] = {inspect.DateTimeType: "date-time", inspect.TimeType: "time"}


def mark_times(schema: Any, known: inspect.Type) -> None:
    """Add the format to what is described as a string and is a time, and to what is within; in place."""
    if isinstance(schema, dict):
        _mark(cast("Schema", schema), known)


def _mark(schema: Schema, known: inspect.Type) -> None:
    match known:
        case inspect.Metadata(type=inner):
            _mark(schema, inner)
        case inspect.UnionType(types=types):
            for one, described in product(types, schema.get("anyOf", [])):
                mark_times(described, one)  # marks nothing where the two do not belong together
        case inspect.DictType(value_type=value):
            mark_times(schema.get("additionalProperties"), value)
        case inspect.TupleType(item_types=items):
            for described, item in zip(schema.get("prefixItems", []), items, strict=False):
                mark_times(described, item)
        case inspect.NamedTupleType(fields=fields):
            for described, field in zip(schema.get("prefixItems", []), fields, strict=False):
                mark_times(described, field.type)
        case inspect.StructType(fields=fields) | inspect.DataclassType(fields=fields):
            _mark_fields(schema, fields)
        case inspect.TypedDictType(fields=fields):
            _mark_fields(schema, fields)
        case _:
            if (format := _FORMATS.get(type(known))) and schema.get("type") == "string":
                schema.setdefault("format", format)
            for _, part in parts_of(known):
                mark_times(schema.get("items"), part)


def _mark_fields(schema: Schema, fields: tuple[inspect.Field, ...]) -> None:
    described = schema.get("properties", {})
    for field in fields:
        mark_times(described.get(field.encode_name), field.type)
