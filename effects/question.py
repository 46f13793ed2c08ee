"""Asking the host about a durable run: what to do with a call, what became of one, and whether a text will do.

Each question is asked only where the set-up says that somebody answers it. An answer is a value, so a recorded run
folds again without its host; it is checked where it is made, in the host, since what it says goes into records. A host
that raises gives ``QuestionFailed``; a question that is withdrawn still gets one answer.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from .feed import InputMessage
from .model import ModelRequest
from .record import NO_NOTES, ToolCall
from .tool import Invocation, ToolResult
from .values import UNSET, UnsetType, field, frozen, of_texts, of_type

__all__ = [
    "Accept",
    "AskGuard",
    "AskPolicy",
    "AskReconcile",
    "CallPolicy",
    "CancelQuestion",
    "Confirm",
    "Correct",
    "Finding",
    "Finish",
    "Guard",
    "NeverHappened",
    "OutcomeUnknown",
    "Policy",
    "PolicyGiven",
    "QuestionCutOff",
    "QuestionFailed",
    "Reconcile",
    "Reconciled",
    "Ruling",
    "Submit",
    "TurnView",
    "Verdict",
    "VerdictGiven",
]


@frozen
class Submit:
    """Hand the call over instead of running its tool; the model gets ``receipt`` and goes on.

    ``payload`` is for whoever takes it: any value that JSON can hold.
    """

    receipt: str = field(validator=of_type(str))
    payload: Any | UnsetType = UNSET


@frozen
class Confirm:
    """Wait for a person's decision before the tool runs; the run is suspended once its batch is over.

    ``payload`` is for the reviewer. After ``expires_in_ms`` milliseconds nobody may decide any more, and the call is
    rejected when the run is resumed.
    """

    payload: Any | UnsetType = UNSET
    expires_in_ms: int | None = field(default=None, validator=of_type(int | None))


@frozen
class CallPolicy:
    """What to do with one call: at most one of ``submit`` and ``confirm``, traits that differ, notes to add."""

    submit: Submit | None = field(default=None, validator=of_type(Submit | None))
    confirm: Confirm | None = field(default=None, validator=of_type(Confirm | None))
    replayable: bool | None = field(default=None, validator=of_type(bool | None))
    side_effects: bool | None = field(default=None, validator=of_type(bool | None))
    notes: Mapping[str, str] = field(default=NO_NOTES, validator=of_texts)


Policy = Callable[[Invocation], Awaitable[CallPolicy | None]]
"""Says what to do with a call before it starts; ``None`` and ``CallPolicy()`` leave it to run. What it raises fails the
call, and the model sees the text."""


@frozen
class NeverHappened:
    """The call never reached the service: an approved one is carried out, any other one did not run."""


@frozen
class OutcomeUnknown:
    """Nobody knows: the traits of the call decide."""


Finding = ToolResult | NeverHappened | OutcomeUnknown

Reconcile = Callable[[Invocation], Awaitable[Finding]]
"""Finds out, at recovery, what became of a call that was running (decision 11). Raising counts as not knowing."""


@frozen
class TurnView:
    """What a guard sees of a turn.

    ``messages`` is the turn's claim, ``input`` what the model was last asked, ``calls`` the records of the turn, and
    ``text`` the answer to be. ``superseded``: newer input has arrived, so the verdict cannot matter. ``truncated``: the
    model stopped at its output limit, so the text may lack its end.
    """

    messages: tuple[InputMessage, ...]
    input: ModelRequest
    calls: tuple[ToolCall, ...]
    text: str
    superseded: bool = False
    budget_spent: bool = False
    corrections_left: int = 0
    truncated: bool = False


@frozen
class Accept:
    """The text may be delivered."""


@frozen
class Correct:
    """The text will not do: the model is told ``prompt`` and answers again, while corrections are left."""

    prompt: str = field(validator=of_type(str))


@frozen
class Finish:
    """The run ends with ``value`` (anything JSON can hold) instead of the text; ``fixed``: whatever comes in."""

    value: Any
    fixed: bool = field(default=False, validator=of_type(bool))


Ruling = Accept | Correct | Finish

_NO_NOTES: Mapping[str, Mapping[str, str]] = {}


def _of_notes(value: object, attribute: Any, given: Mapping[str, Mapping[str, str]]) -> None:
    for notes in given.values():
        of_texts(value, attribute, notes)


@frozen
class Verdict:
    """A guard's answer; ``notes`` are put on call records by their id, also on those that are long settled."""

    ruling: Ruling = field(default=Accept(), validator=of_type(Ruling))
    notes: Mapping[str, Mapping[str, str]] = field(default=_NO_NOTES, validator=_of_notes)


class Guard(Protocol):
    """Reviews each text before it is delivered. An exception ends the run as failed."""

    async def review(self, view: TurnView) -> Verdict:
        """Say whether the text may be delivered."""
        ...


@frozen
class AskPolicy:
    """What is to be done with this call?"""

    ticket: int
    invocation: Invocation


@frozen
class PolicyGiven:
    """What the host wants done with the call."""

    at: int
    ticket: int
    policy: CallPolicy


@frozen
class AskReconcile:
    """What became of this call, which was running when an earlier execution ended?"""

    ticket: int
    invocation: Invocation


@frozen
class Reconciled:
    """What became of the call."""

    at: int
    ticket: int
    finding: Finding


@frozen
class AskGuard:
    """May this text be delivered?"""

    ticket: int
    view: TurnView


@frozen
class VerdictGiven:
    """What the guard says."""

    at: int
    ticket: int
    verdict: Verdict


@frozen
class CancelQuestion:
    """Nobody waits for the answer any more. The question is answered all the same, if only as cut off."""

    ticket: int


@frozen
class QuestionFailed:
    """The host raised; ``message`` says what."""

    at: int
    ticket: int
    message: str


@frozen
class QuestionCutOff:
    """The question was withdrawn before it was answered."""

    at: int
    ticket: int
