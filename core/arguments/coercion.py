"""Making arguments fit: nulls for members that may be missing, numbers written as text, lists written as JSON.

Models often send the right value in the wrong clothes. What is done about it (decisions 20 and 45; it happens only to
arguments that are not valid as they were sent):

- *Nulls*: a declared member whose value is null, which is not required, and whose schema rejects null, is left out.
- *Coercion*: what a schema applies to the value itself goes first, in this order: its reference, ``allOf`` (each in
  turn), ``anyOf``, ``oneOf``. Then comes its ``type``; then declared members, undeclared ones if there is a schema for
  ``additionalProperties``, and items.
- *Unions*: where a branch of ``anyOf`` or ``oneOf`` accepts the value as it is, it stays. Otherwise it is coerced by
  the first branch, in the order of the schema, that accepts the result; the others do not matter. Of several types it
  is the first one whose coercion changes the value.
- *Types* (``coerced_to``): the texts of numbers and booleans, one and zero for booleans, the obvious counterparts of
  null, and the JSON text of an array or object (whose nulls are then treated as above).

Nothing is coerced without a ``type`` that asks for it, and nothing through other keywords. The value that was handed in
is never changed; what did not have to change is shared with it.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from ...effects.schema import Document, Schema, Way
from .dialect import TUPLE, plain, target_of
from .keywords import as_list, as_mapping
from .numbers import number_of, number_text

__all__ = ["Coercion", "coerced_to", "is_of_type", "too_deep", "with_defaults"]


DECODED_DEPTH_MAX = 16
"""JSON text that is nested deeper is left as it is."""


class Coercion:
    """The coercion of one call's arguments. ``schema`` is the same document, ready to check.

    What was found for a part of the value under a schema is kept, so that unions which hold themselves cost what the
    value is large, and not two to the power of how deep it is.
    """

    def __init__(self, document: Document, schema: Schema) -> None:
        self._document = document
        self._schema = schema
        # The value is kept with what was found, so that no other one can have its identity.
        self._known: dict[tuple[Way, int], tuple[Any, Any]] = {}

    def without_nulls(self, value: Any) -> Any:
        """The arguments without the nulls that say *missing*."""
        return self._without_nulls(self._document, (), value)

    def coerced(self, value: Any) -> Any:
        """The arguments, coerced; whether they are valid now is another question."""
        return self._coerced(self._document, (), value)

    def _without_nulls(self, schema: Any, at: Way, value: Any) -> Any:
        node = as_mapping(schema) or {}
        if "$ref" in node:
            value = self._without_nulls(*target_of(self._document, node["$ref"]), value)
        if isinstance(value, dict):
            return self._without_null_members(node, at, cast("dict[str, Any]", value))
        if isinstance(value, list):
            return _items_changed(node, at, cast("list[Any]", value), self._without_nulls)
        return value

    def _without_null_members(self, node: Mapping[str, Any], at: Way, value: dict[str, Any]) -> dict[str, Any]:
        required = as_list(node.get("required")) or ()
        changes: dict[str, Any] = {}
        gone: set[str] = set()
        for name, child in (as_mapping(node.get("properties")) or {}).items():
            if name not in value:
                continue
            way = (*at, "properties", name)
            if value[name] is not None:
                changes[name] = self._without_nulls(child, way, value[name])
            elif name not in required and as_mapping(child) is not None and not self._schema.accepts(None, way):
                gone.add(name)
        if gone:
            return {name: changes.get(name, item) for name, item in value.items() if name not in gone}
        return _changed(value, changes)

    def _coerced(self, schema: Any, at: Way, value: Any) -> Any:
        key = at, id(value)
        if key not in self._known:
            self._known[key] = value, self._coerced_anew(as_mapping(schema) or {}, at, value)
        return self._known[key][1]

    def _coerced_anew(self, node: Mapping[str, Any], at: Way, value: Any) -> Any:
        if "$ref" in node:
            value = self._coerced(*target_of(self._document, node["$ref"]), value)
        for index, child in enumerate(as_list(node.get("allOf")) or ()):
            value = self._coerced(child, (*at, "allOf", index), value)
        for keyword in ("anyOf", "oneOf"):
            value = self._by_a_branch(node, at, keyword, value)
        types = as_list(node.get("type")) or [node.get("type")]
        value = self._by_type(node, at, types, value)
        if "object" in types and is_of_type(value, "object"):
            return self._coerced_members(node, at, value)
        if "array" in types and is_of_type(value, "array"):
            return _items_changed(node, at, value, self._coerced)
        return value

    def _by_a_branch(self, node: Mapping[str, Any], at: Way, keyword: str, value: Any) -> Any:
        branches = [(child, (*at, keyword, index)) for index, child in enumerate(as_list(node.get(keyword)) or ())]
        if any(self._schema.accepts(value, way) for _, way in branches):
            return value
        for child, way in branches:
            candidate = self._coerced(child, way, value)
            if candidate is not value and self._schema.accepts(candidate, way):
                return candidate
        return value

    def _by_type(self, node: Mapping[str, Any], at: Way, types: list[Any], value: Any) -> Any:
        if len(types) > 1 and any(is_of_type(value, name) for name in types):
            return value
        for name in types:
            changed = coerced_to(name, value)
            if changed is not value:
                return self._without_nulls(node, at, changed) if name in ("array", "object") else changed
        return value

    def _coerced_members(self, node: Mapping[str, Any], at: Way, value: dict[str, Any]) -> dict[str, Any]:
        declared = as_mapping(node.get("properties")) or {}
        others = node.get("additionalProperties")
        changes = {
            name: self._coerced(child, (*at, "properties", name), value[name])
            for name, child in declared.items()
            if name in value
        }
        if as_mapping(others) is not None:
            way = (*at, "additionalProperties")
            changes |= {name: self._coerced(others, way, item) for name, item in value.items() if name not in declared}
        return _changed(value, changes)


def with_defaults(document: Document, value: Any) -> Any:
    """The arguments with each missing member that has a default: declared ones only, of objects that are there."""

    def filled(schema: Any, at: Way, value: Any) -> Any:
        node = as_mapping(schema) or {}
        if "$ref" in node:
            value = filled(*target_of(document, node["$ref"]), value)
        if isinstance(value, list):
            return _items_changed(node, at, cast("list[Any]", value), filled)
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        changes: dict[str, Any] = {}
        for name, child in (as_mapping(node.get("properties")) or {}).items():
            if name in members:
                changes[name] = filled(child, at, members[name])
            elif "default" in (as_mapping(child) or {}):
                changes[name] = plain(child["default"])
        return _changed(members, changes)

    return filled(document, (), value)


def coerced_to(type_name: str | None, value: Any) -> Any:
    """The value as one of a type, or the very value if it has no counterpart of that type.

    =======  =========  ==============  =============  =====================================
    type     from null  from a boolean  from a number  from text
    =======  =========  ==============  =============  =====================================
    number   0          1 or 0          itself         what ``number_of`` reads
    integer  0          1 or 0          itself         the same, if it is integral
    boolean  false      itself          of 1 and 0     of ``true`` and ``false``
    string   empty      true or false   its digits     itself
    null     itself     of false        of 0           of the empty text
    array    itself     itself          itself         of the JSON text of an array
    object   itself     itself          itself         of the JSON text of an object
    =======  =========  ==============  =============  =====================================
    """
    if is_of_type(value, type_name) or isinstance(value, dict | list):
        return cast(Any, value)
    match type_name:
        case "number" | "integer":
            return _number(type_name, value)
        case "boolean":
            return _boolean(value)
        case "string":
            return _text(value)
        case "null":
            return None if value is False or value == "" or (_is_number(value) and value == 0) else value
        case "array" | "object" if isinstance(value, str):
            decoded = _decoded(value)
            return decoded if is_of_type(decoded, type_name) else value
        case _:
            return value


def is_of_type(value: Any, type_name: Any) -> bool:
    """Whether a value is of a type of JSON Schema."""
    match type_name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return _is_number(value)
        case "integer":
            return _is_number(value) and value == value // 1
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return False


def too_deep(value: Any, depth_max: int) -> bool:
    """Whether more than so many objects and arrays lie in each other."""
    level: list[Any] = [value]
    for _ in range(depth_max + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return False
        inner: list[Any] = []
        for item in level:
            inner.extend(cast("dict[str, Any]", item).values() if isinstance(item, dict) else item)
        level = inner
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(type_name: str, value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    number = number_of(value) if isinstance(value, str) else None
    if number is None or type_name == "number":
        return value if number is None else number
    return int(number) if number == number // 1 else value


def _boolean(value: Any) -> Any:
    if value is None or value == "false":
        return False
    if value == "true":
        return True
    return bool(value) if _is_number(value) and value in (0, 1) else value


def _text(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if _is_number(value) else value


def _decoded(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return None if too_deep(value, DECODED_DEPTH_MAX) else value


def _changed(value: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The object with some members changed or added; itself if none is another one."""
    if all(name in value and value[name] is item for name, item in changes.items()):
        return value
    return {**value, **changes}


def _items_changed(
    node: Mapping[str, Any], at: Way, value: list[Any], change: Callable[[Any, Way, Any], Any]
) -> list[Any]:
    """The list with its items changed: each by its own schema in a tuple, else all by the one for items."""
    if TUPLE in node:
        parts = zip(as_list(node.get("prefixItems")) or (), value, strict=False)
        changed = [change(child, (*at, "prefixItems", index), item) for index, (child, item) in enumerate(parts)]
        changed += value[len(changed) :]
    elif as_mapping(node.get("items")) is not None:
        changed = [change(node["items"], (*at, "items"), item) for item in value]
    else:
        return value
    return value if all(a is b for a, b in zip(changed, value, strict=True)) else changed
