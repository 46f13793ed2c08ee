"""What the cases are made of: fresh ids, snapshots of calls, and an executor that writes for one attempt."""

import os
from collections.abc import Awaitable, Mapping
from time import time_ns
from typing import Any
from uuid import UUID

from ...effects.feed import InputMessage
from ...effects.journal import Changes, Journal, LogChange, Resume, Step
from ...effects.record import ToolCall
from .harness import JournalHarness
from .sameness import same_call

__all__ = [
    "LEASE_MS",
    "ROUNDS",
    "T0",
    "Executor",
    "changed",
    "find",
    "identities",
    "new_id",
    "refused",
    "said",
    "snapshot",
]

T0 = 1_767_225_600_000
"""The first moment of 2026, in milliseconds since the epoch."""

LEASE_MS = 60_000

ROUNDS = 10
"""How often a race is run: in one round alone a broken store may be lucky."""


def new_id() -> str:
    """A fresh UUID of version 7, which sorts by time and fits a UUID column."""
    bits = (time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    return str(UUID(int=bits & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62))


def snapshot(call_id: str, rev: int, status: str, **fields: Any) -> ToolCall:
    """A snapshot of a call as the runtime writes them."""
    members: dict[str, Any] = {
        "model_call_id": call_id,
        "call_id": f"call_{call_id[-12:]}",
        "name": "tool",
        "arguments": "{}",
        "replayable": True,
        **fields,
    }
    return ToolCall(call_id, status, rev, **members)


def changed(*calls: ToolCall, logs: Mapping[str, LogChange] | None = None) -> Step:
    """A step that carries these calls and log changes."""
    return Step(b"state", logs or {}, changes=Changes(calls=calls))


def said(content: str, **fields: Any) -> InputMessage:
    """A message with an identity of its own."""
    members: dict[str, Any] = {"id": new_id(), "revision": "r1", **fields}
    return InputMessage(content, **members)


def identities(messages: tuple[InputMessage, ...]) -> list[tuple[str, str]]:
    """By what a run tells messages apart."""
    return [(message.id, message.revision) for message in messages]


class Executor:
    """One executor with its attempt."""

    def __init__(self, journal: Journal, attempt: int, resume: Resume) -> None:
        self.journal = journal
        self.attempt = attempt
        self.resume = resume

    @classmethod
    async def begin(cls, mine: JournalHarness, *, take_over: bool = False, lease_ms: int = LEASE_MS) -> "Executor":
        """Begin the next attempt, over a journal of its own."""
        journal = mine.make_journal()
        begun = await journal.begin(lease_ms, take_over)
        return cls(journal, begun.attempt, begun.resume)

    async def call(self, *calls: ToolCall) -> ToolCall:
        """Save snapshots, one after another; gives the last record."""
        saved = [await self.journal.save_call(self.attempt, call) for call in calls]
        return saved[-1]

    async def step(self, step: Step) -> None:
        """Save a step."""
        await self.journal.save_step(self.attempt, step)

    async def renew(self, lease_ms: int = LEASE_MS) -> None:
        """Let the lease run anew."""
        await self.journal.renew(self.attempt, lease_ms)

    async def end(self) -> None:
        """Give the lease back."""
        await self.journal.end(self.attempt)


async def find(mine: JournalHarness, call_id: str) -> ToolCall:
    """The stored record, which a look-up and a load must agree on."""
    found = await mine.call(call_id)
    assert found is not None, f"the call {call_id} cannot be looked up"
    loaded = [call for call in (await mine.load()).calls if call.id == call_id]
    assert len(loaded) == 1, f"the call {call_id} is loaded {len(loaded)} times"
    assert same_call(found, loaded[0]), f"look-up and load differ: {found} and {loaded[0]}"
    return found


async def refused(write: Awaitable[object]) -> Exception:
    """The exception that a write must raise."""
    try:
        await write
    except Exception as error:
        return error
    raise AssertionError("the write was accepted, and must be refused")
