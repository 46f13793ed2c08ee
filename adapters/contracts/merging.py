"""What becomes of a call that is written again and again: late snapshots, final outcomes, whatever a record may hold.

J1 to J4, J10, J14 and J15 of the journal suite in order, then what they leave open. Every rule is one that
``effects.journal.merge_call`` states; ``outside`` has the rules for what a host writes in between.
"""

from typing import Any

import trio

from ...effects.journal import CallUpdate
from ...effects.record import CallCompletion, CallDecision, CallStatus, Handover, InvalidCall, MediaRef, ToolCall
from ...effects.values import replace
from .fixtures import ROUNDS, T0, Executor, changed, find, new_id, refused, snapshot
from .harness import Contract, JournalHarness, case
from .sameness import same_call, same_json

__all__ = ["MergeCases"]


class MergeCases(Contract[JournalHarness]):
    """Cases about one call and the runtime's snapshots of it."""

    @case
    async def test_a_late_revision_is_ignored(self, mine: JournalHarness) -> None:
        """J1."""
        a = new_id()
        executor = await Executor.begin(mine)
        newer = snapshot(a, 2, CallStatus.RUNNING, arguments='{"x":2}', started_at=T0)
        await executor.call(newer, snapshot(a, 1, CallStatus.QUEUED))
        assert same_call(await find(mine, a), newer)

    @case
    async def test_writing_the_same_snapshot_twice_changes_nothing(self, mine: JournalHarness) -> None:
        """J2."""
        done = snapshot(new_id(), 3, CallStatus.SUCCEEDED, result="ok", completed_at=T0, notes={"k": "v"})
        executor = await Executor.begin(mine)
        await executor.call(done, done)
        assert same_call(await find(mine, done.id), done)

    @case
    async def test_an_outdated_snapshot_in_a_step_is_ignored(self, mine: JournalHarness) -> None:
        """J3."""
        a = new_id()
        executor = await Executor.begin(mine)
        done = snapshot(a, 3, CallStatus.SUCCEEDED, result="ok", completed_at=T0)
        await executor.call(snapshot(a, 1, CallStatus.QUEUED), done)
        await executor.step(changed(snapshot(a, 2, CallStatus.RUNNING)))
        assert same_call(await find(mine, a), done)

    @case
    async def test_a_settled_outcome_is_final(self, mine: JournalHarness) -> None:
        """J4: neither status nor result, times, payload or handover can still come."""
        a = new_id()
        executor = await Executor.begin(mine)
        failed = snapshot(a, 1, CallStatus.FAILED, error="boom", completed_at=T0)
        late = snapshot(
            a,
            2,
            CallStatus.SUCCEEDED,
            result="ok",
            completed_at=T0 + 3_600_000,
            payload="{}",
            handover=Handover.AWAIT,
        )
        await executor.call(failed, late)
        assert same_call(await find(mine, a), replace(failed, rev=2))

    @case
    async def test_every_member_of_an_outcome_is_final(self, mine: JournalHarness) -> None:
        """All of J4: parts, media, times and the end of the time to decide; they change while the call is open."""
        executor = await Executor.begin(mine)
        late: dict[str, Any] = {
            "parts": '["late"]',
            "media": (MediaRef("late", "image/png"),),
            "started_at": T0 + 9,
            "completed_at": T0 + 9,
            "expires_at": T0 + 9,
            "completion": CallCompletion('"late"', fixed=True),
        }
        early = {"parts": "[1]", "expires_at": T0, "started_at": T0}
        for status, fields in (
            (CallStatus.SUCCEEDED, {"result": "ok"}),
            (CallStatus.FAILED, {}),
            (CallStatus.RUNNING, {"handover": Handover.DETACHED, "result": "receipt", "payload": "1"}),
        ):
            for given in (early, {}):
                first = snapshot(new_id(), 1, status, **fields, **given)
                later = replace(first, rev=3, handover=Handover.DETACHED, **late)
                await executor.call(first, replace(first, rev=2, status=CallStatus.SUCCEEDED, **late), later)
                assert same_call(await find(mine, first.id), replace(first, rev=3))
        waiting = snapshot(new_id(), 1, CallStatus.AWAITING_DECISION, **early)
        for changed_to in (replace(waiting, rev=2, **late), snapshot(waiting.id, 3, CallStatus.RUNNING)):
            await executor.call(waiting, changed_to)
            assert same_call(await find(mine, waiting.id), changed_to)

    @case
    async def test_what_describes_a_call_follows_its_snapshots(self, mine: JournalHarness) -> None:
        """Names, arguments and their digest, traits: also of a call that is settled or handed over."""
        executor = await Executor.begin(mine)
        described: dict[str, Any] = {
            "parent_id": new_id(),
            "model_call_id": new_id(),
            "call_id": "call_other",
            "name": "other",
            "arguments": '{"x":2}',
            "digest": "f0" * 8,
            "replayable": False,
            "side_effects": True,
        }
        for status, fields in (
            (CallStatus.RUNNING, {}),
            (CallStatus.FAILED, {"error": "boom"}),
            (CallStatus.RUNNING, {"handover": Handover.DETACHED, "result": "receipt"}),
        ):
            first = snapshot(new_id(), 1, status, digest="0f" * 8, **fields)
            newest = replace(first, rev=3, **described)
            await executor.call(first, newest, replace(first, rev=2))
            assert same_call(await find(mine, first.id), newest)

    @case
    async def test_notes_belong_to_the_highest_revision(self, mine: JournalHarness) -> None:
        """J10: in whatever order they are written, and also after the call is settled."""
        a = new_id()
        executor = await Executor.begin(mine)
        first = snapshot(a, 1, CallStatus.RUNNING, notes={"k": "old"})
        second = snapshot(a, 2, CallStatus.SUCCEEDED, result="r", notes={"k": "new", "evidence": "true"})
        third = replace(second, rev=3, notes={"k": "new", "evidence": "true", "extra": "x"})
        await executor.call(third, first, second)
        assert same_call(await find(mine, a), third)
        await executor.call(replace(third, rev=4, notes={**third.notes, "late": "y"}))
        assert dict((await find(mine, a)).notes) == {"k": "new", "evidence": "true", "extra": "x", "late": "y"}

    @case
    async def test_notes_are_replaced_as_a_whole(self, mine: JournalHarness) -> None:
        """A snapshot carries all notes, so one that it does not carry is gone, and none at all clears them."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(
            snapshot(a, 1, CallStatus.RUNNING, notes={"old": "1"}), snapshot(a, 2, CallStatus.RUNNING, notes={"n": "2"})
        )
        assert dict((await find(mine, a)).notes) == {"n": "2"}
        await executor.call(snapshot(a, 3, CallStatus.RUNNING))
        assert dict((await find(mine, a)).notes) == {}

    @case
    async def test_concurrent_writes_of_one_call_lose_nothing(self, mine: JournalHarness) -> None:
        """J14: twenty snapshots at once, and a row of steps that carry older ones."""
        executor = await Executor.begin(mine)

        async def write_steps(a: str) -> None:
            for rev in range(1, 21):
                await executor.step(changed(snapshot(a, rev, CallStatus.QUEUED)))
                await trio.lowlevel.checkpoint()

        for a in [new_id() for _ in range(ROUNDS)]:
            await executor.call(snapshot(a, 1, CallStatus.QUEUED))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write_steps, a)
                for rev in range(2, 22):
                    newer = snapshot(a, rev, CallStatus.RUNNING, arguments=f'{{"rev":{rev}}}')
                    nursery.start_soon(executor.call, newer)
            assert same_call(await find(mine, a), snapshot(a, 21, CallStatus.RUNNING, arguments='{"rev":21}'))

    @case
    async def test_a_call_without_id_or_status_is_refused(self, mine: JournalHarness) -> None:
        """J15."""
        executor = await Executor.begin(mine)
        a = new_id()
        assert isinstance(await refused(executor.call(ToolCall(a, "", 1))), InvalidCall)
        assert isinstance(await refused(executor.call(ToolCall("", CallStatus.QUEUED, 1))), InvalidCall)
        assert await mine.call(a) is None
        assert (await mine.load()).calls == ()

    @case
    async def test_everything_a_record_holds_comes_back(self, mine: JournalHarness) -> None:
        """Media in order, parts, completion, digest, times: whatever the runtime writes, alone or in a step."""
        full = ToolCall(
            id=new_id(),
            status=CallStatus.SUCCEEDED,
            rev=2**40,
            parent_id=new_id(),
            model_call_id=new_id(),
            call_id="call_1",
            name="tool",
            arguments='{"x":1}',
            digest="0f" * 16,
            replayable=True,
            side_effects=True,
            notes={"k": "v", "": "empty name"},
            result="",
            error="",
            parts='[{"type":"text","text":"a"},{"n":1.50}]',
            media=(MediaRef("sounds/1", "audio/wav", 7), MediaRef("pictures/1", "image/png", 4, "ab" * 32)),
            started_at=T0,
            completed_at=T0 + 1,
            expires_at=T0 + 2,
            completion=CallCompletion('{"value":[1,2]}', fixed=True),
            handover=Handover.SUBMITTED,
            payload='{"op":1}',
            decision=CallDecision(True, "why", '{"x":2}', "0f" * 16, "given", T0 + 3, "reviewer"),
        )
        executor = await Executor.begin(mine)
        saved = await executor.call(full)
        assert same_call(saved, full)
        assert same_call(await find(mine, full.id), full)
        other = replace(full, id=new_id())
        await executor.step(changed(other))
        assert same_call(await find(mine, other.id), other)

    @case
    async def test_a_record_shares_no_memory_with_its_writer(self, mine: JournalHarness) -> None:
        """What a writer or a reader does to a mapping afterwards changes nothing that is stored."""
        notes = {"k": "v"}
        call = snapshot(new_id(), 1, CallStatus.RUNNING, notes=notes)
        saved = await (await Executor.begin(mine)).call(call)
        notes["k"] = "changed by the writer"
        for record in (saved, await find(mine, call.id)):
            if isinstance(record.notes, dict):
                record.notes["k"] = "changed by a reader"
        assert dict((await find(mine, call.id)).notes) == {"k": "v"}

    @case
    async def test_the_merged_record_is_returned(self, mine: JournalHarness) -> None:
        """Decision 37: a writer learns from the answer that the host was faster."""
        a = new_id()
        executor = await Executor.begin(mine)
        await executor.call(snapshot(a, 1, CallStatus.QUEUED))
        await mine.external(CallUpdate(a, CallStatus.SUCCEEDED, result="external", handover=Handover.DETACHED))
        saved = await executor.call(snapshot(a, 2, CallStatus.RUNNING))
        assert (saved.rev, saved.status, saved.result) == (2, CallStatus.SUCCEEDED, "external")
        assert same_call(saved, await find(mine, a))
        late = await executor.call(snapshot(a, 1, CallStatus.QUEUED))
        assert same_call(late, saved)

    @case
    async def test_json_keeps_its_digits(self, mine: JournalHarness) -> None:
        """Numbers in payloads come back exactly, whatever their size, and a number stays a number."""
        payload = (
            '{"big":9007199254740993,"huge":123456789012345678901234567890,"small":0.10000000000000000001,"s":"1"}'
        )
        a = snapshot(new_id(), 1, CallStatus.WAITING, handover=Handover.AWAIT, payload=payload, arguments=payload)
        await (await Executor.begin(mine)).call(a)
        found = await find(mine, a.id)
        assert same_json(found.payload, payload)
        assert found.arguments == payload

    @case
    async def test_texts_of_any_kind_and_size_come_back(self, mine: JournalHarness) -> None:
        """A megabyte, other scripts, control characters. U+0000, which the runtime never sends, may be dropped."""
        text = "ü漢🙂\u2028\x01\r\n\"\\'%s{}\x7f" * 40_000
        a = snapshot(new_id(), 1, CallStatus.SUCCEEDED, result=text, error="\ud7ff\ue000 '; DROP TABLE call; --")
        b = snapshot(new_id(), 1, CallStatus.SUCCEEDED, result="before\0after")
        await (await Executor.begin(mine)).call(a, b)
        assert same_call(await find(mine, a.id), a)
        assert (await find(mine, b.id)).result in ("before\0after", "beforeafter")
