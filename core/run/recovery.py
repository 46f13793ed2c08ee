"""Going on from what is stored: running and resuming are one door.

What comes next is read from the end of the main log. Calls that an earlier execution left open are settled by what they
are, or by what their tools know of them, and saved so, before anything else happens; then the gates take over as if
nothing had been.
"""

from ...effects.display import UpsertBlock
from ...effects.journal import AttemptBegun, Resume
from ...effects.outcome import Completed, Delivered, FailureKind
from ...effects.record import CallStatus, CompletionSource, ToolCall
from ...effects.sequence import Seq
from ...effects.transcript import AssistantMessage, CallPart, DecodeError, StopReason, calls_of, text_of
from ...effects.values import replace
from ..loop import Acting, Item, Loop, rest
from .calls import by_traits, never_started, put, show_result
from .ending import fail
from .extension import CallOutcome, Origin
from .fingerprint import changes
from .head import Head, decode_head, spending_of, spent_so_far
from .keys import Keys
from .log import Entry, EntryKind, decode_entry
from .observing import begin_extensions, observe, restore_extensions
from .phases import (
    Beginning,
    BetweenTurns,
    CallReconciling,
    CallSettled,
    Concluding,
    Looping,
    Recovering,
    Rerunning,
    TurnPhase,
)
from .process import block_view, show
from .records import effective_arguments, parse_arguments, paused
from .saving import cut_last, record_superseded
from .spec import Rules
from .state import Batch, Goal, LiveCall, LogTail, RunState, Saving
from .superseding import completes, void_output


def restore(state: RunState, event: AttemptBegun, rules: Rules) -> RunState:
    """The run as it was left, with nothing in flight; a checkpoint that cannot be read fails the run and stays."""
    resume = event.begun.resume
    cancelled = isinstance(state.life, Beginning) and state.life.cancelled is not None
    if resume.state is None and not resume.logs:
        # Nothing is restored, so no observer is told of it.
        state = replace(state, life=Recovering(told=True), turn=replace(state.turn, phase=BetweenTurns()))
        if cancelled:
            return state
        return begin_extensions(replace(state, extended=replace(state.extended, agent=rules.agent)), rules)
    try:
        head = decode_head(resume.state or b"")
        # Told whatever comes of it (decision 10).
        state = replace(state, feed=replace(state.feed, after=head.after, claimed=head.claimed, latest=head.claimed))
        entries = [decode_entry(raw) for raw in resume.logs.get("main", ())]
        seen = Keys(raw.decode() for raw in resume.logs.get("seen", ()))
        if not cancelled:
            # A run that is only to be settled and ended needs neither its tools nor its extensions (decision 40).
            state = restore_extensions(state, rules, resume.values, begun=bool(entries))
            state = _compare_agent(state, resume, rules)
        state = _remember(state, resume, head, entries, seen)
        return _continue(state, resume, head, entries, rules)
    except (DecodeError, UnicodeDecodeError) as error:
        text = f"the checkpoint of run {rules.spec.run_id!r} cannot be resumed: {error}"
        return fail(state, rules, FailureKind.CHECKPOINT, text, save=False)


def _compare_agent(state: RunState, resume: Resume, rules: Rules) -> RunState:
    """A run may go on under another set-up; what changed is reported, and the new one saved (decision 35)."""
    before = resume.values.get("agent")
    if before == rules.agent:
        return state
    changed = () if before is None else changes(before, rules.agent)
    return replace(state, extended=replace(state.extended, agent=rules.agent, changed=changed))


def _remember(state: RunState, resume: Resume, head: Head, entries: list[Entry], seen: Keys) -> RunState:
    context, passing = _context(entries)
    spending = spent_so_far(head, resume.usage)
    process = replace(state.process, blocks=Seq(resume.blocks), spending=spending, plan=resume.plan)
    records = {call.id: call for call in resume.calls}
    turn = replace(state.turn, turns=head.turns, iterations=head.iterations, passing=passing)
    state = replace(
        state,
        loop=Loop(context),
        process=process,
        turn=turn,
        goal=Goal(resume.completion, head.corrections, head.charged, spending_of(head.base), head.spent_ms),
        saving=Saving(log=LogTail(stored=len(entries), keep=len(entries), head=head)),
        feed=replace(state.feed, seen=seen),
    )
    views = (UpsertBlock(block_view(block, records.get(block.call_id))) for block in resume.blocks)
    return show(state, *views)


def _context(entries: list[Entry]) -> tuple[Seq[Item], tuple[int, ...]]:
    """What the model sees; and, of the turn under way, the places of rejected outputs and what was said of them.

    Those of earlier turns are passed over. A prompt at the very end has yet to be said.
    """
    items: list[Item] = []
    passing: list[int] = []
    for entry in entries:
        if entry.kind is EntryKind.INPUT and passing:
            # Nothing in front of the turn is touched, so that reading a log costs what it is long.
            first = passing[0]
            items[first:] = [item for place, item in enumerate(items[first:], first) if place not in passing]
            passing = []
        if entry.kind is EntryKind.REJECTED:
            passing += [len(items) - 1, len(items)]
            if entry is entries[-1]:
                break
        items += entry.items
    return Seq(items), tuple(passing)


def _continue(state: RunState, resume: Resume, head: Head, entries: list[Entry], rules: Rules) -> RunState:
    last = entries[-1] if entries else None
    replay = state.feed.claimed > 0
    if last is None or last.kind is EntryKind.SUPERSEDED:
        return _go_on(state, resume, entries, BetweenTurns())
    if last.kind is EntryKind.REJECTED:
        return _go_on(state, resume, entries, Rerunning(last.items, state.saving.mark), replay)
    if last.kind is EntryKind.VOIDED:
        return _go_on(state, resume, entries, Rerunning((), state.saving.mark), replay)
    if last.kind is not EntryKind.OUTPUT:
        raise DecodeError(f"its log ends with an entry of kind {last.kind.value!r}, which no release writes there")
    message = last.items[-1].open() if last.items else None
    if not isinstance(message, AssistantMessage):
        raise DecodeError("the last output in its log is not a model's output")
    if head.delivered:
        return _delivered(state, resume, head, entries, message)
    if last.calls:
        return _with_batch(state, resume, entries, message, rules)
    # A guard's value, or a fallback's, stands in for the text.
    text = "" if state.goal.active is not None else text_of(message).strip()
    concluding = Concluding(text, state.saving.mark, cut=message.stop is StopReason.LENGTH)
    return _go_on(state, resume, entries, concluding, replay)


def _delivered(
    state: RunState, resume: Resume, head: Head, entries: list[Entry], message: AssistantMessage
) -> RunState:
    """The outcome holds unless there is newer input; limits per run count from here (decisions 2 and 41).

    A failure that was saved since, of a turn that came to nothing, binds nobody. A value that newer input may supersede
    leaves no trace in the context of what follows.
    """
    outcome, base = resume.outcome, state.process.spending
    active = state.goal.active
    if not isinstance(outcome, Delivered | Completed):
        base, boundary = spending_of(head.base), state.feed.claimed
        text, cut = text_of(message).strip(), message.stop is StopReason.LENGTH
        outcome = Delivered(text, boundary, cut) if active is None else Completed(active, boundary)
    goal = Goal(active if active is not None and active.fixed else None, base=base)
    state = replace(state, turn=replace(state.turn, turns=0), goal=goal)
    if active is not None and not active.fixed and active.source is not CompletionSource.FALLBACK:
        context = state.loop.context
        # What the cut leaves at the end of the log is no output, so the verdict stands there, as after every other one.
        state = cut_last(replace(state, loop=replace(state.loop, context=context.cut(len(context) - 1))))
        state = record_superseded(state)
    return _go_on(state, resume, entries, BetweenTurns(delivered=outcome))


def _with_batch(
    state: RunState, resume: Resume, entries: list[Entry], message: AssistantMessage, rules: Rules
) -> RunState:
    """The batch the run was at: each call is settled, another's to finish, or settled now by what it is."""
    last = entries[-1]
    live = _live(resume, last)
    parts = calls_of(message)
    if len(parts) != len(live):
        raise DecodeError("its last output and the records of its calls do not agree")
    loop = Loop(state.loop.context, Acting(parts, begun=len(parts)))
    state = replace(state, loop=loop, batch=Batch(live=live))
    replay = state.feed.claimed > 0
    if _void(state, parts, rules):
        state = _go_on(state, resume, entries, Rerunning((), state.saving.mark), replay)
        state = void_output(state)
        return replace(state, loop=rest(state.loop))
    state = _go_on(state, resume, entries, Looping(state.saving.mark), replay)
    for one in live.values():
        state = _go_on_with(state, one, rules)
    return state


def _live(resume: Resume, last: Entry) -> dict[str, LiveCall]:
    records = {call.id: call for call in resume.calls}
    blocks = {block.call_id: block for block in resume.blocks if block.call_id}
    live: dict[str, LiveCall] = {}
    for index, (record_id, _) in enumerate(last.calls):
        if record_id not in records or record_id not in blocks:
            raise DecodeError(f"the record or the block of call {record_id} is missing")
        record = records[record_id]
        live[record_id] = LiveCall(record, index, blocks[record_id], CallSettled(), saved_rev=record.rev)
    return live


def _void(state: RunState, parts: tuple[CallPart, ...], rules: Rules) -> bool:
    """Whether the output would only have completed the run, and nothing came of it that somebody must know of (N-09).

    One that may have done something that cannot be repeated needs review like any other (decision 6).
    """
    if state.goal.active is not None or not completes(parts, rules):
        return False
    return all(
        not record.settled
        and not record.handover
        and not paused(record)
        and (record.status == CallStatus.QUEUED or record.replayable or not record.side_effects)
        and not rules.tools[part.name].reconciles
        for part, record in zip(parts, (live.record for live in state.batch.live.values()), strict=True)
    )


def _go_on_with(state: RunState, live: LiveCall, rules: Rules) -> RunState:
    """One call of the batch. Only those that an executor was at, and nobody else owns, are settled here."""
    record = live.record
    if record.settled or record.handover or paused(record):
        return show_result(state, live, rules)
    if record.status == CallStatus.QUEUED:
        return never_started(state, live, rules)
    tool = rules.tools.get(_name(state, live))
    known = tool is not None and tool.reconciles and not isinstance(parse_arguments(effective_arguments(record)), str)
    if known:
        return put(state, replace(live, phase=CallReconciling()), owed=True, view=False)
    return by_traits(state, live, rules)


def _name(state: RunState, live: LiveCall) -> str:
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    return acting.calls[live.index].name


def tell_restored(state: RunState, rules: Rules) -> RunState:
    """Observers see the run as it is restored, and each result that the model has yet to see."""
    if not rules.extensions:
        return state
    blocks = tuple(state.process.blocks)
    lives = tuple(live.record for live in state.batch.live.values())
    calls = (*state.process.calls, *lives)
    state = observe(state, rules, "on_restore", lambda extension, slice_: extension.on_restore(slice_, blocks, calls))
    for call in lives:
        if not call.settled and not call.handover:
            continue
        state = _tell(state, CallOutcome(call, Origin.RESTORED), rules)
    return state


def _tell(state: RunState, outcome: CallOutcome, rules: Rules) -> RunState:
    return observe(state, rules, "on_call", lambda extension, slice_: extension.on_call(slice_, outcome))


def _go_on(state: RunState, resume: Resume, entries: list[Entry], phase: TurnPhase, replay: bool = False) -> RunState:
    live = state.batch.live
    earlier: tuple[ToolCall, ...] = tuple(call for call in resume.calls if call.id not in live)
    process = replace(state.process, calls=Seq(earlier))
    turn = replace(state.turn, phase=phase, first_call=_first_call(entries, earlier))
    return replace(state, life=Recovering(replay), process=process, turn=turn)


def _first_call(entries: list[Entry], earlier: tuple[ToolCall, ...]) -> int:
    """Where the records of the turn under way begin."""
    ids: set[str] = set()
    for entry in reversed(entries):
        if entry.kind is EntryKind.INPUT:
            break
        ids.update(record_id for record_id, _ in entry.calls)
    return next((place for place, call in enumerate(earlier) if call.id in ids), len(earlier))
