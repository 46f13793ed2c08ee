"""One connection, one transaction at a time, and never a wait on the event loop's thread.

A short transaction costs less than asking a thread to run it, so it runs right where it is asked for, without even a
checkpoint: whoever writes in a loop must await something else there too. Two things would make the loop wait, another
process that holds the lock and the disk that full synchronisation waits for; then, and only then, a worker thread does
it. A transaction is a function of the connection that either returns or raises, and in the latter case never was.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import trio

from .errors import StoreClosed, StoreError, StoreLocked, TooLarge
from .sqlite_schema import damaged, is_busy, is_damage, open_database, open_to_read

__all__ = ["Access"]

T = TypeVar("T")

RETRY_S = 0.0005
"""How long a worker thread sleeps between two tries for the lock, in seconds."""

Work = Callable[[sqlite3.Connection], T]


class Access:
    """The way to one SQLite file. To be used from one trio run at a time."""

    def __init__(
        self, path: Path, *, full_sync: bool, patience_ms: int, max_bytes: int, read_only: bool = False
    ) -> None:
        self.path = path
        self._connection = (
            open_to_read(path, max_bytes=max_bytes)
            if read_only
            else open_database(path, full_sync=full_sync, patience_ms=patience_ms, max_bytes=max_bytes)
        )
        self._in_thread = full_sync
        self._patience_ms = patience_ms
        self._lock = trio.Lock()
        self._closed = False

    async def write(self, work: Work[T]) -> T:
        """Run ``work`` in a transaction that may write; what it wrote is stored when this returns."""
        return await self._run("BEGIN IMMEDIATE", work, self._in_thread)

    async def read(self, work: Work[T]) -> T:
        """Run ``work`` on one unchanging view of the database."""
        return await self._run("BEGIN", work, False)

    async def data_version(self) -> int:
        """A number that changes when another connection has written."""
        return await self.read(lambda connection: connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self._closed = True
        self._connection.close()

    async def _run(self, begin: str, work: Work[T], in_thread: bool) -> T:
        if self._closed:
            raise StoreClosed(f"the store {self.path} was closed before it was asked")
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            if not in_thread:
                try:
                    return self._transact(begin, work)
                except _Busy:
                    pass
            return await trio.to_thread.run_sync(self._transact_patiently, begin, work)
        except sqlite3.Error as error:
            raise self._explained(error) from error
        finally:
            self._lock.release()

    def _transact(self, begin: str, work: Work[T]) -> T:
        connection = self._connection
        try:
            connection.execute(begin)
        except sqlite3.OperationalError as error:
            raise (_Busy(error) if is_busy(error) else error) from error
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise
        return result

    def _transact_patiently(self, begin: str, work: Work[T]) -> T:
        """Try until the lock is free. SQLite's own waiting sleeps longer each time, so a busy writer can starve it."""
        deadline = time.monotonic() + self._patience_ms / 1000
        while True:
            try:
                return self._transact(begin, work)
            except _Busy as error:
                if time.monotonic() >= deadline:
                    raise StoreLocked(
                        f"{self.path} was locked by another process for {self._patience_ms} ms: nothing was written"
                    ) from error
            time.sleep(RETRY_S)

    def _explained(self, error: sqlite3.Error) -> StoreError:
        if isinstance(error, sqlite3.DataError):
            return TooLarge(f"{self.path} does not take a value that large: store a reference instead")
        if is_damage(error):
            return damaged(self.path, error)
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
            return StoreError(f"{self.path} is read-only, so nothing was written: make it writable, or use a copy")
        return StoreError(f"{self.path} could not do it ({error}): nothing was written")


class _Busy(Exception):
    """The lock is taken, and nothing was done yet."""
