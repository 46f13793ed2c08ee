"""What a host does about calls that wait: found by a part of the id, decided with checked arguments, settled once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.adapters.stores import (
    DecisionRefused,
    MemoryStore,
    Refusal,
    SqliteStore,
    Store,
    UnknownCall,
    UnknownRun,
)
from turnfold.adapters.tools import tool
from turnfold.core.run import Limits
from turnfold.effects.journal import CallUpdate, LogChange, Step
from turnfold.effects.outcome import Delivered
from turnfold.effects.question import CallPolicy, Confirm
from turnfold.effects.record import CallDecision, CallStatus, Handover, ToolCall, Wait
from turnfold.effects.tool import Await, Invocation
from turnfold.effects.values import replace
from turnfold.shells.answering import AmbiguousCall, EditRefused, NoSuchCall, NotWaiting, decide, find_call, settle
from turnfold.shells.host import Host

from tests.shells.world import World, asked


async def confirm(_: Invocation) -> CallPolicy:
    return CallPolicy(confirm=Confirm())


@tool(side_effects=True, policy=confirm)
async def pay(amount: int, to: str = "") -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def ask(question: str) -> Await:
    """Ask somebody."""
    return Await({"question": question})


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "memory":
        yield World()
        return
    with SqliteStore(tmp_path / "runs.db") as store:
        yield World(store)


async def paused(world: World, **options: Any) -> ToolCall:
    """A run that waits for a decision; the record."""
    await world.say("hi")
    result = await world.run(ScriptedModel([call("pay", {"amount": 5})]), pay, **options)
    return result.calls[0]


async def with_call(store: Store, *calls: ToolCall, run_id: str = "r") -> None:
    journal = store.journal(run_id)
    attempt = (await journal.begin(60_000)).attempt
    for one in calls:
        await journal.save_call(attempt, one)


# --- find


async def test_a_call_is_found_by_its_id_or_the_beginning_of_it(world: World) -> None:
    await with_call(world.store, ToolCall("abc", CallStatus.RUNNING, 1), ToolCall("abd", CallStatus.RUNNING, 1))
    await with_call(world.store, ToolCall("ab", CallStatus.FAILED, 1), run_id="q")
    assert [(await find_call(world.store, part))[1].id for part in ("abc", "abd", "ab")] == ["abc", "abd", "ab"]
    assert (await find_call(world.store, "ab"))[0] == "q"
    with pytest.raises(AmbiguousCall) as caught:
        await find_call(world.store, "a")
    assert caught.value.found == ("ab", "abc", "abd")
    for nothing in ("", "x", "AB", "abcd", "\udcff"):
        with pytest.raises(NoSuchCall):
            await find_call(world.store, nothing)


async def test_an_id_that_two_runs_have_is_ambiguous(world: World) -> None:
    for run_id in ("q", "r"):
        await with_call(world.store, ToolCall("abc", CallStatus.RUNNING, 1), run_id=run_id)
    with pytest.raises(AmbiguousCall) as caught:
        await find_call(world.store, "abc")
    assert caught.value.found == ("abc", "abc")


async def test_a_whole_id_is_found_among_many_that_begin_with_it(world: World) -> None:
    await with_call(world.store, *(ToolCall(f"a{number}", CallStatus.RUNNING, 1) for number in range(20)))
    await with_call(world.store, ToolCall("a", CallStatus.FAILED, 1), run_id="s")
    assert (await find_call(world.store, "a"))[0] == "s"


# --- decide


async def test_a_decision_is_bound_to_the_arguments_of_the_call(world: World) -> None:
    """Decision 17: one that was made on other arguments is refused, whoever checks."""
    record = await paused(world)
    with pytest.raises(DecisionRefused) as caught:
        await decide(world.store, "run", record.id, CallDecision(True, digest="another"))
    assert caught.value.reason is Refusal.OTHER_ARGUMENTS
    decided = await decide(world.store, "run", record.id, CallDecision(True))
    assert decided.decision == CallDecision(True, digest=record.digest)
    assert await decide(world.store, "run", record.id, CallDecision(True)) == decided
    with pytest.raises(DecisionRefused):
        await decide(world.store, "run", record.id, CallDecision(True, arguments='{"amount":6}'))
    assert await world.store.call("run", record.id) == decided


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ('{"amount":"5"}', [("amount", "must be integer")]),
        ('{"amount":null,"to":1}', [("amount", "must be integer"), ("to", "must be string")]),
        ("{}", [("amount", "must have required properties amount")]),
        ("[]", [("root", "cannot be read: expected a JSON object, got list")]),
    ],
)
async def test_edited_arguments_that_do_not_fit_are_refused(
    world: World, arguments: str, problems: list[tuple[str, str]]
) -> None:
    """Decision 17: as they are, for nothing that a person wrote is made to fit; the call still waits."""
    record = await paused(world)
    with pytest.raises(EditRefused, match="the arguments do not fit the tool pay: ") as caught:
        await decide(world.store, "run", record.id, CallDecision(True, arguments=arguments))
    assert (caught.value.call_id, caught.value.tool) == (record.id, "pay")
    assert list(caught.value.problems) == problems
    assert [listed.kind for listed in await world.store.waiting()] == [Wait.DECISION]


async def test_an_edit_is_checked_by_the_name_that_the_model_used(world: World) -> None:
    """The record may have another name, which no tool has."""
    record = await paused(world, host=Host(record_names={"pay": lambda _: "payment of the month"}))
    assert record.name == "payment of the month"
    with pytest.raises(EditRefused, match="the tool pay: amount must be integer"):
        await decide(world.store, "run", record.id, CallDecision(True, arguments='{"amount":"x"}'))
    await decide(world.store, "run", record.id, CallDecision(True, arguments='{"amount":3}'))
    model = ScriptedModel(["done"])
    result = await world.run(model, pay, host=Host(record_names={"pay": lambda _: "payment of the month"}))
    assert result.outcome == Delivered("done", 1)
    assert asked(model)[-1][-1].endswith("paid 3")


async def test_an_edit_that_nobody_can_check_is_refused(world: World) -> None:
    """A run that was never saved says nothing of its tools; approving without an edit is still possible."""
    await with_call(world.store, ToolCall("c", CallStatus.AWAITING_DECISION, 1, name="pay"))
    with pytest.raises(EditRefused, match="pay: root cannot be checked: the run does not say what its tool takes"):
        await decide(world.store, "r", "c", CallDecision(True, arguments="{}"))
    assert (await decide(world.store, "r", "c", CallDecision(True))).decision == CallDecision(True)


async def test_an_edit_of_a_run_whose_checkpoint_cannot_be_read_is_refused(world: World) -> None:
    record = await paused(world)
    journal = world.store.journal("run")
    attempt = (await journal.begin(60_000)).attempt
    stored = await world.stored()
    broken = Step(stored.state or b"", {"main": LogChange(0, (b"garbage",))})
    await journal.save_step(attempt, broken)
    with pytest.raises(EditRefused, match="cannot be checked: "):
        await decide(world.store, "run", record.id, CallDecision(True, arguments='{"amount":1}'))


async def test_only_an_approval_needs_arguments_that_fit(world: World) -> None:
    """A rejection and a given result run nothing."""
    record = await paused(world)
    decision = CallDecision(reason="no", arguments='{"amount":"x"}')
    assert (await decide(world.store, "run", record.id, decision)).decision == replace(decision, digest=record.digest)


async def test_deciding_needs_a_run_and_a_call(world: World) -> None:
    with pytest.raises(UnknownRun):
        await decide(world.store, "nope", "c", CallDecision())
    await paused(world)
    with pytest.raises(UnknownCall):
        await decide(world.store, "run", "c", CallDecision())


async def test_of_many_who_decide_at_once_one_is_heard(world: World) -> None:
    """The same decision from all of them is one decision; the tool runs once."""
    record = await paused(world)
    refused: list[str] = []

    async def say(amount: int) -> None:
        try:
            await decide(world.store, "run", record.id, CallDecision(True, arguments=f'{{"amount":{amount}}}'))
        except DecisionRefused as error:
            refused.append(error.reason)

    async with trio.open_nursery() as nursery:
        for amount in (1, 1, 2, 2):
            nursery.start_soon(say, amount)
    assert refused == [Refusal.ALREADY_DECIDED] * 2
    result = await world.run(ScriptedModel(["done"]), pay, limits=Limits())
    assert result.calls[0].result in ("paid 1", "paid 2")


# --- settle


async def test_an_awaited_result_is_given_once(world: World) -> None:
    await world.say("hi")
    result = await world.run(ScriptedModel([call("ask", {"question": "?"})]), ask)
    call_id = result.calls[0].id
    settled = await settle(world.store, "run", call_id, result="42")
    assert (settled.status, settled.result, settled.completed_at is not None) == (CallStatus.SUCCEEDED, "42", True)
    assert await settle(world.store, "run", call_id, result="42") == settled
    for other in ({"result": "43"}, {"error": "42"}):
        with pytest.raises(NotWaiting) as caught:
            await settle(world.store, "run", call_id, **other)
        assert (caught.value.call_id, caught.value.wait) == (call_id, None)
    assert (await world.run(ScriptedModel(["done"]), ask)).outcome == Delivered("done", 1)


@pytest.mark.parametrize("handover", [Handover.DETACHED, Handover.SUBMITTED])
async def test_a_call_with_a_receipt_may_fail_twice_alike(world: World, handover: Handover) -> None:
    await with_call(world.store, ToolCall("c", CallStatus.RUNNING, 1, handover=handover, result="receipt"))
    settled = await settle(world.store, "r", "c", error="lost")
    assert (settled.status, settled.result, settled.error) == (CallStatus.FAILED, "receipt", "lost")
    assert await settle(world.store, "r", "c", error="lost") == settled


async def test_what_a_call_did_is_told_after_a_review(world: World) -> None:
    await with_call(world.store, ToolCall("c", CallStatus.NEEDS_REVIEW, 1, result="not known"))
    assert (await settle(world.store, "r", "c", result="it arrived")).status == CallStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ToolCall("c", CallStatus.QUEUED, 1), "it is the run's to carry out"),
        (ToolCall("c", CallStatus.RUNNING, 1), "it is the run's to carry out"),
        (
            ToolCall("c", CallStatus.AWAITING_DECISION, 1, decision=CallDecision(True)),
            "it is the run's to carry out",
        ),
        (ToolCall("c", CallStatus.FAILED, 1), "it is failed"),
        (ToolCall("c", CallStatus.REJECTED, 1), "it is rejected"),
    ],
)
async def test_a_call_of_the_runtime_is_not_settled_from_outside(world: World, call: ToolCall, why: str) -> None:
    await with_call(world.store, call)
    with pytest.raises(NotWaiting, match=why):
        await settle(world.store, "r", "c", result="x")
    assert await world.store.call("r", "c") == call


async def test_a_paused_call_is_not_settled_either(world: World) -> None:
    record = await paused(world)
    with pytest.raises(NotWaiting, match="it waits for a decision") as caught:
        await settle(world.store, "run", record.id, result="x")
    assert caught.value.wait is Wait.DECISION


async def test_settling_takes_a_result_or_an_error(world: World) -> None:
    for nothing in ({}, {"result": "a", "error": "b"}):
        with pytest.raises(ValueError, match="with a result or with an error"):
            await settle(world.store, "r", "c", **nothing)
    with pytest.raises(UnknownRun):
        await settle(world.store, "r", "c", result="")


async def test_a_store_by_another_name_will_do() -> None:
    """Anything that offers what a store does: here one that counts what it is asked."""

    class Counting(MemoryStore):
        loaded = 0

        async def load(self, run_id: str) -> Any:
            self.loaded += 1
            return await super().load(run_id)

    world = World(store := Counting())
    record = await paused(world)
    store.loaded = 0
    await store.settle("run", CallUpdate(record.id, payload="{}"))
    await decide(store, "run", record.id, CallDecision(True))
    assert store.loaded == 0
