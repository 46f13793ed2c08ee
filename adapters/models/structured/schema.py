"""What a type is to a model: a JSON Schema in which nothing is optional and everything stands where it is used.

Models leave out what they may leave out, and providers refuse schemas that let them; so every property is required, and
what may be nothing says so (``str | None``). A type that contains itself keeps a name in ``$defs``. What else a model
should know goes into ``Annotated`` with ``msgspec.Meta``: a description, limits.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ....effects.values import frozen
from .times import with_formats

__all__ = ["OutputSchema", "SchemaTypeError", "schema_for"]

Schema = dict[str, Any]

_PREFIX = "#/$defs/"
_LEFT_OUT = frozenset({"title", "default", "discriminator", "$ref"})


class SchemaTypeError(TypeError):
    """A type that no model can be asked for; one line that says why and what to do."""


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
    try:
        (root,), components = msgspec.json.schema_components([wanted], ref_template=_PREFIX + "{name}")
    except (TypeError, NameError, ValueError) as wrong:
        reason = str(wrong).partition("\n")[0]
        raise SchemaTypeError(f"{_shown(wanted)} cannot be described to a model: {reason}") from wrong
    with_formats(components, wanted)
    recursive = frozenset(name for name in components if name in _reachable(components, components[name]))
    target = _target(root)
    if target is None or components[target].get("type") != "object":
        raise SchemaTypeError(f"{_shown(wanted)} is no object: put it into a dataclass, an attrs class or a TypedDict")
    schema = _written(components[target], components, recursive)
    kept = sorted(_reachable(components, components[target]) & recursive)
    if kept:
        schema["$defs"] = {name: _written(components[name], components, recursive) for name in kept}
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", getattr(wanted, "__name__", "") or "")[:64].strip("_")
    return OutputSchema(name or "output", schema, bool(kept), _is_closed(schema))


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
    one = [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    many = [child for key in ("anyOf", "oneOf", "prefixItems") for child in schema.get(key, ())]
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

    written = _without(schema, *_LEFT_OUT)
    if "oneOf" in written and "anyOf" not in written:
        written["anyOf"] = written.pop("oneOf")
    for key in written.keys() & {"items", "additionalProperties"}:
        written[key] = write(written[key])
    for key in written.keys() & {"anyOf", "prefixItems"}:
        written[key] = [write(child) for child in written[key]]
    if "properties" in written:
        written["properties"] = {name: write(child) for name, child in written["properties"].items()}
        written["required"] = list(written["properties"])
        written["additionalProperties"] = False
    return written


def _without(schema: Schema, *names: str) -> Schema:
    return {name: value for name, value in schema.items() if name not in names}


def _is_closed(schema: Schema) -> bool:
    open_object = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    says_nothing = not schema.keys() - {"description", "$defs"}
    open_list = schema.get("type") == "array" and not isinstance(schema.get("items"), dict)
    if open_object or open_list or says_nothing:
        return False
    return all(map(_is_closed, [*_children(schema), *schema.get("$defs", {}).values()]))
