"""What kinds of files a SQLite store opens, what it says to the others, and what it says to damage inside."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import get_ident

import pytest
import trio
from turnfold.adapters.contracts import HandClock
from turnfold.adapters.stores import (
    CannotOpen,
    CorruptRow,
    NewerSchema,
    NotOurDatabase,
    SqliteStore,
    StoreClosed,
    StoreError,
    StoreLocked,
    TooLarge,
    sqlite_schema,
)
from turnfold.adapters.stores.sqlite_schema import APPLICATION_ID, SCHEMA_VERSION
from turnfold.adapters.stores.sqlite_waiting import _CALLS, _WAITING
from turnfold.effects.codec import encode
from turnfold.effects.feed import InputMessage
from turnfold.effects.journal import CallUpdate, Changes, LogChange, Step
from turnfold.effects.outcome import Delivered
from turnfold.effects.record import (
    Block,
    BlockKind,
    CallDecision,
    CallStatus,
    Completion,
    CompletionSource,
    Handover,
    PlanTask,
    ToolCall,
    Wait,
)
from turnfold.effects.transcript import Usage


def other_program(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "runs.db"


async def filled(path: Path) -> None:
    """A store with a row in every table."""
    with SqliteStore(path, now=HandClock()) as store:
        await store.create_run("r", "talk", {"model": "m"})
        await store.append("talk", InputMessage("m1"))
        await store.consume("talk", 1)
        journal = store.journal("r")
        attempt = (await journal.begin(60_000)).attempt
        call = ToolCall("c", CallStatus.NEEDS_REVIEW, 1)
        changes = Changes((Block("b", 1, "m", BlockKind.TOOL_CALL, call_id="c"),), (call,))
        step = Step(
            b"state",
            {"main": LogChange(0, (b"1", b"2", b"3"))},
            {"agent": b"v"},
            changes,
            Usage(1),
            (PlanTask("1", "s"),),
            Completion(CompletionSource.TOOL, "1"),
            Delivered("text", 1),
        )
        await journal.save_step(attempt, step)


def test_a_new_file_is_made_with_our_mark(path: Path) -> None:
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    SqliteStore(path).close()
    assert path.read_bytes().startswith(b"SQLite format 3")


async def test_a_path_may_be_text(path: Path) -> None:
    with SqliteStore(str(path)) as store:
        assert await store.runs() == ()


async def test_a_store_is_found_again(path: Path) -> None:
    await filled(path)
    with SqliteStore(path) as store:
        resume = await store.load("r")
        assert resume is not None
        assert (resume.state, dict(resume.logs)) == (b"state", {"main": (b"1", b"2", b"3")})
        assert [message.content for _, message in await store.messages("talk")] == ["m1"]
        assert await store.feed("talk").pending(0) == 0


def layout_1(path: Path, *calls: ToolCall, damaged: str = "") -> None:
    """A store as the first layout had it, with one run."""
    connection = sqlite3.connect(path)
    connection.executescript(sqlite_schema._CREATE)
    connection.execute("INSERT INTO run (id, created_at, touched_at, meta) VALUES ('r', 1, 7, x'7b7d')")
    for call in calls:
        raw = b"{" if call.id == damaged else encode(call)
        connection.execute("INSERT INTO call (run, id, data) VALUES (1, ?, ?)", (call.id, raw))
        connection.execute("INSERT INTO resting (run, call, needs_review) VALUES (1, ?, 0)", (call.id,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


async def test_the_first_layout_learns_who_waits_for_what(path: Path) -> None:
    calls = (
        ToolCall("a", CallStatus.AWAITING_DECISION, 1),
        ToolCall("b", CallStatus.AWAITING_DECISION, 1, decision=CallDecision(True)),
        ToolCall("c", CallStatus.RUNNING, 1, handover=Handover.DETACHED),
        ToolCall("d", CallStatus.NEEDS_REVIEW, 1),
        ToolCall("e", CallStatus.SUCCEEDED, 1),
        ToolCall("f", CallStatus.WAITING, 1, handover=Handover.AWAIT),
    )
    layout_1(path, *calls)
    with SqliteStore(path) as store:
        found = await store.waiting()
        assert [(listed.call.id, listed.kind, listed.since) for listed in found] == [
            ("a", Wait.DECISION, 7),
            ("c", Wait.OUTSTANDING, 7),
            ("d", Wait.REVIEW, 7),
            ("f", Wait.RESULT, 7),
        ]
        await store.settle("r", CallUpdate("f", CallStatus.SUCCEEDED))
        (summary,) = await store.runs()
        assert (summary.waiting, summary.outstanding, summary.needs_review) == (1, 1, 1)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    connection.close()


async def test_a_damaged_row_does_not_keep_an_older_file_from_opening(path: Path) -> None:
    layout_1(path, ToolCall("a", CallStatus.NEEDS_REVIEW, 1), ToolCall("b", CallStatus.NEEDS_REVIEW, 1), damaged="a")
    with SqliteStore(path) as store:
        assert [listed.call.id for listed in await store.waiting()] == ["b"]
        with pytest.raises(CorruptRow):
            await store.call("r", "a")


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    layout_1(path, ToolCall("a", CallStatus.NEEDS_REVIEW, 1))
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE call")
    connection.close()
    with pytest.raises(CannotOpen):
        SqliteStore(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT needs_review FROM resting").fetchall() == [(0,)]
    connection.close()


async def test_who_waits_is_listed_without_a_look_at_other_calls(path: Path) -> None:
    """Both look-ups over all runs go by an index, however many calls there are."""
    with SqliteStore(path) as store:
        await store.runs()
    connection = sqlite3.connect(path)
    plans = [
        connection.execute("EXPLAIN QUERY PLAN " + statement, parameters).fetchall()
        for statement, parameters in ((_WAITING, (None, None, 9)), (_CALLS, ("a", "b", 9)))
    ]
    connection.close()
    scanned = [step[3] for plan in plans for step in plan if step[3].startswith("SCAN")]
    assert [step.split()[1] for step in scanned] == ["resting", "run"]
    assert "INDEX resting_by_since" in scanned[0]


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE notes (text TEXT)",),
        ("PRAGMA application_id = 42",),
        ("PRAGMA user_version = 1",),
        ("CREATE TABLE run (id TEXT)", "PRAGMA user_version = 1"),
    ],
    ids=["tables", "another mark", "a version", "tables like ours"],
)
def test_a_database_of_another_program_is_left_alone(path: Path, statements: tuple[str, ...]) -> None:
    other_program(path, *statements)
    before = path.read_bytes()
    with pytest.raises(NotOurDatabase, match=r"runs\.db is a database of another program: give the path of another"):
        SqliteStore(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]


@pytest.mark.parametrize("content", [b"x", b"hello world\n", b"\x00" * 600, b"SQLite format 2\0" + b"x" * 4096])
def test_a_file_that_is_no_database_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(NotOurDatabase, match=r"runs\.db is not a SQLite database: give the path of another file"):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_a_newer_layout_is_left_alone(path: Path) -> None:
    SqliteStore(path).close()
    other_program(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(NewerSchema, match=r"runs\.db was made by a newer turnfold .* upgrade turnfold") as caught:
        SqliteStore(path)
    assert (caught.value.found, caught.value.known) == (SCHEMA_VERSION + 1, SCHEMA_VERSION)
    assert path.read_bytes() == before


def test_a_truncated_database_is_named_as_damaged(path: Path) -> None:
    SqliteStore(path).close()
    path.write_bytes(path.read_bytes()[:5_000])
    with pytest.raises(CannotOpen, match=r"runs\.db is damaged .* restore it from a backup"):
        SqliteStore(path)


def test_a_missing_folder_is_named(folder: Path) -> None:
    with pytest.raises(CannotOpen, match=r"cannot open .*does its folder exist"):
        SqliteStore(folder / "missing" / "runs.db")


def test_a_folder_is_no_file(folder: Path) -> None:
    with pytest.raises(CannotOpen, match="cannot open"):
        SqliteStore(folder)


def test_every_opening_error_is_one_line(path: Path) -> None:
    path.write_bytes(b"hello world\n")
    with pytest.raises(StoreError) as caught:
        SqliteStore(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_stays_locked_is_named(path: Path) -> None:
    SqliteStore(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreLocked, match=r"runs\.db is locked by another process"):
        SqliteStore(path, patience_ms=20)
    other.close()


def test_opening_waits_for_who_is_just_making_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    # The other one is done when the store has begun to wait.
    monkeypatch.setattr(sqlite_schema, "sleep", lambda _: other.in_transaction and other.execute("COMMIT"))
    SqliteStore(path).close()
    other.close()


def test_a_file_that_another_process_made_in_between_is_taken_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_wal = sqlite_schema._use_wal
    others: list[SqliteStore] = []

    def slow(connection: sqlite3.Connection, place: Path) -> None:
        if not others:
            monkeypatch.undo()
            others.append(SqliteStore(path))
        use_wal(connection, place)

    monkeypatch.setattr(sqlite_schema, "_use_wal", slow)
    SqliteStore(path).close()
    (other,) = others
    other.close()


def test_what_else_keeps_a_file_from_opening_is_not_waited_for(path: Path) -> None:
    SqliteStore(path).close()
    path.with_name("runs.db-wal").mkdir()
    with pytest.raises(CannotOpen, match=r"cannot open .*runs\.db"):
        SqliteStore(path)


async def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path)
    journal, feed = store.journal("r"), store.feed("talk")
    store.close()
    store.close()
    for use in (store.runs, lambda: journal.begin(1), lambda: feed.pending(0), lambda: store.create_run("r")):
        with pytest.raises(StoreClosed, match=r"runs\.db"):
            await use()


async def test_a_value_that_is_too_large_is_refused_and_nothing_is_written(path: Path) -> None:
    with SqliteStore(path, max_bytes=20_000) as store:
        journal = store.journal("r")
        attempt = (await journal.begin(60_000)).attempt
        await journal.save_step(attempt, Step(b"before"))
        with pytest.raises(TooLarge):
            await journal.save_step(attempt, Step(b"after", {"main": LogChange(0, (b"x" * 20_001,))}))
        with pytest.raises(TooLarge):
            await journal.save_call(attempt, ToolCall("c", "running", 1, result="x" * 20_001))
        with pytest.raises(TooLarge):
            await store.append("talk", InputMessage("x" * 20_001))
        resume = await store.load("r")
        assert resume is not None
        assert (resume.state, resume.logs, resume.calls) == (b"before", {}, ())


def damage(path: Path, statement: str) -> None:
    other_program(path, statement)


@pytest.mark.parametrize(
    ("statement", "table", "row"),
    [
        ("UPDATE call SET data = x'7b'", "call", "c"),
        ("UPDATE call SET data = 5", "call", "c"),
        ('UPDATE call SET data = \'{"id":1,"status":"x"}\'', "call", "c"),
        ("UPDATE block SET data = '{}'", "block", "b"),
        ('UPDATE head SET usage = \'{"input":"many"}\'', "head", "usage"),
        ("UPDATE head SET plan = 'x'", "head", "plan"),
        ('UPDATE head SET completion = \'{"source":"nobody"}\'', "head", "completion"),
        ('UPDATE head SET outcome = \'{"type":"Unheard"}\'', "head", "outcome"),
        ("UPDATE entry SET data = 'text' WHERE seq = 1", "entry", "main/1"),
        ("DELETE FROM entry WHERE seq = 1", "entry", "main/1"),
    ],
)
async def test_a_damaged_row_is_named_with_its_run(path: Path, statement: str, table: str, row: str) -> None:
    await filled(path)
    damage(path, statement)
    with SqliteStore(path) as store:
        uses: list[Callable[[], object]] = [lambda: store.load("r"), lambda: store.journal("r").begin(1, True)]
        for use in uses:
            with pytest.raises(CorruptRow, match=r"restore it from a backup, or start a new run") as caught:
                await use()  # type: ignore[misc]
            assert (caught.value.run, caught.value.table, caught.value.row) == ("r", table, row)
            assert "\n" not in str(caught.value)


async def test_a_begin_that_finds_damage_takes_nothing(path: Path) -> None:
    await filled(path)
    damage(path, "UPDATE block SET data = '{}'")
    with SqliteStore(path, now=HandClock()) as store:
        with pytest.raises(CorruptRow):
            await store.journal("r").begin(1, take_over=True)
        summary = await store.run("r")
        assert summary is not None
        assert (summary.attempt, summary.held) == (1, True)


async def test_other_damaged_rows_are_named_too(path: Path) -> None:
    await filled(path)
    for statement in (
        "UPDATE run SET meta = '[]'",
        "UPDATE message SET data = '{}'",
        "UPDATE call SET data = '{}'",
        "UPDATE head SET outcome = '{}'",
    ):
        damage(path, statement)
    with SqliteStore(path) as store:
        for use, table in (
            (lambda: store.run("r"), "head"),
            (lambda: store.create_run("r"), "run"),
            (lambda: store.deliver("r"), "head"),
            (lambda: store.messages("talk"), "message"),
            (lambda: store.call("r", "c"), "call"),
            (lambda: store.settle("r", CallUpdate("c", "failed")), "call"),
            (lambda: store.journal("r").save_call(1, ToolCall("c", "running", 2)), "call"),
        ):
            with pytest.raises(CorruptRow) as caught:
                await use()
            assert caught.value.table == table


def overwrite(path: Path) -> None:
    """All but the first page."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


async def test_a_damaged_file_is_a_store_error(path: Path) -> None:
    await filled(path)
    with SqliteStore(path) as store:
        other_program(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        overwrite(path)
        with pytest.raises(StoreError, match=r"runs\.db is damaged"):
            await store.load("r")


async def test_a_write_waits_in_a_thread_and_the_loop_goes_on(path: Path) -> None:
    other = None
    with SqliteStore(path) as store:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        turns = 0

        async def append() -> None:
            await store.append("talk", InputMessage("m"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(append)
            for _ in range(100):
                await trio.lowlevel.checkpoint()
                turns += 1
            other.execute("COMMIT")
        assert turns == 100
        assert len(await store.messages("talk")) == 1
    other.close()


async def test_a_write_that_waits_too_long_says_so_and_writes_nothing(path: Path) -> None:
    with SqliteStore(path, patience_ms=20) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match=r"runs\.db was locked by another process for 20 ms"):
            await store.append("talk", InputMessage("m"))
        assert await store.messages("talk") == ()
        other.execute("ROLLBACK")
        other.close()
        assert (await store.append("talk", InputMessage("m")))[0] == 1
        assert await store._access.read(lambda connection: connection.execute("PRAGMA busy_timeout").fetchone()) == (0,)


async def test_reading_does_not_wait_for_a_writer(path: Path) -> None:
    with SqliteStore(path, patience_ms=0) as store:
        await store.append("talk", InputMessage("m"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM message")
        assert len(await store.messages("talk")) == 1
        other.close()


async def test_writes_that_come_while_one_waits_are_all_stored(path: Path) -> None:
    with SqliteStore(path) as store:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(store.append, "talk", InputMessage(f"m{number}"))
            for _ in range(10):
                await trio.lowlevel.checkpoint()
            other.execute("COMMIT")
        other.close()
        assert sorted(message.content for _, message in await store.messages("talk")) == [f"m{n}" for n in range(10)]


@pytest.mark.parametrize(("full_sync", "mode"), [(False, 1), (True, 2)])
async def test_the_disk_is_waited_for_when_asked(path: Path, full_sync: bool, mode: int) -> None:
    with SqliteStore(path, full_sync=full_sync) as store:
        found = await store._access.read(lambda connection: connection.execute("PRAGMA synchronous").fetchone())
        assert found == (mode,)


@pytest.mark.parametrize("full_sync", [False, True])
async def test_the_loop_waits_for_no_disk(path: Path, full_sync: bool) -> None:
    """Full synchronisation is a thread's business; anything else is faster done at once."""
    threads: list[int] = []
    with SqliteStore(path, full_sync=full_sync, now=lambda: threads.append(get_ident()) or 1) as store:
        await store.journal("r").begin(60_000)
    assert (get_ident() in threads) is not full_sync


async def test_a_step_writes_the_same_at_the_thousandth_as_at_the_tenth(path: Path) -> None:
    with SqliteStore(path) as store:
        journal = store.journal("r")
        attempt = (await journal.begin(60_000)).attempt
        rows: list[int] = []
        for number in range(1_000):
            before = store._access._connection.total_changes
            call = ToolCall(f"{number:04}", "running", 1)
            block = Block(f"{number:04}", number + 1, "m", BlockKind.TOOL_CALL, call_id=call.id)
            logs = {"main": LogChange(2 * number, (b"a", b"b"))}
            await journal.save_step(attempt, Step(b"s", logs, changes=Changes((block,), (call,))))
            rows.append(store._access._connection.total_changes - before)
        assert set(rows) == {5}


# --- read-only


def test_a_store_that_is_opened_to_be_read_is_left_as_it_is(path: Path) -> None:
    trio.run(filled, path)
    before = path.read_bytes()

    async def read() -> None:
        with SqliteStore(path, read_only=True) as store:
            assert [summary.run_id for summary in await store.runs()] == ["r"]
            with pytest.raises(StoreError, match=r"runs\.db is read-only, so nothing was written"):
                await store.append("talk", InputMessage("more"))

    trio.run(read)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == ["runs.db"]


def test_a_file_that_would_have_to_be_changed_first_is_not_opened_to_be_read(path: Path) -> None:
    SqliteStore(path).close()
    other_program(path, f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    with pytest.raises(CannotOpen, match="was made by an older turnfold, and is read-only"):
        SqliteStore(path, read_only=True)


def test_an_empty_file_is_no_store_to_be_read(path: Path) -> None:
    path.touch()
    with pytest.raises(NotOurDatabase, match="is an empty database"):
        SqliteStore(path, read_only=True)
    assert path.read_bytes() == b""


def test_a_damaged_file_that_is_opened_to_be_read_is_named(path: Path) -> None:
    SqliteStore(path).close()
    path.write_bytes(path.read_bytes()[:5_000])
    with pytest.raises(CannotOpen, match=r"runs\.db is damaged .* restore it from a backup"):
        SqliteStore(path, read_only=True)


def test_a_file_that_is_not_there_is_not_made_to_be_read(path: Path) -> None:
    with pytest.raises(CannotOpen, match=r"cannot open .*runs\.db .*may it be read"):
        SqliteStore(path, read_only=True)
    assert not path.exists()
