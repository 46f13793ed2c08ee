"""What an agent raises, and why. A failed model or tool is none of these: it is told by events."""

from ..effects.transcript import ModelError

__all__ = ["AgentBusy", "AgentError", "AgentFailed", "CannotContinue", "InsideListener", "StreamMisused"]


class AgentError(Exception):
    """Something an agent was asked for cannot be had."""


class AgentBusy(AgentError):
    """The agent is running. Queue what you have to say (``steer``, ``follow_up``), or wait until it is idle."""


class InsideListener(AgentBusy):
    """A listener is part of the run it is told of, so it cannot wait for that run."""


class CannotContinue(AgentError):
    """There is nothing to go on from: no message, or an answer with nothing queued behind it."""


class AgentFailed(AgentError):
    """The run failed; the text says why. Events have told of it, unless a listener raised at the very end.

    ``error`` is the error of the failed answer, with its kind, where there is one.
    """

    def __init__(self, message: str, error: ModelError | None = None) -> None:
        super().__init__(message)
        self.error = error


class StreamMisused(AgentError):
    """A stream that is read twice, or in no context."""
