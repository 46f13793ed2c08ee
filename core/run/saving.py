"""Saving: marks, the log's tail, and what the next step carries.

What must be saved takes a mark; a gate waits until a mark is acknowledged, no matter whose step it was. A step is built
only when a gate wants a mark that is not saved, and carries everything that changed before it was built.
"""

from ...effects.journal import Changes, LogChange, SaveStep, Step, StepSaved
from ...effects.outcome import Completed, Delivered
from ...effects.record import Block, ToolCall
from ...effects.transcript import Sealed
from ...effects.values import replace
from .head import Head, encode_head, rows_of
from .log import Entry, EntryKind, encode_entry
from .phases import NoStep, SavingStep
from .state import Extended, RunState, Saving

SLICE = "extension/"
"""What the names of saved slices begin with."""


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


def hold(state: RunState, entry: Entry, keys: tuple[str, ...] = ()) -> RunState:
    """Keep a log entry, with the keys of its input, until the output it leads to: a log ends with one or a verdict."""
    log = state.saving.log
    log = replace(log, held=(*log.held, encode_entry(entry)), keys=(*log.keys, *(key.encode() for key in keys)))
    return replace(state, saving=replace(state.saving, log=log))


def record_output(
    state: RunState, entry: Entry, blocks: tuple[Block, ...], calls: tuple[ToolCall, ...]
) -> tuple[RunState, int]:
    """An accepted output goes with the next step, with what led to it, its blocks and its calls; returns its mark."""
    state = _grow(state, entry)
    saving = state.saving
    saving = replace(
        saving,
        wanted=saving.mark,
        blocks={**saving.blocks, **{block.id: block for block in blocks}},
        calls={**saving.calls, **{call.id: call for call in calls}},
    )
    return replace(state, saving=saving), saving.mark


def record_superseded(state: RunState, results: tuple[Sealed, ...] = ()) -> RunState:
    """The verdict on the last output that newer input took its place; ``results`` are those of its calls."""
    return _grow(state, Entry(EntryKind.SUPERSEDED, results))


def _grow(state: RunState, entry: Entry) -> RunState:
    """The log grows, and the head with it."""
    saving = state.saving
    log = saving.log
    grown = replace(
        log,
        held=(),
        keys=(),
        ready=(*log.ready, *log.held, encode_entry(entry)),
        head=_head(state),
    )
    return replace(state, saving=replace(saving, mark=saving.mark + 1, log=grown, seen=(*saving.seen, *log.keys)))


def _head(state: RunState) -> Head:
    turn, feed, goal = state.turn, state.feed, state.goal
    return Head(
        turns=turn.turns,
        iterations=turn.iterations,
        after=feed.after,
        claimed=feed.claimed,
        corrections=goal.corrections,
        charged=goal.charged,
        base=rows_of(goal.base),
        spent_ms=_spent(state),
    )


def _spent(state: RunState) -> int:
    """How long the run has been executed since its last answer, in milliseconds."""
    now = state.clock.now
    return state.goal.spent_ms + max(0, now - (state.lease.began or now))


def record_rejected(state: RunState, prompt: Sealed) -> RunState:
    """The verdict on the last output that it will not do, and what the model is told: saved before it is asked again.

    A correction is durable with its charge (decision 3).
    """
    return _grow(state, Entry(EntryKind.REJECTED, (prompt,)))


def record_voided(state: RunState) -> RunState:
    """The verdict on an output that is taken back because nothing came of it: the model is to be asked again (N-09)."""
    return _grow(state, Entry(EntryKind.VOIDED, ()))


def record_charge(state: RunState) -> RunState:
    """A correction was used for the output at the end of the log: the head says so with the next step."""
    log, goal = state.saving.log, state.goal
    head = replace(log.head, corrections=goal.corrections, charged=goal.charged)
    return touch(replace(state, saving=replace(state.saving, log=replace(log, head=head))))


def log_length(state: RunState) -> int:
    """How many entries the log has, saved or ready to be."""
    log = state.saving.log
    return log.keep + len(log.ready)


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


def build_step(state: RunState, ticket: int) -> tuple[RunState, SaveStep]:
    """The step that carries everything new, and the state that has it in flight."""
    saving = state.saving
    log = saving.log
    extended, values = _values(state.extended, log.head.claimed == state.feed.claimed)
    logs: dict[str, LogChange] = {}
    if log.ready or log.keep < log.stored:
        logs["main"] = LogChange(log.keep, log.ready)
    if saving.seen:
        logs["seen"] = LogChange(len(state.feed.seen) - len(log.keys) - len(saving.seen), saving.seen)
    delivered = log.head.delivered or isinstance(saving.outcome, Delivered | Completed)
    spent = rows_of(state.process.spending)
    head = replace(log.head, delivered=delivered, spent_ms=_spent(state), spent=spent)
    if log.head.delivered:
        # The turn after an answer came to nothing; what it used counts since that answer all the same (decision 41).
        head = replace(head, base=rows_of(state.goal.base))
    changes = Changes(
        blocks=tuple(sorted(saving.blocks.values(), key=_position)),
        calls=tuple(saving.calls.values()),
        removed_blocks=tuple(sorted(saving.removed_blocks)),
        removed_calls=tuple(sorted(saving.removed_calls)),
    )
    step = Step(
        state=encode_head(head),
        logs=logs,
        values=values,
        changes=changes,
        usage=state.process.spending.total,
        completion=state.goal.active,
        outcome=saving.outcome,
    )
    length = log.keep + len(log.ready)
    clean = Saving(
        phase=SavingStep(ticket, saving.mark),
        mark=saving.mark,
        saved=saving.saved,
        wanted=saving.wanted,
        log=replace(log, stored=length, keep=length, ready=(), head=head),
        outcome=saving.outcome,
    )
    return replace(state, saving=clean, extended=extended), SaveStep(ticket, state.lease.attempt, step)


def _values(extended: Extended, settled: bool) -> tuple[Extended, dict[str, bytes]]:
    """What a step carries of the set-up and the slices.

    While a claim has not led to an output the slices stay behind: after a crash it is claimed and observed again.
    """
    values: dict[str, bytes] = {}
    if extended.agent is not None:
        values["agent"] = extended.agent
        extended = replace(extended, agent=None)
    if extended.dirty and settled:
        values |= {f"{SLICE}{name}": raw for name, raw in extended.dirty.items()}
        extended = replace(extended, dirty={})
    return extended, values


def on_step_saved(state: RunState, event: StepSaved) -> RunState:
    """The step in flight is stored."""
    phase = state.saving.phase
    assert isinstance(phase, SavingStep)
    return replace(state, saving=replace(state.saving, phase=NoStep(), saved=max(state.saving.saved, phase.mark)))


def _position(block: Block) -> int:
    return block.position
