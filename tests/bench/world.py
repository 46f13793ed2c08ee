"""The scripted world that the benchmark runs: a model that asks for one trivial tool a step, and then says so."""

from collections.abc import AsyncIterator, Awaitable, Callable

from turnfold.effects.codec import encode, encode_outcome
from turnfold.effects.journal import Begun, Journal, Step
from turnfold.effects.model import (
    BlockDelta,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelRequest,
    Started,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.record import ToolCall
from turnfold.effects.tool import Invocation, ToolResult, ToolSpec
from turnfold.effects.transcript import StopReason, ToolDeclaration, Usage

RESULT = "x" * 100


class StepModel:
    """Asks for ``echo`` in each of ``steps`` answers, then says ``done``."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.asked += 1
        yield Started(model="scripted")
        if self.asked <= self.steps:
            yield BlockStarted(0, DeltaKind.CALL, f"call_{self.asked}", "echo")
            yield BlockDelta(0, '{"x":"1"}')
            yield UsageReported(Usage(input=10, output=2))
            yield StreamFinished(StopReason.TOOL_USE)
        else:
            yield BlockStarted(0, DeltaKind.TEXT)
            yield BlockDelta(0, "done")
            yield UsageReported(Usage(input=10, output=2))
            yield StreamFinished(StopReason.STOP)


class TextModel:
    """Says one text in ``deltas`` pieces of five characters."""

    def __init__(self, deltas: int) -> None:
        self.deltas = deltas

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        yield Started(model="scripted")
        yield BlockStarted(0, DeltaKind.TEXT)
        for _ in range(self.deltas):
            yield BlockDelta(0, "word ")
        yield StreamFinished()


class Echo:
    """A trivial tool with a result of a hundred bytes."""

    spec = ToolSpec(ToolDeclaration("echo", "Answer with a hundred bytes."), replayable=True)

    async def run(self, invocation: Invocation, progress: Callable[[ToolResult], Awaitable[None]]) -> ToolResult:
        return ToolResult(RESULT)


class CountingJournal:
    """A journal that counts the logical bytes that pass it: what a step or a call is, encoded, without any framing."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.bytes = 0
        self.writes = 0

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        return await self._journal.begin(lease_ms, take_over)

    async def renew(self, attempt: int, lease_ms: int) -> None:
        await self._journal.renew(attempt, lease_ms)

    async def save_step(self, attempt: int, step: Step) -> None:
        self.bytes += step_bytes(step)
        self.writes += 1
        await self._journal.save_step(attempt, step)

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        self.bytes += len(encode(call))
        self.writes += 1
        return await self._journal.save_call(attempt, call)

    async def end(self, attempt: int) -> None:
        await self._journal.end(attempt)


def step_bytes(step: Step) -> int:
    """The bytes of a step's parts as they are stored."""
    total = len(step.state) + len(encode(step.usage)) + len(encode_outcome(step.outcome))
    total += sum(len(entry) for change in step.logs.values() for entry in change.append)
    total += sum(len(value or b"") for value in step.values.values())
    total += sum(len(encode(item)) for item in (*step.changes.blocks, *step.changes.calls))
    return total + sum(len(item) for item in (*step.changes.removed_blocks, *step.changes.removed_calls))
