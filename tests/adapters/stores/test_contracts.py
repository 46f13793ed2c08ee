"""Both stores keep all contracts; SQLite also when it is opened anew at every turn, and by many connections at once."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from turnfold.adapters.contracts import (
    FeedContract,
    HandClock,
    JournalContract,
    JournalHarness,
    JournalMachine,
    StoreHarness,
)
from turnfold.adapters.stores import MemoryStore, SqliteStore
from turnfold.effects.feed import Feed, InputMessage
from turnfold.effects.journal import Begun, CallRejected, CallUpdate, Journal, Resume, Step
from turnfold.effects.record import ToolCall


class Refusing:
    """A host that refuses the next call it is asked about, if it was told to."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def __call__(self, run_id: str, call: ToolCall) -> None:
        reason, self.reason = self.reason, None
        if reason is not None:
            raise CallRejected(reason)


class RefusingHarness(StoreHarness):
    def __init__(self, store: MemoryStore | SqliteStore, clock: HandClock, host: Refusing) -> None:
        super().__init__(store, clock)
        self.host = host

    def refuse_next(self, reason: str) -> bool:
        self.host.reason = reason
        return True


class ReopeningHarness(RefusingHarness):
    """Opens the file anew before everything, so nothing can be kept anywhere else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.others: list[ReopeningHarness] = []
        clock, host = HandClock(), Refusing()
        super().__init__(SqliteStore(path, now=clock, admit=host), clock, host)

    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore(self.path, now=self.clock, admit=self.host)

    def make_journal(self) -> Journal:
        return ReopeningJournal(self)

    async def call(self, call_id: str) -> ToolCall | None:
        self.reopen()
        return await super().call(call_id)

    async def load(self) -> Resume:
        self.reopen()
        return await super().load()

    async def external(self, update: CallUpdate) -> None:
        self.reopen()
        await super().external(update)

    def other_run(self) -> StoreHarness:
        other = ReopeningHarness(self.path)
        self.others.append(other)
        return other

    async def close(self) -> None:
        for other in self.others:
            await other.close()
        await super().close()


class ReopeningJournal:
    def __init__(self, harness: ReopeningHarness) -> None:
        self.harness = harness

    @property
    def current(self) -> Journal:
        self.harness.reopen()
        return self.harness.store.journal(self.harness.name)

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        return await self.current.begin(lease_ms, take_over)

    async def renew(self, attempt: int, lease_ms: int) -> None:
        await self.current.renew(attempt, lease_ms)

    async def save_step(self, attempt: int, step: Step) -> None:
        await self.current.save_step(attempt, step)

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        return await self.current.save_call(attempt, call)

    async def end(self, attempt: int) -> None:
        await self.current.end(attempt)


class SeparateHarness(RefusingHarness):
    """Gives every executor a connection of its own, as if it were another process."""

    def __init__(self, path: Path, *, full_sync: bool) -> None:
        self.path = path
        self.full_sync = full_sync
        self.opened: list[SqliteStore] = []
        clock, host = HandClock(), Refusing()
        super().__init__(SqliteStore(path, now=clock, admit=host), clock, host)

    def open(self) -> SqliteStore:
        store = SqliteStore(self.path, now=self.clock, admit=self.host, full_sync=self.full_sync)
        self.opened.append(store)
        return store

    def make_journal(self) -> Journal:
        return self.open().journal(self.name)

    def make_feed(self) -> Feed:
        return self.open().feed(self.name)

    async def append(self, message: InputMessage) -> tuple[int, InputMessage]:
        return await self.open().append(self.name, message)

    async def close(self) -> None:
        for store in self.opened:
            store.close()
        await super().close()


def memory() -> RefusingHarness:
    clock, host = HandClock(), Refusing()
    return RefusingHarness(MemoryStore(now=clock, admit=host), clock, host)


class InFolder:
    path: Path

    @pytest.fixture(autouse=True)
    def _in_folder(self, folder: Path) -> None:
        self.path = folder / "runs.db"


class TestMemoryJournal(JournalContract):
    def make(self) -> StoreHarness:
        return memory()


class TestMemoryFeed(FeedContract):
    def make(self) -> StoreHarness:
        return memory()


class TestSqliteJournal(InFolder, JournalContract):
    def make(self) -> StoreHarness:
        clock, host = HandClock(), Refusing()
        return RefusingHarness(SqliteStore(self.path, now=clock, admit=host), clock, host)


class TestSqliteFeed(InFolder, FeedContract):
    def make(self) -> StoreHarness:
        clock = HandClock()
        return StoreHarness(SqliteStore(self.path, now=clock), clock)


class TestReopenedJournal(InFolder, JournalContract):
    def make(self) -> StoreHarness:
        return ReopeningHarness(self.path)


class TestSeparateJournals(InFolder, JournalContract):
    def make(self) -> StoreHarness:
        return SeparateHarness(self.path, full_sync=False)


class TestSeparateFeeds(InFolder, FeedContract):
    def make(self) -> StoreHarness:
        return SeparateHarness(self.path, full_sync=False)


class TestFullySynchronisedJournals(InFolder, JournalContract):
    def make(self) -> StoreHarness:
        return SeparateHarness(self.path, full_sync=True)


def test_memory_and_sqlite_do_what_the_model_does(folder: Path, exploring: bool) -> None:
    class MemoryAgainstSqlite(JournalMachine):
        def make(self) -> Sequence[JournalHarness]:
            clock, host = HandClock(), Refusing()
            path = folder / f"{len(list(folder.iterdir()))}.db"
            return [memory(), RefusingHarness(SqliteStore(path, now=clock, admit=host), clock, host)]

    examples = 1_000 if exploring else 60
    run_state_machine_as_test(MemoryAgainstSqlite, settings=settings(max_examples=examples, stateful_step_count=40))
