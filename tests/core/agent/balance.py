"""What it means that events are balanced, told by an observer that knows nothing of the fold."""

from collections import Counter

from turnfold.effects.agent import (
    AgentEnded,
    AgentEvent,
    AgentStarted,
    MessageEnded,
    MessageStarted,
    MessageUpdated,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
)


def unbalanced(events: list[AgentEvent]) -> str | None:
    """The first event that has no beginning, or the first beginning without an end; nothing when all is well."""
    agent = turn = message = False
    calls: Counter[str] = Counter()
    for place, event in enumerate(events):
        where = f"{type(event).__name__} at {place}"
        match event:
            case AgentStarted():
                if agent or place:
                    return where
                agent = True
            case TurnStarted():
                if turn or not agent:
                    return where
                turn = True
            case MessageStarted():
                if message or not turn:
                    return where
                message = True
            case MessageUpdated():
                if not message:
                    return where
            case MessageEnded():
                if not message:
                    return where
                message = False
            case ToolStarted(call_id=call_id):
                if not turn:
                    return where
                calls[call_id] += 1
            case ToolUpdated(call_id=call_id):
                if not calls[call_id]:
                    return where
            case ToolEnded(call_id=call_id):
                if not calls[call_id]:
                    return where
                calls[call_id] -= 1
            case TurnEnded():
                if message or not turn or calls.total():
                    return where
                turn = False
            case AgentEnded():
                if turn or not agent or place != len(events) - 1:
                    return where
                agent = False
    return "the end is missing" if agent or turn or message or calls.total() else None
