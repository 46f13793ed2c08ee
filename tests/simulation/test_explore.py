"""Exploring from the command line: every world once, the same whoever runs it, and a broken promise told."""

import pytest
from turnfold.core.run import review

from tests.simulation.explore import explore, jobs, main, tape

A_GUARD_FORGETS = "what the guard notes on a record stays there"


def test_every_world_is_explored_once() -> None:
    numbers = [number for _, first, end in jobs("seed", 1_001) for number in range(first, end)]
    assert numbers == list(range(1_001))


def test_a_world_is_known_by_its_seed_and_its_number() -> None:
    assert tape("a", 1) == tape("a", 1)
    assert len({tape("a", 1), tape("a", 2), tape("b", 1)}) == 3


def test_a_broken_promise_is_told_with_its_world(monkeypatch: pytest.MonkeyPatch) -> None:
    assert explore(("turnfold", 0, 60))[1] == ""
    monkeypatch.setattr(review, "_annotate", lambda state, verdict: state)
    _, story = explore(("turnfold", 0, 60))
    assert story.startswith("world ")
    assert A_GUARD_FORGETS in story


def test_what_was_explored_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["20"]) == 0
    assert capsys.readouterr().out.startswith("20 worlds of ")
