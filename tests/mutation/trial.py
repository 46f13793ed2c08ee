"""The trial of each mutant: a child of this process, in which everything is loaded, runs the tests that meet it.

First all tests run once, watched: which lines of the code under trial does each reach, and how long does it take? Then
a mutant meets only the tests that reach it, until one fails: those first that told others of its function apart, and
then those that are fast and about little else. A child that takes much longer than its tests ever did hangs, and that
tells it apart too.
"""

import functools
import gc
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import FrameType

import attrs
import pytest
from _pytest.tmpdir import tmppath_result_key
from hypothesis import Phase, settings

from .mutants import CannotBePlaced, Mutant
from .watching import watched

EXAMPLES = 25
"""How many examples a property is tried on."""

CANNOT_BE_PLACED, SURVIVED, KILLED = 3, 4, 5

MEMORY = 4 << 30
"""The address space a child may have, in bytes: a loop that hoards ends there."""

PATIENCE, LONGEST = 4, 30
"""How many times longer than before the tests of a mutant may take before it hangs; how many seconds at most."""

ALARMS = (signal.SIGPROF, signal.SIGALRM)


@attrs.frozen
class Verdict:
    """What became of a mutant, and the test that told it apart, if one did."""

    mutant: Mutant
    killed: bool
    how: str


@attrs.frozen(eq=False)
class Known:
    """A test that passes: what it reaches as (file, line), how many seconds it takes, and a way to run it again."""

    name: str
    reached: frozenset[tuple[str, int]]
    seconds: float
    passes: Callable[[], bool]


@attrs.define
class Trial:
    """A plugin that tries mutants instead of running the tests; ``verdicts`` are there when pytest returns.

    ``budget`` bounds the tests that one mutant meets, in seconds.
    """

    mutants: Sequence[Mutant]
    jobs: int
    budget: float
    verdicts: list[Verdict] = attrs.field(factory=list)
    invalid: int = 0
    tests: int = 0
    excluded: list[str] = attrs.field(factory=list)
    _killers: dict[str, Counter[Known]] = attrs.field(factory=dict)

    def pytest_configure(self) -> None:
        """Properties are tried on the same few examples every time, and what fails is not made smaller."""
        few = settings(settings.get_profile("default"), max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate])
        settings.register_profile("mutation", few, derandomize=True, database=None, deadline=None)
        settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Learn what the tests reach, then try every mutant."""
        began = time.monotonic()
        known = self._learn(session.items)
        _say(f"{len(known)} tests, what they reach was found out in {time.monotonic() - began:.0f} s")
        for name in self.excluded:
            _say(f"left out, since it does not pass: {name}")
        gc.collect()
        gc.freeze()
        running: dict[int, tuple[Mutant, list[Known], int]] = {}
        for number, mutant in enumerate(self.mutants):
            while len(running) >= self.jobs:
                self.collect(running)
            tests = self.tests_for(mutant, known)
            if tests:
                pid, answer = fork(mutant, tests)
                running[pid] = mutant, tests, answer
            else:
                self.verdicts.append(Verdict(mutant, False, "no test reaches it"))
            if number % 200 == 199:
                alive = sum(not verdict.killed for verdict in self.verdicts)
                _say(f"{number + 1} of {len(self.mutants)} tried, {alive} survive, {time.monotonic() - began:.0f} s")
        while running:
            self.collect(running)
        return True

    def _learn(self, items: Sequence[pytest.Item]) -> list[Known]:
        known: list[Known] = []
        with watched(list({id(mutant.source): mutant.source for mutant in self.mutants}.values())) as reached:
            for item in items:
                test = functools.partial(_passes, item)
                began = time.process_time()
                passed = _in_time(test)
                lines = reached()
                if not passed:
                    self.excluded.append(item.nodeid)
                else:
                    known.append(Known(item.nodeid, lines, time.process_time() - began, test))
        self.tests = len(known)
        return sorted(known, key=lambda test: test.seconds)

    def tests_for(self, mutant: Mutant, known: list[Known]) -> list[Known]:
        """The tests that meet it, the most telling first, as many as the budget allows."""
        line = mutant.file, mutant.reach
        meeting = [test for test in known if not mutant.reach or line in test.reached]
        killers = self._killers.get(mutant.file + mutant.function, Counter())
        meeting.sort(key=lambda test: (-killers[test], test.seconds * (1 + len(test.reached))))
        chosen: list[Known] = []
        seconds = 0.0
        for test in meeting:
            seconds += test.seconds
            if chosen and seconds > self.budget:
                break
            chosen.append(test)
        return chosen

    def collect(self, running: dict[int, tuple[Mutant, list[Known], int]]) -> None:
        """Wait for a child, and take its answer."""
        pid, status = os.wait()
        mutant, tests, answer = running.pop(pid)
        with os.fdopen(answer, "rb") as pipe:
            told = pipe.read()
        code = os.waitstatus_to_exitcode(status)
        if code == CANNOT_BE_PLACED:
            self.invalid += 1
        elif code == KILLED:
            killer = tests[int(told)]
            self._killers.setdefault(mutant.file + mutant.function, Counter())[killer] += 1
            self.verdicts.append(Verdict(mutant, True, killer.name))
        elif code == SURVIVED:
            self.verdicts.append(Verdict(mutant, False, f"passed {len(tests)} tests"))
        else:
            self.verdicts.append(Verdict(mutant, True, f"ended by signal or exit {code}"))


def fork(mutant: Mutant, tests: Sequence[Known]) -> tuple[int, int]:
    """A child that tries a mutant; where it writes which test told it apart."""
    read, write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    code = 1
    try:
        os.close(read)
        code = _try(mutant, tests, write)
    finally:
        os._exit(code)


def _try(mutant: Mutant, tests: Sequence[Known], answer: int) -> int:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for number in ALARMS:
        signal.signal(number, signal.SIG_DFL)
    _set_alarms(min(LONGEST, 1 + PATIENCE * sum(test.seconds for test in tests)))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        mutant.put_in_place()
    except CannotBePlaced:
        return CANNOT_BE_PLACED
    for number, test in enumerate(tests):
        if not test.passes():
            os.write(answer, str(number).encode())
            return KILLED
    return SURVIVED


def _passes(item: pytest.Item) -> bool:
    """Run a test as pytest does, but for the reports, which take longer than most tests."""
    hooks, request = item.config.hook, getattr(item, "_request", None)
    if request is not None:
        item._initrequest()  # type: ignore[attr-defined]
    # What would be a report's outcome; with none, folders of tests are removed at once.
    item.stash[tmppath_result_key] = {}
    try:
        hooks.pytest_runtest_setup(item=item)
        hooks.pytest_runtest_call(item=item)
    except TooLong:
        raise
    except BaseException:
        return False
    finally:
        hooks.pytest_runtest_teardown(item=item, nextitem=None)
    return True


def _set_alarms(seconds: float) -> None:
    """The one counts the time we work, the other ends what only waits; 0 for none."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 5 * seconds)


class TooLong(BaseException):
    """A test of the code as it is does not come to an end."""


def _in_time(run: Callable[[], bool]) -> bool:
    """Whether something succeeds, and comes to an end at all."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = [signal.signal(number, stop) for number in ALARMS]
    _set_alarms(LONGEST)
    try:
        return run()
    except TooLong:
        return False
    finally:
        _set_alarms(0)
        for number, handler in zip(ALARMS, before, strict=True):
            signal.signal(number, handler)


def _say(text: str) -> None:
    print(text, flush=True)


def run(trial: Trial, paths: Iterable[str]) -> int:
    """Try the mutants on the tests at these paths; returns what pytest returns."""
    options = ["-q", "-s", "--assert=plain", "--tb=native", "-p", "no:cacheprovider", "--no-header", "--no-summary"]
    options += ["-o", "addopts=--import-mode=importlib", "-o", "tmp_path_retention_policy=failed"]
    return pytest.main([*options, *paths], plugins=[trial])
