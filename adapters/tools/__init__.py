"""Tools: Python functions that models can call.

Read ``function`` first: ``tool`` makes a function a tool and ``FunctionTool.run`` is one call. ``definition`` reads the
signature, with ``docstring`` and ``schema``; ``context`` is what a tool may know of its call; ``toolbox`` puts many
tools behind one port; ``errors`` says what can be wrong. What a tool or its policy may answer stands here as well, from
``effects``.
"""

from ...effects.question import CallPolicy, Confirm, NeverHappened, OutcomeUnknown, Submit
from ...effects.tool import Await, Complete, Detached, ToolResult
from .context import ToolContext
from .errors import ArgumentsError, CannotSuspendError, ToolDefinitionError, ToolResultError, UnknownToolError
from .function import FunctionTool, tool
from .toolbox import Tool, Toolbox

__all__ = [
    "ArgumentsError",
    "Await",
    "CallPolicy",
    "CannotSuspendError",
    "Complete",
    "Confirm",
    "Detached",
    "FunctionTool",
    "NeverHappened",
    "OutcomeUnknown",
    "Submit",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolResult",
    "ToolResultError",
    "Toolbox",
    "UnknownToolError",
    "tool",
]
