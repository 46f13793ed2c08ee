"""When two records are the same: JSON texts by their value, everything else as it is.

A host may keep payloads in a JSON column, which forgets the order of members and white space. It may not forget digits:
numbers are compared exactly, and a number is no string.
"""

import json
from decimal import Decimal
from typing import Any, cast

from ...effects.journal import Resume
from ...effects.record import CallCompletion, CallDecision, Completion, ToolCall
from ...effects.values import replace

__all__ = ["same_call", "same_completion", "same_json", "same_resume"]


def same_json(one: str, other: str) -> bool:
    """Whether two texts hold the same JSON value; a text that holds none is only the same as itself."""
    return _canonical(one) == _canonical(other)


def same_call(one: ToolCall | None, other: ToolCall | None) -> bool:
    """Whether two records are the same."""
    return (one and _call(one)) == (other and _call(other))


def same_completion(one: Completion | None, other: Completion | None) -> bool:
    """Whether two completions are the same."""
    return (one and _completion(one)) == (other and _completion(other))


def same_resume(one: Resume, other: Resume) -> bool:
    """Whether two runs hold the same."""
    return (
        replace(one, calls=(), completion=None) == replace(other, calls=(), completion=None)
        and same_completion(one.completion, other.completion)
        and len(one.calls) == len(other.calls)
        and all(map(same_call, one.calls, other.calls))
    )


def _call(call: ToolCall) -> tuple[ToolCall, object, object, object, object]:
    """The record without its JSON texts, and their values beside it."""
    completion, decision = call.completion, call.decision
    return (
        replace(
            call,
            notes=dict(call.notes),
            payload="",
            parts=None,
            completion=completion and CallCompletion("", completion.fixed),
            decision=decision and _without_arguments(decision),
        ),
        _canonical(call.payload),
        _canonical(call.parts),
        _canonical(completion.value if completion else None),
        _canonical(decision.arguments if decision else None),
    )


def _without_arguments(decision: CallDecision) -> CallDecision:
    return replace(decision, arguments="")


def _completion(completion: Completion) -> tuple[Completion, object]:
    return replace(completion, value=""), _canonical(completion.value)


def _canonical(text: str | None) -> object:
    if not text:
        return text
    try:
        return _exact(json.loads(text, parse_int=Decimal, parse_float=Decimal, parse_constant=_refuse))
    except ValueError:
        return text


def _exact(value: Any) -> object:
    """The value with its numbers marked as such, since ``True`` equals 1 here."""
    if isinstance(value, dict):
        return {name: _exact(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_exact(item) for item in cast("list[Any]", value)]
    return ("number", value) if isinstance(value, Decimal) else value


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
