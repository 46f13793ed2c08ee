"""A run from end to end: what is said, what is called, what is recorded, and how it ends."""

import pytest
import trio
from turnfold.adapters.models.scripted import Reply, ScriptedModel, call, fail, raw, say, think
from turnfold.core.run import Limits
from turnfold.effects.journal import Resume
from turnfold.effects.model import BlockDelta
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.record import BlockKind, CallStatus, Handover, Standing
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import ErrorKind, ModelError, StopReason
from turnfold.effects.values import replace

from tests.shells.world import Mortal, Tool, Viewer, World, asked, texts


async def test_a_text_reply_is_delivered() -> None:
    """RT-01"""
    world, model, viewer = World(), ScriptedModel(["hello there, whoever you are"]), Viewer()
    await world.say("hi")
    result = await world.run(model, stream=viewer, stream_id="s")
    assert result.outcome == Delivered("hello there, whoever you are", boundary=1)
    assert result.usage.total == 12
    assert viewer.snapshot.candidate == result.text
    assert model.requests[0].model_call_id
    assert asked(model) == [["user: hi"]]


async def test_a_tool_call_is_recorded() -> None:
    """RT-02"""
    world, model = World(), ScriptedModel([call("echo", {"x": "1"}), "done"])
    await world.say("hi")
    result = await world.run(model, Tool("echo", replayable=True, notes={"shown": "yes"}))
    (block,), (record,) = result.blocks, result.calls
    assert (block.kind, block.call_id) == (BlockKind.TOOL_CALL, record.id)
    assert (record.status, record.result) == (CallStatus.SUCCEEDED, 'echo:{"x":"1"}')
    assert record.replayable
    assert record.notes == {"shown": "yes"}
    stored = await world.stored()
    assert stored.state
    assert stored.blocks == result.blocks
    assert (stored.calls[0].rev, stored.calls[0].status) == (record.rev, record.status)
    assert asked(model)[1] == ["user: hi", "assistant: ", 'tool call-1: echo:{"x":"1"}']
    assert (result.text, result.usage.total) == ("done", 24)


async def test_a_tool_that_raises_tells_the_model() -> None:
    """RT-03"""

    async def break_down(invocation: Invocation) -> str:
        raise ValueError("the drawer is stuck")

    world, model = World(), ScriptedModel([call("open"), "done"])
    await world.say("hi")
    result = await world.run(model, Tool("open", break_down))
    (record,) = result.calls
    assert (record.status, record.error, record.result) == (CallStatus.FAILED, "the drawer is stuck", None)
    assert asked(model)[1][-1] == 'tool call-1!: {"error":"the drawer is stuck"}'
    assert result.text == "done"


async def test_a_tool_that_answers_with_an_error_has_failed() -> None:
    async def refuse(invocation: Invocation) -> ToolResult:
        return ToolResult("no such drawer", is_error=True)

    world, model = World(), ScriptedModel([call("open"), "done"])
    await world.say("hi")
    (record,) = (await world.run(model, Tool("open", refuse))).calls
    assert (record.status, record.error) == (CallStatus.FAILED, "no such drawer")
    assert asked(model)[1][-1] == 'tool call-1!: {"error":"no such drawer"}'


async def test_a_tools_own_time_out_is_an_ordinary_error() -> None:
    """RT-21 as decision 5 has it: only our limits are limits."""

    async def wait(invocation: Invocation) -> str:
        with trio.fail_after(1):
            await trio.sleep_forever()
        return ""

    async def give_up(invocation: Invocation) -> str:
        raise TimeoutError("the host did not answer")

    world, model = World(), ScriptedModel([call("wait") + call("give_up"), "done"])
    await world.say("hi")
    result = await world.run(model, Tool("wait", wait), Tool("give_up", give_up))
    assert [record.error for record in result.calls] == ["TooSlowError", "the host did not answer"]
    assert result.text == "done"


async def test_an_output_that_says_nothing_is_asked_for_once_more() -> None:
    """RT-16"""
    world, model, viewer = World(), ScriptedModel([think("hm"), think("hm, hm") + say("here")]), Viewer()
    await world.say("hi")
    result = await world.run(model, stream=viewer, stream_id="s")
    assert result.text == "here"
    assert asked(model) == [["user: hi"]] * 2
    assert result.usage.total == 24
    assert texts(result) == ["hm, hm"] == [block.text for block in viewer.snapshot.blocks]


async def test_an_output_that_says_nothing_twice_is_the_end() -> None:
    world, model = World(), ScriptedModel([think("hm"), say("  \n")])
    await world.say("hi")
    result = await world.run(model)
    assert result.outcome == Failed(FailureKind.EMPTY_RESPONSE, "the model said nothing, twice", boundary=1)
    assert (await world.stored()).outcome == result.outcome


async def test_an_output_that_is_cut_off_before_it_says_anything_has_a_name_of_its_own() -> None:
    """decision 33"""
    world, model = World(), ScriptedModel([think("so much to") + say("", stop=StopReason.LENGTH)])
    await world.say("hi")
    outcome = (await world.run(model)).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.TRUNCATED


async def test_a_text_that_is_cut_off_is_delivered() -> None:
    world, model = World(), ScriptedModel([say("and then", stop=StopReason.LENGTH)])
    await world.say("hi")
    assert (await world.run(model)).text == "and then"


# --- failures of the model


async def test_a_failed_model_call_fails_the_run_with_its_reason() -> None:
    """Decisions 10, 24 and 33: the kind, the provider's reason, and the boundary that was claimed."""
    world, model = World(), ScriptedModel([fail("overloaded", retry_after_ms=7)])
    await world.say("hi")
    result = await world.run(model)
    error = ModelError(ErrorKind.UNAVAILABLE, "overloaded", retry_after_ms=7)
    assert result.outcome == Failed(FailureKind.MODEL, "overloaded", boundary=1, error=error)
    assert (await world.stored()).outcome == result.outcome


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (say("I would rather not.", stop=StopReason.REFUSAL), "I would rather not."),
        (say("", stop=StopReason.REFUSAL, raw_stop="content_filter"), "the model refused (content_filter)"),
        (fail("unsafe", ErrorKind.REFUSED), "unsafe"),
    ],
)
async def test_a_refusal_has_a_name_of_its_own(reply: Reply, message: str) -> None:
    """decision 33"""
    world = World()
    await world.say("hi")
    outcome = (await world.run(ScriptedModel([reply]))).outcome
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.message) == (FailureKind.REFUSED, message)


@pytest.mark.parametrize("reply", [raw(BlockDelta(0, "half a sen")), raw()])
async def test_a_stream_without_an_end_breaks_the_ports_contract(reply: Reply) -> None:
    """Decisions 22 and 28"""
    world = World()
    await world.say("hi")
    outcome = (await world.run(ScriptedModel([reply]))).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CONTRACT_BREACH
    assert "ended without a terminal delta" in outcome.message


async def test_a_model_that_raises_breaks_the_ports_contract() -> None:
    """decision 28"""
    world = World()
    await world.say("hi")
    outcome = (await world.run(ScriptedModel([]))).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CONTRACT_BREACH
    assert "ScriptExhaustedError: the script has 0 replies" in outcome.message


async def test_text_that_breaks_off_stays_on_record_as_such() -> None:
    """Decision 2, and decision 26: what it used is counted."""
    world, viewer = World(), Viewer()
    await world.say("hi")
    result = await world.run(ScriptedModel([say("half a sen") + fail()]), stream=viewer, stream_id="s")
    (block,) = (await world.stored()).blocks
    assert (block.text, block.kind, block.standing) == ("half a sen", BlockKind.CONTENT, Standing.BROKEN_OFF)
    assert result.blocks == (block,)
    assert [(view.text, view.standing) for view in viewer.snapshot.blocks] == [("half a sen", Standing.BROKEN_OFF)]
    assert viewer.snapshot.candidate == ""


async def test_a_failed_run_goes_on_with_its_input() -> None:
    """Decision 2: a failed outcome binds nobody, and the input that it did not answer is not lost."""
    world = World()
    await world.say("hi")
    await world.run(ScriptedModel([say("half a sen") + fail()]))
    model = ScriptedModel(["hello"])
    result = await world.run(model)
    assert result.outcome == Delivered("hello", boundary=1)
    assert asked(model) == [["user: hi"]]
    assert texts(result) == ["half a sen"]


async def test_what_a_failed_first_turn_used_is_not_forgotten() -> None:
    """decision 26"""
    world = World()
    await world.say("hi")
    await world.run(ScriptedModel([think("hm"), think("hm")]))
    result = await world.run(ScriptedModel(["hello"]))
    assert result.usage.total == 36


async def test_a_run_that_failed_after_a_batch_goes_on_from_there() -> None:
    world, echo = World(), Tool("echo")
    await world.say("hi")
    await world.run(ScriptedModel([call("echo"), say("now I") + fail()]), echo)
    model = ScriptedModel(["done"])
    assert (await world.run(model, echo)).text == "done"
    assert asked(model) == [["user: hi", "assistant: ", "tool call-1: echo:{}"]]
    assert len(echo.invocations) == 1


# --- delivered runs, and runs that go on


async def test_a_delivered_run_gives_the_same_outcome_again() -> None:
    """Decision 2: without asking the model."""
    world = World()
    await world.say("hi")
    first = await world.run(ScriptedModel([call("echo"), "done"]), Tool("echo"))
    again = await world.run(ScriptedModel([]), Tool("echo"))
    assert again == first


async def test_a_conversation_may_be_one_run() -> None:
    """Decision 41: newer input starts a turn after what was delivered; limits per run count from there."""
    world, limits = World(), Limits(turns=1)
    for number, text in enumerate(["one", "two", "three"], 1):
        assert await world.say(text) == number
        model = ScriptedModel([f"{text}!"])
        assert (await world.run(model, limits=limits)).outcome == Delivered(f"{text}!", boundary=number)
    assert asked(model) == [["user: one", "assistant: one!", "user: two", "assistant: two!", "user: three"]]


@pytest.mark.parametrize("discard", [False, True])
async def test_what_was_delivered_counts_as_said_for_good(discard: bool) -> None:
    """Decision 2: also when a later turn came to nothing in between."""
    world = World()
    await world.say("one")
    await world.run(ScriptedModel(["one!"]), discard_undelivered=discard)
    await world.say("two")
    failed = await world.run(ScriptedModel([fail()]), discard_undelivered=discard)
    assert isinstance(failed.outcome, Failed)
    assert failed.outcome.boundary == 2
    model = ScriptedModel(["two!"])
    result = await world.run(model, discard_undelivered=discard)
    assert result.outcome == Delivered("two!", boundary=2)
    assert asked(model) == [["user: one", "assistant: one!", "user: two"]]
    assert result.blocks == ()


async def test_a_delivered_text_outlives_a_failure_whose_input_is_gone() -> None:
    world = World()
    await world.say("one")
    await world.run(ScriptedModel(["one!"]))
    await world.say("two")
    await world.run(ScriptedModel([fail()]))
    await world.store.consume("talk", 2)
    assert (await world.run(ScriptedModel([]))).outcome == Delivered("one!", boundary=1)


async def test_a_run_without_a_journal_is_resumed_as_often_as_it_waits() -> None:
    """RT-20, suspended by a hand-over that the host wrote on the record of a call that a crash had left running."""
    world = World()
    await world.say("hi")
    process = Mortal(world)

    async def dispatch(invocation: Invocation) -> str:
        process.die()
        return "never told"

    await process.run(ScriptedModel([call("order")]), Tool("order", dispatch))
    left = await world.stored()
    waiting = replace(left.calls[0], status=CallStatus.WAITING, handover=Handover.AWAIT)
    resume: Resume | None = replace(left, calls=(waiting,))
    for _ in range(2):
        result = await world.run(ScriptedModel([]), Tool("order"), journal=None, resume=resume)
        assert result.outcome == Suspended((waiting.id,), boundary=1)
        resume = result.resume
        assert resume is not None
        assert resume.state
        assert resume.calls == (waiting,)
    settled = replace(waiting, status=CallStatus.SUCCEEDED, result="order 66")
    model = ScriptedModel(["done"])
    result = await world.run(model, Tool("order"), journal=None, resume=replace(resume, calls=(settled,)))
    assert result.outcome == Delivered("done", boundary=1)
    assert asked(model)[0][-1] == "tool call-1: order 66"
    assert result.resume is not None
    assert result.resume.outcome == result.outcome


async def test_a_failed_run_without_a_journal_goes_on_from_what_it_gave_back() -> None:
    world, echo = World(), Tool("echo")
    await world.say("hi")
    failed = await world.run(ScriptedModel([call("echo"), fail()]), echo, journal=None)
    again = await world.run(ScriptedModel([fail()]), echo, journal=None, resume=failed.resume)
    result = await world.run(ScriptedModel(["done"]), echo, journal=None, resume=again.resume)
    assert result.text == "done"
    assert result.calls == failed.calls
    assert len(echo.invocations) == 1


async def test_a_run_in_memory_that_never_saved_anything_can_be_resumed() -> None:
    world = World()
    nothing = await world.run(ScriptedModel([]), journal=None)
    assert isinstance(nothing.outcome, Failed)
    await world.say("hi")
    assert (await world.run(ScriptedModel(["hello"]), journal=None, resume=nothing.resume)).text == "hello"
