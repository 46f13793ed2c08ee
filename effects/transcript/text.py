"""Text that may be stored: no unpaired surrogates, since neither UTF-8 nor any provider takes them (decision 45).

Where such text must be kept as it came, in a recording, the halves are escaped instead.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

__all__ = ["WHITE_SPACE", "clean_json", "clean_text", "escape_halves", "map_texts", "unescape_halves", "without_nul"]

WHITE_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What counts as blank: what the recordings call blank, JavaScript's white space, which is not quite Python's."""

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The same text with surrogate pairs joined and each unpaired surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # A codec could do it, but Python loads those when they are first used: in the middle of a fold.
        return _HALVES.sub(_joined, text)
    return text


def _joined(halves: "re.Match[str]") -> str:
    if len(halves[0]) == 1:
        return "\ufffd"
    high, low = halves[0]
    return chr(0x10000 + (ord(high) - 0xD800 << 10) + (ord(low) - 0xDC00))


def clean_json(value: Any) -> Any:
    """A JSON-like value with every text in it clean, names of members too."""
    return map_texts(value, clean_text)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON-like value with every text in it changed, names of members too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value).items()
        return {map_texts(name, change): map_texts(item, change) for name, item in members}
    if isinstance(value, list | tuple):
        return [map_texts(item, change) for item in cast("Sequence[Any]", value)]
    return value


def without_nul(text: str) -> str:
    """Clean text without U+0000, which databases refuse (N-24)."""
    text = clean_text(text)
    return text.replace("\0", "") if "\0" in text else text


def escape_halves(text: str) -> str:
    """The text with each surrogate spelled out as ``\\uXXXX``, and each backslash doubled so that it can be undone."""
    return text.replace("\\", "\\\\").encode(errors="backslashreplace").decode()


def unescape_halves(text: str) -> str:
    """What ``escape_halves`` was given; raises ``ValueError`` for text that it never gives."""
    return "\\".join(map(_unescape, text.split("\\\\")))


def _unescape(text: str) -> str:
    first, *rest = text.split("\\u")
    return first + "".join(chr(_unit(piece[:4])) + piece[4:] for piece in rest)


def _unit(digits: str) -> int:
    if len(digits) < 4:
        raise ValueError(f"{digits!r} is not four hexadecimal digits")
    return int(digits, 16)
