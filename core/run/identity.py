"""Ids and tickets: the only two kinds of names that the fold gives.

An id is shaped like a UUIDv7: the event's time in front, then a digest of the execution's seed and a counter that is
not saved. A crash can lose an id; nobody will ever mint it again. A ticket names an order in flight and is never saved.
"""

from hashlib import blake2b

from ...effects.values import replace
from ...effects.vocabulary import Order
from .state import RunState, Tickets


def mint(state: RunState) -> tuple[RunState, str]:
    """A new id, as 36 characters."""
    tickets = state.tickets
    digest = blake2b(tickets.seed + tickets.minted.to_bytes(8), digest_size=10).digest()
    value = (state.clock.now & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(digest)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    minted = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    return replace(state, tickets=replace(tickets, minted=tickets.minted + 1)), minted


class Desk:
    """Gives tickets to the orders of one event, and then the state that has them all in flight."""

    __slots__ = ("_in_flight", "_last", "orders")

    def __init__(self, tickets: Tickets) -> None:
        self._last = tickets.last
        self._in_flight: dict[int, tuple[type, str]] = {}
        self.orders: list[Order] = []

    def issue(self, order: type, subject: str = "") -> int:
        """A ticket for an order about to be given; ``subject`` is the record id it is about, if any."""
        self._last += 1
        self._in_flight[self._last] = (order, subject)
        return self._last

    def close(self, state: RunState) -> RunState:
        """The state with everything that was given in flight."""
        if not self._in_flight:
            return state
        tickets = state.tickets
        in_flight = {**tickets.in_flight, **self._in_flight}
        return replace(state, tickets=replace(tickets, last=self._last, in_flight=in_flight))
