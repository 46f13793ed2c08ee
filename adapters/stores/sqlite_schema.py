"""Opening a SQLite file as a store: whose it is, which layout it has, and making that layout in an empty one.

A file that is not ours is recognised before anything is written to it: ours carry an ``application_id``, and the
number of their layout as ``user_version``. A layout never changes under its number; a new one gets the next number and
a step in ``_MIGRATIONS`` that leads to it.

Everything of a run hangs on a small integer key. A log is a row an entry, so that a step writes what is new and nothing
else; entries lie in the order they came, since a table grows best at its end. What a step replaces is one row beside
the run's, so that an attempt and its leases never rewrite it. ``resting`` repeats which calls wait for somebody, for
what and since when, so that a listing need not read all calls; an index would cost every write of a call, and this only
those that enter or leave.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

from ...effects.codec import DecodeError, decode_call
from ...effects.record import waits_for
from .errors import CannotOpen, NewerSchema, NotOurDatabase, StoreLocked

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "damaged", "is_busy", "is_damage", "open_database", "open_to_read"]

APPLICATION_ID = 0x7F01D0DB
"""Marks a SQLite file as a turnfold store."""

_CREATE = """
CREATE TABLE run (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    meta BLOB NOT NULL
);
CREATE INDEX run_by_touch ON run (touched_at, key);
CREATE INDEX run_by_conversation ON run (conversation, touched_at, key);
CREATE TABLE head (
    run INTEGER PRIMARY KEY,
    saved_at INTEGER NOT NULL,
    state BLOB NOT NULL,
    usage BLOB NOT NULL,
    plan BLOB,
    completion BLOB,
    outcome BLOB
);
CREATE TABLE entry (
    key INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    log TEXT NOT NULL,
    seq INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX entry_by_place ON entry (run, log, seq);
CREATE TABLE value (
    run INTEGER NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE TABLE block (
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    position INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE TABLE call (
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE TABLE resting (
    run INTEGER NOT NULL,
    call TEXT NOT NULL,
    needs_review INTEGER NOT NULL,
    PRIMARY KEY (run, call)
) WITHOUT ROWID;
CREATE TABLE message (
    conversation TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    id TEXT NOT NULL,
    revision TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (conversation, sequence)
) WITHOUT ROWID;
CREATE UNIQUE INDEX message_by_identity ON message (conversation, id, revision);
CREATE TABLE consumed (
    conversation TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL
) WITHOUT ROWID;
"""

_RESTING = """
DROP TABLE resting;
CREATE TABLE resting (
    run INTEGER NOT NULL,
    call TEXT NOT NULL,
    wait TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (run, call)
) WITHOUT ROWID;
CREATE INDEX resting_by_since ON resting (since, run, call);
"""


def _script(text: str) -> "Migration":
    def migrate(connection: sqlite3.Connection) -> None:
        for statement in text.split(";"):
            connection.execute(statement)

    return migrate


def _fill_resting(connection: sqlite3.Connection) -> None:
    """Layout 2 says for what a call waits, and since when: no earlier than its run was last touched, for all we know.

    A record that cannot be read is left for whoever asks for it.
    """
    for key, touched_at, call_id, raw in connection.execute(
        "SELECT run.key, run.touched_at, call.id, call.data FROM run JOIN call ON call.run = run.key"
    ):
        try:
            wait = waits_for(decode_call(raw))
        except (DecodeError, TypeError):
            continue
        if wait is not None:
            connection.execute("INSERT INTO resting VALUES (?, ?, ?, ?)", (key, call_id, wait.value, touched_at))


Migration = Callable[[sqlite3.Connection], None]

_MIGRATIONS: tuple[tuple[Migration, ...], ...] = ((_script(_CREATE),), (_script(_RESTING), _fill_resting))
"""What leads from each layout to the next, starting with an empty file."""

SCHEMA_VERSION = len(_MIGRATIONS)
"""The layout that this release writes; it reads all up to it."""


def open_database(path: Path, *, full_sync: bool, patience_ms: int, max_bytes: int) -> sqlite3.Connection:
    """A connection to the store in the file, which is made if it is not there.

    Waits up to ``patience_ms`` for other processes that are opening it too. Raises ``CannotOpen`` and its kinds, and
    ``StoreLocked``.
    """
    _check_header(path)
    try:
        connection = sqlite3.connect(
            path, timeout=0, isolation_level=None, cached_statements=256, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise _cannot_open(path, error) from error
    try:
        _prepare(connection, path, patience_ms)
        connection.execute(f"PRAGMA synchronous = {'FULL' if full_sync else 'NORMAL'}")
        # A checkpoint waits for the disk: fewer and larger ones cost a step a fifth less than the default of 1000.
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_bytes)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path, *, max_bytes: int) -> sqlite3.Connection:
    """A connection that never writes, to a store that is there already. Raises ``CannotOpen`` and its kinds.

    Where there is no log of writes that wait to be put into the file, the file alone is the whole store. It is read as
    one that nobody changes then: SQLite would make an empty log beside it, could not remove that again, and whoever may
    write into the file would have to do with a log that is somebody else's.
    """
    _check_header(path)
    log = path.with_name(f"{path.name}-wal")
    try:
        return _reader(path, "mode=ro" if _holds(log) else "mode=ro&immutable=1", max_bytes)
    except sqlite3.OperationalError as error:
        if _holds(log):
            raise CannotOpen(
                f"{path} is read-only here, and its last changes are still in {log.name}: copy both files to a folder "
                "of your own, and open the copy"
            ) from error
        raise CannotOpen(f"cannot open {path} ({error}): may it be read?") from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, error) from error


def _holds(log: Path) -> bool:
    try:
        return log.stat().st_size > 0
    except OSError:
        return False


def _reader(path: Path, how: str, max_bytes: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=10, isolation_level=None, check_same_thread=False
    )
    try:
        version = _version_at_once(connection, path)
        if not version:
            raise NotOurDatabase(f"{path} is an empty database: give the path of another file")
        if version < SCHEMA_VERSION:
            raise CannotOpen(
                f"{path} was made by an older turnfold, and is read-only, so it cannot be brought up to date: make it "
                "writable, or use a copy"
            )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_bytes)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_header(path: Path) -> None:
    """SQLite would take a file of a single byte for an empty one. What cannot be read at all is left for it to name."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return
    if start not in (b"", b"SQLite format 3\0"):
        raise NotOurDatabase(f"{path} is not a SQLite database: give the path of another file")


def _prepare(connection: sqlite3.Connection, path: Path, patience_ms: int) -> None:
    """Bring the file up to date. Switching to WAL does not wait for another process that does it too: so try again."""
    deadline = monotonic() + patience_ms / 1000
    while True:
        try:
            version = _version_at_once(connection, path)
            _use_wal(connection, path)
            if version < SCHEMA_VERSION:
                _migrate(connection, path)
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise _cannot_open(path, error) from error
            if monotonic() > deadline:
                raise StoreLocked(f"{path} is locked by another process: try again when it is done") from error
            sleep(0.01)
        except sqlite3.DatabaseError as error:
            raise damaged(path, error) from error


def _version_at_once(connection: sqlite3.Connection, path: Path) -> int:
    """The layout, read in one transaction: another process that makes the file is seen before or after, never amid."""
    connection.execute("BEGIN")
    try:
        return _version(connection, path)
    finally:
        connection.rollback()


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The layout of the file, 0 for an empty one; raises when it is not ours or too new. Writes nothing."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (application or version or tables):
        raise NotOurDatabase(f"{path} is a database of another program: give the path of another file")
    if version > SCHEMA_VERSION:
        raise NewerSchema(str(path), version, SCHEMA_VERSION)
    return version


def _use_wal(connection: sqlite3.Connection, path: Path) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise CannotOpen(f"{path} cannot be used by several processes (no write-ahead log there): use a local disk")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """All missing steps in one transaction, under the lock: another process may have been faster."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for steps in _MIGRATIONS[_version(connection, path) :]:
            for migrate in steps:
                migrate(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the database."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is the matter."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def damaged(path: Path, error: sqlite3.Error) -> CannotOpen:
    """What to say of a file whose contents make no sense."""
    return CannotOpen(f"{path} is damaged ({error}): restore it from a backup, or use another file")


def _cannot_open(path: Path, error: sqlite3.Error) -> CannotOpen:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
        return CannotOpen(f"{path} is read-only: make it writable, or use a copy")
    return CannotOpen(f"cannot open {path} ({error}): does its folder exist, and may it be written to?")
