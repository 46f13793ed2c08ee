"""Reading what a world saw: small questions to messages, records and orders, for the witness."""

import json
from collections.abc import Iterable, Sequence

from ...core.run import Rules
from ...core.run.log import Entry, EntryKind
from ...effects.feed import InputMessage
from ...effects.journal import SaveStep
from ...effects.model import CallModel
from ...effects.outcome import Completed, Delivered, Outcome
from ...effects.record import CallDecision, ToolCall
from ...effects.tool import Invocation, RunTool
from ...effects.transcript import (
    AssistantMessage,
    Message,
    Sealed,
    TextPart,
    ToolResultMessage,
    UserMessage,
    calls_of,
    parts_of,
)
from .executor import Asked, Pending
from .scenario import Scenario
from .store import Stored

__all__ = [
    "arguments_of",
    "begins_with",
    "blamed_on_limits",
    "closes_a_gate",
    "counts_of",
    "each_once",
    "inputs_in",
    "is_final",
    "is_under_way",
    "may_be_forgotten",
    "opened",
    "outcome_of",
    "told_by",
    "unexpired",
]


def closes_a_gate(order: Asked) -> bool:
    """Whether the order says that, to the run's best knowledge, there is no newer input."""
    if isinstance(order, SaveStep):
        outcome = order.step.outcome
        return isinstance(outcome, Delivered | Completed) and not is_final(outcome)
    if isinstance(order, CallModel) and order.request.context:
        return isinstance(opened(order.request.context[-1]), ToolResultMessage)
    return False


def is_final(outcome: Outcome | None) -> bool:
    """Whether the outcome is the end whatever comes in."""
    return isinstance(outcome, Completed) and outcome.completion.fixed


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


def begins_with(context: Sequence[Message | Sealed], entries: Sequence[Entry]) -> bool:
    """Whether a context begins with what stands in the entries of a log.

    A text that was rejected, and what the model was told of it, hold for their turn only: they are passed over once the
    next turn has begun, which the log may not say yet.
    """
    for new_turn in (False, True):
        stored = _as_context(entries, new_turn)
        if stored == list(context[: len(stored)]):
            return True
    return False


def _as_context(entries: Sequence[Entry], new_turn: bool) -> list[Message | Sealed]:
    items: list[Message | Sealed] = []
    passing: set[int] = set()
    for entry in entries:
        if entry.kind is EntryKind.INPUT and passing:
            items = [item for place, item in enumerate(items) if place not in passing]
            passing = set()
        if entry.kind is EntryKind.REJECTED:
            passing |= {len(items) - 1, len(items)}
        items += entry.items
    return [item for place, item in enumerate(items) if place not in passing] if new_turn else items


def may_be_forgotten(entry: Entry, rules: Rules, finished: bool) -> bool:
    """Whether newer input may take an output out of what the model sees: then the next step takes it out of the log.

    ``finished`` says that the guard put a value in the place of a text.
    """
    if entry.kind is not EntryKind.OUTPUT:
        return False
    output = entry.items[-1].open()
    if not entry.calls or not isinstance(output, AssistantMessage):
        return rules.spec.discard_undelivered or finished
    return all(part.name in rules.completion for part in calls_of(output))


def told_by(message: ToolResultMessage) -> str:
    """The result or error that a message tells: an error comes as a JSON object."""
    text = "\n".join(part.text for part in parts_of(message.content) if isinstance(part, TextPart))
    start = text.find('{"error":')
    return text if start < 0 else text[:start] + str(json.loads(text[start:])["error"])


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


def unexpired(call: ToolCall, decision: CallDecision, now: int) -> bool:
    """Whether neither the time to decide nor that of the decision is over."""
    return all(end is None or now < end for end in (call.expires_at, decision.expires_at))


def blamed_on_limits(scenario: Scenario) -> set[str]:
    """What a run may fail for because of how it was set up."""
    limits, fallback = scenario.limits, scenario.functions.fallback
    reasons = {
        "turns": limits.turns,
        "budget": limits.tokens or limits.cost,
        "deadline": limits.run_ms,
        "slow": limits.first_token_ms or limits.stall_ms,
        "fallback": fallback is not None,
    }
    return {reason for reason, given in reasons.items() if given}


def counts_of(stored: Stored) -> tuple[int, ...]:
    """The stored usage as numbers."""
    usage = stored.usage
    return (usage.input, usage.cache_read, usage.cache_write, usage.output)
