"""Going on from what is stored: running and resuming are one door.

What comes next is read from the end of the main log. Calls that an earlier execution left open are settled by what they
are, and saved so, before anything else happens; then the gates take over as if nothing had been.
"""

from ...effects.display import UpsertBlock
from ...effects.journal import AttemptBegun, Resume
from ...effects.outcome import Completed, Delivered, FailureKind
from ...effects.record import CallStatus, ToolCall
from ...effects.sequence import Seq
from ...effects.transcript import AssistantMessage, DecodeError, calls_of, text_of
from ...effects.values import replace
from ..loop import Acting, Item, Loop
from .calls import interrupted_outcome, model_content, resettle, result_message, waiting
from .ending import fail
from .head import Head, decode_head
from .keys import Keys
from .log import Entry, EntryKind, decode_entry
from .phases import BetweenIterations, BetweenTurns, CallSettled, Concluding, Recovering
from .process import block_view, show
from .spec import Rules
from .state import Batch, LiveCall, LogTail, RunState, Saving


def restore(state: RunState, event: AttemptBegun, rules: Rules) -> RunState:
    """The run as it was left, with nothing in flight; a checkpoint that cannot be read fails the run and stays."""
    resume = event.begun.resume
    if resume.state is None and not resume.logs:
        return replace(state, life=Recovering(), turn=replace(state.turn, phase=BetweenTurns()))
    try:
        head = decode_head(resume.state or b"")
        entries = [decode_entry(raw) for raw in resume.logs.get("main", ())]
        seen = Keys(raw.decode() for raw in resume.logs.get("seen", ()))
        state = _remember(state, resume, head, entries, seen)
        return _continue(state, resume, head, entries[-1] if entries else None, rules)
    except (DecodeError, UnicodeDecodeError) as error:
        text = f"the checkpoint of run {rules.spec.run_id!r} cannot be resumed: {error}"
        return fail(state, rules, FailureKind.CHECKPOINT, text, save=False)


def _remember(state: RunState, resume: Resume, head: Head, entries: list[Entry], seen: Keys) -> RunState:
    context: Seq[Item] = Seq(item for entry in entries for item in entry.items)
    process = replace(state.process, blocks=Seq(resume.blocks), usage=resume.usage, plan=resume.plan)
    records = {call.id: call for call in resume.calls}
    state = replace(
        state,
        loop=Loop(context),
        process=process,
        turn=replace(state.turn, turns=head.turns, iterations=head.iterations),
        saving=Saving(log=LogTail(stored=len(entries), keep=len(entries), head=head)),
        feed=replace(state.feed, after=head.after, claimed=head.claimed, latest=head.claimed, seen=seen),
    )
    views = (UpsertBlock(block_view(block, records.get(block.call_id))) for block in resume.blocks)
    return show(state, *views)


def _continue(state: RunState, resume: Resume, head: Head, last: Entry | None, rules: Rules) -> RunState:
    if last is None or last.kind is EntryKind.SUPERSEDED:
        return _with_calls(state, resume, (), BetweenTurns())
    if last.kind is not EntryKind.OUTPUT:
        raise DecodeError(f"its log ends with an entry of kind {last.kind.value!r}, which no release writes there")
    message = last.items[-1].open() if last.items else None
    if not isinstance(message, AssistantMessage):
        raise DecodeError("the last output in its log is not a model's output")
    if last.calls:
        return _with_batch(state, resume, last, message, rules)
    text = text_of(message).strip()
    if head.delivered:
        return _delivered(state, resume, text)
    concluding = Concluding(text, state.saving.mark)
    return _with_calls(state, resume, (), concluding, replay=state.feed.claimed > 0)


def _delivered(state: RunState, resume: Resume, text: str) -> RunState:
    """The outcome holds unless there is newer input; limits per run count from here (decisions 2 and 41).

    A failure that was saved since, of a turn that came to nothing, binds nobody.
    """
    outcome = resume.outcome
    if not isinstance(outcome, Delivered | Completed):
        outcome = Delivered(text, state.feed.claimed)
    state = replace(state, turn=replace(state.turn, turns=0))
    return _with_calls(state, resume, (), BetweenTurns(delivered=outcome))


def _with_batch(state: RunState, resume: Resume, last: Entry, message: AssistantMessage, rules: Rules) -> RunState:
    """The batch the run was at: each call is settled, another's to finish, or settled now by what it is."""
    records = {call.id: call for call in resume.calls}
    blocks = {block.call_id: block for block in resume.blocks if block.call_id}
    live: dict[str, LiveCall] = {}
    for index, (record_id, _) in enumerate(last.calls):
        if record_id not in records or record_id not in blocks:
            raise DecodeError(f"the record or the block of call {record_id} is missing")
        record = records[record_id]
        live[record_id] = LiveCall(record, index, blocks[record_id], CallSettled(), saved_rev=record.rev)
    parts = calls_of(message)
    if len(parts) != len(live):
        raise DecodeError("its last output and the records of its calls do not agree")
    results: dict[int, Item] = {}
    for one in live.values():
        content, is_error = model_content(one.record, rules.words)
        results[one.index] = result_message(parts[one.index], content, is_error)
    loop = Loop(state.loop.context, Acting(parts, begun=len(parts), results=results))
    state = replace(state, loop=loop, batch=Batch(live=live))
    state = _with_calls(state, resume, tuple(live), BetweenIterations(state.saving.mark), replay=state.feed.claimed > 0)
    for one in live.values():
        state = _settle_interrupted(state, one, rules)
    return state


def _settle_interrupted(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    """Only calls that an executor was at, and nobody else owns, are settled here."""
    record = live.record
    if record.settled or record.handover or waiting(record):
        return state
    state = replace(state, batch=replace(state.batch, open=state.batch.open + 1))
    state = _reopen(state, live)
    if record.status == CallStatus.QUEUED:
        return resettle(state, live, CallStatus.INTERRUPTED, rules.words.never_started)
    status, text = interrupted_outcome(rules.words, record.replayable, record.side_effects)
    return resettle(state, live, status, text)


def _reopen(state: RunState, live: LiveCall) -> RunState:
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    results = {index: result for index, result in acting.results.items() if index != live.index}
    return replace(state, loop=replace(state.loop, phase=replace(acting, results=results)))


def _with_calls(
    state: RunState,
    resume: Resume,
    live: tuple[str, ...],
    phase: BetweenTurns | BetweenIterations | Concluding,
    replay: bool = False,
) -> RunState:
    earlier: tuple[ToolCall, ...] = tuple(call for call in resume.calls if call.id not in live)
    process = replace(state.process, calls=Seq(earlier))
    return replace(state, life=Recovering(replay), process=process, turn=replace(state.turn, phase=phase))
