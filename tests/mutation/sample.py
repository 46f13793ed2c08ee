"""A small sample of the simulation, in portions: a mutant is told apart by the first that breaks a promise."""

import pytest
from hypothesis import Phase, given, seed, settings
from turnfold.shells.simulate import run_schedule

from tests.simulation.worlds import CASES, Case

PORTIONS = 12
WORLDS = 12


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_every_promise_holds_in_some_generated_worlds(portion: int) -> None:
    @seed(portion)
    @settings(max_examples=WORLDS, phases=[Phase.generate], derandomize=False)
    @given(CASES)
    def check(case: Case) -> None:
        run_schedule(case.scenario, case.schedule)

    check()
