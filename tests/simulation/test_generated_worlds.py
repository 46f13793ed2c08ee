"""Thousands of generated worlds: every promise holds after every event, and every run comes to its end.

The worlds are the same in every run; ``--explore`` draws new and many more. What breaks a promise is made as plain as
possible before it is shown: put it into ``tests/core/run/test_found_by_simulation.py`` and repair the rule.
"""

import os
import time

import pytest
from turnfold.shells.simulate import PromiseBroken, World, run_schedule, shrink

from tests.simulation.explore import tape
from tests.simulation.worlds import Case, case

WORLDS = 2_200
EXPLORING = 40_000


def test_every_promise_holds_in_every_generated_world(exploring: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Safety after every event, then liveness (architecture: what must be provable)."""
    seed, worlds = (os.urandom(8).hex(), EXPLORING) if exploring else ("generated", WORLDS)
    began, events = time.process_time(), 0
    for number in range(worlds):
        events += len(run_plainly(case(tape(seed, number))).trace)
    seconds = time.process_time() - began
    with capsys.disabled():
        print(f"\n{worlds} worlds of {events // worlds} events, {worlds / seconds:.0f} per second")


def run_plainly(case: Case) -> World:
    """Run a case; when a promise is broken, show it in the plainest world that was found."""
    try:
        return run_schedule(case.scenario, case.schedule)
    except PromiseBroken:
        raise shrink(case.scenario, case.schedule) from None
