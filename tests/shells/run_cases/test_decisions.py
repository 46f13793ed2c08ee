"""What becomes of a paused call once somebody decided: DC-01 to DC-04 and DC-07 to DC-12, and what decision 17 adds."""

from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail
from turnfold.adapters.tools import tool
from turnfold.core.run import Extension, Limits
from turnfold.core.run.extension import CallOutcome
from turnfold.core.run.records import error_text
from turnfold.core.text import ENGLISH, fill
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.question import CallPolicy, Confirm
from turnfold.effects.record import CallDecision, CallStatus, Handover
from turnfold.effects.tool import Await, ToolResult
from turnfold.effects.transcript import ImagePart, TextPart, ToolResultMessage
from turnfold.effects.values import replace
from turnfold.shells.host import Host

from tests.shells.run_cases.reviewing import (
    BUY,
    STORES,
    Paying,
    confirm,
    decide,
    giving,
    opened,
    panicking,
    paused,
    policy_of,
)
from tests.shells.world import Tool, World, answer_after, asked, hang, now

EDITED = '{"amount": 3}'
NOTE = fill(ENGLISH.edited, arguments=EDITED)


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return opened(request.param, tmp_path)


async def test_a_paused_call_runs_once_it_is_approved(world: World) -> None:
    """DC-01: and within the turn that asked for it, of which there may only be one here."""
    pay, limits = Paying(), Limits(turns=1)
    record = await paused(world, pay, limits=limits)
    assert (record.status, record.handover) == (CallStatus.AWAITING_DECISION, Handover.NONE)
    assert (record.payload, record.started_at, record.result) == ('{"why":"money"}', None, None)
    again = await world.run(ScriptedModel([]), pay, limits=limits)
    assert again.outcome == Suspended((record.id,), boundary=1)
    assert pay.invocations == []
    decision = CallDecision(True, digest=record.digest, by="ada")
    await world.store.decide("run", record.id, decision)
    model = ScriptedModel(["done"])
    result = await world.run(model, pay, limits=limits)
    assert result.outcome == Delivered("done", boundary=1)
    assert [(made.key, dict(made.arguments)) for made in pay.invocations] == [(record.id, BUY)]
    (settled,) = result.calls
    assert (settled.status, settled.decision, settled.result) == (CallStatus.SUCCEEDED, decision, 'pay:{"amount":5}')
    assert settled == await world.call("pay")
    assert asked(model) == [["user: buy it", "assistant: ", 'tool call-1: pay:{"amount":5}']]


async def test_an_approval_may_change_the_arguments(world: World) -> None:
    """DC-02: the model is told of them in front of the result, and the record keeps both."""
    pay = Paying()
    record = await paused(world, pay)
    await decide(world, arguments=EDITED)
    model = ScriptedModel(["done"])
    result = await world.run(model, pay)
    assert pay.amounts == [3]
    assert asked(model)[0][-1] == f'tool call-1: {NOTE}pay:{{"amount":3}}'
    (settled,) = result.calls
    assert (settled.arguments, settled.digest) == (record.arguments, record.digest) == ('{"amount":5}', record.digest)
    assert settled.decision is not None
    assert settled.decision.arguments == EDITED
    assert settled.result == 'pay:{"amount":3}'


@pytest.mark.parametrize("reason", ["too dear", ""])
async def test_a_rejection_gives_its_reason(world: World, reason: str) -> None:
    """DC-03"""
    pay = Paying()
    await paused(world, pay)
    await decide(world, False, reason=reason, arguments=EDITED)
    model = ScriptedModel(["a pity"])
    result = await world.run(model, pay)
    text = fill(ENGLISH.rejected_for, reason=reason) if reason else ENGLISH.rejected
    assert pay.invocations == []
    assert (result.calls[0].status, result.calls[0].result) == (CallStatus.REJECTED, text)
    assert asked(model)[0][-1] == f"tool call-1: {text}"


async def test_a_run_waits_for_every_decision(world: World) -> None:
    """DC-04: nothing is carried out before the last of them, and then all of it in call order."""
    await world.say("buy it")
    pay = Paying()
    wanted = call("pay", BUY) + call("pay", {"amount": 6}) + call("pay", {"amount": 7})
    first, second, third = (await world.run(ScriptedModel([wanted]), pay)).calls
    await world.store.decide("run", third.id, CallDecision(True))
    await world.store.decide("run", first.id, CallDecision(True))
    result = await world.run(ScriptedModel([]), pay)
    assert result.outcome == Suspended((second.id,), boundary=1)
    assert pay.invocations == []
    assert [record.status for record in result.calls] == [CallStatus.AWAITING_DECISION] * 3
    await world.store.decide("run", second.id, CallDecision(reason="no"))
    model = ScriptedModel(["done"])
    await world.run(model, pay)
    assert pay.amounts == [5, 7]
    assert asked(model)[0][2:] == [
        'tool call-1: pay:{"amount":5}',
        f"tool call-2: {fill(ENGLISH.rejected_for, reason='no')}",
        'tool call-3: pay:{"amount":7}',
    ]


async def test_decisions_are_carried_out_one_after_another() -> None:
    """Decision 17: in order, so what a person approved second does not overtake the first."""
    world, running, most = World(), 0, 0

    async def slowly(invocation: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1
        return ""

    await world.say("buy it")
    pay = Paying(body=slowly)
    result = await world.run(ScriptedModel([call("pay", BUY) + call("pay", {"amount": 6})]), pay)
    for record in reversed(result.calls):
        await world.store.decide("run", record.id, CallDecision(True))
    await world.run(ScriptedModel(["done"]), pay)
    assert (pay.amounts, most) == ([5, 6], 1)


@pytest.mark.parametrize(
    ("traits", "status", "text"),
    [
        ({}, CallStatus.NEEDS_REVIEW, ENGLISH.needs_review),
        ({"replayable": True}, CallStatus.INTERRUPTED, ENGLISH.interrupted_replayable),
        ({"side_effects": False}, CallStatus.INTERRUPTED, ENGLISH.interrupted),
    ],
)
async def test_an_approved_call_that_was_cancelled_is_settled_by_what_it_is(
    world: World, traits: dict[str, bool], status: str, text: str
) -> None:
    """DC-07 as decision 5 has it: not failed, for nobody knows what it did. It is never run again."""
    pay = Paying(body=hang, **traits)
    await paused(world, pay)
    decided = await decide(world)
    with trio.move_on_after(5) as scope:
        await world.run(ScriptedModel([]), pay)
    assert scope.cancelled_caught
    record = await world.call("pay")
    assert (record.status, record.result, record.decision) == (status, text, decided.decision)
    stored = await world.stored()
    assert stored.outcome == Failed(FailureKind.CANCELLED, "the run was cancelled", boundary=1)
    model = ScriptedModel(["so it is"])
    result = await world.run(model, pay)
    assert result.outcome == Delivered("so it is", boundary=1)
    assert asked(model)[0][-1] == f"tool call-1: {text}"
    assert pay.amounts == [5]


async def test_a_decision_that_a_cancelled_run_had_not_come_to_is_given_up() -> None:
    """Decision 40: nothing that was approved starts after somebody said stop."""
    world, pay = World(), Paying(body=hang)
    await world.say("buy it")
    result = await world.run(ScriptedModel([call("pay", BUY) + call("pay", {"amount": 6})]), pay)
    for record in result.calls:
        await world.store.decide("run", record.id, CallDecision(True))
    with trio.move_on_after(5):
        await world.run(ScriptedModel([]), pay)
    first, second = (await world.stored()).calls
    assert first.status == CallStatus.NEEDS_REVIEW
    assert (second.status, second.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)
    await world.run(ScriptedModel(["so it is"]), pay)
    assert pay.amounts == [5]


async def test_a_large_result_of_an_approved_call_stays_whole(world: World) -> None:
    """DC-08, before there is any offloading: record and model get all of it."""
    text = "x" * 50_000
    pay = Paying(body=giving(ToolResult(text)))
    await paused(world, pay)
    await decide(world)
    model = ScriptedModel(["long"])
    await world.run(model, pay)
    assert (await world.call("pay")).result == text
    assert asked(model)[0][-1] == f"tool call-1: {text}"


class Counter(Extension):
    """Counts outcomes of calls."""

    name = "counter"

    def start(self) -> int:
        return 0

    def on_call(self, state: int, outcome: CallOutcome) -> int:
        return state + 1


async def test_an_approved_call_may_wait_for_its_result(world: World) -> None:
    """DC-09: the run is suspended again, its extensions' state is saved, and the note about the edit comes later."""
    pay, host = Paying(body=giving(Await({"op": 1}))), Host(extensions=(Counter(),))
    await paused(world, pay, host=host)
    assert (await world.stored()).values["extension/counter"] == b"1"
    await decide(world, arguments=EDITED)
    result = await world.run(ScriptedModel([]), pay, host=host)
    (record,) = result.calls
    assert result.outcome == Suspended((record.id,), boundary=1)
    assert (record.status, record.handover, record.payload) == (CallStatus.WAITING, Handover.AWAIT, '{"op":1}')
    assert (await world.stored()).values["extension/counter"] == b"2"
    await world.settle("pay", status=CallStatus.SUCCEEDED, result="paid at last")
    model = ScriptedModel(["done"])
    await world.run(model, pay, host=host)
    assert asked(model)[0][-1] == f"tool call-1: {NOTE}paid at last"
    assert pay.amounts == [3]


async def test_changed_arguments_are_told_in_front_of_an_error(world: World) -> None:
    """DC-10"""
    pay = Paying(body=panicking(ValueError("no money left")))
    await paused(world, pay)
    await decide(world, arguments=EDITED)
    model = ScriptedModel(["a pity"])
    await world.run(model, pay)
    assert (await world.call("pay")).error == "no money left"
    assert asked(model)[0][-1] == f"tool call-1!: {NOTE}{error_text('no money left')}"


async def test_changed_arguments_are_told_in_front_of_a_result_of_many_parts() -> None:
    """DC-02, for what decision 8 keeps."""
    parts = (ImagePart("aGk=", "image/png"),)
    world, pay = World(), Paying(body=giving(ToolResult(parts)))
    await paused(world, pay)
    await decide(world, arguments=EDITED)
    model = ScriptedModel(["nice"])
    await world.run(model, pay)
    shown = list(model.requests[0].messages)[-1]
    assert isinstance(shown, ToolResultMessage)
    assert shown.content == (TextPart(NOTE), *parts)


class Panic(BaseException):
    """What no tool should ever raise."""


async def test_an_approved_call_that_panics_ends_the_run(world: World) -> None:
    """DC-11 as decision 5 has it: an ordinary exception only fails the call; what is none takes the process down.

    The record stays running, so the next resume knows that nobody knows.
    """
    pay = Paying(body=panicking(Panic("the disk melted")))
    await paused(world, pay)
    await decide(world)
    with pytest.raises(BaseExceptionGroup) as caught:
        await world.run(ScriptedModel([]), pay)
    assert "the disk melted" in repr(caught.value.subgroup(Panic))
    assert (await world.call("pay")).status == CallStatus.RUNNING
    model = ScriptedModel(["so it is"])
    await world.run(model, pay, take_over=True)
    record = await world.call("pay")
    assert (record.status, record.result) == (CallStatus.NEEDS_REVIEW, ENGLISH.needs_review)
    assert pay.amounts == [5]


async def test_a_tool_with_results_of_many_parts_may_pause(world: World) -> None:
    """DC-12 as decision 8 has it: such a result survives a resume, so nothing speaks against it."""
    parts = (TextPart("a bill:"), ImagePart("aGk=", "image/png"))
    pay = Paying(body=giving(ToolResult(parts)))
    await paused(world, pay)
    await decide(world)
    assert isinstance((await world.run(ScriptedModel([fail()]), pay)).outcome, Failed)
    model = ScriptedModel(["done"])
    await world.run(model, pay)
    shown = list(model.requests[0].messages)[-1]
    assert isinstance(shown, ToolResultMessage)
    assert shown.content == parts
    assert pay.amounts == [5]


# --- arguments that a person changed are checked, and a person may give the result


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"amount": "much"}', "amount: must be integer"),
        ('{"price": 3}', "amount"),
        ("[3]", "expected a JSON object, got list"),
        ('{"amount": 3', "they are not valid JSON"),
    ],
)
async def test_changed_arguments_that_do_not_fit_are_not_carried_out(arguments: str, problem: str) -> None:
    """Decision 17: they are checked against the tool's schema, as they are; and the model is told no untruth."""
    ran: list[int] = []

    @tool(side_effects=True, policy=confirm)
    async def pay(amount: int) -> str:
        ran.append(amount)
        return ""

    world: Any = World()
    await paused(world, pay)
    await decide_carelessly(world, arguments)
    model = ScriptedModel(["a pity"])
    result = await world.run(model, pay)
    (record,) = result.calls
    assert ran == []
    assert record.status == CallStatus.FAILED
    assert record.error is not None
    assert record.error.startswith(fill(ENGLISH.edit_invalid, problem=""))
    assert problem in record.error
    told = asked(model)[0][-1]
    assert "did not run" in told
    assert "ran with" not in told


async def decide_carelessly(world: World, arguments: str) -> None:
    """Store a decision as a store does that looks at nothing."""
    record, journal = await world.call("pay"), world.store.journal("run")
    begun = await journal.begin(1_000)
    decision = CallDecision(approved=True, arguments=arguments, digest=record.digest)
    await journal.save_call(begun.attempt, replace(record, rev=record.rev + 1, decision=decision))
    await journal.end(begun.attempt)


async def test_a_reviewer_may_give_the_result(world: World) -> None:
    """Decision 17: then the tool does not run."""
    pay = Paying()
    await paused(world, pay)
    await decide(world, False, result="I paid it myself")
    model = ScriptedModel(["thanks"])
    result = await world.run(model, pay)
    assert (result.calls[0].status, result.calls[0].result) == (CallStatus.SUCCEEDED, "I paid it myself")
    assert asked(model)[0][-1] == "tool call-1: I paid it myself"
    assert pay.invocations == []


async def test_an_approved_call_of_a_tool_that_is_gone_fails() -> None:
    """Decision 35: the model is told, and the run goes on."""
    world = World()
    await paused(world, Paying())
    await decide(world)
    model = ScriptedModel(["a pity"])
    result = await world.run(model, Paying("another"))
    assert (result.calls[0].status, result.calls[0].error) == (
        CallStatus.FAILED,
        fill(ENGLISH.unknown_tool, name="pay"),
    )
    assert result.outcome == Delivered("a pity", boundary=1)


async def test_an_approved_call_of_a_tool_that_ends_runs_by_now_fails() -> None:
    """Decisions 18 and 35: the tool became a completion tool while the call was paused."""
    world, pay = World(), Paying(completion=True)
    await paused(world, Paying())
    await decide(world)
    model = ScriptedModel(["a pity"])
    result = await world.run(model, pay)
    assert (result.calls[0].error, pay.invocations) == (fill(ENGLISH.cannot_confirm, name="pay"), [])


async def test_the_policy_is_not_asked_about_a_decided_call() -> None:
    """It was asked before; its traits and notes stand in the record."""
    questions: list[str] = []

    async def once(invocation: Any) -> CallPolicy:
        questions.append(invocation.key)
        return CallPolicy(confirm=Confirm(), replayable=True, notes={"risk": "high"})

    world, pay = World(), Paying(policy=once, body=hang, notes={"risk": "low", "team": "sales"})
    record = await paused(world, pay)
    assert (record.replayable, dict(record.notes)) == (True, {"risk": "high", "team": "sales"})
    await decide(world)
    with trio.move_on_after(1):
        await world.run(ScriptedModel([]), pay)
    record = await world.call("pay")
    assert (record.status, dict(record.notes)) == (CallStatus.INTERRUPTED, {"risk": "high", "team": "sales"})
    assert questions == [record.id]


# --- time


async def test_a_pause_nobody_ends_in_time_is_a_rejection(world: World) -> None:
    """Decision 17: on the next resume, as long after as that may be; the model is told."""
    pay = Paying(policy=policy_of(CallPolicy(confirm=Confirm(expires_in_ms=5_000))))
    record = await paused(world, pay)
    assert record.expires_at == now() + 5_000
    await trio.sleep(4.999)
    assert isinstance((await world.run(ScriptedModel([]), pay)).outcome, Suspended)
    await trio.sleep(0.001)
    model = ScriptedModel(["too late"])
    result = await world.run(model, pay)
    assert result.outcome == Delivered("too late", boundary=1)
    assert (result.calls[0].status, result.calls[0].result) == (CallStatus.REJECTED, ENGLISH.expired)
    assert asked(model)[0][-1] == f"tool call-1: {ENGLISH.expired}"
    assert pay.invocations == []


async def test_a_decision_made_in_time_holds_when_the_pause_is_over(world: World) -> None:
    """What expires is the time to decide."""
    pay = Paying(policy=policy_of(CallPolicy(confirm=Confirm(expires_in_ms=5_000))))
    await paused(world, pay)
    await trio.sleep(4.999)
    await decide(world)
    await trio.sleep(100)
    await world.run(ScriptedModel(["done"]), pay)
    assert pay.amounts == [5]


async def test_a_decision_may_itself_expire(world: World) -> None:
    """Decision 17: one that comes to be carried out after its time is none."""
    pay = Paying()
    await paused(world, pay)
    await decide(world, expires_at=now() + 5_000, arguments=EDITED)
    await trio.sleep(5)
    model = ScriptedModel(["too late"])
    result = await world.run(model, pay)
    assert (result.calls[0].status, result.calls[0].result) == (CallStatus.REJECTED, ENGLISH.expired)
    assert pay.invocations == []
    told = asked(model)[0][-1]
    assert "did not run" in told
    assert "ran with" not in told


async def test_a_decision_may_expire_while_another_is_carried_out() -> None:
    """Decision 17: its time is looked at when its turn comes."""
    world, pay = World(), Paying(body=answer_after(10, "paid"))
    await world.say("buy it")
    first, second = (await world.run(ScriptedModel([call("pay", BUY) + call("pay", {"amount": 6})]), pay)).calls
    await world.store.decide("run", first.id, CallDecision(True, expires_at=now() + 5_000))
    await world.store.decide("run", second.id, CallDecision(True, expires_at=now() + 5_000))
    result = await world.run(ScriptedModel(["done"]), pay)
    assert [record.status for record in result.calls] == [CallStatus.SUCCEEDED, CallStatus.REJECTED]
    assert pay.amounts == [5]


async def test_a_decision_may_come_before_the_run_is_suspended(world: World) -> None:
    """The reviewer is faster than the batch: what the run still writes does not lose the decision (JC-11)."""
    pay, look = Paying(), Tool("look", answer_after(5, "seen"))

    async def decide_soon() -> None:
        await trio.sleep(1)
        await decide(world)

    await world.say("buy it")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(decide_soon)
        result = await world.run(ScriptedModel([call("pay", BUY) + call("look")]), pay, look)
    assert result.outcome == Suspended((result.calls[0].id,), boundary=1)
    assert pay.invocations == []
    model = ScriptedModel(["done"])
    await world.run(model, pay, look)
    assert asked(model)[0][2:] == ['tool call-1: pay:{"amount":5}', "tool call-2: seen"]
    assert pay.amounts == [5]
