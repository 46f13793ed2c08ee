"""Stores: where runs and their input are kept. Each is a journal per run, a feed per conversation, and a host's writes.

Read ``store`` first: it is what both offer. ``errors`` is what they may say instead, ``rules`` the few rules that
``effects.journal`` leaves to a store; ``memory`` is the whole of it in one file, ``sqlite`` the one that lasts. A store
of your own is held to the same by the suites in ``adapters.contracts``.
"""

from .errors import (
    BadLogCut,
    CannotOpen,
    CorruptRow,
    DecisionRefused,
    MessageChanged,
    NewerSchema,
    NotOurDatabase,
    Refusal,
    RunTaken,
    StoreClosed,
    StoreError,
    StoreLocked,
    TooLarge,
    UnknownCall,
    UnknownRun,
)
from .memory import MemoryStore
from .sqlite import SqliteStore
from .store import RunSummary, Store, WaitingCall

__all__ = [
    "BadLogCut",
    "CannotOpen",
    "CorruptRow",
    "DecisionRefused",
    "MemoryStore",
    "MessageChanged",
    "NewerSchema",
    "NotOurDatabase",
    "Refusal",
    "RunSummary",
    "RunTaken",
    "SqliteStore",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreLocked",
    "TooLarge",
    "UnknownCall",
    "UnknownRun",
    "WaitingCall",
]
