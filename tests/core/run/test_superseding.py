"""Newer input in the place of what was ready: what is stored of that, block by block, and what the model sees."""

import pytest
from turnfold.core.run import RunSpec
from turnfold.core.text import ENGLISH
from turnfold.effects.display import RemoveBlocks
from turnfold.effects.feed import FeedPolled, FeedWatched, InputMessage, InputSignalled, PollFeed, WatchFeed
from turnfold.effects.journal import SaveStep, Step, StepSaved
from turnfold.effects.lifecycle import Publish
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    Delta,
    DeltaKind,
    StreamFailed,
    StreamFinished,
)
from turnfold.effects.outcome import Completed, Delivered
from turnfold.effects.record import Standing
from turnfold.effects.tool import Complete, RunTool, ToolControlled, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import (
    ErrorKind,
    ModelError,
    StopReason,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    text_of,
)

from tests.core.run.byhand import ByHand, calls, text
from tests.core.run.resumed import left_by, resumed

SPEC = RunSpec("run", tools=(ToolSpec(ToolDeclaration("look")), ToolSpec(ToolDeclaration("finish"), completion=True)))


def steps(run: ByHand) -> list[Step]:
    return [effect.step for effect in run.asked if isinstance(effect, SaveStep)]


def overtaken(*output: Delta) -> ByHand:
    """A run whose model said this, and that knows of newer input before any call of it could start."""
    run = ByHand(SPEC).start()
    watch = run.until(WatchFeed).ticket
    run.tell(FeedWatched(run.now, watch))
    run.say(*output)
    run.messages.append(InputMessage("wait", "m2"))
    run.tell(InputSignalled(run.now, watch))
    run.tell(FeedPolled(run.now, run.take(PollFeed).ticket, 2))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    return run


def heard(run: ByHand) -> list[object]:
    messages = run.until(CallModel).request.messages
    return [one.content if isinstance(one, UserMessage | ToolResultMessage) else text_of(one) for one in messages]


def mixed(name: str) -> tuple[Delta, ...]:
    """A call between two texts."""
    return (
        BlockStarted(0, DeltaKind.TEXT),
        BlockDelta(0, "first"),
        BlockStarted(1, DeltaKind.CALL, "a", name),
        BlockDelta(1, "{}"),
        BlockStarted(2, DeltaKind.TEXT),
        BlockDelta(2, "last"),
        StreamFinished(StopReason.TOOL_USE),
    )


def removals(run: ByHand) -> list[RemoveBlocks]:
    published = (one for effect in run.asked if isinstance(effect, Publish) for one in effect.operations)
    return [one for one in published if isinstance(one, RemoveBlocks)]


def test_viewers_are_told_whether_an_answer_was_withdrawn_or_newer_input_came_first() -> None:
    assert [one.withdrawn for one in removals(overtaken(*mixed("look")))] == [False]
    run = ByHand(SPEC).start()
    failure = StreamFailed(ModelError(ErrorKind.NETWORK, "gone"))
    run.say(*mixed("look")[:4], failure, batches=[4])
    assert [one.withdrawn for one in removals(run)] == [True]


def test_calls_that_had_not_started_are_dropped_and_the_model_is_told() -> None:
    """RT-20"""
    run = overtaken(*mixed("look"))
    first = steps(run)[0].changes
    texts = [block for block in first.blocks if block.text]
    (call,) = [block for block in first.blocks if block.call_id]
    assert heard(run)[1:] == ["firstlast", ENGLISH.cancelled.format(name="look", call_id="a"), "wait"]
    run.orders.append(_again(run))
    run.say(*text("done"))
    run.to_the_end()
    changes = steps(run)[1].changes
    assert changes.removed_blocks == (call.id,)
    assert changes.removed_calls == (call.call_id,)
    assert changes.calls == ()
    kept = left_by(run).blocks
    assert [(block.id, block.position, block.text) for block in kept][:2] == [
        (texts[0].id, 1, "first"),
        (texts[1].id, 2, "last"),
    ]
    assert not any(isinstance(effect, RunTool) for effect in run.asked)


def _again(run: ByHand) -> CallModel:
    return next(effect for effect in reversed(run.asked) if isinstance(effect, CallModel))


def test_an_output_that_would_only_have_ended_the_run_is_forgotten() -> None:
    """RT-20 for a completion: no trace of it in the context, nor of its call in the record."""
    run = overtaken(*mixed("finish"))
    (call,) = [block for block in steps(run)[0].changes.blocks if block.call_id]
    assert heard(run) == ["hi", "wait"]
    run.orders.append(_again(run))
    run.say(*text("done"))
    assert run.to_the_end().outcome == Delivered("done", 2)
    left = left_by(run)
    assert call.id not in {block.id for block in left.blocks}
    assert left.calls == ()
    assert [view.id for view in run.snapshot.blocks] == [block.id for block in left.blocks]
    kinds = [entry.split(b'"')[1] for entry in left.logs["main"]]
    assert kinds == [b"input", b"superseded", b"input", b"output"]


def test_a_call_that_has_started_is_not_dropped() -> None:
    """RT-20"""
    run = ByHand(SPEC).start()
    watch = run.until(WatchFeed).ticket
    run.tell(FeedWatched(run.now, watch))
    run.say(*calls("look"))
    tool = run.until(RunTool)
    run.messages.append(InputMessage("wait", "m2"))
    run.tell(InputSignalled(run.now, watch))
    run.tell(FeedPolled(run.now, run.take(PollFeed).ticket, 2))
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("seen")))
    assert heard(run) == ["hi", "", "seen", "wait"]


def test_two_dropped_calls_leave_no_gap() -> None:
    run = overtaken(*calls("look", "look", "look"))
    run.say(*text("done"))
    run.to_the_end()
    left = left_by(run)
    changes = steps(run)[1].changes
    assert changes.removed_blocks == tuple(sorted(block.id for block in steps(run)[0].changes.blocks))
    assert changes.removed_calls == tuple(sorted(record.id for record in steps(run)[0].changes.calls))
    assert [block.position for block in left.blocks] == list(range(1, len(left.blocks) + 1))
    assert left.calls == ()
    assert not any(block.call_id for block in left.blocks)


def test_a_value_that_is_not_fixed_gives_way_and_leaves_no_trace_for_the_model() -> None:
    """RT-23"""
    run = ByHand(SPEC).start()
    run.say(*calls("finish"))
    run.tell(ToolControlled(run.now, run.until(RunTool).ticket, Complete(1)))
    run.messages.append(InputMessage("wait", "m2"))
    assert heard(run) == ["hi", "wait"]
    run.orders.append(_again(run))
    run.say(*text("done"))
    result = run.to_the_end()
    assert result.outcome == Delivered("done", 2)
    assert [record.status for record in result.calls] == ["succeeded"]
    assert steps(run)[-1].completion is None


@pytest.mark.parametrize("discard", [False, True])
def test_a_text_that_gives_way_is_kept_on_record(discard: bool) -> None:
    """N-07 and decision 2"""
    run = ByHand(RunSpec("run", discard_undelivered=discard)).start()
    run.say(*text("almost"))
    run.messages.append(InputMessage("wait", "m2"))
    assert heard(run) == (["hi", "wait"] if discard else ["hi", "almost", "wait"])
    run.orders.append(_again(run))
    run.say(*text("done"))
    run.to_the_end()
    blocks = left_by(run).blocks
    assert [(block.text, block.standing) for block in blocks if block.text == "almost"] == [
        ("almost", Standing.SUPERSEDED)
    ]
    kinds = [entry.split(b'"')[1] for entry in left_by(run).logs["main"]]
    first = [b"input"] if discard else [b"input", b"output"]
    assert kinds == [*first, b"superseded", b"input", b"output"]


def test_nothing_said_gives_way_without_a_word() -> None:
    run = ByHand(SPEC).start()
    run.say(StreamFinished())
    run.say(StreamFinished())
    run.messages.append(InputMessage("wait", "m2"))
    assert heard(run) == ["hi", "wait"]
    run.orders.append(_again(run))
    run.say(*text("done"))
    run.to_the_end()
    kinds = [entry.split(b'"')[1] for entry in left_by(run).logs["main"]]
    assert kinds == [b"input", b"input", b"output"]
    assert [block.text for block in left_by(run).blocks if block.standing] == []


def test_a_value_that_was_delivered_gives_way_to_newer_input_later() -> None:
    first = ByHand(SPEC).start()
    first.say(*calls("finish"))
    first.tell(ToolControlled(first.now, first.until(RunTool).ticket, Complete(1)))
    assert isinstance(first.to_the_end().outcome, Completed)
    first.messages.append(InputMessage("and now", "m2"))
    run = resumed(first)
    assert heard(run) == ["hi", "and now"]
    assert steps(run) == []


def test_all_blocks_behind_a_dropped_call_move_up_in_their_order() -> None:
    thought = (BlockStarted(2, DeltaKind.THINKING), BlockDelta(2, "hm"), BlockStarted(3, DeltaKind.TEXT))
    run = overtaken(*mixed("look")[:4], *thought, BlockDelta(3, "last"), StreamFinished(StopReason.TOOL_USE))
    run.say(*text("done"))
    run.to_the_end()
    told = [(block.position, block.text) for block in left_by(run).blocks]
    assert told == [(1, "first"), (2, "hm"), (3, "last")]
