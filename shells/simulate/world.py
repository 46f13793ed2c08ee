"""``World``: one run, everything around it, and a schedule that says what happens next. No I/O, no randomness, no time.

A world is deterministic: the same scenario and the same schedule give the same events, effects and bytes. ``step``
takes the next number of a schedule, ``settle`` switches the troubles off and demands that the run comes to an end.
After every event all promises are checked; the first that is broken raises ``PromiseBroken`` with the whole story.

Read ``choices`` for what may happen, this module for how it happens.
"""

from collections.abc import Callable, Iterable, Sequence

from ...core.invariants import broken, promise
from ...core.run import Ended, Fold, IllegalEvent, Rules, rules_for
from ...effects.clock import Woke
from ...effects.feed import ClaimInput, FeedFailed, FeedPolled, FeedWatched, InputClaimed, InputSignalled, PollFeed
from ...effects.feed import WatchFeed
from ...effects.journal import (
    AttemptBegun,
    AttemptEnded,
    AttemptRefused,
    AttemptStale,
    BeginAttempt,
    Begun,
    CallSaved,
    CallUpdate,
    EndAttempt,
    LeaseRenewed,
    RenewLease,
    SaveCall,
    SaveStep,
    StepSaved,
)
from ...effects.lifecycle import CancelAsked, RunStarted
from ...effects.model import CallModel, Delta, ModelBroke, ModelCutOff, ModelStreamed, StreamFailed, StreamFinished
from ...effects.outcome import Delivered, FailureKind, Suspended
from ...effects.tool import RunTool, ToolCutOff, ToolFailed, ToolProgressed, ToolResult, ToolReturned
from ...effects.transcript import StopReason, TextPart, calls_of, text_of
from ...effects.values import replace
from ...effects.vocabulary import Effect, Event
from ...core.loop import EMPTY_PARTIAL, fold_deltas, message_of
from . import store
from .executor import Answer, Executor, JournalOrder, Pending, is_journal_order
from .scenario import Behaviour, Output, Scenario, says
from .store import BadWrite, Conversation, Stored
from .trace import Trace
from .witness import Complaint, PromiseBroken, Witness

__all__ = ["World"]
