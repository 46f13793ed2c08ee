"""``SqliteStore``: a store in one file, for any number of processes on one machine.

Here are the host's writes and the door to the rest: ``sqlite_schema`` opens the file, ``sqlite_access`` runs
transactions, ``sqlite_journal`` and ``sqlite_feed`` are the two ports of a run, ``sqlite_waiting`` finds calls in all.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from ...effects.codec import decode_value, encode
from ...effects.feed import NO_META, InputMessage
from ...effects.journal import CallUpdate, Resume
from ...effects.outcome import Completed, Delivered, Outcome
from ...effects.record import CallDecision, ToolCall
from .errors import MessageChanged, RunTaken, UnknownCall, UnknownRun
from .rules import MAX_BYTES, Admit, check_size, clean_message, clean_update, listed, overlaid, random_id, wall_clock
from .signals import Signals
from .sqlite_access import Access
from .sqlite_feed import SqliteFeed, consumed_of, decoded_message, latest_of, read_messages
from .sqlite_journal import SqliteJournal, decoded, find_call, load_run, read_outcome, write_call
from .sqlite_waiting import find_calls, list_waiting
from .store import RunSummary, WaitingCall

__all__ = ["SqliteStore"]


class SqliteStore:
    """A store in a SQLite file, which is made if it is not there; its folder must be on a local disk.

    A write survives the death of the process; with ``full_sync`` it survives the death of the machine too, at the price
    of waiting for the disk (in a worker thread). ``patience_ms`` is how long a write waits, there, for another process
    that holds the lock; ``poll_ms`` how often a watcher looks for messages from other processes; ``max_bytes`` bounds
    each stored value. ``read_only`` is for a file that is there, and is left as it is. ``now``, ``new_id`` and
    ``admit`` are as in ``MemoryStore``; ``admit`` runs within the transaction, so it must be short.

    Raises ``NotOurDatabase``, ``NewerSchema``, ``CannotOpen`` or ``StoreLocked``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        now: Callable[[], int] = wall_clock,
        new_id: Callable[[], str] = random_id,
        admit: Admit | None = None,
        full_sync: bool = False,
        patience_ms: int = 10_000,
        poll_ms: int = 250,
        max_bytes: int = MAX_BYTES,
        read_only: bool = False,
    ) -> None:
        self._access = Access(
            Path(path), full_sync=full_sync, patience_ms=patience_ms, max_bytes=max_bytes, read_only=read_only
        )
        self._now = now
        self._new_id = new_id
        self._admit = admit
        self._poll_ms = poll_ms
        self._max_bytes = max_bytes
        self._signals = Signals()

    def journal(self, run_id: str) -> SqliteJournal:
        """The journal of a run."""
        return SqliteJournal(run_id, self._access, self._now, self._admit)

    def feed(self, conversation: str) -> SqliteFeed:
        """The feed of a conversation."""
        return SqliteFeed(conversation, self._access, self._signals, self._poll_ms)

    async def create_run(self, run_id: str, conversation: str = "", meta: Mapping[str, str] = NO_META) -> RunSummary:
        """Register a run; raises ``RunTaken`` when it belongs to another conversation."""

        def work(connection: sqlite3.Connection) -> RunSummary:
            now = self._now()
            row = connection.execute("SELECT conversation, meta FROM run WHERE id = ?", (run_id,)).fetchone()
            known, old_meta = (row[0], _meta_of(run_id, row[1])) if row else ("", {})
            if conversation and known and known != conversation:
                raise RunTaken(run_id, known)
            connection.execute(
                "INSERT INTO run (id, conversation, created_at, touched_at, meta) VALUES (?, ?, ?, ?, ?) ON CONFLICT "
                "(id) DO UPDATE SET conversation = excluded.conversation, touched_at = excluded.touched_at, "
                "meta = excluded.meta",
                (run_id, known or conversation, now, now, encode({**old_meta, **meta})),
            )
            return self._summaries(connection, _RUN, (run_id,))[0]

        return await self._access.write(work)

    async def run(self, run_id: str) -> RunSummary | None:
        """What is known of a run, or nothing."""
        found = await self._access.read(lambda connection: self._summaries(connection, _RUN, (run_id,)))
        return found[0] if found else None

    async def runs(self, limit: int = 50, conversation: str | None = None) -> tuple[RunSummary, ...]:
        """The runs (of one conversation), the last touched first."""
        if conversation is None:
            return await self._access.read(lambda connection: self._summaries(connection, _RUNS, (listed(limit),)))
        return await self._access.read(
            lambda connection: self._summaries(connection, _RUNS_OF_CONVERSATION, (conversation, listed(limit)))
        )

    async def load(self, run_id: str) -> Resume | None:
        """All that is stored of a run, or nothing."""

        def work(connection: sqlite3.Connection) -> Resume | None:
            key = _key_of(connection, run_id)
            return None if key is None else load_run(connection, run_id, key)

        return await self._access.read(work)

    async def call(self, run_id: str, call_id: str) -> ToolCall | None:
        """The merged record of one call, or nothing."""

        def work(connection: sqlite3.Connection) -> ToolCall | None:
            key = _key_of(connection, run_id)
            return None if key is None else find_call(connection, run_id, key, call_id)

        return await self._access.read(work)

    async def calls(self, beginning: str, limit: int = 50) -> tuple[tuple[str, ToolCall], ...]:
        """The calls of all runs whose ids begin so."""
        return await self._access.read(lambda connection: find_calls(connection, beginning, listed(limit)))

    async def waiting(self, limit: int = 50, conversation: str | None = None) -> tuple[WaitingCall, ...]:
        """The calls that wait for somebody, the longest first."""
        return await self._access.read(
            lambda connection: list_waiting(connection, conversation, listed(limit), self._now())
        )

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        """Write what the host knows of a call."""
        clean = clean_update(update)

        def work(connection: sqlite3.Connection) -> ToolCall:
            key = _key_of(connection, run_id)
            if key is None:
                raise UnknownRun(run_id)
            stored = find_call(connection, run_id, key, clean.id)
            if stored is None:
                raise UnknownCall(run_id, clean.id)
            now = self._now()
            call = overlaid(stored, clean, now)
            write_call(connection, key, stored, call, now)
            connection.execute("UPDATE run SET touched_at = ? WHERE key = ?", (now, key))
            return call

        return await self._access.write(work)

    async def decide(self, run_id: str, call_id: str, decision: CallDecision) -> ToolCall:
        """Decide a call, once."""
        return await self.settle(run_id, CallUpdate(call_id, decision=decision))

    async def append(self, conversation: str, message: InputMessage) -> tuple[int, InputMessage]:
        """Add a message and wake whoever watches."""
        kept = clean_message(message, self._new_id)
        data = encode(kept)
        check_size("the message", len(data), self._max_bytes)

        def work(connection: sqlite3.Connection) -> int:
            row = connection.execute(
                "SELECT sequence, data FROM message WHERE conversation = ? AND id = ? AND revision = ?",
                (conversation, kept.id, kept.revision),
            ).fetchone()
            if row is not None:
                if decoded_message(row[1], conversation, row[0]) != kept:
                    raise MessageChanged(conversation, kept.key)
                return row[0]
            sequence = latest_of(connection, conversation) + 1
            connection.execute(
                "INSERT INTO message (conversation, sequence, id, revision, data) VALUES (?, ?, ?, ?, ?)",
                (conversation, sequence, kept.id, kept.revision, data),
            )
            return sequence

        sequence = await self._access.write(work)
        self._signals.announce(conversation)
        return sequence, kept

    async def messages(
        self, conversation: str, after: int = 0, limit: int = 1000
    ) -> tuple[tuple[int, InputMessage], ...]:
        """The messages above ``after`` with their sequence numbers."""
        return await self._access.read(
            lambda connection: read_messages(
                connection, conversation, after, latest_of(connection, conversation), listed(limit)
            )
        )

    async def consume(self, conversation: str, sequence: int) -> int:
        """Mark input as dealt with."""
        return await self._access.write(lambda connection: _consume(connection, conversation, sequence))

    async def deliver(self, run_id: str) -> Outcome | None:
        """Consume the input that a run's saved outcome answers."""

        def work(connection: sqlite3.Connection) -> Outcome | None:
            row = connection.execute(
                "SELECT run.conversation, head.outcome FROM run LEFT JOIN head ON head.run = run.key WHERE run.id = ?",
                (run_id,),
            ).fetchone()
            if row is None:
                raise UnknownRun(run_id)
            outcome = read_outcome(run_id, row[1])
            if row[0] and isinstance(outcome, Delivered | Completed):
                _consume(connection, row[0], outcome.boundary)
            return outcome

        return await self._access.write(work)

    def close(self) -> None:
        """Close the file; later use raises ``StoreClosed``."""
        self._access.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _summaries(
        self, connection: sqlite3.Connection, statement: str, parameters: tuple[str | int, ...]
    ) -> tuple[RunSummary, ...]:
        return tuple(_summary(row, self._now()) for row in connection.execute(statement, parameters).fetchall())


_SUMMARY = """
SELECT run.id, run.conversation, run.created_at, max(run.touched_at, coalesce(head.saved_at, 0)), run.attempt,
    run.lease_until, run.meta, head.outcome,
    (SELECT count(*) FROM resting WHERE run = run.key AND wait = 'review'),
    (SELECT count(*) FROM resting WHERE run = run.key AND wait IN ('decision', 'result')),
    (SELECT count(*) FROM resting WHERE run = run.key AND wait = 'outstanding')
FROM run LEFT JOIN head ON head.run = run.key
"""
_RUN = _SUMMARY + "WHERE run.id = ?"
_RUNS = _SUMMARY + "ORDER BY run.touched_at DESC, run.key DESC LIMIT ?"
_RUNS_OF_CONVERSATION = _SUMMARY + "WHERE run.conversation = ? ORDER BY run.touched_at DESC, run.key DESC LIMIT ?"


_Row = tuple[str, str, int, int, int, int | None, bytes, bytes | None, int, int, int]


def _summary(row: _Row, now: int) -> RunSummary:
    run_id, conversation, created_at, updated_at, attempt, lease_until, meta, outcome, *counts = row
    needs_review, waiting, outstanding = counts
    return RunSummary(
        run_id,
        conversation,
        created_at,
        updated_at,
        attempt,
        lease_until,
        held=lease_until is not None and now < lease_until,
        outcome=read_outcome(run_id, outcome),
        needs_review=needs_review,
        waiting=waiting,
        outstanding=outstanding,
        meta=_meta_of(run_id, meta),
    )


def _meta_of(run_id: str, raw: bytes) -> dict[str, str]:
    return decoded(lambda data: decode_value(data, dict[str, str]), raw, run_id, "run", "meta")


def _key_of(connection: sqlite3.Connection, run_id: str) -> int | None:
    row = connection.execute("SELECT key FROM run WHERE id = ?", (run_id,)).fetchone()
    return row[0] if row else None


def _consume(connection: sqlite3.Connection, conversation: str, sequence: int) -> int:
    before = consumed_of(connection, conversation)
    boundary = max(before, min(sequence, latest_of(connection, conversation)))
    if boundary > before:
        connection.execute(
            "INSERT INTO consumed (conversation, sequence) VALUES (?, ?) "
            "ON CONFLICT (conversation) DO UPDATE SET sequence = excluded.sequence",
            (conversation, boundary),
        )
    return boundary
