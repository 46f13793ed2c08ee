"""What can be read of a stored run without executing it: a call's tool, what its arguments must be, and the spending.

For whoever looks at a run, or decides about a call, while nobody executes it.
"""

from collections.abc import Mapping
from typing import Any

from ...effects.journal import Resume
from ...effects.record import ToolCall
from ...effects.spending import NO_SPENDING, Spending
from ...effects.transcript import AssistantMessage, calls_of
from .fingerprint import schema_of
from .head import decode_head, spent_so_far
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


def spent_by(resume: Resume) -> Spending:
    """What the run has used, by model and purpose. Raises ``DecodeError``."""
    return NO_SPENDING if resume.state is None else spent_so_far(decode_head(resume.state), resume.usage)
