"""The beginning and the end of one execution of a run."""

from .display import Operation
from .journal import Resume
from .outcome import Completed, Delivered, Outcome
from .outcome_errors import error_of
from .record import Block, Completion, PlanTask, ToolCall
from .spending import NO_SPENDING, Spending
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
    kept the run in memory only, and is what goes on from there. ``changed`` names what of the agent is not as it was
    when the run was last saved (decision 35): ``instruction``, ``model``, ``tool NAME``, ``extension NAME``.

    ``usage`` is all that was used over all executions, ``spending`` the same by model and purpose.
    """

    outcome: Outcome | None
    usage: Usage
    blocks: tuple[Block, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    plan: tuple[PlanTask, ...] = ()
    busy_until: int | None = None
    resume: Resume | None = None
    changed: tuple[str, ...] = ()
    spending: Spending = NO_SPENDING

    @property
    def completion(self) -> Completion | None:
        """The structured value that ended the run; nothing for every other end."""
        return self.outcome.completion if isinstance(self.outcome, Completed) else None

    def delivered(self) -> "RunResult":
        """This result, if the run gave an answer; raises the ``RunUnfinished`` that says why not."""
        error = error_of(self.outcome)
        if error is not None:
            raise error
        return self

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
