"""``MemoryStore``: everything in one process, nothing after it. What tests, the simulator and short-lived runs use.

Read top-down: the store with the host's writes, the journal of a run, the feed of a conversation; ``memory_kept`` has
what they keep. Nothing is awaited but new input, so every write is one step for everybody else.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Self

from ...effects.codec import encode
from ...effects.feed import NO_META, Claim, InputMessage, Watch
from ...effects.journal import Begun, CallUpdate, Changes, LogChange, Resume, Step, merge_call
from ...effects.outcome import Completed, Delivered, Outcome
from ...effects.record import CallDecision, ToolCall, validate_call
from .errors import RunTaken, UnknownCall, UnknownRun
from .memory_kept import NO_RUN, Conversation, MemoryRun, Saved, own_call, own_message
from .rules import (
    MAX_BYTES,
    Admit,
    admitted,
    check_attempt,
    check_cut,
    check_lease,
    check_size,
    claimed_end,
    clean_message,
    clean_update,
    listed,
    overlaid,
    random_id,
    wall_clock,
)
from .signals import Signals
from .store import RunSummary, WaitingCall

__all__ = ["MemoryFeed", "MemoryJournal", "MemoryStore"]


class MemoryStore:
    """A store in memory.

    ``now`` gives the time in milliseconds since the epoch (leases are counted by it), ``new_id`` the ids of messages
    that come without one, and ``admit`` may refuse a call that is about to be submitted or paused.
    """

    def __init__(
        self,
        *,
        now: Callable[[], int] = wall_clock,
        new_id: Callable[[], str] = random_id,
        admit: Admit | None = None,
    ) -> None:
        self._now = now
        self._new_id = new_id
        self._admit = admit
        self._runs: dict[str, MemoryRun] = {}
        self._conversations: dict[str, Conversation] = {}
        self._signals = Signals()

    def journal(self, run_id: str) -> "MemoryJournal":
        """The journal of a run."""
        return MemoryJournal(run_id, self._runs, self._now, self._admit)

    def feed(self, conversation: str) -> "MemoryFeed":
        """The feed of a conversation."""
        return MemoryFeed(self._conversation(conversation), self._signals)

    async def create_run(self, run_id: str, conversation: str = "", meta: Mapping[str, str] = NO_META) -> RunSummary:
        """Register a run; raises ``RunTaken`` when it belongs to another conversation."""
        now = self._now()
        run = self._runs.get(run_id) or MemoryRun(now)
        if conversation and run.conversation and run.conversation != conversation:
            raise RunTaken(run_id, run.conversation)
        run.conversation = run.conversation or conversation
        run.meta = {**run.meta, **meta}
        run.touched_at = now
        self._runs[run_id] = run
        return run.summary(run_id, now)

    async def run(self, run_id: str) -> RunSummary | None:
        """What is known of a run, or nothing."""
        run = self._runs.get(run_id)
        return run and run.summary(run_id, self._now())

    async def runs(self, limit: int = 50, conversation: str | None = None) -> tuple[RunSummary, ...]:
        """The runs (of one conversation), the last touched first."""
        found = [item for item in reversed(self._runs.items()) if conversation in (None, item[1].conversation)]
        found.sort(key=lambda item: item[1].touched_at, reverse=True)
        return tuple(run.summary(run_id, self._now()) for run_id, run in found[: listed(limit)])

    async def load(self, run_id: str) -> Resume | None:
        """All that is stored of a run, or nothing."""
        run = self._runs.get(run_id)
        return run and run.resume()

    async def call(self, run_id: str, call_id: str) -> ToolCall | None:
        """The merged record of one call, or nothing."""
        run = self._runs.get(run_id)
        call = run and run.calls.get(call_id)
        return call and own_call(call)

    async def calls(self, beginning: str, limit: int = 50) -> tuple[tuple[str, ToolCall], ...]:
        """The calls of all runs whose ids begin so."""
        found = [
            (run_id, own_call(run.calls[call_id]))
            for run_id, run in self._runs.items()
            for call_id in run.calls
            if call_id.startswith(beginning)
        ]
        found.sort(key=lambda pair: (pair[1].id, pair[0]))
        return tuple(found[: listed(limit)])

    async def waiting(self, limit: int = 50, conversation: str | None = None) -> tuple[WaitingCall, ...]:
        """The calls that wait for somebody, the longest first."""
        found = [
            call
            for run_id, run in self._runs.items()
            if conversation in (None, run.conversation)
            for call in run.waiting(run_id, self._now())
        ]
        found.sort(key=lambda call: call.since)
        return tuple(found[: listed(limit)])

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        """Write what the host knows of a call."""
        run = self._runs.get(run_id)
        if run is None:
            raise UnknownRun(run_id)
        stored = run.calls.get(update.id)
        if stored is None:
            raise UnknownCall(run_id, update.id)
        now = self._now()
        call = overlaid(stored, clean_update(update), now)
        run.put(call, now)
        run.touched_at = now
        return own_call(call)

    async def decide(self, run_id: str, call_id: str, decision: CallDecision) -> ToolCall:
        """Decide a call, once."""
        return await self.settle(run_id, CallUpdate(call_id, decision=decision))

    async def append(self, conversation: str, message: InputMessage) -> tuple[int, InputMessage]:
        """Add a message and wake whoever watches."""
        kept = clean_message(message, self._new_id)
        check_size("the message", len(encode(kept)), MAX_BYTES)
        sequence = self._conversation(conversation).add(kept)
        self._signals.announce(conversation)
        return sequence, own_message(kept)

    async def messages(
        self, conversation: str, after: int = 0, limit: int = 1000
    ) -> tuple[tuple[int, InputMessage], ...]:
        """The messages above ``after`` with their sequence numbers."""
        kept = self._conversation(conversation).messages
        start = max(after, 0)
        chosen = kept[start : start + listed(limit)]
        return tuple((sequence, own_message(message)) for sequence, message in enumerate(chosen, start + 1))

    async def consume(self, conversation: str, sequence: int) -> int:
        """Mark input as dealt with."""
        return self._conversation(conversation).consume(sequence)

    async def deliver(self, run_id: str) -> Outcome | None:
        """Consume the input that a run's saved outcome answers."""
        run = self._runs.get(run_id)
        if run is None:
            raise UnknownRun(run_id)
        outcome = run.saved.outcome
        if run.conversation and isinstance(outcome, Delivered | Completed):
            self._conversation(run.conversation).consume(outcome.boundary)
        return outcome

    def close(self) -> None:
        """Nothing to let go of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _conversation(self, name: str) -> Conversation:
        if name not in self._conversations:
            self._conversations[name] = Conversation(name)
        return self._conversations[name]


class MemoryJournal:
    """The journal of one run."""

    def __init__(self, run_id: str, runs: dict[str, MemoryRun], now: Callable[[], int], admit: Admit | None) -> None:
        self._run_id = run_id
        self._runs = runs
        self._now = now
        self._admit = admit

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        """Fence and load."""
        now = self._now()
        run = self._runs.get(self._run_id) or MemoryRun(now)
        check_lease(run.lease_until, now, take_over)
        run.attempt += 1
        run.lease_until = now + lease_ms
        run.touched_at = now
        self._runs[self._run_id] = run
        return Begun(run.attempt, run.resume())

    async def renew(self, attempt: int, lease_ms: int) -> None:
        """Let the lease run anew from now."""
        run = self._fenced(attempt)
        run.touched_at = self._now()
        run.lease_until = run.touched_at + lease_ms

    async def end(self, attempt: int) -> None:
        """Give the lease back."""
        run = self._fenced(attempt)
        run.touched_at = self._now()
        run.lease_until = None

    async def save_step(self, attempt: int, step: Step) -> None:
        """Check all of a step, then apply it, in the order of ``Changes``."""
        for call in step.changes.calls:
            validate_call(call)
        run = self._fenced(attempt)
        for log, change in step.logs.items():
            check_cut(log, change.keep, len(run.logs.get(log, ())))
        self._change(run, step.changes)
        for log, change in step.logs.items():
            self._write_log(run, log, change)
        for name, value in step.values.items():
            self._write_value(run, name, value)
        self._replace(run, step)
        run.saved_at = self._now()

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        """Merge a snapshot; the host may refuse one that submits or pauses."""
        validate_call(call)
        run = self._fenced(attempt)
        stored = run.calls.get(call.id)
        merged = admitted(self._admit, self._run_id, stored, self._merge(stored, call))
        run.put(merged, self._now())
        return own_call(merged)

    def _fenced(self, attempt: int) -> MemoryRun:
        run = self._runs.get(self._run_id, NO_RUN)
        check_attempt(attempt, run.attempt)
        return run

    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        return merge_call(stored, own_call(incoming))

    def _change(self, run: MemoryRun, changes: Changes) -> None:
        for block_id in changes.removed_blocks:
            run.blocks.pop(block_id, None)
        for call_id in changes.removed_calls:
            run.drop(call_id)
        for call in changes.calls:
            run.put(self._merge(run.calls.get(call.id), call), self._now())
        for block in changes.blocks:
            run.blocks[block.id] = block

    def _write_log(self, run: MemoryRun, log: str, change: LogChange) -> None:
        entries = run.logs.setdefault(log, [])
        entries[change.keep :] = change.append
        if not entries:
            del run.logs[log]

    def _write_value(self, run: MemoryRun, name: str, value: bytes | None) -> None:
        if value is None:
            run.values.pop(name, None)
        else:
            run.values[name] = value

    def _replace(self, run: MemoryRun, step: Step) -> None:
        run.saved = Saved(step.state, step.usage, step.completion, step.outcome)
        if step.plan is not None:
            run.plan = step.plan


class MemoryFeed:
    """The feed of one conversation."""

    def __init__(self, conversation: Conversation, signals: Signals) -> None:
        self._conversation = conversation
        self._signals = signals

    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[Watch, None]:
        """Signals for what is appended from now on."""
        yield MemoryWatch(self._conversation, self._signals)

    async def pending(self, after: int) -> int:
        """The last message's number if it is above ``after`` and what was consumed, or 0."""
        latest = len(self._conversation.messages)
        return latest if latest > max(after, self._conversation.consumed) else 0

    async def claim(self, after: int, through: int) -> Claim:
        """What is above ``after``, up to ``through``."""
        kept = self._conversation
        end = claimed_end(after, through, len(kept.messages), kept.consumed)
        return Claim(tuple(map(own_message, kept.messages[max(after, 0) : end])), end)


class MemoryWatch:
    """A subscription: how far it has seen is all it knows, so signals merge by themselves."""

    def __init__(self, conversation: Conversation, signals: Signals) -> None:
        self._conversation = conversation
        self._signals = signals
        self._seen = len(conversation.messages)

    async def changed(self) -> None:
        """Return once there is more than was seen."""
        while len(self._conversation.messages) <= self._seen:
            await self._signals.wait(self._conversation.name)
        self._seen = len(self._conversation.messages)
