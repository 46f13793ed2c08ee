"""Checked and coerced arguments against their recordings.

What differs by decision 46 h is recognised by what became of it, not by its looks: see ``_improved``.
"""

from typing import Any

import msgspec
from turnfold.adapters.schemas import check_with_rust
from turnfold.core.arguments import Accepted, ToolArguments, prepare

from tests.oracle.verdict import EQUAL, UNEXPLAINED, Verdict
from tests.oracle.wire import Raw, difference

__all__ = ["compare", "rounded"]


def compare(case: Raw) -> Verdict:
    """Equal, differing by rule h of decision 46, or unexplained."""
    asked, theirs = case["input"], case["expected"]
    tool = prepare(asked["toolName"], asked["parameters"], check_with_rust)
    result = tool.check(asked["arguments"])
    ours = {"value": result.arguments} if isinstance(result, Accepted) else {"error": result}
    found = difference(rounded(ours), rounded(theirs))
    if found is None:
        return Verdict(EQUAL)
    return Verdict("h" if _improved(tool, asked, ours, theirs) else UNEXPLAINED, found)


def rounded(value: Any) -> Any:
    """A value with its numbers as JavaScript has them: ours are exact (decision 48)."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _improved(tool: ToolArguments, asked: Raw, ours: Raw, theirs: Raw) -> bool:
    arguments = asked["arguments"]
    if "value" in theirs:
        # A coerced root that is not valid was given back as it had been sent.
        return "error" in ours and not isinstance(arguments, dict) and not tool.probe.schema.accepts(theirs["value"])
    if "value" in ours and tool.probe.schema.accepts(arguments):
        return difference(ours["value"], arguments) is None
    if _encoded(arguments) and ("error" in ours or not _encoded(ours["value"])):
        return True
    # What lies behind a reference was not coerced: of what is wrong without that, ours is a part.
    return _refers(asked["parameters"]) and _lines(ours) < _lines(theirs)


def _encoded(value: Any) -> bool:
    """Whether the text of an array or object lies in a value."""
    if isinstance(value, dict | list):
        return any(map(_encoded, value.values() if isinstance(value, dict) else value))
    if not isinstance(value, str):
        return False
    try:
        return isinstance(msgspec.json.decode(value), dict | list)
    except msgspec.DecodeError:
        return False


def _refers(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "$ref" in schema or any(map(_refers, schema.values()))
    return isinstance(schema, list) and any(map(_refers, schema))


def _lines(result: Raw) -> frozenset[str]:
    return frozenset(
        line for line in result.get("error", "").partition("\n\n")[0].splitlines() if line.startswith("  - ")
    )
