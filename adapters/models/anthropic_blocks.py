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
        self._input = ""
        self._known = bool(self.type)

    def take(self, delta: dict[str, Any]) -> None:
        """A piece; with one of an unknown kind the block cannot be whole any more."""
        kind = as_text(delta.get("type"))
        if kind == "input_json_delta":
            self._input += as_text(delta.get("partial_json"))
        elif member := _PIECES.get(kind):
            self._block[member] = as_text(self._block.get(member)) + as_text(delta.get(member))
        elif kind != "citations_delta":
            self._known = False

    def whole(self) -> dict[str, Any]:
        """The block; nothing where it says nothing or is not whole. Citations of a text need not go back."""
        block = self._block
        if not self._known or (self.type == "text" and not as_text(block.get("text")).strip()):
            return {}
        if self.type == "text":
            return {"type": "text", "text": block["text"]}
        if not self._input:
            return block
        arguments = arguments_of(self._input)
        return {} if arguments is None else {**block, "input": arguments}
