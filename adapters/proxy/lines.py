"""From bytes to frames: lines that begin with ``data: ``, each with one JSON value. Pure; bounded.

It looks like server-sent events and is simpler: one line is one frame, whatever comes between them, and every other
line counts for nothing.
"""

from collections.abc import Iterator
from typing import Any, cast

from ...effects.transcript.text import WHITE_SPACE
from .blocks import strict_json

__all__ = ["MAX_LINE_BYTES", "FrameError", "LineReader", "frame_of"]

MAX_LINE_BYTES = 16 * 2**20
"""The most bytes that one line may have."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PREFIX = "data: "


class FrameError(ValueError):
    """A frame that is not what the protocol says; the text never holds what was in it."""


class LineReader:
    """The payloads of lines from chunks of bytes, however they are cut."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The payloads that this chunk completes; raises ``FrameError`` for a line without end."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield from self.flush()
        self._add(rest)

    def flush(self) -> Iterator[str]:
        """The payload of the line so far, if it has one: the last line needs no end."""
        line = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if self._first:
            line, self._first = line.removeprefix(_BYTE_ORDER_MARK), False
        text = line.decode("utf-8", "replace")
        if text.startswith(_PREFIX) and (payload := text[len(_PREFIX) :].strip(WHITE_SPACE)):
            yield payload

    def _add(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)
            if self._size > MAX_LINE_BYTES:
                raise FrameError(f"a line of the answer has more than {MAX_LINE_BYTES} bytes")


def frame_of(payload: str) -> dict[str, Any] | None:
    """The frame in a payload; nothing for a value that is no frame. Raises ``FrameError`` for what is no JSON, or null.

    Texts may hold halves of surrogate pairs: the other half may come in the next frame.
    """
    try:
        value = strict_json(payload)
    except ValueError:
        raise FrameError("a frame of the answer is not JSON") from None
    if value is None:
        raise FrameError("a frame of the answer is null")
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
