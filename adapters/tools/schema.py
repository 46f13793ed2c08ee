"""The JSON Schema of a type, as models read it best: one nested piece, without names that only our code knows.

msgspec describes each named type once and refers to it. Models follow references badly and some providers refuse them,
so every type is written where it is used; only a type that contains itself stays in ``$defs``.
"""

from typing import Any, cast

import msgspec

__all__ = ["schema_of"]

Schema = dict[str, Any]

_PREFIX = "#/$defs/"
_ONE = ("items", "additionalProperties", "not")
_MANY = ("anyOf", "allOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties")


def schema_of(wanted: type[msgspec.Struct]) -> Schema:
    """The schema of a struct; raises ``TypeError`` for a type that JSON Schema cannot describe."""
    (reference,), components = msgspec.json.schema_components([wanted], ref_template=_PREFIX + "{name}")
    recursive = {name for name in components if name in _reachable(components, name)}
    root = _inlined(reference, components, recursive)
    del root["title"]
    if not root["required"]:
        del root["required"]
    kept = sorted(_reachable({**components, "": root}, "") & recursive)
    if kept:
        root["$defs"] = {name: _inlined(components[name], components, recursive) for name in kept}
    return root


def _reachable(components: dict[str, Any], start: str) -> set[str]:
    """The names of the components that one refers to, directly or through others."""
    found: set[str] = set()
    open_names = [start]
    while open_names:
        for name in _references(components[open_names.pop()]):
            if name not in found:
                found.add(name)
                open_names.append(name)
    return found


def _references(schema: Schema) -> list[str]:
    own = [schema["$ref"].removeprefix(_PREFIX)] if "$ref" in schema else []
    return own + [name for child in _children(schema) for name in _references(child)]


def _children(schema: Schema) -> list[Schema]:
    one = [schema[key] for key in _ONE if isinstance(schema.get(key), dict)]
    many = [child for key in _MANY for child in schema.get(key, ())]
    return one + many + [child for key in _NAMED for child in schema.get(key, {}).values()]


def _inlined(schema: Schema, components: dict[str, Any], recursive: set[str]) -> Schema:
    """The schema with what it refers to in place. ``discriminator`` goes: it is no JSON Schema, and it names types."""

    def inline(child: Any) -> Any:
        return _inlined(cast(Schema, child), components, recursive) if isinstance(child, dict) else child

    target = schema.get("$ref", "").removeprefix(_PREFIX)
    if target and target not in recursive:
        return inline({**components[target], **{key: value for key, value in schema.items() if key != "$ref"}})
    written = {key: value for key, value in schema.items() if key != "discriminator"}
    for key in written.keys() & set(_ONE):
        written[key] = inline(written[key])
    for key in written.keys() & set(_MANY):
        written[key] = [inline(child) for child in written[key]]
    for key in written.keys() & set(_NAMED):
        written[key] = {name: inline(child) for name, child in written[key].items()}
    return written
