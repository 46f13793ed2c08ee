"""The live display, operation by operation: nothing twice, nothing lost, and lines that change only where they can."""

import io

from turnfold.effects.clock import Woke
from turnfold.effects.display import (
    AppendCandidate,
    AppendText,
    BlockView,
    CallView,
    ClearCandidate,
    DisplayDelta,
    Operation,
    RemoveBlocks,
    SetPlan,
    UpsertBlock,
)
from turnfold.effects.journal import Resume
from turnfold.effects.lifecycle import Publish
from turnfold.effects.model import (
    BlockDelta,
    CallModel,
    CancelModel,
    ModelRequest,
    ModelStreamed,
    StreamFailed,
)
from turnfold.effects.record import Block, BlockKind, CallStatus, PlanStatus, PlanTask, Standing, ToolCall
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import ErrorKind, ModelError
from turnfold.shells.cli.render import LiveView, known_blocks
from turnfold.shells.cli.screen import Screen
from turnfold.shells.cli.style import PLAIN, Style

MOVES = Style(moves=True)


def text_block(block_id: str, text: str, kind: BlockKind = BlockKind.CONTENT, **more: Standing) -> UpsertBlock:
    return UpsertBlock(BlockView(block_id, 1, "m", kind, text, **more))


def call_block(block_id: str, status: CallStatus, name: str = "look") -> UpsertBlock:
    times = {} if status in (CallStatus.QUEUED, CallStatus.RUNNING) else {"started_at": 0, "completed_at": 1200}
    call = CallView(f"c-{block_id}", name, status, **times)
    return UpsertBlock(BlockView(block_id, 1, "m", BlockKind.TOOL_CALL, call=call))


def shown(*executions: tuple[Operation, ...], style: Style = PLAIN, answers: bool = True, known: object = None) -> str:
    stream = io.StringIO()
    view = LiveView(Screen(stream, style), known, answers=answers)  # type: ignore[arg-type]
    for operations in executions:
        for place, operation in enumerate(operations):
            view.show(DisplayDelta("s", place, place + 1, (operation,)))
        view.ended()
    return stream.getvalue()


def test_an_answer_is_one_text_however_it_arrives() -> None:
    assert shown((AppendCandidate("\n One"), AppendCandidate(" two"), AppendCandidate("\n"))) == "One two\n"


def test_an_answer_that_becomes_a_block_is_not_told_again() -> None:
    operations = (
        AppendCandidate("I look."),
        ClearCandidate(),
        text_block("b1", "I look."),
        call_block("b2", CallStatus.QUEUED),
        text_block("b1", "I look."),
        call_block("b2", CallStatus.RUNNING),
        call_block("b2", CallStatus.SUCCEEDED),
        AppendCandidate("Found."),
    )
    assert shown(operations) == "I look.\n  → look …\n  ✓ look 1.2 s\nFound.\n"


def test_an_answer_may_become_several_blocks_or_a_longer_one() -> None:
    operations = (AppendCandidate("One. Two."), ClearCandidate(), text_block("b1", "One. "), text_block("b2", "Two."))
    assert shown(operations) == "One. Two.\n"
    assert shown((AppendCandidate("One."), ClearCandidate(), text_block("b1", "One. Two."))) == "One.\n Two.\n"


def test_an_answer_put_together_anew_is_not_told_again() -> None:
    operations = (AppendCandidate("One"), ClearCandidate(), AppendCandidate("One two"))
    assert shown(operations) == "One two\n"


def test_another_answer_says_that_the_first_was_taken_back() -> None:
    operations = (AppendCandidate("One"), ClearCandidate(), AppendCandidate("Two"))
    assert shown(operations) == "One\n  (taken back; once more:)\nTwo\n"


def test_undelivered_text_says_what_became_of_it() -> None:
    broken = (AppendCandidate("Once up"), ClearCandidate(), text_block("b", "Once up", standing=Standing.BROKEN_OFF))
    assert shown(broken) == "Once up\n  (broken off here)\n"
    late = (AppendCandidate("A."), ClearCandidate(), text_block("b", "A.", standing=Standing.SUPERSEDED))
    assert shown(late) == "A.\n  (not delivered: a newer message came first)\n"


def test_without_answers_only_the_rest_is_shown() -> None:
    operations = (AppendCandidate("I look."), ClearCandidate(), text_block("b1", "I look."), AppendCandidate("Found."))
    assert shown(operations, answers=False) == "I look.\n"


def test_reasoning_grows_and_is_left_out_where_it_cannot_be_told_apart() -> None:
    operations = (
        text_block("t", "Hm", BlockKind.THINKING),
        AppendText("t", ", yes."),
        AppendCandidate("Yes."),
    )
    assert shown(operations, style=Style(colours=True, moves=True)) == "\x1b[2mHm\x1b[0m\x1b[2m, yes.\x1b[0m\nYes.\n"
    assert shown(operations, style=MOVES) == "(thinking) Hm, yes.\nYes.\n"
    assert shown(operations) == "Yes.\n"


def test_a_call_is_written_over_only_while_it_is_the_last_line() -> None:
    alone = (call_block("a", CallStatus.RUNNING), call_block("a", CallStatus.FAILED))
    assert shown(alone, style=MOVES) == "  → look …\r\x1b[2K  ✗ look failed 1.2 s\n"
    two = (
        call_block("a", CallStatus.RUNNING, "first"),
        call_block("b", CallStatus.RUNNING, "second"),
        call_block("a", CallStatus.INTERRUPTED, "first"),
        call_block("b", CallStatus.NEEDS_REVIEW, "second"),
    )
    assert shown(two, style=MOVES) == ("  → first …\n  → second …\n  · first interrupted\n  ! second needs review\n")


def test_what_was_there_before_is_not_told_anew_but_how_it_ended_is() -> None:
    calls = (ToolCall("c-a", CallStatus.RUNNING), ToolCall("c-b", CallStatus.SUCCEEDED))
    blocks = (
        Block("t", 1, "m", BlockKind.CONTENT, "I look."),
        Block("a", 2, "m", BlockKind.TOOL_CALL, call_id="c-a"),
        Block("b", 3, "m", BlockKind.TOOL_CALL, call_id="c-b"),
    )
    known = known_blocks(Resume(blocks=blocks, calls=calls))
    restored = (
        text_block("t", "I look."),
        call_block("a", CallStatus.RUNNING),
        call_block("b", CallStatus.SUCCEEDED),
        call_block("a", CallStatus.INTERRUPTED),
    )
    assert shown(restored, known=known) == "  · look interrupted\n"
    assert known_blocks(None) == {}


def test_a_second_execution_does_not_repeat_the_first() -> None:
    first = (AppendCandidate("A"), ClearCandidate(), text_block("b", "A", standing=Standing.BROKEN_OFF))
    second = (text_block("b", "A", standing=Standing.BROKEN_OFF), AppendCandidate("B"))
    assert shown(first, second) == "A\n  (broken off here)\nB\n"


def asked_again(*failures: ErrorKind, calls: int = 9, style: Style = PLAIN, text: str = "") -> str:
    """What is shown of attempts that fail so and the one after them; the first ``calls`` show a call before that."""
    stream = io.StringIO()
    view = LiveView(Screen(stream, style))
    view.show(DisplayDelta("s", 0, 1, (AppendCandidate(text),)))
    view.follow(Woke(0), (CallModel(1, ModelRequest("m", Seq())),))
    for place, kind in enumerate(failures):
        shown = call_block(f"b{place}", CallStatus.QUEUED)
        if place < calls:
            view.follow(ModelStreamed(0, 1, (BlockDelta(0, "x"),)), (Publish((shown,)),))
            view.show(DisplayDelta("s", place, place + 1, (shown,)))
        gone = RemoveBlocks((shown.block.id,), withdrawn=True)
        failed = ModelStreamed(0, 1, (StreamFailed(ModelError(kind, "broken")),))
        view.follow(failed, (Publish((gone,)),) if place < calls else ())
        view.show(DisplayDelta("s", place, place + 1, (gone,)))
        view.follow(Woke(0), (CallModel(1, ModelRequest("m", Seq())),))
    return stream.getvalue()


def test_an_answer_that_broke_off_was_not_superseded() -> None:
    """Its calls are gone, as those that a newer message came before are; the operation tells one from the other."""
    assert asked_again(ErrorKind.NETWORK) == "  (the answer broke off; asked again)\n"
    assert asked_again(ErrorKind.NETWORK, ErrorKind.PROTOCOL) == "  (the answer broke off; asked again)\n" * 2
    assert asked_again(ErrorKind.NETWORK, ErrorKind.RATE_LIMITED, calls=1) == "  (the answer broke off; asked again)\n"


def test_calls_that_an_answer_put_together_anew_lost_are_not_told() -> None:
    stream = io.StringIO()
    view = LiveView(Screen(stream, PLAIN))
    gone = RemoveBlocks(("a",), withdrawn=True)
    operations = (call_block("a", CallStatus.QUEUED), gone, call_block("b", CallStatus.RUNNING))
    view.show(DisplayDelta("s", 0, 1, operations))
    assert stream.getvalue() == "  → look …\n"


def test_calls_of_a_complete_answer_are_dropped_for_a_newer_message() -> None:
    stream = io.StringIO()
    view = LiveView(Screen(stream, PLAIN))
    view.show(DisplayDelta("s", 0, 1, (call_block("a", CallStatus.QUEUED), RemoveBlocks(("a",)))))
    assert stream.getvalue() == "  (calls that had not started were dropped: a newer message came first)\n"


def test_a_terminal_shows_why_nothing_happens_but_not_amid_a_text() -> None:
    limited = "  rate limited …\r\x1b[2K  rate limited; asked again …"
    assert asked_again(ErrorKind.RATE_LIMITED, calls=0, style=MOVES) == limited
    assert asked_again(ErrorKind.UNAUTHORIZED, calls=0, style=MOVES) == ""
    assert asked_again(ErrorKind.RATE_LIMITED, calls=0, style=MOVES, text="Once") == "Once"


def test_a_model_that_was_not_waited_for_is_said() -> None:
    stream = io.StringIO()
    view = LiveView(Screen(stream, MOVES))
    view.follow(Woke(0), (CallModel(1, ModelRequest("m", Seq())),))
    view.follow(Woke(1), (CancelModel(1),))
    assert stream.getvalue() == "  no answer in time …"


def test_dropped_calls_and_plans_are_told() -> None:
    operations = (
        call_block("a", CallStatus.QUEUED),
        RemoveBlocks(("a",)),
        SetPlan((PlanTask("1", "Tidy\x1b[2J up", PlanStatus.IN_PROGRESS), PlanTask("2", "Rest"))),
    )
    assert shown(operations) == (
        "  (calls that had not started were dropped: a newer message came first)\n  [>] Tidy[2J up\n  [ ] Rest\n"
    )


def test_a_hint_stands_only_until_something_else_does() -> None:
    stream = io.StringIO()
    screen = Screen(stream, MOVES)
    screen.hint("waiting")
    screen.text("here")
    screen.finish()
    assert stream.getvalue() == "waiting\r\x1b[2Khere\n"
    plain = io.StringIO()
    Screen(plain, PLAIN).hint("waiting")
    assert plain.getvalue() == ""
