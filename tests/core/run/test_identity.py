"""Ids look like UUIDs of version 7, and nobody ever mints one twice; tickets count, and are given up once."""

import uuid

from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.run import RunState
from turnfold.core.run.identity import Desk, mint
from turnfold.core.run.state import Clock, Tickets
from turnfold.effects.journal import SaveCall, SaveStep
from turnfold.effects.values import replace

NOW = 1_700_000_000_000
IDS = [
    "018bcfe5-6800-73ad-93c6-6d623052bbd1",
    "018bcfe5-6800-748f-9881-0c0157574776",
    "018bcfe5-6800-7f92-8b39-17b7d65fe4fa",
    "018bcfe5-6800-75de-bab8-16c51d530f20",
    "018bcfe5-6800-72d0-9334-57b8064ab578",
    "018bcfe5-6800-7578-ac6a-6c2ef8a6f2e8",
]


def state(seed: bytes = b"seed", now: int = NOW) -> RunState:
    return replace(RunState(), tickets=Tickets(seed=seed), clock=Clock(now=now))


def minted(start: RunState, count: int) -> list[str]:
    found: list[str] = []
    for _ in range(count):
        start, text = mint(start)
        found.append(text)
    return found


@given(st.binary(max_size=32), st.integers(0, 2**48 - 1))
def test_an_id_has_the_shape_of_its_kind(seed: bytes, now: int) -> None:
    _, text = mint(state(seed, now))
    found = uuid.UUID(text)
    assert str(found) == text
    assert (found.version, found.variant) == (7, uuid.RFC_4122)
    assert found.int >> 80 == now


@given(st.sets(st.binary(max_size=4), min_size=2, max_size=4))
def test_ids_of_all_executions_differ(seeds: set[bytes]) -> None:
    found = [text for seed in sorted(seeds) for text in minted(state(seed), 50)]
    assert len(set(found)) == len(found)


def test_later_ids_sort_after_earlier_ones() -> None:
    earlier, later = minted(state(now=NOW), 20), minted(state(now=NOW + 1), 20)
    assert max(earlier) < min(later)


@given(st.binary(max_size=8), st.integers(0, 2**48 - 1))
def test_the_same_seed_at_the_same_time_gives_the_same_ids(seed: bytes, now: int) -> None:
    """Rule 3 of the fold"""
    assert minted(state(seed, now), 3) == minted(state(seed, now), 3)
    assert len(set(minted(state(seed, now), 3))) == 3


def test_a_ticket_is_in_flight_once_its_desk_is_closed() -> None:
    start = state()
    desk = Desk(start.tickets)
    tickets = [desk.issue(SaveStep), desk.issue(SaveCall, "record")]
    after = desk.close(start)
    assert tickets == [1, 2]
    assert after.tickets.in_flight == {1: (SaveStep, ""), 2: (SaveCall, "record")}
    assert start.tickets.in_flight == {}
    assert Desk(after.tickets).issue(SaveStep) == 3
    assert Desk(after.tickets).close(after) is after


def test_an_id_is_made_to_the_letter_as_it_always_was() -> None:
    """Recorded runs fold again to the same ids."""
    assert minted(state(), 6) == IDS
