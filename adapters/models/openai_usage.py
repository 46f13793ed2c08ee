"""The tokens that OpenAI's protocols report, in parts that do not overlap (decision 26)."""

from typing import Any

from ...effects.transcript import Usage
from .wire import as_count, as_object

__all__ = ["chat_usage", "responses_usage"]


def chat_usage(usage: dict[str, Any]) -> Usage:
    """The report of Chat Completions, in which cached tokens are within the prompt and reasoning within the output.

    Servers that have them beside it are found by the total: where that is larger than prompt and output together, the
    rest is what they told apart (gateways do so with Anthropic's cache), or else reasoning that was not told at all (as
    converters of Gemini do), unless reasoning was told: then it is nothing that we know.
    """
    prompt, output = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    details = as_object(usage.get("prompt_tokens_details"))
    cached = _first(
        details.get("cached_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    created = _first(
        details.get("cache_write_tokens"),
        details.get("cache_creation_input_tokens"),
        usage.get("cache_creation_input_tokens"),
    )
    reasoning = _first(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    if prompt is None or output is None:
        return _disjoint(prompt or 0, cached, created, output or 0, reasoning)
    rest = (as_count(usage.get("total_tokens")) or 0) - prompt - output
    cache, thoughts = _beside(rest, prompt, output, (cached, created), reasoning)
    return _disjoint(prompt + cache, cached, created, output + thoughts, reasoning or thoughts)


def _beside(rest: int, prompt: int, output: int, cache: tuple[int, int], reasoning: int) -> tuple[int, int]:
    """How much of the cache is beside the prompt, and of the reasoning beside the output; ``rest``: the total's.

    What is not beside must fit within. Of two explanations the one without reasoning counts.
    """
    cached, created = cache
    ways = [way for way in (cached + created, cached, created, 0) if cached + created - way <= prompt]
    for thoughts in (0, reasoning):
        if (thoughts or reasoning <= output) and rest - thoughts in ways:
            return rest - thoughts, thoughts
    untold = min((way for way in ways if way <= rest), default=None)
    if untold is None:
        return 0, 0  # the counts contradict each other
    return untold, 0 if reasoning else rest - untold


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
