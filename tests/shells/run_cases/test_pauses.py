"""How a call comes to be paused, and what stands in the way of it: DC-06 and DC-14 to DC-17."""

from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.adapters.stores import MemoryStore, SqliteStore
from turnfold.adapters.tools import ToolContext, ToolDefinitionError, tool
from turnfold.core.run import Extension
from turnfold.core.run.extension import CallOutcome, Origin
from turnfold.core.run.records import error_text
from turnfold.core.text import ENGLISH
from turnfold.effects.journal import CallRejected
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.question import CallPolicy, Confirm, Submit
from turnfold.effects.record import CallStatus, Handover, ToolCall
from turnfold.effects.tool import Await
from turnfold.shells.host import Host

from tests.shells.run_cases.reviewing import (
    BUY,
    STORES,
    Paying,
    confirm,
    decide,
    giving,
    opened,
    paused,
    policy_of,
)
from tests.shells.world import Tool, WatchedJournal, World, answer_after, asked, now

SUBMIT = CallPolicy(submit=Submit("order 66 is on its way", {"order": 66}))
CONFIRM = CallPolicy(confirm=Confirm())


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return opened(request.param, tmp_path)


# --- the host and the journal have a say


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
@pytest.mark.parametrize("policy", [SUBMIT, CONFIRM])
async def test_a_host_can_refuse_a_call_that_would_wait_for_it(policy: CallPolicy, kind: Any, tmp_path: Path) -> None:
    """DC-06: the call fails with the reason, and the run goes on."""

    def refuse(run_id: str, record: ToolCall) -> None:
        raise CallRejected("nobody is at work today")

    where = [tmp_path / "runs.db"] if kind is SqliteStore else []
    world, pay = World(kind(*where, now=now, admit=refuse)), Paying(policy=policy_of(policy))
    await world.say("buy it")
    model = ScriptedModel([call("pay", BUY), "a pity"])
    result = await world.run(model, pay)
    (record,) = result.calls
    assert result.outcome == Delivered("a pity", boundary=1)
    assert (record.status, record.error) == (CallStatus.FAILED, "nobody is at work today")
    assert (record.handover, record.payload, record.result) == (Handover.NONE, "", None)
    assert record == await world.call("pay")
    assert asked(model)[1][-1] == f"tool call-1!: {error_text('nobody is at work today')}"
    assert pay.invocations == []


@pytest.mark.parametrize(
    ("policy", "answer", "status"),
    [
        (None, "paid", CallStatus.RUNNING),
        (None, "paid", CallStatus.SUCCEEDED),
        (None, Await(), CallStatus.WAITING),
        (CONFIRM, "paid", CallStatus.RUNNING),
    ],
)
async def test_no_other_write_can_be_refused(policy: CallPolicy | None, answer: Any, status: str) -> None:
    """DC-06: a refusal of anything else is a journal that failed, also for a call that was approved."""

    async def refuse(name: str, value: Any) -> None:
        if name == "save_call" and value.status == status:
            raise CallRejected("no")

    async def body(invocation: Any) -> Any:
        return answer

    world, pay = World(), Paying(body=body, policy=policy_of(policy))
    journal = WatchedJournal(world.store.journal("run"), before=refuse)
    await world.say("buy it")
    result = await world.run(ScriptedModel([call("pay", BUY)]), pay, journal=journal)
    if policy is not None:
        await decide(world)
        result = await world.run(ScriptedModel([]), pay, journal=journal)
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.JOURNAL
    assert result.outcome.message == "the journal refused to save a call: no"


@pytest.mark.parametrize("policy", [SUBMIT, CONFIRM])
async def test_a_handover_that_could_not_be_written_is_none(policy: CallPolicy) -> None:
    """DC-17: the run ends, and what it shows is a call that failed, not one that somebody will see to."""

    async def break_down(name: str, value: Any) -> None:
        if name == "save_call":
            raise OSError("disk full")

    world, pay = World(), Paying(policy=policy_of(policy))
    await world.say("buy it")
    journal = WatchedJournal(world.store.journal("run"), before=break_down)
    result = await world.run(ScriptedModel([call("pay", BUY)]), pay, journal=journal)
    (record,) = result.calls
    assert result.outcome == Failed(FailureKind.JOURNAL, "the journal failed: OSError: disk full", boundary=1)
    assert (record.status, record.error) == (CallStatus.FAILED, ENGLISH.not_handed_over)
    assert (record.handover, record.payload, record.result) == (Handover.NONE, "", None)
    assert (await world.call("pay")).status == CallStatus.QUEUED
    again = ScriptedModel(["a pity"])
    await world.run(again, pay, take_over=True)
    assert asked(again)[0][-1] == f"tool call-1: {ENGLISH.never_started}"


async def test_no_step_is_in_flight_while_a_handover_is_written() -> None:
    """I-09: the host sees the call first through the write that hands it over, and alone."""
    told: list[str] = []
    world = World()

    async def note(name: str, value: Any) -> None:
        told.append(f"{name} {getattr(value, 'status', '')}".strip())
        await trio.sleep(1)

    async def noted(name: str, value: Any) -> None:
        told.append(f"done {name}")

    await world.say("buy it")
    journal = WatchedJournal(world.store.journal("run"), note, noted)
    await world.run(ScriptedModel([call("pay", BUY)]), Paying(), journal=journal, host=Host(extensions=(Watcher([]),)))
    start = told.index("save_call awaiting_decision")
    assert told[start - 1 : start + 2] == ["done save_step", "save_call awaiting_decision", "done save_call"]


# --- who may pause


async def test_a_tool_that_reports_progress_pauses_like_any_other(world: World) -> None:
    """DC-15, without tools that stream: there are only results, and progress in front of them."""
    shown: list[str] = []

    @tool(side_effects=True, policy=confirm)
    async def pay(amount: int, context: ToolContext) -> str:
        await context.progress("half of it")
        shown.append("half of it")
        return f"paid {amount}"

    given: Any = pay
    await paused(world, given)
    assert shown == []
    await decide(world)
    model = ScriptedModel(["done"])
    await world.run(model, given)
    assert shown == ["half of it"]
    assert asked(model)[0][-1] == "tool call-1: paid 5"


def test_a_function_that_only_yields_is_no_tool() -> None:
    """DC-16: refused when it would become one."""

    async def pay(amount: int) -> Any:
        yield "half of it"

    with pytest.raises(ToolDefinitionError, match=r"pay cannot be a tool: it yields; return one value"):
        tool(policy=confirm)(pay)


class Watcher(Extension):
    """Remembers what it is told of calls."""

    name = "watcher"
    stateful = False

    def __init__(self, told: list[tuple[str, str]]) -> None:
        self.told = told

    def on_call(self, state: Any, outcome: CallOutcome) -> Any:
        self.told.append((outcome.call.status, outcome.origin))
        return state


async def test_observers_are_told_of_a_pause_once(world: World) -> None:
    """DC-14: and of no other outcome, however often the run is resumed while it waits."""
    told: list[tuple[str, str]] = []
    host, pay = Host(extensions=(Watcher(told),)), Paying()
    await paused(world, pay, host=host)
    assert told == [(CallStatus.AWAITING_DECISION, Origin.EXECUTED)]
    for _ in range(2):
        await world.run(ScriptedModel([]), pay, host=host)
    assert told == [(CallStatus.AWAITING_DECISION, Origin.EXECUTED)]
    await decide(world)
    await world.run(ScriptedModel(["done"]), pay, host=host)
    assert told[1:] == [(CallStatus.SUCCEEDED, Origin.EXECUTED)]


async def test_observers_are_told_of_a_submission() -> None:
    """Origin ``submitted``: no tool ran, and none will."""
    told: list[tuple[str, str]] = []
    world, pay = World(), Paying(policy=policy_of(SUBMIT))
    await world.say("buy it")
    await world.run(ScriptedModel([call("pay", BUY), "ok"]), pay, host=Host(extensions=(Watcher(told),)))
    assert told == [(CallStatus.AWAITING_DECISION, Origin.SUBMITTED)]


async def test_a_pause_beside_a_result_from_outside_waits_for_both() -> None:
    """One batch, two people: the run names both, and each may come first."""
    for first in ("pay", "ask"):
        world, pay, ask = World(), Paying(), Tool("ask", giving(Await({"q": 1})))
        await world.say("buy it")
        tools = (pay, ask, Tool("look", answer_after(2, "seen")))
        result = await world.run(ScriptedModel([call("pay", BUY) + call("ask") + call("look")]), *tools)
        ids = [record.id for record in result.calls]
        assert result.outcome == Suspended(tuple(ids[:2]), boundary=1)
        for name in sorted(("pay", "ask"), key=lambda name: name != first):
            if name == "pay":
                await decide(world)
            else:
                await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")
            if name == first:
                left = await world.run(ScriptedModel([]), *tools)
                assert left.outcome == Suspended((ids[1 if first == "pay" else 0],), boundary=1)
                assert pay.invocations == []
        model = ScriptedModel(["done"])
        await world.run(model, *tools)
        assert asked(model)[0][2:] == ['tool call-1: pay:{"amount":5}', "tool call-2: 42", "tool call-3: seen"]
