"""The model's side of a turn: iterations, outputs, and what becomes of them."""

from ...effects.display import UpsertBlock
from ...effects.feed import InputMessage
from ...effects.model import ModelBroke, ModelCutOff, ModelStreamed, StreamFailed
from ...effects.outcome import FailureKind
from ...effects.record import Block, BlockKind, CallStatus, ToolCall
from ...effects.sequence import Seq
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    ModelError,
    Sealed,
    Spent,
    StopReason,
    calls_of,
    clean_text,
    text_of,
    without_nul,
)
from ...effects.values import replace
from ..loop import Asking, Item, accept, ask, close, message_of, numbered, rest, stream
from .calls import empty_batch, live_calls, show_result
from .ending import fail
from .extension import CallOutcome, Origin
from .goal import reject, violations
from .inputs import enter_input
from .log import Entry, EntryKind
from .observing import observe
from .phases import Concluding, Looping
from .process import block_view, finalise, show, show_growth, withdraw
from .records import call_record, record_name
from .retrying import retry_delay
from .saving import hold, record_output, touch
from .spec import Rules
from .state import RunState


def start_turn(state: RunState, messages: tuple[InputMessage, ...], rules: Rules) -> RunState:
    """Claimed input enters the context, and the loop asks its model with a full budget.

    What held for the turn before only, rejected texts and what was said of them, is passed over from now on.
    """
    state = observe(state, rules, "on_claim", lambda extension, slice_: extension.on_claim(slice_, messages))
    passing = state.turn.passing
    if passing:
        state = replace(state, loop=replace(state.loop, context=_without(state.loop.context, passing)))
    state, items = enter_input(state, messages, always=bool(passing))
    turn = replace(
        state.turn,
        turns=state.turn.turns + 1,
        iterations=0,
        claim=messages,
        first_call=len(state.process.calls),
        passing=(),
    )
    return iterate(replace(state, turn=turn), *items)


def _without(context: Seq[Item], passing: tuple[int, ...]) -> Seq[Item]:
    """The context without these places, all of the last turn."""
    first = passing[0]
    return context.cut(first).extend(item for place, item in enumerate(context[first:], first) if place not in passing)


def iterate(state: RunState, *entering: Item) -> RunState:
    """One more model call."""
    turn = replace(state.turn, phase=Looping(), iterations=state.turn.iterations + 1, text_retries=0)
    model = replace(state.model, wanted=True, tries=0, retry_at=0)
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
        return _expect_more(state, rules)
    if isinstance(terminal, StreamFailed):
        return _model_failure(_answered(state), terminal.error, rules)
    phase = loop.phase
    assert isinstance(phase, Asking)
    state = replace(state, model=replace(state.model, ticket=None, until=0))
    message = message_of(phase.partial, terminal, state.clock.now)
    return _on_output(_count(state, message.spent), message, rules)


def _expect_more(state: RunState, rules: Rules) -> RunState:
    """Once the model has begun it may not stall; that its stream has opened is no beginning."""
    stall_ms, phase = rules.spec.limits.stall_ms, state.loop.phase
    assert isinstance(phase, Asking)
    if rules.spec.limits.first_token_ms and not phase.partial.blocks:
        return state
    if not stall_ms and not state.model.until:
        return state
    return replace(state, model=replace(state.model, until=stall_ms and state.clock.now + stall_ms))


def on_model_silent(state: RunState, rules: Rules) -> RunState:
    """The model took longer than it may to begin or to go on: the call is withdrawn, and may be tried again."""
    phase = state.loop.phase
    assert isinstance(phase, Asking)
    begun = bool(phase.partial.blocks)
    text = "the model stopped in the middle of its answer" if begun else "the model did not begin to answer in time"
    model = state.model
    model = replace(model, ticket=None, withdrawn=model.ticket, cancelled=False, late=phase.partial.spent, until=0)
    return _model_failure(replace(state, model=model), ModelError(ErrorKind.TIMEOUT, text), rules)


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
    return _count(replace(state, model=replace(state.model, ticket=None, until=0)), phase.partial.spent)


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
        return _accept_text(state, message, rules)
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


def _accept_text(state: RunState, message: AssistantMessage, rules: Rules) -> RunState:
    message, item = _sealed(message)
    state = _observe_output(state, message, rules)
    state, blocks = finalise(state, message)
    state = replace(
        _add_blocks(state, blocks),
        loop=accept(state.loop, message, item),
    )
    state, mark = record_output(state, Entry(EntryKind.OUTPUT, (item,)), blocks, ())
    cut = message.stop is StopReason.LENGTH
    return replace(state, turn=replace(state.turn, phase=Concluding(text_of(message).strip(), mark, cut=cut)))


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
    problems = violations(state, parts, rules)
    if problems:
        records = tuple(_unstarted(state, *pair) for pair in zip(records, problems, strict=True))
    item = Sealed.of(message)
    pairs = tuple((record.id, part.id) for record, part in zip(records, parts, strict=True))
    state = _observe_output(state, message, rules)
    state, mark = record_output(state, Entry(EntryKind.OUTPUT, (item,), pairs), blocks, records)
    batch = replace(
        live_calls(records, {block.call_id: block for block in linked}), cut=message.stop is StopReason.LENGTH
    )
    loop = accept(state.loop, message, item, _sequential(rules, parts))
    state = replace(state, loop=loop, batch=batch, turn=replace(state.turn, phase=Looping(mark)))
    return _refuse_batch(state, rules) if problems else state


def _unstarted(state: RunState, record: ToolCall, problem: str) -> ToolCall:
    now = state.clock.now
    return replace(record, status=CallStatus.FAILED, error=without_nul(problem), started_at=now, completed_at=now)


def _refuse_batch(state: RunState, rules: Rules) -> RunState:
    """No call of the output runs: each fails, and one correction is used, all in the output's own step (decision 3)."""
    for live in state.batch.live.values():
        state = show_result(state, live, rules)
        state = show(state, UpsertBlock(block_view(live.block, live.record)))
        outcome = CallOutcome(live.record, Origin.EXECUTED)
        state = _observe_call(state, outcome, rules)
    return reject(state, rules)


def _observe_call(state: RunState, outcome: CallOutcome, rules: Rules) -> RunState:
    return observe(state, rules, "on_call", lambda extension, slice_: extension.on_call(slice_, outcome))


def _observe_output(state: RunState, message: AssistantMessage, rules: Rules) -> RunState:
    return observe(state, rules, "on_output", lambda extension, slice_: extension.on_output(slice_, message))


def _sealed(message: AssistantMessage) -> tuple[AssistantMessage, Sealed]:
    """The output as it is stored, and sealed for the context."""
    item = Sealed.of(message)
    stored = item.open()
    assert isinstance(stored, AssistantMessage)
    return stored, item


def _sequential(rules: Rules, parts: tuple[CallPart, ...]) -> bool:
    tools = (rules.tools.get(part.name) for part in parts)
    return rules.spec.sequential or any(tool is not None and tool.sequential for tool in tools)


def _add_blocks(state: RunState, blocks: tuple[Block, ...]) -> RunState:
    return replace(state, process=replace(state.process, blocks=state.process.blocks.extend(blocks)))


def _count(state: RunState, spent: tuple[Spent, ...]) -> RunState:
    return replace(state, process=replace(state.process, spending=state.process.spending.plus(*spent)))


def _model_failure(state: RunState, error: ModelError, rules: Rules) -> RunState:
    """Ask again if that may help, taking back what the attempt had shown (decision 24); else the run fails."""
    delay = retry_delay(state, error, rules)
    if delay is not None:
        state = touch(withdraw(state))
        model = replace(state.model, wanted=True, tries=state.model.tries + 1, retry_at=state.clock.now + delay)
        return replace(state, model=model, loop=ask(rest(state.loop)))
    kind = FailureKind.REFUSED if error.kind is ErrorKind.REFUSED else FailureKind.MODEL
    error = replace(error, message=clean_text(error.message), code=error.code and clean_text(error.code))
    return fail(state, rules, kind, error.message, error)
