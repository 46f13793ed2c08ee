"""A small world for runs: a store, a clock that only moves when nothing else does, tools with a body, and accidents.

Models are ``ScriptedModel``. ``World.run`` is ``Runtime.run`` with the world's store; everything else it is given goes
there as it is. ``Mortal`` is a journal that can die, as a process does: from then on nothing is written.
"""

import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio
from turnfold.adapters.models.scripted import ScriptedModel
from turnfold.adapters.stores import MemoryStore, Store
from turnfold.core.run import Retries
from turnfold.effects.codec import encode
from turnfold.effects.display import DisplayDelta, Snapshot, apply_delta
from turnfold.effects.feed import Claim, Feed, InputMessage, Watch
from turnfold.effects.journal import Begun, CallUpdate, Journal, Resume, Step
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.model import ModelPort, ModelRequest
from turnfold.effects.record import ToolCall
from turnfold.effects.tool import Control, Invocation, ToolResult, ToolSpec
from turnfold.effects.transcript import Message, ToolDeclaration, ToolResultMessage, text_of
from turnfold.shells.runtime import Runtime

EPOCH = 1_700_000_000_000
"""When the clock of every world starts, in milliseconds since the epoch."""

Body = Callable[[Invocation], Awaitable[ToolResult | Control | str]]
Progress = Callable[[ToolResult], Awaitable[None]]


def now() -> int:
    """The time of the world, in milliseconds since the epoch."""
    return EPOCH + round(trio.current_time() * 1000)


# --- tools


async def echo(invocation: Invocation) -> str:
    """The tool's name, a colon, and what it was given."""
    return f"{invocation.name}:{encode(dict(invocation.arguments)).decode()}"


async def hang(invocation: Invocation) -> str:
    """Never comes back by itself."""
    await trio.sleep_forever()
    raise AssertionError("unreachable")


def answer_after(seconds: float, text: str = "late") -> Body:
    """A body that takes its time."""

    async def body(invocation: Invocation) -> str:
        await trio.sleep(seconds)
        return text

    return body


class Tool:
    """A tool with a body; ``invocations`` are those it saw, in the order in which it was started."""

    def __init__(self, name: str, body: Body = echo, **traits: Any) -> None:
        self.spec = ToolSpec(ToolDeclaration(name), **traits)
        self.invocations: list[Invocation] = []
        self.body = body

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult | Control:
        self.invocations.append(invocation)
        result = await self.body(invocation)
        return ToolResult(result) if isinstance(result, str) else result


# --- the world


class World:
    """A store and a runtime on one clock, and a conversation whose messages are numbered from 1."""

    def __init__(self, store: Store | None = None, **runtime: Any) -> None:
        numbers = itertools.count(1)
        self.store = store or MemoryStore(now=now, new_id=lambda: f"m{next(numbers)}")
        self.runtime = Runtime(now=now, **runtime)

    async def say(self, text: str, **members: Any) -> int:
        """Add a message; its number."""
        return (await self.store.append("talk", InputMessage(text, **members)))[0]

    async def run(self, model: ModelPort, *tools: Tool, **options: Any) -> RunResult:
        """Execute the run, from its start or from where it was left; a model that fails is not asked again."""
        options.setdefault("retries", Retries(times=0))
        options.setdefault("feed", self.store.feed("talk"))
        options.setdefault("journal", self.store.journal("run"))
        return await self.runtime.run("run", model=model, tools=tools, **options)

    async def stored(self) -> Resume:
        """What the store has of the run."""
        resume = await self.store.load("run")
        assert resume is not None
        return resume

    async def call(self, name: str) -> ToolCall:
        """The stored record of the only call of a tool."""
        (found,) = [call for call in (await self.stored()).calls if call.name == name]
        return found

    async def settle(self, name: str, **fields: Any) -> None:
        """Write what the host knows of the only call of a tool."""
        await self.store.settle("run", CallUpdate((await self.call(name)).id, **fields))


def seen(request: ModelRequest) -> list[str]:
    """What a model was shown, one text a message: ``role: text``, with a mark where a result is an error."""
    return [f"{_role(message)}: {text_of(message)}" for message in request.messages]  # type: ignore[arg-type]


def _role(message: Message) -> str:
    if isinstance(message, ToolResultMessage):
        return f"tool {message.call_id}!" if message.is_error else f"tool {message.call_id}"
    return type(message).__name__.removesuffix("Message").lower()


def asked(model: ScriptedModel) -> list[list[str]]:
    """What a model was shown, request by request."""
    return [seen(request) for request in model.requests]


class Viewer:
    """Somebody who watches a run: applies every delta to an empty snapshot, and keeps them with their times."""

    def __init__(self, stream: str = "s") -> None:
        self.snapshot = Snapshot(stream)
        self.deltas: list[tuple[int, DisplayDelta]] = []

    def __call__(self, delta: DisplayDelta) -> None:
        self.deltas.append((now(), delta))
        self.snapshot = apply_delta(self.snapshot, delta)


# --- ports with accidents


Before = Callable[[str, Any], Awaitable[None]]


class WatchedJournal:
    """A journal that tells ``before`` of each write, by name, and ``after`` when it is done; both may raise or wait."""

    def __init__(self, inner: Journal, before: Before | None = None, after: Before | None = None) -> None:
        self._inner = inner
        self._before = before or _nothing
        self._after = after or _nothing

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        await self._before("begin", take_over)
        begun = await self._inner.begin(lease_ms, take_over)
        await self._after("begin", take_over)
        return begun

    async def renew(self, attempt: int, lease_ms: int) -> None:
        await self._before("renew", attempt)
        await self._inner.renew(attempt, lease_ms)
        await self._after("renew", attempt)

    async def save_step(self, attempt: int, step: Step) -> None:
        await self._before("save_step", step)
        await self._inner.save_step(attempt, step)
        await self._after("save_step", step)

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        await self._before("save_call", call)
        saved = await self._inner.save_call(attempt, call)
        await self._after("save_call", call)
        return saved

    async def end(self, attempt: int) -> None:
        await self._before("end", attempt)
        await self._inner.end(attempt)
        await self._after("end", attempt)


async def _nothing(name: str, value: Any) -> None:
    return None


@attrs.define
class Mortal:
    """A process that can die: ``run`` executes in it until somebody calls ``die``. Nothing is written afterwards, ever.

    ``before`` is told of each write that it is about to do.
    """

    world: World
    before: Before = _nothing
    dead: bool = False
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)

    @property
    def journal(self) -> WatchedJournal:
        """The journal of the run, for as long as the process lives."""
        return WatchedJournal(self.world.store.journal("run"), self._before, self._live)

    async def _before(self, name: str, value: Any) -> None:
        await self.before(name, value)
        await self._live(name, value)

    async def _live(self, name: str, value: Any) -> None:
        if self.dead:
            await trio.sleep_forever()

    def die(self) -> None:
        """Stop, here and now."""
        self.dead = True
        self.scope.cancel()

    async def run(self, model: ModelPort, *tools: Tool, **options: Any) -> None:
        """Execute the run until the process dies."""
        runtime = attrs.evolve(self.world.runtime, settle_s=0.0)
        with self.scope:
            await runtime.run(
                "run",
                model=model,
                tools=tools,
                journal=self.journal,
                feed=self.world.store.feed("talk"),
                **options,
            )
        assert self.dead


class WatchedFeed:
    """A feed that records what it was asked, and whose answers ``change`` may replace."""

    def __init__(self, inner: Feed, change: Callable[[str, Any], Any] | None = None) -> None:
        self._inner = inner
        self._change = change or (lambda name, value: value)
        self.asked: list[tuple[str, int, int]] = []

    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[Watch, None]:
        async with self._inner.watch() as watch:
            yield self._change("watch", watch)

    async def pending(self, after: int) -> int:
        self.asked.append(("pending", after, 0))
        found: int = self._change("pending", await self._inner.pending(after))
        return found

    async def claim(self, after: int, through: int) -> Claim:
        self.asked.append(("claim", after, through))
        found: Claim = self._change("claim", await self._inner.claim(after, through))
        return found

    @property
    def claims(self) -> list[tuple[int, int]]:
        """The bounds of every claim."""
        return [(after, through) for name, after, through in self.asked if name == "claim"]


def texts(result: RunResult) -> Sequence[str]:
    """The texts of a result's blocks."""
    return [block.text for block in result.blocks]
