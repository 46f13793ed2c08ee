"""One function per row of the table of moves: from an event to the concern that knows what it means.

All have one shape, ``(state, event, rules, subject)``, where ``subject`` is the record id that the answered order was
about (empty where there is none).
"""

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
    CallRefused,
    CallSaved,
    JournalFailed,
    LeaseRenewed,
    RenewLease,
    SaveStep,
    StepSaved,
)
from ...effects.lifecycle import CancelAsked, RunStarted
from ...effects.model import (
    ModelBroke,
    ModelCutOff,
    ModelStreamed,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from ...effects.outcome import FailureKind
from ...effects.question import PolicyGiven, QuestionCutOff, QuestionFailed, Reconciled, VerdictGiven
from ...effects.tool import ToolControlled, ToolCutOff, ToolFailed, ToolReturned
from ...effects.values import frozen, replace
from . import calls, decisions, dispatch, ending, inputs, review, saving, turns
from .phases import Beginning, Closing, LeaseHeld, LeaseRenewing, NoStep, Opening, SavingStep, Unwatched
from .recovery import restore
from .spec import Rules
from .state import Lease, RunState


@frozen
class Wanted:
    """The model call in flight is wanted."""


@frozen
class Withdrawn:
    """The model call in flight was withdrawn and has yet to answer."""


def on_started(state: RunState, event: RunStarted, rules: Rules, subject: str) -> RunState:
    """The execution begins, with the randomness that all its ids come from."""
    tickets = replace(state.tickets, seed=event.seed)
    return replace(state, life=Beginning(), tickets=tickets, lease=Lease(take_over=event.take_over))


def on_cancel_early(state: RunState, event: CancelAsked, rules: Rules, subject: str) -> RunState:
    """There is nothing to cancel before the attempt has begun; then there may be (decision 40)."""
    return replace(state, life=Beginning(cancelled=event.reason or "cancelled"))


def on_cancel(state: RunState, event: CancelAsked, rules: Rules, subject: str) -> RunState:
    """Calls are cut off and settled by what they are (decision 5)."""
    return _cancelled(state, rules, event.reason or "cancelled")


def _cancelled(state: RunState, rules: Rules, reason: str) -> RunState:
    text = "the run was cancelled" if reason == "cancelled" else f"the run was cancelled: {reason}"
    state = decisions.give_up_paused(state, rules)
    return ending.fail(state, rules, FailureKind.CANCELLED, text)


def on_begun(state: RunState, event: AttemptBegun, rules: Rules, subject: str) -> RunState:
    """The run is ours: restore it. The lease counts from when it was asked for."""
    before = state.life
    lease = replace(state.lease, began=state.clock.now)
    asked = lease.asked or 0
    state = replace(state, lease=_held(lease, asked, rules, event.begun.attempt))
    state = restore(state, event, rules)
    if isinstance(before, Beginning) and before.cancelled is not None:
        state = _cancelled(state, rules, before.cancelled)
    return state


def on_refused(state: RunState, event: AttemptRefused, rules: Rules, subject: str) -> RunState:
    """Another executor's lease is live."""
    return ending.end_busy(state, event.until)


def on_ended(state: RunState, event: AttemptEnded, rules: Rules, subject: str) -> RunState:
    """The lease is given back."""
    return ending.on_attempt_ended(state)


def on_stale(state: RunState, event: AttemptStale, rules: Rules, subject: str) -> RunState:
    """Somebody else has the run now; whatever this execution wrote since does not count (decision 9)."""
    text = "another executor has taken over this run"
    return ending.on_unwritable(_not_written(state, subject), rules, FailureKind.STALE_ATTEMPT, text)


def on_journal_failed(state: RunState, event: JournalFailed, rules: Rules, subject: str) -> RunState:
    """Nothing can be saved, so nothing may be done any more."""
    text = f"the journal failed: {event.message}"
    return ending.on_unwritable(_not_written(state, subject), rules, FailureKind.JOURNAL, text)


def on_call_refused(state: RunState, event: CallRefused, rules: Rules, subject: str) -> RunState:
    """The host does not take the call."""
    return calls.on_call_refused(state, subject, event.reason)


def on_refused_otherwise(state: RunState, event: CallRefused, rules: Rules, subject: str) -> RunState:
    """Only a submission or a pause may be refused; any other refusal is a failure of the journal."""
    text = f"the journal refused to save a call: {event.reason}"
    return ending.on_unwritable(_not_written(state, subject), rules, FailureKind.JOURNAL, text)


def _not_written(state: RunState, subject: str) -> RunState:
    """What the failed order was to write is not in flight any more."""
    if subject in state.batch.live:
        state = calls.put(state, replace(state.batch.live[subject], writing=None), view=False)
    # A step and a renewal are the only orders of their kind; the table has already checked that theirs was answered.
    orders = {order for order, _ in state.tickets.in_flight.values()}
    if isinstance(state.saving.phase, SavingStep) and SaveStep not in orders:
        state = replace(state, saving=replace(state.saving, phase=NoStep()))
    if isinstance(state.lease.phase, LeaseRenewing) and RenewLease not in orders:
        state = replace(state, lease=replace(state.lease, phase=LeaseHeld()))
    return state


def on_feed_failed(state: RunState, event: FeedFailed, rules: Rules, subject: str) -> RunState:
    """The run cannot know of input any more."""
    state = on_feed_gone(state, event, rules, subject)
    return ending.fail(state, rules, FailureKind.FEED, f"the feed failed: {event.message}")


def on_feed_gone(state: RunState, event: FeedFailed, rules: Rules, subject: str) -> RunState:
    """An order to the feed came to nothing: it is not in flight any more."""
    orders = {order for order, _ in state.tickets.in_flight.values()}
    feed = state.feed
    if WatchFeed not in orders:
        feed = replace(feed, watch=Unwatched())
    if ClaimInput not in orders:
        feed = replace(feed, claim=None, claiming=False)
    if PollFeed not in orders:
        feed = replace(feed, answered=feed.asked)
    return replace(state, feed=feed)


def on_woke(state: RunState, event: Woke, rules: Rules, subject: str) -> RunState:
    """The wake-up that was asked for is spent, also when it came too early: the next one is asked for anew."""
    return replace(state, clock=replace(state.clock, wake=None))


def on_renewed(state: RunState, event: LeaseRenewed, rules: Rules, subject: str) -> RunState:
    """The lease runs anew."""
    phase = state.lease.phase
    assert isinstance(phase, LeaseRenewing)
    return replace(state, lease=_held(state.lease, phase.since, rules, state.lease.attempt))


def _held(lease: Lease, since: int, rules: Rules, attempt: int) -> Lease:
    lease_ms = rules.spec.limits.lease_ms
    return replace(
        lease,
        phase=LeaseHeld(),
        attempt=attempt,
        until=since + lease_ms,
        renew_at=since + max(1, lease_ms // 3),
        renew=False,
    )


def on_step_saved(state: RunState, event: StepSaved, rules: Rules, subject: str) -> RunState:
    """The step is stored."""
    return saving.on_step_saved(state, event)


def on_watched(state: RunState, event: FeedWatched, rules: Rules, subject: str) -> RunState:
    """The subscription is in effect."""
    return inputs.on_watched(state)


def on_signalled(state: RunState, event: InputSignalled, rules: Rules, subject: str) -> RunState:
    """There may be newer input; a run that is ending does not care."""
    return inputs.on_signalled(state)


def on_polled(state: RunState, event: FeedPolled, rules: Rules, subject: str) -> RunState:
    """The latest input is known."""
    return inputs.on_polled(state, event)


def on_claimed(state: RunState, event: InputClaimed, rules: Rules, subject: str) -> RunState:
    """A claim is checked; a new one begins a turn, a repeated one lets the run go on."""
    if state.feed.claim is None or isinstance(state.life, Closing):
        return replace(state, feed=replace(state.feed, claim=None, claiming=False))
    replay = isinstance(state.life, Opening)
    state = inputs.on_claimed(state, event, rules)
    if replay or isinstance(state.life, Closing):
        return state
    return turns.start_turn(state, event.claim.messages, rules)


def on_model_streamed(state: RunState, event: ModelStreamed, rules: Rules, subject: str) -> RunState:
    """A batch of deltas of the call that is wanted."""
    return turns.on_model_streamed(state, event, rules)


def on_model_cut_off(state: RunState, event: ModelCutOff, rules: Rules, subject: str) -> RunState:
    """Cut off although it was wanted."""
    return turns.on_model_cut_off(state, event, rules)


def on_model_broke(state: RunState, event: ModelBroke, rules: Rules, subject: str) -> RunState:
    """The port broke its contract."""
    return turns.on_model_broke(state, event, rules)


def on_withdrawn_model(
    state: RunState, event: ModelStreamed | ModelCutOff | ModelBroke, rules: Rules, subject: str
) -> RunState:
    """What a withdrawn call still says counts for its usage and for nothing else."""
    late, over = state.model.late, True
    if isinstance(event, ModelStreamed):
        for delta in event.deltas:
            if isinstance(delta, UsageReported):
                late = (replace(late[0], usage=delta.usage), *delta.besides)
            elif isinstance(delta, Started) and not (late[0].provider or late[0].model):
                late = (replace(late[0], provider=delta.provider, model=delta.model), *late[1:])
        over = bool(event.deltas) and isinstance(event.deltas[-1], StreamFinished | StreamFailed)
    if not over:
        return replace(state, model=replace(state.model, late=late))
    process = replace(state.process, spending=state.process.spending.plus(*late))
    return replace(state, process=process, model=replace(state.model, withdrawn=None, late=()))


def on_call_saved(state: RunState, event: CallSaved, rules: Rules, subject: str) -> RunState:
    """The store's record is adopted."""
    if event.call.id != subject:
        text = f"the journal was given call {subject} to save, and answered with call {event.call.id}"
        return ending.on_unwritable(_not_written(state, subject), rules, FailureKind.CONTRACT_BREACH, text)
    return calls.on_call_saved(state, event, rules, subject)


def on_tool_answer(
    state: RunState, event: ToolReturned | ToolFailed | ToolCutOff | ToolControlled, rules: Rules, subject: str
) -> RunState:
    """The tool's answer becomes the outcome."""
    return calls.on_tool_answer(state, event, rules, subject)


def on_policy(
    state: RunState, event: PolicyGiven | QuestionFailed | QuestionCutOff, rules: Rules, subject: str
) -> RunState:
    """What the host wants done with a call."""
    return dispatch.on_policy(state, event, rules, subject)


def on_reconciled(
    state: RunState, event: Reconciled | QuestionFailed | QuestionCutOff, rules: Rules, subject: str
) -> RunState:
    """What became of a call."""
    return decisions.on_reconciled(state, event, rules, subject)


def on_verdict(
    state: RunState, event: VerdictGiven | QuestionFailed | QuestionCutOff, rules: Rules, subject: str
) -> RunState:
    """What the guard says."""
    return review.on_verdict(state, event, rules)
