"""What attempts at one answer have in common: when one has been seen, and how one is let go of.

An attempt may be replaced by another, with another key or by another model, as long as nobody has seen any of it.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, cast

from ...effects.model import BlockDelta, BlockStarted, Delta, DeltaKind, Started, UsageReported

__all__ = ["closing", "is_visible"]


def is_visible(delta: Delta) -> bool:
    """Whether a delta shows something of an answer, or ends it.

    Who answers, what was used, an empty piece, and the beginning of a text or a thought show nothing yet; that of a
    call does, and so does any end.
    """
    match delta:
        case Started() | UsageReported():
            return False
        case BlockStarted(kind=kind):
            return kind is DeltaKind.CALL
        case BlockDelta(text=text):
            return bool(text)
        case _:
            return True


def closing(deltas: AsyncIterator[Delta]) -> AbstractAsyncContextManager[AsyncIterator[Delta]]:
    """The deltas, which are let go of in any case: an answer that is not wanted any more must not go on."""
    if hasattr(deltas, "aclose"):
        return cast("AbstractAsyncContextManager[AsyncIterator[Delta]]", aclosing(cast("Any", deltas)))
    return _Open(deltas)


class _Open(AbstractAsyncContextManager["AsyncIterator[Delta]"]):
    """Deltas that cannot be closed."""

    def __init__(self, deltas: AsyncIterator[Delta]) -> None:
        self._deltas = deltas

    async def __aenter__(self) -> AsyncIterator[Delta]:
        return self._deltas

    async def __aexit__(self, *_: object) -> None:
        return None
