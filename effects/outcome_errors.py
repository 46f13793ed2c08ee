"""Outcomes as exceptions, for those who prefer to catch: one class for each kind of failure (decision 33).

::

    RunUnfinished
    ├── RunSuspended            it waits; ``waits_for`` names the calls
    └── RunFailed
        ├── EmptyResponse, Refused, Truncated, GuardRejected
        ├── LimitReached        TurnLimit, Budget, ToolLimit, Deadline
        ├── ModelFailed         ``error`` is what the model's provider said
        ├── HostFailed          FeedFailure, JournalFailure, ContractBreach, CheckpointFailure, ExtensionFailure
        ├── StaleRun            another executor has the run now
        └── Cancelled
"""

from collections.abc import Mapping

from .outcome import Failed, FailureKind, Outcome, Suspended

__all__ = [
    "Budget",
    "Cancelled",
    "CheckpointFailure",
    "ContractBreach",
    "Deadline",
    "EmptyResponse",
    "ExtensionFailure",
    "FeedFailure",
    "GuardRejected",
    "HostFailed",
    "JournalFailure",
    "LimitReached",
    "ModelFailed",
    "Refused",
    "RunFailed",
    "RunSuspended",
    "RunUnfinished",
    "StaleRun",
    "ToolLimit",
    "Truncated",
    "TurnLimit",
    "error_of",
]


class RunUnfinished(Exception):
    """A run ended without an answer. ``boundary`` is the last input it had claimed."""

    boundary: int


class RunSuspended(RunUnfinished):
    """The run waits for the calls named in ``waits_for``; resume it when they are settled or decided."""

    def __init__(self, outcome: Suspended) -> None:
        count = len(outcome.waits_for)
        super().__init__(f"the run waits for {count} call{'s' if count != 1 else ''}: {', '.join(outcome.waits_for)}")
        self.outcome = outcome
        self.waits_for = outcome.waits_for
        self.boundary = outcome.boundary


class RunFailed(RunUnfinished):
    """The run failed; ``outcome`` is the whole of it."""

    def __init__(self, outcome: Failed) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome
        self.kind = outcome.kind
        self.error = outcome.error
        self.boundary = outcome.boundary


class EmptyResponse(RunFailed):
    """The model said nothing, twice."""


class Refused(RunFailed):
    """The model refused to answer."""


class Truncated(RunFailed):
    """The model reached its output limit before it said anything."""


class GuardRejected(RunFailed):
    """The guard rejected the text, and no correction was left."""


class LimitReached(RunFailed):
    """A limit of the run was reached."""


class TurnLimit(LimitReached):
    """The limit of turns."""


class Budget(LimitReached):
    """The limit of tokens or cost."""


class ToolLimit(LimitReached):
    """The limit of iterations: the model still called tools in the last one."""


class Deadline(LimitReached):
    """The limit of time."""


class ModelFailed(RunFailed):
    """The model could not be asked, however often that was tried; ``error`` says what its provider said."""


class HostFailed(RunFailed):
    """Something of the program around the run failed, or broke its contract."""


class FeedFailure(HostFailed):
    """The feed failed."""


class JournalFailure(HostFailed):
    """The journal failed: what was last done may not be saved."""


class ContractBreach(HostFailed):
    """A port did what its contract forbids."""


class CheckpointFailure(HostFailed):
    """What is stored cannot be resumed; it was not changed."""


class ExtensionFailure(HostFailed):
    """A function or an extension of the host raised."""


class StaleRun(RunFailed):
    """Another executor has taken the run over; what it does counts."""


class Cancelled(RunFailed):
    """The run was cancelled."""


_CLASSES: Mapping[FailureKind, type[RunFailed]] = {
    FailureKind.EMPTY_RESPONSE: EmptyResponse,
    FailureKind.REFUSED: Refused,
    FailureKind.TRUNCATED: Truncated,
    FailureKind.GUARD_REJECTED: GuardRejected,
    FailureKind.TURN_LIMIT: TurnLimit,
    FailureKind.BUDGET: Budget,
    FailureKind.TOOL_LIMIT: ToolLimit,
    FailureKind.MODEL: ModelFailed,
    FailureKind.FEED: FeedFailure,
    FailureKind.JOURNAL: JournalFailure,
    FailureKind.STALE_ATTEMPT: StaleRun,
    FailureKind.CONTRACT_BREACH: ContractBreach,
    FailureKind.CHECKPOINT: CheckpointFailure,
    FailureKind.EXTENSION: ExtensionFailure,
    FailureKind.CANCELLED: Cancelled,
    FailureKind.DEADLINE: Deadline,
}


def error_of(outcome: Outcome | None) -> RunUnfinished | None:
    """The outcome as an exception; nothing for a delivered text or a completion."""
    match outcome:
        case Suspended():
            return RunSuspended(outcome)
        case Failed():
            return _CLASSES[outcome.kind](outcome)
        case _:
            return None
