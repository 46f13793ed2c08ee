"""A run before anything has happened: nothing is wanted, nothing is in flight, nothing has been counted."""

from typing import Any

import attrs
import pytest
from turnfold.core.run import RunState
from turnfold.core.run import phases as all_phases
from turnfold.core.run.moves import Move
from turnfold.core.run.state import Batch, LiveCall, LogTail, StreamedBlock
from turnfold.effects.outcome import Delivered
from turnfold.effects.record import Block, BlockKind, ToolCall

REGIONS = [attribute.name for attribute in attrs.fields(RunState) if attribute.name != "notices"]
PLAIN = (bool, int, str, bytes, tuple, dict, type(None))


def plain(value: Any) -> dict[str, Any]:
    """The plain fields of a value."""
    fields = {attribute.name: getattr(value, attribute.name) for attribute in attrs.fields(type(value))}
    return {name: held for name, held in fields.items() if isinstance(held, PLAIN)}


@pytest.mark.parametrize("region", REGIONS)
def test_a_region_begins_with_nothing(region: str) -> None:
    assert not any(plain(getattr(RunState(), region)).values())
    assert RunState().notices == ()


def test_parts_of_regions_begin_with_nothing() -> None:
    assert not any({**plain(LogTail()), **plain(Batch())}.values())
    streamed = StreamedBlock(BlockKind.CONTENT)
    assert (streamed.block, streamed.name) == (None, "")
    live = LiveCall(ToolCall("c", "queued"), 3, Block("b", 1, "m", BlockKind.TOOL_CALL))
    assert (live.writing, live.saved_rev, live.phase) == (None, 0, all_phases.CallQueued())
    assert not Move("does", lambda state, event, rules, subject: state).tolerated


@pytest.mark.parametrize(
    ("phase", "given"),
    [
        (all_phases.Beginning(), ()),
        (all_phases.Recovering(), ()),
        (all_phases.BetweenTurns(), ()),
        (all_phases.Looping(), ()),
        (all_phases.BetweenIterations(7), ("mark",)),
        (all_phases.Concluding("text", 7), ("text", "mark")),
        (all_phases.Reviewing("text", True), ("text", "superseded")),
        (all_phases.Rerunning((), 7), ("entering", "mark")),
        (all_phases.CallAsking(), ()),
        (all_phases.CallReconciling(), ()),
        (all_phases.CallRunning(), ()),
        (all_phases.Unwatched(), ()),
    ],
)
def test_a_phase_begins_with_what_it_is_given_and_nothing_else(phase: Any, given: tuple[str, ...]) -> None:
    assert not any(held for name, held in plain(phase).items() if name not in given)


def test_a_run_that_closes_saves_its_outcome_unless_it_cannot() -> None:
    closing = all_phases.Closing(Delivered("text", 1))
    assert (closing.save, closing.writable, closing.mark) == (True, True, None)
    assert (closing.giving_back, closing.given_back, closing.guard) == (False, False, None)
