"""What becomes of a call that somebody outside the run has a hand in: hand-overs, results and decisions of the host.

J5 to J9 and J11 of the journal suite in order, then what they leave open. Every rule is one that
``effects.journal.merge_call`` and ``overlay_external`` state.
"""

from typing import Any

from ...effects.journal import CallRejected, CallUpdate
from ...effects.record import CallDecision, CallStatus, Handover, MediaRef, ToolCall
from ...effects.values import replace
from .extra import pytest
from .fixtures import T0, Executor, changed, find, new_id, refused, snapshot
from .harness import Contract, JournalHarness, case
from .sameness import same_call, same_json

__all__ = ["OutsideCases"]

PICTURE = MediaRef("pictures/1", "image/png", 4, "ab" * 32)
SOUND = MediaRef("sounds/1", "audio/wav", 7)
DIGEST = "0f" * 8
FAR = 10**14
"""A time that no test lives to see, in milliseconds since the epoch."""


class OutsideCases(Contract[JournalHarness]):
    """Cases about one call, the runtime and the host."""

    @case
    async def test_a_handover_by_the_runtime_keeps_its_outcome(self, mine: JournalHarness) -> None:
        """J5."""
        a = new_id()
        executor = await Executor.begin(mine)
        handed = _handed_over(a, 2, CallStatus.RUNNING, Handover.DETACHED, "receipt", '{"session":"s1"}')
        await executor.call(
            snapshot(a, 1, CallStatus.RUNNING), handed, snapshot(a, 3, CallStatus.INTERRUPTED, result="interrupted")
        )
        assert same_call(await find(mine, a), replace(handed, rev=3))

    @case
    async def test_a_handover_by_the_host_takes_one_receipt(self, mine: JournalHarness) -> None:
        """J6: the host's status stays, receipt and payload are filled once, and nothing else is touched."""
        a = new_id()
        executor = await Executor.begin(mine)
        running = snapshot(a, 1, CallStatus.RUNNING)
        await executor.call(running)
        await mine.external(CallUpdate(a, CallStatus.QUEUED, handover=Handover.DETACHED))
        taken = replace(running, status=CallStatus.QUEUED, handover=Handover.DETACHED)
        assert same_call(await find(mine, a), taken)

        await executor.call(_handed_over(a, 2, CallStatus.RUNNING, Handover.DETACHED, "receipt", '{"op":1}'))
        filled = replace(taken, rev=2, result="receipt", payload='{"op":1}')
        assert same_call(await find(mine, a), filled)

        await executor.call(_handed_over(a, 3, CallStatus.RUNNING, Handover.DETACHED, "other", '{"op":2}'))
        assert same_call(await find(mine, a), replace(filled, rev=3))

    @case
    async def test_a_result_from_outside_survives_a_later_handover(self, mine: JournalHarness) -> None:
        """J7."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 1, CallStatus.RUNNING))
        outside = CallUpdate(a, CallStatus.SUCCEEDED, result="external", completed_at=T0, handover=Handover.AWAIT)
        await mine.external(outside)
        await executor.call(_handed_over(a, 2, CallStatus.WAITING, Handover.AWAIT, "receipt", '{"op":1}'))
        found = await find(mine, a)
        assert (found.status, found.result, found.completed_at) == (CallStatus.SUCCEEDED, "external", T0)
        assert same_json(found.payload, '{"op":1}')

    @case
    async def test_a_late_handover_fills_nothing(self, mine: JournalHarness) -> None:
        """J8."""
        a = new_id()
        executor = await Executor.begin(mine)
        running = snapshot(a, 5, CallStatus.RUNNING)
        await executor.call(running)
        await mine.external(CallUpdate(a, CallStatus.QUEUED, handover=Handover.AWAIT))
        await executor.call(_handed_over(a, 2, CallStatus.WAITING, Handover.AWAIT, "receipt", '{"op":1}'))
        assert same_call(await find(mine, a), replace(running, status=CallStatus.QUEUED, handover=Handover.AWAIT))

    @case
    async def test_a_write_without_handover_is_no_receipt(self, mine: JournalHarness) -> None:
        """J9."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 1, CallStatus.RUNNING))
        await mine.external(CallUpdate(a, CallStatus.QUEUED, handover=Handover.AWAIT))
        await executor.call(snapshot(a, 2, CallStatus.INTERRUPTED, result="interrupted"))
        found = await find(mine, a)
        assert (found.rev, found.status, found.result) == (2, CallStatus.QUEUED, None)

    @case
    async def test_a_decision_belongs_to_the_host(self, mine: JournalHarness) -> None:
        """J11: no snapshot takes it away or puts another in its place."""
        a = new_id()
        executor = await Executor.begin(mine)
        paused = snapshot(a, 1, CallStatus.AWAITING_DECISION, payload='{"op":1}')
        await executor.call(paused)
        decision = CallDecision(approved=True, arguments='{"x":2}')
        await mine.external(CallUpdate(a, decision=decision))
        assert same_call(await find(mine, a), replace(paused, decision=decision))

        await executor.call(snapshot(a, 2, CallStatus.RUNNING))
        assert same_call(await find(mine, a), snapshot(a, 2, CallStatus.RUNNING, decision=decision))

        done = snapshot(a, 3, CallStatus.SUCCEEDED, result="ok", completed_at=T0)
        await executor.call(replace(done, decision=CallDecision(reason="other")))
        assert same_call(await find(mine, a), replace(done, decision=decision))

    @case
    async def test_a_submitted_call_stays_with_its_owner(self, mine: JournalHarness) -> None:
        """A submission is a handover like the others: the runtime's later snapshots move no outcome."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 1, CallStatus.QUEUED))
        submitted = _handed_over(a, 2, CallStatus.AWAITING_DECISION, Handover.SUBMITTED, "receipt", '{"op":1}')
        await executor.call(submitted, snapshot(a, 3, CallStatus.RUNNING))
        assert same_call(await find(mine, a), replace(submitted, rev=3))
        await mine.external(CallUpdate(a, CallStatus.SUCCEEDED, result="done", completed_at=T0))
        await executor.call(snapshot(a, 4, CallStatus.INTERRUPTED, result="interrupted"))
        settled = replace(submitted, rev=4, status=CallStatus.SUCCEEDED, result="done", completed_at=T0)
        assert same_call(await find(mine, a), settled)

    @case
    async def test_a_decision_comes_back_whole(self, mine: JournalHarness) -> None:
        """All of J11: what it is bound to, the result it gives, until when it holds, and whose it is."""
        executor = await Executor.begin(mine)
        for decision in (
            CallDecision(True, "why", '{"x":2}', DIGEST, None, FAR, "reviewer"),
            CallDecision(reason="no", digest=DIGEST, result="", by="reviewer"),
            CallDecision(),
        ):
            paused = snapshot(new_id(), 1, CallStatus.AWAITING_DECISION, digest=DIGEST)
            await executor.call(paused)
            await mine.external(CallUpdate(paused.id, decision=decision))
            assert same_call(await find(mine, paused.id), replace(paused, decision=decision))
            done = replace(paused, rev=2, status=CallStatus.SUCCEEDED, result="ok")
            other = CallDecision(not decision.approved, "other", "", "", "other", FAR + 1, "other")
            await executor.call(replace(done, decision=other))
            assert same_call(await find(mine, paused.id), replace(done, decision=decision))

    @case
    async def test_a_decision_is_taken_once(self, mine: JournalHarness) -> None:
        """Decision 17: the same again is no mistake and changes nothing, and any other one is refused."""
        executor = await Executor.begin(mine)
        paused = snapshot(new_id(), 1, CallStatus.AWAITING_DECISION, digest=DIGEST)
        await executor.call(paused)
        decision = CallDecision(True, "why", '{"x":2}', DIGEST, "given", FAR, "reviewer")
        for _ in range(2):
            await mine.external(CallUpdate(paused.id, decision=decision))
        others: tuple[dict[str, Any], ...] = (
            {"approved": False},
            {"reason": ""},
            {"arguments": '{"x":3}'},
            {"digest": ""},
            {"result": None},
            {"expires_at": None},
            {"by": "somebody else"},
        )
        for other in others:
            update = CallUpdate(paused.id, CallStatus.REJECTED, decision=replace(decision, **other))
            await refused(mine.external(update))
            assert same_call(await find(mine, paused.id), replace(paused, decision=decision))
        running = replace(paused, rev=2, status=CallStatus.RUNNING, decision=decision)
        await executor.call(running)
        await mine.external(CallUpdate(paused.id, decision=decision))
        await refused(mine.external(CallUpdate(paused.id, decision=replace(decision, approved=False))))
        assert same_call(await find(mine, paused.id), running)

    @case
    async def test_a_decision_that_is_not_for_this_call_is_refused(self, mine: JournalHarness) -> None:
        """Decision 17: a call that does not wait, other arguments, a time that is over; and nothing is stored."""
        executor = await Executor.begin(mine)
        waits, over = CallStatus.AWAITING_DECISION, T0 - 1
        for call, decision in (
            (snapshot(new_id(), 1, CallStatus.RUNNING, digest=DIGEST), CallDecision(True)),
            (snapshot(new_id(), 1, CallStatus.INTERRUPTED, digest=DIGEST), CallDecision(True)),
            (snapshot(new_id(), 1, waits, digest=DIGEST), CallDecision(True, digest="f0" * 8)),
            (snapshot(new_id(), 1, waits, digest=DIGEST), CallDecision(True, expires_at=over)),
            (snapshot(new_id(), 1, waits, digest=DIGEST, expires_at=over), CallDecision(True)),
        ):
            await executor.call(call)
            await refused(mine.external(CallUpdate(call.id, CallStatus.SUCCEEDED, decision=decision)))
            assert same_call(await find(mine, call.id), call)

    @case
    async def test_the_handover_and_the_payload_of_the_first_stay(self, mine: JournalHarness) -> None:
        """A second kind of handover does not replace the first, whoever wrote it."""
        a = new_id()
        executor = await Executor.begin(mine)
        first = _handed_over(a, 1, CallStatus.WAITING, Handover.AWAIT, None, '{"op":1}')
        await executor.call(first, _handed_over(a, 2, CallStatus.RUNNING, Handover.DETACHED, "receipt", '{"op":2}'))
        assert same_call(await find(mine, a), replace(first, rev=2, result="receipt"))

    @case
    async def test_an_error_from_outside_leaves_no_room_for_a_receipt(self, mine: JournalHarness) -> None:
        """A call that its owner failed has its outcome; a receipt would hide it."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 1, CallStatus.RUNNING))
        await mine.external(CallUpdate(a, CallStatus.FAILED, error="broken", handover=Handover.DETACHED))
        await executor.call(_handed_over(a, 2, CallStatus.RUNNING, Handover.DETACHED, "receipt", ""))
        found = await find(mine, a)
        assert (found.status, found.error, found.result) == (CallStatus.FAILED, "broken", None)

    @case
    async def test_a_status_of_the_host_is_final(self, mine: JournalHarness) -> None:
        """A status that the runtime has never heard of is one the host ended the call with."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 1, CallStatus.RUNNING))
        await mine.external(CallUpdate(a, "expired"))
        await executor.call(snapshot(a, 2, CallStatus.SUCCEEDED, result="ok", completed_at=T0))
        found = await find(mine, a)
        assert (found.rev, found.status, found.result, found.completed_at) == (2, "expired", None, None)

    @case
    async def test_only_the_host_settles_a_call_that_needs_review(self, mine: JournalHarness) -> None:
        """Needs review is an end for the runtime, and a question to the host."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(
            snapshot(a, 1, CallStatus.RUNNING),
            snapshot(a, 2, CallStatus.NEEDS_REVIEW, result="unknown", completed_at=T0),
            snapshot(a, 3, CallStatus.SUCCEEDED, result="ok"),
        )
        assert (await find(mine, a)).status == CallStatus.NEEDS_REVIEW
        await mine.external(CallUpdate(a, CallStatus.SUCCEEDED, result="checked"))
        found = await find(mine, a)
        assert (found.rev, found.status, found.result) == (3, CallStatus.SUCCEEDED, "checked")

    @case
    async def test_the_host_keeps_replaces_or_clears_media(self, mine: JournalHarness) -> None:
        """``None`` keeps media and ``()`` clears them; a text result replaces a structured one."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 1, CallStatus.RUNNING, media=(PICTURE,), parts="[1]", error="old"))
        await mine.external(CallUpdate(a, error="new"))
        found = await find(mine, a)
        assert (found.media, found.parts, found.error) == ((PICTURE,), "[1]", "new")
        await mine.external(CallUpdate(a, result="text", media=(SOUND, PICTURE)))
        found = await find(mine, a)
        assert (found.media, found.parts, found.result) == ((SOUND, PICTURE), None, "text")
        await mine.external(CallUpdate(a, media=()))
        found = await find(mine, a)
        assert (found.media, found.result, found.error) == ((), "text", "new")

    @case
    async def test_a_decision_survives_a_late_write(self, mine: JournalHarness) -> None:
        """A snapshot that was on its way when the host decided knows nothing of the decision."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 2, CallStatus.AWAITING_DECISION))
        decision = CallDecision(approved=True, by="reviewer")
        await mine.external(CallUpdate(a, decision=decision))
        await executor.call(snapshot(a, 1, CallStatus.RUNNING))
        await executor.step(changed(snapshot(a, 2, CallStatus.AWAITING_DECISION)))
        found = await find(mine, a)
        assert (found.rev, found.status, found.decision) == (2, CallStatus.AWAITING_DECISION, decision)

    @case
    async def test_a_refused_call_leaves_nothing(self, mine: JournalHarness) -> None:
        """A host may refuse a submission or a pause with ``CallRejected``; then it was never written."""
        if not mine.refuse_next("not today"):
            pytest.skip("this host never refuses a call")
        a = new_id()
        executor = await Executor.begin(mine)
        queued = snapshot(a, 1, CallStatus.QUEUED)
        await executor.call(queued)
        submitted = _handed_over(a, 2, CallStatus.AWAITING_DECISION, Handover.SUBMITTED, "receipt", '{"op":1}')
        rejection = CallRejected.within(await refused(executor.call(submitted)))
        assert rejection is not None
        assert rejection.reason == "not today"
        assert same_call(await find(mine, a), queued)

        assert mine.refuse_next("not tomorrow either")
        b = new_id()
        paused = snapshot(b, 1, CallStatus.AWAITING_DECISION, payload='{"op":1}')
        assert CallRejected.within(await refused(executor.call(paused))) is not None
        assert await mine.call(b) is None
        await executor.call(snapshot(a, 3, CallStatus.FAILED, error="not today"), paused)
        assert (await find(mine, a)).status == CallStatus.FAILED
        assert same_call(await find(mine, b), paused)


def _handed_over(a: str, rev: int, status: str, handover: Handover, result: str | None, payload: str) -> ToolCall:
    return snapshot(a, rev, status, handover=handover, result=result, payload=payload)
