"""What the suites leave to a store's own tests: the exact moment a lease ends, and when the host is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from turnfold.adapters.contracts import HandClock
from turnfold.adapters.stores import MemoryStore, SqliteStore
from turnfold.effects.journal import CallRejected, CallUpdate, Changes, RunBusy, StaleAttempt, Step
from turnfold.effects.record import CallStatus, Handover, ToolCall

AnyStore = MemoryStore | SqliteStore


class Host:
    """Notes what it is asked, and refuses it when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.refuses = False

    def __call__(self, run_id: str, call: ToolCall) -> None:
        self.asked.append((run_id, call.id, call.rev))
        if self.refuses:
            raise CallRejected("not today")


@pytest.fixture
def clock() -> HandClock:
    return HandClock(1_000_000)


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture(params=["memory", "sqlite", "sqlite in a thread"])
def store(request: pytest.FixtureRequest, folder: Path, clock: HandClock, host: Host) -> Iterator[AnyStore]:
    if request.param == "memory":
        made: AnyStore = MemoryStore(now=clock, admit=host)
    else:
        full_sync = request.param == "sqlite in a thread"
        made = SqliteStore(folder / "runs.db", now=clock, admit=host, full_sync=full_sync)
    with made:
        yield made


def paused(rev: int = 1, call_id: str = "c") -> ToolCall:
    return ToolCall(call_id, CallStatus.AWAITING_DECISION, rev, payload="{}")


async def test_a_lease_is_live_until_its_end_and_not_at_it(store: AnyStore, clock: HandClock) -> None:
    await store.journal("r").begin(500)
    clock.now = 1_000_499
    with pytest.raises(RunBusy) as caught:
        await store.journal("r").begin(500)
    assert caught.value.until == 1_000_500
    clock.now = 1_000_500
    assert (await store.journal("r").begin(500)).attempt == 2


async def test_a_renewed_lease_runs_from_the_renewal(store: AnyStore, clock: HandClock) -> None:
    await store.journal("r").begin(500)
    clock.now = 1_000_100
    await store.journal("r").renew(1, 100)
    with pytest.raises(RunBusy) as caught:
        await store.journal("r").begin(500)
    assert caught.value.until == 1_000_200


async def test_a_registered_run_takes_no_write_before_its_first_attempt(store: AnyStore) -> None:
    await store.create_run("r")
    for attempt in (-1, 0, 1):
        with pytest.raises(StaleAttempt, match=f"attempt {attempt} "):
            await store.journal("r").save_step(attempt, Step(b"s"))


@pytest.mark.parametrize(
    "asking",
    [paused(2), ToolCall("c", CallStatus.QUEUED, 2, handover=Handover.SUBMITTED)],
    ids=["paused", "submitted"],
)
async def test_the_host_is_asked_when_a_call_begins_to_wait_for_it_and_never_again(
    store: AnyStore, host: Host, asking: ToolCall
) -> None:
    journal = store.journal("r")
    await journal.begin(500)
    await journal.save_call(1, ToolCall("c", CallStatus.QUEUED, 1))
    assert host.asked == []
    await journal.save_call(1, asking)
    assert host.asked == [("r", "c", 2)]
    host.refuses = True
    await journal.save_call(1, asking)
    await journal.save_call(1, paused(3))
    await journal.save_call(1, paused(1))
    assert host.asked == [("r", "c", 2)]


async def test_a_refused_call_may_be_asked_again(store: AnyStore, host: Host) -> None:
    journal = store.journal("r")
    await journal.begin(500)
    host.refuses = True
    with pytest.raises(CallRejected, match="not today"):
        await journal.save_call(1, paused())
    assert await store.call("r", "c") is None
    host.refuses = False
    assert await journal.save_call(1, paused()) == paused()
    assert len(host.asked) == 2


async def test_the_host_is_not_asked_by_the_stale_nor_about_its_own_writes(store: AnyStore, host: Host) -> None:
    journal = store.journal("r")
    await journal.begin(500)
    await journal.save_call(1, ToolCall("c", CallStatus.RUNNING, 1))
    await store.settle("r", CallUpdate("c", CallStatus.QUEUED, handover=Handover.SUBMITTED))
    await journal.save_call(1, ToolCall("c", CallStatus.AWAITING_DECISION, 2, handover=Handover.SUBMITTED))
    await journal.begin(500, take_over=True)
    with pytest.raises(StaleAttempt):
        await journal.save_call(1, paused(call_id="d"))
    assert host.asked == []


async def test_other_calls_and_steps_are_not_asked_about(store: AnyStore, host: Host) -> None:
    """A run lets the host see a submission by ``save_call`` first; a step only repeats what is known."""
    journal = store.journal("r")
    await journal.begin(500)
    await journal.save_step(1, Step(b"s", changes=Changes(calls=(paused(),))))
    await journal.save_call(1, ToolCall("d", CallStatus.WAITING, 1, handover=Handover.AWAIT))
    await journal.save_call(1, ToolCall("e", CallStatus.NEEDS_REVIEW, 1))
    assert host.asked == []
