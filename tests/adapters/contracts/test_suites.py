"""The suites as a host meets them: run by pytest without plugins, and helpful when something is missing."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from turnfold.adapters.contracts import (
    Contract,
    FeedContract,
    HandClock,
    Harness,
    JournalContract,
    JournalHarness,
    JournalMachine,
    StoreHarness,
    case,
)
from turnfold.adapters.stores.memory import MemoryJournal, MemoryStore
from turnfold.adapters.stores.memory_kept import MemoryRun
from turnfold.effects.journal import Begun, CallUpdate, Journal, LogChange
from turnfold.effects.record import ToolCall

HOST_TEST = """
from turnfold.adapters.contracts import FeedContract, HandClock, JournalContract, StoreHarness
from turnfold.adapters.stores import MemoryStore


class Make:
    def make(self):
        clock = HandClock()
        return StoreHarness(MemoryStore(now=clock), clock)


class TestMyJournal(Make, JournalContract):
    pass


class TestMyFeed(Make, FeedContract):
    pass
"""


def run(*arguments: str, folder: Path) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def test_a_host_runs_the_suites_with_pytest_alone(tmp_path: Path) -> None:
    (tmp_path / "test_host.py").write_text(HOST_TEST)
    plain = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-q")
    report = run("-m", "pytest", *plain, "test_host.py", folder=tmp_path)
    count = sum(name.startswith("test_") for suite in (JournalContract, FeedContract) for name in dir(suite))
    assert f"{count - 1} passed, 1 skipped" in report


@pytest.mark.parametrize("missing", ["pytest", "hypothesis"])
def test_a_missing_package_is_named_with_its_cure(tmp_path: Path, missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; import turnfold.adapters.contracts"
    report = run("-c", program, folder=tmp_path)
    assert report.splitlines()[-1].startswith("ImportError: the contract suites need pytest and hypothesis")
    assert missing in report.splitlines()[-1]
    assert "pip install 'turnfold[test]'" in report


@pytest.mark.parametrize("suite", [JournalContract, FeedContract])
def test_every_case_says_what_it_is_about(suite: type[Contract[Any]]) -> None:
    cases = [getattr(suite, name) for name in dir(suite) if name.startswith("test_")]
    assert cases
    assert all(case.__doc__ for case in cases)


def test_the_original_cases_are_all_there() -> None:
    """J1 to J15 and F1 to F5, by the first word of their docstrings."""
    docs = [
        (getattr(suite, name).__doc__ or "").replace(":", " ").replace(".", " ").replace(",", " ").split()[0]
        for suite in (JournalContract, FeedContract)
        for name in dir(suite)
        if name.startswith("test_")
    ]
    wanted = [f"J{number}" for number in range(1, 16)] + [f"F{number}" for number in range(1, 6)]
    assert sorted(doc for doc in docs if doc[1:].isdigit()) == sorted(wanted)


def test_a_harness_is_closed_also_when_its_case_fails() -> None:
    closed: list[str] = []

    class Closing(Harness):
        async def close(self) -> None:
            closed.append("closed")

    class Suite(Contract[Closing]):
        def make(self) -> Closing:
            return Closing()

        @case
        async def test_fails(self, mine: Closing) -> None:
            """Always."""
            raise ValueError("as it must")

    with pytest.raises(ValueError, match="as it must"):
        Suite().test_fails()
    assert closed == ["closed"]


class LeaseIsIgnored(MemoryJournal):
    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        return await super().begin(lease_ms, take_over=True)


class KeepIsIgnored(MemoryJournal):
    def _write_log(self, run: MemoryRun, log: str, change: LogChange) -> None:
        run.logs.setdefault(log, []).extend(change.append)


class HostIsIgnored(MemoryStore):
    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        return self._runs[run_id].calls[update.id]


class PartHarness(StoreHarness):
    def __init__(self, broken: type[MemoryJournal] | type[MemoryStore] = MemoryStore) -> None:
        self.broken = broken
        clock = HandClock()
        self.memory = (broken if issubclass(broken, MemoryStore) else MemoryStore)(now=clock)
        super().__init__(self.memory, clock)

    def make_journal(self) -> Journal:
        if issubclass(self.broken, MemoryJournal):
            return self.broken(self.name, self.memory._runs, self.clock, None)
        return super().make_journal()


@pytest.mark.parametrize("broken", [LeaseIsIgnored, KeepIsIgnored, HostIsIgnored])
def test_the_machine_finds_a_broken_store_beside_a_good_one(
    broken: type[MemoryJournal] | type[MemoryStore], check: Callable[[type[JournalMachine]], None]
) -> None:
    class Machine(JournalMachine):
        def make(self) -> Sequence[JournalHarness]:
            return [PartHarness(), PartHarness(broken)]

    with pytest.raises(AssertionError, match=r"PartHarness (answered|holds|finds)"):
        check(Machine)


@pytest.fixture
def check() -> Callable[[type[JournalMachine]], None]:
    """Play, without making the failure small."""
    play = settings(max_examples=100, stateful_step_count=40, phases=[Phase.generate])
    return lambda machine: run_state_machine_as_test(machine, settings=play)
