"""Reading an answer, event by event: what every protocol does alike.

A protocol adds what its events mean (``on_event``) and which marker ends an answer (it sets ``complete``). Read
``finish`` for what an end is: with the marker a success, without it a failure (decision 22).
"""

import json
from abc import ABC, abstractmethod
from typing import Any

from ...effects.model import Delta
from ...effects.transcript import ErrorKind, ModelError, StopReason
from .assembler import Assembler
from .config import ModelConfig
from .failures import failure, of_report

__all__ = ["DONE", "AnswerReader", "is_whole"]

DONE = "[DONE]"
"""What some protocols send as the data of their last event."""


class AnswerReader(ABC):
    """One answer while it is read. Never raises for what a provider sent.

    ``complete``: the terminal marker has come, and whatever fails after it does not matter. ``over``: nothing of
    interest can follow.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.answer = Assembler(config.target)
        self.complete = False
        self.over = False
        self.stop = StopReason.STOP
        self.raw_stop: str | None = None
        self.response_id: str | None = None
        self._ended = False

    @abstractmethod
    def on_event(self, name: str, value: dict[str, Any]) -> None:
        """Take in one event; ``name`` may be missing."""

    def feed(self, name: str, data: str) -> list[Delta]:
        """The deltas that an event brings, the terminal one among them if it is the provider's error report."""
        if data == DONE:
            self.over = True
            if not self.complete:
                phrase = f"{self.config.host} ended its answer without saying why"
                self._break_off(failure(self.config, ErrorKind.PROTOCOL, phrase).error)
        elif data and not self.over:
            value = _decoded(data)
            if isinstance(value, dict):
                self.on_event(name, value)  # pyright: ignore[reportUnknownArgumentType]
            else:
                self._break_off(failure(self.config, ErrorKind.PROTOCOL, "a piece of the answer is not JSON").error)
        return self.answer.take()

    def resumed(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The request that goes on with an answer whose provider only paused; nothing where it has ended.

        ``body`` is the request that was answered. What its successor brings is read on from here.
        """
        return None

    def report(self, value: Any) -> None:
        """The provider says that it cannot go on."""
        self._break_off(of_report(self.config, value, self.response_id))

    def finish(self) -> list[Delta]:
        """The last deltas: the bytes have ended, or ``over`` is true."""
        if not self._ended:
            self._ended = True
            if self.complete:
                self.answer.finish(self.stop, self.raw_stop)
            else:
                phrase = f"the answer of {self.config.host} broke off before its end"
                self.answer.fail(failure(self.config, ErrorKind.NETWORK, phrase).error, self.raw_stop)
        return self.answer.take()

    def fail(self, error: ModelError) -> list[Delta]:
        """The last deltas of an answer that an error around it ended."""
        self._break_off(error)
        return self.finish()

    def _break_off(self, error: ModelError) -> None:
        self.over = True
        if not self.complete and not self._ended:
            self._ended = True
            self.answer.fail(error, self.raw_stop)


def is_whole(data: str) -> bool:
    """Whether the data of an event that was never ended is whole."""
    return data == DONE or _decoded(data) is not None


def _decoded(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
