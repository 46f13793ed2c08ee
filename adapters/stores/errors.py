"""What a store may say instead of doing it. One tree, apart from everything, so that a program can catch it.

::

    StoreError
    ├── CannotOpen          the file cannot be opened as a store at all
    │   ├── NotOurDatabase  it is somebody else's, or no SQLite database
    │   └── NewerSchema     a later release of turnfold made it
    ├── StoreLocked         another process kept the database locked for too long
    ├── StoreClosed         the store was closed before
    ├── CorruptRow          a stored row cannot be read
    ├── TooLarge            a value is larger than the store takes
    ├── BadLogCut           a step keeps more of a log than is stored
    ├── UnknownRun, UnknownCall
    ├── RunTaken            the run belongs to another conversation
    ├── MessageChanged      a message with this identity is stored with another content
    └── DecisionRefused     the call cannot be decided so (any more)

What concerns attempts, leases and refused calls is said in the words of ``effects.journal``. Texts carry no stored
content, only names and what to do.
"""

from enum import StrEnum

__all__ = [
    "BadLogCut",
    "CannotOpen",
    "CorruptRow",
    "DecisionRefused",
    "MessageChanged",
    "NewerSchema",
    "NotOurDatabase",
    "Refusal",
    "RunTaken",
    "StoreClosed",
    "StoreError",
    "StoreLocked",
    "TooLarge",
    "UnknownCall",
    "UnknownRun",
]


class StoreError(Exception):
    """A store could not do what it was asked; the text says why and what to do."""


class CannotOpen(StoreError):
    """The file cannot be opened as a store; it was not changed."""


class NotOurDatabase(CannotOpen):
    """The file is not a turnfold store; it was not changed."""


class NewerSchema(CannotOpen):
    """The file was made by a later release, whose layout (``found``) this one does not know (up to ``known``)."""

    def __init__(self, place: str, found: int, known: int) -> None:
        super().__init__(
            f"{place} was made by a newer turnfold (schema {found}, this release knows up to {known}): "
            "upgrade turnfold, or use another file"
        )
        self.found = found
        self.known = known


class StoreLocked(StoreError):
    """Another process kept the database locked for longer than the store waits; nothing was written."""


class StoreClosed(StoreError):
    """The store was closed before it was asked."""


class CorruptRow(StoreError):
    """A stored row cannot be read. ``run`` (or the conversation), ``table`` and ``row`` say which."""

    def __init__(self, run: str, table: str, row: str, reason: str) -> None:
        super().__init__(
            f"{table} {row!r} of {run!r} cannot be read ({reason}): the store was damaged or changed by something "
            "else; restore it from a backup, or start a new run"
        )
        self.run = run
        self.table = table
        self.row = row


class TooLarge(StoreError):
    """A value is larger than the store takes; nothing was written."""


class BadLogCut(StoreError):
    """A step keeps ``keep`` entries of a log of ``length`` entries: its writer lost count; nothing was written."""

    def __init__(self, log: str, keep: int, length: int) -> None:
        super().__init__(f"cannot keep {keep} entries of the log {log!r}, which has {length}: nothing was saved")
        self.log = log
        self.keep = keep
        self.length = length


class UnknownRun(StoreError):
    """There is no such run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id!r} in this store")
        self.run_id = run_id


class UnknownCall(StoreError):
    """The run has no such call record."""

    def __init__(self, run_id: str, call_id: str) -> None:
        super().__init__(f"the run {run_id!r} has no call record {call_id!r}")
        self.run_id = run_id
        self.call_id = call_id


class RunTaken(StoreError):
    """The run is bound to another conversation, and a run serves one."""

    def __init__(self, run_id: str, conversation: str) -> None:
        super().__init__(f"the run {run_id!r} belongs to the conversation {conversation!r}: use another run id")
        self.run_id = run_id
        self.conversation = conversation


class MessageChanged(StoreError):
    """The identity (id and revision) is taken by a message with another content."""

    def __init__(self, conversation: str, key: str) -> None:
        super().__init__(
            f"the message {key!r} of {conversation!r} is stored with another content: give the change a new revision"
        )
        self.conversation = conversation
        self.key = key


class Refusal(StrEnum):
    """Why a decision was refused."""

    ALREADY_DECIDED = "already_decided"
    NOT_WAITING = "not_waiting"
    OTHER_ARGUMENTS = "other_arguments"
    EXPIRED = "expired"
    BAD_ARGUMENTS = "bad_arguments"


_REFUSALS = {
    Refusal.ALREADY_DECIDED: "it was decided before, and differently",
    Refusal.NOT_WAITING: "it does not wait for a decision",
    Refusal.OTHER_ARGUMENTS: "the decision was made on other arguments than the call has",
    Refusal.EXPIRED: "the time to decide is over",
    Refusal.BAD_ARGUMENTS: "the arguments it gives are no JSON object, so no tool could run with them",
}


class DecisionRefused(StoreError):
    """A decision that came too late, or was meant for something else (decision 17); nothing was changed."""

    def __init__(self, call_id: str, reason: Refusal) -> None:
        super().__init__(f"the decision on call {call_id!r} was refused: {_REFUSALS[reason]}")
        self.call_id = call_id
        self.reason = reason
