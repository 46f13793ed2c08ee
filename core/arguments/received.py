"""JSON as people read it: indented by two spaces, numbers and the order of members as JavaScript has them."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .keywords import as_list, as_mapping
from .numbers import number_text

__all__ = ["RECEIVED_MAX", "in_order", "received"]

RECEIVED_MAX = 20_000
"""So many characters of arguments are shown at most."""

_SPECIAL = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_INDEX_MAX = 2**32 - 2


def received(value: Any) -> str:
    """The value as indented JSON, cut after ``RECEIVED_MAX`` characters."""
    text = "".join(_written(value, "\n"))
    if len(text) <= RECEIVED_MAX:
        return text
    return f"{text[:RECEIVED_MAX]}\n... ({len(text) - RECEIVED_MAX} more characters)"


def in_order(names: Iterable[str]) -> list[str]:
    """Names of members in JavaScript's order: those that could be indices by their number, then the others."""
    listed = list(names)
    indices = {name: int(name) for name in listed if _INDEX.fullmatch(name) and int(name) <= _INDEX_MAX}
    if not indices:
        return listed
    return [*sorted(indices, key=indices.__getitem__), *(name for name in listed if name not in indices)]


def _written(value: Any, line: str) -> Iterator[str]:
    mapping, items = as_mapping(value), as_list(value)
    if mapping:
        yield from _nested("{}", [(f"{_text(name)}: ", mapping[name]) for name in in_order(mapping)], line)
    elif items:
        yield from _nested("[]", [("", item) for item in items], line)
    elif mapping is not None:
        yield "{}"
    elif items is not None:
        yield "[]"
    else:
        yield _scalar(value)


def _nested(brackets: str, items: list[tuple[str, Any]], line: str) -> Iterator[str]:
    inner = line + "  "
    for index, (name, item) in enumerate(items):
        yield "," if index else brackets[0]
        yield inner
        yield name
        yield from _written(item, inner)
    yield line
    yield brackets[1]


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = number_text(value)
    return text if text[-1].isdigit() else "null"


def _text(text: str) -> str:
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"
