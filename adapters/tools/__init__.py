"""Tools: Python functions that models can call.

Read ``function`` first: ``tool`` makes a function a tool and ``FunctionTool.run`` is one call. ``definition`` reads the
signature, with ``docstring`` and ``schema``; ``context`` is what a tool may know of its call; ``toolbox`` puts many
tools behind one port; ``errors`` says what can be wrong.
"""

from .context import ToolContext
from .errors import ArgumentsError, CannotSuspendError, ToolDefinitionError, ToolResultError, UnknownToolError
from .function import FunctionTool, tool
from .toolbox import Tool, Toolbox

__all__ = [
    "ArgumentsError",
    "CannotSuspendError",
    "FunctionTool",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolResultError",
    "Toolbox",
    "UnknownToolError",
    "tool",
]
