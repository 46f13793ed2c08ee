"""Waking those who watch a conversation.

A watcher remembers how far it has seen, so a signal carries nothing and many are as good as one; apart from that it
only has to wait, and what it waits on is here.
"""

import trio

__all__ = ["Signals"]


class Signals:
    """Who waits for which conversation, within one store object."""

    def __init__(self) -> None:
        self._waiting: dict[str, trio.lowlevel.ParkingLot] = {}
        self.announced = 0
        """How often anything was announced: for who may have missed it, having just stopped waiting."""

    def announce(self, conversation: str) -> None:
        """Wake everybody who waits for the conversation now."""
        self.announced += 1
        lot = self._waiting.pop(conversation, None)
        if lot is not None:
            lot.unpark_all()

    async def wait(self, conversation: str) -> None:
        """Wait for the next announcement. Look for what it would announce first: earlier ones are not kept."""
        lot = self._waiting.setdefault(conversation, trio.lowlevel.ParkingLot())
        try:
            await lot.park()
        finally:
            # A cancelled wait leaves nothing behind, however many conversations were ever watched.
            if not lot and self._waiting.get(conversation) is lot:
                del self._waiting[conversation]
