"""The fold: ``(state, event) -> (state, effects)``. Everything a durable run does goes through ``Fold.reduce``.

Fold the event in, take every step that has become possible, ask what is owed, mark it as asked. The same state and the
same event give the same result, bit for bit.
"""

from ...effects.lifecycle import Publish, RunEnded
from ...effects.model import ModelStreamed, StreamFailed, StreamFinished
from ...effects.values import replace
from ...effects.vocabulary import Effect, Event
from .debts import due
from .errors import IllegalEvent
from .gates import advance
from .handlers import Wanted, Withdrawn
from .moves import ANSWERS, MOVES, STREAMS, Move
from .phases import Ended
from .spec import Rules
from .state import RunState

_REGIONS = {event: region for region, rows in MOVES.items() for event, _ in rows}


class Fold:
    """The rules of one run. Holds the host's functions; the state never does."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def start(self) -> RunState:
        """The state before anything has happened; the first event is ``RunStarted``."""
        return RunState()

    def reduce(self, state: RunState, event: Event) -> tuple[RunState, tuple[Effect, ...]]:
        """The state after the event, and what to do now, in order.

        Raises ``IllegalEvent`` for an event that cannot happen in this state, which is then as it was.
        """
        move, subject = _look_up(state, event)
        was_ended = isinstance(state.life, Ended)
        state = _take_in(state, event)
        state = advance(move.handler(state, event, self.rules, subject), self.rules)
        state, orders = due(state, self.rules)
        effects: tuple[Effect, ...] = orders
        if state.notices:
            effects = (Publish(state.notices), *effects)
            state = replace(state, notices=())
        if isinstance(state.life, Ended) and not was_ended:
            effects = (*effects, RunEnded(state.life.result))
        return state, effects


def _take_in(state: RunState, event: Event) -> RunState:
    """Time moves on, and an order that got its last answer is not in flight any more."""
    clock = state.clock
    if event.at > clock.now:
        clock = replace(clock, now=event.at)
    ticket: int | None = getattr(event, "ticket", None)
    if ticket is None or not _is_last(event):
        return replace(state, clock=clock)
    in_flight = dict(state.tickets.in_flight)
    del in_flight[ticket]
    return replace(state, clock=clock, tickets=replace(state.tickets, in_flight=in_flight))


def _look_up(state: RunState, event: Event) -> tuple[Move, str]:
    kind = type(event)
    region = _REGIONS.get(kind)
    if region is None:
        raise IllegalEvent(f"{kind.__name__} is no event of a durable run")
    subject = ""
    if kind in ANSWERS:
        asked = state.tickets.in_flight.get(event.ticket)  # type: ignore[union-attr]
        if asked is None or asked[0] not in ANSWERS[kind]:
            raise IllegalEvent(f"{kind.__name__} answers ticket {event.ticket}, which asks no such thing")  # type: ignore[union-attr]
        subject = asked[1]
    phase = _phase(state, region, event, subject)
    move = MOVES[region].get((kind, phase))
    if move is None:
        raise IllegalEvent(f"{kind.__name__} while {region} is {phase.__name__}")
    return move, subject


def _phase(state: RunState, region: str, event: Event, subject: str) -> type:
    match region:
        case "life":
            return type(state.life)
        case "lease":
            return type(state.lease.phase)
        case "saving":
            return type(state.saving.phase)
        case "feed":
            return type(state.feed.watch)
        case "model":
            return Withdrawn if state.model.withdrawn == event.ticket else Wanted  # type: ignore[union-attr]
        case "questions" if not subject:
            return type(state.turn.phase)
        case _:
            return type(state.batch.live[subject].phase)


def _is_last(event: Event) -> bool:
    if isinstance(event, ModelStreamed):
        return bool(event.deltas) and isinstance(event.deltas[-1], StreamFinished | StreamFailed)
    return not isinstance(event, STREAMS)
