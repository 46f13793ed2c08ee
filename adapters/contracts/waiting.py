"""Which calls a host is told to decide, settle or look into, and since when.

What a call waits for is what ``effects.record.waits_for`` says of its merged record. A host that keeps no such list
skips these cases.
"""

from itertools import pairwise

from ...effects.journal import CallUpdate
from ...effects.record import CallDecision, CallStatus, Handover, ToolCall, Wait
from ...effects.values import replace
from .extra import pytest
from .fixtures import T0, Executor, changed, new_id, snapshot
from .harness import Contract, JournalHarness, ListedCall, case
from .sameness import same_call

__all__ = ["WaitingCases"]


class WaitingCases(Contract[JournalHarness]):
    """Cases about the list of calls that wait for somebody."""

    @case
    async def test_each_call_that_waits_is_listed_with_what_for(self, mine: JournalHarness) -> None:
        """Paused, awaited, submitted, detached, and to be reviewed; the runtime's own calls are not listed."""
        await _listed(mine)
        executor = await Executor.begin(mine)
        waiting = {
            Wait.DECISION: _paused(new_id()),
            Wait.RESULT: _handed(new_id(), CallStatus.WAITING, Handover.AWAIT),
            Wait.REVIEW: snapshot(new_id(), 1, CallStatus.NEEDS_REVIEW, result="not known", completed_at=T0),
        }
        submitted = _handed(new_id(), CallStatus.AWAITING_DECISION, Handover.SUBMITTED)
        detached = _handed(new_id(), CallStatus.RUNNING, Handover.DETACHED)
        others = [snapshot(new_id(), 1, status) for status in _NOBODYS]
        await executor.call(*waiting.values(), submitted, detached, *others)
        found = await _listed(mine)
        assert _kinds(found) == {
            **{call.id: kind for kind, call in waiting.items()},
            submitted.id: Wait.OUTSTANDING,
            detached.id: Wait.OUTSTANDING,
        }
        stored = {call.id: call for call in (*waiting.values(), submitted, detached)}
        assert all(same_call(listed.call, stored[listed.call.id]) for listed in found)

    @case
    async def test_a_call_that_was_decided_or_settled_is_not_listed_any_more(self, mine: JournalHarness) -> None:
        """A decided call waits for its run, and for nobody else."""
        await _listed(mine)
        executor = await Executor.begin(mine)
        paused, awaited, unknown = new_id(), new_id(), new_id()
        await executor.call(
            _paused(paused),
            _handed(awaited, CallStatus.WAITING, Handover.AWAIT),
            snapshot(unknown, 1, CallStatus.NEEDS_REVIEW),
        )
        await mine.external(CallUpdate(paused, decision=CallDecision(approved=True)))
        assert _kinds(await _listed(mine)) == {awaited: Wait.RESULT, unknown: Wait.REVIEW}
        await mine.external(CallUpdate(awaited, CallStatus.FAILED, error="no"))
        assert _kinds(await _listed(mine)) == {unknown: Wait.REVIEW}
        await mine.external(CallUpdate(unknown, CallStatus.SUCCEEDED, result="it happened"))
        assert _kinds(await _listed(mine)) == {}

    @case
    async def test_a_call_that_the_host_hands_over_is_listed(self, mine: JournalHarness) -> None:
        """Whoever handed it over, somebody owes its result."""
        await _listed(mine)
        a = new_id()
        await (await Executor.begin(mine)).call(snapshot(a, 1, CallStatus.QUEUED))
        await mine.external(CallUpdate(a, handover=Handover.DETACHED))
        assert _kinds(await _listed(mine)) == {a: Wait.OUTSTANDING}

    @case
    async def test_the_longest_waiting_call_comes_first(self, mine: JournalHarness) -> None:
        """By the time at which each began to wait, whatever was written to it since."""
        await _listed(mine)
        executor = await Executor.begin(mine)
        ids = sorted((new_id() for _ in range(3)), reverse=True)
        for call_id in ids:
            await executor.call(_paused(call_id))
            mine.advance_clock(1_000)
        found = await _listed(mine)
        assert [listed.call.id for listed in found] == ids
        assert all(late.since - early.since >= 1_000 for early, late in pairwise(found))

        await executor.call(replace(_paused(ids[0]), rev=2, notes={"a": "1"}))
        await mine.external(CallUpdate(ids[0], payload='{"op":2}'))
        assert [(listed.call.id, listed.since) for listed in await _listed(mine)] == [
            (listed.call.id, listed.since) for listed in found
        ]

    @case
    async def test_a_call_that_waits_for_something_else_waits_anew(self, mine: JournalHarness) -> None:
        """One that was to be decided and is then awaited waits for its result since then."""
        await _listed(mine)
        executor = await Executor.begin(mine)
        a = new_id()
        await executor.call(_paused(a))
        (before,) = await _listed(mine)
        mine.advance_clock(1_000)
        await executor.call(replace(_handed(a, CallStatus.WAITING, Handover.AWAIT), rev=2))
        (after,) = await _listed(mine)
        assert (before.kind, after.kind) == (Wait.DECISION, Wait.RESULT)
        assert after.since - before.since >= 1_000

    @case
    async def test_a_step_lists_calls_and_takes_them_off(self, mine: JournalHarness) -> None:
        """What a step carries counts like any other write; a record that is gone waits for nobody."""
        await _listed(mine)
        executor = await Executor.begin(mine)
        a, b = new_id(), new_id()
        await executor.step(changed(_paused(a), _paused(b)))
        assert _kinds(await _listed(mine)) == {a: Wait.DECISION, b: Wait.DECISION}
        step = changed(snapshot(a, 2, CallStatus.RUNNING))
        await executor.step(replace(step, changes=replace(step.changes, removed_calls=(b,))))
        assert await _listed(mine) == []

    @case
    async def test_each_run_has_its_own_waiting_calls(self, mine: JournalHarness) -> None:
        """A call is listed with the run that it belongs to, also when another run has a record of that id."""
        await _listed(mine)
        other = mine.other_run()
        if other is None:
            pytest.skip("the harness makes one run only")
        a = new_id()
        await (await Executor.begin(mine)).call(_paused(a))
        assert await _listed(other) == []
        await (await Executor.begin(other)).call(snapshot(a, 1, CallStatus.NEEDS_REVIEW))
        assert _kinds(await _listed(mine)) == {a: Wait.DECISION}
        assert _kinds(await _listed(other)) == {a: Wait.REVIEW}


_NOBODYS = (
    CallStatus.QUEUED,
    CallStatus.RUNNING,
    CallStatus.SUCCEEDED,
    CallStatus.FAILED,
    CallStatus.INTERRUPTED,
    CallStatus.REJECTED,
    "expired",
)


async def _listed(mine: JournalHarness) -> list[ListedCall]:
    found = await mine.waiting()
    if found is None:
        pytest.skip("this host keeps no list of waiting calls")
    return list(found)


def _kinds(found: list[ListedCall]) -> dict[str, Wait]:
    return {listed.call.id: listed.kind for listed in found}


def _paused(a: str) -> ToolCall:
    return snapshot(a, 1, CallStatus.AWAITING_DECISION, payload='{"op":1}')


def _handed(a: str, status: str, handover: Handover) -> ToolCall:
    return snapshot(a, 1, status, handover=handover, payload='{"op":1}')
