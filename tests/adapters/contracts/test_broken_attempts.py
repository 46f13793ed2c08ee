"""Each of these stores breaks one rule for attempts, and the suite says which: just the cases beside it fail."""

from collections.abc import Callable

import pytest
import trio
from turnfold.adapters.stores.memory import MemoryJournal, MemoryStore
from turnfold.adapters.stores.memory_kept import MemoryRun
from turnfold.effects.journal import Begun, CallUpdate, Resume, RunBusy, StaleAttempt
from turnfold.effects.record import ToolCall
from turnfold.effects.values import replace


class StaleAttemptIsAccepted(MemoryJournal):
    def _fenced(self, attempt: int) -> MemoryRun:
        run = self._runs.get(self._run_id)
        if run is None or not 0 < attempt <= run.attempt:
            raise StaleAttempt
        return run


class StaleAttemptMayEnd(MemoryJournal):
    async def end(self, attempt: int) -> None:
        self._runs[self._run_id].lease_until = None


class StaleAttemptMayRenew(MemoryJournal):
    async def renew(self, attempt: int, lease_ms: int) -> None:
        self._runs[self._run_id].lease_until = self._now() + lease_ms


class UnknownAttemptIsAccepted(MemoryJournal):
    def _fenced(self, attempt: int) -> MemoryRun:
        run = self._runs.setdefault(self._run_id, MemoryRun(0))
        return run if attempt > run.attempt else super()._fenced(attempt)


class LeaseIsNeededToWrite(MemoryJournal):
    def _fenced(self, attempt: int) -> MemoryRun:
        run = super()._fenced(attempt)
        if run.lease_until is None or run.lease_until <= self._now():
            raise StaleAttempt
        return run


class BeginDoesNotFence(MemoryJournal):
    """Hands out the number that is there already."""

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        begun = await super().begin(lease_ms, take_over)
        self._runs[self._run_id].attempt = 1
        return replace(begun, attempt=1)


class BeginLoadsBeforeItFences(MemoryJournal):
    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        run = self._runs.get(self._run_id, MemoryRun(0))
        resume = run.resume()
        await trio.lowlevel.checkpoint()
        return replace(await super().begin(lease_ms, take_over), resume=resume)


class LeaseIsIgnored(MemoryJournal):
    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        return await super().begin(lease_ms, take_over=True)


class TakeOverIsIgnored(MemoryJournal):
    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        return await super().begin(lease_ms)


class TakeOverHasNoLease(MemoryJournal):
    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        begun = await super().begin(lease_ms, take_over)
        if take_over:
            self._runs[self._run_id].lease_until = None
        return begun


class LeaseNeverRunsOut(MemoryJournal):
    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        run = self._runs.get(self._run_id)
        if run and run.lease_until is not None and not take_over:
            raise RunBusy(run.lease_until)
        return await super().begin(lease_ms, take_over)


class LeaseIsCheckedTooEarly(MemoryJournal):
    """Looks, waits, and takes what it saw for what is."""

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        run = self._runs.get(self._run_id)
        free = run is None or run.lease_until is None
        await trio.lowlevel.checkpoint()
        return await super().begin(lease_ms, take_over or free)


class RenewingDoesNothing(MemoryJournal):
    async def renew(self, attempt: int, lease_ms: int) -> None:
        self._fenced(attempt)


class EndingKeepsTheLease(MemoryJournal):
    async def end(self, attempt: int) -> None:
        self._fenced(attempt)


class RunsAreMixedUp(MemoryStore):
    def journal(self, run_id: str) -> MemoryJournal:
        return super().journal("the same for all")

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        return await super().settle("the same for all", update)

    async def call(self, run_id: str, call_id: str) -> ToolCall | None:
        return await super().call("the same for all", call_id)

    async def load(self, run_id: str) -> Resume | None:
        return await super().load("the same for all")


BROKEN: dict[type[MemoryJournal] | type[MemoryStore], set[str]] = {
    StaleAttemptIsAccepted: {
        "an_older_attempt_ends_nothing",
        "an_older_attempt_renews_nothing",
        "an_older_attempt_saves_no_call",
        "an_older_attempt_saves_no_step",
        "what_was_accepted_is_in_the_next_resume",
    },
    StaleAttemptMayEnd: {"an_older_attempt_ends_nothing"},
    StaleAttemptMayRenew: {"an_older_attempt_renews_nothing"},
    UnknownAttemptIsAccepted: {"nobody_writes_without_an_attempt"},
    LeaseIsNeededToWrite: {"the_newest_attempt_writes_after_its_lease_ran_out"},
    BeginDoesNotFence: {
        "a_lease_runs_out",
        "a_live_lease_can_be_taken_over",
        "an_older_attempt_ends_nothing",
        "an_older_attempt_renews_nothing",
        "an_older_attempt_saves_no_call",
        "an_older_attempt_saves_no_step",
        "attempts_count_up",
        "ending_gives_the_lease_back",
        "renewing_moves_the_end_of_the_lease",
        "the_host_writes_without_an_attempt",
        "what_was_accepted_is_in_the_next_resume",
    },
    BeginLoadsBeforeItFences: {"what_was_accepted_is_in_the_next_resume"},
    LeaseIsIgnored: {
        "a_live_lease_can_be_taken_over",
        "a_live_lease_keeps_others_out",
        "an_older_attempt_ends_nothing",
        "of_two_racing_begins_one_holds",
        "renewing_moves_the_end_of_the_lease",
        "runs_are_kept_apart",
        "the_newest_attempt_writes_after_its_lease_ran_out",
    },
    TakeOverIsIgnored: {
        "a_live_lease_can_be_taken_over",
        "an_older_attempt_ends_nothing",
        "an_older_attempt_renews_nothing",
        "an_older_attempt_saves_no_call",
        "an_older_attempt_saves_no_step",
        "attempts_count_up",
        "what_was_accepted_is_in_the_next_resume",
    },
    TakeOverHasNoLease: {"a_live_lease_can_be_taken_over", "an_older_attempt_ends_nothing"},
    LeaseNeverRunsOut: {"a_lease_runs_out", "an_older_attempt_renews_nothing", "renewing_moves_the_end_of_the_lease"},
    LeaseIsCheckedTooEarly: {"of_two_racing_begins_one_holds"},
    RenewingDoesNothing: {"renewing_moves_the_end_of_the_lease", "the_newest_attempt_writes_after_its_lease_ran_out"},
    EndingKeepsTheLease: {
        "attempts_count_up",
        "begin_gives_what_earlier_attempts_left",
        "ending_gives_the_lease_back",
        "the_host_writes_without_an_attempt",
    },
    RunsAreMixedUp: {
        "a_call_that_the_host_hands_over_is_listed",
        "a_call_that_waits_for_something_else_waits_anew",
        "a_call_that_was_decided_or_settled_is_not_listed_any_more",
        "a_step_lists_calls_and_takes_them_off",
        "each_call_that_waits_is_listed_with_what_for",
        "each_run_has_its_own_waiting_calls",
        "runs_are_kept_apart",
        "the_longest_waiting_call_comes_first",
    },
}


@pytest.mark.parametrize(("broken", "cases"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN])
def test_a_broken_journal_fails_the_cases_of_its_rule(
    broken: type[MemoryJournal] | type[MemoryStore], cases: set[str], failing_journal_cases: Callable[..., set[str]]
) -> None:
    assert failing_journal_cases(broken) == cases
