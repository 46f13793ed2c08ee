"""Carrying out a stored run, for chat and resume alike: who holds it, how it stands, and one execution of it.

A run that was begun is held by a lease, whoever died with it. Its holder is written into the run's ``meta``, so that
another process can say who it is, and whether it is still there.
"""

import os
import socket
from collections.abc import Callable, Mapping, Sequence

from ...adapters.stores import RunSummary, SqliteStore
from ...core.run import Limits
from ...core.run.records import paused
from ...core.run.stored import tool_of
from ...effects.display import DisplayDelta
from ...effects.model import ModelPort
from ...effects.outcome import Completed, Delivered, Failed, FailureKind, Outcome, Suspended
from ...effects.record import ToolCall
from ...effects.transcript import DecodeError
from ...effects.values import frozen
from ..drive import Trace
from ..perform import Tool
from ..runtime import Runtime
from .exits import CliError, ExitCode
from .hints import typed
from .style import clean, clock_time

__all__ = [
    "LEASE_MS", "Answered", "Holder", "Idle", "Interrupted", "Job", "Ready", "Standing", "Unanswered", "Waiting",
    "carry_out", "exit_code", "holder_of", "standing_of", "waits", "why",
]  # fmt: skip

LEASE_MS = 10_000
"""How long a conversation is held for a process that was killed, in milliseconds."""


@frozen
class Job:
    """What it takes to execute a run. ``meta`` is stored with it when it is begun."""

    run_id: str
    conversation: str
    model: ModelPort
    tools: Sequence[Tool] = ()
    instruction: str = ""
    max_tokens: int = 0
    lease_ms: int = LEASE_MS
    meta: Mapping[str, str] = {}


@frozen
class Holder:
    """The process that a live lease was given to, as far as it said."""

    host: str
    pid: int
    until: int

    @property
    def gone(self) -> bool:
        """Whether it surely is not there any more: only a process of this machine can be looked for."""
        if self.host != socket.gethostname() or not self.pid:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    def __str__(self) -> str:
        where = "" if self.host == socket.gethostname() else f" on {clean(self.host)}"
        name = f"process {self.pid}{where}" if self.pid else "another process"
        return f"{name}{', which is gone,' if self.gone else ''} holds the run until {clock_time(self.until)}"


def holder_of(summary: RunSummary | None) -> Holder | None:
    """Who holds a run now, if anybody."""
    if summary is None or not summary.held or summary.lease_until is None:
        return None
    host, _, pid = summary.meta.get("holder", "").rpartition(":")
    return Holder(host, int(pid) if pid.isascii() and pid.isdigit() else 0, summary.lease_until)


async def carry_out(
    store: SqliteStore,
    job: Job,
    stream: Callable[[DisplayDelta], None],
    take_over: bool = False,
    trace: Trace | None = None,
) -> Outcome | None:
    """Execute the run until it ends or waits. Raises ``RunBusy`` while another process holds it.

    Raises ``CliError`` before anything is begun, if a tool is missing without which an approval could not be kept.
    """
    await _check_tools(store, job)
    holder = {"holder": f"{socket.gethostname()}:{os.getpid()}"}
    await store.create_run(job.run_id, job.conversation, {**job.meta, **holder})
    result = await Runtime().run(
        job.run_id,
        model=job.model,
        feed=store.feed(job.conversation),
        journal=store.journal(job.run_id),
        tools=job.tools,
        instruction=job.instruction,
        limits=Limits(lease_ms=job.lease_ms),
        max_output_tokens=job.max_tokens,
        take_over=take_over,
        stream=stream,
        trace=trace,
    )
    return result.outcome


async def _check_tools(store: SqliteStore, job: Job) -> None:
    """A decision is carried out once: an approved call without its tool would fail for good."""
    resume = await store.load(job.run_id)
    approved = [call for call in resume.calls if _is_approved(call)] if resume is not None else []
    try:
        needed = [tool_of(resume, call) for call in approved] if resume is not None else []
    except DecodeError:
        return  # The run itself says that its checkpoint cannot be read.
    missing = sorted(set(needed) - {tool.spec.name for tool in job.tools})
    if missing:
        name = clean(missing[0])
        raise CliError(f"a call of {name} was approved, and that tool is not here; name it with --tool MODULE:{name}")


def _is_approved(call: ToolCall) -> bool:
    decision = call.decision
    return paused(call) and decision is not None and decision.approved and decision.result is None


@frozen
class Idle:
    """Everything that was said has been answered."""


@frozen
class Answered:
    """The answer is saved, and nobody has said yet that it arrived."""

    outcome: Delivered | Completed


@frozen
class Interrupted:
    """The process that was at it stopped before it had come to an end."""


@frozen
class Waiting:
    """The last attempt ended so that somebody can decide or settle ``count`` calls, and nobody has yet."""

    count: int


@frozen
class Ready:
    """The last attempt ended so that somebody could decide or settle calls, and that was done."""


@frozen
class Unanswered:
    """The last attempt ended without an answer, for a reason that is known."""

    outcome: Failed | Suspended


Standing = Idle | Answered | Interrupted | Waiting | Ready | Unanswered


async def standing_of(store: SqliteStore, run_id: str, conversation: str) -> Standing:
    """How a conversation stands, looked at from outside."""
    latest = await store.feed(conversation).pending(0)
    if not latest:
        return Idle()
    summary = await store.run(run_id)
    if summary is None or not summary.attempt:
        return Interrupted()
    outcome, ended = summary.outcome, summary.lease_until is None
    if isinstance(outcome, Delivered | Completed):
        return Interrupted() if outcome.boundary < latest else Answered(outcome)
    if ended and summary.waiting:
        return Waiting(summary.waiting)
    if outcome is None:
        return Ready() if ended else Interrupted()
    return Unanswered(outcome) if ended and outcome.boundary >= latest else Interrupted()


def why(outcome: Failed | Suspended) -> str:
    """What came in between an execution and its answer, on one line."""
    if isinstance(outcome, Suspended):
        return waits(len(outcome.waits_for))
    if outcome.kind is FailureKind.CANCELLED:
        return "it was stopped"
    if outcome.kind is FailureKind.STALE_ATTEMPT:
        return "somebody else took the run over"
    text = " ".join(clean(outcome.message).split())
    return f"{text}; --max-tokens raises it" if outcome.kind is FailureKind.TRUNCATED else text


def waits(count: int) -> str:
    """What to say of a run that waits for so many calls."""
    return f"it waits for {'a call' if count == 1 else f'{count} calls'}; {typed('waiting')} tells for what"


def exit_code(outcome: Outcome | None) -> ExitCode:
    """How a command ends that carried a run out."""
    match outcome:
        case Delivered() | Completed():
            return ExitCode.OK
        case Suspended():
            return ExitCode.WAITING
        case Failed(kind=FailureKind.CHECKPOINT | FailureKind.JOURNAL):
            return ExitCode.DATABASE
        case Failed(kind=FailureKind.CANCELLED):
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.FAILED
