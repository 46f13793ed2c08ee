"""Saving: marks, the log's tail, and what the next step carries (architecture: marks; run.md, section 2.5).

What must be saved takes a mark; a gate waits until a mark is acknowledged, no matter whose step it was. A step is built
only when a gate wants a mark that is not saved, and carries everything that changed before it was built.
"""

from ...effects.journal import Changes, LogChange, SaveStep, Step, StepSaved
from ...effects.record import Block, ToolCall
from ...effects.values import replace
from .head import Head, encode_head
from .identity import issue
from .log import Entry, encode_entry
from .state import NoStep, RunState, Saving, SavingStep

__all__ = ["build_step", "cut_last", "drop_blocks", "hold", "on_step_saved", "record_output", "saved", "touch", "want"]


def touch(state: RunState) -> RunState:
    """Something changed that only a step can save."""
    return replace(state, saving=replace(state.saving, mark=state.saving.mark + 1))


def want(state: RunState, mark: int) -> RunState:
    """A gate waits for ``mark``."""
    if mark <= state.saving.wanted:
        return state
    return replace(state, saving=replace(state.saving, wanted=mark))


def saved(state: RunState, mark: int) -> bool:
    """Whether everything up to ``mark`` is acknowledged."""
    return state.saving.saved >= mark


def hold(state: RunState, entry: Entry) -> RunState:
    """Keep a log entry until the output it leads to: a log ends with an output or a verdict on one."""
    log = state.saving.log
    return replace(state, saving=replace(state.saving, log=replace(log, held=(*log.held, encode_entry(entry)))))


def record_output(
    state: RunState, entry: Entry, blocks: tuple[Block, ...], calls: tuple[ToolCall, ...]
) -> tuple[RunState, int]:
    """An accepted output: what led to it, it, its blocks and its queued calls go with the next step; returns its mark."""
    saving = state.saving
    log = saving.log
    mark = saving.mark + 1
    saving = replace(
        saving,
        mark=mark,
        wanted=mark,
        log=replace(log, held=(), ready=(*log.ready, *log.held, encode_entry(entry))),
        blocks={**saving.blocks, **{block.id: block for block in blocks}},
        calls={**saving.calls, **{call.id: call for call in calls}},
    )
    return replace(state, saving=saving), mark


def cut_last(state: RunState) -> RunState:
    """Take the last saved entry, an output nobody got, back out of the log with the next step."""
    log = state.saving.log
    return touch(replace(state, saving=replace(state.saving, log=replace(log, keep=log.keep - 1))))


def drop_blocks(state: RunState, blocks: tuple[Block, ...]) -> RunState:
    """Remove blocks and their calls from the stored record with the next step."""
    saving = replace(
        state.saving,
        removed_blocks=(*state.saving.removed_blocks, *(block.id for block in blocks)),
        removed_calls=(*state.saving.removed_calls, *(block.call_id for block in blocks if block.call_id)),
    )
    return touch(replace(state, saving=saving))


def build_step(state: RunState) -> tuple[RunState, SaveStep]:
    """The step that carries everything new, and the state that has it in flight."""
    state, ticket = issue(state, SaveStep)
    saving = state.saving
    log = saving.log
    logs = {}
    if log.ready or log.keep < log.stored:
        logs["main"] = LogChange(log.keep, log.ready)
    if saving.seen:
        logs["seen"] = LogChange(len(state.feed.seen) - len(saving.seen), saving.seen)
    head = Head(
        turns=state.turn.turns,
        iterations=state.turn.iterations,
        after=state.feed.after,
        claimed=state.feed.claimed,
    )
    changes = Changes(
        blocks=tuple(sorted(saving.blocks.values(), key=_position)),
        calls=tuple(saving.calls.values()),
        removed_blocks=tuple(sorted(saving.removed_blocks)),
        removed_calls=tuple(sorted(saving.removed_calls)),
    )
    step = Step(
        state=encode_head(head), logs=logs, changes=changes, usage=state.process.usage, outcome=saving.outcome
    )
    length = log.keep + len(log.ready)
    clean = Saving(
        phase=SavingStep(ticket, saving.mark),
        mark=saving.mark,
        saved=saving.saved,
        wanted=saving.wanted,
        log=replace(log, stored=length, keep=length, ready=()),
        outcome=saving.outcome,
    )
    return replace(state, saving=clean), SaveStep(ticket, state.lease.attempt, step)


def on_step_saved(state: RunState, event: StepSaved) -> RunState:
    """The step in flight is stored."""
    phase = state.saving.phase
    assert isinstance(phase, SavingStep)
    return replace(state, saving=replace(state.saving, phase=NoStep(), saved=max(state.saving.saved, phase.mark)))


def _position(block: Block) -> int:
    return block.position
