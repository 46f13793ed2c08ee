"""Ids and tickets: the only two kinds of names that the fold gives.

An id is shaped like a UUIDv7: the event's time in front, then a digest of the execution's seed and a counter that is
not saved. A crash can lose an id; nobody will ever mint it again. A ticket names one order in flight and is never saved.
"""

from hashlib import blake2b

from ...effects.values import replace
from .state import RunState

__all__ = ["issue", "mint", "redeem"]


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


def issue(state: RunState, order: type, subject: str = "") -> tuple[RunState, int]:
    """A ticket for an order about to be given; ``subject`` is the record id it is about, if any."""
    tickets = state.tickets
    ticket = tickets.last + 1
    in_flight = {**tickets.in_flight, ticket: (order, subject)}
    return replace(state, tickets=replace(tickets, last=ticket, in_flight=in_flight)), ticket


def redeem(state: RunState, ticket: int) -> RunState:
    """The state with that ticket no longer in flight."""
    in_flight = dict(state.tickets.in_flight)
    del in_flight[ticket]
    return replace(state, tickets=replace(state.tickets, in_flight=in_flight))
