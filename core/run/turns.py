"""The model's side of a turn: iterations, outputs, and what becomes of them."""

from ...effects.display import RemoveBlocks, UpsertBlock
from ...effects.feed import InputMessage
from ...effects.model import ModelBroke, ModelCutOff, ModelStreamed, StreamFailed
from ...effects.outcome import FailureKind
from ...effects.record import Block, BlockKind, CallStatus, Standing
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    ModelError,
    Sealed,
    StopReason,
    Usage,
    calls_of,
    clean_text,
    text_of,
)
from ...effects.values import replace
from ..loop import Acting, Asking, Item, accept, ask, close, message_of, numbered, rest, stream
from ..text import fill
from .calls import call_record, empty_batch, live_calls, record_name, result_message
from .ending import fail
from .inputs import enter_input
from .log import Entry, EntryKind
from .phases import Concluding, Looping
from .process import block_view, finalise, keep_text, show, show_growth, withdraw
from .saving import cut_last, drop_blocks, hold, record_output, record_superseded, touch
from .spec import Rules
from .state import Batch, RunState


def final_iteration(state: RunState, rules: Rules) -> bool:
    """Whether this iteration is the last of its turn: no tools are offered, and the model is told so (N-02)."""
    return state.turn.iterations >= rules.spec.limits.iterations


def start_turn(state: RunState, messages: tuple[InputMessage, ...]) -> RunState:
    """Claimed input enters the context, and the loop asks its model with a full budget."""
    state = replace(state, turn=replace(state.turn, turns=state.turn.turns + 1, iterations=0))
    state, items = enter_input(state, messages)
    return iterate(state, *items)


def iterate(state: RunState, *entering: Item) -> RunState:
    """One more model call."""
    turn = replace(state.turn, phase=Looping(), iterations=state.turn.iterations + 1, text_retries=0)
    model = replace(state.model, wanted=True)
    return replace(state, turn=turn, model=model, loop=ask(state.loop, *entering))


def next_iteration(state: RunState) -> RunState:
    """The batch's results enter the context, and the model is asked again."""
    return iterate(close_batch(state))


def close_batch(state: RunState) -> RunState:
    """The batch's results enter the context in call order; they are logged with the output they lead to."""
    loop, results = close(state.loop)
    state = empty_batch(replace(state, loop=loop))
    return hold(state, Entry(EntryKind.RESULTS, tuple(item for item in results if isinstance(item, Sealed))))


def on_model_streamed(state: RunState, event: ModelStreamed, rules: Rules) -> RunState:
    """Show what arrived; with the terminal delta, the output is accepted, asked for again, or the end."""
    loop, growths, terminal = stream(state.loop, event.deltas)
    state = show_growth(replace(state, loop=loop), growths)
    if terminal is None:
        return state
    if isinstance(terminal, StreamFailed):
        return _model_failure(_answered(state), terminal.error, rules)
    phase = loop.phase
    assert isinstance(phase, Asking)
    state = replace(state, model=replace(state.model, ticket=None))
    message = message_of(phase.partial, terminal, state.clock.now)
    return _on_output(_count(state, message.usage), message, rules)


def on_model_cut_off(state: RunState, event: ModelCutOff, rules: Rules) -> RunState:
    """The call was cut off although the run did not ask for it."""
    return _model_failure(_answered(state), ModelError(ErrorKind.ABORTED, "the model call was cut off"), rules)


def on_model_broke(state: RunState, event: ModelBroke, rules: Rules) -> RunState:
    """The port broke its contract (decision 28)."""
    text = f"the model port broke its contract: {event.message}"
    return fail(_answered(state), rules, FailureKind.CONTRACT_BREACH, text)


def _answered(state: RunState) -> RunState:
    """The call in flight has given its last answer, without an output: its usage counts all the same."""
    phase = state.loop.phase
    assert isinstance(phase, Asking)
    return _count(replace(state, model=replace(state.model, ticket=None)), phase.partial.usage)


def _on_output(state: RunState, message: AssistantMessage, rules: Rules) -> RunState:
    if message.stop is StopReason.REFUSAL:
        reason = f" ({message.raw_stop})" if message.raw_stop else ""
        return fail(state, rules, FailureKind.REFUSED, text_of(message).strip() or f"the model refused{reason}")
    if message.stop in (StopReason.ERROR, StopReason.ABORTED):
        return _model_failure(
            state, message.error or ModelError(ErrorKind.PROTOCOL, "the model's output failed"), rules
        )
    if calls_of(message):
        return _accept_calls(state, message, rules)
    if text_of(message).strip():
        return _accept_text(state, message)
    return _empty(state, message, rules)


def _empty(state: RunState, message: AssistantMessage, rules: Rules) -> RunState:
    """An output that says nothing is asked for once more; after that the turn ends without text (RT-16)."""
    if message.stop is StopReason.LENGTH:
        text = "the model reached its output limit before it said anything"
        return fail(state, rules, FailureKind.TRUNCATED, text)
    state = touch(withdraw(state))
    if state.turn.text_retries == 0:
        turn = replace(state.turn, text_retries=1)
        return replace(state, turn=turn, model=replace(state.model, wanted=True), loop=ask(rest(state.loop)))
    turn = replace(state.turn, phase=Concluding("", state.saving.mark))
    return replace(state, turn=turn, loop=rest(state.loop))


def _accept_text(state: RunState, message: AssistantMessage) -> RunState:
    message, item = _sealed(message)
    state, blocks = finalise(state, message)
    state = replace(
        _add_blocks(state, blocks),
        loop=accept(state.loop, message, item),
    )
    state, mark = record_output(state, Entry(EntryKind.OUTPUT, (item,)), blocks, ())
    return replace(state, turn=replace(state.turn, phase=Concluding(text_of(message).strip(), mark)))


def _accept_calls(state: RunState, message: AssistantMessage, rules: Rules) -> RunState:
    message, item = _sealed(numbered(message, len(state.loop.context)))
    try:
        names = tuple(record_name(rules, part) for part in calls_of(message))
    except Exception as error:
        text = f"the record name of a call could not be computed: {type(error).__name__}: {error}"
        return fail(state, rules, FailureKind.EXTENSION, text)
    state, blocks = finalise(state, message)
    state = _add_blocks(state, blocks)
    linked = [block for block in blocks if block.kind is BlockKind.TOOL_CALL]
    parts = calls_of(message)
    records = tuple(
        call_record(rules, part, name, block.call_id, state.model.call_id)
        for part, name, block in zip(parts, names, linked, strict=True)
    )
    over = final_iteration(state, rules)
    if over:
        records = tuple(
            replace(
                record,
                status=CallStatus.FAILED,
                error=fill(rules.words.not_offered, name=part.name),
                started_at=state.clock.now,
                completed_at=state.clock.now,
            )
            for record, part in zip(records, parts, strict=True)
        )
    item = Sealed.of(message)
    pairs = tuple((record.id, part.id) for record, part in zip(records, parts, strict=True))
    state, mark = record_output(state, Entry(EntryKind.OUTPUT, (item,), pairs), blocks, records)
    loop = accept(state.loop, message, item, _sequential(rules, parts))
    if over:
        # Decision 3: the budget is spent, the output is no answer, and nothing can stand in for one.
        state = replace(state, process=replace(state.process, calls=state.process.calls.extend(records)))
        views = (block_view(block, record) for block, record in zip(linked, records, strict=True))
        state = show(state, *map(UpsertBlock, views))
        text = f"the model still called tools in the last of the turn's {state.turn.iterations} iterations"
        return fail(replace(state, loop=rest(loop)), rules, FailureKind.TOOL_LIMIT, text)
    batch = replace(
        live_calls(records, {block.call_id: block for block in linked}), cut=message.stop is StopReason.LENGTH
    )
    return replace(state, loop=loop, batch=batch, turn=replace(state.turn, phase=Looping(mark)))


def _sealed(message: AssistantMessage) -> tuple[AssistantMessage, Sealed]:
    """The output as it is stored, and sealed for the context."""
    item = Sealed.of(message)
    stored = item.open()
    assert isinstance(stored, AssistantMessage)
    return stored, item


def _sequential(rules: Rules, parts: tuple[CallPart, ...]) -> bool:
    tools = (rules.tools.get(part.name) for part in parts)
    return rules.spec.sequential or any(tool is not None and tool.sequential for tool in tools)


def supersede(state: RunState, text: str, rules: Rules) -> RunState:
    """Newer input takes the place of a text that was ready: it stays on record as superseded (decision 2).

    What the model sees of it depends on ``discard_undelivered``: by default it counts as said.
    """
    if not text:
        return state
    if rules.spec.discard_undelivered:
        context = state.loop.context
        state = cut_last(replace(state, loop=replace(state.loop, context=context.cut(len(context) - 1))))
    return keep_text(record_superseded(state), text, Standing.SUPERSEDED)


def drop_batch(state: RunState, rules: Rules) -> RunState:
    """Newer input came before any call of the batch had started: none does, and the model is told so."""
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    results = tuple(
        result_message(part, fill(rules.words.cancelled, name=part.name, call_id=part.id), True)
        for part in acting.calls
    )
    loop = replace(rest(state.loop), context=state.loop.context.extend(results))
    return _remove_call_blocks(record_superseded(replace(state, loop=loop), results))


def _remove_call_blocks(state: RunState) -> RunState:
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


def _add_blocks(state: RunState, blocks: tuple[Block, ...]) -> RunState:
    return replace(state, process=replace(state.process, blocks=state.process.blocks.extend(blocks)))


def _count(state: RunState, usage: Usage) -> RunState:
    return replace(state, process=replace(state.process, usage=state.process.usage + usage))


def _model_failure(state: RunState, error: ModelError, rules: Rules) -> RunState:
    kind = FailureKind.REFUSED if error.kind is ErrorKind.REFUSED else FailureKind.MODEL
    error = replace(error, message=clean_text(error.message), code=error.code and clean_text(error.code))
    return fail(state, rules, kind, error.message, error)
