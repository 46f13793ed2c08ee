"""Decisions that come twice, differ, come late or were made on something else, and executors that meet over one.

Decision 17: whatever happens, an approved call is carried out once. The executors here are whole runtimes; over SQLite
each has a connection of its own.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.adapters.stores import DecisionRefused, MemoryStore, Refusal
from turnfold.core.run.records import error_text
from turnfold.core.text import ENGLISH
from turnfold.effects.journal import CallUpdate, RunBusy
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.question import CallPolicy, Confirm, NeverHappened, OutcomeUnknown
from turnfold.effects.record import CallDecision, CallStatus, ToolCall
from turnfold.effects.tool import ToolResult
from turnfold.effects.values import replace

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
from tests.shells.world import WatchedJournal, World, answer_after, asked, now


@pytest.fixture(params=STORES)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[World, World]:
    """Two programs over the same data."""
    one = opened(request.param, tmp_path)
    return one, World(one.store) if request.param == "memory" else opened(request.param, tmp_path)


async def refusal(deciding: Awaitable[object]) -> Refusal:
    """Why a decision was refused."""
    with pytest.raises(DecisionRefused) as caught:
        await deciding
    return caught.value.reason


# --- the same decision, and a different one


async def test_the_same_decision_again_changes_nothing(pair: tuple[World, World]) -> None:
    """In sequence, from the record that was seen first and from the one that is there, before and after it is done."""
    one, two = pair
    pay = Paying()
    stale = await paused(one, pay)
    decision = CallDecision(True, digest=stale.digest, by="ada")
    first = await one.store.decide("run", stale.id, decision)
    assert await two.store.decide("run", stale.id, decision) == first
    fresh = await two.call("pay")
    assert await two.store.decide("run", fresh.id, decision) == first
    await one.run(ScriptedModel(["done"]), pay)
    done = await one.call("pay")
    assert await two.store.decide("run", stale.id, decision) == done
    assert (await two.run(ScriptedModel([]), pay)).outcome == Delivered("done", boundary=1)
    assert pay.amounts == [5]


async def test_the_same_decision_at_the_same_time_is_carried_out_once(pair: tuple[World, World]) -> None:
    one, two = pair
    pay = Paying()
    record = await paused(one, pay)
    decision, told = CallDecision(True, digest=record.digest), list[ToolCall]()

    async def submit(world: World) -> None:
        told.append(await world.store.decide("run", record.id, decision))

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(submit, pair[number % 2])
    assert [answer.decision for answer in told] == [decision] * 10
    await two.run(ScriptedModel(["done"]), pay)
    assert pay.amounts == [5]


@pytest.mark.parametrize(
    "other",
    [
        {"approved": False, "reason": "no"},
        {"arguments": '{"amount":500}'},
        {"result": "paid by hand"},
        {"by": "bob"},
        {"digest": ""},
        {"expires_at": 10**15},
    ],
)
async def test_a_different_second_decision_is_refused(pair: tuple[World, World], other: dict[str, Any]) -> None:
    """Whatever it differs in, from a stale record or a fresh one, as a decision or as part of another write."""
    one, two = pair
    pay = Paying()
    record = await paused(one, pay)
    decision = CallDecision(True, digest=record.digest, by="ada")
    await one.store.decide("run", record.id, decision)
    second = replace(decision, **other)
    assert await refusal(two.store.decide("run", record.id, second)) is Refusal.ALREADY_DECIDED
    update = CallUpdate(record.id, CallStatus.REJECTED, decision=second)
    assert await refusal(two.store.settle("run", update)) is Refusal.ALREADY_DECIDED
    assert (await two.call("pay")).status == CallStatus.AWAITING_DECISION
    await one.run(ScriptedModel(["done"]), pay)
    assert await refusal(one.store.decide("run", record.id, second)) is Refusal.ALREADY_DECIDED
    assert (await one.call("pay")).decision == decision
    assert pay.amounts == [5]


async def test_of_many_different_decisions_at_once_one_is_taken(pair: tuple[World, World]) -> None:
    pay, refused, taken = Paying(), list[Refusal](), list[int]()
    record = await paused(pair[0], pay)

    async def submit(world: World, amount: int) -> None:
        try:
            await world.store.decide("run", record.id, CallDecision(True, arguments=f'{{"amount":{amount}}}'))
            taken.append(amount)
        except DecisionRefused as error:
            refused.append(error.reason)

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(submit, pair[number % 2], number)
    assert refused == [Refusal.ALREADY_DECIDED] * 9
    await pair[1].run(ScriptedModel(["done"]), pay)
    assert pay.amounts == taken


# --- the arguments a decision was made on


async def test_a_decision_on_other_arguments_is_refused(pair: tuple[World, World]) -> None:
    """Altered after somebody looked: the store compares digests, and the call goes on waiting."""
    one, two = pair
    pay = Paying()
    record = await paused(one, pay)
    seen = replace(record, digest="0123456789abcdef")
    altered = two.store.decide("run", record.id, CallDecision(True, digest=seen.digest))
    assert await refusal(altered) is Refusal.OTHER_ARGUMENTS
    assert (await two.call("pay")).decision is None
    await decide(two)
    await one.run(ScriptedModel(["done"]), pay)
    assert pay.amounts == [5]


async def test_calls_with_other_arguments_have_other_digests() -> None:
    """What a decision is bound to is the text that the model wrote."""
    digests: set[str] = set()
    for text in ('{"amount":5}', '{"amount":6}', '{"amount": 5}', ""):
        record = await paused(World(), Paying(), wanted=call("pay", text))
        digests.add(record.digest)
        assert record.digest == (await paused(World(), Paying(), wanted=call("pay", text))).digest
    assert len(digests) == 4
    assert "" not in digests


@pytest.mark.parametrize("decision", [CallDecision(True), CallDecision(True, arguments='{"amount":6}')])
async def test_a_record_that_was_altered_after_the_approval_is_not_carried_out(decision: CallDecision) -> None:
    """The fold compares once more, for a store that did not, or a record that somebody changed in it."""
    world, pay = World(), Paying()
    record = await paused(world, pay)
    assert isinstance(world.store, MemoryStore)
    kept = world.store._runs["run"].calls
    kept[record.id] = replace(record, decision=replace(decision, digest="0123456789abcdef"))
    model = ScriptedModel(["a pity"])
    result = await world.run(model, pay)
    assert (result.calls[0].status, result.calls[0].error) == (CallStatus.FAILED, ENGLISH.decision_void)
    assert asked(model)[0][-1].endswith(error_text(ENGLISH.decision_void))
    assert pay.invocations == []


# --- too late


async def test_an_expired_call_cannot_be_decided(pair: tuple[World, World]) -> None:
    """Refused in the store, rejected by the run, and refused after that as well."""
    one, two = pair
    pay = Paying(policy=policy_of(CallPolicy(confirm=Confirm(expires_in_ms=5_000))))
    record = await paused(one, pay)
    await trio.sleep(5)
    decision = CallDecision(True, digest=record.digest)
    assert await refusal(two.store.decide("run", record.id, decision)) is Refusal.EXPIRED
    await one.run(ScriptedModel(["too late"]), pay)
    assert (await one.call("pay")).status == CallStatus.REJECTED
    assert await refusal(two.store.decide("run", record.id, decision)) is Refusal.NOT_WAITING
    assert pay.invocations == []


async def test_a_decision_that_is_over_cannot_be_submitted(pair: tuple[World, World]) -> None:
    one, _ = pair
    record = await paused(one, Paying())
    late = CallDecision(True, digest=record.digest, expires_at=now())
    assert await refusal(one.store.decide("run", record.id, late)) is Refusal.EXPIRED


async def test_a_call_of_a_cancelled_run_cannot_be_decided(pair: tuple[World, World]) -> None:
    """Decision 40: it did not run, and nobody can approve it later."""
    one, two = pair
    pay = Paying()
    record = await paused(one, pay)
    await one.runtime.cancel("run", one.store.journal("run"), "enough")
    given_up = await two.call("pay")
    assert (given_up.status, given_up.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)
    assert await refusal(two.store.decide("run", record.id, CallDecision(True))) is Refusal.NOT_WAITING
    await one.run(ScriptedModel(["enough"]), pay)
    assert pay.invocations == []


# --- two executors over one approved call


class Meeting:
    """Two executors of one run, and what became of each."""

    def __init__(self, pair: tuple[World, World], pay: Paying) -> None:
        self.pair = pair
        self.pay = pay
        self.ends: dict[int, RunResult | RunBusy] = {}

    async def execute(self, place: int, **options: Any) -> None:
        """One of them resumes the run."""
        try:
            self.ends[place] = await self.pair[place].run(ScriptedModel(["done"] * 2), self.pay, **options)
        except RunBusy as busy:
            self.ends[place] = busy

    @property
    def kinds(self) -> set[str]:
        """How they ended, in words."""
        return {_kind(end) for end in self.ends.values()}


def _kind(end: RunResult | RunBusy) -> str:
    if isinstance(end, RunBusy):
        return "busy"
    return end.outcome.kind.value if isinstance(end.outcome, Failed) else "delivered"


async def test_two_executors_at_once_start_an_approved_call_once(pair: tuple[World, World]) -> None:
    """Decision 9: one holds the run, and the other is told until when."""
    pay = Paying(body=answer_after(5, "paid"))
    await paused(pair[0], pay)
    await decide(pair[1])
    meeting = Meeting(pair, pay)
    async with trio.open_nursery() as nursery:
        for place in (0, 1):
            nursery.start_soon(meeting.execute, place)
    assert meeting.kinds == {"busy", "delivered"}
    assert pay.amounts == [5]


@pytest.mark.parametrize("delay", [0.0, 0.001, 2.5, 4.999, 5.0])
async def test_an_executor_that_takes_the_run_over_starts_an_approved_call_at_most_once(
    pair: tuple[World, World], delay: float
) -> None:
    """Decision 9: whoever was pushed aside writes nothing more, and what its tool does, nobody knows."""
    pay = Paying(body=answer_after(5, "paid"))
    await paused(pair[0], pay)
    await decide(pair[1])
    meeting = Meeting(pair, pay)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: meeting.execute(0, take_over=True))
        await trio.sleep(delay)
        nursery.start_soon(lambda: meeting.execute(1, take_over=True))
    assert pay.amounts == [5]
    assert "delivered" in meeting.kinds
    assert meeting.kinds <= {"delivered", "stale_attempt"}
    record = await pair[0].call("pay")
    assert record.status in (CallStatus.SUCCEEDED, CallStatus.NEEDS_REVIEW)


MOMENTS: dict[str, Callable[[str, Any], bool]] = {
    "begin": lambda name, value: name == "begin",
    "running": lambda name, value: name == "save_call" and value.status == CallStatus.RUNNING,
    "outcome": lambda name, value: name == "save_call" and value.settled,
    "step": lambda name, value: name == "save_step",
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_rival_at_any_write_does_not_start_an_approved_call_again(
    pair: tuple[World, World], moment: str, when: str
) -> None:
    """The whole of another execution takes place right before, or right after, one write of the first."""
    pay = Paying(body=answer_after(1, "paid"))
    await paused(pair[0], pay)
    await decide(pair[1])
    meeting = Meeting(pair, pay)

    async def intrude(name: str, value: Any) -> None:
        if not meeting.ends and MOMENTS[moment](name, value):
            await meeting.execute(1, take_over=True)

    journal = WatchedJournal(pair[0].store.journal("run"), **{when: intrude})
    await meeting.execute(0, journal=journal)
    assert len(meeting.ends) == 2
    assert pay.amounts == [5]
    record = await pair[1].call("pay")
    assert record.settled
    if when == "before" and moment in ("begin", "running"):
        assert record.status == CallStatus.SUCCEEDED
    if (when, moment) in (("after", "running"), ("before", "outcome")):
        assert record.status == CallStatus.NEEDS_REVIEW


async def test_a_rival_without_take_over_waits_for_the_lease_of_a_dead_executor(pair: tuple[World, World]) -> None:
    """The first dies while the tool is at work; when its lease is over, the second settles and does not repeat."""
    one, two = pair
    pay = Paying(body=answer_after(1_000))
    await paused(one, pay)
    await decide(one)
    await crash(one, pay, at=lambda name, value: name == "renew")
    with pytest.raises(RunBusy) as busy:
        await two.run(ScriptedModel([]), pay)
    await trio.sleep((busy.value.until - now()) / 1000)
    result = await two.run(ScriptedModel(["so it is"]), pay)
    assert (result.calls[0].status, pay.amounts) == (CallStatus.NEEDS_REVIEW, [5])


# --- crashes


TRAITS: list[Any] = [
    ({}, CallStatus.NEEDS_REVIEW),
    ({"replayable": True}, CallStatus.INTERRUPTED),
    ({"side_effects": False}, CallStatus.INTERRUPTED),
]


@pytest.mark.parametrize(("traits", "status"), TRAITS)
@pytest.mark.parametrize("moment", ["saved as running", "at work", "done"])
async def test_a_crash_never_leads_to_a_second_execution(
    pair: tuple[World, World], moment: str, traits: dict[str, bool], status: str
) -> None:
    """Between 'saved as running' and the tool, in the tool, and between its end and the outcome."""
    one, two = pair
    pay = Paying(body=answer_after(0 if moment == "done" else 1_000, "paid"), **traits)
    await paused(one, pay)
    await decide(one)
    if moment == "saved as running":
        await _break_after_running(one, pay)
    else:
        await crash(one, pay, at=MOMENTS["outcome"] if moment == "done" else lambda name, value: name == "renew")
    started = len(pay.invocations)
    assert started == (moment != "saved as running")
    assert (await two.call("pay")).status == CallStatus.RUNNING
    for _ in range(2):
        result = await two.run(ScriptedModel(["so it is"]), pay, take_over=True)
        assert result.calls[0].status == status
    assert len(pay.invocations) == started


async def _break_after_running(world: World, pay: Paying) -> None:
    """The process loses its journal at the moment when the record says that the call is running."""

    async def lose(name: str, value: Any) -> None:
        if MOMENTS["running"](name, value):
            raise OSError("gone")

    journal = WatchedJournal(world.store.journal("run"), after=lose)
    outcome = (await world.run(ScriptedModel([]), pay, journal=journal)).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.JOURNAL


@pytest.mark.parametrize("moment", ["saved as running", "at work"])
async def test_an_approved_call_that_never_happened_is_carried_out_under_its_key(
    pair: tuple[World, World], moment: str
) -> None:
    """Decision 11: its service knows nothing of the key, so it is owed again, with the arguments that were approved."""
    asked_for: list[Any] = []

    async def look_up(invocation: Any) -> NeverHappened:
        asked_for.append((invocation.key, dict(invocation.arguments)))
        return NeverHappened()

    one, two = pair
    pay = Paying(body=answer_after(1_000), reconcile=look_up)
    record = await paused(one, pay)
    await decide(one, arguments='{"amount":3}')
    if moment == "saved as running":
        await _break_after_running(one, pay)
    else:
        await crash(one, pay, at=lambda name, value: name == "renew")
    again = Paying(body=giving(ToolResult("paid")), reconcile=look_up)
    result = await two.run(ScriptedModel(["done"]), again, take_over=True)
    assert asked_for == [(record.id, {"amount": 3})]
    assert [(made.key, made.arguments) for made in again.invocations] == [(record.id, {"amount": 3})]
    assert (result.calls[0].status, result.calls[0].result) == (CallStatus.SUCCEEDED, "paid")
    await two.run(ScriptedModel([]), again)
    assert len(again.invocations) == len(asked_for) == 1


@pytest.mark.parametrize(
    ("finding", "status", "text"),
    [
        (ToolResult("paid, receipt 7"), CallStatus.SUCCEEDED, "paid, receipt 7"),
        (ToolResult("no money", is_error=True), CallStatus.FAILED, None),
        (OutcomeUnknown(), CallStatus.NEEDS_REVIEW, ENGLISH.needs_review),
        (ValueError("the service is down"), CallStatus.NEEDS_REVIEW, ENGLISH.needs_review),
        ("paid", CallStatus.NEEDS_REVIEW, ENGLISH.needs_review),
    ],
)
async def test_what_a_service_knows_of_a_call_is_its_outcome(finding: Any, status: str, text: str | None) -> None:
    """Decision 11: without running it again, and a service that does not answer knows nothing."""
    reconcile: Any = panicking(finding) if isinstance(finding, Exception) else giving(finding)
    world, pay = World(), Paying(body=answer_after(1_000), reconcile=reconcile)
    await paused(world, pay)
    await decide(world)
    await crash(world, pay, at=lambda name, value: name == "renew")
    result = await world.run(ScriptedModel(["so it is"]), pay, take_over=True)
    assert (result.calls[0].status, result.calls[0].result) == (status, text)
    assert pay.amounts == [5]


async def test_a_call_nobody_had_to_approve_is_not_repeated_when_it_never_happened() -> None:
    """Decision 11: it settles as one that never started, and the model may call again."""
    world, pay = World(), Paying(policy=None, body=answer_after(1_000), reconcile=giving(NeverHappened()))  # type: ignore[arg-type]
    await world.say("buy it")
    await crash(world, pay, at=lambda name, value: name == "renew", model=ScriptedModel([call("pay", BUY)]))
    result = await world.run(ScriptedModel(["so it is"]), pay, take_over=True)
    assert (result.calls[0].status, result.calls[0].result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)
    assert pay.amounts == [5]
