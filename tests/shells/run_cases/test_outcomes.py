"""Ends as exceptions, what a resume says of another agent, cancelling from outside, and outputs told twice."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, raw
from turnfold.adapters.stores import DecisionRefused
from turnfold.core.run import Limits
from turnfold.core.text import ENGLISH, fill, words_for
from turnfold.effects import outcome_errors
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.model import BlockDelta, BlockStarted, DeltaKind, StreamFinished
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind, Suspended
from turnfold.effects.outcome_errors import (
    HostFailed,
    LimitReached,
    RunFailed,
    RunSuspended,
    RunUnfinished,
    error_of,
)
from turnfold.effects.question import CallPolicy, Confirm
from turnfold.effects.record import (
    BlockKind,
    CallDecision,
    CallStatus,
    Completion,
    CompletionSource,
    Handover,
)
from turnfold.effects.tool import Tool as AnyTool
from turnfold.effects.transcript import (
    ZERO_USAGE,
    AssistantMessage,
    CallPart,
    ErrorKind,
    ModelError,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    Usage,
)
from turnfold.effects.values import replace
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import Claims, always, asking, detaching, finishing, killing, told
from tests.shells.world import Mortal, Tool, Viewer, World, asked, hang, texts

# --- exceptions

CLASSES: Mapping[FailureKind, tuple[str, type[RunFailed]]] = {
    FailureKind.EMPTY_RESPONSE: ("EmptyResponse", RunFailed),
    FailureKind.REFUSED: ("Refused", RunFailed),
    FailureKind.TRUNCATED: ("Truncated", RunFailed),
    FailureKind.GUARD_REJECTED: ("GuardRejected", RunFailed),
    FailureKind.TURN_LIMIT: ("TurnLimit", LimitReached),
    FailureKind.BUDGET: ("Budget", LimitReached),
    FailureKind.TOOL_LIMIT: ("ToolLimit", LimitReached),
    FailureKind.DEADLINE: ("Deadline", LimitReached),
    FailureKind.MODEL: ("ModelFailed", RunFailed),
    FailureKind.FEED: ("FeedFailure", HostFailed),
    FailureKind.JOURNAL: ("JournalFailure", HostFailed),
    FailureKind.CONTRACT_BREACH: ("ContractBreach", HostFailed),
    FailureKind.CHECKPOINT: ("CheckpointFailure", HostFailed),
    FailureKind.EXTENSION: ("ExtensionFailure", HostFailed),
    FailureKind.STALE_ATTEMPT: ("StaleRun", RunFailed),
    FailureKind.CANCELLED: ("Cancelled", RunFailed),
}


def test_every_kind_of_failure_has_an_exception_of_its_own() -> None:
    """Decision 33"""
    assert set(CLASSES) == set(FailureKind)
    assert len({name for name, _ in CLASSES.values()}) == len(CLASSES)


@pytest.mark.parametrize("kind", list(FailureKind))
def test_a_failure_may_be_raised(kind: FailureKind) -> None:
    """Decision 33: with everything the outcome says."""
    name, parent = CLASSES[kind]
    error = ModelError(ErrorKind.QUOTA, "no more") if kind is FailureKind.MODEL else None
    outcome = Failed(kind, "what happened", 7, error)
    wanted = getattr(outcome_errors, name)
    with pytest.raises(wanted, match=r"^what happened$") as raised:
        RunResult(outcome, ZERO_USAGE).delivered()
    assert type(raised.value) is wanted
    assert isinstance(raised.value, parent)
    assert isinstance(raised.value, RunUnfinished)
    assert (raised.value.outcome, raised.value.kind) == (outcome, kind)
    assert (raised.value.error, raised.value.boundary) == (error, 7)


@pytest.mark.parametrize(
    ("ids", "text"),
    [(("a",), "the run waits for 1 call: a"), (("a", "b"), "the run waits for 2 calls: a, b")],
)
def test_a_suspension_may_be_raised(ids: tuple[str, ...], text: str) -> None:
    """Decision 33: it says what it waits for, and is no failure."""
    outcome = Suspended(ids, 7)
    with pytest.raises(RunSuspended) as raised:
        RunResult(outcome, ZERO_USAGE).delivered()
    assert str(raised.value) == text
    assert (raised.value.waits_for, raised.value.boundary, raised.value.outcome) == (ids, 7, outcome)
    assert not isinstance(raised.value, RunFailed)


@pytest.mark.parametrize("outcome", [Delivered("x"), Completed(Completion(CompletionSource.GUARD, "1")), None])
def test_an_answer_is_no_exception(outcome: Any) -> None:
    result = RunResult(outcome, ZERO_USAGE)
    assert error_of(outcome) is None
    assert result.delivered() is result


async def test_a_run_hands_out_its_answer_or_raises() -> None:
    """Decision 33, from the run itself."""
    world = World()
    await world.say("hi")
    with pytest.raises(RunSuspended):
        (await world.run(ScriptedModel([call("ask")]), asking())).delivered()
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    assert (await world.run(ScriptedModel(["done"]), asking())).delivered().text == "done"
    await world.say("more")
    with pytest.raises(LimitReached):
        (await world.run(ScriptedModel([call("ask")]), asking(), limits=Limits(iterations=1))).delivered()


# --- another agent


def spelled(name: str, description: str = "", **properties: Any) -> Tool:
    """A tool with a description and a schema."""
    tool = Tool(name)
    parameters = {"type": "object", "properties": properties}
    tool.spec = replace(tool.spec, declaration=ToolDeclaration(name, description, parameters))
    return tool


class Passing(Claims):
    """An extension that may come and go."""

    stateful = False


CHANGES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "nothing": ({}, ()),
    "instruction": ({"instruction": "Be long."}, ("instruction",)),
    "output limit": ({"max_output_tokens": 99}, ("model",)),
    "options": ({"options": {"temperature": 1}}, ("model",)),
    "description": ({"tools": [spelled("ask", "Ask Ann."), spelled("look")]}, ("tool ask",)),
    "schema": ({"tools": [spelled("ask", x={"type": "string"}), spelled("look")]}, ("tool ask",)),
    "completion": ({"tools": [spelled("ask"), finishing("look")]}, ("tool look",)),
    "gone": ({"tools": [spelled("ask")]}, ("tool look",)),
    "new": ({"tools": [spelled("ask"), spelled("look"), spelled("hear")]}, ("tool hear",)),
    "extension": ({"host": Host(extensions=(Passing(),))}, ("extension claims",)),
    "all": (
        {"instruction": "", "tools": [], "options": {"seed": 1}, "host": Host(extensions=(Passing(),))},
        ("instruction", "model", "tool ask", "tool look", "extension claims"),
    ),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_a_resume_tells_what_of_the_agent_changed(what: str) -> None:
    """Decision 35: compared with what is in the checkpoint; once told, the new agent is the one to compare with."""
    world = World()
    tools: list[AnyTool] = [Tool("ask", asking().body), spelled("look")]
    tools[0].spec = spelled("ask").spec  # type: ignore[misc]
    options: dict[str, Any] = {"instruction": "Be brief.", "options": {"temperature": 0}, "max_output_tokens": 10}
    await world.say("hi")
    first = await world.run(ScriptedModel([call("ask")]), *tools, **options)  # type: ignore[arg-type]
    assert first.changed == ()
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    changed, expected = CHANGES[what]
    then = {**options, **changed}
    now_tools = then.pop("tools", tools)
    result = await world.run(ScriptedModel(["done"]), *now_tools, **then)
    assert (result.text, result.changed) == ("done", expected)
    await world.say("more")
    assert (await world.run(ScriptedModel(["more"]), *now_tools, **then)).changed == ()


async def test_a_running_call_of_a_tool_that_is_gone_is_settled_by_what_it_was() -> None:
    """Decision 35: the record knows its traits."""
    world = World()
    await world.say("hi")
    process = Mortal(world)
    await process.run(ScriptedModel([call("pay")]), killing(process, "pay", side_effects=True))
    model = ScriptedModel(["I do not know."])
    result = await world.run(model, take_over=True)
    assert (result.calls[0].status, result.changed) == (CallStatus.NEEDS_REVIEW, ("tool pay",))
    assert asked(model)[0][-1] == f"tool call-1: {ENGLISH.needs_review}"


async def test_an_approved_call_of_a_tool_that_is_gone_is_an_error_to_the_model() -> None:
    """Decision 35"""
    world = World()
    await world.say("hi")
    host = Host(policies={"pay": always(CallPolicy(confirm=Confirm()))})
    await world.run(ScriptedModel([call("pay")]), Tool("pay"), host=host)
    record = await world.call("pay")
    await world.store.decide("run", record.id, CallDecision(True, digest=record.digest))
    model = ScriptedModel(["Then not."])
    result = await world.run(model)
    assert result.calls[0].status == CallStatus.FAILED
    assert asked(model)[0][-1] == f"tool call-1!: {told(fill(ENGLISH.unknown_tool, name='pay'))}"


# --- cancelled from outside


async def test_cancelling_a_waiting_run_gives_up_what_only_it_could_do() -> None:
    """Decision 40: paused calls did not run and cannot be approved any more; others' calls stay theirs."""
    world, pay = World(), Tool("pay", side_effects=True)
    host = Host(policies={"pay": always(CallPolicy(confirm=Confirm()))}, extensions=(Claims(),))
    await world.say("hi")
    tools = [pay, asking(), detaching()]
    waiting = await world.run(ScriptedModel([call("pay") + call("ask") + call("order")]), *tools, host=host)
    assert isinstance(waiting.outcome, Suspended)
    result = await world.runtime.cancel("run", world.store.journal("run"), "the customer left")
    outcome = Failed(FailureKind.CANCELLED, "the run was cancelled: the customer left", boundary=1)
    assert result.outcome == outcome == (await world.stored()).outcome
    assert [(record.status, record.handover) for record in result.calls] == [
        (CallStatus.INTERRUPTED, Handover.NONE),
        (CallStatus.WAITING, Handover.AWAIT),
        (CallStatus.RUNNING, Handover.DETACHED),
    ]
    assert result.calls[0].result == ENGLISH.never_started
    assert (await world.stored()).calls == result.calls
    with pytest.raises(DecisionRefused):
        await world.store.decide("run", result.calls[0].id, CallDecision(True, digest=result.calls[0].digest))
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    model = ScriptedModel(["Let us see."])
    again = await world.run(model, *tools, host=host)
    assert (again.outcome, again.changed) == (Delivered("Let us see.", boundary=1), ())
    assert asked(model)[0][-3:-1] == [f"tool call-1: {ENGLISH.never_started}", "tool call-2: 42"]
    assert pay.invocations == []


async def test_cancelling_takes_a_run_from_whoever_executes_it() -> None:
    """Decision 40: calls are settled by what they are, and the other executor finds itself stale."""
    world, results = World(), []
    await world.say("hi")
    tools = [Tool("pay", hang, side_effects=True), Tool("look", hang, replayable=True)]

    async def execute() -> None:
        results.append(await world.run(ScriptedModel([call("pay") + call("look")]), *tools))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(execute)
        await trio.sleep(1)
        result = await world.runtime.cancel("run", world.store.journal("run"))
        assert result.outcome == Failed(FailureKind.CANCELLED, "the run was cancelled", boundary=1)
    statuses = [CallStatus.NEEDS_REVIEW, CallStatus.INTERRUPTED]
    assert [record.status for record in result.calls] == statuses
    assert [record.status for record in (await world.stored()).calls] == statuses
    (stale,) = results
    assert isinstance(stale.outcome, Failed)
    assert stale.outcome.kind is FailureKind.STALE_ATTEMPT


@pytest.mark.parametrize("fixed", [False, True])
async def test_cancelling_an_ended_run_takes_nothing_back(fixed: bool) -> None:
    """Decision 2, for values."""
    world, tool = World(), finishing(fixed=fixed)
    await world.say("hi")
    first = await world.run(ScriptedModel([call("finish", {"v": 1})]), tool)
    await world.runtime.cancel("run", world.store.journal("run"))
    assert (await world.run(ScriptedModel([]), tool)).outcome == first.outcome


async def test_a_run_that_was_cancelled_before_it_began_can_still_begin() -> None:
    """Decision 40: it left nothing that a set-up with tools and extensions would have to agree with."""
    world, host = World(), Host(extensions=(Claims(),))
    await world.say("hi")
    result = await world.runtime.cancel("run", world.store.journal("run"), "not yet")
    assert result.outcome == Failed(FailureKind.CANCELLED, "the run was cancelled: not yet", boundary=0)
    again = await world.run(ScriptedModel(["hello"]), Tool("echo"), host=host, instruction="Be brief.")
    assert (again.outcome, again.changed) == (Delivered("hello", boundary=1), ())


# --- outputs that are told twice


DIFFERING: dict[str, tuple[list[BlockDelta | BlockStarted], tuple[Any, ...]]] = {
    "text beside a call": (
        [BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "Let me"), BlockStarted(1, DeltaKind.CALL, "a", "echo")],
        (TextPart("Let me see."), CallPart("a", "echo", '{"x":1}')),
    ),
    "another order": (
        [BlockStarted(0, DeltaKind.CALL, "a", "echo"), BlockStarted(1, DeltaKind.TEXT), BlockDelta(1, "Let me")],
        (ThinkingPart("hm"), TextPart("See."), CallPart("b", "echo", '{"x":1}')),
    ),
    "fewer": (
        [
            BlockStarted(0, DeltaKind.THINKING),
            BlockDelta(0, "hm"),
            BlockStarted(1, DeltaKind.CALL, "a", "echo"),
            BlockStarted(2, DeltaKind.CALL, "b", "echo"),
        ],
        (CallPart("b", "echo", '{"x":1}'),),
    ),
}


@pytest.mark.parametrize("how", DIFFERING)
async def test_an_output_that_differs_from_its_pieces_counts_as_it_ended(how: str) -> None:
    """N-23: record, stream and context all have the complete output, and nothing of what was streamed beside it."""
    pieces, parts = DIFFERING[how]
    world, viewer, echo = World(), Viewer(), Tool("echo")
    whole = AssistantMessage(parts, stop=StopReason.TOOL_USE, usage=Usage(5, output=6))
    await world.say("hi")
    model = ScriptedModel([raw(*pieces, StreamFinished(StopReason.TOOL_USE, message=whole)), "done"])
    result = await world.run(model, echo, stream=viewer, stream_id="s")
    kinds = {ThinkingPart: BlockKind.THINKING, TextPart: BlockKind.CONTENT, CallPart: BlockKind.TOOL_CALL}
    assert [(block.kind, block.position) for block in result.blocks] == [
        (kinds[type(part)], place) for place, part in enumerate(parts, 1)
    ]
    assert texts(result) == [getattr(part, "text", "") for part in parts]
    assert [(view.id, view.text) for view in viewer.snapshot.blocks] == [(one.id, one.text) for one in result.blocks]
    assert [invocation.arguments for invocation in echo.invocations] == [{"x": 1}]
    (output,) = [one for one in model.requests[1].messages if isinstance(one, AssistantMessage)]
    assert output.parts == parts
    assert (await world.stored()).blocks == result.blocks
    assert viewer.snapshot.candidate == "done"


async def test_a_text_that_differs_from_its_pieces_is_delivered_as_it_ended() -> None:
    """N-23: also on the stream, where the pieces were shown."""
    world, viewer = World(), Viewer()
    whole = StreamFinished(message=AssistantMessage((TextPart("Goodbye."),)))
    await world.say("hi")
    pieces = (BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "Hello"))
    result = await world.run(ScriptedModel([raw(*pieces, whole)]), stream=viewer, stream_id="s")
    assert (result.text, viewer.snapshot.candidate, result.blocks) == ("Goodbye.", "Goodbye.", ())


# --- words


async def test_texts_of_the_catalogue_are_the_hosts_to_change() -> None:
    """HO-04: the model sees the host's own text, all others stay as they are, and the runtime tells both."""
    words = words_for("en", {"batch_mixed": "One at a time, please: {tools}."})
    world, model = World(words=words), ScriptedModel([call("echo") + call("finish"), call("unheard_of"), "done"])
    await world.say("hi")
    await world.run(model, Tool("echo"), finishing())
    text = told("One at a time, please: finish.")
    assert asked(model)[1][2:] == [f"tool call-1!: {text}", f"tool call-2!: {text}"]
    assert asked(model)[2][-1] == f"tool call-3!: {told(fill(ENGLISH.unknown_tool, name='unheard_of'))}"
    assert world.runtime.words == words
    assert replace(world.runtime.words, batch_mixed=ENGLISH.batch_mixed) == ENGLISH
