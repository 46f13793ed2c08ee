"""The tokens that OpenAI's protocols report, in parts that do not overlap (decision 26)."""

from typing import Any

from ...effects.transcript import Usage
from .wire import as_count, as_object

__all__ = ["chat_usage", "responses_usage"]


def chat_usage(usage: dict[str, Any]) -> Usage:
    """The report of Chat Completions, in which cached tokens are within the prompt.

    Reasoning beside the output is found by the total: where that is larger than prompt and output together, the rest
    is the reasoning that was told apart, or that was not told at all (as converters of Gemini do). A rest that is as
    large as what was cached may be just that, and is no reasoning.
    """
    prompt, output = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    details = as_object(usage.get("prompt_tokens_details"))
    cached = _first(details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))
    created = _first(details.get("cache_write_tokens"), details.get("cache_creation_input_tokens"))
    reasoning = _first(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    beside = 0
    if prompt is not None and output is not None:
        beside = (as_count(usage.get("total_tokens")) or 0) - prompt - output
    if beside > 0 and (beside == reasoning or (not reasoning and beside not in (cached, created, cached + created))):
        reasoning = beside
    else:
        beside = 0
    return _disjoint(prompt or 0, cached, created, (output or 0) + beside, reasoning)


def responses_usage(usage: dict[str, Any]) -> Usage:
    """The report of the Responses API, in which cached tokens are within the input and reasoning within the output."""
    details = as_object(usage.get("input_tokens_details"))
    return _disjoint(
        _first(usage.get("input_tokens")),
        _first(details.get("cached_tokens")),
        _first(details.get("cache_write_tokens")),
        _first(usage.get("output_tokens")),
        _first(as_object(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )


def _first(*values: Any) -> int:
    """The first count that says something."""
    return next((count for value in values if (count := as_count(value))), 0)


def _disjoint(prompt: int, cached: int, created: int, output: int, reasoning: int) -> Usage:
    read = min(cached, prompt)
    written = min(created, prompt - read)
    return Usage(prompt - read - written, read, written, output, min(reasoning, output))
