"""Each of these stores breaks one rule for the list of waiting calls: just the cases beside it fail."""

from collections.abc import Callable

import pytest
from turnfold.adapters.contracts import HandClock, JournalContract, StoreHarness
from turnfold.adapters.stores import MemoryStore, WaitingCall
from turnfold.adapters.stores.memory import MemoryJournal
from turnfold.effects.journal import CallUpdate, Changes
from turnfold.effects.record import CallStatus, ToolCall, Wait
from turnfold.effects.values import replace

Listing = tuple[WaitingCall, ...]


class Lister(MemoryStore):
    """A store whose list is another one."""

    def _listing(self, found: Listing) -> Listing:
        return found

    async def waiting(self, limit: int = 50, conversation: str | None = None) -> Listing:
        return self._listing(await super().waiting(limit, conversation))


class DetachedCallsAreLeftOut(Lister):
    def _listing(self, found: Listing) -> Listing:
        return tuple(listed for listed in found if listed.kind is not Wait.OUTSTANDING)


class ReviewsAreLeftOut(Lister):
    def _listing(self, found: Listing) -> Listing:
        return tuple(listed for listed in found if listed.kind is not Wait.REVIEW)


class ListGoesByStatus(Lister):
    """As one would do it with a column for the status: a submission looks like a pause then."""

    def _listing(self, found: Listing) -> Listing:
        return tuple(
            replace(listed, kind=Wait.DECISION) if listed.call.status == CallStatus.AWAITING_DECISION else listed
            for listed in found
        )


class DecidedCallsStayListed(Lister):
    async def waiting(self, limit: int = 50, conversation: str | None = None) -> Listing:
        found = list(await super().waiting(limit, conversation))
        for run_id, run in self._runs.items():
            for call in run.calls.values():
                if call.status == CallStatus.AWAITING_DECISION and call.decision is not None:
                    found.append(WaitingCall(run_id, run.conversation, Wait.DECISION, run.touched_at, call))
        return tuple(found)


class LatestComesFirst(Lister):
    def _listing(self, found: Listing) -> Listing:
        return tuple(reversed(found))


class HostWritesAreNotSeen(Lister):
    """The list is kept by the journal alone."""

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        run = self._runs[run_id]
        before = dict(run.waits)
        call = await super().settle(run_id, update)
        run.waits = before
        return call


class EveryWriteBeginsTheWaitAnew(MemoryJournal):
    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        run = self._fenced(attempt)
        run.waits.pop(call.id, None)
        return await super().save_call(attempt, call)


class WaitIsNeverAnotherOne(MemoryJournal):
    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        run = self._fenced(attempt)
        before = run.waits.get(call.id)
        saved = await super().save_call(attempt, call)
        if before is not None and call.id in run.waits:
            run.waits[call.id] = before
        return saved


class StepsListNothing(MemoryJournal):
    def _change(self, run: object, changes: Changes) -> None:
        fenced = self._runs[self._run_id]
        before = dict(fenced.waits)
        super()._change(fenced, changes)
        fenced.waits = {call_id: wait for call_id, wait in before.items() if call_id in fenced.calls}


class ListIsOfAllRuns(StoreHarness):
    """Here it is the harness that mixes the runs up, as a store would that forgets whose call it is."""

    async def waiting(self) -> Listing:
        return tuple(await self.store.waiting(1000))  # type: ignore[arg-type]

    def other_run(self) -> StoreHarness:
        return ListIsOfAllRuns(self.store, self.clock)


BROKEN: dict[type[MemoryStore] | type[MemoryJournal], set[str]] = {
    DetachedCallsAreLeftOut: {
        "each_call_that_waits_is_listed_with_what_for",
        "a_call_that_the_host_hands_over_is_listed",
    },
    ReviewsAreLeftOut: {
        "each_call_that_waits_is_listed_with_what_for",
        "a_call_that_was_decided_or_settled_is_not_listed_any_more",
        "each_run_has_its_own_waiting_calls",
    },
    ListGoesByStatus: {"each_call_that_waits_is_listed_with_what_for"},
    DecidedCallsStayListed: {"a_call_that_was_decided_or_settled_is_not_listed_any_more"},
    LatestComesFirst: {"the_longest_waiting_call_comes_first"},
    HostWritesAreNotSeen: {
        "a_call_that_was_decided_or_settled_is_not_listed_any_more",
        "a_call_that_the_host_hands_over_is_listed",
    },
    EveryWriteBeginsTheWaitAnew: {"the_longest_waiting_call_comes_first"},
    WaitIsNeverAnotherOne: {"a_call_that_waits_for_something_else_waits_anew"},
    StepsListNothing: {"a_step_lists_calls_and_takes_them_off"},
}


@pytest.mark.parametrize(("broken", "cases"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN])
def test_a_broken_list_fails_the_cases_of_its_rule(
    broken: type[MemoryStore] | type[MemoryJournal], cases: set[str], failing_journal_cases: Callable[..., set[str]]
) -> None:
    assert failing_journal_cases(broken) == cases


def test_a_list_that_mixes_runs_up_is_found() -> None:
    class Suite(JournalContract):
        def make(self) -> StoreHarness:
            clock = HandClock()
            return ListIsOfAllRuns(MemoryStore(now=clock), clock)

    with pytest.raises(AssertionError):
        Suite().test_each_run_has_its_own_waiting_calls()


def test_a_host_without_such_a_list_skips_its_cases() -> None:
    class Silent(StoreHarness):
        async def waiting(self) -> None:  # type: ignore[override]
            return None

    class Suite(JournalContract):
        def make(self) -> StoreHarness:
            clock = HandClock()
            return Silent(MemoryStore(now=clock), clock)

    with pytest.raises(pytest.skip.Exception, match="keeps no list"):
        Suite().test_the_longest_waiting_call_comes_first()
