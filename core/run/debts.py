"""Debts: what a state owes the world and has not asked for. Asking marks it as asked, so nothing is asked twice.

Each region is asked for its own. The cost is that of what is owed: calls that want something stand in ``owed``, and
nothing here looks at anything else that grows.
"""

from ...effects.clock import WakeAt
from ...effects.feed import ClaimInput, PollFeed, WatchFeed
from ...effects.journal import BeginAttempt, EndAttempt, RenewLease, SaveCall, SaveStep
from ...effects.model import CallModel, CancelModel
from ...effects.question import AskGuard, AskPolicy, AskReconcile, CancelQuestion
from ...effects.tool import CancelTool, Invocation, RunTool
from ...effects.transcript import CallPart
from ...effects.values import replace
from ...effects.vocabulary import Order
from ..loop import Acting
from .calls import time_limit
from .gates import run_deadline
from .identity import Desk, mint
from .phases import (
    CallAsking,
    CallHandingOver,
    CallReconciling,
    CallRunning,
    CallSettling,
    CallStarting,
    Closing,
    Ended,
    LeaseHeld,
    LeaseRenewing,
    NoStep,
    Reviewing,
    Unwatched,
    WatchOpening,
    Working,
)
from .records import effective_arguments, parse_arguments
from .requests import request_for
from .review import turn_view
from .saving import build_step
from .spec import Rules
from .state import LiveCall, RunState


def due(state: RunState, rules: Rules) -> tuple[RunState, tuple[Order, ...]]:
    """What is owed now, in the order it should be asked, and the state that has asked for it."""
    desk = Desk(state.tickets)
    state = _end(state, desk)
    state = _lease(state, rules, desk)
    state = _step(state, desk)
    if state.batch.owed:
        state = _calls(state, rules, desk)
    state = _feed(state, rules, desk)
    state = _model(state, rules, desk)
    state = _guard(state, rules, desk)
    state = _clock(state, rules, desk)
    return desk.close(state), tuple(desk.orders)


def _lease(state: RunState, rules: Rules, desk: Desk) -> RunState:
    lease = state.lease
    lease_ms = rules.spec.limits.lease_ms
    if lease.asked is None:
        ticket = desk.issue(BeginAttempt)
        desk.orders.append(BeginAttempt(ticket, lease_ms, lease.take_over))
        return replace(state, lease=replace(lease, asked=state.clock.now))
    if lease.renew and _writable(state) and not _giving_back(state):
        ticket = desk.issue(RenewLease)
        desk.orders.append(RenewLease(ticket, lease.attempt, lease_ms))
        return replace(state, lease=replace(lease, phase=LeaseRenewing(state.clock.now), renew=False))
    return state


def _step(state: RunState, desk: Desk) -> RunState:
    """No step is wanted while a call is open: a host sees what is handed over before any later step (I-09)."""
    saving = state.saving
    if saving.wanted > saving.saved and isinstance(saving.phase, NoStep) and _writable(state):
        state, order = build_step(state, desk.issue(SaveStep))
        desk.orders.append(order)
    return state


def _calls(state: RunState, rules: Rules, desk: Desk) -> RunState:
    """What live calls want; those that must wait for the lease or for a write stay owed."""
    batch = state.batch
    live = dict(batch.live)
    # Tools start in call order: one whose record is saved waits until those in front of it are saved as well.
    first = min((call.index for call in live.values() if isinstance(call.phase, CallStarting)), default=len(live))
    in_order = sorted(batch.owed, key=lambda record_id: live[record_id].index)
    owed = tuple(record_id for record_id in in_order if not _call(state, rules, live, record_id, first, desk))
    return replace(state, batch=replace(batch, live=live, owed=owed, until=_nearest_end(live)))


def _nearest_end(live: dict[str, LiveCall]) -> int:
    ends = [phase.until for call in live.values() if isinstance(phase := call.phase, CallRunning) and not phase.cut]
    return min(filter(None, ends), default=0)


def _call(state: RunState, rules: Rules, live: dict[str, LiveCall], record_id: str, first: int, desk: Desk) -> bool:
    """Ask for what one call wants; whether nothing is left to ask."""
    call = live[record_id]
    match call.phase:
        case CallStarting() | CallSettling() | CallHandingOver() if _may_write(state, call):
            ticket = desk.issue(SaveCall, record_id)
            desk.orders.append(SaveCall(ticket, state.lease.attempt, call.record))
            live[record_id] = replace(call, writing=call.record.rev)
        case CallRunning(ticket=None) if call.index < first and _time_to_spare(state):
            ticket = desk.issue(RunTool, record_id)
            name = _part(state, call).name
            # A call that would end the run cannot wait for anybody (decision 18).
            can_suspend = not rules.tools[name].completion
            desk.orders.append(RunTool(ticket, _invocation(state, call, can_suspend)))
            limit = time_limit(rules, name)
            live[record_id] = replace(call, phase=CallRunning(ticket, until=limit and state.clock.now + limit))
        case CallAsking(ticket=None):
            ticket = desk.issue(AskPolicy, record_id)
            desk.orders.append(AskPolicy(ticket, _invocation(state, call)))
            live[record_id] = replace(call, phase=CallAsking(ticket))
        case CallReconciling(ticket=None):
            ticket = desk.issue(AskReconcile, record_id)
            desk.orders.append(AskReconcile(ticket, _invocation(state, call)))
            live[record_id] = replace(call, phase=CallReconciling(ticket))
        case CallRunning(ticket=int() as ticket, cut=True):
            desk.orders.append(CancelTool(ticket))
        case CallAsking(ticket=int() as ticket, cut=True) | CallReconciling(ticket=int() as ticket, cut=True):
            desk.orders.append(CancelQuestion(ticket))
        case CallStarting() | CallSettling() | CallHandingOver() | CallRunning():
            return False
        case _:
            pass
    return True


def _may_write(state: RunState, call: LiveCall) -> bool:
    """No record is written beside a step: a call that is cut at once waits for the one with its output."""
    return call.writing is None and isinstance(state.saving.phase, NoStep) and _writable(state)


def _part(state: RunState, live: LiveCall) -> CallPart:
    acting = state.loop.phase
    assert isinstance(acting, Acting)
    return acting.calls[live.index]


def _invocation(state: RunState, live: LiveCall, can_suspend: bool = False) -> Invocation:
    part, record = _part(state, live), live.record
    arguments = parse_arguments(effective_arguments(record))
    assert not isinstance(arguments, str)
    return Invocation(record.id, part.name, arguments, part.id, record.model_call_id, can_suspend)


def _feed(state: RunState, rules: Rules, desk: Desk) -> RunState:
    feed = state.feed
    if isinstance(feed.watch, Unwatched) and feed.watch.wanted:
        ticket = desk.issue(WatchFeed)
        desk.orders.append(WatchFeed(ticket))
        state = replace(state, feed=replace(feed, watch=WatchOpening()))
    elif feed.claim is not None and not feed.claiming:
        ticket = desk.issue(ClaimInput)
        desk.orders.append(ClaimInput(ticket, *feed.claim))
        state = replace(state, feed=replace(feed, claiming=True))
    elif _poll_wanted(state):
        ticket = desk.issue(PollFeed)
        desk.orders.append(PollFeed(ticket, feed.latest))
        clock = replace(state.clock, poll_at=state.clock.now + rules.spec.limits.poll_ms)
        state = replace(state, clock=clock, feed=replace(feed, asked=feed.asked + 1))
    return state


def _poll_wanted(state: RunState) -> bool:
    """One poll at a time, and none beside a claim, which may move back what counts as new."""
    feed = state.feed
    return isinstance(state.life, Working) and feed.wanted > feed.asked == feed.answered and not feed.claiming


def _model(state: RunState, rules: Rules, desk: Desk) -> RunState:
    model = state.model
    if model.withdrawn is not None and not model.cancelled:
        desk.orders.append(CancelModel(model.withdrawn))
        return replace(state, model=replace(model, cancelled=True))
    ready = model.withdrawn is None and state.clock.now >= model.retry_at
    if not model.wanted or not ready or not _time_to_spare(state):
        return state
    state, call_id = mint(state)
    ticket = desk.issue(CallModel)
    desk.orders.append(CallModel(ticket, request_for(state, rules, call_id, len(state.loop.context))))
    limit = rules.spec.limits.first_token_ms
    until = limit and state.clock.now + limit
    model = replace(model, wanted=False, cancelled=False, ticket=ticket, call_id=call_id, until=until)
    return replace(state, model=model)


def _guard(state: RunState, rules: Rules, desk: Desk) -> RunState:
    phase = state.turn.phase
    if isinstance(phase, Reviewing) and phase.ticket is None:
        ticket = desk.issue(AskGuard)
        desk.orders.append(AskGuard(ticket, turn_view(state, phase, rules)))
        return replace(state, turn=replace(state.turn, phase=replace(phase, ticket=ticket)))
    life = state.life
    if isinstance(life, Closing) and life.guard is not None:
        desk.orders.append(CancelQuestion(life.guard))
        return replace(state, life=replace(life, guard=None))
    return state


def _end(state: RunState, desk: Desk) -> RunState:
    """Give the lease back once nothing is left to write."""
    life = state.life
    if not isinstance(life, Closing) or life.giving_back or not life.writable:
        return state
    lease = state.lease
    # A last step is wanted once nothing else is in flight; a run that closes without one has nothing in flight.
    unsaved = life.save and (life.mark is None or state.saving.saved < life.mark)
    if unsaved or not isinstance(lease.phase, LeaseHeld):
        return state
    ticket = desk.issue(EndAttempt)
    desk.orders.append(EndAttempt(ticket, lease.attempt))
    return replace(state, life=replace(life, giving_back=True))


def _clock(state: RunState, rules: Rules, desk: Desk) -> RunState:
    """Only the nearest deadline is asked for; one that moved away is looked at when the run wakes.

    While the lease is being renewed, however long that takes, limits hold all the same.
    """
    if not _writable(state) or _giving_back(state):
        return state
    deadlines = _ends(state, rules)
    if isinstance(state.lease.phase, LeaseHeld):
        deadlines.append(state.lease.renew_at)
        if isinstance(state.life, Working) and state.feed.wanted == state.feed.answered:
            deadlines.append(state.clock.poll_at)
    if not deadlines:
        return state
    nearest, wake = min(deadlines), state.clock.wake
    if wake is not None and state.clock.now < wake <= nearest:
        return state
    desk.orders.append(WakeAt(nearest))
    return replace(state, clock=replace(state.clock, wake=nearest))


def _ends(state: RunState, rules: Rules) -> list[int]:
    """When a tool, the model or the run has taken as long as it may, and when the model is asked again."""
    model = state.model
    ends = (
        state.batch.until,
        model.until,
        model.retry_at,
        0 if isinstance(state.life, Closing) else run_deadline(state, rules),
    )
    return [end for end in ends if end > state.clock.now]


def _giving_back(state: RunState) -> bool:
    return isinstance(state.life, Closing) and state.life.giving_back


def _writable(state: RunState) -> bool:
    life = state.life
    return life.writable if isinstance(life, Closing) else not isinstance(life, Ended)


def _time_to_spare(state: RunState) -> bool:
    """An effect on the world starts only while the lease is surely ours (decision 9)."""
    return state.clock.now < state.lease.until
