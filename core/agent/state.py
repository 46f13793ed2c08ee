"""All the memory a run of the agent has: what it is at (a phase), the conversation, and what is in flight.

Phases hold only what they need. Nothing here is ever written down: a conversation is kept by keeping its messages.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from ...effects.agent import Turn
from ...effects.agent_vocabulary import AgentEffect
from ...effects.model import ModelChoice
from ...effects.partial import EMPTY_PARTIAL, Partial
from ...effects.sequence import Seq
from ...effects.tool import ToolResult, ToolSpec
from ...effects.transcript import AssistantMessage, CallPart, Message, ToolDeclaration, ToolResultMessage
from ...effects.values import field, region
from .seen import Seen

__all__ = [
    "Acting",
    "AgentState",
    "CallChecked",
    "CallDone",
    "CallFinishing",
    "CallPhase",
    "CallPreparing",
    "CallReady",
    "CallRunning",
    "CallTaken",
    "Clock",
    "Converting",
    "Ended",
    "Failing",
    "Finishing",
    "FollowingUp",
    "Moment",
    "Phase",
    "PreparingRequest",
    "PreparingTurn",
    "Steering",
    "Streaming",
    "Talk",
    "Tickets",
    "Transforming",
    "Unstarted",
    "Waiting",
    "Wish",
]


# --- phases of a run


class Moment(Enum):
    """When steering is polled: at the start, after a turn, or before a turn for which nothing waits."""

    AT_START = "at_start"
    AFTER_TURN = "after_turn"
    BEFORE_TURN = "before_turn"


@region
class Unstarted:
    """Nothing has happened yet."""


@region
class Steering:
    """The steering queue is asked."""

    moment: Moment


@region
class FollowingUp:
    """The follow-up queue is asked."""


@region
class PreparingTurn:
    """The host prepares the next turn."""


@region
class PreparingRequest:
    """The host prepares the next request."""


@region
class Transforming:
    """The host chooses what the request carries, out of ``messages``."""

    messages: Seq[Message]


@region
class Converting:
    """The host converts ``messages`` to what a model may see."""

    messages: Seq[Message]


@region
class Streaming:
    """The model answers. ``shown`` says whether the answer has been announced; ``timed_out`` that it took too long."""

    ticket: int
    partial: Partial = EMPTY_PARTIAL
    shown: bool = False
    timed_out: bool = False


@region
class CallTaken:
    """The call was announced; what listeners did about it is awaited under ``flush``."""

    flush: int


@region
class CallPreparing:
    """The tool prepares the call's arguments."""

    tool: ToolSpec


@region
class CallChecked:
    """The arguments are good; the host is asked whether the call may run."""

    tool: ToolSpec
    arguments: Any


@region
class CallReady:
    """The call may run."""

    arguments: Any


@region
class CallRunning:
    """The tool runs. ``broken`` is the text of a listener that raised at one of its updates."""

    arguments: Any
    ticket: int
    broken: str | None = None
    timed_out: bool = False


@region
class CallFinishing:
    """The host looks at the result."""

    result: ToolResult
    is_error: bool


@region
class CallDone:
    """The result is final, and told; ``flush``, if any, asks what listeners did about it."""

    result: ToolResult
    message: ToolResultMessage
    flush: int | None = None


CallPhase = CallTaken | CallPreparing | CallChecked | CallReady | CallRunning | CallFinishing | CallDone


@region
class Acting:
    """The calls of an answer are carried out.

    ``calls`` are all of them, ``live`` the phases of those taken up so far, in call order; ``done`` of them are. The
    answer's batch is ``sequential``, or its calls are all taken up before the first one runs; ``closed`` says that no
    more are. ``alone`` is the batch of one call that a program asked for.
    """

    message: AssistantMessage
    calls: tuple[CallPart, ...]
    sequential: bool
    live: Mapping[int, CallPhase] = {}
    done: int = 0
    closed: bool = False
    alone: bool = False


@region
class Finishing:
    """The host is asked what follows the turn; after a failed answer (``hard``) the run ends whatever it says."""

    hard: bool


@region
class Failing:
    """The run has failed; what is in flight is cut off, and answers before the failure is told."""

    message: str


@region
class Ended:
    """Nothing follows. ``closing`` says that the end was a failure, told by events."""

    closing: bool = False


Phase = (
    Unstarted
    | Steering
    | FollowingUp
    | PreparingTurn
    | PreparingRequest
    | Transforming
    | Converting
    | Streaming
    | Acting
    | Finishing
    | Failing
    | Ended
)


# --- the rest


@region
class Talk:
    """The conversation: ``messages``, of which ``visible`` are not a host's own, and what this run ``added``.

    ``tools`` may be called; ``declared`` is what the messages say may be called. Both lists of messages are kept, so
    that no request has to look through them.
    """

    messages: Seq[Message] = field(factory=Seq)
    visible: Seq[Message] = field(factory=Seq)
    added: Seq[Message] = field(factory=Seq)
    tools: tuple[ToolSpec, ...] = ()
    declared: tuple[ToolDeclaration, ...] = ()


@region
class Wish:
    """Which model is asked, and with which thinking level (``None``: none)."""

    model: ModelChoice = field(factory=ModelChoice)
    thinking: str | None = None


@region
class Waiting:
    """What waits to enter the next turn: ``prepared`` before ``pending``.

    ``more`` says that a batch wants the model to go on, ``explicit`` that the host does.
    """

    prepared: tuple[Message, ...] = ()
    pending: tuple[Message, ...] = ()
    more: bool = False
    explicit: bool = False


@region
class Tickets:
    """The last ticket, and what each ticket in flight asks, with the index of its call (or -1)."""

    last: int = 0
    in_flight: Mapping[int, tuple[type, int]] = {}


@region
class Clock:
    """``now`` never goes back. ``deadlines`` are by ticket (0: the run's own); ``wake`` is the wake-up asked for."""

    now: int = 0
    wake: int | None = None
    deadlines: Mapping[int, int] = {}


@region
class AgentState:
    """One run, between two events. ``turns`` of it are over; ``out`` is what left with the last event."""

    phase: Phase = field(factory=Unstarted)
    talk: Talk = field(factory=Talk)
    wish: Wish = field(factory=Wish)
    waiting: Waiting = field(factory=Waiting)
    turn: Turn | None = None
    turns: int = 0
    cancelled: bool = False
    tickets: Tickets = field(factory=Tickets)
    clock: Clock = field(factory=Clock)
    seen: Seen = field(factory=Seen)
    out: tuple[AgentEffect, ...] = ()
