"""What hosts and providers write at the edges: odd texts, media, roles, and names that come late."""

from typing import Any

import pytest
from turnfold.core.run import RunSpec
from turnfold.core.text import ENGLISH
from turnfold.effects.feed import InputMessage, Role
from turnfold.effects.journal import SaveCall, SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    CallModel,
    DeltaKind,
    ModelCutOff,
    ModelStreamed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.question import AskPolicy, CallPolicy, PolicyGiven
from turnfold.effects.record import BlockKind, CallStatus, Handover, MediaRef
from turnfold.effects.tool import (
    Await,
    Detached,
    RunTool,
    ToolControlled,
    ToolFailed,
    ToolResult,
    ToolReturned,
    ToolSpec,
)
from turnfold.effects.transcript import AssistantMessage, StopReason, ToolDeclaration, Usage, UserMessage, text_of

from tests.core.run.byhand import ByHand, calls, spec_of


def running() -> tuple[ByHand, RunTool]:
    run = ByHand(spec_of("echo")).start()
    run.say(*calls("echo"))
    return run, run.until(RunTool)


@pytest.mark.parametrize("value", ["\ud800", object(), {1j: 1}, 2**70])
def test_a_payload_that_json_cannot_hold_fails_the_call(value: Any) -> None:
    run, tool = running()
    began, run.now = run.now, run.now + 7
    run.tell(ToolControlled(run.now, tool.ticket, Await(value)))
    record = run.take(SaveCall).call
    assert record.started_at == began
    if record.status == CallStatus.WAITING:
        assert record.payload == str(value)
        return
    assert record.status == CallStatus.FAILED
    assert (record.error or "").startswith(ENGLISH.not_json.format(name="echo", problem=""))
    assert len(record.error or "") > len(ENGLISH.not_json.format(name="echo", problem=""))


def test_a_payload_that_holds_itself_fails_the_call() -> None:
    circle: list[Any] = []
    circle.append(circle)
    run, tool = running()
    run.tell(ToolControlled(run.now, tool.ticket, Detached("r", circle)))
    assert run.take(SaveCall).call.status == CallStatus.FAILED


def test_a_receipt_can_be_stored_whatever_it_says() -> None:
    """N-24"""
    run, tool = running()
    run.tell(ToolControlled(run.now, tool.ticket, Detached("number\0 9", {"by": "post"})))
    record = run.take(SaveCall).call
    assert (record.result, record.payload, record.handover) == ("number 9", '{"by":"post"}', Handover.DETACHED)


def test_a_call_that_waits_for_somebody_says_for_what() -> None:
    run, tool = running()
    run.tell(ToolControlled(run.now, tool.ticket, Await({"ask": "them"})))
    record = run.take(SaveCall).call
    assert (record.status, record.handover) == (CallStatus.WAITING, Handover.AWAIT)
    assert (record.payload, record.result, record.completed_at) == ('{"ask":"them"}', None, None)


def test_what_a_tool_failed_with_can_be_stored_whatever_it_says() -> None:
    """N-24"""
    run, tool = running()
    run.tell(ToolFailed(run.now, tool.ticket, "no \0money"))
    assert run.take(SaveCall).call.error == "no money"


def test_media_of_a_result_stay_with_its_record() -> None:
    run, tool = running()
    media = (MediaRef("k", "image/png"),)
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("seen", media=media)))
    assert run.take(SaveCall).call.media == media


def test_notes_of_a_policy_can_be_stored_whatever_they_say() -> None:
    """N-24"""
    run = ByHand(RunSpec("run", tools=(ToolSpec(ToolDeclaration("pay"), has_policy=True),))).start()
    run.say(*calls("pay"))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    run.tell(PolicyGiven(run.now, run.take(AskPolicy).ticket, CallPolicy(notes={"a\0b": "c\0d"})))
    assert run.take(SaveCall).call.notes == {"ab": "cd"}


def test_input_may_be_what_the_agent_is_to_have_said() -> None:
    run = ByHand()
    run.messages = [
        InputMessage("hello\ud800", "m1", role=Role.ASSISTANT),
        InputMessage("hi\ud800", "m2"),
    ]
    run.start()
    said, heard = run.until(CallModel).request.messages
    assert isinstance(said, AssistantMessage)
    assert isinstance(heard, UserMessage)
    assert (text_of(said), heard.content) == ("hello\ufffd", "hi\ufffd")
    assert (said.timestamp, heard.timestamp) == (run.now, run.now)


def views(run: ByHand) -> list[tuple[BlockKind, str, str]]:
    return [(view.kind, view.text, view.call.name if view.call else "") for view in run.snapshot.blocks]


def show(run: ByHand, ticket: int, *deltas: Any) -> list[tuple[BlockKind, str, str]]:
    run.tell(ModelStreamed(run.now, ticket, deltas))
    return views(run)


def test_a_thought_is_shown_as_it_grows_and_stays() -> None:
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    thought = BlockKind.THINKING
    assert show(run, ticket, BlockStarted(0, DeltaKind.THINKING), BlockDelta(0, "h")) == [(thought, "h", "")]
    assert show(run, ticket, BlockDelta(0, "m"), BlockDelta(0, ".")) == [(thought, "hm.", "")]
    show(run, ticket, BlockStarted(1, DeltaKind.TEXT), BlockDelta(1, "yes"))
    assert (views(run), run.snapshot.candidate) == ([(thought, "hm.", "")], "yes")
    run.tell(ModelStreamed(run.now, ticket, (StreamFinished(),)))
    assert run.to_the_end().text == "yes"
    assert [(block.kind, block.text) for block in run.state.process.blocks] == [(thought, "hm.")]


def test_text_in_front_of_a_call_is_content_and_a_name_may_come_late() -> None:
    run = ByHand(spec_of("echo")).start()
    ticket = run.until(CallModel).ticket
    show(run, ticket, BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "let me "))
    assert run.snapshot.candidate == "let me "
    show(run, ticket, BlockDelta(0, "see"), BlockStarted(1, DeltaKind.CALL, "a", "ec"))
    assert views(run) == [(BlockKind.CONTENT, "let me see", ""), (BlockKind.TOOL_CALL, "", "ec")]
    assert run.snapshot.candidate == ""
    show(run, ticket, BlockStarted(1, DeltaKind.CALL, "a", "echo", again=True), BlockDelta(1, "{}"))
    run.tell(ModelStreamed(run.now, ticket, (StreamFinished(StopReason.TOOL_USE),)))
    run.until(RunTool)
    assert [(kind, text) for kind, text, _ in views(run)] == [
        (BlockKind.CONTENT, "let me see"),
        (BlockKind.TOOL_CALL, ""),
    ]


def test_ids_come_from_the_seed_of_the_execution() -> None:
    ids = [ByHand().start(seed).until(CallModel).request.model_call_id for seed in (b"one", b"two", b"one")]
    assert ids[0] == ids[2] != ids[1]


def test_a_late_answer_of_a_withdrawn_model_is_not_counted_again() -> None:
    run = ByHand().start()
    ticket = run.until(CallModel).ticket
    usage = UsageReported(Usage(input=4))
    run.tell(ModelStreamed(run.now, ticket, (usage,)))
    run.tell(CancelAsked(run.now))
    run.tell(ModelCutOff(run.now, ticket))
    assert run.state.model.late == ()
    assert run.to_the_end().usage.total == 4
