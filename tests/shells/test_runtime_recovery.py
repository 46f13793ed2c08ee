"""Crashes, cancellations and rivals: what was cut off is settled by what it is, and the run goes on from there."""

from typing import Any

import attrs
import msgspec
import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, say
from turnfold.core.run import Fold, Limits, RunSpec, rules_for
from turnfold.core.run.head import HEAD_VERSION
from turnfold.core.text import ENGLISH
from turnfold.effects.journal import Begun, Changes, LogChange, RunBusy, StaleAttempt, Step
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.model import ModelRequest, UsageReported
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.record import CallStatus, Handover
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import Usage
from turnfold.shells.drive import Driver
from turnfold.shells.perform import Ports

from tests.shells.world import EPOCH, Mortal, Tool, WatchedJournal, World, answer_after, asked, hang, now

BATCH = call("pay") + call("look") + call("crawl")


def tools(body: Any = hang) -> list[Tool]:
    """One that must not be repeated, one that may be, and one that changes nothing."""
    return [Tool("pay", body, side_effects=True), Tool("look", body, replayable=True), Tool("crawl", body)]


SETTLED = [
    (CallStatus.NEEDS_REVIEW, ENGLISH.needs_review),
    (CallStatus.INTERRUPTED, ENGLISH.interrupted_replayable),
    (CallStatus.INTERRUPTED, ENGLISH.interrupted),
]


# --- cancellation


async def test_a_cancelled_run_settles_its_calls_by_what_they_are() -> None:
    """RT-11 as decision 5 has it: under a shield, and saved, before the cancellation goes on its way."""
    world = World()
    await world.say("hi")
    with trio.move_on_after(5) as scope:
        await world.run(ScriptedModel([BATCH]), *tools())
    assert scope.cancelled_caught
    stored = await world.stored()
    assert [(record.status, record.result) for record in stored.calls] == SETTLED
    assert stored.outcome == Failed(FailureKind.CANCELLED, "the run was cancelled", boundary=1)
    summary = await world.store.run("run")
    assert summary is not None
    assert not summary.held
    model = ScriptedModel(["so it is"])
    result = await world.run(model, *tools())
    assert result.outcome == Delivered("so it is", boundary=1)
    assert asked(model)[0][2:] == [f"tool call-{place}: {text}" for place, (_, text) in enumerate(SETTLED, 1)]


async def test_a_result_within_the_grace_counts() -> None:
    """Decision 5: first the cut, then a short grace, then the settlement."""
    world = World(grace_s=2.0)
    await world.say("hi")
    bodies = [answer_after(6, "just in time"), answer_after(8, "too late")]
    with trio.move_on_after(5):
        await world.run(
            ScriptedModel([call("quick") + call("slow")]), Tool("quick", bodies[0]), Tool("slow", bodies[1])
        )
    quick, slow = (await world.stored()).calls
    assert (quick.status, quick.result) == (CallStatus.SUCCEEDED, "just in time")
    assert (slow.status, slow.result) == (CallStatus.INTERRUPTED, ENGLISH.interrupted)


async def test_a_tool_that_answers_its_cancellation_has_answered() -> None:
    world = World()

    async def hand_in(invocation: Invocation) -> str:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            return "as far as I came"
        raise AssertionError("unreachable")

    await world.say("hi")
    with trio.move_on_after(5):
        await world.run(ScriptedModel([call("dig")]), Tool("dig", hand_in))
    assert (await world.call("dig")).result == "as far as I came"


async def test_a_call_that_had_not_started_is_told_from_one_that_had() -> None:
    """Decision 4, in a sequential batch."""
    world = World()
    await world.say("hi")
    with trio.move_on_after(5):
        await world.run(ScriptedModel([call("pay") + call("pay")]), *tools(), sequential=True)
    first, second = (await world.stored()).calls
    assert first.status == CallStatus.NEEDS_REVIEW
    assert (second.status, second.result) == (CallStatus.INTERRUPTED, ENGLISH.never_started)
    assert second.started_at is None
    assert second.completed_at is not None


@pytest.mark.parametrize("seconds", [0.0, 0.5, 0.8, 1.1, 1.3])
async def test_a_run_can_be_cancelled_at_any_time(seconds: float) -> None:
    """Before its attempt has begun, while the model speaks, or while the last step is being saved."""
    world = World()

    async def slowly(name: str, value: Any) -> None:
        await trio.sleep(0.25)

    await world.say("hi")
    model = ScriptedModel([say("one and two")], chunk=3, gap_s=0.1, sleep=trio.sleep)
    with trio.move_on_after(seconds) as scope:
        await world.run(model, journal=WatchedJournal(world.store.journal("run"), before=slowly))
    assert scope.cancelled_caught
    again = ScriptedModel(["three"])
    result = await world.run(again)
    assert isinstance(result.outcome, Delivered)
    assert result.text == ("three" if again.requests else "one and two")


async def test_what_a_cancelled_model_call_used_is_counted_once() -> None:
    """decision 26"""

    class Wordy(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            yield UsageReported(Usage(input=10))
            try:
                await trio.sleep_forever()
            finally:
                yield_last.set()

    yield_last = trio.Event()
    world = World()
    await world.say("hi")
    with trio.move_on_after(1):
        await world.run(Wordy([]))
    assert yield_last.is_set()
    assert now() == EPOCH + 1_000
    assert (await world.stored()).usage == Usage(input=10)


async def test_settling_has_a_deadline() -> None:
    """A tool that does not listen cannot hold up a cancelled caller for ever; its record stays running."""
    world, start = World(settle_s=3.0), now()

    async def deaf(invocation: Invocation) -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(4)
        return "what?"

    await world.say("hi")
    with trio.move_on_after(1) as scope:
        await world.run(ScriptedModel([call("deaf")]), Tool("deaf", deaf))
    assert scope.cancelled_caught
    assert now() - start == 4_000
    assert (await world.call("deaf")).status == CallStatus.RUNNING


async def test_a_hanging_journal_cannot_hold_up_a_cancelled_caller() -> None:
    world, start = World(settle_s=3.0), now()

    async def stuck(name: str, value: Any) -> None:
        if name == "save_step":
            await trio.sleep_forever()

    await world.say("hi")
    with trio.move_on_after(1) as scope:
        await world.run(ScriptedModel(["hi"]), journal=WatchedJournal(world.store.journal("run"), before=stuck))
    assert scope.cancelled_caught
    assert now() - start == 4_000


def driver_for(world: World, *tools: Tool, run_id: str = "run", model: Any = None) -> Driver:
    """A driver of the world's run, for what only a driver can do."""
    spec = RunSpec(run_id, tools=tuple(tool.spec for tool in tools))
    named = {tool.spec.name: tool for tool in tools}
    ports = Ports(world.store.journal(run_id), world.store.feed("talk"), model or ScriptedModel([]), named, now)
    return Driver(Fold(rules_for(spec)), ports)


async def test_cancelling_from_outside_takes_the_run_over() -> None:
    """Decision 40: a new attempt that settles, saves and ends, without tools; the old executor finds itself stale."""
    world, results = World(), list[RunResult]()
    await world.say("hi")

    async def execute() -> None:
        results.append(await world.run(ScriptedModel([BATCH]), *tools()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(execute)
        await trio.sleep(5)
        driver = driver_for(world)
        driver.cancel("the customer left")
        result = await driver.run(b"seed", take_over=True)
        assert result.outcome == Failed(FailureKind.CANCELLED, "the run was cancelled: the customer left", boundary=1)
        assert [(record.status, record.result) for record in result.calls] == SETTLED
    stored = await world.stored()
    assert (stored.calls, stored.outcome) == (result.calls, result.outcome)
    (stale,) = results
    assert isinstance(stale.outcome, Failed)
    assert stale.outcome.kind is FailureKind.STALE_ATTEMPT


async def test_cancelling_a_run_that_has_delivered_takes_nothing_back() -> None:
    """decision 2"""
    world = World()
    await world.say("hi")
    delivered = (await world.run(ScriptedModel(["hello"]))).outcome
    driver = driver_for(world)
    driver.cancel()
    await driver.run(b"seed")
    assert (await world.run(ScriptedModel([]))).outcome == delivered


async def test_a_cancellation_may_come_just_before_the_answer() -> None:
    """The answer of a model or a tool is on its way when it is told to stop: nothing to stop any more."""
    world = World()
    await world.say("hi")
    drivers: list[Driver] = []

    class Hasty(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            drivers[0].cancel()
            async for delta in super().stream(request):
                yield delta

    drivers.append(driver_for(world, model=Hasty(["hello"])))
    outcome = (await drivers[0].run(b"one")).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CANCELLED

    async def hasty(invocation: Invocation) -> str:
        drivers[1].cancel()
        return "done all the same"

    drivers.append(driver_for(world, Tool("hasty", hasty), model=ScriptedModel([call("hasty")])))
    result = await drivers[1].run(b"two")
    assert isinstance(result.outcome, Failed)
    assert result.calls[0].result == "done all the same"


async def test_a_model_that_was_never_reached_can_be_cancelled() -> None:
    """The cancellation is there before the model's task has begun to run."""
    world = World()
    await world.say("hi")
    drivers: list[Driver] = []

    class Feed:
        def __init__(self, inner: Any) -> None:
            self.watch, self.pending, self._inner = inner.watch, inner.pending, inner

        async def claim(self, after: int, through: int) -> Any:
            claim = await self._inner.claim(after, through)
            drivers[0].cancel()
            drivers[0].put(drivers[0]._events.pop())
            return claim

    model = ScriptedModel([])
    driver = driver_for(world, model=model)
    driver._ports = attrs.evolve(driver._ports, feed=Feed(world.store.feed("talk")))
    drivers.append(driver)
    outcome = (await driver.run(b"seed")).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CANCELLED


# --- crashes


async def crashed(world: World, *, at: str = "run") -> None:
    """A process dies while the three tools of the batch are at work, or before they are."""
    process = Mortal(world)
    await world.say("hi")

    async def die(invocation: Invocation) -> str:
        await trio.sleep(1)
        process.die()
        return ""

    async def die_before(name: str, value: Any) -> None:
        if name == "save_call":
            process.die()
            await trio.sleep_forever()

    if at == "queued":
        process.before = die_before
    await process.run(ScriptedModel([BATCH]), *tools(die))


async def test_running_calls_of_a_crashed_run_are_settled_by_what_they_are() -> None:
    """RT-11, from a process that died with its calls running; decisions 4 and 5."""
    world = World()
    await crashed(world)
    assert {record.status for record in (await world.stored()).calls} == {CallStatus.RUNNING}
    model = ScriptedModel(["so it is"])
    again = tools()
    result = await world.run(model, *again, take_over=True)
    assert [(record.status, record.result) for record in result.calls] == SETTLED
    assert (await world.stored()).calls == result.calls
    assert asked(model)[0][2:] == [f"tool call-{place}: {text}" for place, (_, text) in enumerate(SETTLED, 1)]
    assert [tool.invocations for tool in again] == [[], [], []]


async def test_queued_calls_of_a_crashed_run_were_never_started() -> None:
    """decision 4"""
    world = World()
    await crashed(world, at="queued")
    assert {record.status for record in (await world.stored()).calls} == {CallStatus.QUEUED}
    model = ScriptedModel(["then I will call again"])
    result = await world.run(model, *tools(), take_over=True)
    assert [(record.status, record.result) for record in result.calls] == [
        (CallStatus.INTERRUPTED, ENGLISH.never_started)
    ] * 3
    assert [record.started_at for record in result.calls] == [None] * 3


@pytest.mark.parametrize("handover", [Handover.DETACHED, Handover.SUBMITTED])
async def test_a_call_that_somebody_else_owns_stays_theirs(handover: Handover) -> None:
    """Decision 4: the host handed the call over in the transaction of its dispatch."""
    world = World()
    await crashed(world)
    await world.settle("pay", handover=handover, result="order 66 is on its way")
    model = ScriptedModel(["it will come"])
    result = await world.run(model, *tools(), take_over=True)
    assert result.outcome == Delivered("it will come", boundary=1)
    assert (result.calls[0].status, result.calls[0].handover) == (CallStatus.RUNNING, handover)
    assert asked(model)[0][2] == "tool call-1: order 66 is on its way"


async def test_a_call_that_is_awaited_outside_suspends_the_run_until_it_is_settled() -> None:
    """Nothing else is settled twice, and nobody asks the model meanwhile."""
    world = World()
    await crashed(world)
    await world.settle("pay", status=CallStatus.WAITING, handover=Handover.AWAIT)
    pay = await world.call("pay")
    for _ in range(2):
        result = await world.run(ScriptedModel([]), *tools(), take_over=True)
        assert result.outcome == Suspended((pay.id,), boundary=1)
        assert [(record.status, record.rev) for record in result.calls[1:]] == [(CallStatus.INTERRUPTED, 3)] * 2
    await world.settle("pay", status=CallStatus.FAILED, error="the bank is closed")
    model = ScriptedModel(["then tomorrow"])
    assert (await world.run(model, *tools())).text == "then tomorrow"
    assert asked(model)[0][2] == 'tool call-1!: {"error":"the bank is closed"}'


@pytest.mark.parametrize(
    ("settled", "told"),
    [
        ({"status": "expired"}, "tool call-1!: The call pay (call-1) was dropped"),
        ({"status": "expired", "result": "nobody came"}, "tool call-1: nobody came"),
        ({"status": CallStatus.FAILED, "result": "r"}, "tool call-1!: r"),
        ({"status": CallStatus.FAILED, "error": "e"}, 'tool call-1!: {"error":"e"}'),
        ({"status": CallStatus.FAILED, "result": "r", "error": "e"}, 'tool call-1!: {"error":"e"}'),
        ({"status": "running", "handover": Handover.DETACHED, "result": "r", "error": "e"}, "tool call-1: r"),
        ({"status": CallStatus.FAILED, "handover": Handover.DETACHED, "result": "r", "error": "e"}, "tool call-1!: r"),
        ({"status": "running", "handover": Handover.DETACHED}, "tool call-1!: The call pay (call-1) was dropped"),
    ],
)
async def test_what_the_model_sees_of_a_call_that_its_host_settled(settled: dict[str, Any], told: str) -> None:
    """N-13 and N-14."""
    world = World()
    await crashed(world)
    await world.settle("pay", **settled)
    model = ScriptedModel(["so"])
    await world.run(model, *tools(), take_over=True)
    assert asked(model)[0][2].startswith(told)


async def test_a_text_whose_outcome_was_not_saved_is_delivered_without_asking_again() -> None:
    """Decision 2: the last step is missing, the text is not."""
    world, process = World(), None
    process = Mortal(world)
    await world.say("hi")

    async def die_before_outcome(name: str, value: Any) -> None:
        if isinstance(value, Step) and value.outcome is not None:
            process.die()
            await trio.sleep_forever()

    process.before = die_before_outcome
    await process.run(ScriptedModel(["hello"]))
    assert (await world.stored()).outcome is None
    assert (await world.run(ScriptedModel([]), take_over=True)).outcome == Delivered("hello", boundary=1)


async def test_a_resumed_batch_gives_way_to_newer_input_with_a_full_budget() -> None:
    """RT-24, as far as it needs no Await."""
    world = World()
    await crashed(world)
    await world.say("and this?")
    model = ScriptedModel([call("look"), "done"])
    result = await world.run(model, *tools(answer_after(0)), take_over=True, limits=Limits(iterations=2))
    assert result.outcome == Delivered("done", boundary=2)
    assert [bool(request.tools) for request in model.requests] == [True, False]
    assert asked(model)[0][-1] == "user: and this?"


async def test_iterations_carry_over_a_crash() -> None:
    """One of two was spent before the crash."""
    world = World()
    await crashed(world)
    model = ScriptedModel(["done"])
    await world.run(model, *tools(), take_over=True, limits=Limits(iterations=2))
    assert model.requests[0].notice == ENGLISH.final_notice


# --- leases


async def test_a_run_that_another_executor_holds_is_busy() -> None:
    """Decision 9: with a time; and after that time it is free."""
    world = World()
    await crashed(world)
    started, limits = now(), Limits(lease_ms=10_000)
    with pytest.raises(RunBusy) as caught:
        await world.run(ScriptedModel([]), *tools(), limits=limits)
    assert started < caught.value.until <= started + 30_000
    await trio.sleep((caught.value.until - now()) / 1_000)
    assert (await world.run(ScriptedModel(["free"]), *tools(), limits=limits)).text == "free"


async def test_an_executor_that_was_taken_over_ends_and_writes_nothing() -> None:
    """decision 9"""
    world, results = World(), list[RunResult]()
    await world.say("hi")
    late: list[str] = []

    async def slow(invocation: Invocation) -> ToolResult:
        await trio.sleep(8)
        late.append(invocation.key)
        return ToolResult("late")

    async def execute() -> None:
        results.append(await world.run(ScriptedModel([call("slow"), "one"]), Tool("slow", slow)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(execute)
        await trio.sleep(5)
        second = await world.run(ScriptedModel(["two"]), Tool("slow", slow), take_over=True)
        before = await world.stored()
    assert second.text == "two"
    (first,) = results
    assert first.outcome == Failed(FailureKind.STALE_ATTEMPT, "another executor has taken over this run", boundary=1)
    assert late == [second.calls[0].id]
    assert await world.stored() == before


async def test_tools_are_stopped_when_the_lease_cannot_be_renewed() -> None:
    """Decision 9: an effect is cut off when renewing fails, and what it did is unknown."""
    world, start = World(), now()
    cut: list[int] = []

    async def work(invocation: Invocation) -> str:
        try:
            await trio.sleep_forever()
        finally:
            cut.append(now() - start)
        raise AssertionError("unreachable")

    async def lost(name: str, value: Any) -> None:
        if name == "renew":
            raise StaleAttempt("gone")

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), before=lost)
    limits = Limits(lease_ms=9_000)
    result = await world.run(ScriptedModel([call("work")]), Tool("work", work), journal=journal, limits=limits)
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.STALE_ATTEMPT
    assert cut == [3_500]
    assert (await world.call("work")).status == CallStatus.RUNNING


async def test_a_lease_is_renewed_for_as_long_as_the_run_works() -> None:
    world, start = World(), now()
    renewed: list[int] = []

    async def note(name: str, value: Any) -> None:
        if name == "renew":
            renewed.append(now() - start)

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), after=note)
    limits = Limits(lease_ms=6_000)
    model = ScriptedModel([call("work"), "done"])
    result = await world.run(model, Tool("work", answer_after(7)), journal=journal, limits=limits)
    assert (result.text, renewed) == ("done", [2_000, 4_000, 6_000])


async def test_no_effect_starts_without_lease_to_spare() -> None:
    """Decision 9: a lease that ran out while writes were slow is renewed before the tool starts."""
    world, held = World(), list[bool]()

    async def slowly(name: str, value: Any) -> None:
        if name == "renew" or (name == "save_call" and value.status == CallStatus.RUNNING):
            await trio.sleep(5 if name == "save_call" else 3)

    async def work(invocation: Invocation) -> str:
        summary = await world.store.run("run")
        assert summary is not None
        held.append(summary.held)
        return "worked"

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), before=slowly)
    model = ScriptedModel([call("work"), "done"])
    result = await world.run(model, Tool("work", work), journal=journal, limits=Limits(lease_ms=4_000))
    assert (result.text, held) == ("done", [True])


async def test_a_lease_is_given_back_and_not_renewed_any_more() -> None:
    """Even where renewing takes longer than the time until the next renewal, and giving back takes longer still."""
    world, done = World(), list[str]()

    async def slowly(name: str, value: Any) -> None:
        if name in ("renew", "end"):
            await trio.sleep(3 if name == "renew" else 30)

    async def note(name: str, value: Any) -> None:
        done.append(name)

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), slowly, note)
    model, limits = ScriptedModel([call("work"), "done"]), Limits(lease_ms=4_000)
    result = await world.run(model, Tool("work", answer_after(5)), journal=journal, limits=limits)
    assert result.text == "done"
    assert done[-1] == "end"
    summary = await world.store.run("run")
    assert summary is not None
    assert not summary.held


# --- journals that fail


@pytest.mark.parametrize("method", ["begin", "save_step", "save_call", "renew", "end"])
async def test_a_journal_that_fails_ends_the_run(method: str) -> None:
    """Decision 33; nothing is done that could not be saved, and nothing is written any more."""
    world, tool = World(), Tool("work", answer_after(20))
    await world.say("hi")
    writes: list[str] = []

    async def fail(name: str, value: Any) -> None:
        writes.append(name)
        if name == method:
            raise OSError("disk full")

    journal = WatchedJournal(world.store.journal("run"), before=fail)
    result = await world.run(ScriptedModel([call("work"), "done"]), tool, journal=journal)
    if method == "end":
        assert result.outcome == Delivered("done", boundary=1)
    else:
        boundary = 0 if method == "begin" else 1
        assert result.outcome == Failed(FailureKind.JOURNAL, "the journal failed: OSError: disk full", boundary)
    assert writes[-1] == method
    assert len(tool.invocations) == (method in ("renew", "end"))


async def test_an_outcome_that_could_not_be_saved_is_none() -> None:
    world = World()
    await world.say("hi")

    async def fail(name: str, value: Any) -> None:
        if isinstance(value, Step) and value.outcome is not None:
            raise OSError("disk full")

    journal = WatchedJournal(world.store.journal("run"), before=fail)
    outcome = (await world.run(ScriptedModel(["hello"]), journal=journal)).outcome
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.boundary) == (FailureKind.JOURNAL, 1)
    assert (await world.run(ScriptedModel([]), take_over=True)).text == "hello"


async def test_a_journal_that_answers_for_another_call_breaks_its_contract() -> None:
    class Mixed(WatchedJournal):
        async def save_call(self, attempt: int, call: Any) -> Any:
            return attrs.evolve(await super().save_call(attempt, call), id="another")

    world, tool = World(), Tool("echo")
    await world.say("hi")
    result = await world.run(ScriptedModel([call("echo")]), tool, journal=Mixed(world.store.journal("run")))
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.CONTRACT_BREACH
    assert "answered with call another" in result.outcome.message
    assert tool.invocations == []


# --- checkpoints that cannot be read


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (b"garbage", "it cannot be read"),
        (b"", "it cannot be read"),
        (b"[]", "it cannot be read"),
        (b"{}", f"it has version None, and this release reads version {HEAD_VERSION}"),
        (b'{"version":99}', f"it has version 99, and this release reads version {HEAD_VERSION}"),
        (b'{"version":1,"turns":"many"}', "it cannot be read"),
    ],
)
async def test_a_checkpoint_that_cannot_be_read_is_refused_and_kept(state: bytes, told: str) -> None:
    """N-21"""
    world = World()
    await world.say("hi")
    await world.run(ScriptedModel(["hello"]))
    journal = world.store.journal("run")
    begun = await journal.begin(1)
    await journal.save_step(begun.attempt, Step(state))
    await journal.end(begun.attempt)
    before = await world.stored()
    outcome = (await world.run(ScriptedModel([]))).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CHECKPOINT
    assert outcome.message.startswith("the checkpoint of run 'run' cannot be resumed: ")
    assert told in outcome.message
    assert await world.stored() == before


@pytest.mark.parametrize(
    "entry",
    [b"", b"[]", b'["output",[],[]]', b'["unheard",[],[]]', b'["input",[],[]]', b'["output",[{}],[]]'],
)
async def test_a_log_that_cannot_be_read_is_refused_and_kept(entry: bytes) -> None:
    """N-21"""
    world = World()
    await world.say("hi")
    await world.run(ScriptedModel(["hello"]))
    journal = world.store.journal("run")
    begun = await journal.begin(1)
    await journal.save_step(begun.attempt, Step(begun.resume.state or b"", {"main": LogChange(0, (entry,))}))
    await journal.end(begun.attempt)
    before = await world.stored()
    outcome = (await world.run(ScriptedModel([]))).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CHECKPOINT
    assert await world.stored() == before


async def test_a_log_without_a_head_is_refused() -> None:
    """N-21"""
    world = World()
    await world.say("hi")
    await world.run(ScriptedModel(["hello"]))
    headless = attrs.evolve(await world.stored(), state=None)

    class Headless(WatchedJournal):
        async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
            return Begun(2, headless)

    outcome = (await world.run(ScriptedModel([]), journal=Headless(world.store.journal("run")))).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CHECKPOINT


async def test_a_checkpoint_whose_records_are_gone_is_refused() -> None:
    """N-21"""
    world = World()
    await crashed(world)
    journal = world.store.journal("run")
    begun = await journal.begin(1, take_over=True)
    gone = (begun.resume.calls[0].id,)
    await journal.save_step(begun.attempt, Step(begun.resume.state or b"", changes=Changes(removed_calls=gone)))
    await journal.end(begun.attempt)
    outcome = (await world.run(ScriptedModel([]), *tools())).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CHECKPOINT
    assert gone[0] in outcome.message


async def test_the_head_stays_small() -> None:
    """Decision 1 and the promise of a kilobyte."""
    world = World()
    await world.say("hi " * 1_000)
    await world.run(ScriptedModel([call("echo", {"x": "y" * 2_000}), "z" * 4_000]), Tool("echo"))
    head = (await world.stored()).state or b""
    assert msgspec.json.decode(head)["version"] == HEAD_VERSION
    assert len(head) < 200
