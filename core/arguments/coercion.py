"""Making arguments fit: nulls for members that may be missing, numbers written as text, lists written as JSON.

Models often send the right value in the wrong clothes. What is done about it (decisions 20 and 45; the rules are those of
the original, and it happens only to arguments that are not valid as they were sent):

- *Nulls*: a declared member whose value is null, which is not required, and whose schema rejects null, is left out.
- *Coercion*: what a schema applies to the value itself goes first, in this order: its reference, ``allOf`` (each in turn),
  ``anyOf``, ``oneOf``. Then comes its ``type``, then declared members, undeclared ones that ``additionalProperties`` is a
  schema for, and items.
- *Unions*: where a branch of ``anyOf`` or ``oneOf`` accepts the value as it is, it stays. Otherwise the first branch, in
  the order of the schema, that accepts it coerced by that branch; the others do not matter. Of several types, the first
  one whose coercion changes the value.
- *Types* (``coerced_to``): the texts of numbers and booleans, one and zero for booleans, the obvious counterparts of null,
  and the JSON text of an array or object (whose nulls are then treated as above).

Nothing is coerced without a ``type`` that asks for it, and nothing through other keywords. The value that was handed in
is never changed; what did not have to change is shared with it.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from ...effects.schema import Document, Schema, Way
from ...effects.values import frozen
from .dialect import TUPLE, target_of
from .keywords import as_list, as_mapping
from .numbers import number_of, number_text

__all__ = ["DEPTH_MAX", "Coercion", "coerced_to", "is_of_type", "too_deep"]

DEPTH_MAX = 64
"""How many objects and arrays of arguments may lie in each other."""


@frozen
class Coercion:
    """The rules of one document. ``schema`` is the same document, ready to check."""

    document: Document
    schema: Schema

    def without_nulls(self, value: Any) -> Any:
        """The arguments without the nulls that say *missing*."""
        return self._without_nulls(self.document, (), value)

    def coerced(self, value: Any) -> Any:
        """The arguments, coerced; whether they are valid now is another question."""
        return self._coerced(self.document, (), value)

    def with_defaults(self, value: Any) -> Any:
        """The arguments with each missing member that has a default."""
        return self._with_defaults(self.document, value)

    def _without_nulls(self, schema: Any, at: Way, value: Any) -> Any:
        node = as_mapping(schema) or {}
        if "$ref" in node:
            value = self._without_nulls(*target_of(self.document, node["$ref"]), value)
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
            elif name not in required and as_mapping(child) is not None and not self.schema.accepts(None, way):
                gone.add(name)
        if gone:
            return {name: changes.get(name, item) for name, item in value.items() if name not in gone}
        return _changed(value, changes)

    def _coerced(self, schema: Any, at: Way, value: Any) -> Any:
        node = as_mapping(schema) or {}
        if "$ref" in node:
            value = self._coerced(*target_of(self.document, node["$ref"]), value)
        for index, child in enumerate(node.get("allOf", ())):
            value = self._coerced(child, (*at, "allOf", index), value)
        for keyword in ("anyOf", "oneOf"):
            value = self._by_a_branch(node, at, keyword, value)
        types = as_list(node.get("type")) or [node.get("type")]
        value = self._by_type(schema, at, types, value)
        if isinstance(value, dict) and "object" in types:
            return self._coerced_members(node, at, cast("dict[str, Any]", value))
        if isinstance(value, list) and "array" in types:
            return _items_changed(node, at, cast("list[Any]", value), self._coerced)
        return value

    def _by_a_branch(self, node: Mapping[str, Any], at: Way, keyword: str, value: Any) -> Any:
        branches = [(child, (*at, keyword, index)) for index, child in enumerate(node.get(keyword, ()))]
        if any(self.schema.accepts(value, way) for _, way in branches):
            return value
        for child, way in branches:
            candidate = self._coerced(child, way, value)
            if candidate is not value and self.schema.accepts(candidate, way):
                return candidate
        return value

    def _by_type(self, schema: Any, at: Way, types: list[Any], value: Any) -> Any:
        if len(types) > 1 and any(is_of_type(value, name) for name in types):
            return value
        for name in types:
            changed = coerced_to(name, value)
            if changed is not value:
                return self._without_nulls(schema, at, changed) if name in ("array", "object") else changed
        return value

    def _coerced_members(self, node: Mapping[str, Any], at: Way, value: dict[str, Any]) -> dict[str, Any]:
        declared: Mapping[str, Any] = node.get("properties", {})
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

    def _with_defaults(self, schema: Any, value: Any) -> Any:
        node = as_mapping(schema) or {}
        if "$ref" in node:
            value = self._with_defaults(target_of(self.document, node["$ref"])[0], value)
        if isinstance(value, list):
            return _items_changed(
                node, (), cast("list[Any]", value), lambda child, _, item: self._with_defaults(child, item)
            )
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        changes: dict[str, Any] = {}
        for name, child in (as_mapping(node.get("properties")) or {}).items():
            if name in members:
                changes[name] = self._with_defaults(child, members[name])
            elif "default" in (as_mapping(child) or {}):
                changes[name] = _fresh(child["default"])
        return _changed(members, changes)


def coerced_to(type_name: str | None, value: Any) -> Any:
    """The value as one of a type, or the very value if it has no counterpart of that type.

    =======  =========  =============  ===========  ============================================
    type     from null  from a boolean from a number from text
    =======  =========  =============  ===========  ============================================
    number   0          1 or 0         itself       what ``number_of`` reads
    integer  0          1 or 0         itself       what ``number_of`` reads, if it is integral
    boolean  false      itself         of 1 and 0   of ``true`` and ``false``
    string   empty      true, false    its digits   itself
    null     itself     of false       of 0         of the empty text
    array    itself     itself         itself       of the JSON text of an array
    object   itself     itself         itself       of the JSON text of an object
    =======  =========  =============  ===========  ============================================
    """
    if is_of_type(value, type_name) or isinstance(value, dict | list):
        return value
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


def too_deep(value: Any) -> bool:
    """Whether more than ``DEPTH_MAX`` objects and arrays lie in each other."""
    level = [value]
    for _ in range(DEPTH_MAX + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        if not containers:
            return False
        level = [inner for item in containers for inner in (item.values() if isinstance(item, dict) else item)]
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
    return None if too_deep(value) else value


def _fresh(value: Any) -> Any:
    """A copy of JSON data, so that a tool may change what it was given."""
    if isinstance(value, dict):
        return {name: _fresh(item) for name, item in cast("dict[str, Any]", value).items()}
    return [_fresh(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


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
        tuple_items = enumerate(zip(node.get("prefixItems", ()), value, strict=False))
        changed = [change(child, (*at, "prefixItems", index), item) for index, (child, item) in tuple_items]
        changed += value[len(changed) :]
    elif as_mapping(node.get("items")) is not None:
        changed = [change(node["items"], (*at, "items"), item) for item in value]
    else:
        return value
    return value if all(a is b for a, b in zip(changed, value, strict=True)) else changed
