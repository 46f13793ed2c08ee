"""Durable input: watching, polling by number, claiming, and repeating the last claim.

A gate that needs to know of newer input waits for a poll that was asked after it opened: it takes the next number with
``fresh_poll`` and waits for ``polled``.
"""

from ...effects.feed import Claim, FeedPolled, InputClaimed, InputMessage, Role
from ...effects.outcome import FailureKind
from ...effects.transcript import AssistantMessage, Message, Sealed, TextPart, UserMessage, clean_text
from ...effects.values import replace
from .ending import fail
from .log import Entry, EntryKind
from .phases import Opening, Watched, WatchOpening
from .saving import hold
from .spec import Rules
from .state import RunState


def fresh_poll(state: RunState) -> tuple[RunState, int]:
    """Want a poll that has not been asked yet; returns its number."""
    number = state.feed.asked + 1
    return replace(state, feed=replace(state.feed, wanted=number)), number


def polled(state: RunState, number: int) -> bool:
    """Whether poll ``number`` has been answered."""
    return state.feed.answered >= number


def newer_input(state: RunState) -> bool:
    """Whether there is input above what was claimed."""
    return state.feed.latest > state.feed.claimed


def want_claim(state: RunState, after: int, through: int) -> RunState:
    """Want the input above ``after`` and up to ``through``."""
    return replace(state, feed=replace(state.feed, claim=(after, through)))


def on_watched(state: RunState) -> RunState:
    """The subscription is in effect."""
    assert isinstance(state.feed.watch, WatchOpening)
    return replace(state, feed=replace(state.feed, watch=Watched()))


def on_signalled(state: RunState) -> RunState:
    """There may be newer input: ask."""
    state, _ = fresh_poll(state)
    return state


def on_polled(state: RunState, event: FeedPolled) -> RunState:
    """The answer to the poll in flight."""
    feed = state.feed
    return replace(state, feed=replace(feed, answered=feed.asked, latest=max(feed.latest, event.latest)))


def on_claimed(state: RunState, event: InputClaimed, rules: Rules) -> RunState:
    """Check a claim against what was asked; a feed that breaks its contract ends the run (N-19, N-20)."""
    claim, asked = event.claim, state.feed.claim
    assert asked is not None
    after, through = asked
    state = replace(state, feed=replace(state.feed, claim=None, claiming=False))
    if isinstance(state.life, Opening):
        if claim.boundary != through or not claim.messages:
            return _breach(state, rules, f"the feed did not repeat the claim up to {through}: it gave {_told(claim)}")
        return replace(state, life=Opening(replayed=True), turn=replace(state.turn, claim=claim.messages))
    if not claim.messages:
        return _breach(state, rules, f"the feed claimed no messages above {after}")
    if not after < claim.boundary <= through:
        return _breach(
            state, rules, f"the feed was asked to claim {after + 1} to {through}, and claimed {_told(claim)}"
        )
    feed = replace(state.feed, after=after, claimed=claim.boundary, latest=claim.boundary)
    return replace(state, feed=feed)


def enter_input(
    state: RunState, messages: tuple[InputMessage, ...], always: bool = False
) -> tuple[RunState, tuple[Sealed, ...]]:
    """The messages that are new here, as they enter the context; each id and revision enters once (N-17).

    ``always``: the log says that a turn began, even if nothing is new.
    """
    fresh: dict[str, InputMessage] = {}
    for message in messages:
        key = clean_text(message.key)
        if key not in state.feed.seen:
            fresh.setdefault(key, message)
    if not fresh and not always:
        return state, ()
    items = tuple(Sealed.of(_entering(message, state.clock.now)) for message in fresh.values())
    state = replace(state, feed=replace(state.feed, seen=state.feed.seen.add(*fresh)))
    return hold(state, Entry(EntryKind.INPUT, items), tuple(fresh)), items


def _entering(message: InputMessage, at: int) -> Message:
    text = clean_text(message.content)
    if message.role == Role.ASSISTANT:
        return AssistantMessage((TextPart(text),), timestamp=at)
    return UserMessage(text, timestamp=at)


def _breach(state: RunState, rules: Rules, message: str) -> RunState:
    return fail(state, rules, FailureKind.CONTRACT_BREACH, message)


def _told(claim: Claim) -> str:
    return f"{len(claim.messages)} messages up to {claim.boundary}"
