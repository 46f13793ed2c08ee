"""What a step stores, as a whole and in parts: J12 and J13, then atomicity, logs, values and what is replaced."""

from collections.abc import Mapping

from ...effects.journal import Changes, LogChange, Resume, Step
from ...effects.outcome import Completed, Delivered, Failed, FailureKind, Outcome, Suspended
from ...effects.record import (
    Block,
    BlockKind,
    CallStatus,
    Completion,
    CompletionSource,
    InvalidCall,
    PlanStatus,
    PlanTask,
    Standing,
    ToolCall,
)
from ...effects.transcript import ErrorKind, ModelError, Usage
from ...effects.values import replace
from .fixtures import T0, Executor, changed, find, new_id, refused, snapshot
from .harness import Contract, JournalHarness, case
from .sameness import same_call, same_completion

__all__ = ["StepCases"]

PLAN = (PlanTask("1", "first"), PlanTask("2", "second", PlanStatus.IN_PROGRESS, "doing the second"))


class StepCases(Contract[JournalHarness]):
    """Cases about steps."""

    @case
    async def test_a_step_is_stored_and_the_next_replaces_it(self, mine: JournalHarness) -> None:
        """J12, with a plan that is unchanged when a step has none."""
        executor = await Executor.begin(mine)
        a = snapshot(new_id(), 1, CallStatus.RUNNING, started_at=T0)
        sub = snapshot(new_id(), 1, CallStatus.RUNNING, parent_id=a.id, started_at=T0)
        text = Block(new_id(), 1, new_id(), BlockKind.CONTENT, "hello")
        link = _link(a, 2)
        completion = Completion(CompletionSource.GUARD, '{"a":1}', fixed=True)
        await executor.step(
            Step(
                b"state-1",
                changes=Changes(blocks=(text, link), calls=(a, sub)),
                usage=Usage(1, 2, 3, 4, 2),
                plan=PLAN,
                completion=completion,
            )
        )
        resume = await mine.load()
        assert (resume.state, resume.usage, resume.plan) == (b"state-1", Usage(1, 2, 3, 4, 2), PLAN)
        assert same_completion(resume.completion, completion)
        assert resume.blocks == (text, link)
        assert _same_calls(resume, a, sub)

        await executor.step(Step(b"state-2", changes=Changes(removed_blocks=(link.id,), removed_calls=(a.id,))))
        resume = await mine.load()
        assert (resume.state, resume.usage, resume.plan, resume.completion) == (b"state-2", Usage(), PLAN, None)
        assert resume.blocks == (text,)
        assert await mine.call(a.id) is None
        assert _same_calls(resume, sub)

    @case
    async def test_a_block_links_to_the_merged_call(self, mine: JournalHarness) -> None:
        """J13: the block is written again, the call is not, and the newest record is what it shows."""
        executor = await Executor.begin(mine)
        a = snapshot(new_id(), 1, CallStatus.QUEUED)
        await executor.step(Step(b"s", changes=Changes(blocks=(_link(a, 1),), calls=(a,))))
        done = replace(a, rev=2, status=CallStatus.SUCCEEDED, result="ok")
        await executor.call(done)
        await executor.step(Step(b"s", changes=Changes(blocks=(replace(_link(a, 1), text="again"),))))
        resume = await mine.load()
        assert [(block.call_id, block.text) for block in resume.blocks] == [(a.id, "again")]
        assert _same_calls(resume, done)

    @case
    async def test_a_run_without_a_step_has_no_state(self, mine: JournalHarness) -> None:
        """A run that began and wrote calls only has nothing to resume from."""
        executor = await Executor.begin(mine)
        assert executor.resume == Resume()
        a = snapshot(new_id(), 1, CallStatus.RUNNING)
        await executor.call(a)
        resume = await mine.load()
        assert replace(resume, calls=()) == Resume()
        assert _same_calls(resume, a)

    @case
    async def test_blocks_and_calls_come_in_order(self, mine: JournalHarness) -> None:
        """Blocks by position; calls as their blocks are, then the others by id."""
        executor = await Executor.begin(mine)
        calls = [snapshot(new_id(), 1, CallStatus.QUEUED) for _ in range(6)]
        calls.sort(key=lambda call: call.id)
        blocks = (_link(calls[4], 2), _link(calls[1], 3), _link(calls[5], 1))
        await executor.step(Step(b"s", changes=Changes(blocks=blocks[:2], calls=tuple(calls[::-1]))))
        await executor.step(Step(b"s", changes=Changes(blocks=blocks[2:])))
        resume = await mine.load()
        assert [block.position for block in resume.blocks] == [1, 2, 3]
        assert [call.id for call in resume.calls] == [calls[i].id for i in (5, 4, 1, 0, 2, 3)]

    @case
    async def test_a_block_can_change(self, mine: JournalHarness) -> None:
        """Its text, its position and its standing."""
        executor = await Executor.begin(mine)
        model_call = new_id()
        first = Block(new_id(), 1, model_call, BlockKind.THINKING, "hm")
        second = Block(new_id(), 2, model_call, BlockKind.CONTENT, "so")
        await executor.step(Step(b"s", changes=Changes(blocks=(first, second))))
        moved = (replace(second, position=1, text="so!", standing=Standing.SUPERSEDED), replace(first, position=2))
        await executor.step(Step(b"s", changes=Changes(blocks=moved)))
        assert (await mine.load()).blocks == moved

    @case
    async def test_a_removed_block_leaves_its_call(self, mine: JournalHarness) -> None:
        """Only ``removed_calls`` removes a call, and removing what is not there is no mistake."""
        executor = await Executor.begin(mine)
        a = snapshot(new_id(), 1, CallStatus.QUEUED)
        await executor.step(Step(b"s", changes=Changes(blocks=(_link(a, 1),), calls=(a,))))
        gone = Changes(removed_blocks=(_link(a, 1).id, new_id()), removed_calls=(new_id(),))
        await executor.step(Step(b"s", changes=gone))
        resume = await mine.load()
        assert resume.blocks == ()
        assert _same_calls(resume, a)

    @case
    async def test_a_removed_id_may_come_back(self, mine: JournalHarness) -> None:
        """What was removed is forgotten, so a lower revision is a first write; removals come before additions."""
        executor = await Executor.begin(mine)
        old = snapshot(new_id(), 7, CallStatus.SUCCEEDED, result="old")
        await executor.step(Step(b"s", changes=Changes(blocks=(_link(old, 1),), calls=(old,))))
        fresh = snapshot(old.id, 1, CallStatus.QUEUED)
        block = replace(_link(fresh, 1), text="fresh")
        both = Changes((block,), (fresh,), removed_blocks=(block.id,), removed_calls=(fresh.id,))
        await executor.step(Step(b"s", changes=both))
        resume = await mine.load()
        assert resume.blocks == (block,)
        assert _same_calls(resume, fresh)

    @case
    async def test_a_step_may_carry_a_newer_snapshot(self, mine: JournalHarness) -> None:
        """A snapshot in a step is merged as one that is saved alone."""
        executor = await Executor.begin(mine)
        a = new_id()
        await executor.call(snapshot(a, 1, CallStatus.QUEUED))
        newer = snapshot(a, 2, CallStatus.FAILED, error="limit", completed_at=T0)
        await executor.step(changed(newer))
        assert same_call(await find(mine, a), newer)

    @case
    async def test_a_step_with_an_invalid_call_stores_nothing(self, mine: JournalHarness) -> None:
        """All or nothing, wherever in the step the mistake is."""
        executor = await Executor.begin(mine)
        kept = await _some_state(executor)
        good = snapshot(new_id(), 1, CallStatus.QUEUED)
        for bad in (ToolCall(new_id(), "", 1), ToolCall("", CallStatus.QUEUED, 1)):
            step = replace(_other_step(kept), changes=Changes((_link(good, 9),), (good, bad), (kept.blocks[0].id,)))
            assert isinstance(await refused(executor.step(step)), InvalidCall)
            assert await mine.load() == kept
            assert await mine.call(good.id) is None

    @case
    async def test_a_step_that_keeps_too_much_of_a_log_stores_nothing(self, mine: JournalHarness) -> None:
        """A log cannot be kept beyond its end, nor below its start: its writer lost count, and must not go on."""
        executor = await Executor.begin(mine)
        kept = await _some_state(executor)
        step = _other_step(kept)
        bad: Mapping[str, LogChange]
        for bad in ({"main": LogChange(3, (b"x",))}, {"new": LogChange(1)}, {"main": LogChange(-1)}):
            await refused(executor.step(replace(step, logs={"seen": LogChange(0), **bad})))
            assert await mine.load() == kept
            assert await mine.call(step.changes.calls[0].id) is None

    @case
    async def test_logs_grow_by_what_is_appended(self, mine: JournalHarness) -> None:
        """Each log for itself, in order; entries are opaque, and may be empty or no text at all."""
        executor = await Executor.begin(mine)
        await executor.step(
            changed(logs={"main": LogChange(0, (b"a", b"", b"\xff\x00")), "seen": LogChange(0, (b"1",))})
        )
        await executor.step(changed(logs={"main": LogChange(3, (b"b",) * 3)}))
        await executor.step(changed())
        logs = (await mine.load()).logs
        assert dict(logs) == {"main": (b"a", b"", b"\xff\x00", b"b", b"b", b"b"), "seen": (b"1",)}

    @case
    async def test_a_log_is_cut_where_the_step_says(self, mine: JournalHarness) -> None:
        """``keep`` is absolute: what was behind it is gone, also when nothing follows."""
        executor = await Executor.begin(mine)
        await executor.step(changed(logs={"main": LogChange(0, (b"a", b"b", b"c"))}))
        await executor.step(changed(logs={"main": LogChange(1, (b"d",))}))
        assert (await mine.load()).logs["main"] == (b"a", b"d")
        await executor.step(changed(logs={"main": LogChange(1)}))
        assert (await mine.load()).logs["main"] == (b"a",)
        await executor.step(changed(logs={"main": LogChange(0)}))
        assert (await mine.load()).logs.get("main", ()) == ()
        await executor.step(changed(logs={"main": LogChange(0, (b"e",))}))
        assert (await mine.load()).logs["main"] == (b"e",)

    @case
    async def test_a_repeated_step_changes_nothing(self, mine: JournalHarness) -> None:
        """A writer that does not know whether its step arrived sends it again."""
        executor = await Executor.begin(mine)
        kept = await _some_state(executor)
        again = _other_step(kept)
        await executor.step(again)
        once = await mine.load()
        await executor.step(again)
        assert await mine.load() == once

    @case
    async def test_values_are_set_and_dropped_by_name(self, mine: JournalHarness) -> None:
        """A value may be empty, which is not the same as gone; what a step does not name stays."""
        executor = await Executor.begin(mine)
        await executor.step(Step(b"s", values={"agent": b"1", "empty": b"", "raw": b"\xff\x00"}))
        await executor.step(Step(b"s", values={"agent": b"2", "raw": None, "never there": None}))
        assert dict((await mine.load()).values) == {"agent": b"2", "empty": b""}
        await executor.step(Step(b"s", values={"raw": b"back"}))
        assert dict((await mine.load()).values) == {"agent": b"2", "empty": b"", "raw": b"back"}

    @case
    async def test_a_plan_is_kept_replaced_or_cleared(self, mine: JournalHarness) -> None:
        """``None`` keeps it and ``()`` clears it."""
        executor = await Executor.begin(mine)
        for given, expected in ((PLAN, PLAN), (None, PLAN), (PLAN[:1], PLAN[:1]), ((), ()), (None, ())):
            await executor.step(Step(b"s", plan=given))
            assert (await mine.load()).plan == expected

    @case
    async def test_state_usage_and_completion_are_replaced(self, mine: JournalHarness) -> None:
        """Each step says all of them anew, and saying nothing clears."""
        executor = await Executor.begin(mine)
        tool = Completion(CompletionSource.TOOL, '{"n":12345678901234567890}', call_id=new_id())
        fallback = Completion(CompletionSource.FALLBACK, "null", fixed=True, reason="budget_exhausted")
        for state, completion in ((b"\xff\x00", tool), (b"2", fallback), (b"", None)):
            usage = Usage(output=len(state))
            await executor.step(Step(state, completion=completion, usage=usage))
            resume = await mine.load()
            assert (resume.state, resume.usage) == (state, usage)
            assert same_completion(resume.completion, completion)

    @case
    async def test_every_outcome_comes_back(self, mine: JournalHarness) -> None:
        """Decision 2: the saved outcome is what a later resume returns. A step without one clears it."""
        executor = await Executor.begin(mine)
        error = ModelError(ErrorKind.RATE_LIMITED, "slow down", 429, "rate", "req_1", 1500)
        outcomes: tuple[Outcome | None, ...] = (
            Delivered("text", 3),
            Completed(Completion(CompletionSource.TOOL, '{"a":1}'), 4),
            Suspended((new_id(), new_id()), 5),
            Failed(FailureKind.MODEL, "it failed", 6, error),
            None,
        )
        for outcome in outcomes:
            await executor.step(Step(b"s", outcome=outcome))
            assert (await mine.load()).outcome == outcome


def _link(call: ToolCall, position: int) -> Block:
    """The block of a call; its id follows from the call's."""
    return Block(call.id, position, call.model_call_id, BlockKind.TOOL_CALL, call_id=call.id)


def _same_calls(resume: Resume, *expected: ToolCall) -> bool:
    return len(resume.calls) == len(expected) and all(map(same_call, resume.calls, expected))


async def _some_state(executor: Executor) -> Resume:
    """Save a little of everything; gives what is stored then."""
    a = snapshot(new_id(), 1, CallStatus.QUEUED)
    step = Step(
        b"kept",
        {"main": LogChange(0, (b"1", b"2")), "seen": LogChange(0, (b"k",))},
        {"agent": b"v"},
        Changes((_link(a, 1),), (a,)),
        Usage(1),
        PLAN,
        outcome=Delivered("kept", 1),
    )
    await executor.step(step)
    return Resume(
        b"kept",
        {"main": (b"1", b"2"), "seen": (b"k",)},
        {"agent": b"v"},
        (_link(a, 1),),
        (a,),
        PLAN,
        Usage(1),
        outcome=Delivered("kept", 1),
    )


def _other_step(kept: Resume) -> Step:
    """A step that changes everything of that."""
    b = snapshot(new_id(), 1, CallStatus.RUNNING)
    return Step(
        b"changed",
        {"main": LogChange(1, (b"3", b"4")), "more": LogChange(0, (b"5",))},
        {"agent": None, "other": b"w"},
        Changes((_link(b, 1),), (b,), (kept.blocks[0].id,), (kept.calls[0].id,)),
        Usage(2),
        (),
        Completion(CompletionSource.GUARD, "1"),
        Suspended((b.id,), 2),
    )
