"""What the cases share: tools that wait, hand over or end the run, a guard with its verdicts, processes that die."""

from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

import trio
from turnfold.adapters.models.scripted import ScriptedModel
from turnfold.adapters.stores import MemoryStore, SqliteStore, Store
from turnfold.core.run import Extension
from turnfold.effects.feed import InputMessage
from turnfold.effects.model import Delta, ModelRequest
from turnfold.effects.outcome import Failed, FailureKind
from turnfold.effects.question import CallPolicy, Policy, TurnView, Verdict
from turnfold.effects.record import Completion, CompletionSource
from turnfold.effects.tool import Await, Complete, Detached, Invocation, ToolResult

from tests.shells.world import Mortal, Tool, Viewer, World, now

STORES = ("memory", "sqlite")


def store_of(kind: str, folder: Path) -> Store:
    """An empty store of a kind of ``STORES``."""
    return MemoryStore(now=now) if kind == "memory" else SqliteStore(folder / "runs.db", now=now)


def finishing(name: str = "finish", *, fixed: bool = False, **traits: Any) -> Tool:
    """A tool that ends the run with its arguments; it takes no negative ``v``."""

    async def finish(invocation: Invocation) -> Any:
        if invocation.arguments.get("v", 0) < 0:
            raise ValueError("v is negative")
        return Complete(dict(invocation.arguments), fixed)

    return Tool(name, finish, completion=True, **traits)


class Fallback:
    """A function that stands in for an answer; ``reasons`` are those it was asked for."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def __call__(self, reason: str) -> dict[str, str]:
        self.reasons.append(reason)
        return {"because": reason}


def of_tool(record_id: str, fixed: bool = False, value: str = '{"v":1}') -> Completion:
    """What a tool of ``finishing`` ends a run with."""
    return Completion(CompletionSource.TOOL, value, fixed, record_id)


def of_fallback(reason: str) -> Completion:
    """What a ``Fallback`` ends a run with."""
    return Completion(CompletionSource.FALLBACK, f'{{"because":"{reason}"}}', fixed=True, reason=reason)


def asking(name: str = "ask") -> Tool:
    """A tool whose result comes from outside."""

    async def ask(invocation: Invocation) -> Any:
        return Await({"for": invocation.key})

    return Tool(name, ask)


def detaching(name: str = "order") -> Tool:
    """A tool whose work goes on without the run."""

    async def order(invocation: Invocation) -> Any:
        return Detached("order 66 is on its way", {"order": 66})

    return Tool(name, order)


def always(policy: CallPolicy | None) -> Policy:
    """A policy that says the same of every call."""

    async def answer(invocation: Invocation) -> CallPolicy | None:
        return policy

    return answer


Ruling = Verdict | Callable[[TurnView], Verdict]


class Judge:
    """A guard with prepared verdicts; ``views`` are what it was shown."""

    def __init__(self, *verdicts: Ruling) -> None:
        self.views: list[TurnView] = []
        self._verdicts = list(verdicts)

    async def review(self, view: TurnView) -> Verdict:
        self.views.append(view)
        verdict = self._verdicts.pop(0)
        return verdict(view) if callable(verdict) else verdict


class Overtaking(Judge):
    """A guard during whose first review somebody says something."""

    def __init__(self, world: World, text: str, *verdicts: Ruling) -> None:
        super().__init__(*verdicts)
        self._world, self._text = world, text

    async def review(self, view: TurnView) -> Verdict:
        if not self.views:
            await self._world.say(self._text)
            await trio.sleep(1)
        return await super().review(view)


class Interrupted(ScriptedModel):
    """A model during whose first answer somebody says something."""

    def __init__(self, world: World, script: list[Any], said: str) -> None:
        super().__init__(script)
        self._world, self._said = world, [said]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        async for delta in super().stream(request):
            while self._said:
                await self._world.say(self._said.pop())
                await trio.sleep(1)
            yield delta


class Seen(ScriptedModel):
    """A model that remembers what a viewer saw whenever it was asked."""

    def __init__(self, viewer: Viewer, *script: Any) -> None:
        super().__init__(script, sleep=trio.sleep)
        self.shown: list[tuple[str, list[str]]] = []
        self._viewer = viewer

    def stream(self, request: Any) -> Any:
        snapshot = self._viewer.snapshot
        self.shown.append((snapshot.candidate, [view.text for view in snapshot.blocks]))
        return super().stream(request)


def failure(result: Any) -> tuple[FailureKind, int]:
    """How a run failed, and the boundary it told."""
    assert isinstance(result.outcome, Failed)
    return result.outcome.kind, result.outcome.boundary


class Claims(Extension):
    """Counts claims."""

    name = "claims"

    def start(self) -> int:
        return 0

    def on_claim(self, state: int, messages: tuple[InputMessage, ...]) -> int:
        return state + 1

    def instruction(self, state: int) -> str:
        return f"Claims so far: {state}."


def dying_at(world: World, when: Callable[[str, Any], bool]) -> Mortal:
    """A process that dies just before the first write of which ``when`` says so."""
    process = Mortal(world)

    async def before(name: str, value: Any) -> None:
        if when(name, value):
            process.die()
            await trio.sleep_forever()

    process.before = before
    return process


def killing(process: Mortal, name: str, **traits: Any) -> Tool:
    """A tool during which its process dies."""

    async def kill(invocation: Invocation) -> ToolResult:
        await trio.sleep(1)
        process.die()
        await trio.sleep_forever()
        raise AssertionError("unreachable")

    return Tool(name, kill, **traits)


def told(error: str) -> str:
    """The end of a line of ``asked`` for a call that failed with a text."""
    return f'{{"error":"{error}"}}'


NOTED: Mapping[str, str] = {"checked": "yes"}
