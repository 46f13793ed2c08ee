"""Runs that end with a structured value: what may end one, what a wrong output costs, what newer input does to it."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, say
from turnfold.core.run import Limits
from turnfold.core.text import ENGLISH, fill
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind
from turnfold.effects.record import CallStatus
from turnfold.effects.tool import Complete, Invocation
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import (
    STORES,
    Fallback,
    Interrupted,
    dying_at,
    finishing,
    killing,
    of_fallback,
    of_tool,
    store_of,
    told,
)
from tests.shells.world import Mortal, Tool, Viewer, World, asked, texts

FINISH = call("finish", {"v": 1})
WRONG = call("finish", {"v": -1})


@pytest.mark.parametrize("kind", STORES)
async def test_a_completion_ends_the_run(kind: str, tmp_path: Path) -> None:
    """RT-04: after one model call; the value is kept with the run and with the call that gave it."""
    with store_of(kind, tmp_path) as store:
        world, model, tool = World(store), ScriptedModel([FINISH]), finishing()
        number = await world.say("hi")
        result = await world.run(model, tool)
        (record,) = result.calls
        assert result.outcome == Completed(of_tool(record.id), boundary=number)
        assert (result.completion, result.text) == (of_tool(record.id), "")
        assert (record.status, record.result) == (CallStatus.SUCCEEDED, '{"v":1}')
        assert record.completion is not None
        assert (record.completion.value, record.completion.fixed) == ('{"v":1}', False)
        stored = await world.stored()
        assert (stored.completion, stored.outcome) == (result.completion, result.outcome)
        assert stored.calls == result.calls
        assert len(model.requests) == len(tool.invocations) == 1


async def test_a_completion_that_fails_is_put_right_once_and_then_the_fallback_ends_the_run() -> None:
    """RT-05"""
    world, model, fallback = World(), ScriptedModel([WRONG, call("finish", {"v": -2})]), Fallback()
    await world.say("hi")
    result = await world.run(model, finishing(), host=Host(fallback=fallback))
    assert result.outcome == Completed(of_fallback("corrections_exhausted"), boundary=1)
    assert fallback.reasons == ["corrections_exhausted"]
    assert [(record.status, record.error) for record in result.calls] == [(CallStatus.FAILED, "v is negative")] * 2
    assert asked(model)[1][-1] == f"tool call-1!: {told('v is negative')}"
    assert (await world.stored()).completion == result.completion
    await world.say("and this?")
    assert (await world.run(ScriptedModel([]), finishing())).outcome == result.outcome


async def test_without_a_fallback_the_model_may_go_on_trying() -> None:
    """Run out of corrections with iterations left, the text of the error goes to the model and nothing is forced."""
    world, model = World(), ScriptedModel([WRONG, WRONG, WRONG, FINISH])
    await world.say("hi")
    result = await world.run(model, finishing())
    assert result.completion == of_tool(result.calls[-1].id)


async def test_a_completion_stands_alone_in_its_output() -> None:
    """RT-06: neither call runs, both fail with one text, one correction is used, and a lone completion succeeds."""
    world, echo, tool, viewer = World(), Tool("echo"), finishing(), Viewer()
    await world.say("hi")
    model = ScriptedModel([call("echo") + FINISH, FINISH])
    fallback = Fallback()
    host = Host(fallback=fallback)
    result = await world.run(model, echo, tool, host=host, stream=viewer, stream_id="s")
    text = "Each of these tools has to be called on its own, without any other call: finish. Nothing was run."
    assert [(record.status, record.error) for record in result.calls[:2]] == [(CallStatus.FAILED, text)] * 2
    assert asked(model)[1][-2:] == [f"tool call-1!: {told(text)}", f"tool call-2!: {told(text)}"]
    assert result.completion == of_tool(result.calls[2].id)
    assert (echo.invocations, len(tool.invocations), fallback.reasons) == ([], 1, [])
    shown = [view.call and view.call.status for view in viewer.snapshot.blocks]
    assert shown == [CallStatus.FAILED, CallStatus.FAILED, CallStatus.SUCCEEDED]


async def test_a_batch_that_breaks_the_rules_uses_one_correction_however_many_calls_it_has() -> None:
    """RT-06, and decision 3: the charge is in the output's own step, so a crash right after it forgets nothing."""
    world, fallback, steps = World(), Fallback(), itertools.count(1)
    await world.say("hi")
    mixed = call("echo") + call("echo") + FINISH
    tools = [Tool("echo"), finishing()]
    await dying_at(world, lambda name, value: name == "save_step" and next(steps) == 2).run(
        ScriptedModel([mixed, "nothing to add"]), *tools
    )
    assert [record.status for record in (await world.stored()).calls] == [CallStatus.FAILED] * 3
    model = ScriptedModel([mixed])
    result = await world.run(model, *tools, host=Host(fallback=fallback), take_over=True, limits=Limits(corrections=1))
    assert result.completion == of_fallback("corrections_exhausted")
    assert fallback.reasons == ["corrections_exhausted"]


@pytest.mark.parametrize(
    ("output", "count"), [(FINISH + FINISH, 2), (FINISH + call("close") + call("echo"), 3)], ids=["same", "two and one"]
)
async def test_only_one_completion_may_be_called_at_a_time(output: Any, count: int) -> None:
    """N-04: the text names all tools that end the run, in order of their names."""
    world, echo = World(), Tool("echo")
    tools = [finishing(), echo, finishing("close")]
    await world.say("hi")
    model = ScriptedModel([output, call("close", {"v": 2})])
    result = await world.run(model, *tools)
    text = "Only one of these tools can be called at a time: close, finish. Nothing was run."
    assert [(record.status, record.error) for record in result.calls[:-1]] == [(CallStatus.FAILED, text)] * count
    assert [line.partition(": ")[2] for line in asked(model)[1][2:]] == [told(text)] * count
    assert result.completion == of_tool(result.calls[-1].id, value='{"v":2}')
    assert [len(tool.invocations) for tool in tools] == [0, 0, 1]


async def test_a_completion_that_fails_in_the_last_iteration_has_its_own_reason() -> None:
    """N-03: corrections are left, and none is used."""
    world, model, fallback = World(), ScriptedModel([call("echo"), WRONG]), Fallback()
    await world.say("hi")
    limits = Limits(iterations=2, corrections=5)
    result = await world.run(model, Tool("echo"), finishing(), host=Host(fallback=fallback), limits=limits)
    assert result.outcome == Completed(of_fallback("budget_exhausted"), boundary=1)
    assert fallback.reasons == ["budget_exhausted"]
    assert len(model.requests) == 2


async def test_other_calls_in_the_last_iteration_count_as_a_wrong_output() -> None:
    """N-03, as decision 13 has it: they do not run, and the fallback rules apply."""
    world, echo = World(), Tool("echo")
    await world.say("hi")
    model = ScriptedModel([call("echo")])
    result = await world.run(model, echo, host=Host(fallback=Fallback()), limits=Limits(iterations=1))
    assert result.completion == of_fallback("budget_exhausted")
    assert (echo.invocations, result.calls[0].error) == ([], fill(ENGLISH.not_offered, name="echo"))


async def test_a_wrong_output_in_the_last_iteration_fails_a_run_that_has_no_fallback() -> None:
    """N-03, as decision 3 has it."""
    world = World()
    await world.say("hi")
    result = await world.run(ScriptedModel([WRONG]), finishing(), limits=Limits(iterations=1))
    assert isinstance(result.outcome, Failed)
    assert (result.outcome.kind, result.outcome.boundary) == (FailureKind.TOOL_LIMIT, 1)


@pytest.mark.parametrize(
    ("output", "end"), [(say("as far as I came"), "text"), (FINISH, "completion")], ids=["text", "completion"]
)
async def test_a_good_output_in_the_last_iteration_ends_the_run_as_ever(output: Any, end: str) -> None:
    """The end of the budget alone never asks for the fallback."""
    world, fallback = World(), Fallback()
    await world.say("hi")
    result = await world.run(
        ScriptedModel([output]), finishing(), host=Host(fallback=fallback), limits=Limits(iterations=1)
    )
    expected = Delivered("as far as I came", 1) if end == "text" else Completed(of_tool(result.calls[0].id), 1)
    assert result.outcome == expected
    assert fallback.reasons == []


@pytest.mark.parametrize(
    ("fallback", "text"),
    [
        (lambda reason: {}[reason], "the fallback for corrections_exhausted failed: KeyError: 'corrections_exhausted'"),
        (lambda reason: object(), "the fallback value cannot be written as JSON: "),
    ],
    ids=["raises", "not-json"],
)
async def test_a_fallback_that_fails_fails_the_run(fallback: Any, text: str) -> None:
    world = World()
    await world.say("hi")
    host = Host(fallback=fallback)
    result = await world.run(ScriptedModel([WRONG]), finishing(), host=host, limits=Limits(corrections=0))
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.EXTENSION
    assert result.outcome.message.startswith(text)


async def test_a_value_that_is_no_json_fails_the_call() -> None:
    world = World()

    async def finish(invocation: Invocation) -> Any:
        return Complete(object())

    await world.say("hi")
    result = await world.run(ScriptedModel([call("finish"), "then so"]), Tool("finish", finish, completion=True))
    assert result.calls[0].status == CallStatus.FAILED
    assert (result.calls[0].error or "").startswith("The tool finish gave a value that cannot be written as JSON")
    assert result.outcome == Delivered("then so", boundary=1)


async def test_another_tool_cannot_end_the_run() -> None:
    world = World()
    ordinary = Tool("finish", finishing().body)
    await world.say("hi")
    model = ScriptedModel([FINISH, "then so"])
    result = await world.run(model, ordinary)
    assert result.text == "then so"
    assert asked(model)[1][-1] == f"tool call-1!: {told('The tool finish cannot end the run.')}"


# --- fixed and superseded


@pytest.mark.parametrize("kind", STORES)
async def test_a_fixed_completion_is_delivered_on_resume(kind: str, tmp_path: Path) -> None:
    """RT-15: without asking the model, whatever has come in since."""
    with store_of(kind, tmp_path) as store:
        world = World(store)
        await world.say("hi")
        first = await world.run(ScriptedModel([FINISH]), finishing(fixed=True))
        assert first.outcome == Completed(of_tool(first.calls[0].id, fixed=True), boundary=1)
        await world.say("wait!")
        for _ in range(2):
            assert (await world.run(ScriptedModel([]), finishing(fixed=True))).outcome == first.outcome


async def test_a_fixed_completion_holds_against_input_that_arrives_meanwhile() -> None:
    """RT-15: it is not superseded even before it was saved."""
    world = World()

    async def finish(invocation: Invocation) -> Any:
        await world.say("wait!")
        return await finishing(fixed=True).body(invocation)

    await world.say("hi")
    model = ScriptedModel([FINISH])
    result = await world.run(model, Tool("finish", finish, completion=True))
    assert result.outcome == Completed(of_tool(result.calls[0].id, fixed=True), boundary=1)


async def test_a_superseded_completion_leaves_the_history() -> None:
    """RT-23: a message that arrives during the model call that makes it: the model sees no trace of it."""
    world, tool, viewer = World(), finishing(), Viewer()
    await world.say("one")
    model = Interrupted(world, [say("Done, I think.") + FINISH, call("finish", {"v": 2})], "two")
    result = await world.run(model, tool, stream=viewer, stream_id="s")
    assert asked(model) == [["user: one"], ["user: one", "user: two"]]
    assert result.outcome == Completed(of_tool(result.calls[-1].id, value='{"v":2}'), boundary=2)
    assert [invocation.arguments for invocation in tool.invocations] == [{"v": 2}]
    assert [view.id for view in viewer.snapshot.blocks] == [block.id for block in result.blocks]


def _overtaken(world: World) -> Tool:
    """A completion tool during whose first call somebody says something."""

    async def finish(invocation: Invocation) -> Any:
        if invocation.arguments == {"v": 1}:
            await world.say("two")
            await trio.sleep(1)
        return await finishing().body(invocation)

    return Tool("finish", finish, completion=True)


async def test_a_completion_that_came_about_is_superseded_all_the_same() -> None:
    """RT-23, with the message arriving while the completion tool runs: the record stays, and the model sees nothing."""
    world = World()
    await world.say("one")
    model = ScriptedModel([FINISH, call("finish", {"v": 2})])
    result = await world.run(model, _overtaken(world))
    assert asked(model) == [["user: one"], ["user: one", "user: two"]]
    assert result.outcome == Completed(of_tool(result.calls[1].id, value='{"v":2}'), boundary=2)
    assert [record.status for record in result.calls] == [CallStatus.SUCCEEDED] * 2


async def test_a_superseded_completion_stays_out_of_the_history_after_a_crash() -> None:
    """RT-23, with a crash in the turn after it."""
    world = World()
    tool = _overtaken(world)
    await world.say("one")
    process = Mortal(world)
    await process.run(ScriptedModel([FINISH, call("die")]), tool, killing(process, "die"))
    assert (await world.stored()).completion is None
    model = ScriptedModel(["hm"])
    assert (await world.run(model, tool, Tool("die"), take_over=True)).outcome == Delivered("hm", boundary=2)
    assert asked(model)[0][:3] == ["user: one", "user: two", "assistant: "]
    assert len(asked(model)[0]) == 4


async def test_a_completion_wins_over_the_text_beside_it() -> None:
    world = World()
    await world.say("hi")
    result = await world.run(ScriptedModel([say("Here it is.") + FINISH]), finishing())
    assert (result.text, result.completion) == ("", of_tool(result.calls[0].id))
    assert texts(result) == ["Here it is.", ""]
    assert [block.standing for block in result.blocks] == [None, None]
