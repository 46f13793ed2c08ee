"""What a host writes and lists, the same in both stores."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import trio
import trio.testing
from turnfold.adapters.contracts import HandClock
from turnfold.adapters.stores import (
    DecisionRefused,
    MemoryStore,
    MessageChanged,
    Refusal,
    RunTaken,
    SqliteStore,
    TooLarge,
    UnknownCall,
    UnknownRun,
    WaitingCall,
)
from turnfold.effects.feed import ClaimFailed, InputMessage, Role
from turnfold.effects.journal import CallUpdate, Changes, Resume, Step
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind, Suspended
from turnfold.effects.record import CallDecision, CallStatus, Completion, CompletionSource, Handover, ToolCall, Wait
from turnfold.effects.values import replace

AnyStore = MemoryStore | SqliteStore


@pytest.fixture
def clock() -> HandClock:
    return HandClock(1_000_000)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, folder: Path, clock: HandClock) -> Iterator[AnyStore]:
    ids = map("id-{}".format, count())
    kind = request.param
    made = (
        MemoryStore(now=clock, new_id=lambda: next(ids))
        if kind == "memory"
        else SqliteStore(folder / "runs.db", now=clock, new_id=lambda: next(ids))
    )
    with made:
        yield made


def waiting(call_id: str = "c", **fields: object) -> ToolCall:
    members: dict[str, object] = {"digest": "d1", "payload": "{}", **fields}
    return replace(ToolCall(call_id, CallStatus.AWAITING_DECISION, 1), **members)


async def with_calls(store: AnyStore, *calls: ToolCall, run: str = "r") -> int:
    journal = store.journal(run)
    attempt = (await journal.begin(60_000)).attempt
    for call in calls:
        await journal.save_call(attempt, call)
    return attempt


async def refusal(store: AnyStore, decision: CallDecision) -> Refusal:
    before = await store.call("r", "c")
    with pytest.raises(DecisionRefused) as caught:
        await store.decide("r", "c", decision)
    assert await store.call("r", "c") == before
    return caught.value.reason


async def test_a_created_run_knows_its_conversation_and_meta(store: AnyStore) -> None:
    created = await store.create_run("r", "talk", {"model": "m"})
    assert (created.run_id, created.conversation, dict(created.meta)) == ("r", "talk", {"model": "m"})
    assert (created.created_at, created.updated_at, created.attempt) == (1_000_000, 1_000_000, 0)
    assert await store.run("r") == created
    assert await store.load("r") == Resume()


async def test_creating_a_run_again_adds_to_it(store: AnyStore, clock: HandClock) -> None:
    await with_calls(store)
    await store.create_run("r", meta={"a": "1", "b": "1"})
    clock.advance(5)
    again = await store.create_run("r", "talk", {"b": "2"})
    assert (again.conversation, dict(again.meta), again.attempt) == ("talk", {"a": "1", "b": "2"}, 1)
    assert (again.created_at, again.updated_at) == (1_000_000, 1_000_005)
    assert (await store.create_run("r")).conversation == "talk"


async def test_a_run_serves_one_conversation(store: AnyStore) -> None:
    await store.create_run("r", "talk")
    with pytest.raises(RunTaken, match="talk"):
        await store.create_run("r", "another")
    summary = await store.run("r")
    assert summary is not None
    assert summary.conversation == "talk"


async def test_nothing_is_known_of_an_unknown_run(store: AnyStore) -> None:
    assert await store.run("r") is None
    assert await store.load("r") is None
    assert await store.call("r", "c") is None
    assert await store.runs() == ()
    assert await store.messages("talk") == ()
    with pytest.raises(UnknownRun, match="'r'"):
        await store.settle("r", CallUpdate("c", "failed"))
    with pytest.raises(UnknownRun, match="'r'"):
        await store.deliver("r")
    assert await store.run("r") is None


async def test_runs_are_listed_by_their_last_touch(store: AnyStore, clock: HandClock) -> None:
    for name, conversation in (("a", "x"), ("b", "y"), ("c", "x")):
        clock.advance(1)
        await store.create_run(name, conversation)
    clock.advance(1)
    await with_calls(store, run="b")
    assert [run.run_id for run in await store.runs()] == ["b", "c", "a"]
    assert [run.run_id for run in await store.runs(conversation="x")] == ["c", "a"]
    assert [run.run_id for run in await store.runs(1)] == ["b"]
    assert await store.runs(0) == ()
    assert await store.runs(-1) == ()
    assert len(await store.runs(10**9)) == 3


async def test_runs_of_the_same_moment_are_listed_last_first(store: AnyStore) -> None:
    for name in ("a", "b", "c"):
        await store.create_run(name)
    assert [run.run_id for run in await store.runs()] == ["c", "b", "a"]


async def test_a_listing_tells_who_holds_a_run(store: AnyStore, clock: HandClock) -> None:
    attempt = await with_calls(store)
    (held,) = await store.runs()
    assert (held.attempt, held.lease_until, held.held) == (1, 1_060_000, True)
    clock.advance(60_000)
    (dead,) = await store.runs()
    assert (dead.lease_until, dead.held) == (1_060_000, False)
    await store.journal("r").end(attempt)
    (ended,) = await store.runs()
    assert (ended.lease_until, ended.held, ended.updated_at) == (None, False, 1_060_000)


async def test_a_listing_counts_calls_that_wait_or_need_review(store: AnyStore) -> None:
    attempt = await with_calls(
        store,
        waiting("a"),
        ToolCall("b", CallStatus.WAITING, 1, handover=Handover.AWAIT),
        ToolCall("c", CallStatus.NEEDS_REVIEW, 1),
        ToolCall("d", CallStatus.RUNNING, 1),
    )
    (summary,) = await store.runs()
    assert (summary.waiting, summary.needs_review) == (2, 1)

    await store.settle("r", CallUpdate("b", CallStatus.SUCCEEDED, result="ok"))
    await store.settle("r", CallUpdate("c", CallStatus.SUCCEEDED, result="ok"))
    await store.journal("r").save_call(attempt, ToolCall("d", CallStatus.NEEDS_REVIEW, 2))
    (summary,) = await store.runs()
    assert (summary.waiting, summary.needs_review) == (1, 1)

    await store.journal("r").save_step(attempt, Step(b"s", changes=Changes(removed_calls=("a", "d"))))
    (summary,) = await store.runs()
    assert (summary.waiting, summary.needs_review) == (0, 0)


async def test_a_listing_tells_results_that_a_run_went_on_without_apart(store: AnyStore) -> None:
    """A detached call holds nobody up, and a call that was decided waits for its run alone."""
    attempt = await with_calls(
        store,
        waiting("a"),
        ToolCall("b", CallStatus.RUNNING, 1, handover=Handover.DETACHED),
        ToolCall("c", CallStatus.AWAITING_DECISION, 1, handover=Handover.SUBMITTED),
    )
    (summary,) = await store.runs()
    assert (summary.waiting, summary.outstanding, summary.needs_review) == (1, 2, 0)
    await store.decide("r", "a", CallDecision(True))
    (summary,) = await store.runs()
    assert (summary.waiting, summary.outstanding) == (0, 2)
    assert await store.run("r") == summary
    await store.journal("r").save_call(attempt, ToolCall("a", CallStatus.RUNNING, 2))
    assert (await store.runs())[0].waiting == 0


async def test_waiting_calls_are_listed_over_all_runs(store: AnyStore, clock: HandClock) -> None:
    await store.create_run("y", "talk")
    await with_calls(store, waiting("c2"), waiting("c1"), run="y")
    clock.advance(5)
    await store.create_run("x", "other")
    await with_calls(store, ToolCall("c1", CallStatus.NEEDS_REVIEW, 1, name="pay"), run="x")
    first, second, third = await store.waiting()
    assert first == WaitingCall("y", "talk", Wait.DECISION, 1_000_000, waiting("c1"))
    assert (second.call.id, second.since) == ("c2", 1_000_000)
    pay = ToolCall("c1", CallStatus.NEEDS_REVIEW, 1, name="pay")
    assert third == WaitingCall("x", "other", Wait.REVIEW, 1_000_005, pay)
    assert await store.waiting(conversation="talk") == (first, second)
    assert await store.waiting(conversation="nobody") == ()
    assert await store.waiting(1) == (first,)
    assert await store.waiting(0) == await store.waiting(-1) == ()
    assert await store.waiting(10**9) == (first, second, third)


@pytest.mark.parametrize(("now", "expired"), [(1_000_099, False), (1_000_100, True)])
async def test_a_call_that_nobody_may_decide_any_more_is_marked(
    store: AnyStore, clock: HandClock, now: int, expired: bool
) -> None:
    """Only a decision expires: a result is taken at any time."""
    awaited = ToolCall("b", CallStatus.WAITING, 1, handover=Handover.AWAIT, expires_at=1_000_100)
    await with_calls(store, waiting("a", expires_at=1_000_100), awaited)
    clock.now = now
    assert [(listed.call.id, listed.expired) for listed in await store.waiting()] == [("a", expired), ("b", False)]


async def test_calls_are_found_by_the_beginning_of_their_id(store: AnyStore) -> None:
    """Of all runs, and by the very characters: none of them means something else."""
    ids = ("ab", "abc", "ab\U0010fffe", "aB", "b%", "b_", "ba")
    await with_calls(store, *(ToolCall(call_id, CallStatus.RUNNING, 1) for call_id in ids), run="y")
    await with_calls(store, ToolCall("abc", CallStatus.FAILED, 1), run="x")

    async def found(beginning: str, limit: int = 50) -> list[tuple[str, str]]:
        return [(run_id, call.id) for run_id, call in await store.calls(beginning, limit)]

    assert await found("ab") == [("y", "ab"), ("x", "abc"), ("y", "abc"), ("y", "ab\U0010fffe")]
    assert await found("abc") == [("x", "abc"), ("y", "abc")]
    assert await found("b%") == [("y", "b%")]
    assert await found("ab", 1) == [("y", "ab")]
    assert await found("c") == []
    assert len(await found("")) == 8


async def test_a_listing_shows_the_outcome_and_the_last_step(store: AnyStore, clock: HandClock) -> None:
    attempt = await with_calls(store)
    clock.advance(7)
    await store.journal("r").save_step(attempt, Step(b"s", outcome=Delivered("done", 3)))
    (summary,) = await store.runs()
    assert (summary.outcome, summary.updated_at) == (Delivered("done", 3), 1_000_007)


async def test_a_host_write_touches_its_run(store: AnyStore, clock: HandClock) -> None:
    for run in ("a", "b"):
        await with_calls(store, waiting(), run=run)
    clock.advance(3)
    await store.decide("a", "c", CallDecision())
    assert [(run.run_id, run.updated_at) for run in await store.runs()] == [("a", 1_000_003), ("b", 1_000_000)]


async def test_settling_is_an_overlay_and_returns_the_record(store: AnyStore) -> None:
    await with_calls(store, ToolCall("c", CallStatus.RUNNING, 4, name="tool"))
    settled = await store.settle("r", CallUpdate("c", CallStatus.SUCCEEDED, result="ok", completed_at=5))
    assert settled == ToolCall("c", CallStatus.SUCCEEDED, 4, name="tool", result="ok", completed_at=5)
    assert await store.call("r", "c") == settled
    with pytest.raises(UnknownCall, match="'other'"):
        await store.settle("r", CallUpdate("other", CallStatus.FAILED))


async def test_half_a_surrogate_pair_is_replaced_where_it_enters(store: AnyStore) -> None:
    """Decision 45: what is stored can be sent to any provider and written as UTF-8."""
    await with_calls(store, waiting())
    settled = await store.settle("r", CallUpdate("c", result="a\ud800", error="\udfffb", payload='"\ud800"'))
    assert (settled.result, settled.error, settled.payload) == ("a\ufffd", "\ufffdb", '"\ufffd"')
    decided = await store.decide("r", "c", CallDecision(reason="no\ud800", by="\udc00"))
    assert decided.decision == CallDecision(reason="no\ufffd", by="\ufffd")
    _, kept = await store.append("talk", InputMessage("\ud83d\ude00\ud83d", id="\ud800", meta={"\udc00": "\udc01"}))
    assert (kept.content, kept.id, dict(kept.meta)) == ("😀\ufffd", "\ufffd", {"\ufffd": "\ufffd"})


async def test_a_call_is_decided_once(store: AnyStore, clock: HandClock) -> None:
    """Decision 17: the same decision again is no harm, whatever became of the call; another one is refused."""
    attempt = await with_calls(store, waiting())
    decision = CallDecision(True, "fine", '{"x":1}', "d1", None, 1_000_100, "reviewer")
    decided = await store.decide("r", "c", decision)
    assert decided == replace(waiting(), decision=decision)
    assert await store.decide("r", "c", decision) == decided
    assert await refusal(store, replace(decision, by="somebody else")) is Refusal.ALREADY_DECIDED
    assert await refusal(store, CallDecision()) is Refusal.ALREADY_DECIDED

    clock.advance(1_000)
    await store.journal("r").save_call(attempt, ToolCall("c", CallStatus.SUCCEEDED, 2, result="ok"))
    assert (await store.decide("r", "c", decision)).status == CallStatus.SUCCEEDED


@pytest.mark.parametrize("status", [status for status in CallStatus if status != CallStatus.AWAITING_DECISION])
async def test_only_a_call_that_waits_for_it_is_decided(store: AnyStore, status: CallStatus) -> None:
    await with_calls(store, ToolCall("c", status, 1))
    assert await refusal(store, CallDecision(True)) is Refusal.NOT_WAITING


async def test_a_decision_is_bound_to_the_arguments_it_was_made_on(store: AnyStore) -> None:
    await with_calls(store, waiting(digest="d1"))
    assert await refusal(store, CallDecision(True, digest="d2")) is Refusal.OTHER_ARGUMENTS
    assert (await store.decide("r", "c", CallDecision(True, digest="d1"))).decision is not None


async def test_a_decision_without_a_digest_is_bound_to_the_call_only(store: AnyStore) -> None:
    await with_calls(store, waiting(digest="d1"))
    assert (await store.decide("r", "c", CallDecision(True))).decision == CallDecision(True)


@pytest.mark.parametrize(("now", "accepted"), [(1_000_099, True), (1_000_100, False), (1_000_101, False)])
async def test_a_decision_expires(store: AnyStore, clock: HandClock, now: int, accepted: bool) -> None:
    await with_calls(store, waiting())
    clock.now = now
    decision = CallDecision(True, expires_at=1_000_100)
    if accepted:
        assert (await store.decide("r", "c", decision)).decision == decision
    else:
        assert await refusal(store, decision) is Refusal.EXPIRED


async def test_a_call_waits_until_it_expires(store: AnyStore, clock: HandClock) -> None:
    await with_calls(store, waiting(expires_at=1_000_100))
    clock.now = 1_000_100
    assert await refusal(store, CallDecision(True)) is Refusal.EXPIRED


async def test_settling_cannot_slip_another_decision_in(store: AnyStore) -> None:
    await with_calls(store, waiting())
    await store.decide("r", "c", CallDecision())
    before = await store.call("r", "c")
    with pytest.raises(DecisionRefused):
        await store.settle("r", CallUpdate("c", CallStatus.SUCCEEDED, decision=CallDecision(True)))
    assert await store.call("r", "c") == before


async def test_deciding_needs_a_run_and_a_call(store: AnyStore) -> None:
    with pytest.raises(UnknownRun):
        await store.decide("r", "c", CallDecision())
    await with_calls(store)
    with pytest.raises(UnknownCall):
        await store.decide("r", "c", CallDecision())


async def test_messages_are_numbered_and_listed(store: AnyStore) -> None:
    one = InputMessage("m1", meta={"a": "1"})
    assert await store.append("talk", one) == (1, replace(one, id="id-0"))
    two = InputMessage("m2", id="mine", revision="r", role=Role.ASSISTANT)
    assert await store.append("talk", two) == (2, two)
    assert await store.append("other", two) == (1, two)
    assert await store.messages("talk") == ((1, replace(one, id="id-0")), (2, two))
    assert await store.messages("talk", after=1) == ((2, two),)
    assert await store.messages("talk", after=-5, limit=1) == ((1, replace(one, id="id-0")),)
    assert await store.messages("talk", after=2) == ()


async def test_a_listing_gives_a_thousand_at_most(store: AnyStore) -> None:
    for number in range(1_001):
        await store.append("talk", InputMessage(f"m{number}"))
    assert len(await store.messages("talk", limit=10**9)) == 1_000
    assert [sequence for sequence, _ in await store.messages("talk", after=1_000, limit=10**9)] == [1_001]


async def test_a_failed_claim_says_why(store: AnyStore) -> None:
    feed = store.feed("talk")
    with pytest.raises(ClaimFailed, match="there is no input to claim"):
        await feed.claim(0, 1)
    for number in range(3):
        await store.append("talk", InputMessage(f"m{number}"))
    with pytest.raises(ClaimFailed, match="no input above 3 up to 3"):
        await feed.claim(3, 9)
    await store.consume("talk", 2)
    with pytest.raises(ClaimFailed, match="up to 2 was consumed, so 1 cannot be claimed"):
        await feed.claim(0, 1)


async def test_the_same_message_again_is_the_one_that_is_stored(store: AnyStore) -> None:
    """A host that does not know whether its append arrived sends it again."""
    message = InputMessage("m", id="a", revision="1", meta={"x": "1", "y": "2"})
    first = await store.append("talk", message)
    assert await store.append("talk", replace(message, meta={"y": "2", "x": "1"})) == first
    with pytest.raises(MessageChanged, match="new revision"):
        await store.append("talk", replace(message, content="other"))
    assert await store.append("talk", replace(message, content="other", revision="2")) == (
        2,
        replace(message, content="other", revision="2"),
    )
    assert len(await store.messages("talk")) == 2


async def test_a_message_that_is_too_large_is_refused(store: AnyStore) -> None:
    with pytest.raises(TooLarge, match="67108864"):
        await store.append("talk", InputMessage("x" * (64 * 1024 * 1024)))
    assert await store.messages("talk") == ()


async def test_consuming_gives_the_boundary(store: AnyStore) -> None:
    assert await store.consume("talk", 5) == 0
    for number in range(3):
        await store.append("talk", InputMessage(f"m{number}"))
    assert [await store.consume("talk", to) for to in (2, 1, 0, -3, 99)] == [2, 2, 2, 2, 3]


@pytest.mark.parametrize(
    ("outcome", "pending"),
    [
        (None, 3),
        (Delivered("text", 2), 3),
        (Delivered("text", 3), 0),
        (Completed(Completion(CompletionSource.TOOL, "1"), 3), 0),
        (Suspended(("c",), 3), 3),
        (Failed(FailureKind.MODEL, "broken", 3), 3),
    ],
)
async def test_delivering_consumes_what_was_answered(store: AnyStore, outcome: object, pending: int) -> None:
    for number in range(3):
        await store.append("talk", InputMessage(f"m{number}"))
    await store.create_run("r", "talk")
    attempt = await with_calls(store)
    await store.journal("r").save_step(attempt, replace(Step(b"s"), outcome=outcome))
    assert await store.deliver("r") == outcome
    assert await store.feed("talk").pending(0) == pending
    consumed = await store.consume("talk", 0)
    assert consumed == (outcome.boundary if isinstance(outcome, Delivered | Completed) else 0)


async def test_a_run_without_conversation_delivers_and_consumes_nothing(store: AnyStore) -> None:
    await store.append("", InputMessage("of a conversation without a name"))
    attempt = await with_calls(store)
    await store.journal("r").save_step(attempt, Step(b"s", outcome=Delivered("text", 1)))
    assert await store.deliver("r") == Delivered("text", 1)
    assert await store.feed("").pending(0) == 1


async def test_signals_of_one_watcher_merge_into_one(store: AnyStore) -> None:
    async with store.feed("talk").watch() as watch:
        for number in range(3):
            await store.append("talk", InputMessage(f"m{number}"))
        await watch.changed()
        with trio.move_on_after(3600) as scope:
            await watch.changed()
        assert scope.cancelled_caught


async def test_what_is_there_before_the_subscription_is_no_news(store: AnyStore) -> None:
    await store.append("talk", InputMessage("before"))
    async with store.feed("talk").watch() as watch:
        with trio.move_on_after(3600) as scope:
            await watch.changed()
        assert scope.cancelled_caught


async def test_an_append_at_the_very_moment_of_a_poll_is_heard(store: AnyStore) -> None:
    """Then the watcher has given up waiting and not yet looked; both happen at once, in any order."""
    async with store.feed("talk").watch() as watch:
        for number in range(30):
            with trio.fail_after(60):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(watch.changed)
                    await trio.sleep(0.25)
                    await store.append("talk", InputMessage(f"m{number}"))


async def test_watchers_leave_nothing_behind(store: AnyStore) -> None:
    async with store.feed("talk").watch() as watch:
        with trio.move_on_after(1):
            await watch.changed()
        assert not store._signals._waiting
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch.changed)
            await trio.testing.wait_all_tasks_blocked()
            await store.append("talk", InputMessage("m"))
        assert not store._signals._waiting


@pytest.mark.parametrize("arguments", ["{bad", "[1]", "null", '"{}"', "[" * 5_000])
async def test_arguments_that_no_tool_could_run_with_do_not_use_the_decision_up(
    store: AnyStore, arguments: str
) -> None:
    await with_calls(store, waiting())
    assert await refusal(store, CallDecision(approved=True, arguments=arguments)) is Refusal.BAD_ARGUMENTS
    good = CallDecision(approved=True, arguments='{"a": 1}')
    assert (await store.decide("r", "c", good)).decision == good
