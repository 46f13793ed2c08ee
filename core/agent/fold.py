"""The fold: ``(state, event) -> (state, effects)``. All that a run does goes through ``AgentFold.reduce``."""

from typing import cast

from ...effects.agent import Context
from ...effects.agent_vocabulary import AgentEffect, AgentInput, Emit, SinkFailed
from ...effects.clock import WakeAt
from ...effects.model import ModelChoice, ModelStreamed, StreamFailed, StreamFinished
from ...effects.sequence import Seq
from ...effects.values import replace
from .deadlines import watch
from .errors import IllegalEvent
from .failing import conclude
from .moves import ANSWERS, CALL, RUN, STREAMS, Move
from .rules import AgentRules
from .seen import see
from .state import Acting, AgentState, Talk, Tickets, Wish
from .talking import OFF, talk_of

__all__ = ["AgentFold"]


class AgentFold:
    """The rules of one run. Holds the host's function; the state never does."""

    def __init__(self, rules: AgentRules) -> None:
        self.rules = rules

    def start(
        self, context: Context | Talk, model: ModelChoice | None = None, thinking_level: str | None = None
    ) -> AgentState:
        """The state before anything has happened, over a conversation; the first event says how the run begins.

        A conversation that is kept as ``Talk`` is not looked through again.
        """
        thinking = None if thinking_level == OFF else thinking_level
        talk = replace(context, added=Seq()) if isinstance(context, Talk) else talk_of(context)
        return AgentState(talk=talk, wish=Wish(model or ModelChoice(), thinking))

    def reduce(self, state: AgentState, event: AgentInput) -> tuple[AgentState, tuple[AgentEffect, ...]]:
        """The state after the event, and what to do now, in order.

        Raises ``IllegalEvent`` for an event that cannot happen in this state, which is then as it was.
        """
        move, about = _look_up(state, event)
        state = _take_in(state, event)
        state = conclude(move.handler(state, event, self.rules, about), self.rules)
        state = watch(state, self.rules, event)
        return state, state.out


def _look_up(state: AgentState, event: AgentInput) -> tuple[Move, int]:
    kind, about = type(event), -1
    if kind in ANSWERS:
        ticket = cast("int", getattr(event, "ticket", 0))
        asked = state.tickets.in_flight.get(ticket)
        if asked is None or asked[0] not in ANSWERS[kind]:
            raise IllegalEvent(f"{kind.__name__} answers ticket {ticket}, which asks no such thing")
        about = asked[1]
    phase = type(state.phase)
    move = RUN.get((kind, phase))
    if move is None and about >= 0 and isinstance(state.phase, Acting):
        phase = type(state.phase.live[about])
        move = CALL.get((kind, phase))
    if move is None:
        raise IllegalEvent(f"{kind.__name__} while {phase.__name__}")
    return move, about


def _take_in(state: AgentState, event: AgentInput) -> AgentState:
    """Time moves on, what was told has been seen, and an order that got its last answer is not in flight any more."""
    told = state.out
    in_flight = state.tickets.in_flight
    clock = replace(state.clock, now=max(state.clock.now, event.at))
    if isinstance(event, SinkFailed):
        told = told[: len(told) - len(event.dropped)]
        dropped = [getattr(effect, "ticket", None) for effect in event.dropped]
        in_flight = {ticket: asked for ticket, asked in in_flight.items() if ticket not in dropped}
        if any(isinstance(effect, WakeAt) for effect in event.dropped):
            clock = replace(clock, wake=None)
    elif type(event) in ANSWERS and _is_last(event):
        in_flight = dict(in_flight)
        del in_flight[cast("int", getattr(event, "ticket", 0))]
    seen = state.seen
    for effect in told:
        if isinstance(effect, Emit):
            seen = see(seen, effect.event)
    tickets = Tickets(state.tickets.last, in_flight)
    return replace(state, clock=clock, tickets=tickets, seen=seen, out=())


def _is_last(event: AgentInput) -> bool:
    if isinstance(event, ModelStreamed):
        return bool(event.deltas) and isinstance(event.deltas[-1], StreamFinished | StreamFailed)
    return not isinstance(event, STREAMS)
