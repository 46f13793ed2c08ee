"""What there is to see in a recorded case: its subject, and every member and word that scripts and recordings know.

So that cases can be left out without leaving out a kind: what two cases have in common needs to be recorded once.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from tests.oracle.verdict import RULES
from tests.oracle.wire import Raw

__all__ = ["kinds"]

# Members whose value is one of a few words.
_WORDS = {
    "api",
    "control",
    "do",
    "event",
    "executionMode",
    "followUpMode",
    "hook",
    "op",
    "role",
    "signal",
    "steeringMode",
    "stopReason",
    "stream",
    "toolExecution",
    "type",
}
# Members of these are names that the case made up, so only what lies behind them counts; of the others nothing does.
_NAMED = {"afterToolCall", "beforeToolCall", "outcomes"}
_OPAQUE = {
    "args",
    "arguments",
    "details",
    "parameters",
    "rawArguments",
    "rename",
    "sections",
    "set",
    "structuredContent",
}


def kinds(case: Raw) -> frozenset[str]:
    """All kinds of things in a case: ``subject tool``, ``result.isError``, ``type=turn_end``, ``aborts.hook=x``."""
    found = {f"subject {case['name'].partition('/')[0]}", *_within(case["input"], ""), *_within(case["expected"], "")}
    return frozenset(found | {f"differs by {letter}" for letter, holds in RULES.items() if holds(case["input"])})


def _within(value: Any, parent: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _within(item, parent)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield f"{parent}.{name}"
            if name in _WORDS and isinstance(item, str):
                yield f"{parent}.{name}={item}" if name in ("hook", "event") else f"{name}={item}"
            if name == "events":
                types = [event["type"] for event in item if "type" in event]
                yield from (f"{one} then {other}" for one, other in itertools.pairwise(types))
            if name not in _OPAQUE:
                yield from _within(list(item.values()) if name in _NAMED else item, name)
