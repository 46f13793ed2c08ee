"""The same seed and the same schedule give the same bytes: events, effects, ids and all."""

import os
import subprocess
import sys

from hypothesis import given, settings
from turnfold.effects.question import CallPolicy, Confirm, PolicyGiven
from turnfold.shells.simulate import Scenario, World, run_schedule, step
from turnfold.shells.simulate.trace import Trace

from tests.simulation.demo import DEMO, troubled
from tests.simulation.worlds import CASES, Case, case

PROGRAM = """
from tests.simulation.test_determinism import digests
print(digests())
"""


def digests(count: int = 12) -> str:
    """The digests of some worlds in which much happens."""
    tapes = [bytes((7 * n + 31 * place * place) % 256 for place in range(200)) for n in range(count)]
    cases = [case(tape) for tape in tapes]
    return " ".join(run_schedule(one.scenario, one.schedule).trace.digest() for one in cases)


@settings(max_examples=40)
@given(CASES)
def test_a_world_has_one_history(one: Case) -> None:
    """Nothing but the scenario and the schedule decides what happens."""
    first, second = (run_schedule(one.scenario, one.schedule) for _ in range(2))
    assert first.trace.digest() == second.trace.digest()
    assert str(first.trace) == str(second.trace)


def test_the_hash_seed_decides_nothing() -> None:
    """Another order of sets and of hashes gives the same bytes."""
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {digests() + "\n"}


def test_a_schedule_of_names_is_the_schedule_of_numbers_it_stands_for() -> None:
    """What a world notes down as numbers leads to the same world as the names it notes beside them."""
    scenario: Scenario = troubled(DEMO)
    told = World(scenario)
    for name in ("", "", "", "a rival takes over", "", "sends 1 of CallModel", "", "dies", "", "", "input arrives"):
        step(told, name)
    again = World(scenario)
    for number in told.schedule:
        step(again, number)
    assert again.names == told.names
    assert again.trace.digest() == told.trace.digest()
    assert "dies" in told.names


def test_a_payload_that_json_cannot_hold_has_a_digest_too() -> None:
    trace = Trace()
    trace.add(1, PolicyGiven(1, 2, CallPolicy(confirm=Confirm(1j))))
    assert trace.digest() == trace.digest()
