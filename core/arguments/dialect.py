"""Any schema as one of a single dialect: what every checker is handed, and all that coercion and wording ever see.

Schemas come in five drafts, often mixed. Here the words of all of them are taken at once, whatever ``$schema`` says,
and written as draft 2020-12 would: lists of ``items`` become ``prefixItems``, references become pointers to ``$defs``.
What says nothing about values is left out. Read ``document_of`` first, then ``_Writing``.

What cannot be written so is refused, with the place, when the tool is registered: a reference to another document, two
references or both kinds of tuple in one place. So is what a checker could not survive: schemas that refer to themselves
without going into the value, are nested too deeply, or branch out too widely.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, cast

from ...effects.schema import Document, SchemaError, Way
from .keywords import IN_PLACE, LISTS, NAMED, PLAIN, REFERENCES, TYPES, as_list, as_mapping, children
from .references import References, Target, inside

__all__ = ["TUPLE", "document_of", "plain", "target_of"]

TUPLE = "turnfold:tuple"
"""Marks a schema whose ``prefixItems`` were a list of ``items``, and whose ``items`` were ``additionalItems``."""

_DEPTH_MAX = 64
_PARTS_MAX = 20_000
_CHAIN_MAX = 24
_BRANCHES_MAX = 10_000

_DEFS = "#/$defs/"
_NOWHERE = "nowhere"


def document_of(schema: Any) -> tuple[Document, int]:
    """The schema as a document for a checker, and how many schemas in it may be about one value, one inside another.

    Raises ``SchemaError``.
    """
    try:
        document = _Writing(schema).document()
        return document, _Branching(document).longest_chain()
    except RecursionError:
        raise SchemaError((), "it is nested too deeply") from None


def target_of(document: Document, reference: str) -> tuple[Any, Way]:
    """What a reference of a document means, and the way there."""
    name = reference.removeprefix(_DEFS)
    return cast("Mapping[str, Any]", document)["$defs"][name], ("$defs", name)


def plain(value: Any) -> Any:
    """A copy of something that is JSON, which shares nothing with what somebody else may change."""
    mapping, items = as_mapping(value), as_list(value)
    if mapping is not None:
        return {name: plain(item) for name, item in mapping.items()}
    return value if items is None else [plain(item) for item in items]


class _Writing:
    """A document while it is written. What is referred to is written once, under a name of its own."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._references = References(root)
        self._names: dict[tuple[int, str], str] = {}
        self._taken = {_NOWHERE}
        self._targets: list[tuple[str, Target]] = []
        self._defs: dict[str, Any] = {}
        self._parts = 0

    def document(self) -> Document:
        """The whole document."""
        document = self._schema(inside(self._root, ""), (), 0)
        while self._targets:
            name, target = self._targets.pop()
            self._defs[name] = self._schema(target, ("$defs", name), 0)
        return {**document, "$defs": self._defs} if self._defs else document

    def _schema(self, target: Target, where: Way, depth: int) -> Any:
        if isinstance(target.schema, bool):
            return target.schema
        node = as_mapping(target.schema)
        if node is None:
            raise SchemaError(where, f"a schema is an object, true or false, not {type(target.schema).__name__}")
        self._parts += 1
        if depth > _DEPTH_MAX or self._parts > _PARTS_MAX:
            raise SchemaError((), f"it is nested deeper than {_DEPTH_MAX} levels or has more than {_PARTS_MAX} parts")
        written = {**_types(node, where), **_plain_members(node)}
        for (keyword, *name), child in _schemas(node, where):
            if keyword == "dependencies" and as_list(child) is not None:
                schema = plain(child)
            else:
                schema = self._schema(inside(child, target.base), (*where, keyword, *name), depth + 1)
            _put(written, _renamed(node, keyword), name, schema)
        self._refer(node, target.base, where, written)
        return written

    def _refer(self, node: Mapping[str, Any], base: str, where: Way, written: dict[str, Any]) -> None:
        found = [keyword for keyword in REFERENCES if keyword in node]
        if len(found) > 1:
            raise SchemaError(where, f"it has both {found[0]} and {found[1]}; put one of them into allOf")
        for keyword in found:
            reference = node[keyword]
            if not isinstance(reference, str):
                raise SchemaError((*where, keyword), f"a reference is a text, not {type(reference).__name__}")
            target = self._references.resolve(reference, base, (*where, keyword))
            written["$ref"] = self._pointer(reference, target)

    def _pointer(self, reference: str, target: Target | None) -> str:
        if target is None:
            self._defs[_NOWHERE] = False
            return _DEFS + _NOWHERE
        key = id(target.schema), target.base
        if key not in self._names:
            self._names[key] = name = self._name(reference)
            self._targets.append((name, target))
        return _DEFS + self._names[key]

    def _name(self, reference: str) -> str:
        """A name that tells people what it was: the last word of the reference, if that is one and still free."""
        word = reference.rpartition("/")[2].rpartition("#")[2]
        if not (word.isascii() and word.replace("_", "a").isalnum()) or word in self._taken:
            word = next(name for number in count(len(self._names)) if (name := f"part{number}") not in self._taken)
        self._taken.add(word)
        return word


def _types(node: Mapping[str, Any], where: Way) -> dict[str, Any]:
    """The types, unless one has a name that nobody knows: any value is of such a type."""
    if "prefixItems" in node and as_list(node.get("items")) is not None:
        raise SchemaError(where, "it has prefixItems and a list of items; use one of them")
    listed = as_list(node.get("type")) or [node.get("type")]
    known = "type" in node and all(name in TYPES for name in listed if isinstance(name, str))
    return {"type": plain(node["type"])} if known else {}


def _plain_members(node: Mapping[str, Any]) -> dict[str, Any]:
    exclusive = ("exclusiveMinimum", "exclusiveMaximum")
    found = {keyword: plain(node[keyword]) for keyword in PLAIN if keyword in node}
    # Draft 4 had booleans there.
    found |= {
        keyword: node[keyword] for keyword in exclusive if keyword in node and not isinstance(node[keyword], bool)
    }
    if as_list(node.get("items")) is not None:
        found[TUPLE] = True
    return found


def _schemas(node: Mapping[str, Any], where: Way) -> Iterator[tuple[Way, Any]]:
    """The schemas that are about values; raises ``SchemaError`` where something else lies."""
    for keyword in (*LISTS, *NAMED):
        wanted = as_list if keyword in LISTS else as_mapping
        if keyword in node and wanted(node[keyword]) is None:
            kind = "a list" if keyword in LISTS else "an object"
            raise SchemaError((*where, keyword), f"it must be {kind}, not {type(node[keyword]).__name__}")
        if keyword in ("anyOf", "oneOf") and node.get(keyword) == []:
            raise SchemaError((*where, keyword), "it is empty, so nothing could ever meet it")
    for way, child in children(node):
        stray = way[0] == "additionalItems" and as_list(node.get("items")) is None
        if way[0] not in ("$defs", "definitions") and not stray:
            yield way, child


def _renamed(node: Mapping[str, Any], keyword: str | int) -> str:
    if as_list(node.get("items")) is not None:
        return {"items": "prefixItems", "additionalItems": "items"}.get(str(keyword), str(keyword))
    return str(keyword)


def _put(written: dict[str, Any], keyword: str, name: list[str | int], schema: Any) -> None:
    if not name:
        written[keyword] = schema
    elif isinstance(name[0], int):
        written.setdefault(keyword, []).append(schema)
    else:
        written.setdefault(keyword, {})[name[0]] = schema


class _Branching:
    """How far a document goes on before it goes into the value: the work that one part of a value may cost.

    What is counted of a schema is how many schemas there are, itself included, and how many of them inside another.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._counts: dict[str, tuple[int, int]] = {}
        self._under_way: list[str] = []
        self._parts: list[tuple[Any, Way]] = [(document, ())]

    def longest_chain(self) -> int:
        """The longest chain of schemas; raises ``SchemaError`` for a document that a checker could not survive."""
        longest = 0
        while self._parts:
            longest = max(longest, self._counted(*self._parts.pop())[1])
        return longest

    def _counted(self, schema: Any, where: Way) -> tuple[int, int]:
        node = as_mapping(schema) or {}
        counts = [self._referred(node["$ref"], (*where, "$ref"))] if "$ref" in node else []
        for way, child in children(node):
            if way[0] in IN_PLACE:
                counts.append(self._counted(child, (*where, *way)))
            elif way[0] != "$defs":
                self._parts.append((child, (*where, *way)))
        branches = 1 + sum(count for count, _ in counts)
        chain = 1 + max((length for _, length in counts), default=0)
        if branches > _BRANCHES_MAX:
            raise SchemaError(where, f"it holds more than {_BRANCHES_MAX} schemas for one value")
        if chain > _CHAIN_MAX:
            raise SchemaError(where, f"it holds more than {_CHAIN_MAX} schemas for one value, each inside another")
        return branches, chain

    def _referred(self, reference: str, where: Way) -> tuple[int, int]:
        if reference in self._counts:
            return self._counts[reference]
        if reference in self._under_way:
            raise SchemaError(where, "it refers to itself without going into the value")
        self._under_way.append(reference)
        self._counts[reference] = self._counted(*target_of(self._document, reference))
        self._under_way.pop()
        return self._counts[reference]
