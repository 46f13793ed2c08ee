"""What leaves with an event: telling, asking under a fresh ticket, and taking back what was asked."""

from collections.abc import Callable

from ...effects.agent import AgentEvent
from ...effects.agent_vocabulary import AgentEffect, AgentOrder, Emit, Flush
from ...effects.hook import CancelHook
from ...effects.model import CallModel, CancelModel
from ...effects.tool import CancelTool, RunTool
from ...effects.values import replace
from .state import AgentState

__all__ = ["NO_CALL", "ask", "cut", "cut_all", "tell"]

NO_CALL = -1
"""What an order is about that is not about a call of the running batch."""


def tell(state: AgentState, *events: AgentEvent) -> AgentState:
    """Tell the listeners, after everything that leaves already."""
    return replace(state, out=(*state.out, *map(Emit, events)))


def ask(state: AgentState, order: Callable[[int], AgentOrder], about: int = NO_CALL) -> AgentState:
    """Ask something. A run that was aborted cuts off at once what it still asks, so that nothing can hang."""
    ticket = state.tickets.last + 1
    asked = order(ticket)
    in_flight = {**state.tickets.in_flight, ticket: (type(asked), about)}
    out: tuple[AgentEffect, ...] = (*state.out, asked)
    if state.cancelled and not isinstance(asked, Flush):
        out = (*out, _withdrawal(type(asked), ticket))
    return replace(state, out=out, tickets=replace(state.tickets, last=ticket, in_flight=in_flight))


def cut(state: AgentState, ticket: int) -> AgentState:
    """Take one question back. It is answered all the same, if only as cut off."""
    kind, _ = state.tickets.in_flight[ticket]
    return replace(state, out=(*state.out, _withdrawal(kind, ticket)))


def cut_all(state: AgentState) -> AgentState:
    """Take back everything that is in flight."""
    for ticket, (kind, _) in state.tickets.in_flight.items():
        if kind is not Flush:
            state = cut(state, ticket)
    return state


def _withdrawal(kind: type, ticket: int) -> AgentOrder:
    if kind is CallModel:
        return CancelModel(ticket)
    return CancelTool(ticket) if kind is RunTool else CancelHook(ticket)
