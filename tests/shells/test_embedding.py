"""The fold runs under asyncio as it does under trio: ``perform`` names no framework."""

import asyncio
import itertools
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from turnfold.adapters.models.scripted import ScriptedModel, call, say, think
from turnfold.adapters.stores import MemoryStore
from turnfold.core.run import Fold, Limits, RunSpec, rules_for
from turnfold.effects.feed import Claim, InputMessage, Watch
from turnfold.effects.lifecycle import CancelAsked, RunResult
from turnfold.effects.model import BlockDelta, ModelRequest, StreamFinished
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.record import CallStatus
from turnfold.effects.tool import Invocation
from turnfold.effects.values import replace
from turnfold.shells.perform import BATCH, Ports

from tests.shells.embedding_example import AsyncioDriver
from tests.shells.world import Tool, WatchedJournal, asked


class Messages:
    """A feed without signals."""

    def __init__(self, *texts: str) -> None:
        self.messages = [InputMessage(text, str(place)) for place, text in enumerate(texts)]

    def watch(self) -> AbstractAsyncContextManager[Watch]:
        raise NotImplementedError

    async def pending(self, after: int) -> int:
        return len(self.messages) if len(self.messages) > after else 0

    async def claim(self, after: int, through: int) -> Claim:
        return Claim(tuple(self.messages[after:through]), through)


def driver(model: Any, *tools: Tool, feed: Messages | None = None, limits: Limits | None = None) -> AsyncioDriver:
    ticks = itertools.count(1_000)
    spec = RunSpec("run", tools=tuple(tool.spec for tool in tools), limits=limits or Limits())
    named = {tool.spec.name: tool for tool in tools}
    store = MemoryStore(now=lambda: 0)
    ports = Ports(store.journal("run"), feed or Messages("hi"), model, named, lambda: next(ticks))
    return AsyncioDriver(Fold(rules_for(spec)), ports)


def execute(make: Any) -> RunResult:
    async def main() -> RunResult:
        return await asyncio.wait_for(make().run(b"seed"), 10)

    return asyncio.run(main())


def test_a_whole_run_works_under_asyncio() -> None:
    model = ScriptedModel([think("hm") + call("echo", {"x": 1}) + call("echo", {"x": 2}), "done"])
    result = execute(lambda: driver(model, Tool("echo")))
    assert result.outcome == Delivered("done", boundary=1)
    assert asked(model)[1][2:] == ['tool call-1: echo:{"x":1}', 'tool call-2: echo:{"x":2}']
    assert [record.status for record in result.calls] == [CallStatus.SUCCEEDED] * 2


def test_a_long_answer_reaches_the_fold_in_batches_of_bounded_size() -> None:
    class Talkative(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            for _ in range(3 * BATCH):
                yield BlockDelta(0, "x")
            yield StreamFinished()

    assert execute(lambda: driver(Talkative([]))).text == "x" * 3 * BATCH


def test_a_later_poll_finds_newer_input_without_signals() -> None:
    feed = Messages("one")

    async def wait(invocation: Invocation) -> str:
        feed.messages.append(InputMessage("two", "later"))
        await asyncio.sleep(0)
        return "waited"

    result = execute(lambda: driver(ScriptedModel([call("wait"), "2"]), Tool("wait", wait), feed=feed))
    assert result.outcome == Delivered("2", boundary=2)


@pytest.mark.parametrize("busy", ["model", "tool"])
def test_cancelling_works_under_asyncio(busy: str) -> None:
    async def wait(invocation: Invocation) -> str:
        await asyncio.Event().wait()
        return ""

    class Silent(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            yield BlockDelta(0, "half")
            await asyncio.Event().wait()

    async def main() -> RunResult:
        model = Silent([]) if busy == "model" else ScriptedModel([call("wait")])
        driving = driver(model, Tool("wait", wait, side_effects=True))
        task = asyncio.create_task(driving.run(b"seed"))
        for _ in range(50):
            await asyncio.sleep(0)
        driving.put(CancelAsked(2_000, "enough"))
        return await asyncio.wait_for(task, 10)

    result = asyncio.run(main())
    assert result.outcome == Failed(FailureKind.CANCELLED, "the run was cancelled: enough", boundary=1)
    assert [record.status for record in result.calls] == ([CallStatus.NEEDS_REVIEW] if busy == "tool" else [])
    assert [block.text for block in result.blocks] == (["half"] if busy == "model" else [""])


def test_a_wake_up_renews_the_lease_under_asyncio() -> None:
    renewals, enough = list[int](), asyncio.Event()

    async def wait(invocation: Invocation) -> str:
        await enough.wait()
        return "waited"

    async def note(name: str, value: Any) -> None:
        if name == "renew":
            renewals.append(value)
            if len(renewals) == 3:
                enough.set()

    def make() -> AsyncioDriver:
        driving = driver(ScriptedModel([call("wait"), say("done")]), Tool("wait", wait), limits=Limits(lease_ms=3_000))
        clock = itertools.count(1_000, 500)
        journal = WatchedJournal(MemoryStore(now=lambda: 0).journal("run"), note)
        driving.ports = replace(driving.ports, journal=journal, now=lambda: next(clock))
        driving.now = driving.ports.now
        return driving

    assert execute(make).text == "done"
    assert renewals[:3] == [1, 1, 1]
