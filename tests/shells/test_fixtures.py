"""Every kind of run that was ever recorded folds again to the same effects, byte for byte.

A rule that changes on purpose shows here. Then read the difference, record anew (``fixtures/runs/README.md``), and keep
what a checkpoint of the old kind needs.
"""

from pathlib import Path

import pytest
from turnfold.core.run.moves import MOVES
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.shells.recording import decode_line, lines_of
from turnfold.shells.replay import CutOff, Replayed, replay_file

from tests.shells.record_fixtures import FIXTURES, KINDS, name_of, readme, record

RECORDINGS = sorted(path.stem for path in FIXTURES.glob("*.jsonl"))

# How each of them ends: the delivered text, the kind of failure, or what else there is to say.
ENDINGS: dict[str, str] = {
    "bad-calls": "I tried.",
    "busy": "busy",
    "cancelled": "cancelled",
    "cancelled-from-outside": "cancelled",
    "cancelled-model": "cancelled",
    "claim-not-repeated": "contract_breach",
    "contract-breach": "contract_breach",
    "crash": "cut off",
    "delivered-again": "Hello!",
    "delivered-and-on": "Fine.",
    "empty-output-retried": "Well, well.",
    "empty-twice": "empty_response",
    "failed-and-on": "The answer to two.",
    "feed-failure": "feed",
    "final-iteration": "As far as I came.",
    "half-pairs": "😀 \\\ufffd",
    "input-after-batch": "Stopped.",
    "input-before-batch": "I did not.",
    "journal-failure": "journal",
    "length-stop": "In small pieces, then.",
    "model-failure": "model",
    "no-input": "feed",
    "parallel-batch": "I looked everywhere.",
    "refusal": "refused",
    "refused-call": "journal",
    "resume-after-crash": "So it is.",
    "resume-before-calls": "Never mind it is.",
    "resume-before-outcome": "Hello!",
    "resumed-after-host": "Ann agrees.",
    "sequential-batch": "Both done.",
    "stale-attempt": "stale_attempt",
    "superseded-text": "The answer to two.",
    "superseded-text-discarded": "The answer to two.",
    "suspended": "suspended",
    "text-reply": "Hello! What can I do for you?",
    "tool-error": "It is stuck; here is a picture.",
    "tool-limit": "tool_limit",
    "truncated": "truncated",
    "turn-limit": "turn_limit",
    "unreadable-checkpoint": "checkpoint",
}


def replayed(name: str, folder: Path = FIXTURES) -> tuple[Replayed, bool]:
    """A recording folded again, and whether it was cut off."""
    try:
        return replay_file(folder / f"{name}.jsonl"), False
    except CutOff as error:
        return error.replayed, True


def ending(result: RunResult | None) -> str:
    if result is None:
        return "no end"
    match result.outcome:
        case Delivered(text=text):
            return text
        case Failed(kind=kind):
            return kind.value
        case Suspended():
            return "suspended"
        case _:
            return "busy" if result.busy_until is not None else "nothing"


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_run_folds_again_to_what_it_was(name: str) -> None:
    again, cut_off = replayed(name)
    assert again.difference is None, str(again.difference)
    assert ("cut off" if cut_off else ending(again.result)) == ENDINGS[name]


def test_every_kind_is_recorded_and_explained() -> None:
    assert {name_of(kind) for kind in KINDS} <= set(RECORDINGS) == set(ENDINGS)
    assert (FIXTURES / "README.md").read_text() == readme()


def test_the_recordings_can_be_made_anew(tmp_path: Path) -> None:
    record(tmp_path)
    for kind in KINDS:
        again, cut_off = replayed(name_of(kind), tmp_path)
        assert again.difference is None
        assert ("cut off" if cut_off else ending(again.result)) == ENDINGS[name_of(kind)]


def test_every_kind_of_failure_that_can_happen_is_recorded() -> None:
    """So that a change to any ending shows. Missing are those that need a function of the host, or a later release."""
    later = {FailureKind.BUDGET, FailureKind.DEADLINE, FailureKind.EXTENSION, FailureKind.GUARD_REJECTED}
    assert {kind.value for kind in FailureKind} - set(ENDINGS.values()) == {kind.value for kind in later}


def test_every_event_is_recorded() -> None:
    """Each event of the table of moves happens in some recording."""
    seen: set[str] = set()
    for name in RECORDINGS:
        with (FIXTURES / f"{name}.jsonl").open("rb") as file:
            lines = [line for line in lines_of(file) if line.endswith(b"\n")]
        seen |= {type(decode_line(number, line).event).__name__ for number, line in enumerate(lines[1:], 2)}
    assert seen == {event.__name__ for rows in MOVES.values() for event, _ in rows}
