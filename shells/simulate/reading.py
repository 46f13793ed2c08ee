"""Reading what a world saw: small questions to messages, records and orders, for the witness."""

import json
from collections.abc import Iterable, Sequence

from ...core.run.log import Entry
from ...effects.feed import InputMessage
from ...effects.journal import SaveStep
from ...effects.model import CallModel
from ...effects.outcome import Completed, Delivered
from ...effects.record import ToolCall
from ...effects.tool import Invocation, RunTool
from ...effects.transcript import (
    AssistantMessage,
    Message,
    Sealed,
    TextPart,
    ToolResultMessage,
    UserMessage,
    parts_of,
)
from .executor import Asked, Pending
from .store import Stored

__all__ = [
    "arguments_of",
    "begins_with",
    "closes_a_gate",
    "counts_of",
    "each_once",
    "inputs_in",
    "is_under_way",
    "opened",
    "outcome_of",
    "told_by",
]


def closes_a_gate(order: Asked) -> bool:
    """Whether the order says that, to the run's best knowledge, there is no newer input."""
    if isinstance(order, SaveStep):
        return isinstance(order.step.outcome, Delivered | Completed)
    if isinstance(order, CallModel) and order.request.context:
        return isinstance(opened(order.request.context[-1]), ToolResultMessage)
    return False


def inputs_in(context: Iterable[Message | Sealed]) -> Iterable[str]:
    """The input messages in a context, by their texts."""
    for item in context:
        message = opened(item)
        if isinstance(message, UserMessage) or (isinstance(message, AssistantMessage) and not message.model):
            parts = message.parts if isinstance(message, AssistantMessage) else parts_of(message.content)
            yield "".join(part.text for part in parts if isinstance(part, TextPart))


def arguments_of(text: str) -> object:
    """A call's arguments as the model wrote them; blank text is an empty object."""
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        return text


def is_under_way(pending: Pending, invocation: Invocation) -> bool:
    """Whether the order is another call of the same output, and its tool has begun."""
    order = pending.order
    return (
        isinstance(order, RunTool)
        and pending.answer is not None
        and order.invocation.key != invocation.key
        and order.invocation.model_call_id == invocation.model_call_id
    )


def begins_with(context: Sequence[Message | Sealed], entries: Iterable[Entry]) -> bool:
    """Whether a context begins with what stands in the entries of a log."""
    stored = [item for entry in entries for item in entry.items]
    return stored == list(context[: len(stored)])


def told_by(message: ToolResultMessage) -> str:
    """The result or error that a message tells: an error comes as a JSON object."""
    text = "\n".join(part.text for part in parts_of(message.content) if isinstance(part, TextPart))
    return str(json.loads(text)["error"]) if text.startswith('{"error":') else text


def opened(item: Message | Sealed) -> Message:
    """The message itself."""
    return item.open() if isinstance(item, Sealed) else item


def each_once(messages: Iterable[InputMessage]) -> list[InputMessage]:
    """The messages without those whose id and revision came before."""
    first: dict[str, InputMessage] = {}
    for message in messages:
        first.setdefault(message.key, message)
    return list(first.values())


def outcome_of(call: ToolCall) -> tuple[object, ...]:
    """The part of a record that never changes once it is settled."""
    return (call.status, call.result, call.error, call.parts, call.media, call.completed_at, call.handover)


def counts_of(stored: Stored) -> tuple[int, ...]:
    """The stored usage as numbers."""
    usage = stored.usage
    return (usage.input, usage.cache_read, usage.cache_write, usage.output)
