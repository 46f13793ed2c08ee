"""What is told by a model's name alone: the generation of a Gemini or Claude model, and what follows from it.

Apart from the protocols because the same models are asked in several of them.
"""

import re

from .config import ModelConfig

__all__ = ["LATEST", "claude_generation", "claude_thinks_unasked", "generation_of", "stand_in_for"]

LATEST = 3.0
"""From this generation of Gemini on calls have ids and must come back signed."""

_LATEST_CLAUDE = (5, 5)


def generation_of(model: str) -> float:
    """The generation in a model's name (``gemini-2.5-flash``: 2.5); a name without one is of the latest."""
    found = re.search(r"gemini-(\d+(?:\.\d+)?)", model)
    return float(found.group(1)) if found else LATEST


def stand_in_for(config: ModelConfig) -> str:
    """What stands for the signature of calls that have none; empty where none is wanted."""
    return config.vendor.unsigned if generation_of(config.model) >= LATEST else ""


def claude_generation(model: str) -> tuple[int, int] | None:
    """The generation in a name (``claude-sonnet-4-5-20250929``: 4, 5); one without is the latest. Others have none."""
    if "claude" not in model:
        return None
    found = re.search(r"claude\D*?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model)
    return (int(found.group(1)), int(found.group(2) or 0)) if found else _LATEST_CLAUDE


def claude_thinks_unasked(model: str) -> bool:
    """Whether a Claude thinks unless it is told not to. Later ones, and those of other sizes, cannot be told."""
    generation = claude_generation(model)
    return generation is not None and (5, 0) <= generation < (5, 5) and ("-opus-" in model or "-sonnet-" in model)
