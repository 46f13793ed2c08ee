"""A block of the Messages API while it arrives, put together as it must go back."""

from typing import Any

from .prompt import arguments_of
from .wire import as_object, as_text

__all__ = ["ArrivingBlock"]

_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class ArrivingBlock:
    """One block, as it began and with what came for it. ``given`` is the input that it began with."""

    def __init__(self, block: dict[str, Any]) -> None:
        self.type = as_text(block.get("type"))
        self.given = as_object(block.get("input"))
        self._block = dict(block)
        self._pieces: dict[str, list[str]] = {}
        self._input: list[str] = []
        self._citations: list[dict[str, Any]] = []
        self._known = bool(self.type)

    def take(self, delta: dict[str, Any]) -> None:
        """A piece; with one of an unknown kind the block cannot be whole any more."""
        kind = as_text(delta.get("type"))
        if kind == "input_json_delta":
            self._input.append(as_text(delta.get("partial_json")))
        elif member := _PIECES.get(kind):
            self._pieces.setdefault(member, []).append(as_text(delta.get(member)))
        elif kind != "citations_delta":
            self._known = False
        elif citation := as_object(delta.get("citation")):
            # The place of a file is told in answers only: no request may have it.
            self._citations.append({name: value for name, value in citation.items() if name != "file_id"})

    @property
    def citations(self) -> dict[str, Any]:
        """What the block cites, as the member that goes back with it; nothing where it cites nothing."""
        return {"citations": self._citations} if self._citations else {}

    def whole(self) -> dict[str, Any]:
        """The block; nothing where it says nothing or is not whole."""
        joined = {name: as_text(self._block.get(name)) + "".join(pieces) for name, pieces in self._pieces.items()}
        block = {**self._block, **joined}
        if not self._known or (self.type == "text" and not as_text(block.get("text")).strip()):
            return {}
        if self.type == "text":
            return {"type": "text", "text": block["text"], **self.citations}
        if written := "".join(self._input):
            arguments = arguments_of(written)
            return {} if arguments is None else {**block, "input": arguments}
        return block
