"""What a type is to a model: a JSON Schema in which nothing is optional and everything stands where it is used.

Models leave out what they may leave out, and providers refuse schemas that let them; so every property is required, and
what may be nothing says so (``str | None``). A type that contains itself keeps a name in ``$defs``. What else a model
should know goes into ``Annotated`` with ``msgspec.Meta``: a description, limits.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import inspect

from ....effects.values import frozen
from .kinds import classes_of, in_one_line, misfit, what_breaks
from .strict import is_closed
from .times import mark_times

__all__ = ["OutputSchema", "SchemaTypeError", "schema_for"]

Schema = dict[str, Any]

_PREFIX = "#/$defs/"
_LEFT_OUT = frozenset({"title", "default", "discriminator", "$ref"})
_ONE = ("items", "additionalProperties", "propertyNames")
_MANY = ("anyOf", "oneOf", "prefixItems")
_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


class SchemaTypeError(TypeError):
    """A type that no model can be asked for; one line that says which field it is, and what to do."""


@frozen
class OutputSchema:
    """A schema and its name. ``recursive``: it refers to itself. ``closed``: no object in it takes members by any name.

    Providers can hold a model strictly to a closed schema only.
    """

    name: str
    schema: Mapping[str, Any]
    recursive: bool = False
    closed: bool = True


def schema_for(wanted: type[Any]) -> OutputSchema:
    """The schema of an attrs class, a dataclass, a msgspec struct or a TypedDict.

    Named as the type is, or ``output``. Raises ``SchemaTypeError``.
    """
    root, components = _described(wanted)
    recursive = frozenset(name for name in components if name in _reachable(components, components[name]))
    target = _target(root)
    if target is None or components[target].get("type") != "object":
        raise SchemaTypeError(f"{_shown(wanted)} is no object: put it into a dataclass, an attrs class or a TypedDict")
    schema = _written(components[target], components, recursive)
    kept = sorted(_reachable(components, components[target]) & recursive)
    if kept:
        schema["$defs"] = {name: _written(components[name], components, recursive) for name in kept}
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", getattr(wanted, "__name__", "") or "")[:64].strip("_")
    return OutputSchema(name or "output", schema, bool(kept), is_closed(schema))


def _described(wanted: Any) -> tuple[Schema, dict[str, Schema]]:
    """A type as msgspec describes it, with times marked and the members of each class in the order they were declared.

    The classes are described once more by themselves: that is how the names that msgspec gives them are known.
    """
    try:
        known = inspect.type_info(wanted)
        if wrong := misfit(known):
            raise SchemaTypeError(_shown(wanted) + wrong)
        classes = classes_of(known)
        (root, *places), components = msgspec.json.schema_components(
            [wanted, *(one.cls for one in classes)], ref_template=_PREFIX + "{name}"
        )
    except SchemaTypeError:
        raise
    except (TypeError, NameError, ValueError) as wrong:
        reason = what_breaks(wanted) or in_one_line(wrong)
        raise SchemaTypeError(f"{_shown(wanted)} cannot be described to a model: {reason}") from wrong
    for one, place in zip(classes, places, strict=True):
        component = components[place["$ref"].removeprefix(_PREFIX)]
        mark_times(component, one)
        if isinstance(one, inspect.TypedDictType):
            _as_declared(component, getattr(one.cls, "__origin__", one.cls))
    return root, components


def _as_declared(component: Schema, cls: Any) -> None:
    """Put the members of a TypedDict, which msgspec sorts by name, into their order; inherited ones first."""
    described = component["properties"]
    component["properties"] = {name: described[name] for name in cls.__annotations__ if name in described}


def _shown(wanted: Any) -> str:
    return getattr(wanted, "__name__", None) or repr(wanted)


def _target(schema: Schema) -> str | None:
    """The name of the component that a schema refers to; it may be empty."""
    return schema["$ref"].removeprefix(_PREFIX) if "$ref" in schema else None


def _reachable(components: Mapping[str, Schema], start: Schema) -> set[str]:
    """The names of the components that a schema refers to, directly or through others."""
    found = set[str]()
    waiting = [start]
    while waiting:
        schema = waiting.pop()
        name = _target(schema)
        if name is not None and name not in found:
            found.add(name)
            waiting.append(components[name])
        waiting += _children(schema)
    return found


def _children(schema: Schema) -> list[Schema]:
    """The schemas directly within a schema."""
    one = [schema[key] for key in _ONE if isinstance(schema.get(key), dict)]
    many = [child for key in _MANY for child in schema.get(key, ())]
    return one + many + list(schema.get("properties", {}).values())


def _written(schema: Schema, components: Mapping[str, Schema], recursive: frozenset[str]) -> Schema:
    """A schema as a model gets it."""
    target = _target(schema)
    if target is not None and target in recursive:
        return {"$ref": _PREFIX + target}  # alone: some providers refuse a reference that has company
    if target is not None:
        return _written({**components[target], **_without(schema, "$ref")}, components, recursive)

    def write(child: Any) -> Any:
        return _written(cast("Schema", child), components, recursive) if isinstance(child, dict) else child

    written: Schema = _without(schema, *_LEFT_OUT)
    if "oneOf" in written and "anyOf" not in written:
        written["anyOf"] = written.pop("oneOf")
    if "enum" in written and "type" not in written:
        written = Schema(type=_type_of(written["enum"]), **written)  # some providers refuse values without one
    for key in written.keys() & set(_ONE):
        written[key] = write(written[key])
    for key in written.keys() & set(_MANY):
        written[key] = [write(child) for child in written[key]]
    if "properties" in written:
        written["properties"] = {name: write(child) for name, child in written["properties"].items()}
        written["required"] = list(written["properties"])
        written["additionalProperties"] = False
    return written


def _type_of(values: list[Any]) -> str | list[str]:
    """The type of all these values, or a list of those they have."""
    found = list(dict.fromkeys(_TYPES[type(value)] for value in values))
    return found[0] if len(found) == 1 else found


def _without(schema: Schema, *names: str) -> Schema:
    return {name: value for name, value in schema.items() if name not in names}
