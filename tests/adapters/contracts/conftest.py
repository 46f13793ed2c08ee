"""Running a whole suite against a store inside a test, to see which of its cases fail."""

from collections.abc import Callable
from typing import Any

import pytest
from turnfold.adapters.contracts import Contract, FeedContract, HandClock, JournalContract, StoreHarness
from turnfold.adapters.stores.memory import MemoryFeed, MemoryJournal, MemoryStore
from turnfold.effects.feed import Feed
from turnfold.effects.journal import CallRejected, Journal
from turnfold.effects.record import ToolCall

Broken = type[MemoryStore] | type[MemoryJournal] | type[MemoryFeed]


class BrokenHarness(StoreHarness):
    """A memory store of which one part is another, with a host that refuses what it is told to."""

    def __init__(self, broken: Broken) -> None:
        self.broken = broken
        self.reason: str | None = None
        clock = HandClock()
        kind = broken if issubclass(broken, MemoryStore) else MemoryStore
        self.memory = kind(now=clock, admit=self.admit)
        super().__init__(self.memory, clock)

    def admit(self, run_id: str, call: ToolCall) -> None:
        reason, self.reason = self.reason, None
        if reason is not None:
            raise CallRejected(reason)

    def refuse_next(self, reason: str) -> bool:
        self.reason = reason
        return True

    def make_journal(self) -> Journal:
        if issubclass(self.broken, MemoryJournal):
            return self.broken(self.name, self.memory._runs, self.clock, self.admit)
        return super().make_journal()

    def make_feed(self) -> Feed:
        if issubclass(self.broken, MemoryFeed):
            return self.broken(self.memory._conversation(self.name), self.memory._signals)
        return super().make_feed()


class JournalSuite(JournalContract):
    def __init__(self, broken: Broken) -> None:
        self.broken = broken

    def make(self) -> StoreHarness:
        return BrokenHarness(self.broken)


class FeedSuite(FeedContract):
    def __init__(self, broken: Broken) -> None:
        self.broken = broken

    def make(self) -> StoreHarness:
        return BrokenHarness(self.broken)


def _failing(suite: Contract[Any]) -> set[str]:
    failed: set[str] = set()
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                getattr(suite, name)()
            except pytest.skip.Exception:
                continue
            except Exception:
                failed.add(name.removeprefix("test_"))
    return failed


@pytest.fixture
def failing_journal_cases() -> Callable[[Broken], set[str]]:
    """The cases of the journal suite that fail against a store, without their ``test_``."""
    return lambda broken: _failing(JournalSuite(broken))


@pytest.fixture
def failing_feed_cases() -> Callable[[Broken], set[str]]:
    """The cases of the feed suite that fail against a store, without their ``test_``."""
    return lambda broken: _failing(FeedSuite(broken))
