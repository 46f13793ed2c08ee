"""Time, as the fold sees it: a wake-up to ask for, and having been woken. Milliseconds since the epoch, UTC."""

from .values import frozen

__all__ = ["WakeAt", "Woke"]


@frozen
class WakeAt:
    """Wake the run at ``at``. A later order replaces an earlier one."""

    at: int


@frozen
class Woke:
    """Time has passed. Waking too early is harmless: the run asks again."""

    at: int
