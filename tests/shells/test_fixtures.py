"""Every kind of run that was ever recorded folds again to the same effects, byte for byte.

A rule that changes on purpose shows here. Then read the difference, record anew (``fixtures/runs/README.md``), and keep
what a checkpoint of the old kind needs.
"""

from pathlib import Path

import pytest
from turnfold.core.run import Rules, rules_for
from turnfold.core.run.moves import MOVES
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind, Suspended
from turnfold.effects.values import replace
from turnfold.shells.recording import decode_header, decode_line, lines_of
from turnfold.shells.replay import CutOff, Replayed, replay_file

from tests.shells.record_fixtures import FIXTURES, KINDS, name_of, readme, record
from tests.shells.recorded_goals import HOSTS

RECORDINGS = sorted(path.stem for path in FIXTURES.glob("*.jsonl"))

# How each of them ends: the delivered text, the value, the kind of failure, or what else there is to say.
ENDINGS: dict[str, str] = {
    "approved-with-edits": "I paid three.",
    "awaited": "suspended",
    "bad-calls": "I tried.",
    "busy": "busy",
    "cancelled": "cancelled",
    "cancelled-from-outside": "cancelled",
    "cancelled-model": "cancelled",
    "cancelled-while-paused": "cancelled",
    "claim-not-repeated": "contract_breach",
    "completion-fixed": '{"v":1}',
    "completion-superseded": '{"v":2}',
    "contract-breach": "contract_breach",
    "correction-and-fallback": '{"because":"corrections_exhausted"}',
    "crash": "cut off",
    "delivered-again": "Hello!",
    "delivered-and-on": "Fine.",
    "detached": "It is under way.",
    "empty-output-retried": "Well, well.",
    "empty-twice": "empty_response",
    "extension": "You are welcome.",
    "extension-failed": "extension",
    "failed-and-on": "The answer to two.",
    "feed-failure": "feed",
    "final-iteration": "As far as I came.",
    "guard-corrects": "Hello!",
    "guard-finishes": '{"ok":false}',
    "guard-rejects": "guard_rejected",
    "half-pairs": "😀 \\\ufffd",
    "input-after-batch": "Stopped.",
    "input-before-batch": "I did not.",
    "journal-failure": "journal",
    "length-stop": "In small pieces, then.",
    "model-failure": "model",
    "model-retried": "Here it is.",
    "model-silent": "Hello!",
    "no-input": "feed",
    "out-of-time": "deadline",
    "out-of-tokens": "budget",
    "parallel-batch": "I looked everywhere.",
    "paused": "suspended",
    "policy-failed": "I could not.",
    "question-cut-off": "cancelled",
    "reconciled": "So it is.",
    "refusal": "refused",
    "refused-call": "journal",
    "refused-submission": "Tomorrow, then.",
    "resume-after-crash": "So it is.",
    "resume-before-calls": "Never mind it is.",
    "resume-before-outcome": "Hello!",
    "resumed-after-host": "Ann agrees.",
    "sequential-batch": "Both done.",
    "settled": "She agrees.",
    "stale-attempt": "stale_attempt",
    "submitted": "It is with accounts.",
    "superseded-text": "The answer to two.",
    "superseded-text-discarded": "The answer to two.",
    "suspended": "suspended",
    "text-reply": "Hello! What can I do for you?",
    "tool-error": "It is stuck; here is a picture.",
    "tool-limit": "tool_limit",
    "tool-timed-out": "They are slow.",
    "truncated": "truncated",
    "turn-limit": "turn_limit",
    "unreadable-checkpoint": "checkpoint",
}


def replayed(name: str, folder: Path = FIXTURES) -> tuple[Replayed, bool]:
    """A recording folded again, and whether it was cut off."""
    path = folder / f"{name}.jsonl"
    try:
        return replay_file(path, rules_of(path)), False
    except CutOff as error:
        return error.replayed, True


def rules_of(path: Path) -> Rules | None:
    """The set-up of a recording that was made with functions of a host's; nothing for one that holds all it needs."""
    host = HOSTS.get(path.stem)
    if host is None:
        return None
    with path.open("rb") as file:
        rules = decode_header(next(lines_of(file))).rules
    functions = replace(rules.functions, fallback=host.fallback)
    return rules_for(rules.spec, rules.words, functions, host.extensions)


def ending(result: RunResult | None) -> str:
    if result is None:
        return "no end"
    match result.outcome:
        case Delivered(text=text):
            return text
        case Completed(completion=completion):
            return completion.value
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


def test_every_kind_of_failure_is_recorded() -> None:
    """So that a change to any ending shows."""
    assert {kind.value for kind in FailureKind} <= set(ENDINGS.values())


def test_every_event_is_recorded() -> None:
    """Each event of the table of moves happens in some recording."""
    seen: set[str] = set()
    for name in RECORDINGS:
        with (FIXTURES / f"{name}.jsonl").open("rb") as file:
            lines = [line for line in lines_of(file) if line.endswith(b"\n")]
        seen |= {type(decode_line(number, line).event).__name__ for number, line in enumerate(lines[1:], 2)}
    assert seen == {event.__name__ for rows in MOVES.values() for event, _ in rows}
