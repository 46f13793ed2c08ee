"""The beginning and the end of one execution of a run."""

from .display import Operation
from .journal import Resume
from .outcome import Delivered, Outcome
from .record import Block, PlanTask, ToolCall
from .transcript import Usage
from .values import frozen

__all__ = ["CancelAsked", "Publish", "RunEnded", "RunResult", "RunStarted"]


@frozen
class RunStarted:
    """The first event of every execution. ``seed`` is fresh randomness: all ids of the execution come from it."""

    at: int
    seed: bytes
    take_over: bool = False


@frozen
class CancelAsked:
    """Somebody wants the run to stop: calls are cut off and settled by what they are, then it ends as cancelled."""

    at: int
    reason: str = ""


@frozen
class RunResult:
    """What an execution gives back.

    ``busy_until`` is set, and everything else empty, when the execution never began because another executor holds the
    run (milliseconds since the epoch). ``calls`` are all call records of the run. ``resume`` is set by a runtime that
    kept the run in memory only, and is what goes on from there.
    """

    outcome: Outcome | None
    usage: Usage
    blocks: tuple[Block, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    plan: tuple[PlanTask, ...] = ()
    busy_until: int | None = None
    resume: Resume | None = None

    @property
    def text(self) -> str:
        """The delivered text; empty for every other end."""
        return self.outcome.text if isinstance(self.outcome, Delivered) else ""


@frozen
class Publish:
    """Show what changed. A notice: nothing waits for it."""

    operations: tuple[Operation, ...]


@frozen
class RunEnded:
    """The execution is over: nothing is in flight and nothing follows. A notice."""

    result: RunResult
