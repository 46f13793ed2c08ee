"""What the cases about other people's part in a call share: tools with a policy, worlds over each store, a reviewer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.adapters.stores import MemoryStore, SqliteStore
from turnfold.effects.outcome import Outcome, Suspended
from turnfold.effects.question import CallPolicy, Confirm, Policy, Reconcile
from turnfold.effects.record import CallDecision, ToolCall
from turnfold.effects.tool import Control, Invocation, ToolResult

from tests.shells.world import Body, Mortal, Tool, World, echo, now

BUY = {"amount": 5}
"""What the model wants to pay."""


def policy_of(answer: CallPolicy | None) -> Policy:
    """A policy that says the same of every call."""

    async def policy(invocation: Invocation) -> CallPolicy | None:
        return answer

    return policy


async def confirm(invocation: Invocation) -> CallPolicy:
    """A policy that pauses every call."""
    return CallPolicy(confirm=Confirm({"why": "money"}))


class Paying(Tool):
    """A tool with side effects that pauses each call, unless it is given another policy."""

    def __init__(
        self,
        name: str = "pay",
        body: Body = echo,
        policy: Policy | None = confirm,
        reconcile: Reconcile | None = None,
        **traits: Any,
    ) -> None:
        super().__init__(name, body, **{"side_effects": True, **traits})
        self.policy = policy
        self.reconcile = reconcile

    @property
    def amounts(self) -> list[Any]:
        """What was paid, in order."""
        return [invocation.arguments.get("amount") for invocation in self.invocations]


def giving(answer: ToolResult | Control) -> Any:
    """A body that answers at once."""

    async def body(invocation: Invocation) -> ToolResult | Control:
        return answer

    return body


def panicking(error: BaseException) -> Body:
    """A body that raises."""

    async def body(invocation: Invocation) -> str:
        raise error

    return body


STORES = ["memory", "sqlite"]


def opened(kind: str, folder: Path) -> World:
    """A world over a store of this kind; for SQLite, each is a connection of its own to the same file."""
    return World(MemoryStore(now=now) if kind == "memory" else SqliteStore(folder / "runs.db", now=now))


async def paused(world: World, *tools: Tool, wanted: Any = None, **options: Any) -> ToolCall:
    """Run until the only call of ``pay`` is paused; the record."""
    await world.say("buy it")
    result = await world.run(ScriptedModel([wanted or call("pay", BUY)]), *tools, **options)
    assert isinstance(result.outcome, Suspended)
    return await world.call("pay")


async def decide(world: World, approved: bool = True, name: str = "pay", **members: Any) -> ToolCall:
    """Decide the only call of a tool, on the arguments it has."""
    record = await world.call(name)
    members.setdefault("digest", record.digest)
    return await world.store.decide("run", record.id, CallDecision(approved, **members))


async def crash(world: World, *tools: Tool, at: Callable[[str, Any], bool], model: ScriptedModel | None = None) -> None:
    """A process executes the run, and dies right before a write that ``at`` picks."""

    async def die(name: str, value: Any) -> None:
        if at(name, value):
            process.die()
            await trio.sleep_forever()

    process = Mortal(world, die)
    await process.run(model or ScriptedModel([]), *tools)


def statuses(outcome: Outcome | None) -> int:
    """How many calls an outcome waits for."""
    return len(outcome.waits_for) if isinstance(outcome, Suspended) else 0
