"""What viewers are shown while an answer streams in is, at its end, what the record keeps."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.run import Ended
from turnfold.effects.display import AppendCandidate, AppendText, ClearCandidate, RemoveBlocks, UpsertBlock
from turnfold.effects.lifecycle import Publish
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallModel,
    Delta,
    DeltaKind,
    ModelStreamed,
    StreamFailed,
    StreamFinished,
)
from turnfold.effects.outcome import Delivered, Failed
from turnfold.effects.record import BlockKind, Standing
from turnfold.effects.transcript import ErrorKind, ModelError, StopReason

from tests.core.run.byhand import ByHand, calls, text
from tests.strategies import WILD_TEXTS

PIECES: st.SearchStrategy[Delta] = st.one_of(
    st.builds(
        BlockStarted, st.integers(0, 3), st.sampled_from(DeltaKind), st.just("id"), st.sampled_from(["", "echo"])
    ),
    st.builds(BlockDelta, st.integers(0, 3), WILD_TEXTS),
    st.builds(BlockEnded, st.integers(0, 3), st.none() | st.just("signed")),
)
TERMINALS: st.SearchStrategy[Delta] = st.builds(StreamFinished, st.sampled_from([StopReason.STOP, StopReason.TOOL_USE]))
FAILURE = StreamFailed(ModelError(ErrorKind.UNAUTHORIZED, "who are you?"))


def shown(run: ByHand) -> list[tuple[str, int, str, str]]:
    return [(view.id, view.position, view.kind, view.text) for view in run.snapshot.blocks]


def kept(run: ByHand) -> list[tuple[str, int, str, str]]:
    return [(block.id, block.position, block.kind, block.text) for block in run.state.process.blocks]


@given(st.data())
def test_a_viewer_ends_up_with_what_is_recorded(data: st.DataObject) -> None:
    """Whatever a provider streams, in whatever batches, halves of surrogate pairs included (decision 45)."""
    pieces = data.draw(st.lists(PIECES, max_size=12))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(pieces)), max_size=4)))
    terminal = data.draw(st.one_of(TERMINALS, st.just(FAILURE)))
    run = ByHand().start()
    run.say(*pieces, terminal, batches=cuts)
    assert shown(run) == kept(run)
    while not isinstance(run.state.life, Ended):
        if run.waits_for(CallModel):
            run.say(*text("so"))
        run.answer_one()
    assert shown(run) == kept(run)
    assert run.snapshot.candidate.strip() == run.state.life.result.text
    "".join(block.text for block in run.state.process.blocks).encode()


def streamed(*batches: tuple[Delta, ...]) -> tuple[ByHand, list[tuple[Any, ...]]]:
    """A run whose model said these batches, and what was published with each."""
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    published = []
    for batch in batches:
        effects = run.tell(ModelStreamed(run.now, ticket, batch))
        published.append(tuple(op for effect in effects if isinstance(effect, Publish) for op in effect.operations))
    return run, published


def test_text_is_the_candidate_until_a_call_follows() -> None:
    """What streams in and what stands in the end have the same ids."""
    run, published = streamed(
        (BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "let me ")),
        (BlockDelta(0, "see"),),
        (BlockStarted(1, DeltaKind.CALL, "a", "echo"),),
        (BlockDelta(1, "{}"),),
    )
    assert published[:2] == [(AppendCandidate("let me "),), (AppendCandidate("see"),)]
    clear, content, tool = published[2]
    assert clear == ClearCandidate()
    assert (content.block.kind, content.block.text) == (BlockKind.CONTENT, "let me see")
    assert (tool.block.kind, tool.block.call.name, tool.block.call.status) == (BlockKind.TOOL_CALL, "echo", "queued")
    assert published[3] == ()
    assert run.snapshot.candidate == ""


def test_a_call_may_learn_its_name_late() -> None:
    _, published = streamed(
        (BlockStarted(0, DeltaKind.CALL, "a"),), (BlockStarted(0, DeltaKind.CALL, "", "echo"),), (BlockDelta(0, "{"),)
    )
    assert [operation.block.call.name for operation in (*published[0], *published[1])] == ["", "echo"]
    assert published[0][0].block.id == published[1][0].block.id
    assert published[2] == ()


def test_thinking_is_a_block_from_its_first_word_and_grows() -> None:
    run, published = streamed(
        (BlockStarted(0, DeltaKind.THINKING),), (BlockDelta(0, "hm"),), (BlockDelta(0, ", hm"), *text("so")[-1:])
    )
    assert published[0] == ()
    (first,) = published[1]
    assert isinstance(first, UpsertBlock)
    assert published[2][0] == AppendText(first.block.id, ", hm")
    assert run.snapshot.blocks == ()  # it said nothing, and is asked once more


def test_ids_that_were_shown_are_kept_where_the_kinds_agree() -> None:
    run, published = streamed(calls("echo", "echo")[:-1], calls()[-1:])
    ids = [operation.block.id for operation in published[0]]
    assert [block.id for block in run.state.process.blocks] == ids
    assert published[1] == ()


def test_blocks_that_turn_out_otherwise_are_taken_back() -> None:
    """A thought that comes after a text that had to become a block stands where the model wrote it."""
    run, published = streamed(
        (BlockStarted(1, DeltaKind.TEXT), BlockStarted(2, DeltaKind.CALL, "a", "echo")),
        (BlockDelta(1, "late"),),
        calls()[-1:],
    )
    removed = [operation for operation in published[2] if isinstance(operation, RemoveBlocks)]
    assert [one.withdrawn for one in removed] == [True]
    assert [block.kind for block in run.state.process.blocks] == [BlockKind.CONTENT, BlockKind.TOOL_CALL]
    assert shown(run) == kept(run)


def test_an_answer_that_is_asked_for_again_is_withdrawn() -> None:
    run, _ = streamed((BlockStarted(0, DeltaKind.THINKING), BlockDelta(0, "hm")))
    assert len(run.snapshot.blocks) == 1
    run.tell(ModelStreamed(run.now, run.state.model.ticket or 0, (StreamFinished(),)))
    assert run.snapshot.blocks == ()
    run.say(*text("so"))
    assert run.to_the_end().outcome == Delivered("so", boundary=1)


def test_what_breaks_off_is_one_more_block_with_that_standing() -> None:
    """decision 2"""
    run, _ = streamed((BlockStarted(0, DeltaKind.THINKING), BlockDelta(0, "hm"), *text("half")[1:-1]), (FAILURE,))
    assert isinstance(run.to_the_end().outcome, Failed)
    assert shown(run) == kept(run)
    assert len(run.state.process.blocks) == 0
    run, _ = streamed(text("half a sen")[:-1], (FAILURE,))
    (block,) = run.to_the_end().blocks
    assert (block.text, block.standing, block.position) == ("half a sen", Standing.BROKEN_OFF, 1)
    assert shown(run) == kept(run)
