"""Calls across all runs in SQLite: which wait for somebody, and which have an id that begins so.

Only the records that are found are read. ``resting`` says which wait (``sqlite_journal.write_call`` keeps it); an id is
looked up run by run, in the order in which the records lie.
"""

import sqlite3

from ...effects.codec import decode_call
from ...effects.record import ToolCall, Wait
from .rules import undecidable
from .sqlite_journal import decoded
from .store import WaitingCall

__all__ = ["find_calls", "list_waiting"]

_WAITING = """
SELECT run.id, run.conversation, resting.wait, resting.since, call.id, call.data
FROM resting JOIN run ON run.key = resting.run JOIN call ON call.run = resting.run AND call.id = resting.call
WHERE ? IS NULL OR run.conversation = ?
ORDER BY resting.since, resting.run, resting.call LIMIT ?
"""
_CALLS = """
SELECT run.id, call.id, call.data FROM run CROSS JOIN call ON call.run = run.key AND call.id >= ? AND call.id < ?
ORDER BY call.id, run.id LIMIT ?
"""
_LAST = "\U0010ffff"
"""Follows every other character, so that what begins with a text lies between it and it with this after it."""


def list_waiting(
    connection: sqlite3.Connection, conversation: str | None, limit: int, now: int
) -> tuple[WaitingCall, ...]:
    """The calls that wait for somebody, the longest first; raises ``CorruptRow``."""
    rows = connection.execute(_WAITING, (conversation, conversation, limit)).fetchall()
    found: list[WaitingCall] = []
    for run_id, talk, wait, since, call_id, raw in rows:
        call = decoded(decode_call, raw, run_id, "call", call_id)
        found.append(WaitingCall(run_id, talk, Wait(wait), since, call, undecidable(call, now)))
    return tuple(found)


def find_calls(connection: sqlite3.Connection, beginning: str, limit: int) -> tuple[tuple[str, ToolCall], ...]:
    """The calls whose ids begin so, with their runs; raises ``CorruptRow``."""
    rows = connection.execute(_CALLS, (beginning, beginning + _LAST, limit)).fetchall()
    return tuple((run_id, decoded(decode_call, raw, run_id, "call", call_id)) for run_id, call_id, raw in rows)
