"""How things look on a terminal: colours where they are wanted, and nothing that could take the terminal over.

Text of models, tools and files is somebody else's: ``clean`` takes out what a terminal would obey.
"""

import os
import re
import textwrap
import time
from collections.abc import Mapping
from typing import TextIO

from ...effects.values import frozen

__all__ = ["PLAIN", "Style", "clean", "clock_time", "date_time", "duration", "folded", "shortened", "style_for",
           "wrapped"]  # fmt: skip

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COLOUR = re.compile(r"\x1b\[\d*m")


def clean(text: str) -> str:
    """The text without control characters other than line break and tab, and without marks that turn text around."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def shortened(text: str, limit: int = 100) -> str:
    """The text on one line of at most ``limit`` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: max(0, limit - 1)] + "…"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The text in lines of at most ``width`` columns, each after ``indent``; words stay in one piece, however long."""
    wrapper = textwrap.TextWrapper(max(20, width - len(indent)), break_long_words=False, break_on_hyphens=False)
    return [indent + line for part in clean(text).split("\n") for line in wrapper.wrap(part) or [""]]


def folded(text: str, width: int, indent: str = "") -> list[str]:
    """Text with colours of ours in lines of at most ``width`` columns, each but the first after ``indent``."""
    lines: list[str] = []
    line = ""
    for place, word in enumerate(text.split(" ")):
        if place and _size(line) + 1 + _size(word) > width:
            lines.append(line.rstrip())
            line = indent + word
        elif place and line != indent:
            line = f"{line} {word}"
        else:
            line += word
    return [*lines, line]


def _size(text: str) -> int:
    return len(_COLOUR.sub("", text))


def clock_time(at: int) -> str:
    """A time of milliseconds since the epoch as local hours, minutes and seconds."""
    return time.strftime("%H:%M:%S", time.localtime(at / 1000))


def date_time(at: int) -> str:
    """A time of milliseconds since the epoch as a local date and time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))


def duration(milliseconds: int) -> str:
    """A span of time as a person would say it."""
    seconds = max(0, milliseconds) / 1000
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@frozen
class Style:
    """What a stream can show. ``moves``: whether a line may be written over; ``width`` is in characters."""

    colours: bool = False
    moves: bool = False
    width: int = 80

    def bold(self, text: str) -> str:
        """Heavy text."""
        return self._in("1", text)

    def dim(self, text: str) -> str:
        """Faint text."""
        return self._in("2", text)

    def good(self, text: str) -> str:
        """Text about something that went well."""
        return self._in("32", text)

    def bad(self, text: str) -> str:
        """Text about something that failed."""
        return self._in("31", text)

    def warn(self, text: str) -> str:
        """Text about something a person should look at."""
        return self._in("33", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and text else text


PLAIN = Style()


def style_for(stream: TextIO, environ: Mapping[str, str] | None = None) -> Style:
    """Plain unless the stream is a terminal; without colours where ``NO_COLOR`` is set (no-color.org)."""
    environ = os.environ if environ is None else environ
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return PLAIN
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        width = 80
    return Style(colours=not environ.get("NO_COLOR"), moves=True, width=max(20, width))
