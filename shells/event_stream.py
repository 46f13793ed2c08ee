"""A run as a stream: its events one by one, and its result, whoever reads.

One reader. Up to ``BOUND`` events wait for it; when they are that many, deltas of one block are merged, and when that
does not help the run waits. ``await stream.result()`` without a reader discards events instead. A failure ends the
iteration (after its closing events) and raises from ``result``.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType

import anyio
import anyio.abc

from ..effects.agent import AgentEvent, MessageUpdated, Settled
from ..effects.model import BlockDelta
from ..effects.transcript import Message
from .agent_errors import AgentError, AgentFailed, StreamMisused

__all__ = ["BOUND", "AgentStream", "Take"]

BOUND = 1024
"""How many events may wait for their reader."""

Take = Callable[[AgentEvent], Awaitable[None]]
Run = Callable[[Take], Awaitable[Settled]]


class AgentStream:
    """One run that was asked for, and has not begun until it is entered, read or awaited.

    Leaving ``async with`` before the end aborts the run and waits until it has settled. Outside of ``async with`` the
    run lives in the agent's own context, which must be entered then.
    """

    def __init__(self, run: Run, abort: Callable[[Take], None], home: anyio.abc.TaskGroup | None) -> None:
        self._run = run
        self._abort = abort
        self._home = home
        self._events: deque[AgentEvent] = deque()
        self._settled: Settled | None = None
        self._error: AgentError | None = None
        self._over = anyio.Event()
        self._changed = anyio.Event()
        self._begun = False
        self._reader: int | None = None
        self._discarding = False
        self._left = False
        self._begins: Callable[[], None] | None = None

    async def _execute(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        self._begins = task_status.started
        try:
            self._settled = Settled() if self._left else await self._run(self._take)
        except AgentError as error:
            self._error = error
        finally:
            self._over.set()
            self._stir()
            self._has_begun()

    def _has_begun(self) -> None:
        """Whoever entered the stream may go on: there is a first event, or there will be none."""
        begins, self._begins = self._begins, None
        if begins is not None:
            begins()

    async def _take(self, event: AgentEvent) -> None:
        self._has_begun()
        while not self._discarding and len(self._events) >= BOUND and not self._merge():
            await self._change()
        if not self._discarding:
            self._events.append(event)
            self._stir()

    def _merge(self) -> bool:
        """Merge deltas of one block that follow each other; whether there is room now."""
        merged: deque[AgentEvent] = deque()
        texts: list[str] = []
        for event in self._events:
            last = merged[-1] if merged else None
            if not _same_block(last, event):
                _put_texts(merged, texts)
            elif isinstance(event, MessageUpdated) and isinstance(event.delta, BlockDelta):
                merged.pop()
            if isinstance(event, MessageUpdated) and isinstance(event.delta, BlockDelta):
                texts.append(event.delta.text)
            merged.append(event)
        _put_texts(merged, texts)
        self._events = merged
        return len(merged) < BOUND

    def _stir(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _change(self) -> None:
        await self._changed.wait()

    def _begin(self, tasks: anyio.abc.TaskGroup | None) -> None:
        if self._begun:
            return
        if tasks is None:
            raise StreamMisused("use `async with agent.stream(...)`, or enter the agent with `async with` first")
        self._begun = True
        tasks.start_soon(self._execute)

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        """The events, from where the reader is. A second reader is an error; ``Agent.subscribe`` serves more."""
        if self._reader is not None:
            raise StreamMisused("a stream has one reader; use agent.subscribe(...) for more")
        self._reader = anyio.get_current_task().id
        self._begin(self._home)
        return self._read()

    async def _read(self) -> AsyncIterator[AgentEvent]:
        while True:
            while self._events:
                event = self._events.popleft()
                self._stir()
                yield event
            if self._over.is_set():
                break
            await self._change()
        if self._error is not None:
            raise self._error

    async def result(self) -> tuple[Message, ...]:
        """The messages that the run added, once it is over.

        Raises ``AgentFailed`` for a run that failed, and what ``Agent.prompt`` raises for one that could not begin.
        """
        self._begin(self._home)
        if self._reader is None or self._reader == anyio.get_current_task().id:
            self._discard()
        await self._over.wait()
        if self._error is not None:
            raise self._error
        assert self._settled is not None
        if self._settled.failure is not None:
            raise AgentFailed(self._settled.failure)
        return tuple(self._settled.messages)

    def _discard(self) -> None:
        """Nobody will read what comes: the one who could is waiting for the end."""
        self._discarding = True
        self._events.clear()
        self._stir()

    async def __aenter__(self) -> "AgentStream":
        """Begin the run; raises what ``Agent.prompt`` raises for one that cannot begin."""
        self._begun = True
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        await self._tasks.start(self._execute)
        if self._error is not None:
            await self._tasks.__aexit__(None, None, None)
            raise self._error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Abort the run if it is not over, and wait until it has settled."""
        self._left = True
        self._abort(self._take)
        self._discard()
        with anyio.CancelScope(shield=True):
            await self._over.wait()
        return await self._tasks.__aexit__(None, None, None) and False


def _same_block(one: AgentEvent | None, other: AgentEvent) -> bool:
    return (
        isinstance(one, MessageUpdated)
        and isinstance(other, MessageUpdated)
        and isinstance(one.delta, BlockDelta)
        and isinstance(other.delta, BlockDelta)
        and one.delta.index == other.delta.index
    )


def _put_texts(merged: deque[AgentEvent], texts: list[str]) -> None:
    """Give the last event the texts of all that were merged into it."""
    if len(texts) > 1:
        last = merged.pop()
        assert isinstance(last, MessageUpdated)
        assert isinstance(last.delta, BlockDelta)
        merged.append(MessageUpdated(last.partial, BlockDelta(last.delta.index, "".join(texts))))
    texts.clear()
