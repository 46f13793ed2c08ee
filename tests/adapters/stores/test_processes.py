"""Several processes on one SQLite file: real ones, which start together, race, and are killed."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trio
from turnfold.adapters.stores import SqliteStore, StoreError
from turnfold.adapters.stores.sqlite_schema import _prepare
from turnfold.effects.journal import StaleAttempt, Step


class Rival:
    """A process that is ready to do some work, and does it when it is told to."""

    def __init__(self, path: Path, work: str, argument: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("rival.py")), str(path), work, argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self, expected: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == expected

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def report(self) -> object:
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return json.loads(out.splitlines()[-1])


@contextmanager
def rivals(path: Path, *works: tuple[str, str]) -> Iterator[list[Rival]]:
    """Processes that are all ready before the first is told to go."""
    started = [Rival(path, work, argument) for work, argument in works]
    try:
        for rival in started:
            rival.hear("ready")
        yield started
    finally:
        for rival in started:
            rival.process.kill()
            rival.process.communicate()


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "runs.db"


def test_of_processes_that_begin_at_once_exactly_one_holds_the_run(path: Path) -> None:
    """Also when none of them finds a file there yet: each makes it, and one of them first."""
    with rivals(path, *[("begin", "")] * 5) as started:
        for rival in started:
            rival.go()
        reports = [rival.report() for rival in started]
    assert sorted(map(str, reports)) == ["1", "busy", "busy", "busy", "busy"]


async def test_writes_of_many_processes_are_all_stored_once(path: Path) -> None:
    names = ["a", "b", "c"]
    with rivals(path, *[("write_much", name) for name in names]) as started:
        for rival in started:
            rival.go()
        told = [rival.report() for rival in started]
    sequences = [sequence for report in told if isinstance(report, list) for sequence in report]
    assert sorted(sequences) == list(range(1, 121))
    with SqliteStore(path) as store:
        stored = {message.content: sequence for sequence, message in await store.messages("talk")}
        assert stored == {
            f"{name}-{number}": told[index][number]  # type: ignore[index]
            for index, name in enumerate(names)
            for number in range(40)
        }
        for name in names:
            resume = await store.load(name)
            assert resume is not None
            assert (resume.state, len(resume.logs["main"]), len(resume.calls)) == (b"39", 40, 40)


async def test_a_process_whose_run_is_taken_over_writes_no_more(path: Path) -> None:
    with rivals(path, ("write_until_stale", "")) as (rival,):
        rival.go()
        rival.hear("going")
        with SqliteStore(path) as store:
            begun = await store.journal("r").begin(60_000, take_over=True)
            accepted = rival.report()
            after = await store.load("r")
    assert begun.attempt == 2
    assert len(begun.resume.calls) == accepted
    assert after == begun.resume


async def test_a_killed_process_leaves_whole_steps_and_its_lease(path: Path) -> None:
    with rivals(path, ("write_for_ever", "")) as (rival,):
        rival.go()
        rival.hear("going")
        rival.process.kill()
        rival.process.wait()
        with SqliteStore(path) as store:
            (summary,) = await store.runs()
            assert (summary.attempt, summary.held) == (1, True)
            resume = await store.load("r")
            assert resume is not None
            assert resume.state is not None
            assert int(resume.state) == len(resume.logs["main"]) > 50
            assert resume.values["count"] == resume.state
            journal = store.journal("r")
            await journal.begin(1, take_over=True)
            with pytest.raises(StaleAttempt):
                await journal.save_step(1, Step(b"late"))


async def test_a_watcher_hears_of_another_process(path: Path) -> None:
    with SqliteStore(path, poll_ms=10) as store, rivals(path, ("append", "from afar")) as (rival,):
        async with store.feed("talk").watch() as watch:
            with trio.move_on_after(1) as scope:
                await watch.changed()
            assert scope.cancelled_caught
            rival.go()
            assert rival.report() == 1
            with trio.fail_after(1):
                await watch.changed()
        assert [message.content for _, message in await store.messages("talk")] == ["from afar"]


async def test_a_watcher_does_not_wake_for_what_others_write_elsewhere(path: Path) -> None:
    with SqliteStore(path) as store, SqliteStore(path) as other:
        async with store.feed("talk").watch() as watch:
            await other.create_run("r", "talk")
            await other.journal("r").begin(60_000)
            with trio.move_on_after(60) as scope:
                await watch.changed()
            assert scope.cancelled_caught


def test_a_file_that_another_process_is_making_is_not_taken_for_somebody_elses(path: Path) -> None:
    """Whoever looks at the file sees it before or after it is made, never half of each."""
    ours = sqlite3.connect(path, timeout=0, isolation_level=None)
    made: list[bool] = []

    def make_it_meanwhile(statement: str) -> None:
        if "sqlite_master" in statement and not made:
            made.append(True)
            with suppress(StoreError):
                SqliteStore(path, patience_ms=0).close()

    ours.set_trace_callback(make_it_meanwhile)
    _prepare(ours, path, patience_ms=1_000)
    ours.close()
    assert made
    SqliteStore(path).close()
