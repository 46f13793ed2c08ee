"""Runs that end with a structured value, resumed: crashes around the value, newer input, and corrections that last."""

from pathlib import Path
from typing import Any

import pytest
from turnfold.adapters.models.scripted import ScriptedModel, call, say
from turnfold.core.text import ENGLISH
from turnfold.effects.outcome import Completed, Delivered, Failed
from turnfold.effects.record import CallStatus, CompletionSource, Standing
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import (
    STORES,
    Fallback,
    Interrupted,
    asking,
    dying_at,
    finishing,
    killing,
    of_fallback,
    of_tool,
    store_of,
)
from tests.shells.world import Mortal, Tool, Viewer, World, asked

FINISH = call("finish", {"v": 1})
WRONG = call("finish", {"v": -1})


# --- crashes


def _after_success(world: World) -> Mortal:
    """A process that dies once a completion call is stored as succeeded, before the next step."""
    succeeded: list[str] = []

    def when(name: str, value: Any) -> bool:
        if name == "save_call" and value.status == CallStatus.SUCCEEDED:
            succeeded.append(value.id)
        return name == "save_step" and bool(succeeded)

    return dying_at(world, when)


@pytest.mark.parametrize("kind", STORES)
async def test_a_completion_whose_step_is_missing_counts(kind: str, tmp_path: Path) -> None:
    """N-08: the record succeeded, so the run ends with its value, and the tool does not run again."""
    with store_of(kind, tmp_path) as store:
        world = World(store)
        await world.say("hi")
        await _after_success(world).run(ScriptedModel([FINISH]), finishing())
        stored = await world.stored()
        assert (stored.completion, stored.outcome, stored.calls[0].status) == (None, None, CallStatus.SUCCEEDED)
        again = finishing()
        result = await world.run(ScriptedModel([]), again, take_over=True)
        assert result.outcome == Completed(of_tool(stored.calls[0].id), boundary=1)
        assert (await world.stored()).completion == result.completion
        assert again.invocations == []


async def test_a_failed_completion_whose_step_is_missing_is_charged_on_resume() -> None:
    """Decision 3: the records say what happened, so a resume comes to the same end."""
    world = World()
    await world.say("hi")
    failed: list[str] = []

    def when(name: str, value: Any) -> bool:
        if name == "save_call" and value.status == CallStatus.FAILED:
            failed.append(value.id)
        return name == "save_step" and bool(failed)

    await dying_at(world, when).run(ScriptedModel([WRONG]), finishing())
    fallback = Fallback()
    result = await world.run(ScriptedModel([WRONG]), finishing(), host=Host(fallback=fallback), take_over=True)
    assert result.completion == of_fallback("corrections_exhausted")
    assert len(result.calls) == 2


@pytest.mark.parametrize("traits", [{}, {"side_effects": True, "replayable": True}], ids=["pure", "replayable"])
async def test_a_completion_output_of_which_nothing_came_never_was(traits: Any) -> None:
    """N-09: the process died while the tool ran; output, blocks and records are gone, and the model is asked again."""
    world, viewer = World(), Viewer()
    await world.say("hi")
    process = Mortal(world)
    await process.run(ScriptedModel([say("Done.") + FINISH]), killing(process, "finish", completion=True, **traits))
    assert [record.status for record in (await world.stored()).calls] == [CallStatus.RUNNING]
    model = ScriptedModel([call("finish", {"v": 2})])
    result = await world.run(model, finishing(**traits), take_over=True, stream=viewer, stream_id="s")
    assert asked(model) == [["user: hi"]]
    assert result.completion == of_tool(result.calls[0].id, value='{"v":2}')
    assert len(result.calls) == 1
    stored = await world.stored()
    assert (stored.calls, stored.blocks) == (result.calls, result.blocks)
    assert [view.id for view in viewer.snapshot.blocks] == [block.id for block in result.blocks]


async def test_a_completion_with_effects_that_was_cut_off_needs_review() -> None:
    """N-09 as decision 6 has it: it is not erased and asked again."""
    world = World()
    await world.say("hi")
    process = Mortal(world)
    await process.run(ScriptedModel([FINISH]), killing(process, "finish", completion=True, side_effects=True))
    model = ScriptedModel(["I do not know."])
    result = await world.run(model, finishing(side_effects=True), take_over=True)
    assert (result.calls[0].status, result.text) == (CallStatus.NEEDS_REVIEW, "I do not know.")
    assert asked(model)[0][-1] == f"tool call-1: {ENGLISH.needs_review}"


@pytest.mark.parametrize("newer", [False, True], ids=["nothing new", "newer input"])
@pytest.mark.parametrize("crash", [False, True], ids=["delivered", "step missing"])
async def test_a_completion_that_is_not_fixed_gives_way_to_newer_input_on_resume(crash: bool, newer: bool) -> None:
    """N-10: alone it is delivered again; with newer input it is dropped and the model sees no trace of it."""
    world = World()
    await world.say("one")
    if crash:
        await _after_success(world).run(ScriptedModel([FINISH]), finishing())
    else:
        await world.run(ScriptedModel([FINISH]), finishing())
    record_id = (await world.stored()).calls[0].id
    if not newer:
        result = await world.run(ScriptedModel([]), finishing(), take_over=crash)
        assert result.outcome == Completed(of_tool(record_id), boundary=1)
        return
    await world.say("two")
    model = ScriptedModel(["two!"])
    result = await world.run(model, finishing(), take_over=crash)
    assert result.outcome == Delivered("two!", boundary=2)
    assert asked(model) == [["user: one", "user: two"]]
    assert (await world.stored()).completion is None
    assert [record.id for record in result.calls] == [record_id]
    await world.say("three")
    last = ScriptedModel(["three!"])
    await world.run(last, finishing())
    assert asked(last) == [["user: one", "user: two", "assistant: two!", "user: three"]]


async def test_a_superseded_completion_stays_superseded_when_the_next_turn_fails() -> None:
    """Decision 2, for values: it is never delivered after all."""
    world = World()
    await world.say("one")
    model = Interrupted(world, [FINISH], "two")
    failed = await world.run(model, finishing())
    assert isinstance(failed.outcome, Failed)
    again = ScriptedModel(["two!"])
    result = await world.run(again, finishing())
    assert result.outcome == Delivered("two!", boundary=2)
    assert asked(again) == [["user: one", "user: two"]]
    assert [block.standing for block in result.blocks if block.standing] in ([], [Standing.SUPERSEDED])


# --- corrections


@pytest.mark.parametrize("kind", STORES)
async def test_a_correction_survives_a_crash_after_the_batch(kind: str, tmp_path: Path) -> None:
    """RT-26: used in the first batch, with a suspension in the second; after the resume there is none left."""
    with store_of(kind, tmp_path) as store:
        world, fallback = World(store), Fallback()
        tools = [finishing(), asking()]
        await world.say("hi")
        first = await world.run(ScriptedModel([WRONG, call("ask")]), *tools, host=Host(fallback=fallback))
        assert [record.status for record in first.calls] == [CallStatus.FAILED, CallStatus.WAITING]
        await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
        model = ScriptedModel([WRONG])
        result = await world.run(model, *tools, host=Host(fallback=fallback))
        assert result.completion == of_fallback("corrections_exhausted")
        assert fallback.reasons == ["corrections_exhausted"]


async def test_corrections_are_whole_again_after_an_answer() -> None:
    """Decision 41: limits per run count from the last delivered outcome."""
    world, fallback = World(), Fallback()
    host = Host(fallback=fallback)
    for text in ("one", "two"):
        await world.say(text)
        result = await world.run(ScriptedModel([WRONG, FINISH]), finishing(), host=host)
        assert result.completion is not None
        assert result.completion.source is CompletionSource.TOOL
    assert fallback.reasons == []


async def test_a_call_that_failed_after_a_completion_tool_answered_with_an_error() -> None:
    """An error result of a completion tool is a wrong output like an exception."""
    world, fallback = World(), Fallback()

    async def refuse(invocation: Invocation) -> ToolResult:
        return ToolResult("not like this", is_error=True)

    await world.say("hi")
    tool = Tool("finish", refuse, completion=True)
    result = await world.run(ScriptedModel([FINISH, FINISH]), tool, host=Host(fallback=fallback))
    assert fallback.reasons == ["corrections_exhausted"]
    assert [record.error for record in result.calls] == ["not like this"] * 2
