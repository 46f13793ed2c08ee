"""How many tokens a text may have, roughly and without a tokenizer; and how many fit where nobody said."""

import re

__all__ = ["DEFAULT_CONTEXT_WINDOW", "context_window", "estimate_tokens"]

DEFAULT_CONTEXT_WINDOW = 32_000
"""The tokens that a model is taken to hold where nobody said."""

_WHOLE = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fd-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufad9"
    "\uff66-\uff6f\uff71-\uff9d\uffa0-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003347f]"
)


def estimate_tokens(text: str) -> int:
    """A token for each Chinese, Japanese or Korean character, and one for each four of all others."""
    whole = sum(1 for _ in _WHOLE.finditer(text))
    return whole + (len(text) - whole) // 4


def context_window(tokens: int) -> int:
    """The number of tokens, or the usual one where none is known (0 or less)."""
    return tokens if tokens > 0 else DEFAULT_CONTEXT_WINDOW
