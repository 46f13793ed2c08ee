"""How a run ends. Every end has a name (decision 33); "nothing happened" is not one of them.

``boundary`` is the sequence number of the last input the run had claimed, whatever the end (decision 10).
"""

from enum import StrEnum

from .record import Completion
from .transcript import ModelError
from .values import frozen

__all__ = ["Completed", "Delivered", "Failed", "FailureKind", "Outcome", "Suspended"]


class FailureKind(StrEnum):
    """Why a run failed."""

    EMPTY_RESPONSE = "empty_response"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    GUARD_REJECTED = "guard_rejected"
    TURN_LIMIT = "turn_limit"
    BUDGET = "budget"
    TOOL_LIMIT = "tool_limit"
    MODEL = "model"
    FEED = "feed"
    JOURNAL = "journal"
    STALE_ATTEMPT = "stale_attempt"
    CONTRACT_BREACH = "contract_breach"
    CHECKPOINT = "checkpoint"
    EXTENSION = "extension"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"


@frozen
class Delivered:
    """The run said ``text``. ``truncated``: the model stopped at its output limit, so the text may lack its end."""

    text: str
    boundary: int = 0
    truncated: bool = False


@frozen
class Completed:
    """The run ended with a structured value."""

    completion: Completion
    boundary: int = 0


@frozen
class Suspended:
    """The run waits for the named call records, outside; resume it when they are settled or decided."""

    waits_for: tuple[str, ...]
    boundary: int = 0


@frozen
class Failed:
    """The run failed: its kind for programs, a text for people, and the model's error where it was one."""

    kind: FailureKind
    message: str
    boundary: int = 0
    error: ModelError | None = None


Outcome = Delivered | Completed | Suspended | Failed
