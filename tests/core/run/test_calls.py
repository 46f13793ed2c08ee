"""One call from its record to its result: prepared in order, run once, settled by what it is, told to the model."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.run import Functions, IllegalEvent, RunSpec, rules_for
from turnfold.core.run.records import call_record, error_text, model_content, parse_arguments, record_name, waiting
from turnfold.core.text import ENGLISH
from turnfold.effects.codec import decode_value, encode, to_data
from turnfold.effects.journal import CallSaved, SaveCall, SaveStep, StepSaved
from turnfold.effects.lifecycle import CancelAsked
from turnfold.effects.model import BlockDelta, BlockStarted, CallModel, DeltaKind, StreamFinished
from turnfold.effects.outcome import Failed, FailureKind
from turnfold.effects.record import CallStatus, Handover, ToolCall
from turnfold.effects.tool import (
    CancelTool,
    RunTool,
    ToolCutOff,
    ToolFailed,
    ToolProgressed,
    ToolResult,
    ToolReturned,
    ToolSpec,
)
from turnfold.effects.transcript import (
    CallPart,
    Content,
    ImagePart,
    StopReason,
    TextPart,
    ToolDeclaration,
    ToolResultMessage,
)
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls, spec_of
from tests.strategies import JSON

PART = CallPart("theirs", "echo", '{"x":1}')


def spec(**traits: Any) -> RunSpec:
    return RunSpec("run", tools=(ToolSpec(ToolDeclaration("echo"), **traits),))


# --- records


def test_a_record_takes_the_traits_and_notes_of_its_tool() -> None:
    rules = rules_for(spec(replayable=True, side_effects=True, notes={"shown": "yes"}))
    record = call_record(rules, PART, "echo", "ours", "asked")
    assert record == ToolCall(
        id="ours",
        status=CallStatus.QUEUED,
        rev=1,
        model_call_id="asked",
        call_id="theirs",
        name="echo",
        arguments='{"x":1}',
        digest=record.digest,
        replayable=True,
        side_effects=True,
        notes={"shown": "yes"},
    )
    unknown = call_record(rules, replace(PART, name="nope"), "nope", "ours", "asked")
    assert (unknown.side_effects, unknown.replayable, unknown.notes) == (True, False, {})


def test_the_digest_binds_a_record_to_its_arguments() -> None:
    """decision 17"""
    rules = rules_for(spec())
    digests = [
        call_record(rules, CallPart(call_id, "echo", arguments), "echo", record_id, "asked").digest
        for call_id, arguments, record_id in (("a", "{}", "1"), ("b", "{}", "2"), ("a", "{} ", "1"))
    ]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 16


def test_arguments_are_recorded_without_nul() -> None:
    """N-24"""
    record = call_record(rules_for(spec()), replace(PART, arguments='{"x":"\0"}'), "echo", "ours", "asked")
    assert record.arguments == '{"x":""}'


def test_a_host_may_name_a_record_by_its_raw_arguments() -> None:
    rules = rules_for(spec(), functions=Functions(record_names={"echo": lambda arguments: arguments[:4]}))
    assert record_name(rules, PART) == '{"x"'
    assert record_name(rules, replace(PART, arguments="")) == "echo"
    assert record_name(rules, replace(PART, name="nope")) == "nope"


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON, max_size=3))
def test_arguments_that_are_an_object_are_decoded_as_they_are(arguments: dict[str, Any]) -> None:
    assert parse_arguments(encode(arguments).decode()) == arguments


@pytest.mark.parametrize("text", ["", " ", "\n\t", "{}"])
def test_blank_arguments_are_an_empty_object(text: str) -> None:
    """decision 43"""
    assert parse_arguments(text) == {}


@pytest.mark.parametrize("text", ["[]", "1", "null", '"{}"', "{", '{"a":1}{', "{'a':1}", '{"a":NaN}', '{"\\ud800":1}'])
def test_anything_else_is_a_problem_in_words(text: str) -> None:
    """Decision 12: arguments are parsed strictly."""
    problem = parse_arguments(text)
    assert isinstance(problem, str)
    assert problem.startswith(("they are not valid JSON (", "expected a JSON object, got "))


@pytest.mark.parametrize(("depth", "fits"), [(63, True), (64, False), (5_000, False), (100_000, False)])
def test_arguments_may_be_nested_so_deep_and_no_deeper(depth: int, fits: bool) -> None:
    """Otherwise a model could stop a run for good with a few brackets; and how deep must not depend on the caller."""
    nested = parse_arguments('{"x":' + "[" * depth + "]" * depth + "}")
    assert isinstance(nested, dict) if fits else nested == "they are nested more than 64 levels deep"


@pytest.mark.parametrize(
    ("status", "handover", "waits"),
    [
        (CallStatus.WAITING, Handover.AWAIT, True),
        (CallStatus.RUNNING, Handover.AWAIT, True),
        (CallStatus.SUCCEEDED, Handover.AWAIT, False),
        (CallStatus.AWAITING_DECISION, Handover.NONE, True),
        (CallStatus.AWAITING_DECISION, Handover.SUBMITTED, False),
        (CallStatus.RUNNING, Handover.DETACHED, False),
        (CallStatus.RUNNING, Handover.NONE, False),
        (CallStatus.FAILED, Handover.NONE, False),
        ("expired", Handover.AWAIT, False),
    ],
)
def test_a_run_waits_for_calls_that_somebody_else_must_settle(status: str, handover: Handover, waits: bool) -> None:
    """Who must act before the run can go on."""
    assert waiting(ToolCall("c", status, handover=handover), 0) is waits


DROPPED = ENGLISH.cancelled.format(name="pay", call_id="p")


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        ({"status": "succeeded", "result": "r"}, ("r", False)),
        ({"status": "succeeded", "result": ""}, ("", False)),
        ({"status": "interrupted", "result": "r"}, ("r", False)),
        ({"status": "failed", "error": "e"}, ('{"error":"e"}', True)),
        ({"status": "failed", "error": "e", "result": "r"}, ('{"error":"e"}', True)),
        ({"status": "failed", "result": "r"}, ("r", True)),
        ({"status": "expired", "error": "e"}, ('{"error":"e"}', True)),
        ({"status": "expired"}, (DROPPED, True)),
        ({"status": "running", "handover": Handover.DETACHED, "result": "r", "error": "e"}, ("r", False)),
        ({"status": "failed", "handover": Handover.SUBMITTED, "result": "r", "error": "e"}, ("r", True)),
        ({"status": "running", "handover": Handover.DETACHED}, (DROPPED, True)),
        ({"status": "failed", "handover": Handover.DETACHED, "error": "e"}, (DROPPED, True)),
        ({"status": "failed", "handover": Handover.AWAIT, "error": "e", "result": "r"}, ('{"error":"e"}', True)),
        ({"status": "succeeded", "handover": Handover.AWAIT, "result": "r"}, ("r", False)),
    ],
)
def test_what_the_model_sees_of_a_record(record: dict[str, Any], shown: tuple[str, bool]) -> None:
    """N-13 and N-14: on a call that went to somebody else for good an error is never shown."""
    call = ToolCall(**{"id": "c", "name": "pay", "call_id": "p", **record})
    assert model_content(call, ENGLISH) == shown


def test_parts_are_shown_as_they_were_given() -> None:
    """Decision 8, and 38: a result of the host's has cleared them."""
    parts = (TextPart("a"), ImagePart("aGk="))
    raw = encode(to_data(parts, Content)).decode()
    assert decode_value(raw.encode(), Content) == parts  # type: ignore[comparison-overlap]
    call = ToolCall("c", "succeeded", result="a", parts=raw)
    assert model_content(call, ENGLISH) == (parts, False)
    assert model_content(replace(call, parts=None, result="by hand"), ENGLISH) == ("by hand", False)


def test_an_error_is_a_json_object_with_one_member() -> None:
    assert error_text('it said "no"') == '{"error":"it said \\"no\\""}'


# --- from record to result


def started(*names: str, **spec_members: Any) -> ByHand:
    """A run whose model has called these tools, with the output saved."""
    run = ByHand(spec_of("echo", "other", **spec_members)).start()
    run.say(*calls(*names))
    order = run.take(SaveStep)
    run.tell(StepSaved(run.now, order.ticket))
    return run


def save(run: ByHand, write: SaveCall, **changes: Any) -> tuple[Any, ...]:
    """The journal has saved a call, maybe with what its host wrote on it."""
    return run.tell(CallSaved(run.now, write.ticket, replace(write.call, **changes)))


@given(st.permutations(range(3)))
def test_tools_start_in_call_order_whichever_record_is_saved_first(order: list[int]) -> None:
    """decision 14"""
    run = started("echo", "other", "echo")
    writes = [run.take(SaveCall) for _ in range(3)]
    keys: list[str] = []
    for place, index in enumerate(order):
        effects = save(run, writes[index])
        keys += [effect.invocation.key for effect in effects if isinstance(effect, RunTool)]
        saved = set(order[: place + 1])
        assert len(keys) == next((count for count in range(3) if count not in saved), 3)
    assert keys == [write.call.id for write in writes]


def test_a_call_that_its_host_took_does_not_hold_up_the_next() -> None:
    """decision 37"""
    run = started("echo", "other")
    first, second = run.take(SaveCall), run.take(SaveCall)
    save(run, second)
    assert not run.waits_for(RunTool)
    save(run, first, status=CallStatus.RUNNING, handover=Handover.DETACHED, result="on its way")
    assert run.take(RunTool).invocation.name == "other"
    assert not run.waits_for(RunTool)


def test_a_sequential_batch_saves_and_runs_one_call_at_a_time() -> None:
    run = started("echo", "other", sequential=True)
    first = run.take(SaveCall)
    assert not run.waits_for(SaveCall)
    save(run, first)
    tool = run.take(RunTool)
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("1")))
    outcome = run.take(SaveCall)
    assert not run.waits_for(SaveCall)
    save(run, outcome)
    assert run.take(SaveCall).call.name == "other"


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        (ToolResult("text"), {"status": "succeeded", "result": "text", "parts": None}),
        (ToolResult(None), {"status": "succeeded", "result": "", "parts": None}),
        (ToolResult("no", is_error=True), {"status": "failed", "error": "no", "result": None}),
        (
            ToolResult((TextPart("a"), ImagePart("aGk="), TextPart("b"))),
            {"status": "succeeded", "result": "a\nb"},
        ),
    ],
)
def test_a_result_becomes_the_outcome_of_its_record(answer: ToolResult, fields: dict[str, Any]) -> None:
    run = started("echo")
    save(run, run.take(SaveCall))
    tool = run.take(RunTool)
    run.now += 5
    run.tell(ToolProgressed(run.now, tool.ticket, ToolResult("half")))
    run.tell(ToolReturned(run.now, tool.ticket, answer))
    record = run.take(SaveCall).call
    assert {name: getattr(record, name) for name in fields} == fields
    assert (record.rev, record.started_at, record.completed_at) == (3, run.now - 5, run.now)


@pytest.mark.parametrize(("answer", "status"), [(ToolFailed, CallStatus.FAILED), (ToolCutOff, CallStatus.INTERRUPTED)])
def test_a_tool_answers_once(answer: Any, status: str) -> None:
    run = started("echo")
    save(run, run.take(SaveCall))
    ticket = run.take(RunTool).ticket
    event = answer(run.now, ticket, "no") if answer is ToolFailed else answer(run.now, ticket)
    run.tell(event)
    assert run.take(SaveCall).call.status == status
    with pytest.raises(IllegalEvent, match="which asks no such thing"):
        run.fold.reduce(run.state, event)


def test_the_stores_answer_is_what_the_model_sees() -> None:
    """decision 37"""
    run = started("echo")
    save(run, run.take(SaveCall))
    run.tell(ToolReturned(run.now, run.take(RunTool).ticket, ToolResult("mine")))
    save(run, run.take(SaveCall), status="expired", result="theirs", rev=9)
    (shown,) = [one for one in run.until(CallModel).request.messages if isinstance(one, ToolResultMessage)]
    assert shown.content == "theirs"


def test_calls_of_a_cut_off_output_are_settled_without_running() -> None:
    """Decisions 12 and 43"""
    run = ByHand().start()
    run.say(*calls("echo")[:-1], StreamFinished(StopReason.LENGTH))
    run.tell(StepSaved(run.now, run.take(SaveStep).ticket))
    record = run.take(SaveCall).call
    assert (record.status, record.error) == (CallStatus.FAILED, ENGLISH.cut_off.format(name="echo"))
    assert (record.started_at, record.completed_at) == (run.now, run.now)
    assert not run.waits_for(RunTool)


# --- cancellation, phase by phase


def test_a_cancelled_call_is_settled_from_whatever_phase_it_was_in() -> None:
    """Decisions 4 and 5"""
    run = started("echo", "other", "echo", "other")
    writes = [run.take(SaveCall) for _ in range(4)]
    save(run, writes[0])
    save(run, writes[1])
    running, other = run.take(RunTool), run.take(RunTool)
    run.tell(ToolReturned(run.now, other.ticket, ToolResult("done")))
    effects = run.tell(CancelAsked(run.now))
    assert [effect.ticket for effect in effects if isinstance(effect, CancelTool)] == [running.ticket]
    save(run, run.take(SaveCall))
    save(run, writes[2])
    never = run.take(SaveCall)
    assert (never.call.status, never.call.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)
    save(run, writes[3], status=CallStatus.SUCCEEDED, result="by hand")
    run.tell(ToolCutOff(run.now, running.ticket))
    run.take(CancelTool)
    cut = run.take(SaveCall)
    assert (cut.call.status, cut.call.result) == (CallStatus.INTERRUPTED, ENGLISH.interrupted)
    save(run, cut)
    assert not run.waits_for(SaveStep)
    save(run, never)
    result = run.to_the_end()
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.CANCELLED
    assert [record.status for record in result.calls] == ["interrupted", "succeeded", "interrupted", "succeeded"]


def test_a_queued_call_that_never_started_has_no_time_of_starting() -> None:
    run = started("echo", "other", sequential=True)
    run.tell(CancelAsked(run.now))
    second = run.take(SaveCall)
    record = second.call if second.call.name == "other" else run.take(SaveCall).call
    assert (record.result, record.started_at, record.completed_at) == (ENGLISH.never_started, None, run.now)


def test_nothing_that_was_asked_for_stays_owed() -> None:
    """A call whose tool had to wait for the call in front of it is settled with one write and is owed no other."""
    run = started("echo", "other")
    first, second = run.take(SaveCall), run.take(SaveCall)
    save(run, second)
    run.tell(CancelAsked(run.now))
    never = run.take(SaveCall)
    assert (never.call.id, never.call.result) == (second.call.id, ENGLISH.never_started)
    assert run.state.batch.owed == ()
    save(run, never)
    save(run, first)
    assert [record.status for record in run.to_the_end().calls] == ["interrupted"] * 2


def test_a_tool_may_still_answer_after_it_was_told_to_stop() -> None:
    """Decision 5: a result within the grace counts."""
    run = started("echo")
    save(run, run.take(SaveCall))
    tool = run.take(RunTool)
    run.tell(CancelAsked(run.now))
    run.take(CancelTool)
    run.tell(ToolReturned(run.now, tool.ticket, ToolResult("just in time")))
    assert run.take(SaveCall).call.result == "just in time"


def test_a_call_is_shown_with_its_status_and_without_its_arguments() -> None:
    run = ByHand().start()
    run.say(BlockStarted(0, DeltaKind.CALL, "a", "echo"), BlockDelta(0, '{"secret":1}'), StreamFinished())
    run.until(CallModel)
    (view,) = run.snapshot.blocks
    assert view.call is not None
    assert (view.call.status, view.call.name, view.text) == ("succeeded", "echo", "")
    assert "secret" not in repr(run.snapshot)
