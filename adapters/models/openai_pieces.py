"""What the readers of both OpenAI protocols have in common: texts that come in pieces, and calls' arguments."""

import json
from typing import Any

__all__ = ["GrowingText", "arguments_text", "written"]


class GrowingText:
    """A text that comes in pieces. Adding one costs what the piece is long, however much there is already."""

    __slots__ = ("_pieces", "length")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.length = 0

    def add(self, piece: str) -> None:
        """One more piece at the end."""
        self._pieces.append(piece)
        self.length += len(piece)

    def rest_of(self, whole: str) -> str | None:
        """What ``whole`` says beyond this text; none where it says something else. Costs what ``whole`` is long."""
        if len(whole) < self.length or not whole.startswith(self.text()):
            return None
        return whole[self.length :]

    def text(self) -> str:
        """All of it."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


def arguments_text(value: Any) -> str:
    """The arguments of a call as text, where some servers send the object itself.

    What is neither is written down too: it fails as what it is, and is never taken for a call without arguments.
    """
    return value if isinstance(value, str) else "" if value is None else written(value)


def written(value: Any) -> str:
    """Compact JSON, in the order in which the members came; ``null`` for what is nested too deeply to be written."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return "null"
