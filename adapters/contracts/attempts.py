"""Whose run it is: attempts, leases, and that nothing of an older attempt is ever stored (decision 9)."""

import trio

from ...effects.journal import CallUpdate, RunBusy, StaleAttempt
from ...effects.record import CallStatus
from .extra import pytest
from .fixtures import LEASE_MS, ROUNDS, Executor, changed, find, new_id, refused, snapshot
from .harness import Contract, JournalHarness, case
from .sameness import same_call

__all__ = ["AttemptCases"]


class AttemptCases(Contract[JournalHarness]):
    """Cases about executors."""

    @case
    async def test_attempts_count_up(self, mine: JournalHarness) -> None:
        """From 1, by one, however they began."""
        first = await Executor.begin(mine)
        second = await Executor.begin(mine, take_over=True)
        await second.end()
        third = await Executor.begin(mine)
        assert [first.attempt, second.attempt, third.attempt] == [1, 2, 3]

    @case
    async def test_begin_gives_what_earlier_attempts_left(self, mine: JournalHarness) -> None:
        """And what the host wrote in between: it is what a load gives."""
        first = await Executor.begin(mine)
        call = snapshot(new_id(), 1, CallStatus.RUNNING)
        await first.step(changed(call))
        await mine.external(CallUpdate(call.id, result="external"))
        await first.end()
        second = await Executor.begin(mine)
        assert second.resume.state == b"state"
        assert [found.result for found in second.resume.calls] == ["external"]
        assert second.resume == await mine.load()

    @case
    async def test_a_live_lease_keeps_others_out(self, mine: JournalHarness) -> None:
        """The refusal says until when, and the holder does not notice."""
        holder = await Executor.begin(mine)
        busy = await refused(Executor.begin(mine))
        assert isinstance(busy, RunBusy)
        mine.advance_clock(LEASE_MS // 2)
        again = await refused(Executor.begin(mine))
        assert isinstance(again, RunBusy)
        assert again.until == busy.until > 0
        call = snapshot(new_id(), 1, CallStatus.RUNNING)
        await holder.call(call)
        assert same_call(await find(mine, call.id), call)

    @case
    async def test_a_lease_runs_out(self, mine: JournalHarness) -> None:
        """An executor that died is followed by another when its lease is over."""
        dead = await Executor.begin(mine)
        mine.advance_clock(LEASE_MS + 1_000)
        assert (await Executor.begin(mine)).attempt == dead.attempt + 1

    @case
    async def test_renewing_moves_the_end_of_the_lease(self, mine: JournalHarness) -> None:
        """It runs anew from the renewal, for as long as the renewal says."""
        holder = await Executor.begin(mine)
        mine.advance_clock(LEASE_MS // 2)
        await holder.renew(2 * LEASE_MS)
        mine.advance_clock(LEASE_MS)
        assert isinstance(await refused(Executor.begin(mine)), RunBusy)
        mine.advance_clock(LEASE_MS + 1_000)
        assert (await Executor.begin(mine)).attempt == 2

    @case
    async def test_ending_gives_the_lease_back(self, mine: JournalHarness) -> None:
        """The next executor need not wait."""
        await (await Executor.begin(mine)).end()
        assert (await Executor.begin(mine)).attempt == 2

    @case
    async def test_a_live_lease_can_be_taken_over(self, mine: JournalHarness) -> None:
        """The new attempt has a lease of its own, which keeps others out."""
        await Executor.begin(mine)
        assert (await Executor.begin(mine, take_over=True)).attempt == 2
        assert isinstance(await refused(Executor.begin(mine)), RunBusy)

    @case
    async def test_the_newest_attempt_writes_after_its_lease_ran_out(self, mine: JournalHarness) -> None:
        """A lease keeps others from beginning; it is the next attempt that ends the right to write."""
        holder = await Executor.begin(mine)
        mine.advance_clock(LEASE_MS + 1_000)
        call = snapshot(new_id(), 1, CallStatus.RUNNING)
        await holder.call(call)
        await holder.step(changed())
        await holder.renew()
        assert same_call(await find(mine, call.id), call)
        assert isinstance(await refused(Executor.begin(mine)), RunBusy)

    @case
    async def test_an_older_attempt_saves_no_call(self, mine: JournalHarness) -> None:
        """Neither a new one nor a newer snapshot of an old one."""
        old, known = await _superseded(mine)
        fresh = snapshot(new_id(), 1, CallStatus.RUNNING)
        assert isinstance(await refused(old.call(fresh)), StaleAttempt)
        assert isinstance(await refused(old.call(snapshot(known, 9, CallStatus.SUCCEEDED))), StaleAttempt)
        assert await mine.call(fresh.id) is None
        assert (await find(mine, known)).rev == 1

    @case
    async def test_an_older_attempt_saves_no_step(self, mine: JournalHarness) -> None:
        """Not even a part of it."""
        old, known = await _superseded(mine)
        before = await mine.load()
        assert isinstance(await refused(old.step(changed(snapshot(known, 9, CallStatus.FAILED)))), StaleAttempt)
        assert await mine.load() == before

    @case
    async def test_an_older_attempt_renews_nothing(self, mine: JournalHarness) -> None:
        """It could keep the newer one's successor out."""
        old, _ = await _superseded(mine)
        assert isinstance(await refused(old.renew(100 * LEASE_MS)), StaleAttempt)
        mine.advance_clock(LEASE_MS + 1_000)
        assert (await Executor.begin(mine)).attempt == 3

    @case
    async def test_an_older_attempt_ends_nothing(self, mine: JournalHarness) -> None:
        """It would give away a lease that is not its own."""
        old, _ = await _superseded(mine)
        assert isinstance(await refused(old.end()), StaleAttempt)
        assert isinstance(await refused(Executor.begin(mine)), RunBusy)

    @case
    async def test_nobody_writes_without_an_attempt(self, mine: JournalHarness) -> None:
        """A number that was never handed out is as bad as an old one."""
        stranger = Executor(mine.make_journal(), 1, await mine.load())
        call = snapshot(new_id(), 1, CallStatus.RUNNING)
        assert isinstance(await refused(stranger.call(call)), StaleAttempt)
        await Executor.begin(mine)
        for number in (0, 2):
            stranger.attempt = number
            assert isinstance(await refused(stranger.call(call)), StaleAttempt)
            assert isinstance(await refused(stranger.step(changed(call))), StaleAttempt)
        assert await mine.call(call.id) is None

    @case
    async def test_of_two_racing_begins_one_holds(self, mine: JournalHarness) -> None:
        """The other one is told that the run is busy, and spoils nothing."""
        holders: list[Executor] = []
        others: list[RunBusy] = []

        async def race() -> None:
            try:
                holders.append(await Executor.begin(mine))
            except RunBusy as busy:
                others.append(busy)

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(race)
        assert [len(holders), len(others)] == [1, 4]
        await holders[0].call(snapshot(new_id(), 1, CallStatus.RUNNING))

    @case
    async def test_what_was_accepted_is_in_the_next_resume(self, mine: JournalHarness) -> None:
        """Fence, then load: a write that races a take-over is either refused or handed to the successor."""
        newest = [await Executor.begin(mine)]
        accepted: list[str] = []

        async def write(old: Executor) -> None:
            for _ in range(100):
                call = snapshot(new_id(), 1, CallStatus.RUNNING)
                try:
                    await old.call(call)
                except StaleAttempt:
                    return
                accepted.append(call.id)
                await trio.lowlevel.checkpoint()

        async def take_over() -> None:
            newest.append(await Executor.begin(mine, take_over=True))

        for _ in range(ROUNDS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write, newest[-1])
                nursery.start_soon(take_over)
                nursery.start_soon(write, newest[-1])
            assert {call.id for call in newest[-1].resume.calls} == set(accepted)
            assert newest[-1].resume == await mine.load()

    @case
    async def test_the_host_writes_without_an_attempt(self, mine: JournalHarness) -> None:
        """Before, between and after attempts."""
        executor = await Executor.begin(mine)
        call = snapshot(new_id(), 1, CallStatus.WAITING)
        await executor.call(call)
        await executor.end()
        await mine.external(CallUpdate(call.id, CallStatus.SUCCEEDED, result="external"))
        assert (await find(mine, call.id)).result == "external"
        assert (await Executor.begin(mine)).attempt == 2

    @case
    async def test_runs_are_kept_apart(self, mine: JournalHarness) -> None:
        """Attempts, leases, logs and calls, even calls of one id."""
        other = mine.other_run()
        if other is None:
            pytest.skip("the harness makes no other run")
        here = await Executor.begin(mine)
        there = await Executor.begin(other)
        assert (here.attempt, there.attempt) == (1, 1)
        call = snapshot(new_id(), 1, CallStatus.RUNNING)
        await here.step(changed(call))
        assert await other.call(call.id) is None
        assert (await other.load()).state is None
        await there.call(snapshot(call.id, 5, CallStatus.FAILED))
        await there.end()
        assert same_call(await find(mine, call.id), call)
        assert isinstance(await refused(Executor.begin(mine)), RunBusy)


async def _superseded(mine: JournalHarness) -> tuple[Executor, str]:
    """An executor whose run was taken over, and the id of a call that it saved before."""
    old = await Executor.begin(mine)
    known = snapshot(new_id(), 1, CallStatus.RUNNING)
    await old.call(known)
    await Executor.begin(mine, take_over=True)
    return old, known.id
