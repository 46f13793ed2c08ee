"""Many tools behind one port."""

from collections.abc import Awaitable, Callable, Iterable

from ...effects.handed_in import checked_tools
from ...effects.tool import Control, Invocation, Tool, ToolResult, ToolSpec
from .errors import ToolDefinitionError, UnknownToolError

__all__ = ["Tool", "Toolbox"]


class Toolbox:
    """A ``ToolPort`` over tools, by the names of their declarations."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        """Raises ``ToolDefinitionError`` for two tools of one name, and ``TypeError`` for what is no tool."""
        self._tools: dict[str, Tool] = {}
        for tool in checked_tools(tools):
            name = tool.spec.name
            if name in self._tools:
                raise ToolDefinitionError(name, "", "another one in the toolbox has that name; rename one of the two")
            self._tools[name] = tool

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a run knows of each tool, in the order in which they were given."""
        return tuple(tool.spec for tool in self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    async def run(
        self, invocation: Invocation, progress: Callable[[ToolResult], Awaitable[None]]
    ) -> ToolResult | Control:
        """Carry out one call with the tool of its name; raises ``UnknownToolError`` when there is none."""
        tool = self._tools.get(invocation.name)
        if tool is None:
            raise UnknownToolError(f"there is no tool {invocation.name!r}")
        return await tool.run(invocation, progress)
