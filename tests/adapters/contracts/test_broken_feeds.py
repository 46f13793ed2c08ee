"""Each of these feeds breaks one rule, and the suite says which: just the cases beside it fail."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from turnfold.adapters.stores.memory import MemoryFeed, MemoryStore, MemoryWatch
from turnfold.adapters.stores.memory_kept import Conversation
from turnfold.effects.feed import Claim, ClaimFailed, InputMessage, Watch
from turnfold.effects.values import replace


class ClaimConsumes(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        claim = await super().claim(after, through)
        self._conversation.consume(claim.boundary)
        return claim


class ClaimIgnoresAfter(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        await super().claim(after, through)
        return await super().claim(0, through)


class ClaimIgnoresThrough(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        return await super().claim(after, len(self._conversation.messages))


class ClaimPromisesTooMuch(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        return replace(await super().claim(after, through), boundary=through)


class ClaimForgetsWhatWasConsumed(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        consumed, self._conversation.consumed = self._conversation.consumed, 0
        try:
            return await super().claim(after, through)
        finally:
            self._conversation.consumed = consumed


class SnapshotBeginsAfterWhatWasConsumed(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        return await super().claim(max(after, self._conversation.consumed), through)


class ClaimOfNothingIsEmpty(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        try:
            return await super().claim(after, through)
        except ClaimFailed:
            if self._conversation.consumed:
                raise
            return Claim((), max(after, 0))


class ClaimKeepsOneRevision(MemoryFeed):
    """Gives only the newest of the messages with an id, in the place of the first."""

    async def claim(self, after: int, through: int) -> Claim:
        claim = await super().claim(0, through)
        newest = {message.id: message for message in claim.messages}
        return replace(claim, messages=tuple(newest.values())[after:])


class MemoryIsShared(MemoryFeed):
    async def claim(self, after: int, through: int) -> Claim:
        claim = await super().claim(after, through)
        kept = self._conversation.messages
        return replace(claim, messages=tuple(kept[max(after, 0) : claim.boundary]))


class PendingCountsWhatWasConsumed(MemoryFeed):
    async def pending(self, after: int) -> int:
        latest = len(self._conversation.messages)
        return latest if latest > after else 0


class PendingIgnoresAfter(MemoryFeed):
    async def pending(self, after: int) -> int:
        return await super().pending(0)


class PendingCountsMessages(MemoryFeed):
    async def pending(self, after: int) -> int:
        return max(await super().pending(after) - max(after, self._conversation.consumed), 0)


class WatchMissesWhatCameBeforeTheWait(MemoryFeed):
    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[Watch, None]:
        yield LateWatch(self._conversation, self._signals)


class LateWatch(MemoryWatch):
    async def changed(self) -> None:
        self._seen = len(self._conversation.messages)
        await super().changed()


class WatchNeverRests(MemoryFeed):
    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[Watch, None]:
        yield RestlessWatch(self._conversation, self._signals)


class RestlessWatch(MemoryWatch):
    async def changed(self) -> None:
        await super().changed()
        self._seen = 0


class WatchWakesOnce(MemoryFeed):
    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[Watch, None]:
        yield SingleWatch(self._conversation, self._signals)


class SingleWatch(MemoryWatch):
    async def changed(self) -> None:
        await super().changed()
        self._seen = 1_000_000


class ConsumingGoesBack(MemoryStore):
    async def consume(self, conversation: str, sequence: int) -> int:
        kept = self._conversation(conversation)
        kept.consumed = min(sequence, len(kept.messages))
        return kept.consumed


class ConsumingReachesBeyondTheEnd(MemoryStore):
    async def consume(self, conversation: str, sequence: int) -> int:
        kept = self._conversation(conversation)
        kept.consumed = max(kept.consumed, sequence)
        return kept.consumed


class ConsumingConsumesAll(MemoryStore):
    async def consume(self, conversation: str, sequence: int) -> int:
        return await super().consume(conversation, sequence and 1_000_000)


class MessageStaysWithoutId(MemoryStore):
    async def append(self, conversation: str, message: InputMessage) -> tuple[int, InputMessage]:
        sequence, told = await super().append(conversation, message)
        bare = replace(told, id=message.id)
        self._conversation(conversation).messages[sequence - 1] = bare
        return sequence, bare


class RevisionReplacesTheMessage(MemoryStore):
    async def append(self, conversation: str, message: InputMessage) -> tuple[int, InputMessage]:
        kept = self._conversation(conversation).messages
        for index, old in enumerate(kept):
            if message.id and old.id == message.id:
                kept[index] = message
                self._signals.announce(conversation)
                return index + 1, message
        return await super().append(conversation, message)


class MediaAreForgotten(MemoryStore):
    async def append(self, conversation: str, message: InputMessage) -> tuple[int, InputMessage]:
        sequence, told = await super().append(conversation, message)
        kept = self._conversation(conversation).messages
        kept[sequence - 1] = replace(kept[sequence - 1], media=None)
        return sequence, told


class AppendIsSilent(MemoryStore):
    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._signals.announce = lambda conversation: None


class ConversationsAreMixedUp(MemoryStore):
    def _conversation(self, name: str) -> Conversation:
        return super()._conversation("the same for all")


BROKEN: dict[type[MemoryFeed] | type[MemoryStore], set[str]] = {
    ClaimConsumes: {
        "a_claim_can_be_repeated",
        "a_claim_starts_after_what_was_seen",
        "a_partial_claim_leaves_the_rest_pending",
        "a_revision_is_new_input",
        "messages_come_back_as_they_were_told",
    },
    ClaimIgnoresAfter: {
        "a_claim_starts_after_what_was_seen",
        "a_revision_is_new_input",
        "appends_and_claims_may_run_at_once",
        "consuming_never_reaches_beyond_the_end",
    },
    ClaimIgnoresThrough: {
        "a_claim_can_be_repeated",
        "a_claim_of_nothing_fails",
        "a_claim_starts_after_what_was_seen",
        "partly_consumed_input_stays_claimable",
        "what_is_pending_can_be_claimed",
    },
    ClaimPromisesTooMuch: {"a_claim_beyond_the_end_gives_what_is_there"},
    ClaimForgetsWhatWasConsumed: {
        "consumed_input_is_over",
        "consuming_never_goes_back",
        "partly_consumed_input_stays_claimable",
    },
    SnapshotBeginsAfterWhatWasConsumed: {"consumed_input_is_over", "partly_consumed_input_stays_claimable"},
    ClaimOfNothingIsEmpty: {"a_claim_of_nothing_fails", "an_empty_conversation_has_nothing_to_claim"},
    ClaimKeepsOneRevision: {"a_claim_of_nothing_fails", "a_revision_is_new_input"},
    MemoryIsShared: {"messages_come_back_as_they_were_told"},
    PendingCountsWhatWasConsumed: {
        "consumed_input_is_over",
        "consuming_never_goes_back",
        "consuming_never_reaches_beyond_the_end",
    },
    PendingIgnoresAfter: {"appends_and_claims_may_run_at_once", "what_is_pending_can_be_claimed"},
    PendingCountsMessages: {
        "a_claim_beyond_the_end_gives_what_is_there",
        "a_partial_claim_leaves_the_rest_pending",
        "a_revision_is_new_input",
        "appends_and_claims_may_run_at_once",
        "consumed_input_is_over",
        "consuming_never_reaches_beyond_the_end",
        "partly_consumed_input_stays_claimable",
        "what_is_pending_can_be_claimed",
    },
    WatchMissesWhatCameBeforeTheWait: {
        "a_cancelled_wait_loses_no_signal",
        "a_cancelled_wait_takes_nothing_from_others",
        "an_append_wakes_who_watches",
        "every_watcher_is_woken",
        "signals_may_merge_but_not_multiply",
    },
    WatchNeverRests: {"signals_may_merge_but_not_multiply"},
    WatchWakesOnce: {"an_append_wakes_who_watches", "every_watcher_is_woken", "signals_may_merge_but_not_multiply"},
    ConsumingGoesBack: {"consuming_never_goes_back"},
    ConsumingReachesBeyondTheEnd: {"consuming_never_reaches_beyond_the_end"},
    ConsumingConsumesAll: {"partly_consumed_input_stays_claimable"},
    MessageStaysWithoutId: {"a_message_without_id_gets_one", "messages_come_back_as_they_were_told"},
    RevisionReplacesTheMessage: {"a_revision_is_new_input"},
    MediaAreForgotten: {"messages_come_back_as_they_were_told"},
    AppendIsSilent: {
        "a_cancelled_wait_takes_nothing_from_others",
        "an_append_wakes_who_watches",
        "every_watcher_is_woken",
    },
    ConversationsAreMixedUp: {
        "a_cancelled_wait_takes_nothing_from_others",
        "an_append_wakes_who_watches",
        "conversations_are_kept_apart",
        "every_watcher_is_woken",
    },
}


@pytest.mark.parametrize(("broken", "cases"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN])
def test_a_broken_feed_fails_the_cases_of_its_rule(
    broken: type[MemoryFeed] | type[MemoryStore], cases: set[str], failing_feed_cases: Callable[..., set[str]]
) -> None:
    assert failing_feed_cases(broken) == cases
