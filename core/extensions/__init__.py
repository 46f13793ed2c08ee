"""What may be put on top of a run and left off again: nothing in the loop or the run names any of it.

Read ``prices`` (what tokens cost), ``policies`` (rules for an agent's hooks), ``spans`` (a run as a tree of spans).
Only the pure parts are here; ``shells.policies`` and ``shells.telemetry`` connect them.
"""

from .prices import Price, Prices, Pricing

__all__ = ["Price", "Prices", "Pricing"]
