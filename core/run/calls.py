"""The calls of a batch: prepare, save as running, run, save the outcome.

A record is saved as running before its tool is asked for, and the store's answer is the truth: a call that the host
settled or handed over meanwhile is not started (decisions 4 and 37).
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec

from ...effects.display import UpsertBlock
from ...effects.journal import CallSaved
from ...effects.record import Block, CallStatus, Handover, ToolCall
from ...effects.tool import ToolCutOff, ToolFailed, ToolProgressed, ToolResult, ToolReturned
from ...effects.transcript import (
    CallPart,
    Content,
    Sealed,
    TextPart,
    ToolResultMessage,
    parts_of,
    without_nul,
)
from ...effects.transcript.encoding import decode_content, encode_content
from ...effects.values import replace
from ..loop import Acting, begin, settle, startable
from ..text import Words, fill
from .phases import CallQueued, CallRunning, CallSettled, CallSettling, CallStarting, Closing
from .process import block_view
from .spec import Rules
from .state import Batch, LiveCall, RunState


def record_name(rules: Rules, part: CallPart) -> str:
    """The name of a call's record; raises whatever the host's function raises."""
    namer = rules.record_names.get(part.name)
    return (namer(without_nul(part.arguments)) if namer else "") or part.name


def call_record(rules: Rules, part: CallPart, name: str, record_id: str, model_call_id: str) -> ToolCall:
    """The queued record of a call. An unregistered tool counts as one with side effects that cannot be repeated."""
    tool = rules.tools.get(part.name)
    arguments = without_nul(part.arguments)
    return ToolCall(
        id=record_id,
        status=CallStatus.QUEUED,
        rev=1,
        model_call_id=model_call_id,
        call_id=part.id,
        name=name,
        arguments=arguments,
        digest=blake2b(arguments.encode(), digest_size=8).hexdigest(),
        replayable=tool is not None and tool.replayable,
        side_effects=tool is None or tool.side_effects,
        notes=tool.notes if tool is not None else {},
    )


def interrupted_outcome(words: Words, replayable: bool, side_effects: bool) -> tuple[CallStatus, str]:
    """What becomes of a call that started and did not finish, by its traits (HO-05)."""
    if side_effects and not replayable:
        return CallStatus.NEEDS_REVIEW, words.needs_review
    return CallStatus.INTERRUPTED, words.interrupted_replayable if replayable else words.interrupted


def parse_arguments(text: str) -> Mapping[str, Any] | str:
    """The arguments as an object, or what is wrong with them; blank text is an empty object (decisions 12 and 43)."""
    if not text.strip():
        return {}
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return f"they are not valid JSON ({error})"
    if not isinstance(value, dict):
        return f"expected a JSON object, got {type(value).__name__}"
    return cast("Mapping[str, Any]", value)


def waiting(call: ToolCall) -> bool:
    """Whether the run must wait for somebody else to settle or decide this call."""
    if call.settled:
        return False
    return call.handover is Handover.AWAIT or (call.status == CallStatus.AWAITING_DECISION and not call.handover)


def model_content(call: ToolCall, words: Words) -> tuple[Content, bool]:
    """What the model sees of a record that is out of the runtime's hands, and whether it is an error."""
    if call.parts is not None:
        return decode_content(call.parts), False
    error = None if call.handover in (Handover.DETACHED, Handover.SUBMITTED) else call.error
    if call.status == CallStatus.FAILED and error is not None:
        return error_text(error), True
    if call.result is not None:
        return call.result, call.status == CallStatus.FAILED
    if error is not None and call.settled:
        return error_text(error), True
    return fill(words.cancelled, name=call.name, call_id=call.call_id), True


def error_text(message: str) -> str:
    """An error as the model sees it: a JSON object with the single member ``error``."""
    return msgspec.json.encode({"error": message}).decode()


def result_message(part: CallPart, content: Content, is_error: bool) -> Sealed:
    """The result of one call, sealed for the context."""
    return Sealed.of(ToolResultMessage(part.id, part.name, content, is_error))


def put(state: RunState, live: LiveCall, owed: bool = False, view: bool = True) -> RunState:
    """Store a live call; ``owed`` when something must be asked for it, ``view`` to show its new status."""
    batch = state.batch
    record_id = live.record.id
    open_before = not isinstance(batch.live[record_id].phase, CallSettled)
    batch = replace(
        batch,
        live={**batch.live, record_id: live},
        owed=(*batch.owed, record_id) if owed and record_id not in batch.owed else batch.owed,
        open=batch.open - (open_before and isinstance(live.phase, CallSettled)),
    )
    if not view:
        return replace(state, batch=batch)
    notice = UpsertBlock(block_view(live.block, live.record))
    return replace(state, batch=batch, notices=(*state.notices, notice))


def _outcome(state: RunState, live: LiveCall, **fields: Any) -> RunState:
    """The call has this outcome: save it, or where nothing can be saved, keep it."""
    record = live.record
    now = state.clock.now
    record = replace(
        record,
        rev=record.rev + 1,
        completed_at=now,
        **fields,
    )
    if isinstance(state.life, Closing) and not state.life.writable:
        return put(state, replace(live, record=record, phase=CallSettled()))
    return put(state, replace(live, record=record, phase=CallSettling()), owed=True)


def resettle(state: RunState, live: LiveCall, status: CallStatus, text: str) -> RunState:
    """Settle a call that did not come to its end, with the text the model will see."""
    return _outcome(state, live, status=status, result=text)


def start_calls(state: RunState, rules: Rules) -> RunState:
    """Prepare the calls that may start now, in call order: each is saved as running, or as failed if it cannot run."""
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    indices = startable(acting)
    if not indices:
        return state
    lives = list(state.batch.live.values())
    state = replace(state, loop=begin(state.loop, indices.stop))
    for index in indices:
        live, part = lives[index], acting.calls[index]
        problem = _problem(state, rules, part)
        if problem:
            state = _outcome(state, live, status=CallStatus.FAILED, error=problem, started_at=state.clock.now)
            continue
        record = replace(live.record, status=CallStatus.RUNNING, rev=live.record.rev + 1, started_at=state.clock.now)
        state = put(state, replace(live, record=record, phase=CallStarting()), owed=True)
    return state


def _problem(state: RunState, rules: Rules, part: CallPart) -> str:
    words = rules.words
    if state.batch.cut:
        return fill(words.cut_off, name=part.name)
    if part.name not in rules.tools:
        return fill(words.unknown_tool, name=part.name)
    arguments = parse_arguments(part.arguments)
    if isinstance(arguments, str):
        return fill(words.invalid_arguments, name=part.name, problem=arguments)
    return ""


def on_call_saved(state: RunState, event: CallSaved, rules: Rules, record_id: str) -> RunState:
    """The store's answer is adopted; then the call starts, or is settled."""
    live = state.batch.live[record_id]
    record = event.call
    live = replace(live, record=record, writing=None, saved_rev=record.rev)
    match live.phase:
        case CallStarting() if record.settled or record.handover:
            return _settled(state, live, rules)
        case CallStarting() if isinstance(state.life, Closing):
            return resettle(state, live, CallStatus.INTERRUPTED, rules.words.never_started)
        case CallStarting():
            return put(state, replace(live, phase=CallRunning()), owed=True, view=False)
        case CallSettling():
            return _settled(state, live, rules)
        case _:
            return put(state, live, view=False)


def _settled(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    state = put(state, replace(live, phase=CallSettled()))
    acting = state.loop.phase
    if not isinstance(acting, Acting):
        return state
    content, is_error = model_content(live.record, rules.words)
    item = result_message(acting.calls[live.index], content, is_error)
    return replace(state, loop=settle(state.loop, live.index, item))


def on_tool_answer(
    state: RunState, event: ToolReturned | ToolFailed | ToolCutOff, rules: Rules, record_id: str
) -> RunState:
    """The tool's answer becomes the call's outcome."""
    live = state.batch.live[record_id]
    match event:
        case ToolFailed(message=message):
            return _outcome(state, live, status=CallStatus.FAILED, error=without_nul(message))
        case ToolCutOff():
            record = live.record
            status, text = interrupted_outcome(rules.words, record.replayable, record.side_effects)
            return resettle(state, live, status, text)
        case ToolReturned(result=result):
            return _outcome(state, live, **_result_fields(result))


def _result_fields(result: ToolResult) -> dict[str, Any]:
    text = without_nul("\n".join(part.text for part in parts_of(result.content) if isinstance(part, TextPart)))
    if result.is_error:
        return {"status": CallStatus.FAILED, "error": text}
    parts = None
    if not isinstance(result.content, str) and result.content is not None:
        parts = encode_content(result.content)
    return {"status": CallStatus.SUCCEEDED, "result": text, "parts": parts, "media": result.media}


def on_tool_progressed(state: RunState, event: ToolProgressed) -> RunState:
    """Progress is for viewers of tools that have something to show; the record does not change."""
    return state


def cut_calls(state: RunState, rules: Rules) -> RunState:
    """Stop every call of the batch: running tools are cancelled, calls that never started are settled as such."""
    for live in state.batch.live.values():
        match live.phase:
            case CallQueued() | CallRunning(ticket=None):
                state = resettle(state, live, CallStatus.INTERRUPTED, rules.words.never_started)
            case CallRunning(cut=False) as running:
                state = put(state, replace(live, phase=replace(running, cut=True)), owed=True, view=False)
            case _:
                continue
    return state


def abandon_writes(state: RunState) -> RunState:
    """Nothing can be saved any more: calls that wait for nothing but a write are settled as they are."""
    for live in state.batch.live.values():
        if live.writing is None and isinstance(live.phase, CallStarting | CallSettling):
            state = put(state, replace(live, phase=CallSettled()))
    return state


def empty_batch(state: RunState) -> RunState:
    """The batch is over: its records join those of earlier ones."""
    calls = state.process.calls.extend(live.record for live in state.batch.live.values())
    return replace(state, batch=Batch(), process=replace(state.process, calls=calls))


def live_calls(records: tuple[ToolCall, ...], blocks: Mapping[str, Block]) -> Batch:
    """The batch of an output, every call queued."""
    live = {record.id: LiveCall(record, index, blocks[record.id]) for index, record in enumerate(records)}
    return Batch(live=live, open=len(live))
