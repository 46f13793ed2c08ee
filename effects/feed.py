"""Durable input: the orders, their answers, and the port.

Input is numbered with growing sequence numbers. Claiming binds input to the run without consuming it; the host
consumes when it delivers the result.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

from .record import MediaRef
from .values import field, frozen, of_texts, of_type

__all__ = [
    "NO_META",
    "Claim",
    "ClaimFailed",
    "ClaimInput",
    "Feed",
    "FeedFailed",
    "FeedPolled",
    "FeedWatched",
    "InputClaimed",
    "InputMessage",
    "InputSignalled",
    "PollFeed",
    "Role",
    "Watch",
    "WatchFeed",
]

NO_META: Mapping[str, str] = {}


class Role(StrEnum):
    """Who said an input message; anything but the assistant counts as the user."""

    USER = "user"
    ASSISTANT = "assistant"


@frozen
class InputMessage:
    """One message of the conversation. ``id`` and ``revision`` identify its content; ``meta`` is never interpreted.

    Raises ``TypeError`` for a member of another type.
    """

    content: str = field(validator=of_type(str))
    id: str = field(default="", validator=of_type(str))
    revision: str = field(default="", validator=of_type(str))
    role: str = field(default=Role.USER, validator=of_type(str))
    media: MediaRef | None = field(default=None, validator=of_type(MediaRef | None))
    meta: Mapping[str, str] = field(default=NO_META, validator=of_texts)

    @property
    def key(self) -> str:
        """The identity by which a message enters a history once: its id and its revision."""
        return f"{self.id}@{self.revision}"


@frozen
class Claim:
    """Messages new or revised since ``after``, in order, up to ``boundary`` (which may be lower than asked for)."""

    messages: tuple[InputMessage, ...]
    boundary: int


@frozen
class WatchFeed:
    """Subscribe to new input until the run ends. Answered by ``FeedWatched`` and then by any number of signals."""

    ticket: int


@frozen
class PollFeed:
    """Ask for the highest sequence number above ``after`` that can be claimed."""

    ticket: int
    after: int


@frozen
class ClaimInput:
    """Claim the input above ``after`` and up to ``through``."""

    ticket: int
    after: int
    through: int


@frozen
class FeedWatched:
    """The subscription is in effect: input from now on either signals or is seen by a poll."""

    at: int
    ticket: int


@frozen
class InputSignalled:
    """There may be new input. Signals may be merged or lost, so the run also polls."""

    at: int
    ticket: int


@frozen
class FeedPolled:
    """``latest`` is the highest claimable sequence number above what was asked, or 0."""

    at: int
    ticket: int
    latest: int


@frozen
class InputClaimed:
    """The input is bound to the run."""

    at: int
    ticket: int
    claim: Claim


@frozen
class FeedFailed:
    """The feed could not do it, and the run cannot go on (answers any of the orders above)."""

    at: int
    ticket: int
    message: str


class Watch(Protocol):
    """A live subscription."""

    async def changed(self) -> None:
        """Return when something may have been appended since the last return (or since the subscription began)."""
        ...


class Feed(Protocol):
    """The durable input of one run. Any exception ends the run as failed."""

    def watch(self) -> AbstractAsyncContextManager[Watch]:
        """Subscribe; the subscription is in effect once the context is entered, and over when it is left."""
        ...

    async def pending(self, after: int) -> int:
        """The highest sequence number above ``after`` that can be claimed now, or 0."""
        ...

    async def claim(self, after: int, through: int) -> Claim:
        """What is new or revised above ``after``, up to ``through`` or less.

        With ``after`` 0 it is a snapshot of the whole conversation. Claiming the same bounds again gives the same
        boundary until the input is consumed. Raises ``ClaimFailed`` when there is nothing to claim or when the
        boundary is at or below what was consumed.
        """
        ...


class ClaimFailed(Exception):
    """Raised by a feed when a claim has no messages, or when its input was already consumed."""
