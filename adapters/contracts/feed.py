"""The feed suite: subclass ``FeedContract`` and let ``make`` give a harness of your store.

F1 to F5 first, then what they leave open: ranges, revisions, what was consumed, watching. The cases that wait run by a
clock that jumps whenever everybody waits, so they take no time; a store that waits for a network or for threads needs
real time instead::

    class TestMyFeed(FeedContract):
        quiet_s = 0.5

        def clock(self) -> None:
            return None
"""

from collections.abc import MutableMapping

import trio
import trio.testing

from ...effects.feed import Claim, ClaimFailed, Feed, InputMessage, Role, Watch
from ...effects.record import MediaRef
from ...effects.values import replace
from .extra import pytest
from .fixtures import identities, new_id, refused, said
from .harness import Contract, FeedHarness, case

__all__ = ["FeedContract"]


class FeedContract(Contract[FeedHarness]):
    """All cases for a feed. ``quiet_s`` is how long a case waits, in seconds of its clock, for what must not happen."""

    quiet_s = 30.0

    def clock(self) -> trio.abc.Clock | None:
        """Time that jumps when there is nothing to do."""
        return trio.testing.MockClock(autojump_threshold=0)

    @case
    async def test_what_is_pending_can_be_claimed(self, mine: FeedHarness) -> None:
        """F1."""
        feed = mine.make_feed()
        assert await feed.pending(0) == 0
        first, one = await mine.append(said("m1"))
        second, two = await mine.append(said("m2"))
        assert 0 < first < second
        assert identities((one,)) != identities((two,))
        assert await feed.pending(0) == second
        assert await feed.pending(first) == second
        assert await feed.pending(second) == 0
        lower = await feed.claim(0, first)
        assert 0 < lower.boundary <= first
        assert identities(lower.messages) == identities((one,))
        whole = await feed.claim(0, second)
        assert whole.boundary == second
        assert identities(whole.messages) == identities((one, two))

    @case
    async def test_messages_come_back_as_they_were_told(self, mine: FeedHarness) -> None:
        """F2: content, media and meta; and what a reader does to a message changes nothing that is stored."""
        feed = mine.make_feed()
        media = MediaRef("k", "image/png", 4, "cd" * 32)
        for message in (
            said("answer\x01 ü漢🙂\u2028", role=Role.ASSISTANT, revision="r2", meta={"fact": "false", "n": "1"}),
            said("look", media=media, meta={"fact": "true"}),
            said(""),
        ):
            sequence, told = await mine.append(message)
            expected = replace(told, meta=dict(told.meta))
            first = (await feed.claim(0, sequence)).messages[-1]
            assert _plain(first) == expected
            for copy in (message, told, first):
                _spoil(copy)
            again = await feed.claim(0, sequence)
            assert _plain(again.messages[-1]) == expected
            assert len(set(identities(again.messages))) == len(again.messages)

    @case
    async def test_a_claim_can_be_repeated(self, mine: FeedHarness) -> None:
        """F3: the same boundary and the same messages, also when there are newer ones."""
        feed = mine.make_feed()
        sequence, _ = await mine.append(said("m1"))
        first = await feed.claim(0, sequence)
        await mine.append(said("m2"))
        again = await mine.make_feed().claim(0, first.boundary)
        assert (again.boundary, identities(again.messages)) == (first.boundary, identities(first.messages))

    @case
    async def test_consumed_input_is_over(self, mine: FeedHarness) -> None:
        """F4."""
        feed = mine.make_feed()
        first, one = await mine.append(said("m1"))
        await mine.consume(first)
        assert await feed.pending(0) == 0
        assert isinstance(await refused(feed.claim(0, first)), ClaimFailed)
        second, two = await mine.append(said("m2"))
        assert await feed.pending(0) == second
        claim = await feed.claim(0, second)
        assert claim.boundary == second
        assert identities(claim.messages) == identities((one, two))

    @case
    async def test_an_append_wakes_who_watches(self, mine: FeedHarness) -> None:
        """F5: also when the message came before anybody waited, but after the subscription."""
        async with mine.make_feed().watch() as watch:
            await mine.append(said("m1"))
            await _wakes(watch)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_wakes, watch)
                await trio.testing.wait_all_tasks_blocked()
                await mine.append(said("m2"))

    @case
    async def test_an_empty_conversation_has_nothing_to_claim(self, mine: FeedHarness) -> None:
        """There is no boundary to give."""
        feed = mine.make_feed()
        for through in (0, 1, 100):
            assert isinstance(await refused(feed.claim(0, through)), ClaimFailed)

    @case
    async def test_a_claim_of_nothing_fails(self, mine: FeedHarness) -> None:
        """At or below ``after``, or below the first message."""
        feed = mine.make_feed()
        first, _ = await mine.append(said("m1"))
        second, _ = await mine.append(said("m2"))
        for after, through in ((0, 0), (0, -1), (first, first), (second, first), (second, second + 5)):
            assert isinstance(await refused(feed.claim(after, through)), ClaimFailed)

    @case
    async def test_a_claim_beyond_the_end_gives_what_is_there(self, mine: FeedHarness) -> None:
        """And its boundary is the last message, so that what comes next is not lost."""
        feed = mine.make_feed()
        first, one = await mine.append(said("m1"))
        claim = await feed.claim(0, first + 100)
        assert (claim.boundary, identities(claim.messages)) == (first, identities((one,)))
        second, _ = await mine.append(said("m2"))
        assert await feed.pending(claim.boundary) == second

    @case
    async def test_a_claim_starts_after_what_was_seen(self, mine: FeedHarness) -> None:
        """Decision 39: an increment holds what is above ``after`` and nothing else; the increments add up."""
        feed = mine.make_feed()
        appended = [await mine.append(said(f"m{number}")) for number in range(5)]
        numbers = [sequence for sequence, _ in appended]
        messages = tuple(message for _, message in appended)
        claim = await feed.claim(numbers[1], numbers[3])
        assert (claim.boundary, identities(claim.messages)) == (numbers[3], identities(messages[2:4]))
        rest = await feed.claim(claim.boundary, numbers[4])
        assert identities(rest.messages) == identities(messages[4:])
        whole = await feed.claim(0, numbers[4])
        assert identities(whole.messages) == identities(messages)

    @case
    async def test_a_partial_claim_leaves_the_rest_pending(self, mine: FeedHarness) -> None:
        """Claiming binds nothing but what it gives, and consumes nothing at all."""
        feed = mine.make_feed()
        first, _ = await mine.append(said("m1"))
        second, _ = await mine.append(said("m2"))
        await feed.claim(0, first)
        assert await feed.pending(0) == second
        assert (await feed.claim(first, await feed.pending(first))).boundary == second
        assert await feed.pending(0) == second
        assert (await feed.claim(0, second)).boundary == second

    @case
    async def test_a_revision_is_new_input(self, mine: FeedHarness) -> None:
        """Decision 39: a message that changed is claimed again, under its id and another revision."""
        feed = mine.make_feed()
        original = said("m1")
        first, one = await mine.append(original)
        second, two = await mine.append(said("m2"))
        revised, changed = await mine.append(replace(original, content="m1, corrected", revision="r2"))
        assert first < second < revised
        assert changed.id == one.id
        assert changed.revision != one.revision
        assert await feed.pending(second) == revised
        increment = await feed.claim(second, revised)
        assert identities(increment.messages) == identities((changed,))
        assert increment.messages[0].content == "m1, corrected"
        assert identities((await feed.claim(0, revised)).messages)[-2:] == identities((two, changed))

    @case
    async def test_consuming_never_goes_back(self, mine: FeedHarness) -> None:
        """An old boundary that arrives late changes nothing."""
        feed = mine.make_feed()
        first, _ = await mine.append(said("m1"))
        second, _ = await mine.append(said("m2"))
        await mine.consume(second)
        await mine.consume(first)
        await mine.consume(0)
        assert await feed.pending(0) == 0
        assert isinstance(await refused(feed.claim(0, second)), ClaimFailed)

    @case
    async def test_consuming_never_reaches_beyond_the_end(self, mine: FeedHarness) -> None:
        """Nobody can deal with input that is not there yet."""
        feed = mine.make_feed()
        first, _ = await mine.append(said("m1"))
        await mine.consume(first + 100)
        assert await feed.pending(0) == 0
        second, two = await mine.append(said("m2"))
        assert await feed.pending(0) == second
        assert identities((await feed.claim(first, second)).messages) == identities((two,))

    @case
    async def test_partly_consumed_input_stays_claimable(self, mine: FeedHarness) -> None:
        """The snapshot still begins at the beginning; only its boundary must be new."""
        feed = mine.make_feed()
        first, one = await mine.append(said("m1"))
        second, two = await mine.append(said("m2"))
        await mine.consume(first)
        assert await feed.pending(0) == second
        assert isinstance(await refused(feed.claim(0, first)), ClaimFailed)
        assert identities((await feed.claim(0, second)).messages) == identities((one, two))

    @case
    async def test_conversations_are_kept_apart(self, mine: FeedHarness) -> None:
        """Messages, numbers, what was consumed, and who is woken."""
        other = mine.other_conversation()
        if other is None:
            pytest.skip("the harness makes no other conversation")
        feed = mine.make_feed()
        async with feed.watch() as watch:
            message = said("there")
            there, told = await other.append(message)
            assert await feed.pending(0) == 0
            assert not await _woke_within(watch, self.quiet_s)
            here, mine_told = await mine.append(message)
            await other.consume(there)
            assert await feed.pending(0) == here
            assert identities((await feed.claim(0, here)).messages) == identities((mine_told,))
            assert identities((told,)) == identities((mine_told,))

    @case
    async def test_signals_may_merge_but_not_multiply(self, mine: FeedHarness) -> None:
        """Several messages wake a watcher at least once and at most as often as there are; then it waits again."""
        async with mine.make_feed().watch() as watch:
            for number in range(3):
                await mine.append(said(f"m{number}"))
            await _wakes(watch)
            woken = 1
            while await _woke_within(watch, self.quiet_s):
                woken += 1
                assert woken <= 3
            await mine.append(said("m4"))
            await _wakes(watch)

    @case
    async def test_every_watcher_is_woken(self, mine: FeedHarness) -> None:
        """Each has a subscription of its own; one that is over takes nothing from the others."""
        feed = mine.make_feed()
        async with feed.watch() as one, mine.make_feed().watch() as two:
            async with feed.watch():
                await mine.append(said("m1"))
            await _wakes(one)
            await _wakes(two)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_wakes, one)
                nursery.start_soon(_wakes, two)
                await trio.testing.wait_all_tasks_blocked()
                await mine.append(said("m2"))

    @case
    async def test_a_cancelled_wait_loses_no_signal(self, mine: FeedHarness) -> None:
        """The subscription is the context, not the wait."""
        async with mine.make_feed().watch() as watch:
            assert not await _woke_within(watch, self.quiet_s)
            await mine.append(said("m1"))
            await _wakes(watch)

    @case
    async def test_a_cancelled_wait_takes_nothing_from_others(self, mine: FeedHarness) -> None:
        """Who still waits is woken, whoever gave up in the meantime."""
        feed = mine.make_feed()
        async with feed.watch() as one, feed.watch() as two, trio.open_nursery() as nursery:
            nursery.start_soon(_wakes, two)
            assert not await _woke_within(one, 1)
            await mine.append(said("m1"))
            await _wakes(one)

    @case
    async def test_appends_and_claims_may_run_at_once(self, mine: FeedHarness) -> None:
        """Increments that are claimed while others append hold every message once, in order."""
        seen: list[tuple[str, str]] = []
        appended: list[tuple[int, InputMessage]] = []

        async def append(number: int) -> None:
            for _ in range(number % 5):
                await trio.lowlevel.checkpoint()
            appended.append(await mine.append(said(f"m{number}")))

        async def claim(feed: Feed) -> None:
            after = 0
            while len(seen) < 20:
                latest = await feed.pending(after)
                if latest:
                    claimed: Claim = await feed.claim(after, latest)
                    assert after < claimed.boundary <= latest
                    seen.extend(identities(claimed.messages))
                    after = claimed.boundary
                    assert await feed.pending(after) not in range(1, after + 1)
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(claim, mine.make_feed())
            for number in range(20):
                nursery.start_soon(append, number)
        in_order = tuple(message for _, message in sorted(appended, key=lambda item: item[0]))
        assert seen == identities(in_order)
        assert len({sequence for sequence, _ in appended}) == 20

    @case
    async def test_a_message_without_id_gets_one(self, mine: FeedHarness) -> None:
        """A run tells messages apart by id and revision, so two must not have the same."""
        feed = mine.make_feed()
        _, one = await mine.append(InputMessage("same words"))
        last, two = await mine.append(InputMessage("same words"))
        assert one.id
        assert two.id
        claimed = (await feed.claim(0, last)).messages
        assert identities(claimed) == identities((one, two))
        assert len(set(identities(claimed))) == 2

    @case
    async def test_ids_are_any_text(self, mine: FeedHarness) -> None:
        """No two identities are confused, whatever signs are in them."""
        feed = mine.make_feed()
        stem = new_id()
        pairs = [(f"{stem}@x", "y"), (stem, "x@y"), (f"{stem}'; --", ""), (f"{stem}%", "_")]
        told = [await mine.append(InputMessage("m", id=name, revision=revision)) for name, revision in pairs]
        claimed = (await feed.claim(0, told[-1][0])).messages
        assert identities(claimed) == identities(tuple(message for _, message in told))


async def _wakes(watch: Watch) -> None:
    """The watch must wake up."""
    with trio.fail_after(30):
        await watch.changed()


async def _woke_within(watch: Watch, seconds: float) -> bool:
    with trio.move_on_after(seconds) as scope:
        await watch.changed()
    return not scope.cancelled_caught


def _plain(message: InputMessage) -> InputMessage:
    return replace(message, meta=dict(message.meta))


def _spoil(message: InputMessage) -> None:
    """Change what can be changed in a message that somebody holds (an empty mapping may be everybody's default)."""
    if message.meta and isinstance(message.meta, MutableMapping):
        message.meta["fact"] = "spoiled"
