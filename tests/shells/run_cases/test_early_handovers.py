"""Hosts that are faster than the run: calls they hand over or settle before, while and after these run.

``effects.journal`` says what such writes mean, and decision 37 that the run adopts the store's answer.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail
from turnfold.core.run import Limits
from turnfold.core.run.records import error_text
from turnfold.core.text import CHINESE, ENGLISH, fill
from turnfold.effects.outcome import Delivered, Failed, Suspended
from turnfold.effects.record import CallStatus, Handover
from turnfold.effects.tool import Await, Complete, Detached, Invocation, ToolResult
from turnfold.effects.transcript import ImagePart, TextPart

from tests.shells.run_cases.reviewing import BUY, STORES, Paying, crash, decide, giving, opened, paused
from tests.shells.world import Tool, WatchedJournal, World, asked


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return opened(request.param, tmp_path)


SETTLED = {"status": CallStatus.SUCCEEDED, "result": "by hand"}
FAILED = {"status": CallStatus.FAILED, "error": "not today"}
DETACHED = {"handover": Handover.DETACHED, "result": "order 66"}
AWAITED = {"handover": Handover.AWAIT}


@pytest.mark.parametrize(
    ("written", "line"),
    [
        (SETTLED, "tool call-1: by hand"),
        (FAILED, f"tool call-1!: {error_text('not today')}"),
        (DETACHED, "tool call-1: order 66"),
        ({"handover": Handover.SUBMITTED, "result": "form 7"}, "tool call-1: form 7"),
        (AWAITED, ""),
    ],
)
async def test_a_call_that_was_taken_before_it_started_does_not_start(
    world: World, written: dict[str, Any], line: str
) -> None:
    """Decision 37: the host wrote while the record was being saved as running."""

    async def take(name: str, value: Any) -> None:
        if name == "save_call" and value.status == CallStatus.RUNNING:
            await world.settle("pay", **written)

    pay = Paying(policy=None)
    await world.say("buy it")
    model = ScriptedModel([call("pay", BUY), "ok"])
    result = await world.run(model, pay, journal=WatchedJournal(world.store.journal("run"), take))
    assert pay.invocations == []
    assert result.calls[0] == await world.call("pay")
    if line:
        assert asked(model)[1][-1] == line
    else:
        assert result.outcome == Suspended((result.calls[0].id,), boundary=1)


@pytest.mark.parametrize("answer", ["mine", Await({"op": 1}), Detached("my receipt", {"op": 1}), ValueError("mine")])
@pytest.mark.parametrize(
    ("written", "line"),
    [
        (SETTLED, "tool call-1: by hand"),
        (FAILED, f"tool call-1!: {error_text('not today')}"),
        (DETACHED, "tool call-1: order 66"),
    ],
)
async def test_what_the_host_writes_while_a_call_runs_is_its_outcome(
    written: dict[str, Any], line: str, answer: Any
) -> None:
    """J5 to J7 through a run: whatever the tool answers afterwards. A hand-over may still tell of its payload."""
    world = World()

    async def body(invocation: Invocation) -> Any:
        await world.settle("pay", **written)
        if isinstance(answer, Exception):
            raise answer
        return answer

    await world.say("buy it")
    model = ScriptedModel([call("pay", BUY), "ok"])
    result = await world.run(model, Paying(body=body, policy=None))
    record = await world.call("pay")
    assert result.outcome == Delivered("ok", boundary=1)
    assert asked(model)[1][-1] == line
    assert record.result == written.get("result")
    told = "handover" in written and isinstance(answer, Await | Detached)
    assert record.payload == ('{"op":1}' if told else "")
    assert record.handover == written.get("handover", Handover.NONE)


@pytest.mark.parametrize(
    ("answer", "result"), [("mine", None), (Await({"op": 1}), None), (Detached("my receipt"), "my receipt")]
)
async def test_a_call_that_was_taken_while_it_ran_waits_for_its_owner(
    world: World, answer: Any, result: str | None
) -> None:
    """An early hand-over as awaited: the tool's own result is none, and its receipt is."""

    async def body(invocation: Invocation) -> Any:
        await world.settle("pay", **AWAITED)
        return answer

    await world.say("buy it")
    found = await world.run(ScriptedModel([call("pay", BUY)]), Paying(body=body, policy=None))
    record = await world.call("pay")
    assert found.outcome == Suspended((record.id,), boundary=1)
    assert (record.handover, record.result) == (Handover.AWAIT, result)


LATE = [1, 5, 9]
"""When a result arrives, in seconds: before its tool answers ``Await``, after that, or when the run is suspended."""


@pytest.mark.parametrize(("first", "second"), list(product(LATE, LATE)))
async def test_results_from_outside_may_come_in_any_order(first: int, second: int) -> None:
    """Both tools dispatch at once, which hands the call over, and answer after 3 seconds; the batch takes 7."""
    world, started = World(), list[str]()

    async def dispatch(invocation: Invocation) -> Await:
        started.append(invocation.name)
        await world.settle(invocation.name, handover=Handover.AWAIT, payload='{"queue":1}')
        await trio.sleep(3)
        return Await({"queue": 2})

    async def slow(invocation: Invocation) -> str:
        await trio.sleep(7)
        return "seen"

    async def settle(name: str, seconds: int) -> None:
        await trio.sleep(seconds)
        await world.settle(name, status=CallStatus.SUCCEEDED, result=f"{name}: done")

    tools = Tool("one", dispatch), Tool("two", dispatch), Tool("look", slow)
    model = ScriptedModel([call("one") + call("two") + call("look"), "ok"])
    await world.say("buy it")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(settle, "one", first)
        nursery.start_soon(settle, "two", second)
        result = await world.run(model, *tools)
    if max(first, second) == 1:
        assert result.outcome == Delivered("ok", boundary=1)
    else:
        late = [record.id for record, at in zip(result.calls, (first, second), strict=False) if at > 1]
        assert result.outcome == Suspended(tuple(late), boundary=1)
        result = await world.run(model, *tools)
    assert result.outcome == Delivered("ok", boundary=1)
    assert asked(model)[1][2:] == ["tool call-1: one: done", "tool call-2: two: done", "tool call-3: seen"]
    assert [record.payload for record in result.calls] == ['{"queue":1}', '{"queue":1}', ""]
    assert started == ["one", "two"]


async def test_a_dispatch_that_the_run_did_not_live_to_note_is_waited_for(world: World) -> None:
    """Decision 4: the host handed the call over in the transaction of its dispatch, and then the process died."""

    async def dispatch(invocation: Invocation) -> Await:
        await world.settle("pay", handover=Handover.AWAIT, payload='{"queue":1}')
        return Await({"queue": 1})

    pay = Paying(body=dispatch, policy=None)
    await world.say("buy it")
    died = ScriptedModel([call("pay", BUY)])
    await crash(world, pay, at=lambda name, value: getattr(value, "status", "") == CallStatus.WAITING, model=died)
    record = await world.call("pay")
    assert (record.status, record.handover) == (CallStatus.RUNNING, Handover.AWAIT)
    result = await world.run(ScriptedModel([]), pay, take_over=True)
    assert result.outcome == Suspended((record.id,), boundary=1)
    await world.settle("pay", status=CallStatus.SUCCEEDED, result="paid")
    model = ScriptedModel(["ok"])
    await world.run(model, pay)
    assert asked(model)[0][-1] == "tool call-1: paid"
    assert pay.amounts == [5]


async def test_a_result_of_the_host_takes_the_place_of_a_structured_one(world: World) -> None:
    """Decision 38: it clears the parts, so that a resume does not show what the host has corrected."""
    draw = Tool("draw", giving(ToolResult((TextPart("a chart"), ImagePart("aGk=", "image/png")))))
    await world.say("draw it")
    assert isinstance((await world.run(ScriptedModel([call("draw"), fail()]), draw)).outcome, Failed)
    assert (await world.call("draw")).parts is not None
    await world.settle("draw", result="the chart was wrong")
    model = ScriptedModel(["ok"])
    await world.run(model, draw)
    assert asked(model)[0][-1] == "tool call-1: the chart was wrong"


async def test_a_host_may_settle_a_paused_call_without_a_decision(world: World) -> None:
    """It then waits for nobody, cannot be decided any more, and did not run."""
    pay = Paying()
    await paused(world, pay)
    await world.settle("pay", **SETTLED)
    model = ScriptedModel(["ok"])
    result = await world.run(model, pay)
    assert (result.calls[0].status, result.calls[0].decision) == (CallStatus.SUCCEEDED, None)
    assert asked(model)[0][-1] == "tool call-1: by hand"
    assert pay.invocations == []


async def test_a_host_may_take_a_paused_call_over(world: World) -> None:
    """It carries the call out by itself: the run does not wait for a decision, and starts nothing."""
    pay = Paying()
    await paused(world, pay)
    await world.settle("pay", **DETACHED)
    model = ScriptedModel(["ok"])
    result = await world.run(model, pay)
    assert result.outcome == Delivered("ok", boundary=1)
    assert asked(model)[0][-1] == "tool call-1: order 66"
    assert pay.invocations == []


async def test_a_call_that_is_decided_and_settled_at_once_does_not_run(world: World) -> None:
    """One write of the host's with both: the outcome is there, so nothing is left to carry out."""
    pay = Paying()
    record = await paused(world, pay)
    await decide(world)
    await world.settle("pay", **SETTLED)
    await world.run(ScriptedModel(["ok"]), pay)
    found = await world.call("pay")
    assert (found.result, found.decision is not None, found.digest) == ("by hand", True, record.digest)
    assert pay.invocations == []


async def test_a_host_that_settles_an_approved_call_at_the_last_moment_is_heard(world: World) -> None:
    """Decision 37, while the approved call is being saved as running."""

    async def take(name: str, value: Any) -> None:
        if name == "save_call" and value.status == CallStatus.RUNNING:
            await world.settle("pay", **SETTLED)

    pay = Paying()
    await paused(world, pay)
    await decide(world)
    model = ScriptedModel(["ok"])
    await world.run(model, pay, journal=WatchedJournal(world.store.journal("run"), take))
    assert asked(model)[0][-1] == "tool call-1: by hand"
    assert pay.invocations == []


async def test_a_result_that_comes_after_the_answer_changes_nothing_that_was_said(world: World) -> None:
    """Decision 2: the outcome stands, however often the host writes; the record keeps the last of it."""
    work = Tool("work", giving(Detached("started")))
    await world.say("work")
    said = await world.run(ScriptedModel([call("work"), "it is under way"]), work)
    for text in ("done", "done again"):
        await world.settle("work", status=CallStatus.SUCCEEDED, result=text)
        again = await world.run(ScriptedModel([]), work)
        assert again.outcome == said.outcome == Delivered("it is under way", boundary=1)
    assert (await world.call("work")).result == "done again"


async def test_a_run_in_chinese_tells_the_model_so_in_chinese() -> None:
    """What a call that was edited shows, whatever the language of its result."""
    world, pay = World(words=CHINESE), Paying()
    await paused(world, pay)
    await decide(world, arguments='{"amount":3}')
    model = ScriptedModel(["好"])
    await world.run(model, pay)
    note = fill(CHINESE.edited, arguments='{"amount":3}')
    assert asked(model)[0][-1] == f'tool call-1: {note}pay:{{"amount":3}}'


async def test_only_a_completion_tool_ends_a_run() -> None:
    """Decision 42: ``Complete`` of any other tool fails its call, which is no reason for a correction."""
    world, tool = World(), Tool("look", giving(Complete({"v": 1})))
    await world.say("hi")
    model = ScriptedModel([call("look"), "ok"])
    result = await world.run(model, tool, limits=Limits(corrections=0))
    (record,) = result.calls
    text = fill(ENGLISH.cannot_complete, name="look")
    assert (record.status, record.error, record.completion) == (CallStatus.FAILED, text, None)
    assert result.outcome == Delivered("ok", boundary=1)
    assert asked(model)[1][-1] == f"tool call-1!: {error_text(text)}"
