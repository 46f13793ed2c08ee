"""When a model that failed is asked again: only for a passing reason, later each time, and as its provider wishes.

The delays are spread by a digest of the execution's seed, so that runs that failed together do not come back together.
"""

from hashlib import blake2b

from ...effects.transcript import ErrorKind, ModelError
from .spec import Rules
from .state import RunState

PASSING = frozenset(
    {ErrorKind.RATE_LIMITED, ErrorKind.TIMEOUT, ErrorKind.NETWORK, ErrorKind.UNAVAILABLE, ErrorKind.PROTOCOL}
)
"""Failures that may be over the next time (decision 24)."""


def retry_delay(state: RunState, error: ModelError, rules: Rules) -> int | None:
    """In how many milliseconds the model is asked again; nothing when it is not."""
    retries, tries = rules.spec.retries, state.model.tries
    if error.kind not in PASSING or tries >= retries.times:
        return None
    wished = error.retry_after_ms or 0
    if wished > retries.patience_ms:
        return None
    return max(wished, _spread(state, min(retries.longest_ms, retries.first_ms << tries)))


def _spread(state: RunState, delay: int) -> int:
    """Between half of a delay and the whole of it."""
    tickets = state.tickets
    digest = blake2b(tickets.seed + tickets.last.to_bytes(8), digest_size=2, person=b"retry").digest()
    return delay // 2 + delay * int.from_bytes(digest) // (2 * 0xFFFF)
