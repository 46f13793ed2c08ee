"""The journal of one run in SQLite: its statements, and how rows become values again.

The two writes that a run makes at every turn come first. Each is one transaction that begins by asking for the newest
attempt, so an executor that lost the run can write nothing, not even between two of its own statements.
"""

import sqlite3
from collections.abc import Callable, Iterable
from typing import TypeVar

from ...effects.codec import (
    DecodeError,
    decode_block,
    decode_call,
    decode_outcome,
    decode_value,
    encode,
    encode_outcome,
)
from ...effects.journal import Begun, Changes, LogChange, Resume, Step, merge_call
from ...effects.outcome import Outcome
from ...effects.record import Completion, PlanTask, ToolCall, validate_call, waits_for
from ...effects.transcript import Usage
from ...effects.values import replace
from .errors import CorruptRow
from .rules import Admit, admitted, check_attempt, check_cut, check_lease, in_resume_order
from .sqlite_access import Access

__all__ = ["SqliteJournal", "decoded", "find_call", "load_run", "read_outcome", "write_call"]

T = TypeVar("T")


class SqliteJournal:
    """The journal of one run."""

    def __init__(self, run_id: str, access: Access, now: Callable[[], int], admit: Admit | None) -> None:
        self._run_id = run_id
        self._access = access
        self._now = now
        self._admit = admit

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        """Merge a snapshot; the host may refuse one that submits or pauses."""
        validate_call(call)

        def work(connection: sqlite3.Connection) -> ToolCall:
            row = connection.execute(_FENCE_AND_CALL, (call.id, self._run_id)).fetchone()
            key, newest, raw = row or (0, 0, None)
            check_attempt(attempt, newest)
            stored = None if raw is None else decoded(decode_call, raw, self._run_id, "call", call.id)
            merged = merge_call(stored, call)
            if merged is not stored:
                admitted(self._admit, self._run_id, stored, merged)
                write_call(connection, key, stored, merged, self._now())
            return merged

        return await self._access.write(work)

    async def save_step(self, attempt: int, step: Step) -> None:
        """Apply a step in the order of ``Changes``, or nothing of it."""
        for call in step.changes.calls:
            validate_call(call)

        def work(connection: sqlite3.Connection) -> None:
            key = self._fenced(connection, attempt)
            if not step.changes.empty:
                self._change(connection, key, step.changes)
            for log, change in step.logs.items():
                _write_log(connection, key, log, change)
            for name, value in step.values.items():
                _write_value(connection, key, name, value)
            connection.execute(_WRITE_HEAD, (key, self._now(), *_head_of(step)))

        await self._access.write(work)

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        """Fence and load, in one transaction."""

        def work(connection: sqlite3.Connection) -> Begun:
            now = self._now()
            row = connection.execute("SELECT key, lease_until FROM run WHERE id = ?", (self._run_id,)).fetchone()
            if row is None:
                connection.execute(
                    "INSERT INTO run (id, created_at, touched_at, meta) VALUES (?, ?, ?, ?)",
                    (self._run_id, now, now, b"{}"),
                )
            else:
                check_lease(row[1], now, take_over)
            connection.execute(
                "UPDATE run SET attempt = attempt + 1, lease_until = ?, touched_at = ? WHERE id = ?",
                (now + lease_ms, now, self._run_id),
            )
            key, attempt = connection.execute(_FENCE, (self._run_id,)).fetchone()
            return Begun(attempt, load_run(connection, self._run_id, key))

        return await self._access.write(work)

    async def renew(self, attempt: int, lease_ms: int) -> None:
        """Let the lease run anew from now."""
        await self._set_lease(attempt, lease_ms)

    async def end(self, attempt: int) -> None:
        """Give the lease back."""
        await self._set_lease(attempt, None)

    async def _set_lease(self, attempt: int, lease_ms: int | None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            key = self._fenced(connection, attempt)
            now = self._now()
            until = None if lease_ms is None else now + lease_ms
            connection.execute("UPDATE run SET lease_until = ?, touched_at = ? WHERE key = ?", (until, now, key))

        await self._access.write(work)

    def _fenced(self, connection: sqlite3.Connection, attempt: int) -> int:
        key, newest = connection.execute(_FENCE, (self._run_id,)).fetchone() or (0, 0)
        check_attempt(attempt, newest)
        return key

    def _change(self, connection: sqlite3.Connection, key: int, changes: Changes) -> None:
        for block_id in changes.removed_blocks:
            connection.execute("DELETE FROM block WHERE run = ? AND id = ?", (key, block_id))
        for call_id in changes.removed_calls:
            connection.execute("DELETE FROM call WHERE run = ? AND id = ?", (key, call_id))
            connection.execute("DELETE FROM resting WHERE run = ? AND call = ?", (key, call_id))
        for call in changes.calls:
            stored = find_call(connection, self._run_id, key, call.id)
            merged = merge_call(stored, call)
            if merged is not stored:
                write_call(connection, key, stored, merged, self._now())
        for block in changes.blocks:
            connection.execute(_WRITE_BLOCK, (key, block.id, block.position, encode(block)))


_FENCE = "SELECT key, attempt FROM run WHERE id = ?"
_FENCE_AND_CALL = """
SELECT run.key, run.attempt, call.data FROM run LEFT JOIN call ON call.run = run.key AND call.id = ? WHERE run.id = ?
"""
_WRITE_CALL = """
INSERT INTO call (run, id, data) VALUES (?, ?, ?) ON CONFLICT (run, id) DO UPDATE SET data = excluded.data
"""
_WRITE_BLOCK = """
INSERT INTO block (run, id, position, data) VALUES (?, ?, ?, ?)
ON CONFLICT (run, id) DO UPDATE SET position = excluded.position, data = excluded.data
"""
_WRITE_VALUE = """
INSERT INTO value (run, name, data) VALUES (?, ?, ?) ON CONFLICT (run, name) DO UPDATE SET data = excluded.data
"""
_WRITE_HEAD = """
INSERT INTO head (run, saved_at, state, usage, plan, completion, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run) DO UPDATE SET saved_at = excluded.saved_at, state = excluded.state, usage = excluded.usage,
plan = coalesce(excluded.plan, plan), completion = excluded.completion, outcome = excluded.outcome
"""


def write_call(connection: sqlite3.Connection, key: int, stored: ToolCall | None, merged: ToolCall, now: int) -> None:
    """Store a merged record in the place of the stored one, and since when it waits for what, if for anybody."""
    connection.execute(_WRITE_CALL, (key, merged.id, encode(merged)))
    before, after = stored and waits_for(stored), waits_for(merged)
    if after == before:
        return
    connection.execute("DELETE FROM resting WHERE run = ? AND call = ?", (key, merged.id))
    if after is not None:
        connection.execute(
            "INSERT INTO resting (run, call, wait, since) VALUES (?, ?, ?, ?)", (key, merged.id, after.value, now)
        )


def _write_log(connection: sqlite3.Connection, key: int, log: str, change: LogChange) -> None:
    (length,) = connection.execute(
        "SELECT coalesce(max(seq) + 1, 0) FROM entry WHERE run = ? AND log = ?", (key, log)
    ).fetchone()
    check_cut(log, change.keep, length)
    if change.keep < length:
        connection.execute("DELETE FROM entry WHERE run = ? AND log = ? AND seq >= ?", (key, log, change.keep))
    connection.executemany(
        "INSERT INTO entry (run, log, seq, data) VALUES (?, ?, ?, ?)",
        [(key, log, seq, data) for seq, data in enumerate(change.append, change.keep)],
    )


def _write_value(connection: sqlite3.Connection, key: int, name: str, value: bytes | None) -> None:
    if value is None:
        connection.execute("DELETE FROM value WHERE run = ? AND name = ?", (key, name))
    else:
        connection.execute(_WRITE_VALUE, (key, name, value))


def _head_of(step: Step) -> tuple[bytes, bytes, bytes | None, bytes | None, bytes | None]:
    return (
        step.state,
        encode(step.usage),
        None if step.plan is None else encode(step.plan),
        None if step.completion is None else encode(step.completion),
        None if step.outcome is None else encode_outcome(step.outcome),
    )


def load_run(connection: sqlite3.Connection, run_id: str, key: int) -> Resume:
    """All that is stored of a run; raises ``CorruptRow``."""
    blocks = _decoded_rows(
        decode_block,
        connection.execute("SELECT id, data FROM block WHERE run = ? ORDER BY position, id", (key,)).fetchall(),
        run_id,
        "block",
    )
    calls = _decoded_rows(
        decode_call, connection.execute("SELECT id, data FROM call WHERE run = ?", (key,)).fetchall(), run_id, "call"
    )
    values = dict(connection.execute("SELECT name, data FROM value WHERE run = ?", (key,)))
    head = connection.execute(
        "SELECT state, usage, plan, completion, outcome FROM head WHERE run = ?", (key,)
    ).fetchone()
    resume = _with_head(run_id, head) if head else Resume()
    return replace(
        resume,
        logs=_load_logs(connection, run_id, key),
        values=values,
        blocks=tuple(blocks.values()),
        calls=in_resume_order(blocks.values(), calls),
    )


def _load_logs(connection: sqlite3.Connection, run_id: str, key: int) -> dict[str, tuple[bytes, ...]]:
    logs: dict[str, list[bytes]] = {}
    for log, seq, data in connection.execute(
        "SELECT log, seq, data FROM entry WHERE run = ? ORDER BY log, seq", (key,)
    ).fetchall():
        entries = logs.setdefault(log, [])
        if seq != len(entries) or type(data) is not bytes:
            raise CorruptRow(run_id, "entry", f"{log}/{len(entries)}", "missing, or not bytes")
        entries.append(data)
    return {log: tuple(entries) for log, entries in logs.items()}


def _with_head(run_id: str, row: tuple[bytes, bytes, bytes | None, bytes | None, bytes | None]) -> Resume:
    state, usage, plan, completion, outcome = row

    def member(name: str, raw: bytes, wanted: type[T]) -> T:
        return decoded(lambda data: decode_value(data, wanted), raw, run_id, "head", name)

    return Resume(
        state=state,
        usage=member("usage", usage, Usage),
        plan=() if plan is None else member("plan", plan, tuple[PlanTask, ...]),
        completion=None if completion is None else member("completion", completion, Completion),
        outcome=read_outcome(run_id, outcome),
    )


def read_outcome(run_id: str, raw: bytes | None) -> Outcome | None:
    """A stored outcome; raises ``CorruptRow``."""
    return None if raw is None else decoded(decode_outcome, raw, run_id, "head", "outcome")


def find_call(connection: sqlite3.Connection, run_id: str, key: int, call_id: str) -> ToolCall | None:
    """A stored call record, or nothing; raises ``CorruptRow``."""
    row = connection.execute("SELECT data FROM call WHERE run = ? AND id = ?", (key, call_id)).fetchone()
    return None if row is None else decoded(decode_call, row[0], run_id, "call", call_id)


def _decoded_rows(
    decode: Callable[[bytes], T], rows: Iterable[tuple[str, bytes]], run_id: str, table: str
) -> dict[str, T]:
    row_id = ""
    found: dict[str, T] = {}
    try:
        for row_id, raw in rows:
            found[row_id] = decode(raw)
    except (DecodeError, TypeError) as error:
        raise CorruptRow(run_id, table, row_id, str(error)) from error
    return found


def decoded(decode: Callable[[bytes], T], raw: bytes, run_id: str, table: str, row: str) -> T:
    """A stored value; raises ``CorruptRow`` that names it."""
    try:
        return decode(raw)
    except (DecodeError, TypeError) as error:
        raise CorruptRow(run_id, table, row, str(error)) from error
