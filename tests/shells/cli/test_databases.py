"""Databases that are not as they should be: read-only, empty, damaged, or no file at all."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from turnfold.adapters.stores import SqliteStore

from tests.shells.cli.conftest import Cli
from tests.shells.cli.server import Server

AS_NOBODY = """
import os, sys
from turnfold.shells.cli import cancel, errors, hints, main, runs
if not os.geteuid():
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""
"""For root nothing is read-only, so a test that is run by root becomes somebody else once all is imported."""


@pytest.fixture
def place(cli: Cli, echo: Server) -> Iterator[Path]:
    """A database in a folder that everybody may look into."""
    cli.on_db("chat", stdin="hello\n")
    with tempfile.TemporaryDirectory(prefix="turnfold-test-") as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / "x.db"
        path.write_bytes(cli.db.read_bytes())
        path.chmod(0o444)
        yield path
        os.chmod(folder, 0o755)


def as_nobody(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", AS_NOBODY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("mode", [0o555, 0o777])
def test_a_read_only_file_can_be_looked_at_and_is_left_as_it_is(place: Path, mode: int) -> None:
    place.parent.chmod(mode)
    result = as_nobody("runs", "--db", str(place))
    assert (result.returncode, result.stderr) == (0, "")
    assert "chat-default  answered" in result.stdout
    assert [path.name for path in place.parent.iterdir()] == ["x.db"]


def test_a_read_only_file_is_not_changed_and_says_so(place: Path) -> None:
    place.parent.chmod(0o777)
    result = as_nobody("cancel", "chat-default", "--db", str(place))
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == (
        f"turnfold: {place} is read-only, so nothing was changed; make it writable, or use a copy of it\n"
    )


@pytest.mark.parametrize("command", [("runs",), ("show", "r"), ("waiting",), ("cancel", "r")])
def test_an_empty_file_stays_empty(bare: Cli, command: tuple[str, ...]) -> None:
    bare.db.touch()
    result = bare.on_db(*command)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"turnfold: {bare.db} is an empty file, with no runs in it; ")
    assert bare.db.stat().st_size == 0


def test_a_chat_makes_a_database_of_an_empty_file(cli: Cli) -> None:
    cli.db.touch()
    assert cli.on_db("chat", stdin="hello\n").out == "You said: hello (1)\n"


@pytest.mark.parametrize("command", [("runs",), ("chat",), ("demo",), ("resume", "r")])
def test_a_directory_is_named_as_one(cli: Cli, command: tuple[str, ...]) -> None:
    result = cli(*command, "--db", str(cli.db.parent))
    assert (result.code, result.out) == (3, "")
    assert result.err == f"turnfold: {cli.db.parent} is a directory; name a file in it with --db\n"


@pytest.mark.parametrize("command", ["runs", "chat", "demo"])
def test_an_empty_path_is_no_path(bare: Cli, command: str) -> None:
    result = bare(command, "--db", "")
    assert result.code == 2
    assert result.err == (
        f"turnfold: argument --db: it is empty, and has to be the path of a file; "
        f"turnfold {command} --help shows what there is\n"
    )


def test_a_damaged_file_gets_advice(bare: Cli) -> None:
    SqliteStore(bare.db).close()
    content = bare.db.read_bytes()
    bare.db.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    result = bare.on_db("runs")
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        f"turnfold: {bare.db} is damaged (database disk image is malformed): "
        "restore it from a backup, or use another file\n"
    )


def test_what_stands_in_the_log_of_writes_is_read_too(cli: Cli) -> None:
    """A reader that took the file alone would miss what another process has just written."""
    cli.on_db("chat", stdin="hello\n")
    writer = sqlite3.connect(cli.db)
    try:
        writer.execute("UPDATE run SET id = 'renamed'")
        writer.commit()
        assert cli.db.with_name(f"{cli.db.name}-wal").stat().st_size
        cli.monkeypatch.setattr(os, "access", lambda *_: False)
        assert "renamed" in cli.on_db("runs").out
    finally:
        writer.close()
