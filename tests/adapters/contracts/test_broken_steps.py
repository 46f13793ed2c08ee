"""Each of these journals breaks one rule for steps, and the suite says which: just the cases beside it fail."""

from collections.abc import Callable

import pytest
from turnfold.adapters.stores.memory import MemoryJournal
from turnfold.adapters.stores.memory_kept import MemoryRun
from turnfold.effects.journal import Changes, LogChange, Step
from turnfold.effects.values import replace


class StepOverridesCalls(MemoryJournal):
    def _change(self, run: MemoryRun, changes: Changes) -> None:
        super()._change(run, changes)
        run.calls.update({call.id: call for call in changes.calls})


class StepIsNotAtomic(MemoryJournal):
    async def save_step(self, attempt: int, step: Step) -> None:
        run = self._fenced(attempt)
        self._change(run, replace(step.changes, calls=()))
        await super().save_step(attempt, step)


class InvalidCallIsSkipped(MemoryJournal):
    async def save_step(self, attempt: int, step: Step) -> None:
        valid = tuple(call for call in step.changes.calls if call.id and call.status)
        await super().save_step(attempt, replace(step, changes=replace(step.changes, calls=valid)))


class RemovedBlockTakesItsCall(MemoryJournal):
    def _change(self, run: MemoryRun, changes: Changes) -> None:
        for block_id in changes.removed_blocks:
            if block_id in run.blocks:
                run.calls.pop(run.blocks[block_id].call_id, None)
        super()._change(run, changes)


class RemovalsComeLast(MemoryJournal):
    def _change(self, run: MemoryRun, changes: Changes) -> None:
        super()._change(run, replace(changes, removed_blocks=(), removed_calls=()))
        super()._change(run, replace(changes, blocks=(), calls=()))


class RemovalIsRemembered(MemoryJournal):
    def _change(self, run: MemoryRun, changes: Changes) -> None:
        removed = {call_id: run.calls[call_id] for call_id in changes.removed_calls if call_id in run.calls}
        super()._change(run, changes)
        for call in changes.calls:
            if call.id in removed:
                run.calls[call.id] = self._merge(removed[call.id], call)


class BlocksNeverMove(MemoryJournal):
    def _change(self, run: MemoryRun, changes: Changes) -> None:
        old = {block.id: block.position for block in run.blocks.values()}
        blocks = tuple(replace(block, position=old.get(block.id, block.position)) for block in changes.blocks)
        super()._change(run, replace(changes, blocks=blocks))


class KeepIsIgnored(MemoryJournal):
    def _write_log(self, run: MemoryRun, log: str, change: LogChange) -> None:
        run.logs.setdefault(log, []).extend(change.append)


class KeepBeyondTheEndIsAccepted(MemoryJournal):
    async def save_step(self, attempt: int, step: Step) -> None:
        run = self._fenced(attempt)
        lengths = {log: len(run.logs.get(log, ())) for log in step.logs}
        logs = {log: replace(cut, keep=max(0, min(cut.keep, lengths[log]))) for log, cut in step.logs.items()}
        await super().save_step(attempt, replace(step, logs=logs))


class UnnamedLogsAreDropped(MemoryJournal):
    async def save_step(self, attempt: int, step: Step) -> None:
        await super().save_step(attempt, step)
        run = self._fenced(attempt)
        run.logs = {log: entries for log, entries in run.logs.items() if not step.logs or log in step.logs}


class ValuesAreNeverDropped(MemoryJournal):
    def _write_value(self, run: MemoryRun, name: str, value: bytes | None) -> None:
        if value is not None:
            run.values[name] = value


class EmptyValueCountsAsGone(MemoryJournal):
    def _write_value(self, run: MemoryRun, name: str, value: bytes | None) -> None:
        super()._write_value(run, name, value or None)


class PlanIsClearedByNone(MemoryJournal):
    def _replace(self, run: MemoryRun, step: Step) -> None:
        super()._replace(run, replace(step, plan=step.plan or ()))


class PlanCannotBeCleared(MemoryJournal):
    def _replace(self, run: MemoryRun, step: Step) -> None:
        super()._replace(run, replace(step, plan=step.plan or None))


class OutcomeStays(MemoryJournal):
    def _replace(self, run: MemoryRun, step: Step) -> None:
        super()._replace(run, replace(step, outcome=step.outcome or run.saved.outcome))


class CompletionStays(MemoryJournal):
    def _replace(self, run: MemoryRun, step: Step) -> None:
        super()._replace(run, replace(step, completion=step.completion or run.saved.completion))


class UsageIsAdded(MemoryJournal):
    def _replace(self, run: MemoryRun, step: Step) -> None:
        super()._replace(run, replace(step, usage=run.saved.usage + step.usage))


BROKEN: dict[type[MemoryJournal], set[str]] = {
    StepOverridesCalls: {
        "a_decision_survives_a_late_write",
        "an_outdated_snapshot_in_a_step_is_ignored",
        "concurrent_writes_of_one_call_lose_nothing",
    },
    StepIsNotAtomic: {
        "a_step_that_keeps_too_much_of_a_log_stores_nothing",
        "a_step_with_an_invalid_call_stores_nothing",
    },
    InvalidCallIsSkipped: {"a_step_with_an_invalid_call_stores_nothing"},
    RemovedBlockTakesItsCall: {"a_removed_block_leaves_its_call"},
    RemovalsComeLast: {"a_removed_id_may_come_back"},
    RemovalIsRemembered: {"a_removed_id_may_come_back"},
    BlocksNeverMove: {"a_block_can_change"},
    KeepIsIgnored: {"a_log_is_cut_where_the_step_says", "a_repeated_step_changes_nothing"},
    KeepBeyondTheEndIsAccepted: {"a_step_that_keeps_too_much_of_a_log_stores_nothing"},
    UnnamedLogsAreDropped: {"logs_grow_by_what_is_appended"},
    ValuesAreNeverDropped: {"values_are_set_and_dropped_by_name"},
    EmptyValueCountsAsGone: {"values_are_set_and_dropped_by_name"},
    PlanIsClearedByNone: {"a_plan_is_kept_replaced_or_cleared", "a_step_is_stored_and_the_next_replaces_it"},
    PlanCannotBeCleared: {"a_plan_is_kept_replaced_or_cleared"},
    OutcomeStays: {"every_outcome_comes_back"},
    CompletionStays: {"a_step_is_stored_and_the_next_replaces_it", "state_usage_and_completion_are_replaced"},
    UsageIsAdded: {
        "a_repeated_step_changes_nothing",
        "a_step_is_stored_and_the_next_replaces_it",
        "state_usage_and_completion_are_replaced",
    },
}


@pytest.mark.parametrize(("broken", "cases"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN])
def test_a_broken_journal_fails_the_cases_of_its_rule(
    broken: type[MemoryJournal], cases: set[str], failing_journal_cases: Callable[..., set[str]]
) -> None:
    assert failing_journal_cases(broken) == cases
