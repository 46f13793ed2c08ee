"""What is told by a model's name alone: the generation of a Gemini model, and whether its calls must be signed.

Apart from the protocols because Google's models are asked in two of them.
"""

import re

from .config import ModelConfig

__all__ = ["LATEST", "generation_of", "stand_in_for"]

LATEST = 3.0
"""From this generation on calls have ids and must come back signed."""


def generation_of(model: str) -> float:
    """The generation in a model's name (``gemini-2.5-flash``: 2.5); a name without one is of the latest."""
    found = re.search(r"gemini-(\d+(?:\.\d+)?)", model)
    return float(found.group(1)) if found else LATEST


def stand_in_for(config: ModelConfig) -> str:
    """What stands for the signature of calls that have none; empty where none is wanted."""
    return config.vendor.unsigned if generation_of(config.model) >= LATEST else ""
