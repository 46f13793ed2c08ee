"""How a broken promise is told: as a ``Complaint`` by the witness, with the whole story by the world."""

from .trace import Trace

__all__ = ["Complaint", "PromiseBroken"]


class PromiseBroken(AssertionError):
    """A promise did not hold. ``promise`` names it; the text has the whole story.

    ``schedule`` led there; ``names`` are those of its choices, empty for the ordinary.
    """

    def __init__(
        self, promise: str, story: str, schedule: tuple[int, ...], names: tuple[str, ...], trace: Trace
    ) -> None:
        super().__init__(f"{promise}\n{story}")
        self.promise = promise
        self.schedule = schedule
        self.names = names
        self.trace = trace


class Complaint(Exception):
    """A promise that the witness found broken, with what it saw, before the world adds the story."""

    def __init__(self, promise: str, detail: str = "") -> None:
        super().__init__(promise, detail)
        self.promise = promise
        self.detail = detail
