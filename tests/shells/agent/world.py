"""Models and tools for an agent, and how a test runs on trio and on asyncio."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import anyio
import pytest
from turnfold.effects.agent import AgentEvent
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelRequest,
    Started,
    StreamFinished,
)
from turnfold.effects.tool import Invocation, ToolResult, ToolSpec
from turnfold.effects.transcript import AssistantMessage, CallPart, StopReason, TextPart, ToolDeclaration
from turnfold.shells.agent_tools import Progress

from tests.core.agent.world import short

both = pytest.mark.parametrize("backend", ["trio", "asyncio"])
"""A test that runs under both frameworks: it takes ``backend`` and calls ``run``."""


def run(backend: str, scene: Callable[[], Awaitable[Any]]) -> Any:
    """Run a scene; one that hangs fails instead."""

    async def guarded() -> Any:
        with anyio.fail_after(20):
            return await scene()

    return anyio.run(guarded, backend=backend)


def say(text: str) -> tuple[Delta, ...]:
    return (
        Started("api", "acme", "m1"),
        BlockStarted(0, DeltaKind.TEXT),
        BlockDelta(0, text),
        StreamFinished(),
    )


def use(*calls: CallPart) -> tuple[Delta, ...]:
    return (StreamFinished(message=AssistantMessage(calls, stop=StopReason.TOOL_USE)),)


def call(call_id: str, name: str = "clock") -> CallPart:
    return CallPart(call_id, name, "{}")


class Model:
    """Answers one script after the other; ``None`` in a script waits until the call is cut off."""

    def __init__(self, *answers: Sequence[Delta | None] | Exception) -> None:
        self.requests: list[ModelRequest] = []
        self.cut = 0
        self._answers = iter(answers)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.requests.append(request)
        answer = next(self._answers, say("done"))
        if isinstance(answer, Exception):
            raise answer
        for delta in answer:
            if delta is None:
                try:
                    await anyio.sleep_forever()
                finally:
                    self.cut += 1
            else:
                yield delta


class Tool:
    """A tool that does what a function says."""

    def __init__(
        self, act: Callable[[Invocation, Progress], Awaitable[ToolResult]], name: str = "clock", **traits: Any
    ) -> None:
        self.spec = ToolSpec(ToolDeclaration(name), **traits)
        self.invocations: list[Invocation] = []
        self._act = act

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult:
        self.invocations.append(invocation)
        return await self._act(invocation, progress)


async def noon(invocation: Invocation, progress: Progress) -> ToolResult:
    return ToolResult((TextPart("noon"),))


async def never(invocation: Invocation, progress: Progress) -> ToolResult:
    await anyio.sleep_forever()
    raise AssertionError("not reached")


class Log:
    """A listener that keeps what it heard."""

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []

    def __call__(self, event: AgentEvent) -> None:
        self.events.append(event)

    @property
    def short(self) -> list[str]:
        return [short(event) for event in self.events]
