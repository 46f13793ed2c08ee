"""``Counter``: an extension that counts what it is told, so that the witness can say whether that was right."""

from typing import Any

import msgspec

from ...core.run import CallOutcome, Extension
from ...effects.feed import InputMessage
from ...effects.transcript import AssistantMessage

__all__ = ["NAME", "Counter", "counted"]

NAME = "extension/counter"
"""The name under which its slice is saved."""


class Counter(Extension):
    """Counts input messages, outputs, and what became of calls."""

    name = "counter"

    def start(self) -> Any:
        """Nothing is counted yet."""
        return {"inputs": 0, "outputs": 0, "calls": 0}

    def instruction(self, state: Any) -> str:
        """How much input there was when this execution began."""
        return f"So far: {state['inputs']} messages."

    def on_claim(self, state: Any, messages: tuple[InputMessage, ...]) -> Any:
        """Count the messages."""
        return {**state, "inputs": state["inputs"] + len(messages)}

    def on_output(self, state: Any, output: AssistantMessage) -> Any:
        """Count the output."""
        return {**state, "outputs": state["outputs"] + 1}

    def on_call(self, state: Any, outcome: CallOutcome) -> Any:
        """Count the news of a call."""
        return {**state, "calls": state["calls"] + 1}


def counted(raw: bytes) -> tuple[int, int]:
    """How many input messages and outputs a saved slice has counted."""
    state = msgspec.json.decode(raw)
    return state["inputs"], state["outputs"]
