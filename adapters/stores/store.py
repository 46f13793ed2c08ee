"""What every store offers: for each run a journal, for each conversation a feed, and the writes of the host.

The journal and the feed are the ports that a run uses; everything else here is for the program around it. Runs and
conversations are named by the host; a run that was created with a conversation knows where its input comes from.
"""

from collections.abc import Mapping
from typing import Protocol, Self

from ...effects.feed import NO_META, Feed, InputMessage
from ...effects.journal import CallUpdate, Journal, Resume
from ...effects.outcome import Outcome
from ...effects.record import CallDecision, ToolCall, Wait
from ...effects.values import frozen

__all__ = ["RunSummary", "Store", "WaitingCall"]


@frozen
class RunSummary:
    """One run in a listing; times are in milliseconds since the epoch.

    ``attempt`` is the newest attempt (0: none began); ``lease_until`` is set while an executor has not given its lease
    back, and ``held`` says whether that lease is still live. ``updated_at`` moves with steps, attempts and the host's
    writes. ``waiting`` counts the calls that hold the run up, ``needs_review`` and ``outstanding`` the others that wait
    for somebody (see ``effects.record.Wait``). ``meta`` is the host's own and never interpreted.
    """

    run_id: str
    conversation: str
    created_at: int
    updated_at: int
    attempt: int = 0
    lease_until: int | None = None
    held: bool = False
    outcome: Outcome | None = None
    needs_review: int = 0
    waiting: int = 0
    outstanding: int = 0
    meta: Mapping[str, str] = NO_META


@frozen
class WaitingCall:
    """A call that waits for somebody, and for what.

    ``since`` is when it began to, in milliseconds since the epoch. ``expired``: nobody may decide it any more, and it
    counts as rejected when its run is resumed.
    """

    run_id: str
    conversation: str
    kind: Wait
    since: int
    call: ToolCall
    expired: bool = False


class Store(Protocol):
    """Many runs and conversations in one place. Any method may raise ``StoreError``; see ``errors`` for the tree."""

    def journal(self, run_id: str) -> Journal:
        """The journal of a run, which need not exist yet: its first ``begin`` makes it."""
        ...

    def feed(self, conversation: str) -> Feed:
        """The feed of a conversation, which need not exist yet: the first ``append`` makes it."""
        ...

    async def create_run(self, run_id: str, conversation: str = "", meta: Mapping[str, str] = NO_META) -> RunSummary:
        """Register a run with its conversation and free-form ``meta`` (never put secrets there).

        Creating it again adds to ``meta``, and to the conversation if it had none; raises ``RunTaken`` when it has
        another one.
        """
        ...

    async def run(self, run_id: str) -> RunSummary | None:
        """What is known of a run, or nothing."""
        ...

    async def runs(self, limit: int = 50, conversation: str | None = None) -> tuple[RunSummary, ...]:
        """The runs (of one conversation), the last begun, ended or written to by the host first; at most 1000."""
        ...

    async def load(self, run_id: str) -> Resume | None:
        """All that is stored of a run, without beginning an attempt; nothing if there is no such run."""
        ...

    async def call(self, run_id: str, call_id: str) -> ToolCall | None:
        """The merged record of one call, or nothing."""
        ...

    async def calls(self, beginning: str, limit: int = 50) -> tuple[tuple[str, ToolCall], ...]:
        """The calls of all runs whose ids begin so, with the ids of their runs, in the order of both; at most 1000."""
        ...

    async def waiting(self, limit: int = 50, conversation: str | None = None) -> tuple[WaitingCall, ...]:
        """The calls that wait for somebody (of the runs of one conversation), the longest first; at most 1000."""
        ...

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        """Write what the host knows of a call (``overlay_external``) and return the record.

        A decision in it obeys the rules of ``decide``. Raises ``UnknownRun``, ``UnknownCall`` or ``DecisionRefused``.
        """
        ...

    async def decide(self, run_id: str, call_id: str, decision: CallDecision) -> ToolCall:
        """Decide a call that waits for it, once (decision 17), and return the record.

        The same decision again changes nothing. Raises ``DecisionRefused`` for another one, for a call that does not
        wait, for other arguments than the decision was made on, and after its time; ``UnknownRun``, ``UnknownCall``.
        """
        ...

    async def append(self, conversation: str, message: InputMessage) -> tuple[int, InputMessage]:
        """Add a message: its sequence number, and the message as a claim will hand it back (with an id).

        The same id with another revision is a new message that revises the old one; the same message again is the one
        that is stored. Raises ``MessageChanged`` when only the content differs.
        """
        ...

    async def messages(
        self, conversation: str, after: int = 0, limit: int = 1000
    ) -> tuple[tuple[int, InputMessage], ...]:
        """The messages above ``after`` with their sequence numbers, in order; at most 1000."""
        ...

    async def consume(self, conversation: str, sequence: int) -> int:
        """Mark input as dealt with; returns the boundary, which never goes back and never beyond the last message."""
        ...

    async def deliver(self, run_id: str) -> Outcome | None:
        """Consume, in one transaction, the input that a run's saved outcome answers; returns that outcome.

        Call it when the answer has reached whoever asked. An outcome that is no answer (suspended, failed) consumes
        nothing: its input stays with the run. Raises ``UnknownRun``.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections; a store that has some raises ``StoreClosed`` from then on."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
