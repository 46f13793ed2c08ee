"""One stream as a terminal shows it: running text, lines, and a last line that may still change.

On what is no terminal everything is a line or plain text, in the order in which it was said.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TextIO

from .style import Style, clean, style_for

__all__ = ["Screen"]

_ERASE = "\r\x1b[2K"
_TEXT, _HINT = "text:", "hint:"


class Screen:
    """Writes to a stream and remembers what stands on its last line."""

    def __init__(self, stream: TextIO, style: Style | None = None) -> None:
        self.style = style_for(stream) if style is None else style
        self._stream = stream
        self._last = ""

    @property
    def in_text(self) -> bool:
        """Whether running text stands on the last line."""
        return self._last.startswith(_TEXT)

    def text(self, text: str, kind: str = "", paint: Callable[[str], str] | None = None) -> None:
        """Go on with running text; text of another ``kind`` begins a new line."""
        text = clean(text)
        if not text:
            return
        if self._last != _TEXT + kind:
            self._leave()
        self._write(paint(text) if paint else text)
        self._last = "" if text.endswith("\n") else _TEXT + kind

    def line(self, text: str = "") -> None:
        """A line of its own, already clean."""
        self._leave()
        self._write(text + "\n")

    def hint(self, text: str) -> None:
        """Something that stands there until something else does; only a terminal shows it."""
        if self.style.moves:
            self._leave()
            self._write(self.style.dim(text[: self.style.width - 1]))
            self._last = _HINT

    @contextmanager
    def hinting(self, text: str) -> Generator[None]:
        """A hint for as long as something takes, however it ends."""
        self.hint(f"  {clean(text)}")
        try:
            yield
        finally:
            self.finish()

    def prompt(self, text: str) -> None:
        """Ask for a line; whoever types it ends it."""
        self._leave()
        self._write(text)

    def status(self, key: str, text: str) -> None:
        """A line that ``settle`` may write over as long as it is the last one."""
        if not self.style.moves:
            self.line(text)
            return
        self._leave()
        self._write(text)
        self._last = key

    def settle(self, key: str, text: str) -> None:
        """What became of ``key``: in the place of its status if that is still the last line."""
        if key and self._last == key:
            self._last = _HINT
        self.line(text)

    def finish(self) -> None:
        """End the line that is open, if any."""
        self._leave()
        self._stream.flush()

    def _leave(self) -> None:
        if self._last == _HINT:
            self._write(_ERASE)
        elif self._last:
            self._write("\n")
        self._last = ""

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
