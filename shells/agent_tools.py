"""The tools of an agent: what is called by which name just now, and how a call is carried out."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, cast

from ..effects.tool import Invocation, ToolResult, ToolSpec

__all__ = ["AgentTool", "Progress", "Toolshed"]


class Progress:
    """How a running tool shows something, and how it learns that it should stop.

    Awaiting it returns when listeners have seen the update; it never raises, and says nothing once the call is over.
    """

    __slots__ = ("_aborted", "_send")

    def __init__(self, send: Callable[[ToolResult], Awaitable[None]], aborted: Callable[[], bool]) -> None:
        self._send = send
        self._aborted = aborted

    async def __call__(self, update: ToolResult) -> None:
        """Show an update."""
        await self._send(update)

    @property
    def aborted(self) -> bool:
        """Whether the run was aborted: a tool that goes on is cut off after the grace."""
        return self._aborted()


class AgentTool(Protocol):
    """A tool an agent can be given. One whose ``spec.prepares`` also has ``prepare(arguments)``, plain or async."""

    @property
    def spec(self) -> ToolSpec:
        """Its declaration and traits."""
        ...

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult:
        """Carry out one call; an exception's text goes to the model."""
        ...


class Toolshed:
    """The tools that may be called now. Of several with one name, the first one is."""

    def __init__(self, tools: Iterable[AgentTool] = ()) -> None:
        self._tools: Mapping[str, AgentTool] = {}
        self.specs = self.take(tools)

    def take(self, tools: Iterable[AgentTool]) -> tuple[ToolSpec, ...]:
        """Exchange them all; what the fold needs to know of the new ones."""
        given = tuple(tools)
        self._tools = {tool.spec.name: tool for tool in reversed(given)}
        return tuple(tool.spec for tool in given)

    async def prepare(self, name: str, arguments: Any) -> Any:
        """The arguments as the tool wants them checked."""
        prepare = cast("Callable[[Any], Any]", self._tools[name].prepare)  # type: ignore[attr-defined]
        prepared = prepare(arguments)
        return await prepared if inspect.isawaitable(prepared) else prepared

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult:
        """Carry out one call."""
        return await self._tools[invocation.name].run(invocation, progress)
