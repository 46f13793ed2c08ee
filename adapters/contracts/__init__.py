"""The suites by which a host proves its own stores: pytest classes, and a Hypothesis machine.

``harness`` says what a host implements; ``journal`` and ``feed`` are the suites, ``machine`` plays a journal against a
model of it. They need the ``test`` extra: ``pip install 'turnfold[test]'``. Nothing else in the product imports them.
"""

from . import extra as _extra
from .feed import FeedContract
from .harness import Contract, FeedHarness, HandClock, Harness, JournalHarness, ListedCall, case
from .journal import JournalContract
from .machine import JournalMachine
from .over_store import HostStore, StoreHarness
from .sameness import same_call, same_completion, same_json, same_resume

__all__ = [
    "Contract",
    "FeedContract",
    "FeedHarness",
    "HandClock",
    "Harness",
    "HostStore",
    "JournalContract",
    "JournalHarness",
    "JournalMachine",
    "ListedCall",
    "StoreHarness",
    "case",
    "same_call",
    "same_completion",
    "same_json",
    "same_resume",
]

del _extra
