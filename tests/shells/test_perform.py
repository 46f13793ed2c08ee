"""From an order to a port and back: every answer, and every exception, is one event that says so."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, say
from turnfold.effects.feed import Claim, ClaimFailed, ClaimInput, FeedFailed, FeedPolled, InputClaimed, PollFeed
from turnfold.effects.journal import (
    AttemptBegun,
    AttemptEnded,
    AttemptRefused,
    AttemptStale,
    BeginAttempt,
    Begun,
    CallRefused,
    CallRejected,
    CallSaved,
    EndAttempt,
    JournalFailed,
    LeaseRenewed,
    RenewLease,
    Resume,
    RunBusy,
    SaveCall,
    SaveStep,
    StaleAttempt,
    Step,
    StepSaved,
)
from turnfold.effects.model import (
    BlockDelta,
    CallModel,
    Delta,
    ModelBroke,
    ModelRequest,
    ModelStreamed,
    StreamFinished,
)
from turnfold.effects.record import ToolCall
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import Invocation, RunTool, ToolFailed, ToolProgressed, ToolResult, ToolReturned, ToolSpec
from turnfold.effects.transcript import ToolDeclaration
from turnfold.effects.vocabulary import Event
from turnfold.shells.perform import BATCH, explain, perform_feed, perform_journal, perform_tool, stream_model

from tests.shells.world import WatchedJournal

CALL = ToolCall("c", "running", 1)
ORDERS = [
    BeginAttempt(1, 30),
    RenewLease(1, 2, 30),
    EndAttempt(1, 2),
    SaveStep(1, 2, Step(b"")),
    SaveCall(1, 2, CALL),
]


def at() -> int:
    return 99


class Obedient:
    """A journal that does nothing."""

    async def begin(self, lease_ms: int, take_over: bool = False) -> Begun:
        return Begun(2, Resume())

    async def renew(self, attempt: int, lease_ms: int) -> None: ...
    async def save_step(self, attempt: int, step: Step) -> None: ...
    async def end(self, attempt: int) -> None: ...

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        return call


def raising(error: BaseException) -> WatchedJournal:
    """A journal that raises whatever it is asked."""

    async def fail(name: str, value: Any) -> None:
        raise error

    return WatchedJournal(Obedient(), fail)


@pytest.mark.parametrize(
    ("order", "event"),
    [
        (ORDERS[0], AttemptBegun(99, 1, Begun(2, Resume()))),
        (ORDERS[1], LeaseRenewed(99, 1)),
        (ORDERS[2], AttemptEnded(99, 1)),
        (ORDERS[3], StepSaved(99, 1)),
        (ORDERS[4], CallSaved(99, 1, CALL)),
    ],
)
async def test_an_order_to_the_journal_is_answered(order: Any, event: Event) -> None:
    assert await perform_journal(order, Obedient(), at) == event


@pytest.mark.parametrize("order", ORDERS)
async def test_what_a_journal_raises_is_an_answer_too(order: Any) -> None:
    assert await perform_journal(order, raising(StaleAttempt("old")), at) == AttemptStale(99, 1)
    assert await perform_journal(order, raising(RunBusy(7)), at) == AttemptRefused(99, 1, 7)
    failed = JournalFailed(99, 1, "OSError: no disk")
    assert await perform_journal(order, raising(OSError("no\n  disk")), at) == failed


@pytest.mark.parametrize("order", ORDERS)
async def test_only_a_call_can_be_refused_however_deep_the_refusal_is(order: Any) -> None:
    """JU-01"""
    wrapped = RuntimeError("the host said no")
    wrapped.__cause__ = CallRejected("not on a Sunday")
    event = await perform_journal(order, raising(wrapped), at)
    if isinstance(order, SaveCall):
        assert event == CallRefused(99, 1, "not on a Sunday")
    else:
        assert event == JournalFailed(99, 1, "RuntimeError: the host said no")


@pytest.mark.parametrize("order", ORDERS)
async def test_cancellation_passes_through_a_journal(order: Any) -> None:
    async def wait(name: str, value: Any) -> None:
        await trio.sleep_forever()

    with trio.move_on_after(1) as scope:
        await perform_journal(order, WatchedJournal(Obedient(), wait), at)
    assert scope.cancelled_caught


class Silent:
    """A feed with one thing to say, or to raise."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def pending(self, after: int) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    async def claim(self, after: int, through: int) -> Any:
        return await self.pending(after)


async def test_a_question_to_the_feed_is_answered() -> None:
    claim = Claim((), 4)
    feeds: Any = [Silent(3), Silent(claim), Silent(ClaimFailed("nothing"))]
    assert await perform_feed(PollFeed(1, 2), feeds[0], at) == FeedPolled(99, 1, 3)
    assert await perform_feed(ClaimInput(1, 2, 4), feeds[1], at) == InputClaimed(99, 1, claim)
    for order in (PollFeed(1, 2), ClaimInput(1, 2, 4)):
        assert await perform_feed(order, feeds[2], at) == FeedFailed(99, 1, "ClaimFailed: nothing")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("a  b\nc"), "ValueError: a b c"),
        (ValueError(), "ValueError"),
        (KeyError("name"), "KeyError: 'name'"),
    ],
)
def test_an_exception_is_explained_in_one_line(error: Exception, text: str) -> None:
    assert explain(error) == text


async def test_a_port_that_gives_something_else_than_it_promised_has_failed() -> None:
    class Careless(Obedient):
        async def begin(self, lease_ms: int, take_over: bool = False) -> Any: ...
        async def save_call(self, attempt: int, call: ToolCall) -> Any: ...

    for order, wanted in ((ORDERS[0], "Begun"), (ORDERS[4], "ToolCall")):
        event = await perform_journal(order, Careless(), at)  # type: ignore[arg-type]
        assert event == JournalFailed(99, 1, f"TypeError: expected {wanted}, got NoneType")
    feed: Any = Silent(None)
    assert await perform_feed(PollFeed(1, 2), feed, at) == FeedFailed(99, 1, "TypeError: expected int, got NoneType")
    failed = FeedFailed(99, 1, "TypeError: expected Claim, got NoneType")
    assert await perform_feed(ClaimInput(1, 2, 4), feed, at) == failed


# --- tools


class Inbox:
    """Where answers go in these tests; buffers are emptied when somebody waits for that."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.buffers: list[tuple[int, list[Delta]]] = []
        self.waits: list[int] = []

    def put(self, event: Event) -> None:
        self.take()
        self.events.append(event)

    def put_deltas(self, ticket: int, buffer: list[Delta]) -> None:
        self.buffers.append((ticket, buffer))

    async def drained(self, buffer: list[Delta]) -> None:
        self.waits.append(len(buffer))
        self.take()

    def take(self) -> list[Event]:
        for ticket, buffer in self.buffers:
            self.events.append(ModelStreamed(99, ticket, tuple(buffer)))
            buffer.clear()
        self.buffers.clear()
        return self.events


class Doing:
    """A tool that does what it is given."""

    def __init__(self, body: Any) -> None:
        self.spec = ToolSpec(ToolDeclaration("do"))
        self._body = body

    async def run(self, invocation: Invocation, progress: Any) -> ToolResult:
        return await self._body(progress)


async def run_tool(body: Any, inbox: Inbox | None = None) -> Event:
    return await perform_tool(RunTool(5, Invocation("k", "do", {})), {"do": Doing(body)}, inbox or Inbox(), at)


async def test_a_tool_answers_once_and_may_report_before() -> None:
    inbox = Inbox()

    async def body(progress: Any) -> ToolResult:
        await progress(ToolResult("half"))
        return ToolResult("whole")

    assert await run_tool(body, inbox) == ToolReturned(99, 5, ToolResult("whole"))
    assert inbox.events == [ToolProgressed(99, 5, ToolResult("half"))]


async def test_progress_after_the_end_is_passed_over() -> None:
    inbox, kept = Inbox(), list[Any]()

    async def body(progress: Any) -> ToolResult:
        kept.append(progress)
        return ToolResult("whole")

    await run_tool(body, inbox)
    await kept[0](ToolResult("late"))
    assert inbox.events == []


@pytest.mark.parametrize(
    ("error", "text"), [(ValueError("no such file"), "no such file"), (TimeoutError(), "TimeoutError")]
)
async def test_a_tool_that_raises_has_failed_with_its_own_words(error: Exception, text: str) -> None:
    async def body(progress: Any) -> ToolResult:
        raise error

    assert await run_tool(body) == ToolFailed(99, 5, text)


async def test_a_tool_that_gives_no_result_has_failed() -> None:
    async def body(progress: Any) -> Any:
        return None

    assert await run_tool(body) == ToolFailed(99, 5, "expected ToolResult, got NoneType")


async def test_what_is_no_ordinary_exception_passes_through_a_tool() -> None:
    async def body(progress: Any) -> ToolResult:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await run_tool(body)


# --- models


class Yielding:
    """A model that yields what it is given, raises what is an exception, and notes when it is closed."""

    def __init__(self, *items: Delta | Exception) -> None:
        self.closed = 0
        self._items = items

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        try:
            for item in self._items:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            await trio.lowlevel.checkpoint()
            self.closed += 1


async def ask(model: Any) -> list[Event]:
    inbox = Inbox()
    await stream_model(CallModel(3, ModelRequest("m", Seq())), model, inbox, at)
    return inbox.take()


async def test_deltas_arrive_in_one_batch_where_nobody_looks_in_between() -> None:
    model = Yielding(BlockDelta(0, "a"), BlockDelta(0, "b"), StreamFinished())
    assert await ask(model) == [ModelStreamed(99, 3, (BlockDelta(0, "a"), BlockDelta(0, "b"), StreamFinished()))]
    assert model.closed == 1


async def test_a_stream_is_closed_before_its_end_is_told_and_not_read_on() -> None:
    model = Yielding(StreamFinished(), ValueError("never reached"))
    assert await ask(model) == [ModelStreamed(99, 3, (StreamFinished(),))]
    assert model.closed == 1


async def test_a_stream_waits_when_nobody_takes_its_deltas() -> None:
    inbox = Inbox()
    deltas = [BlockDelta(0, str(place)) for place in range(2 * BATCH + 5)]
    await stream_model(CallModel(3, ModelRequest("m", Seq())), Yielding(*deltas, StreamFinished()), inbox, at)
    assert inbox.waits == [BATCH, BATCH]
    batches = [event.deltas for event in inbox.take() if isinstance(event, ModelStreamed)]
    assert [len(batch) for batch in batches] == [BATCH, BATCH, 6]
    assert [delta for batch in batches for delta in batch] == [*deltas, StreamFinished()]


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([], "the stream ended without a terminal delta"),
        ([BlockDelta(0, "a")], "the stream ended without a terminal delta"),
        ([ValueError("boom")], "ValueError: boom"),
        ([BlockDelta(0, "a"), ValueError("boom")], "ValueError: boom"),
    ],
)
async def test_a_stream_that_breaks_off_says_so_after_what_it_gave(items: Any, problem: str) -> None:
    """decision 28"""
    given = tuple(item for item in items if not isinstance(item, Exception))
    expected = [ModelStreamed(99, 3, given)] if given else []
    assert await ask(Yielding(*items)) == [*expected, ModelBroke(99, 3, problem)]


async def test_a_port_that_raises_before_it_streams_breaks_its_contract() -> None:
    class Absent:
        def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            raise LookupError("no such model")

    assert await ask(Absent()) == [ModelBroke(99, 3, "LookupError: no such model")]


async def test_a_stream_need_not_be_a_generator() -> None:
    class Ready:
        def __init__(self, *deltas: Delta) -> None:
            self._deltas = iter(deltas)

        def __aiter__(self) -> "Ready":
            return self

        async def __anext__(self) -> Delta:
            return next(self._deltas)

    class Plain:
        def stream(self, request: ModelRequest) -> Ready:
            return Ready(BlockDelta(0, "a"), StreamFinished())

    assert await ask(Plain()) == [ModelStreamed(99, 3, (BlockDelta(0, "a"), StreamFinished()))]


async def test_what_closing_raises_changes_no_answer() -> None:
    class Clumsy:
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
            try:
                yield StreamFinished()
            finally:
                raise OSError("the line was dead")

    assert await ask(Clumsy()) == [ModelStreamed(99, 3, (StreamFinished(),))]


async def test_a_cancelled_stream_is_closed_and_tells_no_end() -> None:
    closed: list[bool] = []

    class Slow:
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
            try:
                yield BlockDelta(0, "a")
                await trio.sleep_forever()
            finally:
                closed.append(True)

    inbox = Inbox()
    with trio.move_on_after(1):
        await stream_model(CallModel(3, ModelRequest("m", Seq())), Slow(), inbox, at)
    assert closed == [True]
    assert inbox.take() == [ModelStreamed(99, 3, (BlockDelta(0, "a"),))]


async def test_a_scripted_model_is_a_port() -> None:
    (event,) = await ask(ScriptedModel([say("hello")]))
    assert isinstance(event, ModelStreamed)
    assert isinstance(event.deltas[-1], StreamFinished)
