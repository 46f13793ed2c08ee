"""What can be read of a stored run without executing it: which tool a call is of, and what its arguments must be.

For whoever decides about a call while nobody executes its run.
"""

from collections.abc import Mapping
from typing import Any

from ...effects.journal import Resume
from ...effects.record import ToolCall
from ...effects.transcript import AssistantMessage, calls_of
from .fingerprint import schema_of
from .log import decode_entry


def tool_of(resume: Resume, call: ToolCall) -> str:
    """The name by which the model called the tool; the record's own may be another. Raises ``DecodeError``."""
    for raw in reversed(resume.logs.get("main", ())):
        entry = decode_entry(raw)
        for place, (record_id, _) in enumerate(entry.calls):
            if record_id == call.id:
                message = entry.items[0].open()
                parts = calls_of(message) if isinstance(message, AssistantMessage) else ()
                return parts[place].name if place < len(parts) else call.name
    return call.name


def arguments_schema(resume: Resume, call: ToolCall) -> Mapping[str, Any] | None:
    """The schema that the tool of the call had when the run was last saved; nothing if none is stored.

    Raises ``DecodeError``.
    """
    agent = resume.values.get("agent")
    return None if agent is None else schema_of(agent, tool_of(resume, call))
