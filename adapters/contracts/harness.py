"""How the suites reach a store: what a host implements once, and how a case is run.

Subclass ``JournalHarness`` and ``FeedHarness`` for your store (or take ``StoreHarness``, if yours offers what
``turnfold.adapters.stores.Store`` does), then write a test class::

    class TestMyJournal(JournalContract):
        def make(self) -> JournalHarness:
            return MyHarness()

Every case gets a fresh harness: a run, or a conversation, that nothing was written to before. All ids in the cases are
fresh UUIDs, so one database can serve for all of them. Cases run under trio, without any plugin.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import trio

from ...effects.feed import Feed, InputMessage
from ...effects.journal import CallUpdate, Journal, Resume
from ...effects.record import ToolCall, Wait

__all__ = ["Contract", "FeedHarness", "HandClock", "Harness", "JournalHarness", "ListedCall", "case"]


class HandClock:
    """A clock for stores under test: milliseconds since the epoch, moved by hand."""

    def __init__(self, now: int = 1_767_225_600_000) -> None:
        self.now = now

    def __call__(self) -> int:
        """Now."""
        return self.now

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.now += ms


class Harness:
    """What both kinds have in common."""

    async def close(self) -> None:
        """Let go of what the harness holds; called after each case."""
        return


class ListedCall(Protocol):
    """A call in a host's list of those that wait; see ``turnfold.adapters.stores.WaitingCall``."""

    @property
    def kind(self) -> Wait:
        """What it waits for."""
        ...

    @property
    def since(self) -> int:
        """Since when, in milliseconds since the epoch."""
        ...

    @property
    def call(self) -> ToolCall:
        """The stored record."""
        ...


class JournalHarness(Harness, ABC):
    """One fresh run in the store under test."""

    @abstractmethod
    def make_journal(self) -> Journal:
        """A journal of the run. Each one stands for an executor of its own, so give each a connection if you can."""

    @abstractmethod
    async def external(self, update: CallUpdate) -> None:
        """Write to an existing call as the host does (``overlay_external``).

        A decision in the update is a compare-and-set: it may raise any exception, and then nothing is written.
        """

    @abstractmethod
    async def call(self, call_id: str) -> ToolCall | None:
        """The stored record of a call, or nothing."""

    @abstractmethod
    async def load(self) -> Resume:
        """All that is stored of the run, as ``begin`` would give it, without beginning an attempt."""

    @abstractmethod
    def advance_clock(self, ms: int) -> None:
        """Let time pass, as far as leases and waiting calls are concerned."""

    def refuse_next(self, reason: str) -> bool:
        """Make the host refuse the next call that is submitted or paused; ``False``: this host never refuses."""
        return False

    async def waiting(self) -> Sequence[ListedCall] | None:
        """The calls of the run that wait for somebody, the longest first; nothing: this host keeps no such list."""
        return None

    def other_run(self) -> "JournalHarness | None":
        """Another run in the same store, if the harness can make one."""
        return None


class FeedHarness(Harness, ABC):
    """One fresh conversation in the store under test."""

    @abstractmethod
    def make_feed(self) -> Feed:
        """A feed of the conversation. Each one stands for an executor of its own."""

    @abstractmethod
    async def append(self, message: InputMessage) -> tuple[int, InputMessage]:
        """Add a message: its sequence number, and the message as a claim will hand it back.

        A host may give ids and revisions of its own and keep only the fields that it stores.
        """

    @abstractmethod
    async def consume(self, sequence: int) -> None:
        """Mark the input up to ``sequence`` as dealt with."""

    def other_conversation(self) -> "FeedHarness | None":
        """Another conversation in the same store, if the harness can make one."""
        return None


AnyHarness = TypeVar("AnyHarness", bound=Harness)


class Contract(ABC, Generic[AnyHarness]):
    """A suite. ``patience_s`` bounds each case, in seconds of its clock."""

    patience_s = 60.0

    @abstractmethod
    def make(self) -> AnyHarness:
        """A fresh harness."""

    def clock(self) -> trio.abc.Clock | None:
        """The clock that a case runs by; ``None`` is real time."""
        return None


AnyContract = TypeVar("AnyContract", bound=Contract[Any])


def case(body: Callable[[AnyContract, AnyHarness], Awaitable[None]]) -> Callable[[AnyContract], None]:
    """Make a test of an asynchronous case that takes a harness."""

    def test(self: AnyContract) -> None:
        trio.run(_run, self, body, clock=self.clock())

    # Not ``functools.wraps``: pytest would follow it to the body and look for a fixture named after its harness.
    test.__name__ = body.__name__
    test.__qualname__ = body.__qualname__
    test.__doc__ = body.__doc__
    test.__module__ = body.__module__
    return test


async def _run(contract: AnyContract, body: Callable[[AnyContract, AnyHarness], Awaitable[None]]) -> None:
    harness: AnyHarness = contract.make()
    try:
        with trio.fail_after(contract.patience_s):
            await body(contract, harness)
    finally:
        await harness.close()
