"""How Claude is told to think, and what a request may not say while it thinks.

Read ``thinking_of`` for the words of each generation, then ``permitted`` for what the API rejects beside them. Other
vendors' models are told in their own words (``vendors`` has them), and the same is kept from them.
"""

from typing import Any

from ...effects.model import ModelRequest
from .config import ModelConfig
from .generations import claude_generation, claude_thinks_unasked
from .prompt import level_of, reasoning_of
from .wire import as_count, as_object

__all__ = ["limit_for", "permitted", "thinking_of"]

_BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384}
_LARGEST_BUDGET = 24_576
_FIRST_TO_THINK, _FIRST_ADAPTIVE, _FIRST_WITH_XHIGH = (3, 7), (4, 6), (4, 7)
_THOUGHTS = ("thinking", "redacted_thinking")


def thinking_of(request: ModelRequest, config: ModelConfig) -> dict[str, Any]:
    """The members that say how hard the model shall think.

    Claude is told a level since 4.6, a budget of tokens before, and nothing before 3.7. Its 4.6 has ``max`` without
    the level below it.
    """
    level, generation = level_of(request, config), claude_generation(config.model)
    if generation is None:
        return reasoning_of(request, config)
    if level == "off":
        return _switched_off(config)
    if not level or generation < _FIRST_TO_THINK:
        return {}
    if generation < _FIRST_ADAPTIVE:
        return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS.get(level, _LARGEST_BUDGET)}}
    said = reasoning_of(request, config)
    if level == "xhigh" and generation < _FIRST_WITH_XHIGH:
        said["output_config"] = {"effort": "max"}
    return said


def _switched_off(config: ModelConfig) -> dict[str, Any]:
    """The members without which the model would think, or could; none where it does not unless it is told to."""
    if claude_generation(config.model) is None:
        off = config.vendor.thinking.off
        return {"thinking": dict(off["thinking"])} if "thinking" in off else {}
    return {"thinking": {"type": "disabled"}} if claude_thinks_unasked(config.model) else {}


def permitted(members: dict[str, Any], sent: list[dict[str, Any]], config: ModelConfig) -> dict[str, Any]:
    """The members of a body that goes with these messages, without what the API would reject.

    No thoughts where a tool is forced, or with a budget where the calls being answered are of a turn that did not
    begin with one, as another model's do not; no sampling of one's own beside thoughts.
    """
    kind = as_object(members.get("thinking")).get("type")
    forced = as_object(members.get("tool_choice")).get("type") in ("any", "tool")
    if kind != "disabled" and (forced or (kind == "enabled" and _goes_on_without_thought(sent))):
        rest = {name: value for name, value in members.items() if name != "thinking"}
        return {**rest, **_switched_off(config)}
    if kind in ("enabled", "adaptive"):
        return {name: value for name, value in members.items() if not _disturbs(name, value)}
    return members


def _goes_on_without_thought(sent: list[dict[str, Any]]) -> bool:
    """Whether the turn that the last message goes on with, being results, began otherwise than with a thought."""
    first: dict[str, Any] = {}
    for message in reversed(sent):
        if message["role"] == "assistant":
            first = message
        elif not any(block["type"] == "tool_result" for block in message["content"]):
            break
    return bool(first) and first["content"][0]["type"] not in _THOUGHTS


def _disturbs(name: str, value: Any) -> bool:
    """Whether a setting is one of sampling that is not allowed beside thoughts."""
    if name == "temperature":
        return value != 1
    if name == "top_p":
        return not (isinstance(value, int | float) and 0.95 <= value <= 1)
    return name == "top_k"


def limit_for(members: dict[str, Any], limit: int, config: ModelConfig, asked: bool) -> int:
    """The limit of the output, towards which thoughts count and which must leave room for an answer.

    ``asked``: the budget is a level's, so that ``limit`` is for the answer alone, as far as the model can write so
    much. A host's own budget is only added where it would be all of the limit.
    """
    budget = as_count(as_object(members.get("thinking")).get("budget_tokens"))
    if budget is None:
        return limit
    if not asked:
        return limit + budget if budget >= limit else limit
    generation = claude_generation(config.model) or _FIRST_ADAPTIVE
    most = 32_000 if "opus" in config.model and generation < (4, 5) else 64_000
    return max(limit, min(limit + budget, most))
