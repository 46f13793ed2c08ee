"""The live calls of a batch: their outcomes, the store's answers, and being cut off.

A record is saved as running before its tool is asked for, and the store's answer is the truth: a call that the host
settled or handed over meanwhile is not started (decisions 4 and 37). ``records`` says what a record means by itself,
``dispatch`` how calls start, ``decisions`` how paused ones go on.
"""

from collections.abc import Mapping
from typing import Any

from ...effects.display import UpsertBlock
from ...effects.journal import CallSaved
from ...effects.outcome import Failed, FailureKind
from ...effects.record import Block, CallCompletion, CallStatus, Handover, ToolCall
from ...effects.tool import (
    Await,
    Complete,
    Control,
    Detached,
    ToolControlled,
    ToolCutOff,
    ToolFailed,
    ToolReturned,
)
from ...effects.transcript import without_nul
from ...effects.values import replace
from ..loop import Acting, settle
from ..text import Words, fill
from .extension import CallOutcome, Origin
from .observing import observe
from .phases import (
    CallAsking,
    CallCleared,
    CallDecided,
    CallHandingOver,
    CallQueued,
    CallReconciling,
    CallRunning,
    CallSettled,
    CallSettling,
    CallStarting,
    Closing,
    Recovering,
)
from .process import block_view
from .records import NotJson, interrupted_outcome, json_text, model_content, paused, result_fields, result_message
from .spec import Rules
from .state import Batch, LiveCall, RunState


def put(state: RunState, live: LiveCall, owed: bool = False, view: bool = True) -> RunState:
    """Store a live call; ``owed`` when something must be asked for it, ``view`` to show its new status."""
    batch = state.batch
    record_id = live.record.id
    open_before = not isinstance(batch.live[record_id].phase, CallSettled)
    batch = replace(
        batch,
        live={**batch.live, record_id: live},
        owed=(*batch.owed, record_id) if owed and record_id not in batch.owed else batch.owed,
        open=batch.open + (not isinstance(live.phase, CallSettled)) - open_before,
    )
    if not view:
        return replace(state, batch=batch)
    notice = UpsertBlock(block_view(live.block, live.record))
    return replace(state, batch=batch, notices=(*state.notices, notice))


def tool_name(state: RunState, live: LiveCall) -> str:
    """The name by which the model called it; the record's own name may be another."""
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    return acting.calls[live.index].name


def conclude(state: RunState, live: LiveCall, **fields: Any) -> RunState:
    """The call has this outcome now: save it, or where nothing can be saved, keep it."""
    return _write(state, live, completed_at=state.clock.now, **fields)


def _write(state: RunState, live: LiveCall, **fields: Any) -> RunState:
    record = replace(live.record, rev=live.record.rev + 1, **fields)
    if not _writable(state):
        return put(state, replace(live, record=record, phase=CallSettled()))
    return put(state, replace(live, record=record, phase=CallSettling()), owed=True)


def _writable(state: RunState) -> bool:
    return not isinstance(state.life, Closing) or state.life.writable


def fail_call(state: RunState, live: LiveCall, error: str) -> RunState:
    """The call fails with a text that the model will see."""
    started_at = live.record.started_at or state.clock.now
    return conclude(state, live, status=CallStatus.FAILED, error=without_nul(error), started_at=started_at)


def resettle(state: RunState, live: LiveCall, status: CallStatus, text: str) -> RunState:
    """Settle a call that did not come to its end, with the text the model will see."""
    return conclude(state, live, status=status, result=text)


def never_started(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    """Settle a call that did not run, and say so (decision 4)."""
    return resettle(state, live, CallStatus.INTERRUPTED, rules.words.never_started)


def by_traits(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    """Settle a call of which nobody knows what it did, by what it is."""
    status, text = interrupted_outcome(rules.words, live.record.replayable, live.record.side_effects)
    return resettle(state, live, status, text)


def on_call_saved(state: RunState, event: CallSaved, rules: Rules, record_id: str) -> RunState:
    """The store's answer is adopted; then the call starts, or is settled."""
    live = state.batch.live[record_id]
    record = event.call
    live = replace(live, record=record, writing=None, saved_rev=record.rev)
    match live.phase:
        case CallStarting() if record.settled or record.handover:
            return _settled(state, live, rules)
        case CallStarting() if isinstance(state.life, Closing):
            return never_started(state, live, rules)
        case CallStarting():
            return put(state, replace(live, phase=CallRunning()), owed=True, view=False)
        case CallHandingOver() if paused(record) and _was_cancelled(state):
            return never_started(state, live, rules)
        case _:
            return _settled(state, live, rules)


def _was_cancelled(state: RunState) -> bool:
    """Whether nobody is asked any more, so that a call that was being paused is given up as well."""
    life = state.life
    return isinstance(life, Closing) and isinstance(life.outcome, Failed) and life.outcome.kind is FailureKind.CANCELLED


def _settled(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    """The call is out of the runtime's hands: its result is known, and observers are told.

    Not when the run is ending, and not yet when it is being restored: then they are told of all of it at once.
    """
    state = put(state, replace(live, phase=CallSettled()))
    state = show_result(state, live, rules)
    if isinstance(state.life, Closing | Recovering):
        return state
    origin = Origin.SUBMITTED if live.record.handover is Handover.SUBMITTED else Origin.EXECUTED
    outcome = CallOutcome(live.record, origin)
    return observe(state, rules, "on_call", lambda extension, slice_: extension.on_call(slice_, outcome))


def show_result(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    """What the model will see of the call."""
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    content, is_error = model_content(live.record, rules.words)
    item = result_message(acting.calls[live.index], content, is_error)
    return replace(state, loop=settle(state.loop, live.index, item))


def on_call_refused(state: RunState, record_id: str, reason: str) -> RunState:
    """The host does not take the call: it fails with the reason (RT-08, DC-06)."""
    live = state.batch.live[record_id]
    assert isinstance(live.phase, CallHandingOver)
    live = replace(live, record=replace(live.phase.back, rev=live.record.rev), writing=None)
    return fail_call(state, live, reason)


def on_tool_answer(
    state: RunState, event: ToolReturned | ToolFailed | ToolCutOff | ToolControlled, rules: Rules, record_id: str
) -> RunState:
    """The tool's answer becomes the call's outcome."""
    live = state.batch.live[record_id]
    match event:
        case ToolFailed(message=message):
            return conclude(state, live, status=CallStatus.FAILED, error=without_nul(message))
        case ToolCutOff():
            return _cut_off(state, live, rules)
        case ToolReturned(result=result):
            return conclude(state, live, **result_fields(result))
        case ToolControlled(control=control):
            return _controlled(state, live, control, rules)


def _cut_off(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    phase, record = live.phase, live.record
    if not (isinstance(phase, CallRunning) and phase.late):
        return by_traits(state, live, rules)
    status, text = interrupted_outcome(rules.words, record.replayable, record.side_effects)
    seconds = f"{time_limit(rules, tool_name(state, live)) / 1000:g}"
    return resettle(state, live, status, fill(rules.words.timed_out, seconds=seconds, outcome=text))


def time_limit(rules: Rules, name: str) -> int:
    """How long a call of this tool may take, in milliseconds; 0 for any time."""
    return rules.tools[name].timeout_ms or rules.spec.limits.tool_ms


def _controlled(state: RunState, live: LiveCall, control: Control, rules: Rules) -> RunState:
    """What a tool says of its call instead of a result, where that is possible (decisions 18 and 42)."""
    name, words = tool_name(state, live), rules.words
    ends_runs = rules.tools[name].completion
    try:
        match control:
            case Await() if ends_runs:
                return fail_call(state, live, words.cannot_await)
            case Detached() if ends_runs:
                return fail_call(state, live, words.cannot_detach)
            case Complete() if not ends_runs:
                return fail_call(state, live, fill(words.cannot_complete, name=name))
            case Await(payload=payload):
                handed = {"status": CallStatus.WAITING, "handover": Handover.AWAIT}
                return _write(state, live, payload=json_text(payload), **handed)
            case Detached(receipt=receipt, payload=payload):
                handed = {"result": without_nul(receipt), "handover": Handover.DETACHED}
                return _write(state, live, payload=json_text(payload), **handed)
            case Complete(value=value, fixed=fixed):
                text = json_text(value)
                completion = CallCompletion(text, fixed)
                return conclude(state, live, status=CallStatus.SUCCEEDED, result=text, completion=completion)
    except NotJson as error:
        return fail_call(state, live, fill(words.not_json, name=name, problem=str(error)))


def stop_late_calls(state: RunState) -> RunState:
    """Tools that took longer than they may are stopped; what they still hand in within their grace counts."""
    now = state.clock.now
    for live in state.batch.live.values():
        phase = live.phase
        if isinstance(phase, CallRunning) and not phase.cut and 0 < phase.until <= now:
            live = replace(live, phase=replace(phase, cut=True, late=True))
            state = put(state, live, owed=True, view=False)
    return state


def cut_calls(state: RunState, rules: Rules) -> RunState:
    """Stop every call of the batch: what runs is cancelled, what never started is settled as such."""
    for live in state.batch.live.values():
        match live.phase:
            case CallQueued() | CallCleared() | CallAsking(ticket=None) | CallRunning(ticket=None):
                state = never_started(state, live, rules)
            case CallReconciling(ticket=None):
                state = by_traits(state, live, rules)
            case CallDecided():
                state = put(state, replace(live, phase=CallSettled()), view=False)
            case CallRunning(cut=False) | CallAsking() | CallReconciling() as phase:
                state = put(state, replace(live, phase=replace(phase, cut=True)), owed=True, view=False)
            case _:
                continue
    return state


def abandon_writes(state: RunState, words: Words) -> RunState:
    """Nothing can be saved any more: calls that wait for nothing but a write are settled as they are (DC-17)."""
    for live in state.batch.live.values():
        if live.writing is not None:
            continue
        match live.phase:
            case CallStarting() | CallSettling():
                state = put(state, replace(live, phase=CallSettled()))
            case CallHandingOver(back=back):
                live = replace(live, record=replace(back, rev=live.record.rev))
                state = fail_call(state, live, words.not_handed_over)
            case _:
                continue
    return state


def empty_batch(state: RunState) -> RunState:
    """The batch is over: its records join those of earlier ones."""
    calls = state.process.calls.extend(live.record for live in state.batch.live.values())
    return replace(state, batch=Batch(), process=replace(state.process, calls=calls))


def live_calls(records: tuple[ToolCall, ...], blocks: Mapping[str, Block]) -> Batch:
    """The batch of an output: every call queued, those that failed before they could start settled."""
    live = {
        record.id: LiveCall(record, index, blocks[record.id], CallSettled() if record.settled else CallQueued())
        for index, record in enumerate(records)
    }
    return Batch(live=live, open=sum(not record.settled for record in records))
