"""Calls that somebody else finishes: submitted, awaited, detached; what the model sees of them, and when."""

from pathlib import Path
from typing import Any

import pytest
from turnfold.adapters.models.scripted import ScriptedModel, call, fail
from turnfold.adapters.stores import MemoryStore
from turnfold.adapters.tools import ToolContext, tool
from turnfold.core.run import Limits
from turnfold.core.text import ENGLISH, fill
from turnfold.effects.journal import CallRejected, CallUpdate
from turnfold.effects.outcome import Completed, Delivered, Failed, Suspended
from turnfold.effects.question import CallPolicy, Confirm, Submit
from turnfold.effects.record import CallStatus, Handover, ToolCall
from turnfold.effects.tool import Await, Invocation
from turnfold.effects.values import replace
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import STORES, always, asking, detaching, finishing, store_of, told
from tests.shells.world import Tool, Viewer, World, asked, now

SUBMIT = CallPolicy(submit=Submit("Handed in as number 7.", {"to": "accounts"}))


def host(name: str, policy: CallPolicy | None) -> Host:
    return Host(policies={name: always(policy)})


# --- submitted


@pytest.mark.parametrize("kind", STORES)
async def test_a_submitted_call_does_not_run_and_gives_its_receipt(kind: str, tmp_path: Path) -> None:
    """RT-07: the record awaits a decision, handed over as submitted, with its payload; the run goes on."""
    with store_of(kind, tmp_path) as store:
        world, pay, viewer = World(store), Tool("pay", side_effects=True), Viewer()
        number = await world.say("hi")
        model = ScriptedModel([call("pay", {"x": "5"}), "It is in their hands."])
        result = await world.run(model, pay, host=host("pay", SUBMIT), stream=viewer, stream_id="s")
        assert result.outcome == Delivered("It is in their hands.", boundary=number)
        assert pay.invocations == []
        assert asked(model)[1][-1] == "tool call-1: Handed in as number 7."
        record = await world.call("pay")
        assert (record.status, record.handover) == (CallStatus.AWAITING_DECISION, Handover.SUBMITTED)
        assert (record.payload, record.result) == ('{"to":"accounts"}', "Handed in as number 7.")
        assert result.calls == (record,)
        shown = viewer.snapshot.blocks[0].call
        assert shown is not None
        assert shown.status == CallStatus.AWAITING_DECISION


async def test_a_journal_may_refuse_a_submission() -> None:
    """RT-08: the model sees the reason, the call failed and was never handed over, and the run goes on."""

    def admit(run_id: str, record: ToolCall) -> None:
        raise CallRejected("not on a Sunday")

    world, pay = World(MemoryStore(now=now, admit=admit)), Tool("pay", side_effects=True)
    await world.say("hi")
    model = ScriptedModel([call("pay"), "Tomorrow, then."])
    result = await world.run(model, pay, host=host("pay", SUBMIT))
    assert result.outcome == Delivered("Tomorrow, then.", boundary=1)
    assert asked(model)[1][-1] == f"tool call-1!: {told('not on a Sunday')}"
    record = await world.call("pay")
    assert (record.status, record.error) == (CallStatus.FAILED, "not on a Sunday")
    assert (record.handover, record.payload, record.result) == (Handover.NONE, "", None)
    assert pay.invocations == []


async def test_a_policy_that_fails_fails_its_call() -> None:
    """N-12: the model sees the text, the tool does not run, and other calls of the batch do."""

    async def unsure(invocation: Invocation) -> CallPolicy:
        raise LookupError("nobody knows the limit")

    world, pay, echo = World(), Tool("pay"), Tool("echo")
    await world.say("hi")
    model = ScriptedModel([call("pay") + call("echo"), "done"])
    result = await world.run(model, pay, echo, host=Host(policies={"pay": unsure}))
    assert [record.status for record in result.calls] == [CallStatus.FAILED, CallStatus.SUCCEEDED]
    assert asked(model)[1][-2] == f"tool call-1!: {told('nobody knows the limit')}"
    assert (len(pay.invocations), len(echo.invocations)) == (0, 1)


async def test_a_policy_cannot_submit_and_confirm_at_once() -> None:
    """N-12: the call fails with a text that says so, and is neither."""
    world, pay = World(), Tool("pay")
    await world.say("hi")
    model = ScriptedModel([call("pay"), "done"])
    result = await world.run(model, pay, host=host("pay", replace(SUBMIT, confirm=Confirm())))
    text = fill(ENGLISH.submit_and_confirm, name="pay")
    assert (result.calls[0].status, result.calls[0].error) == (CallStatus.FAILED, text)
    assert result.calls[0].handover is Handover.NONE
    assert asked(model)[1][-1] == f"tool call-1!: {told(text)}"
    assert (result.text, pay.invocations) == ("done", [])


async def test_a_policy_that_gives_something_else_fails_its_call() -> None:
    """N-12"""
    wrong: Any = "yes"
    world, pay = World(), Tool("pay")
    await world.say("hi")
    result = await world.run(ScriptedModel([call("pay"), "done"]), pay, host=host("pay", wrong))
    assert (result.calls[0].status, result.text) == (CallStatus.FAILED, "done")
    assert "expected CallPolicy, got str" in (result.calls[0].error or "")


async def _await(invocation: Invocation) -> Any:
    return Await()


async def _detach(invocation: Invocation) -> Any:
    return await detaching().body(invocation)


@pytest.mark.parametrize(
    ("policy", "body", "text"),
    [
        (SUBMIT, None, fill(ENGLISH.cannot_hand_over, name="finish")),
        (CallPolicy(confirm=Confirm()), None, fill(ENGLISH.cannot_confirm, name="finish")),
        (None, _await, ENGLISH.cannot_await),
        (None, _detach, ENGLISH.cannot_detach),
    ],
    ids=["submit", "confirm", "await", "detach"],
)
async def test_a_completion_tool_belongs_to_the_run(policy: CallPolicy | None, body: Any, text: str) -> None:
    """Decision 18: it cannot be submitted, paused, awaited or detached; that fails the call and uses a correction."""
    world = World()
    ending = Tool("finish", body or finishing().body, completion=True)
    await world.say("hi")
    model = ScriptedModel([call("finish", {"v": 1})] * 2)
    both = replace(host("finish", policy), fallback=str)
    result = await world.run(model, ending, host=both)
    assert isinstance(result.outcome, Completed)
    assert result.outcome.completion.reason == "corrections_exhausted"
    assert [(record.status, record.error) for record in result.calls] == [(CallStatus.FAILED, text)] * 2
    assert [record.handover for record in result.calls] == [Handover.NONE] * 2


# --- awaited


@pytest.mark.parametrize("kind", STORES)
async def test_an_awaited_call_suspends_the_run_until_its_result_is_there(kind: str, tmp_path: Path) -> None:
    """RT-10: resumed too early the run waits on; with the result, the same turn goes on with it."""
    with store_of(kind, tmp_path) as store:
        world, ask = World(store), asking()
        number = await world.say("hi")
        result = await world.run(ScriptedModel([call("ask", {"x": "?"})]), ask)
        (record,), (block,) = result.calls, result.blocks
        assert ask.invocations[0].can_suspend
        assert result.outcome == Suspended((record.id,), boundary=number)
        assert (block.call_id, record.handover, record.status) == (record.id, Handover.AWAIT, CallStatus.WAITING)
        assert record.payload == f'{{"for":"{record.id}"}}'
        assert (record.completed_at, record.result) == (None, None)
        for _ in range(2):
            again = await world.run(ScriptedModel([]), ask)
            assert (again.outcome, again.calls) == (result.outcome, result.calls)
        await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
        model = ScriptedModel(["It is 42."])
        last = await world.run(model, ask)
        assert last.outcome == Delivered("It is 42.", boundary=number)
        assert asked(model) == [["user: hi", "assistant: ", "tool call-1: 42"]]
        assert len(ask.invocations) == 1
        assert (await world.call("ask")).handover is Handover.AWAIT


async def test_a_result_that_is_there_before_the_hand_over_does_not_suspend() -> None:
    """Decision 37: the await is settled already, so the run goes on at once."""
    world = World()

    async def ask(invocation: Invocation) -> Any:
        await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
        return Await({"to": "Ann"})

    await world.say("hi")
    model = ScriptedModel([call("ask"), "It is 42."])
    result = await world.run(model, Tool("ask", ask))
    assert result.outcome == Delivered("It is 42.", boundary=1)
    assert asked(model)[1][-1] == "tool call-1: 42"


async def test_a_run_without_a_journal_waits_as_often_as_it_must() -> None:
    """RT-20: what it gives back has state, can be resumed, and can be resumed again."""
    world, ask = World(), asking()
    await world.say("hi")
    result = await world.run(ScriptedModel([call("ask")]), ask, journal=None)
    waits_for = result.outcome
    assert isinstance(waits_for, Suspended)
    for _ in range(2):
        assert result.resume is not None
        assert result.resume.state
        result = await world.run(ScriptedModel([]), ask, journal=None, resume=result.resume)
        assert result.outcome == waits_for
    left = result.resume
    assert left is not None
    settled = tuple(replace(record, status=CallStatus.SUCCEEDED, result="42") for record in left.calls)
    model = ScriptedModel(["It is 42."])
    result = await world.run(model, ask, journal=None, resume=replace(left, calls=settled))
    assert result.outcome == Delivered("It is 42.", boundary=1)
    assert result.resume is not None
    assert result.resume.outcome == result.outcome


@pytest.mark.parametrize("newer", [False, True], ids=["nothing new", "newer input"])
async def test_a_resumed_turn_with_newer_input_gets_a_full_budget(newer: bool) -> None:
    """RT-24: alone, the turn goes on with what is left of its budget; with newer input a new one begins."""
    world, tools = World(), [asking(), Tool("echo")]
    await world.say("hi")
    limits = Limits(iterations=2)
    await world.run(ScriptedModel([call("ask")]), *tools, limits=limits)
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    if not newer:
        model = ScriptedModel(["done"])
        await world.run(model, *tools, limits=limits)
        assert [(request.notice, request.tools) for request in model.requests] == [(ENGLISH.final_notice, ())]
        return
    await world.say("and this?")
    model = ScriptedModel([call("echo"), "done"])
    result = await world.run(model, *tools, limits=limits)
    assert result.outcome == Delivered("done", boundary=2)
    assert [request.notice for request in model.requests] == ["", ENGLISH.final_notice]
    assert asked(model)[0][2:] == ["tool call-1: 42", "user: and this?"]
    assert len(tools[1].invocations) == 1


@pytest.mark.parametrize(
    ("settled", "line"),
    [
        ({"status": "expired"}, f"tool call-1!: {fill(ENGLISH.cancelled, name='ask', call_id='call-1')}"),
        ({"status": CallStatus.SUCCEEDED, "result": "42"}, "tool call-1: 42"),
        ({"status": CallStatus.FAILED, "error": "nobody home"}, f"tool call-1!: {told('nobody home')}"),
    ],
)
async def test_an_awaited_call_that_is_settled_without_a_result_shows_a_note(settled: Any, line: str) -> None:
    """N-13: a status alone leaves the model with the note that the call was dropped."""
    world, ask = World(), asking()
    await world.say("hi")
    await world.run(ScriptedModel([call("ask")]), ask)
    await world.settle("ask", **settled)
    model = ScriptedModel(["so"])
    assert (await world.run(model, ask)).text == "so"
    assert asked(model)[0][-1] == line


async def test_a_run_waits_for_all_that_is_awaited() -> None:
    world, ask = World(), asking()
    await world.say("hi")
    first = await world.run(ScriptedModel([call("ask") + call("ask")]), ask)
    ids = tuple(record.id for record in first.calls)
    assert first.outcome == Suspended(ids, boundary=1)
    await world.store.settle("run", CallUpdate(ids[0], status=CallStatus.SUCCEEDED, result="one"))
    assert (await world.run(ScriptedModel([]), ask)).outcome == Suspended(ids[1:], boundary=1)
    await world.store.settle("run", CallUpdate(ids[1], status=CallStatus.SUCCEEDED, result="two"))
    model = ScriptedModel(["both"])
    assert (await world.run(model, ask)).text == "both"
    assert asked(model)[0][-2:] == ["tool call-1: one", "tool call-2: two"]


async def test_waiting_is_refused_where_nobody_can_wait() -> None:
    """Decision 18: inside ``without_suspend`` a tool that returns ``Await`` fails, and the model is told."""
    seen: list[bool] = []

    @tool
    async def ask(context: ToolContext) -> Any:
        seen.append(context.can_suspend)
        return Await()

    async def outer(invocation: Invocation) -> Any:
        inner = replace(invocation.without_suspend(), arguments={})

        async def progress(update: Any) -> None:
            return None

        return await ask.run(inner, progress)

    world = World()
    await world.say("hi")
    model = ScriptedModel([call("ask") + call("outer"), "done"])
    result = await world.run(model, ask, Tool("outer", outer))  # type: ignore[arg-type]
    assert seen == [True, False]
    waiting, failed = result.calls
    assert waiting.handover is Handover.AWAIT
    assert (failed.status, failed.handover) == (CallStatus.FAILED, Handover.NONE)
    assert failed.error == "the tool asked to wait for an outside result, which is not possible here"


# --- detached


@pytest.mark.parametrize("kind", STORES)
async def test_a_detached_call_gives_its_receipt_and_goes_on_running(kind: str, tmp_path: Path) -> None:
    """RT-09"""
    with store_of(kind, tmp_path) as store:
        world = World(store)
        number = await world.say("hi")
        model = ScriptedModel([call("order"), "It is under way."])
        result = await world.run(model, detaching())
        assert result.outcome == Delivered("It is under way.", boundary=number)
        assert asked(model)[1][-1] == "tool call-1: order 66 is on its way"
        record = await world.call("order")
        assert (record.status, record.handover) == (CallStatus.RUNNING, Handover.DETACHED)
        assert (record.result, record.payload) == ("order 66 is on its way", '{"order":66}')
        assert record.completed_at is None


@pytest.mark.parametrize(
    ("settled", "line"),
    [
        ({}, "tool call-1: order 66 is on its way"),
        ({"status": CallStatus.SUCCEEDED, "result": "delivered"}, "tool call-1: delivered"),
        ({"status": CallStatus.FAILED, "error": "lost"}, "tool call-1!: order 66 is on its way"),
        ({"status": CallStatus.FAILED, "error": "lost", "result": "gone"}, "tool call-1!: gone"),
    ],
    ids=["not settled", "result", "error", "both"],
)
async def test_a_detached_call_shows_what_its_host_wrote_or_else_the_receipt(settled: Any, line: str) -> None:
    """N-14: never the error; settled while the run waited for another call of the same output."""
    world, tools = World(), [detaching(), asking()]
    await world.say("hi")
    await world.run(ScriptedModel([call("order") + call("ask")]), *tools)
    if settled:
        await world.settle("order", **settled)
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
    model = ScriptedModel(["so"])
    assert (await world.run(model, *tools)).text == "so"
    assert asked(model)[0][-2:] == [line, "tool call-2: 42"]


async def test_a_detached_call_is_not_settled_by_a_resume() -> None:
    """It stays with its owner, also where the run failed."""
    world = World()
    await world.say("hi")
    failed = await world.run(ScriptedModel([call("order"), fail()]), detaching())
    assert isinstance(failed.outcome, Failed)
    result = await world.run(ScriptedModel(["done"]), detaching())
    assert (result.calls[0].status, result.calls[0].handover) == (CallStatus.RUNNING, Handover.DETACHED)
