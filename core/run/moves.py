"""The table of moves: for each region, which event is legal in which of its phases, and what it does.

What is not in the table is illegal. A repeat that must be tolerated is a row of its own, with its reason. An answer is
looked up by its order's ticket first: one that is not in flight is illegal whatever the phase. ``table`` prints all of
it; the printed form is reviewed like code and stands in ARCHITECTURE.md.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...effects.clock import Woke
from ...effects.feed import (
    ClaimInput,
    FeedFailed,
    FeedPolled,
    FeedWatched,
    InputClaimed,
    InputSignalled,
    PollFeed,
    WatchFeed,
)
from ...effects.journal import (
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
from ...effects.lifecycle import CancelAsked, RunStarted
from ...effects.model import CallModel, ModelBroke, ModelCutOff, ModelStreamed
from ...effects.question import (
    AskGuard,
    AskPolicy,
    AskReconcile,
    PolicyGiven,
    QuestionCutOff,
    QuestionFailed,
    Reconciled,
    VerdictGiven,
)
from ...effects.tool import RunTool, ToolControlled, ToolCutOff, ToolFailed, ToolProgressed, ToolReturned
from ...effects.values import frozen
from . import handlers
from .phases import (
    Beginning,
    CallAsking,
    CallHandingOver,
    CallReconciling,
    CallRunning,
    CallSettling,
    CallStarting,
    Closing,
    Ended,
    LeaseRenewing,
    Opening,
    Recovering,
    Resting,
    Reviewing,
    SavingStep,
    Unstarted,
    Unwatched,
    Watched,
    WatchOpening,
    Working,
)
from .spec import Rules
from .state import RunState

Handler = Callable[[RunState, Any, Rules, str], RunState]


@frozen
class Move:
    """One row: what it does, in words for the table, and the function that does it."""

    does: str
    handler: Handler
    tolerated: bool = False


_JOURNAL = (BeginAttempt, RenewLease, EndAttempt, SaveStep, SaveCall)
_FEED = (WatchFeed, PollFeed, ClaimInput)

ANSWERS: Mapping[type, tuple[type, ...]] = {
    AttemptBegun: (BeginAttempt,),
    AttemptRefused: (BeginAttempt,),
    AttemptStale: _JOURNAL,
    AttemptEnded: (EndAttempt,),
    LeaseRenewed: (RenewLease,),
    StepSaved: (SaveStep,),
    CallSaved: (SaveCall,),
    CallRefused: (SaveCall,),
    JournalFailed: _JOURNAL,
    FeedWatched: (WatchFeed,),
    InputSignalled: (WatchFeed,),
    FeedPolled: (PollFeed,),
    InputClaimed: (ClaimInput,),
    FeedFailed: _FEED,
    ModelStreamed: (CallModel,),
    ModelCutOff: (CallModel,),
    ModelBroke: (CallModel,),
    ToolProgressed: (RunTool,),
    ToolReturned: (RunTool,),
    ToolFailed: (RunTool,),
    ToolCutOff: (RunTool,),
    ToolControlled: (RunTool,),
    PolicyGiven: (AskPolicy,),
    Reconciled: (AskReconcile,),
    VerdictGiven: (AskGuard,),
    QuestionFailed: (AskPolicy, AskReconcile, AskGuard),
    QuestionCutOff: (AskPolicy, AskReconcile, AskGuard),
}
"""Which orders an event may answer. The ticket it carries must be in flight for one of them."""

STREAMS = (FeedWatched, InputSignalled, ToolProgressed)
"""Answers that leave their order in flight. A batch of deltas does so too, unless it ends with the terminal one."""


def _nothing(state: RunState, event: object, rules: Rules, subject: str) -> RunState:
    return state


def _rows(events: type | tuple[type, ...], phases: tuple[type, ...], move: Move) -> dict[tuple[type, type], Move]:
    wanted = events if isinstance(events, tuple) else (events,)
    return {(event, phase): move for event in wanted for phase in phases}


_UNDER_WAY = (Recovering, Opening, Working, Closing)
_ANY_TIME = (Beginning, *_UNDER_WAY, Ended)

LIFE: Mapping[tuple[type, type], Move] = {
    **_rows(RunStarted, (Unstarted,), Move("ask for an attempt", handlers.on_started)),
    **_rows(CancelAsked, (Beginning,), Move("remember it until the attempt has begun", handlers.on_cancel_early)),
    **_rows(CancelAsked, (Recovering, Opening, Working), Move("close as cancelled", handlers.on_cancel)),
    **_rows(CancelAsked, (Closing, Ended), Move("nothing: the run is ending", _nothing, True)),
    **_rows(AttemptBegun, (Beginning,), Move("restore what is stored", handlers.on_begun)),
    **_rows(AttemptRefused, (Beginning,), Move("end: another executor holds the run", handlers.on_refused)),
    **_rows(AttemptStale, (Beginning, *_UNDER_WAY), Move("end without another write", handlers.on_stale)),
    **_rows(JournalFailed, (Beginning, *_UNDER_WAY), Move("end without another write", handlers.on_journal_failed)),
    **_rows(AttemptEnded, (Closing,), Move("the lease is given back", handlers.on_ended)),
    **_rows(FeedFailed, (Opening, Working), Move("close as failed", handlers.on_feed_failed)),
    **_rows(FeedFailed, (Closing, Ended), Move("nothing: no input is wanted any more", handlers.on_feed_gone, True)),
    **_rows(Woke, _ANY_TIME, Move("look at the deadlines; woken too early, ask again", handlers.on_woke, True)),
}

LEASE: Mapping[tuple[type, type], Move] = _rows(
    LeaseRenewed, (LeaseRenewing,), Move("the lease runs anew from when it was asked", handlers.on_renewed)
)

SAVING: Mapping[tuple[type, type], Move] = _rows(
    StepSaved, (SavingStep,), Move("every mark of the step is saved", handlers.on_step_saved)
)

FEED: Mapping[tuple[type, type], Move] = {
    **_rows(FeedWatched, (WatchOpening,), Move("the subscription is in effect", handlers.on_watched)),
    **_rows(InputSignalled, (Watched,), Move("want a fresh poll", handlers.on_signalled)),
    **_rows(FeedPolled, (Watched,), Move("learn the latest input", handlers.on_polled)),
    **_rows(InputClaimed, (Watched,), Move("begin a turn with it, or go on after a replay", handlers.on_claimed)),
    **_rows(FeedPolled, (Unwatched,), Move("only that: the subscription failed", handlers.on_polled, True)),
    **_rows(InputClaimed, (Unwatched,), Move("only that: the subscription failed", handlers.on_claimed, True)),
}

MODEL: Mapping[tuple[type, type], Move] = {
    **_rows(ModelStreamed, (handlers.Wanted,), Move("show it; accept a complete output", handlers.on_model_streamed)),
    **_rows(ModelCutOff, (handlers.Wanted,), Move("fail: nobody asked for that", handlers.on_model_cut_off)),
    **_rows(ModelBroke, (handlers.Wanted,), Move("fail: the port broke its contract", handlers.on_model_broke)),
    **_rows(
        (ModelStreamed, ModelCutOff, ModelBroke),
        (handlers.Withdrawn,),
        Move("nothing: it is not wanted any more", handlers.on_withdrawn_model, True),
    ),
}

CALLS: Mapping[tuple[type, type], Move] = {
    **_rows(CallSaved, (CallStarting,), Move("run the tool, unless its owner settled it", handlers.on_call_saved)),
    **_rows(CallSaved, (CallSettling,), Move("settled: the result is final", handlers.on_call_saved)),
    **_rows(CallSaved, (CallHandingOver,), Move("settled: it is another's to finish", handlers.on_call_saved)),
    **_rows(CallRefused, (CallHandingOver,), Move("fail the call with the reason", handlers.on_call_refused)),
    **_rows(
        CallRefused,
        (CallStarting, CallSettling),
        Move("end: only hand-overs may be refused", handlers.on_refused_otherwise),
    ),
    **_rows(ToolProgressed, (CallRunning,), Move("nothing: records do not show progress", _nothing, True)),
    **_rows(
        (ToolReturned, ToolFailed, ToolCutOff, ToolControlled),
        (CallRunning,),
        Move("save the outcome", handlers.on_tool_answer),
    ),
}

QUESTIONS: Mapping[tuple[type, type], Move] = {
    **_rows(PolicyGiven, (CallAsking,), Move("clear the call to start, or to be handed over", handlers.on_policy)),
    **_rows((QuestionFailed, QuestionCutOff), (CallAsking,), Move("fail the call", handlers.on_policy)),
    **_rows(Reconciled, (CallReconciling,), Move("settle the call, or owe it again", handlers.on_reconciled)),
    **_rows(
        (QuestionFailed, QuestionCutOff),
        (CallReconciling,),
        Move("settle the call by its traits", handlers.on_reconciled),
    ),
    **_rows(VerdictGiven, (Reviewing,), Move("deliver, ask again, or end otherwise", handlers.on_verdict)),
    **_rows((QuestionFailed, QuestionCutOff), (Reviewing,), Move("fail: the guard did", handlers.on_verdict)),
    **_rows(
        (VerdictGiven, QuestionFailed, QuestionCutOff),
        (Resting,),
        Move("nothing: the run is ending", _nothing, True),
    ),
}

MOVES: Mapping[str, Mapping[tuple[type, type], Move]] = {
    "life": LIFE,
    "lease": LEASE,
    "saving": SAVING,
    "feed": FEED,
    "model": MODEL,
    "calls": CALLS,
    "questions": QUESTIONS,
}


def table() -> str:
    """The whole table as Markdown, one section a region, in the order of the code."""
    lines: list[str] = []
    for region, rows in MOVES.items():
        lines += [f"**{region}**", "", "| event | in phase | what it does |", "|---|---|---|"]
        merged: dict[tuple[str, str], list[str]] = {}
        for (event, phase), move in rows.items():
            does = f"tolerated – {move.does}" if move.tolerated else move.does
            merged.setdefault((event.__name__, does), []).append(phase.__name__)
        lines += [f"| {event} | {', '.join(phases)} | {does} |" for (event, does), phases in merged.items()]
        lines.append("")
    return "\n".join(lines)
