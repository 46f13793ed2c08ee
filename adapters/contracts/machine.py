"""A Hypothesis machine that drives journals with two executors and a host, and knows what they must hold.

It plays against ``model``, and against as many stores at once as ``make`` gives, so it also compares a new store with
an old one. Subclass it, and give pytest its ``TestCase``::

    class MyMachine(JournalMachine):
        def make(self) -> Sequence[JournalHarness]:
            return [MyHarness(), StoreHarness(MemoryStore(now=clock), clock)]


    TestMyStore = MyMachine.TestCase

Each rule is a trio run of its own, so the store must not hold on to one. The clocks of all harnesses start anew and are
moved by the machine alone.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from ...effects.journal import Begun, CallUpdate, Changes, Journal, LogChange, RunBusy, StaleAttempt, Step
from ...effects.outcome import Delivered, Outcome, Suspended
from ...effects.record import (
    Block,
    BlockKind,
    CallCompletion,
    CallDecision,
    CallStatus,
    Completion,
    CompletionSource,
    Handover,
    InvalidCall,
    MediaRef,
    PlanTask,
    ToolCall,
    waits_for,
)
from ...effects.transcript import Usage
from .fixtures import new_id, snapshot
from .harness import JournalHarness
from .model import Model
from .sameness import same_call, same_resume

__all__ = ["JournalMachine"]

Snapshot = tuple[int, int, str, dict[str, Any]]
LogEdit = tuple[str, int, int]
Write = Callable[[JournalHarness, Journal], Awaitable[object]]

_STATUSES = (
    CallStatus.QUEUED,
    CallStatus.RUNNING,
    CallStatus.WAITING,
    CallStatus.AWAITING_DECISION,
    CallStatus.SUCCEEDED,
    CallStatus.FAILED,
    CallStatus.NEEDS_REVIEW,
    "expired",
)
_TEXTS = st.sampled_from([None, "", "one", "two"])
_PAYLOADS = st.sampled_from(["", '{"op":1}', '{"op":2}'])
_MEDIA = st.sampled_from(
    [(), (MediaRef("a", "image/png", 1),), (MediaRef("b", "image/png"), MediaRef("a", "image/png"))]
)
_HANDOVERS = st.sampled_from(list(Handover))
_FAR = 10**14

_INDEXES = st.integers(0, 2)
_EXECUTORS = st.integers(0, 1)
_WRITERS = st.sampled_from([0, 1, None, None])
"""One of the two executors, or whichever began last: mostly the latter, so that runs go deep."""
_LEASES = st.sampled_from([1_000, 60_000])
_TAKE_OVERS = st.sampled_from([False, False, True])
_SNAPSHOTS = st.tuples(
    _INDEXES,
    st.sampled_from([1, 1, 2, 0, -1]),
    st.sampled_from(_STATUSES),
    st.fixed_dictionaries(
        {},
        optional={
            "handover": _HANDOVERS,
            "result": _TEXTS,
            "error": _TEXTS,
            "payload": _PAYLOADS,
            "parts": st.sampled_from([None, "[1]"]),
            "media": _MEDIA,
            "notes": st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["", "1"]), max_size=2),
            "arguments": st.sampled_from(["", '{"x":1}']),
            "digest": st.sampled_from(["", "0f0f"]),
            "expires_at": st.sampled_from([None, _FAR]),
            "completion": st.sampled_from([None, CallCompletion("1", fixed=True)]),
            "started_at": st.sampled_from([None, 1]),
            "completed_at": st.sampled_from([None, 2]),
            "decision": st.sampled_from(
                [None, CallDecision(True), CallDecision(True, "", "{}", "0f0f", "given", _FAR, "she")]
            ),
            "side_effects": st.booleans(),
        },
    ),
)
_UPDATES = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["", *_STATUSES]),
        "result": _TEXTS,
        "error": _TEXTS,
        "media": st.none() | _MEDIA,
        "completed_at": st.sampled_from([None, 3]),
        "handover": _HANDOVERS,
        "payload": _PAYLOADS,
    },
)
_BLOCKS = st.lists(st.tuples(_INDEXES, st.integers(0, 1), st.integers(-1, 2)), max_size=2)
_LOGS = st.lists(
    st.tuples(st.sampled_from(["main", "seen"]), st.integers(0, 3), st.integers(0, 3)),
    max_size=2,
    unique_by=lambda edit: edit[0],
)
_VALUES = st.dictionaries(st.sampled_from(["agent", "plan"]), st.sampled_from([None, b"", b"\xff"]), max_size=2)
_PLANS = st.sampled_from([None, (), (PlanTask("1", "first"),)])
_COMPLETIONS = st.sampled_from(
    [None, Completion(CompletionSource.TOOL, '{"a":1}'), Completion(CompletionSource.GUARD, "2")]
)
_OUTCOMES = st.sampled_from([None, Delivered("text", 1), Suspended(("x",), 2)])


class JournalMachine(RuleBasedStateMachine):
    """Plays with one run, which every given harness has anew."""

    @abstractmethod
    def make(self) -> Sequence[JournalHarness]:
        """One fresh harness for each store that takes part."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = sorted(new_id() for _ in range(3))
        self.model = Model()
        self.attempts = [0, 0]
        self.last = 0
        self.stores = [(mine, (mine.make_journal(), mine.make_journal())) for mine in self.make()]

    def teardown(self) -> None:
        """Close all harnesses."""
        for mine, _ in self.stores:
            trio.run(mine.close)

    @initialize()
    def begin_at_all(self) -> None:
        """Nothing can be written before."""
        self.begin(0, 60_000, False)

    @rule(who=_EXECUTORS, lease_ms=_LEASES, take_over=_TAKE_OVERS)
    def begin(self, who: int, lease_ms: int, take_over: bool) -> None:
        """An executor begins, or is kept out."""

        def expected() -> Begun:
            self.attempts[who] = self.model.begin(lease_ms, take_over)
            self.last = who
            return Begun(self.attempts[who], self.model.stored)

        self._write(who, lambda _, journal: journal.begin(lease_ms, take_over), expected)

    @rule(writer=_WRITERS, lease_ms=_LEASES)
    def renew(self, writer: int | None, lease_ms: int) -> None:
        """An executor, perhaps an old one, keeps its lease."""
        who, attempt = self._writer(writer)
        self._write(
            who, lambda _, journal: journal.renew(attempt, lease_ms), lambda: self.model.renew(attempt, lease_ms)
        )

    @rule(writer=_WRITERS)
    def end(self, writer: int | None) -> None:
        """An executor, perhaps an old one, gives its lease back."""
        who, attempt = self._writer(writer)
        self._write(who, lambda _, journal: journal.end(attempt), lambda: self.model.end(attempt))

    @rule(ms=st.sampled_from([500, 1_000, 60_000]))
    def let_time_pass(self, ms: int) -> None:
        """For all clocks alike."""
        self.model.now += ms
        for mine, _ in self.stores:
            mine.advance_clock(ms)

    @rule(writer=_WRITERS, drawn=_SNAPSHOTS)
    def save_call(self, writer: int | None, drawn: Snapshot) -> None:
        """A snapshot, new or late, of an executor, new or old."""
        who, attempt = self._writer(writer)
        call = self._snapshot(drawn)
        self._write(
            who, lambda _, journal: journal.save_call(attempt, call), lambda: self.model.save_call(attempt, call)
        )

    @rule(
        writer=_WRITERS,
        calls=st.lists(_SNAPSHOTS, max_size=2),
        blocks=_BLOCKS,
        removed=st.tuples(st.sets(_INDEXES, max_size=1), st.sets(_INDEXES, max_size=1)),
        logs=_LOGS,
        values=_VALUES,
        plan=_PLANS,
        completion=_COMPLETIONS,
        outcome=_OUTCOMES,
        state=st.binary(max_size=2),
    )
    def save_step(
        self,
        writer: int | None,
        calls: list[Snapshot],
        blocks: list[tuple[int, int, int]],
        removed: tuple[set[int], set[int]],
        logs: list[LogEdit],
        values: dict[str, bytes | None],
        plan: tuple[PlanTask, ...] | None,
        completion: Completion | None,
        outcome: Outcome | None,
        state: bytes,
    ) -> None:
        """A step that changes a little of everything."""
        who, attempt = self._writer(writer)
        changes = Changes(
            tuple(map(self._block, blocks)),
            tuple(map(self._snapshot, calls)),
            tuple(self.ids[index] for index in sorted(removed[0])),
            tuple(self.ids[index] for index in sorted(removed[1])),
        )
        cuts = {name: self._edit(name, cut, count) for name, cut, count in logs}
        step = Step(state, cuts, values, changes, Usage(len(state)), plan, completion, outcome)
        self._write(
            who, lambda _, journal: journal.save_step(attempt, step), lambda: self.model.save_step(attempt, step)
        )

    @precondition(lambda self: self.model.newest > 0)
    @rule(drawn=_SNAPSHOTS, logs=_LOGS, mistake=st.sampled_from(["no status", "no id", "cut"]))
    def save_a_bad_step(self, drawn: Snapshot, logs: list[LogEdit], mistake: str) -> None:
        """A step with one mistake in it, of which nothing may be stored."""
        attempt, good = self.model.newest, self._snapshot(drawn)
        cuts = {name: self._edit(name, cut, count) for name, cut, count in logs}
        bad: tuple[ToolCall, ...] = ()
        if mistake == "cut":
            cuts["seen"] = LogChange(self.model.length("seen") + 1, (b"lost",))
        else:
            bad = (ToolCall(self.ids[0], "") if mistake == "no status" else ToolCall("", CallStatus.QUEUED),)
        changes = Changes((self._block((0, 0, 0)),), (good, *bad), (self.ids[1],), (self.ids[2],))
        step = Step(b"bad", cuts, {"agent": b"bad"}, changes, plan=())
        self._write(0, lambda _, journal: journal.save_step(attempt, step), lambda: self.model.save_step(attempt, step))

    @rule(drawn=_SNAPSHOTS, beyond=st.sampled_from([-100, 1]))
    def write_as_a_stranger(self, drawn: Snapshot, beyond: int) -> None:
        """Somebody writes for an attempt that never began."""
        attempt, call = self.model.newest + beyond, self._snapshot(drawn)
        self._write(0, lambda _, journal: journal.save_call(attempt, call), lambda: self.model.save_call(attempt, call))

    @precondition(lambda self: bool(self.model.stored.calls))
    @rule(index=_INDEXES, fields=_UPDATES)
    def write_as_the_host(self, index: int, fields: dict[str, Any]) -> None:
        """The host writes to a call that is there."""
        calls = self.model.stored.calls
        update = CallUpdate(calls[index % len(calls)].id, **fields)
        self._write(0, lambda mine, _: _without_answer(mine.external(update)), lambda: self._external(update))

    @precondition(lambda self: any(map(_is_undecided, self.model.stored.calls)))
    @rule(index=_INDEXES, approved=st.booleans(), result=_TEXTS)
    def decide(self, index: int, approved: bool, result: str | None) -> None:
        """The host decides a call that waits for it."""
        waiting = [call for call in self.model.stored.calls if _is_undecided(call)]
        call = waiting[index % len(waiting)]
        reason, arguments = ("", "{}") if approved else ("no", "")
        decision = CallDecision(approved, reason, arguments, call.digest, result, _FAR if approved else None, "he")
        update = CallUpdate(call.id, decision=decision)
        self._write(0, lambda mine, _: _without_answer(mine.external(update)), lambda: self._external(update))

    def _external(self, update: CallUpdate) -> None:
        self.model.external(update)

    def _writer(self, writer: int | None) -> tuple[int, int]:
        who = self.last if writer is None else writer
        return who, self.attempts[who]

    def _snapshot(self, drawn: Snapshot) -> ToolCall:
        """A snapshot that is mostly newer than what is stored, and sometimes late."""
        index, newer, status, fields = drawn
        stored = self.model.calls.get(self.ids[index])
        return snapshot(self.ids[index], max(1, newer + (stored.rev if stored else 0)), status, **fields)

    def _block(self, drawn: tuple[int, int, int]) -> Block:
        """A block whose positions no other block has."""
        index, place, call = drawn
        link = self.ids[call] if call >= 0 else ""
        kind = BlockKind.TOOL_CALL if link else BlockKind.CONTENT
        return Block(self.ids[index], 1 + index + 3 * place, self.ids[0], kind, f"{place}", link)

    def _edit(self, log: str, cut: int, count: int) -> LogChange:
        length = self.model.length(log)
        return LogChange(max(length - cut, 0), tuple(b"%d" % (length + number) for number in range(count)))

    def _write(self, who: int, write: Write, expected: Callable[[], object]) -> None:
        """Do the same everywhere; the answers and all that is stored must be as in the model."""
        try:
            wanted = expected()
        except Exception as error:
            wanted = error
        trio.run(self._write_everywhere, who, write, wanted)

    async def _write_everywhere(self, who: int, write: Write, wanted: object) -> None:
        for mine, journals in self.stores:
            try:
                answer = await write(mine, journals[who])
            except Exception as error:
                answer = error
            name = type(mine).__name__
            assert _same_answer(answer, wanted), f"{name} answered {answer!r} and must answer {wanted!r}"
            await self._compare(mine, name)

    async def _compare(self, mine: JournalHarness, name: str) -> None:
        resume = await mine.load()
        assert same_resume(resume, self.model.stored), f"{name} holds {resume!r} and must hold {self.model.stored!r}"
        for call_id in self.ids:
            found, stored = await mine.call(call_id), self.model.calls.get(call_id)
            assert same_call(found, stored), f"{name} finds {found!r} and must find {stored!r}"
        listed = await mine.waiting()
        if listed is not None:
            told = {(waiting.call.id, waiting.kind) for waiting in listed}
            wanted = {(call.id, wait) for call in self.model.calls.values() if (wait := waits_for(call))}
            assert told == wanted, f"{name} lists {told!r} as waiting and must list {wanted!r}"


def _is_undecided(call: ToolCall) -> bool:
    return call.status == CallStatus.AWAITING_DECISION and call.decision is None


async def _without_answer(write: Awaitable[object]) -> None:
    await write


_SPOKEN = (StaleAttempt, RunBusy, InvalidCall)


def _same_answer(answer: object, wanted: object) -> bool:
    """An exception that the journal's port names must be that one; any other may be the store's own."""
    if isinstance(wanted, Exception):
        spoken = [kind for kind in _SPOKEN if isinstance(wanted, kind)]
        return isinstance(answer, spoken[0]) if spoken else isinstance(answer, Exception)
    if isinstance(wanted, Begun):
        return (
            isinstance(answer, Begun) and answer.attempt == wanted.attempt and same_resume(answer.resume, wanted.resume)
        )
    if isinstance(wanted, ToolCall):
        return isinstance(answer, ToolCall) and same_call(answer, wanted)
    return answer is None and wanted is None
