"""Whether a JSON text that arrives is whole, and then its value; a part of ``partial_json``, whose rules it keeps.

Apart from the tolerant reader because the two disagree: what the one cannot read may be whole for the other, once its
strings are repaired.
"""

import re
from typing import Any

import msgspec

__all__ = ["WholeJson"]

_MARKS = re.compile(r'["\[\]{}]')
_QUOTED = re.compile(r'[^"\\]*')
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_REPAIRABLE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\u|\\|[\x00-\x1f]')


class WholeJson:
    """Follows the brackets of a text, and reads it strictly once the first of them is closed, if nothing comes behind.

    ``deepest`` is how deep brackets were nested; ``looked_at`` counts the characters that were looked at.
    """

    def __init__(self, depth_max: int) -> None:
        self.closed = False
        self.looked_at = 0
        self._depth_max = depth_max
        self._depth = 0
        self._over = False
        self._quoted = False
        self._escaped = False
        self._read = False
        self._found: list[Any] = []

    def take(self, text: str) -> None:
        """More of the text; it may not be blank only, for something blank may follow a whole value."""
        if self.closed or self._over:
            self.closed, self._over = False, True
            return
        self.looked_at += len(text)
        index = 0
        while index < len(text) and not self._over:
            index = self._in_quotes(text, index) if self._quoted else self._outside(text, index)

    def value(self, text: list[str]) -> list[Any]:
        """The value of the text taken so far, in a list; an empty list when it is not whole. It is read only once."""
        if self.closed and not self._read:
            self._read = True
            self._found = self._strictly("".join(text))
        return self._found if self.closed else []

    def _in_quotes(self, text: str, index: int) -> int:
        if self._escaped:
            self._escaped = False
            return index + 1
        found = _QUOTED.match(text, index)
        index = found.end() if found else index
        if index < len(text):
            self._escaped = text[index] == "\\"
            self._quoted = self._escaped
        return index + 1

    def _outside(self, text: str, index: int) -> int:
        found = _MARKS.search(text, index)
        if self._depth == 0 and (found is None or found.start() > index or found.group() not in "[{"):
            self._over = True
        if found is None:
            return len(text)
        mark = found.group()
        if mark == '"':
            self._quoted = True
        elif mark in "[{":
            self._depth += 1
            self._over |= self._depth > self._depth_max
        else:
            self._depth -= 1
            self.closed = self._depth == 0 and found.end() == len(text)
            self._over |= self._depth == 0 and not self.closed
        return found.end()

    def _strictly(self, text: str) -> list[Any]:
        for attempt in (str, _repaired):
            self.looked_at += len(text)
            try:
                return [msgspec.json.decode(attempt(text))]
            except (msgspec.DecodeError, UnicodeEncodeError):
                continue
        return []


def _repaired(text: str) -> str:
    return _STRING.sub(lambda string: _REPAIRABLE.sub(_mended, string.group()), text)


def _mended(found: re.Match[str]) -> str:
    text = found.group()
    if len(text) > 1:
        return text
    return "\\\\" if text == "\\" else f"\\u{ord(text):04x}"
