"""The fold in a framework of your own: a whole durable run under asyncio, in fifty lines.

``shells.perform`` names no framework, so what is left is a queue, a task for each order, and what becomes of a task
that is told to stop. ARCHITECTURE.md quotes the class.
"""

import asyncio
from typing import Any

from turnfold.core.run import Fold
from turnfold.effects.clock import WakeAt, Woke
from turnfold.effects.feed import ClaimInput, FeedWatched, PollFeed, WatchFeed
from turnfold.effects.lifecycle import Publish, RunEnded, RunResult, RunStarted
from turnfold.effects.model import CallModel, CancelModel, Delta, ModelCutOff, ModelStreamed
from turnfold.effects.tool import CancelTool, RunTool, ToolCutOff
from turnfold.shells.perform import Ports, perform_feed, perform_journal, perform_tool, stream_model


class AsyncioDriver:
    def __init__(self, fold: Fold, ports: Ports) -> None:
        self.fold, self.ports, self.now = fold, ports, ports.now
        self.inbox: asyncio.Queue[Any] = asyncio.Queue()
        self.put = self.inbox.put_nowait
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.taken = asyncio.Event()

    async def run(self, seed: bytes) -> RunResult:
        state, event = self.fold.start(), RunStarted(self.now(), seed)
        async with asyncio.TaskGroup() as group:
            while True:
                state, effects = self.fold.reduce(state, event)
                for effect in effects:
                    ticket = getattr(effect, "ticket", 0)  # a wake-up has none: a later one replaces an earlier one
                    if isinstance(effect, RunEnded):
                        for task in self.tasks.values():
                            task.cancel()
                        return effect.result
                    if isinstance(effect, CancelModel | CancelTool | WakeAt) and ticket in self.tasks:
                        self.tasks[ticket].cancel()
                    if not isinstance(effect, CancelModel | CancelTool | Publish):  # viewers would be told here
                        self.tasks[ticket] = group.create_task(self.perform(effect))
                event = await self.inbox.get()
                if isinstance(event, tuple):  # what a buffer of deltas holds by now is one batch
                    ticket, buffer = event
                    event = ModelStreamed(self.now(), ticket, tuple(buffer))
                    buffer.clear()
                    self.taken.set()

    async def perform(self, order: Any) -> None:
        try:
            match order:
                case CallModel():
                    await stream_model(order, self.ports.model, self, self.now)
                case RunTool():
                    self.put(await perform_tool(order, self.ports.tools, self, self.now))
                case PollFeed() | ClaimInput():
                    self.put(await perform_feed(order, self.ports.feed, self.now))
                case WatchFeed():
                    self.put(FeedWatched(self.now(), order.ticket))  # without signals: the run also polls
                case WakeAt(at=at):
                    await asyncio.sleep((at - self.now()) / 1000)
                    self.put(Woke(self.now()))
                case _:
                    self.put(await perform_journal(order, self.ports.journal, self.now))
        except asyncio.CancelledError:
            if isinstance(order, CallModel):
                self.put(ModelCutOff(self.now(), order.ticket))
            elif isinstance(order, RunTool):
                self.put(ToolCutOff(self.now(), order.ticket))

    def put_deltas(self, ticket: int, buffer: list[Delta]) -> None:
        self.put((ticket, buffer))

    async def drained(self, buffer: list[Delta]) -> None:
        self.taken.clear()
        await self.taken.wait()
