"""What the policy of a call may say, what stands in its way, and which calls cannot be put off (decision 18)."""

from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.adapters.stores import SqliteStore
from turnfold.core.run import SpecError
from turnfold.core.run.records import error_text
from turnfold.core.text import ENGLISH, fill
from turnfold.effects.journal import CallRejected
from turnfold.effects.outcome import Completed, Delivered
from turnfold.effects.question import CallPolicy, Confirm, NeverHappened, Submit
from turnfold.effects.record import CallStatus, CompletionSource, Handover, ToolCall
from turnfold.effects.tool import Await, Complete, Detached, Invocation
from turnfold.shells.host import Host

from tests.shells.run_cases.reviewing import (
    BUY,
    STORES,
    Paying,
    crash,
    decide,
    giving,
    opened,
    panicking,
    paused,
    policy_of,
)
from tests.shells.world import Tool, World, asked, hang, now

SUBMIT = CallPolicy(submit=Submit("order 66 is on its way", {"order": 66}))
CONFIRM = CallPolicy(confirm=Confirm())


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return opened(request.param, tmp_path)


async def test_a_submitted_call_is_its_owners_and_the_run_goes_on(world: World) -> None:
    """The model gets the receipt; nobody here runs the tool, also not when the run is resumed."""
    pay = Paying(policy=policy_of(SUBMIT))
    await world.say("buy it")
    model = ScriptedModel([call("pay", BUY), "ok"])
    result = await world.run(model, pay)
    (record,) = result.calls
    assert result.outcome == Delivered("ok", boundary=1)
    assert (record.status, record.handover) == (CallStatus.AWAITING_DECISION, Handover.SUBMITTED)
    assert (record.result, record.payload) == ("order 66 is on its way", '{"order":66}')
    assert record.started_at is not None
    assert asked(model)[1][-1] == "tool call-1: order 66 is on its way"
    assert pay.invocations == []


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (panicking(ValueError("the limits are\0 gone")), "the limits are gone"),
        (panicking(KeyError()), "KeyError"),
        (giving("yes"), "expected CallPolicy, got str"),  # type: ignore[arg-type]
    ],
)
async def test_a_policy_that_fails_fails_its_call(policy: Any, text: str) -> None:
    """N-12: the model sees the text, the tool does not run, and the others of the batch do."""
    world, pay, look = World(), Paying(policy=policy), Tool("look")
    await world.say("buy it")
    model = ScriptedModel([call("pay", BUY) + call("look"), "a pity"])
    result = await world.run(model, pay, look)
    assert [(record.status, record.error) for record in result.calls] == [
        (CallStatus.FAILED, text),
        (CallStatus.SUCCEEDED, None),
    ]
    assert asked(model)[1][2] == f"tool call-1!: {error_text(text)}"
    assert pay.invocations == []


async def test_a_policy_may_change_what_a_call_is(world: World) -> None:
    """Traits override, notes are added over the tool's, and the record shows it before the tool starts."""
    policy = CallPolicy(replayable=True, side_effects=False, notes={"risk": "high", "by": "policy"})
    pay = Paying(policy=policy_of(policy), body=hang, notes={"risk": "low", "team": "sales"})
    await world.say("buy it")
    with trio.move_on_after(1):
        await world.run(ScriptedModel([call("pay", BUY)]), pay)
    record = await world.call("pay")
    assert dict(record.notes) == {"risk": "high", "team": "sales", "by": "policy"}
    assert (record.replayable, record.side_effects) == (True, False)
    assert (record.status, record.result) == (CallStatus.INTERRUPTED, ENGLISH.interrupted_replayable)


@pytest.mark.parametrize(("trait", "status"), [(True, CallStatus.NEEDS_REVIEW), (False, CallStatus.INTERRUPTED)])
async def test_a_policy_may_say_that_a_harmless_call_is_none(trait: bool, status: str) -> None:
    world, pay = World(), Paying(policy=policy_of(CallPolicy(side_effects=trait)), body=hang, side_effects=False)
    await world.say("buy it")
    with trio.move_on_after(1):
        await world.run(ScriptedModel([call("pay", BUY)]), pay)
    assert (await world.call("pay")).status == status


async def test_a_policy_sees_the_call_and_cannot_wait() -> None:
    """It is asked with the call's key, before anything is saved as running."""
    seen: list[Any] = []

    async def look(invocation: Any) -> None:
        seen.append((invocation, (await world.call("pay")).status))

    world, pay = World(), Paying(policy=look)
    await world.say("buy it")
    await world.run(ScriptedModel([call("pay", BUY), "done"]), pay)
    ((invocation, status),) = seen
    assert (invocation.name, invocation.arguments, invocation.call_id) == ("pay", BUY, "call-1")
    assert invocation.key == pay.invocations[0].key
    assert (invocation.can_suspend, pay.invocations[0].can_suspend) == (False, True)
    assert status == CallStatus.QUEUED


async def test_a_policy_of_the_host_comes_before_the_tools_own() -> None:
    world, pay = World(), Paying()
    await world.say("buy it")
    host = Host(policies={"pay": policy_of(None)})
    result = await world.run(ScriptedModel([call("pay", BUY), "done"]), pay, host=host)
    assert (result.text, pay.amounts) == ("done", [5])


async def test_calls_start_in_order_whatever_their_policies_take() -> None:
    """No call of a batch overtakes another because its policy was asked faster."""
    order: list[str] = []

    async def slow(invocation: Any) -> None:
        await trio.sleep(3)

    async def note(invocation: Any) -> str:
        order.append(invocation.name)
        return ""

    world = World()
    await world.say("buy it")
    tools = [Paying("first", note, slow), Paying("second", note, None)]
    await world.run(ScriptedModel([call("first") + call("second"), "done"]), *tools)
    assert order == ["first", "second"]


async def test_a_policy_is_cut_off_with_the_run() -> None:
    """Decision 4: its call never started, and says so."""
    world, pay = World(), Paying(policy=hang)  # type: ignore[arg-type]
    await world.say("buy it")
    with trio.move_on_after(5) as scope:
        await world.run(ScriptedModel([call("pay", BUY)]), pay)
    assert scope.cancelled_caught
    record = await world.call("pay")
    assert (record.status, record.result, record.started_at) == (
        CallStatus.INTERRUPTED,
        ENGLISH.never_started,
        None,
    )
    assert pay.invocations == []


async def test_a_policy_that_answers_too_late_starts_nothing() -> None:
    """It does not hear the cancellation, and its answer comes when the run is ending."""

    async def deaf(invocation: Any) -> CallPolicy:
        with trio.CancelScope(shield=True):
            await trio.sleep(8)
        return CallPolicy()

    world, pay = World(), Paying(policy=deaf)
    await world.say("buy it")
    with trio.move_on_after(5):
        await world.run(ScriptedModel([call("pay", BUY)]), pay)
    assert ((await world.call("pay")).result, pay.invocations) == (ENGLISH.never_started, [])


async def test_a_reconciler_is_cut_off_with_the_run() -> None:
    """Then nobody knows, and the call's traits decide."""
    world, pay = World(), Paying(policy=None, reconcile=hang, body=hang)  # type: ignore[arg-type]
    await world.say("buy it")
    await crash(world, pay, at=_a_renewal, model=ScriptedModel([call("pay", BUY)]))
    with trio.move_on_after(5) as scope:
        await world.run(ScriptedModel([]), pay, take_over=True)
    assert scope.cancelled_caught
    assert (await world.call("pay")).status == CallStatus.NEEDS_REVIEW


async def test_a_call_that_never_happened_is_not_carried_out_by_a_run_that_ends() -> None:
    """Its reconciler does not hear the cancellation."""

    async def deaf(invocation: Any) -> NeverHappened:
        with trio.CancelScope(shield=True):
            await trio.sleep(8)
        return NeverHappened()

    world, pay = World(), Paying(reconcile=deaf, body=hang)
    await paused(world, pay)
    await decide(world)
    await crash(world, pay, at=_a_renewal)
    with trio.move_on_after(5):
        await world.run(ScriptedModel([]), pay, take_over=True)
    record = await world.call("pay")
    assert (record.status, record.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)
    assert len(pay.invocations) == 1


def _a_renewal(name: str, value: Any) -> bool:
    return name == "renew"


# --- what cannot be written down


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        (CallPolicy(confirm=Confirm(object())), None),
        (CallPolicy(submit=Submit("receipt", object())), None),
        (None, Await(object())),
        (None, Detached("receipt", {"x": object()})),
    ],
)
async def test_a_payload_that_json_cannot_hold_fails_the_call(policy: CallPolicy | None, answer: Any) -> None:
    world, pay = World(), Paying(policy=policy_of(policy), body=giving(answer))
    await world.say("buy it")
    model = ScriptedModel([call("pay", BUY), "a pity"])
    result = await world.run(model, pay)
    (record,) = result.calls
    assert result.outcome == Delivered("a pity", boundary=1)
    assert (record.status, record.handover, record.payload) == (CallStatus.FAILED, Handover.NONE, "")
    assert record.error is not None
    assert record.error.startswith(fill(ENGLISH.not_json, name="pay", problem=""))


MISTAKES: list[Any] = [
    (lambda: CallPolicy(submit=Submit(5)), "Submit.receipt must be str, not int"),  # type: ignore[arg-type]
    (lambda: CallPolicy(confirm=Confirm(expires_in_ms=1.5)), "Confirm.expires_in_ms must be int or None, not float"),  # type: ignore[arg-type]
    (lambda: CallPolicy(confirm=True), "CallPolicy.confirm must be Confirm or None, not bool"),  # type: ignore[arg-type]
    (lambda: CallPolicy(submit="x"), "CallPolicy.submit must be Submit or None, not str"),  # type: ignore[arg-type]
    (lambda: CallPolicy(replayable="yes"), "CallPolicy.replayable must be bool or None, not str"),  # type: ignore[arg-type]
    (lambda: CallPolicy(side_effects=1), "CallPolicy.side_effects must be bool or None, not int"),  # type: ignore[arg-type]
    (lambda: CallPolicy(notes={"risk": 1}), "CallPolicy.notes must hold text, not 'risk': 1"),  # type: ignore[dict-item]
    (lambda: CallPolicy(notes=None), "CallPolicy.notes must be a mapping from text to text, not NoneType"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "text"), MISTAKES)
async def test_a_policy_that_cannot_be_written_down_fails_its_call(world: World, make: Any, text: str) -> None:
    """Found by trying: a number among the notes made a record that no store could read again."""

    async def policy(invocation: Any) -> CallPolicy:
        return make()

    pay = Paying(policy=policy)
    await world.say("buy it")
    result = await world.run(ScriptedModel([call("pay", BUY), "a pity"]), pay)
    assert result.outcome == Delivered("a pity", boundary=1)
    assert (result.calls[0].status, result.calls[0].error) == (CallStatus.FAILED, text)
    assert await world.call("pay") == result.calls[0]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Detached(5), "Detached.receipt must be str, not int"),  # type: ignore[arg-type]
        (lambda: Complete(1, "yes"), "Complete.fixed must be bool, not str"),  # type: ignore[arg-type]
    ],
)
async def test_a_control_result_that_cannot_be_written_down_fails_its_call(world: World, make: Any, text: str) -> None:
    async def body(invocation: Any) -> Any:
        return make()

    await world.say("buy it")
    result = await world.run(ScriptedModel([call("pay"), "a pity"]), Paying(body=body, policy=None, completion=True))
    assert (result.calls[0].status, result.calls[0].error) == (CallStatus.FAILED, text)


async def test_notes_and_reasons_of_a_host_are_cleaned_where_they_enter(tmp_path: Path) -> None:
    """Decision 45: halves of surrogate pairs and U+0000, which no store takes."""

    def refuse(run_id: str, record: ToolCall) -> None:
        raise CallRejected("no\0 \ud800")

    notes = CallPolicy(notes={"ri\0sk": "\ud800"})
    both = CallPolicy(confirm=Confirm(), notes={"ri\0sk": "\ud800"})
    world = World(SqliteStore(tmp_path / "runs.db", now=now, admit=refuse))
    await world.say("buy it")
    tools = Paying(policy=policy_of(both)), Paying("look", policy=policy_of(notes))
    result = await world.run(ScriptedModel([call("pay", BUY) + call("look"), "a pity"]), *tools)
    assert result.outcome == Delivered("a pity", boundary=1)
    assert [dict(record.notes) for record in result.calls] == [{"risk": "\ufffd"}] * 2
    assert [record.error for record in result.calls] == ["no \ufffd", None]
    assert (await world.stored()).calls == result.calls
    world.store.close()


async def test_an_absent_payload_is_told_from_null() -> None:
    for payload, text in ((None, "null"), (0, "0"), ([], "[]")):
        world = World()
        record = await paused(world, Paying(policy=policy_of(CallPolicy(confirm=Confirm(payload)))))
        assert record.payload == text
    world = World()
    assert (await paused(world, Paying(policy=policy_of(CONFIRM)))).payload == ""


# --- completion tools


@pytest.mark.parametrize(
    ("policy", "answer", "text"),
    [
        (SUBMIT, None, fill(ENGLISH.cannot_hand_over, name="finish")),
        (CONFIRM, None, fill(ENGLISH.cannot_confirm, name="finish")),
        (None, Await(), ENGLISH.cannot_await),
        (None, Detached("later"), ENGLISH.cannot_detach),
        (None, Complete(object()), "The tool finish gave a value that cannot be written as JSON"),
    ],
)
async def test_a_call_that_would_end_the_run_cannot_be_put_off(
    world: World, policy: CallPolicy | None, answer: Any, text: str
) -> None:
    """Decision 18: it fails, that uses a correction, and when none is left the fallback ends the run."""
    finish = Paying("finish", giving(answer), policy_of(policy), completion=True)
    await world.say("buy it")
    model = ScriptedModel([call("finish"), call("finish")])
    result = await world.run(model, finish, host=Host(fallback=lambda reason: {"because": reason}))
    assert [record.status for record in result.calls] == [CallStatus.FAILED] * 2
    assert [(record.error or "").startswith(text) for record in result.calls] == [True] * 2
    assert [(record.handover, record.payload) for record in result.calls] == [(Handover.NONE, "")] * 2
    assert isinstance(result.outcome, Completed)
    completion = result.outcome.completion
    assert (completion.source, completion.value) == (CompletionSource.FALLBACK, '{"because":"corrections_exhausted"}')
    assert text in asked(model)[1][-1]


async def test_a_call_that_would_end_the_run_is_told_that_it_cannot_wait() -> None:
    """Decision 18: so that its tool can look before it asks somebody."""
    world, finish, pay = World(), Paying("finish", policy=None, completion=True), Paying(policy=None)
    await world.say("buy it")
    await world.run(ScriptedModel([call("pay", BUY), call("finish"), "done"]), finish, pay)
    assert [tool.invocations[0].can_suspend for tool in (finish, pay)] == [False, True]


async def test_a_policy_for_a_tool_that_is_not_there_is_an_error_of_the_set_up() -> None:
    """A name that is spelt wrong must not let calls run unconfirmed."""
    world = World()
    await world.say("hi")
    with pytest.raises(SpecError, match="policies are given for tools the run does not have: pya"):
        await world.run(ScriptedModel([]), Tool("pay"), host=Host(policies={"pya": leave_it}))


async def leave_it(invocation: Invocation) -> None:
    """The policy that says nothing."""
