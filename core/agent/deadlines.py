"""Time limits, where a run has any: only the nearest deadline is asked for, and each is looked at on waking.

A call or a model that takes too long is cut off and answers as such; a run that takes too long fails.
"""

from ...effects.clock import WakeAt, Woke
from ...effects.model import CallModel, ModelStreamed
from ...effects.tool import RunTool
from ...effects.values import replace
from ..text import fill
from .desk import cut
from .failing import fail
from .rules import AgentRules
from .state import Acting, AgentState, CallRunning, Ended, Failing, Streaming, Unstarted
from .wording import seconds

__all__ = ["on_woke", "watch"]

THE_RUN = 0
NEVER = 1 << 62


def watch(state: AgentState, rules: AgentRules, event: object) -> AgentState:
    """The deadlines of what is in flight, and a wake-up for the nearest."""
    limits = rules.limits
    if not (limits.tool_ms or limits.model_ms or limits.run_ms) or isinstance(state.phase, Unstarted | Ended | Failing):
        return state
    clock, allowed = state.clock, {RunTool: limits.tool_ms, CallModel: limits.model_ms}
    heard = event.ticket if isinstance(event, ModelStreamed) else None
    deadlines: dict[int, int] = {}
    if limits.run_ms:
        deadlines[THE_RUN] = clock.deadlines.get(THE_RUN, clock.now + limits.run_ms)
    for ticket, (kind, _) in state.tickets.in_flight.items():
        if allowed.get(kind):
            known = None if ticket == heard else clock.deadlines.get(ticket)
            deadlines[ticket] = clock.now + allowed[kind] if known is None else known
    nearest = min(deadlines.values(), default=NEVER)
    clock = replace(clock, deadlines=deadlines)
    if nearest == NEVER or (clock.wake is not None and clock.now < clock.wake <= nearest):
        return replace(state, clock=clock)
    return replace(state, clock=replace(clock, wake=nearest), out=(*state.out, WakeAt(nearest)))


def on_woke(state: AgentState, event: Woke, rules: AgentRules, about: int) -> AgentState:
    """Look at each deadline; waking too early is harmless."""
    for ticket, deadline in state.clock.deadlines.items():
        if deadline > state.clock.now:
            continue
        if ticket == THE_RUN:
            return fail(state, fill(rules.words.run_timed_out, seconds=seconds(rules.limits.run_ms)))
        if ticket in state.tickets.in_flight:
            state = _too_long(state, ticket)
    return state


def _too_long(state: AgentState, ticket: int) -> AgentState:
    deadlines = {**state.clock.deadlines, ticket: NEVER}
    state = replace(cut(state, ticket), clock=replace(state.clock, deadlines=deadlines))
    match state.phase:
        case Streaming() as phase:
            return replace(state, phase=replace(phase, timed_out=True))
        case Acting(live=live) as batch:
            late = {
                index: _late(call, ticket) if isinstance(call, CallRunning) else call for index, call in live.items()
            }
            return replace(state, phase=replace(batch, live=late))
        case _:
            return state


def _late(call: CallRunning, ticket: int) -> CallRunning:
    return replace(call, timed_out=True) if call.ticket == ticket else call
