"""Newer input takes the place of what was ready, or about to be done: what stays on record, and what the model sees."""

from ...effects.display import RemoveBlocks, UpsertBlock
from ...effects.record import Standing
from ...effects.transcript import CallPart
from ...effects.values import replace
from ..loop import Acting, rest
from ..text import fill
from .calls import empty_batch
from .phases import BetweenTurns
from .process import block_view, keep_text, show
from .records import result_message
from .saving import cut_last, drop_blocks, record_superseded, record_voided
from .spec import Rules
from .state import Batch, RunState


def supersede(state: RunState, text: str, rules: Rules) -> RunState:
    """Newer input takes the place of what would have ended the turn: a completion, a text, or nothing."""
    if state.goal.active is not None:
        state = _drop_completion(state)
    elif text:
        state = _supersede_text(state, text, rules)
    return replace(state, turn=replace(state.turn, phase=BetweenTurns(state.feed.answered)))


def _supersede_text(state: RunState, text: str, rules: Rules) -> RunState:
    """The text stays on record as superseded (decision 2).

    What the model sees of it depends on ``discard_undelivered``: by default it counts as said (N-07).
    """
    if rules.spec.discard_undelivered:
        state = _forget_output(state)
    return keep_text(record_superseded(state), text, Standing.SUPERSEDED)


def _drop_completion(state: RunState) -> RunState:
    """The value does not count any more, and the model sees no trace of the output that led to it (RT-23)."""
    state = _forget_output(empty_batch(replace(state, goal=replace(state.goal, active=None))))
    return record_superseded(state)


def _forget_output(state: RunState) -> RunState:
    """Take the last output out of the context and of the log."""
    loop, context = rest(state.loop), state.loop.context
    return cut_last(replace(state, loop=replace(loop, context=context.cut(len(context) - 1))))


def drop_batch(state: RunState, rules: Rules) -> RunState:
    """Newer input came before any call of the batch had started: none does, and the model is told so.

    An output that would only have ended the run is forgotten instead.
    """
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    state = replace(state, turn=replace(state.turn, phase=BetweenTurns(state.feed.answered)))
    if completes(acting.calls, rules):
        return _remove_calls(record_superseded(_forget_output(state)))
    results = tuple(
        result_message(part, fill(rules.words.cancelled, name=part.name, call_id=part.id), True)
        for part in acting.calls
    )
    loop = replace(rest(state.loop), context=state.loop.context.extend(results))
    return _remove_calls(record_superseded(replace(state, loop=loop), results))


def void_output(state: RunState) -> RunState:
    """An output that only completes the run, and of which nothing came, never was: the model is asked again (N-09)."""
    return _remove_calls(record_voided(_forget_output(state)))


def completes(parts: tuple[CallPart, ...], rules: Rules) -> bool:
    """Whether an output calls completion tools and nothing else."""
    return all(part.name in rules.completion for part in parts)


def _remove_calls(state: RunState) -> RunState:
    """Take the batch's calls out of the record; blocks of the same output that stay close the gaps."""
    dropped = {live.block.id: live.block for live in state.batch.live.values()}
    first = min(block.position for block in dropped.values()) - 1
    blocks = state.process.blocks
    kept = [block for block in blocks[first:] if block.id not in dropped]
    moved = tuple(replace(block, position=first + place + 1) for place, block in enumerate(kept))
    process = replace(state.process, blocks=blocks.cut(first).extend(moved))
    saving = replace(state.saving, blocks={**state.saving.blocks, **{block.id: block for block in moved}})
    state = replace(state, batch=Batch(), process=process, saving=saving)
    state = show(state, RemoveBlocks(tuple(dropped)), *(UpsertBlock(block_view(block, None)) for block in moved))
    return drop_blocks(state, tuple(dropped.values()))
