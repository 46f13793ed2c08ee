"""Reading JSON that is still arriving, so that people can see a call's arguments grow.

For display only: what a tool gets is read strictly, once it is whole (decision 12). Read ``PartialJson``; its methods
``_in_…`` and ``_at_…`` each read one kind of place and name the next. ``partial_string`` reads a string, and
``partial_whole`` knows when the text is no longer partial.

The rules, for text that is no JSON (yet):

- A whole object or array is read strictly. If that fails, its strings are repaired first: control characters, and
  backslashes that escape nothing, stand for themselves.
- Otherwise objects, arrays and strings end where the text ends, and white space at the end of the text does not count.
  A member without a value is left out, and so is half an escape. A literal may be cut anywhere (``t`` is true), a
  number in its exponent (``1e`` is 1), and may have 400 characters. NaN and infinities, numbers beyond all bounds among
  them, are null.
- Commas may be missing where nothing runs into each other, and one character, whatever it is, stands for the colon.
- What cannot be read ends the object or array that it is in; whatever that is in goes on behind it. A string with a
  control character or a bad escape cannot be read; while it is still open, it counts up to its last escape if what
  comes before that is sound. A string that is the whole text is repaired instead. A member called ``__proto__`` is left
  out.
- Text that holds nothing at all is an empty object, and so is a null that is not whole.

A string may end in half of a surrogate pair, as the text so far does; clean it before it is stored.
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

from .partial_string import PartialString
from .partial_whole import WholeJson
from .text import WHITE_SPACE

__all__ = ["DEPTH_MAX", "PartialJson", "partial_json"]

DEPTH_MAX = 200
"""Objects and arrays that are nested deeper cannot be read."""

_NUMBER_MAX = 400
_BLANK = " \t\n\r"
_BLANKS = re.compile(r"[ \t\n\r]*")
_WORD_END = re.compile(r"[,\]}]")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LITERALS = {"null": None, "true": True, "false": False, "Infinity": None, "-Infinity": None, "NaN": None}


class _Nothing(Enum):
    NOTHING = 0


# What there is where nothing could be read.
_NOTHING = _Nothing.NOTHING


def partial_json(text: str) -> Any:
    """What the beginning of a JSON text holds so far; it never raises."""
    reader = PartialJson()
    reader.feed(text)
    return reader.value()


class PartialJson:
    """A JSON text while it arrives. ``feed`` it, and ask for its ``value`` whenever somebody wants to see it.

    No character is looked at again, however often the value is asked for: over a whole stream the work is linear in
    the text. ``looked_at`` counts. What asking costs is a copy of what is still open: of the objects and arrays on the
    way to the end (not of what they hold), and of the string there.
    """

    def __init__(self) -> None:
        self._looked_at = 0
        self._text: list[str] = []
        self._tail: list[str] = []
        self._plain_start = True
        self._plain_end = True
        self._whole = WholeJson(DEPTH_MAX)
        self._open: list[_Object | _Array] = []
        self._word = ""
        self._string = PartialString()
        self._repaired = PartialString(repairing=True)
        self._result: Any = _NOTHING
        self._rest = False
        self._read: Callable[[str, int], int] = self._in_value

    @property
    def looked_at(self) -> int:
        """How many characters were looked at, those that were looked at twice counted twice."""
        return self._looked_at + self._whole.looked_at

    def feed(self, chunk: str) -> None:
        """More of the text."""
        if not self._text:
            begun = chunk.lstrip(WHITE_SPACE)
            self._plain_start &= not chunk[: len(chunk) - len(begun)].strip(_BLANK)
            chunk = begun
        body = chunk.rstrip(WHITE_SPACE)
        tail = chunk[len(body) :]
        if body:
            body = "".join([*self._tail, body])
            self._tail.clear()
            self._plain_end = True
            self._text.append(body)
            self._take(body)
        if tail:
            self._tail.append(tail)
            self._plain_end &= not tail.strip(_BLANK)

    def value(self) -> Any:
        """What the text holds so far. Treat it as a constant: values asked for before and after share parts of it."""
        if not self._text:
            return {}
        whole = self._whole.value(self._text) if self._plain_start and self._plain_end else []
        if whole:
            return whole[0]
        found = self._closed_up()
        return {} if found is _NOTHING else found

    def _closed_up(self) -> Any:
        """The value if the text ended here."""
        if not self._open and self._read == self._in_nothing:
            null = self._result is None and self._word == "null"
            whole = self._plain_start and self._plain_end and not self._rest
            return _NOTHING if null and not whole else self._result
        found = self._pending()
        for container in reversed(self._open):
            found = container.closed_with(found)
        return found

    def _pending(self) -> Any:
        """The value that the end of the text is in, if it can be read."""
        if self._read == self._in_string:
            found = self._string.so_far()
            if found is None and not self._open:
                found = self._repaired.so_far("".join(self._tail))
            return _NOTHING if found is None else found
        if self._read == self._in_word and len(self._word) <= _NUMBER_MAX:
            self._looked_at += len(self._word)
            return self._literal_or_number()
        return _NOTHING

    def _literal_or_number(self) -> Any:
        if self._word != "-":
            for literal, value in _LITERALS.items():
                if literal.startswith(self._word):
                    return _NOTHING if literal == "null" and not self._open else value
        return _number(self._word)

    def _take(self, text: str) -> None:
        self._whole.take(text)
        index = 0
        while index < len(text):
            before, index = index, self._read(text, index)
            self._looked_at += index - before

    def _in_value(self, text: str, index: int) -> int:
        index = _behind_blanks(text, index)
        match text[index : index + 1]:
            case "":
                return index
            case '"':
                self._begin_string()
                self._read = self._in_string
                return index + 1
            case "{" | "[" as bracket:
                self._begin_container(bracket)
                return index + 1
            case _:
                self._word = ""
                self._read = self._in_word
                return index

    def _begin_string(self) -> None:
        self._string = PartialString()
        if not self._open:
            self._repaired = PartialString(repairing=True)

    def _begin_container(self, bracket: str) -> None:
        if len(self._open) == DEPTH_MAX:
            self._fail()
        elif bracket == "{":
            self._open.append(_Object())
            self._read = self._in_object
        else:
            self._open.append(_Array())
            self._read = self._at_item

    def _at_item(self, text: str, index: int) -> int:
        """In an array, directly behind its bracket, a comma or an item."""
        if text[index] == "]":
            self._deliver(self._open.pop().found)
            return index + 1
        self._read = self._in_value
        return index

    def _in_object(self, text: str, index: int) -> int:
        """In an object, behind its bracket."""
        index = _behind_blanks(text, index)
        if index < len(text):
            self._read = self._at_member
        return index

    def _at_member(self, text: str, index: int) -> int:
        """In an object, directly behind a comma or a member."""
        if text[index] == "}":
            self._deliver(self._open.pop().found)
            return index + 1
        self._read = self._in_member
        return index

    def _in_member(self, text: str, index: int) -> int:
        index = _behind_blanks(text, index)
        if index == len(text):
            return index
        self._begin_string()
        self._read = self._in_name if text[index] == '"' else self._in_no_name
        return index + 1

    def _in_name(self, text: str, index: int) -> int:
        index = self._string.take(text, index)
        if self._string.closed:
            name = self._string.found()
            if name is None:
                self._fail()
            else:
                self._open[-1].name = name
                self._read = self._in_colon
        return index

    def _in_no_name(self, text: str, index: int) -> int:
        """Something else where a name should be: nothing can be read up to the next quotation mark."""
        index = self._string.take(text, index)
        if self._string.closed:
            self._fail()
        return index

    def _in_colon(self, text: str, index: int) -> int:
        index = _behind_blanks(text, index)
        if index == len(text):
            return index
        self._read = self._in_value
        return index + 1

    def _in_string(self, text: str, index: int) -> int:
        end = self._string.take(text, index)
        if not self._open:
            self._repaired.take(text, index)
            self._looked_at += end - index
        if self._string.closed:
            found = self._string.found()
            if found is None and not self._open:
                found = self._repaired.found()
            self._deliver_or_fail(_NOTHING if found is None else found)
        return end

    def _in_word(self, text: str, index: int) -> int:
        """In a literal or number. At the top a number is all that there is; elsewhere it ends where its place does."""
        end = _WORD_END.search(text, index) if self._open else None
        stop = end.start() if end else len(text)
        known = len(self._word)
        if known <= _NUMBER_MAX:
            self._word += text[index : min(stop, index + _NUMBER_MAX + 1)]
        for literal, value in _LITERALS.items():
            if self._word.startswith(literal):
                self._word = literal
                self._deliver(value)
                return index + len(literal) - known
        if end:
            self._deliver_or_fail(_number(self._word))
        return stop

    def _behind_value(self, text: str, index: int) -> int:
        index = _behind_blanks(text, index)
        if index == len(text):
            return index
        self._read = self._at_member if isinstance(self._open[-1], _Object) else self._at_item
        return index + (text[index] == ",")

    def _in_nothing(self, text: str, index: int) -> int:
        """Behind all that can be read."""
        self._rest = True
        return len(text)

    def _deliver_or_fail(self, value: Any) -> None:
        if value is _NOTHING:
            self._fail()
        else:
            self._deliver(value)

    def _deliver(self, value: Any) -> None:
        """A value is complete: it goes where it belongs."""
        if self._open:
            self._open[-1].take(value)
            self._read = self._behind_value
        else:
            self._result = value
            self._read = self._in_nothing

    def _fail(self) -> None:
        """Something cannot be read: the object or array that it is in ends here."""
        self._deliver(self._open.pop().found if self._open else _NOTHING)


class _Array:
    """An array while it is read. Its ``name`` is of no account."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.name = ""

    def take(self, value: Any) -> None:
        """One more item."""
        self.found.append(value)

    def closed_with(self, value: Any) -> list[Any]:
        """A copy, as if the text ended in ``value``."""
        return self.found.copy() if value is _NOTHING else [*self.found, value]


class _Object:
    """An object while it is read; ``name`` is the name of its current member."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.name = ""

    def take(self, value: Any) -> None:
        """The value of the current member."""
        if self.name != "__proto__":
            self.found[self.name] = value

    def closed_with(self, value: Any) -> dict[str, Any]:
        """A copy, as if the text ended in ``value``."""
        if value is _NOTHING or self.name == "__proto__":
            return self.found.copy()
        return {**self.found, self.name: value}


def _behind_blanks(text: str, index: int) -> int:
    found = _BLANKS.match(text, index)
    return found.end() if found else index


def _number(word: str) -> Any:
    """The number in a word, which may break off in its exponent."""
    if len(word) > _NUMBER_MAX:
        return _NOTHING
    found = _NUMBER.fullmatch(word.rstrip(_BLANK)) or _NUMBER.fullmatch(word.rpartition("e")[0].rstrip(_BLANK))
    if found is None:
        return _NOTHING
    if found[2] is None and found[3] is None:
        return int(found[0])
    number = float(found[0])
    return None if number in (float("inf"), float("-inf")) else number
