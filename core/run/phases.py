"""The phases of a run's regions: what each small machine can be doing, and what only that phase needs to know."""

from ...effects.lifecycle import RunResult
from ...effects.outcome import Outcome
from ...effects.question import CallPolicy
from ...effects.record import ToolCall
from ...effects.transcript import Sealed
from ...effects.values import region


@region
class Unstarted:
    """Nothing has happened yet."""


@region
class Beginning:
    """The attempt is asked for. A cancellation that arrives meanwhile waits for the answer."""

    cancelled: str | None = None


@region
class Recovering:
    """Calls that an earlier execution left open are being settled; nothing else happens before that is saved.

    ``told``: observers know what was restored. ``replay`` says whether the last claim is to be repeated after that.
    """

    replay: bool = False
    told: bool = False


@region
class Opening:
    """The feed is being watched and the last claim repeated; then the run goes on where it was."""

    replayed: bool


@region
class Working:
    """Turns are taken."""


@region
class Closing:
    """The outcome is decided. What is in flight is cut off and settled, the last step is saved, the lease given back.

    ``save`` asks for a last step with the outcome, whose mark is ``mark`` once it is wanted; ``writable`` is false when
    the journal cannot be, or must not be, written any more. ``guard`` is a question that is to be withdrawn.
    """

    outcome: Outcome
    save: bool = True
    writable: bool = True
    mark: int | None = None
    giving_back: bool = False
    given_back: bool = False
    guard: int | None = None


@region
class Ended:
    """Nothing is in flight and nothing follows."""

    result: RunResult


LifePhase = Unstarted | Beginning | Recovering | Opening | Working | Closing | Ended


@region
class BetweenTurns:
    """No turn is under way; the answer to poll ``poll`` says whether one begins, ``delivered`` what holds if not."""

    poll: int | None = None
    delivered: Outcome | None = None


@region
class Claiming:
    """Input is being claimed."""


@region
class Looping:
    """The loop asks its model or carries out a batch; calls wait for the step with mark ``mark``."""

    mark: int = 0


@region
class BetweenIterations:
    """A batch is over. Its step is saved (``mark``), then a fresh poll (``poll``) tells whether newer input came."""

    mark: int
    poll: int | None = None


@region
class Concluding:
    """The turn ends with ``text``, or with the active completion where there is one.

    Its step is saved, then a fresh poll says whether it is delivered; ``reviewed``: the guard has accepted the text;
    ``cut``: the model stopped at its output limit.
    """

    text: str
    mark: int
    poll: int | None = None
    reviewed: bool = False
    cut: bool = False


@region
class Reviewing:
    """The guard reviews ``text``, which may be ``cut`` off; ``ticket`` is its question once that is asked."""

    text: str
    superseded: bool
    cut: bool = False
    ticket: int | None = None


@region
class Rerunning:
    """The model is asked again, with ``entering`` in the context, unless newer input comes first."""

    entering: tuple[Sealed, ...]
    mark: int
    poll: int | None = None


@region
class Resting:
    """The run is over, or not yet there."""


TurnPhase = Resting | BetweenTurns | Claiming | Looping | BetweenIterations | Concluding | Reviewing | Rerunning


@region
class CallQueued:
    """Not started."""


@region
class CallAsking:
    """Its policy is asked for (``ticket``), or about to be."""

    ticket: int | None = None
    cut: bool = False


@region
class CallCleared:
    """Its policy is known; it starts, or is handed over, once no policy of its batch is open."""

    policy: CallPolicy


@region
class CallHandingOver:
    """Its record is being saved as submitted or paused, which the host may refuse; ``back`` is what it was before."""

    back: ToolCall


@region
class CallReconciling:
    """An earlier execution was at it; its tool is asked (``ticket``), or about to be, what became of it."""

    ticket: int | None = None
    cut: bool = False


@region
class CallDecided:
    """It was paused and has a decision, which is carried out in its turn."""


@region
class CallStarting:
    """Its record is being saved as running; the tool runs after that and never before."""


@region
class CallRunning:
    """The tool is asked for (``ticket``), or about to be; it is stopped at ``until`` (0: never), ``late`` or not."""

    ticket: int | None = None
    cut: bool = False
    until: int = 0
    late: bool = False


@region
class CallSettling:
    """Its final record is being saved."""


@region
class CallSettled:
    """Its record is final or another's to finish, and is saved."""


CallPhase = (
    CallQueued
    | CallAsking
    | CallCleared
    | CallHandingOver
    | CallReconciling
    | CallDecided
    | CallStarting
    | CallRunning
    | CallSettling
    | CallSettled
)


@region
class NoStep:
    """No step is in flight."""


@region
class SavingStep:
    """A step is in flight, covering every mark up to ``mark``."""

    ticket: int
    mark: int


SavingPhase = NoStep | SavingStep


@region
class Unwatched:
    """No subscription."""

    wanted: bool = False


@region
class WatchOpening:
    """The subscription is asked for."""


@region
class Watched:
    """The subscription is in effect."""


WatchPhase = Unwatched | WatchOpening | Watched


@region
class NoLease:
    """The run is not ours to write."""


@region
class LeaseHeld:
    """The run is ours."""


@region
class LeaseRenewing:
    """The run is ours, and the lease is being renewed, counted from ``since``."""

    since: int


LeasePhase = NoLease | LeaseHeld | LeaseRenewing
