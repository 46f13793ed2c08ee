"""What is said of each span, by the OpenTelemetry conventions for generative AI, version 1.41.0 and no other.

Those have no word for cost: it is ``turnfold.usage.cost``, in the currency of the host's prices, and missing where a
model has no price; ``turnfold.usage.unpriced`` says so. Texts that people or models wrote are content: they are here
only where content is asked for.
"""

from collections.abc import Mapping
from typing import Any

from ....effects.agent import ToolEnded, ToolStarted
from ....effects.model import Delta, ModelRequest, Started
from ....effects.transcript import AssistantMessage, TextPart, Usage, parts_of
from ..prices import Prices
from .content import input_messages, output_messages, system_instructions
from .operations import Value

__all__ = [
    "SCHEMA",
    "Tally",
    "added",
    "answer_attributes",
    "model_attributes",
    "request_attributes",
    "started",
    "tally",
    "tally_attributes",
    "tool_attributes",
    "tool_result",
]

SCHEMA = "https://opentelemetry.io/schemas/1.41.0"

NUMBERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "max_tokens": "gen_ai.request.max_tokens",
}
"""Options of a request that the conventions have a name for."""

Tally = tuple[Usage, float, bool]
"""Tokens, what they cost, and whether some of them have no price."""


def request_attributes(request: ModelRequest, content: bool) -> dict[str, Value]:
    """What is known when a model is asked."""
    found: dict[str, Value] = {"gen_ai.operation.name": "chat", "gen_ai.request.stream": True}
    if request.model is not None:
        found |= model_attributes(request.model.provider, request.model.id)
    found |= _numbers(request.options)
    if request.max_output_tokens:
        found["gen_ai.request.max_tokens"] = request.max_output_tokens
    if content:
        messages = list(request.messages)
        instructions = system_instructions(messages)
        found["gen_ai.input.messages"] = input_messages(messages[1:] if instructions else messages)
        if instructions:
            found["gen_ai.system_instructions"] = instructions
    return found


def model_attributes(provider: str, model: str) -> dict[str, Value]:
    """Who is asked, as far as it is known; ``unknown`` is how an agent calls a model that nobody named."""
    named = {"gen_ai.provider.name": provider, "gen_ai.request.model": model}
    return {name: value for name, value in named.items() if value not in ("", "unknown")}


def started(delta: Delta) -> dict[str, Value]:
    """What the first delta of an answer tells: who answers, by their own word, and under which id."""
    if not isinstance(delta, Started):
        return {}
    told = {"gen_ai.response.model": delta.response_model, "gen_ai.response.id": delta.response_id}
    return {name: value for name, value in told.items() if value}


def _numbers(options: Mapping[str, Any]) -> dict[str, Value]:
    given = ((NUMBERS[name], value) for name, value in options.items() if name in NUMBERS)
    return {name: value for name, value in given if isinstance(value, int | float) and not isinstance(value, bool)}


def answer_attributes(answer: AssistantMessage, tally: Tally, content: bool) -> dict[str, Value]:
    """What is known when a model has answered. The provider's own word for why it stopped wins over ours."""
    found = tally_attributes(tally)
    found["gen_ai.response.finish_reasons"] = [answer.raw_stop or str(answer.stop)]
    if answer.response_id:
        found["gen_ai.response.id"] = answer.response_id
    found |= model_attributes(answer.provider, answer.model)
    if content:
        found["gen_ai.output.messages"] = output_messages(answer)
    return found


def tally(answer: AssistantMessage, prices: Prices | None) -> Tally:
    """What an answer used; its cost is also that of what was asked in vain for it."""
    if prices is None:
        return (answer.usage, 0.0, False)
    costs = [prices.cost(spent.provider, spent.model, spent.usage) for spent in answer.spent]
    return (answer.usage, sum(cost or 0.0 for cost in costs), None in costs)


def added(one: Tally, other: Tally) -> Tally:
    """What both used."""
    return (one[0] + other[0], one[1] + other[1], one[2] or other[2])


def tally_attributes(tally: Tally) -> dict[str, Value]:
    """Tokens and cost. The conventions count cached tokens as input, and reasoning as output."""
    usage, cost, unpriced = tally
    found: dict[str, Value] = {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
    }
    parts = {
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    found |= {name: count for name, count in parts.items() if count}
    if unpriced:
        found["turnfold.usage.unpriced"] = True
    elif cost:
        found["turnfold.usage.cost"] = cost
    return found


def tool_attributes(started: ToolStarted, content: bool) -> dict[str, Value]:
    """What is known when a call is taken up."""
    found: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": started.name,
        "gen_ai.tool.type": "function",
    }
    if started.call_id:
        found["gen_ai.tool.call.id"] = started.call_id
    if content:
        found["gen_ai.tool.call.arguments"] = started.arguments
    return found


def tool_result(ended: ToolEnded) -> str:
    """The text of a result, as its model sees it."""
    return "\n".join(part.text for part in parts_of(ended.result.content) if isinstance(part, TextPart))
