"""Wall time as runs are told it."""

import time
from collections.abc import Callable

__all__ = ["wall_clock"]


def wall_clock() -> Callable[[], int]:
    """Wall time in milliseconds since the epoch that never goes back: read once, then carried on by a steady clock."""
    started, steady = time.time_ns(), time.monotonic_ns()
    return lambda: (started + time.monotonic_ns() - steady) // 1_000_000
