"""The tools of an agent: which name calls which, how its arguments are checked, and how it is carried out."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, cast

from ..core.arguments import Accepted, ToolArguments, prepare
from ..effects.schema import SchemaChecker
from ..effects.tool import Control, Invocation, ToolResult, ToolSpec

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

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult | Control:
        """Carry out one call; an exception's text goes to the model."""
        ...


class Toolshed:
    """The tools that may be called now. Of several with one name, the first one is.

    Schemas are made ready when a tool is taken, once: one that cannot be checked raises ``SchemaError`` there. Without
    a ``checker`` nothing is checked.
    """

    def __init__(self, tools: Iterable[AgentTool] = (), checker: SchemaChecker | None = None) -> None:
        self._checker = checker
        self.tools: tuple[AgentTool, ...] = ()
        self._tools: Mapping[str, AgentTool] = {}
        self._prepared: Mapping[str, tuple[ToolSpec, ToolArguments]] = {}
        self.specs: tuple[ToolSpec, ...] = ()
        self.take(tools)

    def copy(self) -> "Toolshed":
        """A shed of its own, for one run, with the same tools."""
        copied = Toolshed((), self._checker)
        copied.tools, copied.specs = self.tools, self.specs
        copied._tools, copied._prepared = self._tools, self._prepared
        return copied

    def take(self, tools: Iterable[AgentTool]) -> tuple[ToolSpec, ...]:
        """Exchange them all; what the fold needs to know of the new ones."""
        given = [(tool, tool.spec) for tool in tools]
        first = {spec.name: (tool, spec) for tool, spec in reversed(given)}
        self._prepared = {name: (spec, self._prepare(spec)) for name, (_, spec) in first.items() if self._checker}
        self._tools = {name: tool for name, (tool, _) in first.items()}
        self.tools, self.specs = tuple(tool for tool, _ in given), tuple(spec for _, spec in given)
        return self.specs

    def _prepare(self, spec: ToolSpec) -> ToolArguments:
        known, prepared = self._prepared.get(spec.name, (None, None))
        if prepared is not None and (known is spec or known == spec):
            return prepared
        assert self._checker is not None
        schema = spec.declaration.parameters
        return prepare(spec.name, schema, self._checker, coercing=spec.coerces, defaulting=spec.defaults)

    def check(self, tool: ToolSpec, arguments: Any) -> Accepted | str:
        """The arguments of a call as its tool may get them, or what is wrong with them."""
        _, prepared = self._prepared.get(tool.name, (None, None))
        return Accepted(arguments) if prepared is None else prepared.check(arguments)

    def prepare(self, name: str, arguments: Any) -> Any:
        """The arguments as the tool wants them checked, or something to await for them."""
        return cast("Any", self._tools[name]).prepare(arguments)

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult:
        """Carry out one call. A call that somebody else is to finish needs a durable run, and fails here."""
        result = await self._tools[invocation.name].run(invocation, progress)
        if isinstance(result, Control):
            raise TypeError(f"the tool answered with {type(result).__name__}, which only a durable run can carry out")
        return result
