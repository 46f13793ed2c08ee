"""Thousands of generated worlds: every promise holds after every event, and every run comes to its end.

The worlds are the same in every run; ``--explore`` draws new and many more. What breaks a promise is made as plain as
possible before it is shown: put it into ``tests/core/run/test_found_by_simulation.py`` and repair the rule.
"""

import time

import pytest
from hypothesis import Phase, given, settings
from turnfold.shells.simulate import PromiseBroken, World, run_schedule, shrink

from tests.simulation.worlds import CASES, Case

WORLDS = 2_200
EXPLORING = 40_000


def test_every_promise_holds_in_every_generated_world(exploring: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Safety after every event, then liveness (architecture: what must be provable)."""
    worlds: list[int] = []

    @settings(max_examples=EXPLORING if exploring else WORLDS, phases=[Phase.generate])
    @given(CASES)
    def check(case: Case) -> None:
        worlds.append(len(run_plainly(case).trace))

    began = time.process_time()
    check()
    seconds = time.process_time() - began
    with capsys.disabled():
        print(f"\n{len(worlds)} worlds of {sum(worlds) // len(worlds)} events, {len(worlds) / seconds:.0f} per second")
    assert len(worlds) >= 2_000


def run_plainly(case: Case) -> World:
    """Run a case; when a promise is broken, show it in the plainest world that was found."""
    try:
        return run_schedule(case.scenario, case.schedule)
    except PromiseBroken:
        raise shrink(case.scenario, case.schedule) from None
