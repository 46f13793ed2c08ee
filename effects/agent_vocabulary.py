"""The two unions that cross the border of an in-memory agent's run, and the orders that are about the run itself.

What is told leaves as ``Emit``, in order, each awaited before the next effect is carried out. Where the fold must know
what listeners did meanwhile (an abort, above all), it asks for a ``Flush``.
"""

from .agent import AgentEvent, Settled
from .clock import WakeAt, Woke
from .hook import CancelHook, HookAnswer, HookOrder
from .model import CallModel, CancelModel, ModelBroke, ModelCutOff, ModelStreamed
from .tool import CancelTool, RunTool, ToolCutOff, ToolFailed, ToolProgressed, ToolReturned
from .transcript import AssistantMessage, CallPart, Message
from .values import frozen

__all__ = [
    "AbortAsked",
    "AgentEffect",
    "AgentInput",
    "AgentOrder",
    "AgentSettled",
    "CallAsked",
    "Continued",
    "CredentialsFailed",
    "Emit",
    "Flush",
    "Flushed",
    "Prompted",
    "SinkFailed",
    "ToolNotRun",
]


@frozen
class Prompted:
    """A run begins with these messages."""

    at: int
    messages: tuple[Message, ...] = ()


@frozen
class Continued:
    """A run goes on from the conversation as it is."""

    at: int


@frozen
class CallAsked:
    """A program asks for one call by itself, under the rules of every call; nothing is told of it."""

    at: int
    call: CallPart
    message: AssistantMessage


@frozen
class AbortAsked:
    """Somebody wants the run to stop: ports, tools and hooks see it, and are cut off after a grace (decision 47)."""

    at: int


@frozen
class Emit:
    """Tell the listeners. A notice; what follows it in a batch waits until every listener has seen it."""

    event: AgentEvent


@frozen
class Flush:
    """Say when everything told so far has been seen."""

    ticket: int


@frozen
class Flushed:
    """Everything told before has been seen, and what listeners asked for meanwhile has arrived before this."""

    at: int
    ticket: int


@frozen
class SinkFailed:
    """A listener raised at ``event``. ``dropped`` is the rest of the batch, which was not carried out.

    It is folded before anything else that arrived meanwhile, so it says itself whether the run is ``aborted`` by now.
    """

    at: int
    event: AgentEvent
    message: str
    dropped: "tuple[AgentEffect, ...]" = ()
    aborted: bool = False


@frozen
class CredentialsFailed:
    """There are no credentials for a model call: answers ``CallModel``. The credentials themselves are no event."""

    at: int
    ticket: int
    message: str


@frozen
class ToolNotRun:
    """The run was aborted before the tool had started: answers ``RunTool``. No hook looks at such a result."""

    at: int
    ticket: int


@frozen
class AgentSettled:
    """The run is over: nothing is in flight and nothing follows. A notice."""

    settled: Settled


AgentOrder = HookOrder | CancelHook | CallModel | CancelModel | RunTool | CancelTool | Flush | WakeAt
AgentEffect = AgentOrder | Emit | AgentSettled

AgentInput = (
    Prompted
    | Continued
    | CallAsked
    | AbortAsked
    | HookAnswer
    | Flushed
    | SinkFailed
    | CredentialsFailed
    | ModelStreamed
    | ModelCutOff
    | ModelBroke
    | ToolProgressed
    | ToolReturned
    | ToolFailed
    | ToolCutOff
    | ToolNotRun
    | Woke
)
