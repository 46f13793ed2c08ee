"""The feed of one conversation in SQLite, and how it hears of messages that other processes append.

Appends through the same store object signal at once. Others show by ``PRAGMA data_version``, which is looked at now and
then; only when it moved is the conversation looked at.
"""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from ...effects.codec import DecodeError, decode_value
from ...effects.feed import Claim, InputMessage, Watch
from .errors import CorruptRow
from .rules import claimed_end
from .signals import Signals
from .sqlite_access import Access

__all__ = ["SqliteFeed", "consumed_of", "decoded_message", "latest_of", "read_messages"]


class SqliteFeed:
    """The feed of one conversation; ``poll_ms`` is how often a watcher looks for other processes' messages."""

    def __init__(self, conversation: str, access: Access, signals: Signals, poll_ms: int) -> None:
        self._conversation = conversation
        self._access = access
        self._signals = signals
        self._poll_s = poll_ms / 1000

    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[Watch, None]:
        """Signals for what is appended from now on."""
        watch = SqliteWatch(self._conversation, self._access, self._signals, self._poll_s)
        await watch.start()
        yield watch

    async def pending(self, after: int) -> int:
        """The last message's number if it is above ``after`` and what was consumed, or 0."""

        def work(connection: sqlite3.Connection) -> int:
            latest = latest_of(connection, self._conversation)
            if latest <= after:
                return 0
            return latest if latest > consumed_of(connection, self._conversation) else 0

        return await self._access.read(work)

    async def claim(self, after: int, through: int) -> Claim:
        """What is above ``after``, up to ``through``."""

        def work(connection: sqlite3.Connection) -> Claim:
            latest = latest_of(connection, self._conversation)
            end = claimed_end(after, through, latest, consumed_of(connection, self._conversation))
            found = read_messages(connection, self._conversation, after, end, end)
            return Claim(tuple(message for _, message in found), end)

        return await self._access.read(work)


class SqliteWatch:
    """A subscription: how far it has seen is all it knows, so signals merge by themselves."""

    def __init__(self, conversation: str, access: Access, signals: Signals, poll_s: float) -> None:
        self._conversation = conversation
        self._access = access
        self._signals = signals
        self._poll_s = poll_s
        self._seen = 0
        self._version = 0

    async def start(self) -> None:
        """Take what is there now as seen."""
        self._version = await self._access.data_version()
        self._seen = await self._latest()

    async def changed(self) -> None:
        """Return once there is more than was seen."""
        while True:
            announced = self._signals.announced
            latest = await self._latest()
            if latest > self._seen:
                self._seen = latest
                return
            await self._news(announced)

    async def _news(self, announced: int) -> None:
        """Wait until the conversation may have grown since so much was announced.

        A wait that a poll ends is over before this task runs again, and what is announced in between wakes nobody:
        that is why they are counted.
        """
        while self._signals.announced == announced:
            with trio.move_on_after(self._poll_s):
                await self._signals.wait(self._conversation)
                return
            version = await self._access.data_version()
            if version != self._version:
                self._version = version
                return

    async def _latest(self) -> int:
        return await self._access.read(lambda connection: latest_of(connection, self._conversation))


def latest_of(connection: sqlite3.Connection, conversation: str) -> int:
    """The number of the last message, or 0."""
    return connection.execute(
        "SELECT coalesce(max(sequence), 0) FROM message WHERE conversation = ?", (conversation,)
    ).fetchone()[0]


def consumed_of(connection: sqlite3.Connection, conversation: str) -> int:
    """The boundary of what was consumed, or 0."""
    row = connection.execute("SELECT sequence FROM consumed WHERE conversation = ?", (conversation,)).fetchone()
    return row[0] if row else 0


def read_messages(
    connection: sqlite3.Connection, conversation: str, after: int, through: int, limit: int
) -> tuple[tuple[int, InputMessage], ...]:
    """The stored messages above ``after`` up to ``through``, with their numbers; raises ``CorruptRow``."""
    rows = connection.execute(
        "SELECT sequence, data FROM message WHERE conversation = ? AND sequence > ? AND sequence <= ? "
        "ORDER BY sequence LIMIT ?",
        (conversation, after, through, limit),
    ).fetchall()
    return tuple((sequence, decoded_message(raw, conversation, sequence)) for sequence, raw in rows)


def decoded_message(raw: bytes, conversation: str, sequence: int) -> InputMessage:
    """A stored message; raises ``CorruptRow``."""
    try:
        return decode_value(raw, InputMessage)
    except (DecodeError, TypeError) as error:
        raise CorruptRow(conversation, "message", str(sequence), str(error)) from error
