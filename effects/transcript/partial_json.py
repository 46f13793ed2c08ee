"""Reading JSON that is still arriving, so that people can see a call's arguments grow.

For display only: what a tool gets is read strictly, once it is whole (decision 12). Apart from ``text`` because it is a
reader with a memory. Read ``PartialJson`` first; its methods ``_in_…`` each read one kind of place and name the next.

The rules, for text that is no JSON (yet):

- A whole value is read strictly. If that fails, its strings are repaired first: control characters and backslashes that
  escape nothing stand for themselves.
- Otherwise objects, arrays and strings end where the text ends, and white space at the end of the text does not count.
  A member without a value is left out, and so is half an escape. A literal may be cut anywhere (``t`` is true), a number
  in its exponent (``1e`` is 1). NaN and infinities, numbers beyond all bounds among them, are null.
- Commas may be missing where nothing runs into each other, and one character, whatever it is, stands for the colon.
- What cannot be read ends the object or array that it is in; whatever that is in goes on behind it. A string with a
  control character or a bad escape cannot be read; while it is still open, it counts up to its last escape if what
  comes before that is sound. A member called ``__proto__`` is left out.
- Text that holds nothing at all is an empty object, and so is a null that is not whole.

Texts may end in half of a surrogate pair, as the text so far does; clean them before they are stored.
"""

import re
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from .text import WHITE_SPACE

__all__ = ["DEPTH_MAX", "PartialJson", "partial_json"]

DEPTH_MAX = 200
"""Objects and arrays that are nested deeper cannot be read."""

_NUMBER_MAX = 4_300
_BLANK = " \t\n\r"
_BLANKS = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_TOKEN_END = re.compile(r"[,\]}]")
_UNTIL_QUOTE = re.compile(r'[^"\\]*')
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_REPAIRABLE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\u|\\|[\x00-\x1f]')
_LITERALS = {"null": None, "true": True, "false": False, "Infinity": None, "-Infinity": None, "NaN": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")


class _Nothing:
    """What there is where nothing could be read."""


_NOTHING: Final = _Nothing()


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
        self.looked_at = 0
        self._text: list[str] = []
        self._tail: list[str] = []
        self._plain_ends = True
        self._nesting = _Nesting()
        self._whole: Any = _NOTHING
        self._tried = False
        self._open: list[_Container] = []
        self._token = ""
        self._string = _String()
        self._repaired = _String(repairing=True)
        self._result: Any = _NOTHING
        self._rest = False
        self._read: Callable[[str, int], int] = self._in_value

    def feed(self, chunk: str) -> None:
        """More of the text."""
        if not self._text:
            begun = chunk.lstrip(WHITE_SPACE)
            self._plain_ends &= not chunk[: len(chunk) - len(begun)].strip(_BLANK)
            chunk = begun
        body = chunk.rstrip(WHITE_SPACE)
        if body:
            body = "".join([*self._tail, body])
            self._tail.clear()
            self._text.append(body)
            self._take(body)
        tail = chunk[len(chunk.rstrip(WHITE_SPACE)) :]
        if tail and self._text:
            self._tail.append(tail)
            self._plain_ends &= not (self._nesting.closed and tail.strip(_BLANK))

    def value(self) -> Any:
        """What the text holds so far. Treat it as a constant: parts of it are shared with values asked for before."""
        if not self._text:
            return {}
        if self._nesting.closed and self._plain_ends:
            if not self._tried:
                self._tried = True
                self._whole = self._strictly("".join(self._text))
            if self._whole is not _NOTHING:
                return self._whole
        found = self._closed_up()
        return {} if found is _NOTHING else found

    def _strictly(self, text: str) -> Any:
        if self._nesting.deepest > DEPTH_MAX:
            return _NOTHING
        self.looked_at += 2 * len(text)
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            try:
                return msgspec.json.decode(_STRING.sub(_repair, text))
            except (msgspec.DecodeError, UnicodeEncodeError):
                return _NOTHING

    def _closed_up(self) -> Any:
        """The value if the text ended here."""
        if not self._open and self._read == self._in_nothing:
            null = self._result is None and self._token == "null"
            return {} if null and (self._rest or not self._plain_ends) else self._result
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
        if self._read == self._in_token:
            self.looked_at += len(self._token)
            return self._literal_or_number()
        return _NOTHING

    def _literal_or_number(self) -> Any:
        if self._token != "-":
            for literal, value in _LITERALS.items():
                if literal.startswith(self._token):
                    return _NOTHING if literal == "null" and not self._open else value
        return _number(self._token)

    def _take(self, text: str) -> None:
        self.looked_at += len(text)
        self._nesting.take(text)
        index = 0
        while index < len(text):
            before, index = index, self._read(text, index)
            self.looked_at += index - before

    def _in_value(self, text: str, index: int) -> int:
        index = _blanks(text, index)
        match text[index : index + 1]:
            case "":
                pass
            case '"':
                return self._begin_string(index)
            case "{" | "[" as bracket:
                return self._begin_container(bracket, index)
            case _:
                self._token = ""
                self._read = self._in_token
        return index

    def _begin_container(self, bracket: str, index: int) -> int:
        if len(self._open) == DEPTH_MAX:
            self._fail()
            return index + 1
        self._open.append(_Object() if bracket == "{" else _Array())
        self._read = self._in_object if bracket == "{" else self._at_item
        return index + 1

    def _at_item(self, text: str, index: int) -> int:
        """In an array, directly behind its bracket, a comma or an item."""
        if text[index] == "]":
            self._deliver(self._open.pop().found)
            return index + 1
        self._read = self._in_value
        return index

    def _in_object(self, text: str, index: int) -> int:
        """In an object, behind its bracket."""
        index = _blanks(text, index)
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
        index = _blanks(text, index)
        if index == len(text):
            return index
        if text[index] == '"':
            index = self._begin_string(index)
            self._read = self._in_name
            return index
        self._string = _String()
        self._read = self._in_no_name
        return index + 1

    def _in_no_name(self, text: str, index: int) -> int:
        """Something else where a name should be: nothing can be read up to the next quotation mark."""
        index = self._string.take(text, index)
        if self._string.closed:
            self._fail()
        return index

    def _in_name(self, text: str, index: int) -> int:
        index = self._string.take(text, index)
        if self._string.closed:
            name = self._string.found()
            if name is None:
                self._fail()
            else:
                cast(_Object, self._open[-1]).name = name
                self._read = self._in_colon
        return index

    def _in_colon(self, text: str, index: int) -> int:
        index = _blanks(text, index)
        if index == len(text):
            return index
        self._read = self._in_value
        return index + 1

    def _begin_string(self, index: int) -> int:
        self._string = _String()
        self._repaired = _String(repairing=True)
        self._read = self._in_string
        return index + 1

    def _in_string(self, text: str, index: int) -> int:
        end = self._string.take(text, index)
        if not self._open:
            self._repaired.take(text, index)
        if self._string.closed:
            found = self._string.found()
            if found is None and not self._open:
                found = self._repaired.found()
            if found is None:
                self._fail()
            else:
                self._deliver(found)
        return end

    def _in_token(self, text: str, index: int) -> int:
        """In a literal or number. At the top a number is all that there is; elsewhere it ends where its place does."""
        end = _TOKEN_END.search(text, index) if self._open else None
        stop = end.start() if end else len(text)
        known = len(self._token)
        if known <= _NUMBER_MAX:
            self._token += text[index : min(stop, index + _NUMBER_MAX + 1)]
        for literal, value in _LITERALS.items():
            if self._token.startswith(literal):
                self._token = literal
                self._deliver(value)
                return index + len(literal) - known
        if end:
            value = _number(self._token)
            if value is _NOTHING:
                self._fail()
            else:
                self._deliver(value)
        return stop

    def _behind_value(self, text: str, index: int) -> int:
        index = _blanks(text, index)
        if index == len(text):
            return index
        self._read = self._at_member if isinstance(self._open[-1], _Object) else self._at_item
        return index + (text[index] == ",")

    def _in_nothing(self, text: str, index: int) -> int:
        """Behind all that can be read."""
        self._rest = True
        return len(text)

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
    """An array while it is read."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def take(self, value: Any) -> None:
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
        if self.name != "__proto__":
            self.found[self.name] = value

    def closed_with(self, value: Any) -> dict[str, Any]:
        """A copy, as if the text ended in ``value``."""
        copy = self.found.copy()
        if value is not _NOTHING and self.name != "__proto__":
            copy[self.name] = value
        return copy


_Container = _Array | _Object


class _String:
    """A string while it is read, from behind its first quotation mark.

    Its text comes in pieces. ``_before`` says how much of it came before the last escape, in pieces and a half of a pair
    that was completed since; ``_broken`` that something in it is not allowed, and ``_sound`` what is still good of it then.
    With ``repairing`` it is read as if it had been repaired, where a control character is an escape as well.
    """

    def __init__(self, repairing: bool = False) -> None:
        self.closed = False
        self._repairing = repairing
        self._pieces: list[str] = []
        self._escape = ""
        self._before: tuple[int, str] | None = None
        self._broken = False
        self._sound: str | None = None

    def found(self) -> str | None:
        """The text of the closed string, unless it is broken."""
        return None if self._broken else self._joined()

    def so_far(self, tail: str = "") -> str | None:
        """The text of the open string, unless nothing in it is sound; ``tail`` is white space that was held back."""
        if not self._repairing:
            return self._sound if self._broken else self._joined()
        tail = tail.rstrip(_WIDE_WHITE)
        if self._broken:
            return None if tail.strip(_WIDE_WHITE) else self._sound
        return self._joined() + ("\\" if self._escape == "\\" else "") + tail

    def take(self, text: str, index: int) -> int:
        """Read on, at most to the end of the string; says how far."""
        while index < len(text) and not self.closed:
            if self._escape:
                index = self._in_escape(text, index)
                continue
            plain = _PLAIN.match(text, index)
            if plain:
                if not self._broken:
                    self._pieces.append(plain.group())
                index = plain.end()
                continue
            self._special(text[index])
            index += 1
        return index

    def _special(self, character: str) -> None:
        if character == '"':
            self.closed = True
        elif character == "\\":
            self._begin_escape()
            self._escape = "\\"
        elif self._repairing:
            self._begin_escape()
            self._pieces.append(character)
        else:
            self._break()

    def _begin_escape(self) -> None:
        if self._broken:
            self._sound = None
        else:
            self._before = len(self._pieces), ""

    def _in_escape(self, text: str, index: int) -> int:
        character = text[index]
        if len(self._escape) == 1 and character != "u":
            self._escape = ""
            if character in _ESCAPES:
                self._add(_ESCAPES[character])
            elif self._repairing:
                self._add("\\")
                return index
            else:
                self._break()
            return index + 1
        if len(self._escape) > 1 and character not in _HEX:
            self._escape = ""
            self._break()
            return index
        self._escape += character
        if len(self._escape) == len("\\u0000"):
            self._add(chr(int(self._escape[2:], 16)))
            self._escape = ""
        return index + 1

    def _add(self, character: str) -> None:
        """What an escape stands for; the second half of a pair joins the first."""
        if self._broken:
            return
        last = self._pieces[-1] if self._pieces else ""
        if "\udc00" <= character <= "\udfff" and len(last) == 1 and "\ud800" <= last <= "\udbff":
            self._pieces[-1] = chr(0x10000 + ((ord(last) - 0xD800) << 10) + ord(character) - 0xDC00)
            self._before = len(self._pieces) - 1, last
        else:
            self._pieces.append(character)

    def _break(self) -> None:
        if self._broken:
            return
        self._broken = True
        if self._before is not None:
            count, half = self._before
            self._sound = "".join(self._pieces[:count]) + half

    def _joined(self) -> str:
        """The text; joined once and for all, except where what comes before the last escape may still matter."""
        if self._before is None:
            self._pieces = ["".join(self._pieces)]
        else:
            count, half = self._before
            self._pieces = ["".join(self._pieces[:count]), "".join(self._pieces[count:])]
            self._before = 1, half
        return "".join(self._pieces)


_WIDE_WHITE = WHITE_SPACE.translate(dict.fromkeys(range(0x20)))


class _Nesting:
    """How deep the text is in brackets: ``closed`` once an object or array is complete and nothing follows it."""

    def __init__(self) -> None:
        self.closed = False
        self.deepest = 0
        self._depth = 0
        self._over = False
        self._quoted = False
        self._escaped = False

    def take(self, text: str) -> None:
        """More of the text; what follows a value is never blank only, for that is held back."""
        if self.closed or self._over:
            self.closed, self._over = False, True
            return
        index = 0
        while index < len(text) and not self._over:
            if self._quoted:
                index = self._in_quotes(text, index)
            else:
                index = self._outside(text, index)

    def _in_quotes(self, text: str, index: int) -> int:
        if self._escaped:
            self._escaped = False
            return index + 1
        index = _UNTIL_QUOTE.match(text, index).end()  # type: ignore[union-attr]
        if index < len(text):
            self._escaped = text[index] == "\\"
            self._quoted = self._escaped
        return index + 1

    def _outside(self, text: str, index: int) -> int:
        found = _MARKS.search(text, index)
        if self._depth == 0 and (found is None or found.start() > index or found.group() not in "[{"):
            self._over = True
            return len(text)
        if found is None:
            return len(text)
        mark = found.group()
        if mark == '"':
            self._quoted = True
        elif mark in "[{":
            self._depth += 1
            self.deepest = max(self.deepest, self._depth)
        else:
            self._depth -= 1
            self.closed = self._depth == 0 and found.end() == len(text)
            self._over = self._depth == 0 and not self.closed
        return found.end()


_MARKS = re.compile(r'["\[\]{}]')


def _blanks(text: str, index: int) -> int:
    return _BLANKS.match(text, index).end()  # type: ignore[union-attr]


def _number(token: str) -> Any:
    """The number in a token, which may break off in its exponent."""
    if len(token) > _NUMBER_MAX:
        return _NOTHING
    found = _NUMBER.fullmatch(token.rstrip(_BLANK)) or _NUMBER.fullmatch(token.rpartition("e")[0].rstrip(_BLANK))
    if found is None:
        return _NOTHING
    if found[2] is None and found[3] is None:
        return int(found[0])
    number = float(found[0])
    return None if number in (float("inf"), float("-inf")) else number


def _repair(string: re.Match[str]) -> str:
    return _REPAIRABLE.sub(_mended, string.group())


def _mended(found: re.Match[str]) -> str:
    text = found.group()
    if len(text) > 1:
        return text
    return "\\\\" if text == "\\" else f"\\u{ord(text):04x}"
