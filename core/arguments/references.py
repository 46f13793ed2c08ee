"""What the references of a schema mean: places in the same document, found as pointers, anchors and identifiers say.

Nothing is ever fetched. A reference that names another document is an error of the schema; one to a place that does
not exist in this one means nothing, and accepts nothing (``resolve`` returns ``None``). Dynamic references are resolved
where they stand, which is the same for a document that holds no second one with the same anchor.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...effects.schema import SchemaError, Way
from ...effects.values import frozen
from .keywords import as_list, as_mapping, children

__all__ = ["References", "Target", "inside"]

_ABSOLUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_AUTHORITY = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*:(?://[^/]*)?)?")
_ESCAPED = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_PARTS_MAX = 50_000


@frozen
class Target:
    """A place that a reference means: what lies there, and the identifier of the document that it belongs to."""

    schema: Any
    base: str


class References:
    """The places of a document that can be referred to."""

    def __init__(self, root: Any) -> None:
        self._documents: dict[str, Any] = {"": root}
        self._anchors: dict[tuple[str, str], Target] = {}
        for part in _parts(root):
            node = as_mapping(part.schema) or {}
            identifier = node.get("$id")
            anchors = [node.get("$anchor"), node.get("$dynamicAnchor")]
            if isinstance(identifier, str):
                self._documents.setdefault(part.base, node)
                anchors.append(identifier.partition("#")[2])
            for anchor in anchors:
                if isinstance(anchor, str) and anchor:
                    self._anchors.setdefault((part.base, anchor), part)

    def resolve(self, reference: str, base: str, where: Way) -> Target | None:
        """What a reference means in a document; raises ``SchemaError`` when it is another document."""
        identifier, _, fragment = reference.partition("#")
        base = _joined(base, identifier)
        if base not in self._documents:
            raise SchemaError(where, f"it refers to {identifier}, which is not part of it; nothing is ever fetched")
        fragment = _unescaped(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((base, fragment))
        return _pointed(Target(self._documents[base], base), fragment)


def inside(schema: Any, base: str) -> Target:
    """A schema in a document: it belongs to that one, unless it has an identifier of its own."""
    identifier = (as_mapping(schema) or {}).get("$id")
    return Target(schema, _joined(base, identifier.partition("#")[0]) if isinstance(identifier, str) else base)


def _joined(base: str, identifier: str) -> str:
    """An identifier, relative to another one."""
    if not identifier or _ABSOLUTE.match(identifier):
        return identifier or base
    if identifier.startswith("/"):
        authority = _AUTHORITY.match(base)
        return (authority[0] if authority else "") + identifier
    return base[: base.rfind("/") + 1] + identifier


def _parts(root: Any) -> Iterator[Target]:
    todo = [inside(root, "")]
    for _ in range(_PARTS_MAX):
        if not todo:
            return
        part = todo.pop()
        yield part
        node: Mapping[str, Any] = as_mapping(part.schema) or {}
        todo.extend(inside(child, part.base) for _, child in reversed([*children(node)]))
    raise SchemaError((), f"it has more than {_PARTS_MAX} parts")


def _pointed(target: Target, pointer: str) -> Target | None:
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        node, items = as_mapping(target.schema), as_list(target.schema)
        if node is not None and step in node:
            target = inside(node[step], target.base)
        elif items is not None and step.isascii() and step.isdigit() and int(step) < len(items):
            target = inside(items[int(step)], target.base)
        else:
            return None
    return target


def _unescaped(fragment: str) -> str:
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"), fragment)
