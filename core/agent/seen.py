"""What listeners have seen begin and not end: what a failure must close (decision 46 g).

A fold of the events that were really delivered, and nothing else; so it is right whatever the loop was at.
"""

from ...effects.agent import (
    AgentEvent,
    MessageEnded,
    MessageStarted,
    MessageUpdated,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from ...effects.transcript import AssistantMessage, CallPart, Message, StopReason, ToolResultMessage, calls_of
from ...effects.values import region, replace

__all__ = ["Seen", "see"]


@region
class Seen:
    """A turn that began; a message that began; the calls of its answer: begun, ended, and with a result.

    ``answered`` counts results, which come in call order.
    """

    turn: bool = False
    message: Message | MessageUpdated | None = None
    calls: tuple[CallPart, ...] = ()
    begun: tuple[ToolStarted, ...] = ()
    ended: tuple[ToolEnded, ...] = ()
    answered: int = 0


def see(seen: Seen, event: AgentEvent) -> Seen:
    """What has been seen, after one more event."""
    match event:
        case MessageUpdated():
            return replace(seen, message=event)
        case MessageStarted(message=message):
            return replace(seen, message=message)
        case MessageEnded(message=message):
            return _ended(seen, message)
        case ToolStarted():
            return replace(seen, begun=(*seen.begun, event))
        case ToolEnded():
            return replace(seen, ended=(*seen.ended, event), begun=_without(seen.begun, event.call_id))
        case TurnStarted():
            return Seen(turn=True)
        case TurnEnded():
            return Seen()
        case _:
            return seen


def _ended(seen: Seen, message: Message) -> Seen:
    match message:
        case AssistantMessage(stop=StopReason.ERROR | StopReason.ABORTED):
            return replace(seen, message=None)
        case AssistantMessage():
            return replace(seen, message=None, calls=calls_of(message), begun=(), ended=(), answered=0)
        case ToolResultMessage():
            return replace(seen, message=None, answered=seen.answered + 1)
        case _:
            return replace(seen, message=None)


def _without(begun: tuple[ToolStarted, ...], call_id: str) -> tuple[ToolStarted, ...]:
    place = next((place for place, one in enumerate(begun) if one.call_id == call_id), len(begun))
    return begun[:place] + begun[place + 1 :]
