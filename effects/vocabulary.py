"""The two unions that cross the border of a durable run: what the fold may be told, and what it may ask.

An order is answered by events that carry its ticket. A notice is an effect that nothing answers.
"""

from .clock import WakeAt, Woke
from .feed import ClaimInput, FeedFailed, FeedPolled, FeedWatched, InputClaimed, InputSignalled, PollFeed, WatchFeed
from .journal import (
    AttemptBegun,
    AttemptEnded,
    AttemptRefused,
    AttemptStale,
    BeginAttempt,
    CallRefused,
    CallSaved,
    EndAttempt,
    JournalFailed,
    LeaseRenewed,
    RenewLease,
    SaveCall,
    SaveStep,
    StepSaved,
)
from .lifecycle import CancelAsked, Publish, RunEnded, RunStarted
from .model import CallModel, CancelModel, ModelBroke, ModelCutOff, ModelStreamed
from .question import (
    AskGuard,
    AskPolicy,
    AskReconcile,
    CancelQuestion,
    PolicyGiven,
    QuestionCutOff,
    QuestionFailed,
    Reconciled,
    VerdictGiven,
)
from .tool import CancelTool, RunTool, ToolControlled, ToolCutOff, ToolFailed, ToolProgressed, ToolReturned

__all__ = ["Effect", "Event", "Notice", "Order"]

Order = (
    BeginAttempt
    | RenewLease
    | EndAttempt
    | SaveStep
    | SaveCall
    | WatchFeed
    | PollFeed
    | ClaimInput
    | CallModel
    | CancelModel
    | RunTool
    | CancelTool
    | AskPolicy
    | AskReconcile
    | AskGuard
    | CancelQuestion
    | WakeAt
)
Notice = Publish | RunEnded
Effect = Order | Notice

Event = (
    RunStarted
    | CancelAsked
    | Woke
    | AttemptBegun
    | AttemptRefused
    | AttemptStale
    | AttemptEnded
    | LeaseRenewed
    | StepSaved
    | CallSaved
    | CallRefused
    | JournalFailed
    | FeedWatched
    | InputSignalled
    | FeedPolled
    | InputClaimed
    | FeedFailed
    | ModelStreamed
    | ModelCutOff
    | ModelBroke
    | ToolProgressed
    | ToolReturned
    | ToolControlled
    | ToolFailed
    | ToolCutOff
    | PolicyGiven
    | Reconciled
    | VerdictGiven
    | QuestionFailed
    | QuestionCutOff
)
