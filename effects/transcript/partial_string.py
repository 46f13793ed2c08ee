"""One string of JSON while it arrives; a part of ``partial_json``, whose rules it keeps."""

import re

from .text import WHITE_SPACE

__all__ = ["PartialString"]

_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")
# White space that is no control character, so that repairing leaves it as it is.
_WIDE_WHITE = "".join(character for character in WHITE_SPACE if character >= " ")


class PartialString:
    """A string, from behind its first quotation mark; ``closed`` once the last one was read.

    Its text comes in pieces, of a ``_length`` in all. ``_before`` says how much of it came before the last escape: a
    length, and half of a pair that was completed since. ``_broken`` says that something in it is not allowed, and
    ``_sound`` what is still good of it then. With ``repairing`` it is read as if it had been repaired, where a control
    character is an escape as well.
    """

    def __init__(self, repairing: bool = False) -> None:
        self.closed = False
        self._repairing = repairing
        self._pieces: list[str] = []
        self._length = 0
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
        if tail and (self._broken or self._escape[1:]):
            return None
        if self._broken:
            return self._sound
        return self._joined() + ("\\" if self._escape == "\\" else "") + tail

    def take(self, text: str, index: int) -> int:
        """Read on from an index, at most to the end of the string; says how far."""
        while index < len(text) and not self.closed:
            if self._escape:
                index = self._in_escape(text, index)
                continue
            plain = _PLAIN.match(text, index)
            if plain:
                self._append(plain.group())
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
            self._append(character)
        else:
            self._break()

    def _begin_escape(self) -> None:
        if self._broken:
            self._sound = None
        else:
            self._before = self._length, ""

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

    def _append(self, text: str) -> None:
        if not self._broken:
            self._pieces.append(text)
            self._length += len(text)

    def _add(self, character: str) -> None:
        """What an escape stands for; the second half of a pair joins the first."""
        half = self._pieces[-1][-1:] if self._pieces else ""
        if "\udc00" <= character <= "\udfff" and "\ud800" <= half <= "\udbff":
            joined = chr(0x10000 + ((ord(half) - 0xD800) << 10) + ord(character) - 0xDC00)
            self._pieces[-1] = self._pieces[-1][:-1] + joined
            self._before = self._length - 1, half
        else:
            self._append(character)
        if character == "\\":
            # The last backslash is half of this escape, so nothing can be cut there.
            self._before = None

    def _break(self) -> None:
        if self._broken:
            return
        self._broken = True
        if self._before is not None:
            length, half = self._before
            self._sound = self._joined()[:length] + half

    def _joined(self) -> str:
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]
