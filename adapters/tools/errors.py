"""What can be wrong with a tool of ours: its definition, the arguments of a call, or the value it gave.

All three are ordinary exceptions. ``ToolDefinitionError`` is for the programmer, when the tool is made; the other two
are raised while a call is carried out, so their texts are written for the model that made the call.
"""

__all__ = ["ArgumentsError", "CannotSuspendError", "ToolDefinitionError", "ToolResultError", "UnknownToolError"]


class ToolDefinitionError(TypeError):
    """A function that cannot be a tool.

    ``function`` is the qualified name of the function, ``parameter`` the parameter at fault (empty when it is the
    function as a whole); the text says what is wrong and what to do about it.
    """

    def __init__(self, function: str, parameter: str, problem: str) -> None:
        where = f"parameter {parameter!r} of {function}" if parameter else function
        super().__init__(f"{where} cannot be a tool: {problem}" if not parameter else f"{where}: {problem}")
        self.function = function
        self.parameter = parameter


class ArgumentsError(ValueError):
    """The arguments of a call are not what the tool takes. ``problems`` are pairs of a path and what is wrong there."""

    def __init__(self, tool: str, problems: tuple[tuple[str, str], ...]) -> None:
        lines = "\n".join(f"  - {path}: {problem}" for path, problem in problems)
        super().__init__(f'Invalid arguments for tool "{tool}":\n{lines}')
        self.tool = tool
        self.problems = problems


class ToolResultError(TypeError):
    """A tool returned a value that cannot be written as JSON."""


class CannotSuspendError(RuntimeError):
    """A tool answered ``Await`` where the run cannot wait: within another tool, or in an agent (decision 18)."""


class UnknownToolError(LookupError):
    """A call of a tool that is not in the toolbox."""
