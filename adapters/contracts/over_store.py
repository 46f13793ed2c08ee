"""One harness for both suites over anything that offers what ``turnfold.adapters.stores.Store`` does.

Give it the store and the clock that the store counts leases by::

    class TestMyStore(JournalContract):
        def make(self) -> StoreHarness:
            clock = HandClock()
            return StoreHarness(MyStore(now=clock), clock)
"""

from collections.abc import Sequence
from typing import Protocol

from ...effects.feed import Feed, InputMessage
from ...effects.journal import CallUpdate, Journal, Resume
from ...effects.record import ToolCall
from .fixtures import new_id
from .harness import FeedHarness, HandClock, JournalHarness, ListedCall

__all__ = ["HostStore", "StoreHarness"]


class ListedOfRun(ListedCall, Protocol):
    """A call in the list of a whole store."""

    @property
    def run_id(self) -> str:
        """Whose call it is."""
        ...


class HostStore(Protocol):
    """What the harness needs of a store; see ``turnfold.adapters.stores.Store`` for what it means."""

    def journal(self, run_id: str) -> Journal:
        """The journal of a run."""
        ...

    def feed(self, conversation: str) -> Feed:
        """The feed of a conversation."""
        ...

    async def load(self, run_id: str) -> Resume | None:
        """All that is stored of a run."""
        ...

    async def call(self, run_id: str, call_id: str) -> ToolCall | None:
        """One record."""
        ...

    async def waiting(self, limit: int = 50, conversation: str | None = None) -> Sequence[ListedOfRun]:
        """The calls that wait for somebody, the longest first."""
        ...

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        """``overlay_external``."""
        ...

    async def append(self, conversation: str, message: InputMessage) -> tuple[int, InputMessage]:
        """Add a message."""
        ...

    async def consume(self, conversation: str, sequence: int) -> int:
        """Mark input as dealt with."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class StoreHarness(JournalHarness, FeedHarness):
    """A fresh run and a fresh conversation in a store, both named ``name``."""

    def __init__(self, store: HostStore, clock: HandClock, name: str | None = None) -> None:
        self.store = store
        self.clock = clock
        self.name = name or new_id()

    def make_journal(self) -> Journal:
        """A journal of the run."""
        return self.store.journal(self.name)

    async def external(self, update: CallUpdate) -> None:
        """Settle, as the host."""
        await self.store.settle(self.name, update)

    async def call(self, call_id: str) -> ToolCall | None:
        """Look a record up."""
        return await self.store.call(self.name, call_id)

    async def waiting(self) -> Sequence[ListedCall]:
        """Those of the run among those of the store."""
        return [listed for listed in await self.store.waiting(1000) if listed.run_id == self.name]

    async def load(self) -> Resume:
        """Load the run."""
        return await self.store.load(self.name) or Resume()

    def advance_clock(self, ms: int) -> None:
        """Move the clock."""
        self.clock.advance(ms)

    def other_run(self) -> "StoreHarness":
        """The same store, another run."""
        return StoreHarness(self.store, self.clock)

    def make_feed(self) -> Feed:
        """A feed of the conversation."""
        return self.store.feed(self.name)

    async def append(self, message: InputMessage) -> tuple[int, InputMessage]:
        """Add a message."""
        return await self.store.append(self.name, message)

    async def consume(self, sequence: int) -> None:
        """Mark input as dealt with."""
        await self.store.consume(self.name, sequence)

    def other_conversation(self) -> "StoreHarness":
        """The same store, another conversation."""
        return StoreHarness(self.store, self.clock)

    async def close(self) -> None:
        """Close the store."""
        self.store.close()
