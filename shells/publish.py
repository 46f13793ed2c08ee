"""The live display: operations are merged and handed on as deltas, at most one every ``INTERVAL_S`` seconds."""

from collections.abc import Callable

import trio

from ..effects.display import DisplayDelta, Operation, merge_operations

__all__ = ["INTERVAL_S", "Publisher"]

INTERVAL_S = 0.05
"""How long operations are merged before viewers are told, in seconds."""


class Publisher:
    """Numbers and merges what one execution shows.

    ``sink`` is called serially and must not block. One that raises stops the run and is not called again.
    """

    def __init__(self, sink: Callable[[DisplayDelta], None], stream: str, interval_s: float = INTERVAL_S) -> None:
        self._sink = sink
        self._stream = stream
        self._interval_s = interval_s
        self._pending: list[Operation] = []
        self._sequence = 0
        self._stirred = trio.Event()

    def publish(self, operations: tuple[Operation, ...]) -> None:
        """Show these, soon."""
        self._pending.extend(operations)
        self._stirred.set()

    async def run(self) -> None:
        """Flush now and then, until cancelled."""
        while True:
            await self._stirred.wait()
            self._stirred = trio.Event()
            self.flush()
            await trio.sleep(self._interval_s)

    def flush(self) -> None:
        """Tell viewers everything that is pending."""
        if self._pending:
            operations = merge_operations(tuple(self._pending))
            self._pending.clear()
            self._sequence += 1
            sink, self._sink = self._sink, _nobody
            sink(DisplayDelta(self._stream, self._sequence - 1, self._sequence, operations))
            self._sink = sink


def _nobody(delta: DisplayDelta) -> None:
    """Where deltas go when whoever wanted them has raised."""
