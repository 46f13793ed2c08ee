"""How asking for an object can fail. Every error says what was used all the same: ``usage`` of all attempts."""

from collections.abc import Sequence

from ....effects.transcript import ModelError, Usage
from .answer import Attempt, usage_of

__all__ = ["CallFailedError", "GenerationError", "RefusedError", "TruncatedError", "UndecodableError"]


class GenerationError(Exception):
    """No object. ``attempts`` are the calls that were made, ``text`` is what the last of them said."""

    def __init__(self, message: str, attempts: Sequence[Attempt], text: str = "") -> None:
        super().__init__(message)
        self.attempts = tuple(attempts)
        self.text = text

    @property
    def usage(self) -> Usage:
        """The tokens of all attempts."""
        return usage_of(self.attempts)


class CallFailedError(GenerationError):
    """A call failed, and ``error`` says how."""

    def __init__(self, error: ModelError, attempts: Sequence[Attempt], text: str = "") -> None:
        super().__init__(error.message, attempts, text)
        self.error = error


class RefusedError(GenerationError):
    """The model refused, or a filter did."""


class TruncatedError(GenerationError):
    """The output reached its limit before the object was complete; ask with a higher one."""


class UndecodableError(GenerationError):
    """What came is no such object, after a second attempt; the cause is the ``UndecodedError``."""
