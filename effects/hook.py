"""Asking the agent's host: one order for each hook, what it may answer, and the failure that any of them may be.

A hook that is not configured is never asked. Every answer is a value, so a recorded run can be folded again without its
host. An exception of a hook arrives as ``HookFailed``: around a call it becomes that call's error, anywhere else it is
the failure of the run.
"""

from typing import Any

from .agent import Context, FinishAction, Rewrite, Turn, TurnUpdate
from .model import ModelChoice
from .sequence import Seq
from .tool import ToolResult
from .transcript import AssistantMessage, CallPart, Content, Message
from .values import UNSET, UnsetType, frozen

__all__ = [
    "AfterTool",
    "AfterToolReturned",
    "ArgumentsReturned",
    "BeforeTool",
    "BeforeToolReturned",
    "Block",
    "CancelHook",
    "ContextReturned",
    "ConvertToModel",
    "ConvertedReturned",
    "FinishTurn",
    "FinishTurnReturned",
    "FollowUpsReturned",
    "HookAnswer",
    "HookFailed",
    "HookOrder",
    "NextTurnReturned",
    "PollFollowUps",
    "PollSteering",
    "PrepareArguments",
    "PrepareNextTurn",
    "PrepareRequest",
    "Proceed",
    "RequestReturned",
    "ResultPatch",
    "SteeringReturned",
    "TransformContext",
]


@frozen
class PollSteering:
    """Has anybody something to say now? Asked at the start, after each turn, and before one for which nothing waits."""

    ticket: int


@frozen
class SteeringReturned:
    """What enters the next turn."""

    at: int
    ticket: int
    messages: tuple[Message, ...] = ()


@frozen
class PollFollowUps:
    """Has anybody something to say once the agent is done? Asked when nothing else makes it go on."""

    ticket: int


@frozen
class FollowUpsReturned:
    """What starts another turn."""

    at: int
    ticket: int
    messages: tuple[Message, ...] = ()


@frozen
class PrepareNextTurn:
    """A turn is about to follow ``turn``: what should change before it?"""

    ticket: int
    turn: Turn


@frozen
class NextTurnReturned:
    """What changes before the turn."""

    at: int
    ticket: int
    update: TurnUpdate | None = None


@frozen
class FinishTurn:
    """A turn is over: what should follow? Asked after a failed answer too, where the decision is not heeded."""

    ticket: int
    turn: Turn


@frozen
class FinishTurnReturned:
    """What follows; ``None`` leaves it to the loop."""

    at: int
    ticket: int
    action: FinishAction | None = None


@frozen
class PrepareRequest:
    """The model is about to be asked: what should change? ``thinking_level`` is ``off`` when there is none."""

    ticket: int
    context: Context
    model: ModelChoice
    thinking_level: str


@frozen
class RequestReturned:
    """What changes, for this and later requests."""

    at: int
    ticket: int
    update: TurnUpdate | None = None


@frozen
class TransformContext:
    """What of the conversation should this request carry? The conversation itself stays as it is."""

    ticket: int
    messages: Seq[Message]


@frozen
class ContextReturned:
    """The messages of this request."""

    at: int
    ticket: int
    change: Rewrite


@frozen
class ConvertToModel:
    """What should a model see of these messages? Without the hook, a host's own messages are left out."""

    ticket: int
    messages: Seq[Message]


@frozen
class ConvertedReturned:
    """The messages as the model sees them."""

    at: int
    ticket: int
    change: Rewrite


@frozen
class PrepareArguments:
    """The tool of this call rewrites its arguments before they are checked; asked only for tools that say so."""

    ticket: int
    call: CallPart
    arguments: Any


@frozen
class ArgumentsReturned:
    """The arguments to check instead."""

    at: int
    ticket: int
    arguments: Any


@frozen
class BeforeTool:
    """May this call run? ``arguments`` have been checked; ``message`` is the answer the call stands in."""

    ticket: int
    message: AssistantMessage
    call: CallPart
    arguments: Any
    context: Context


@frozen
class Proceed:
    """The call runs, with other arguments if any are given; those are checked again unless the rules say otherwise."""

    arguments: Any | UnsetType = UNSET


@frozen
class Block:
    """The call does not run; the model sees ``reason``. ``terminate`` counts as if the tool had asked for it."""

    reason: str = ""
    terminate: bool | None = None


@frozen
class BeforeToolReturned:
    """What becomes of the call."""

    at: int
    ticket: int
    decision: Proceed | Block


@frozen
class AfterTool:
    """The call was carried out: should its result change? Asked of failed calls too."""

    ticket: int
    message: AssistantMessage
    call: CallPart
    arguments: Any
    context: Context
    result: ToolResult
    is_error: bool


@frozen
class ResultPatch:
    """Members of a result to replace; what is unset stays.

    New content without ``structured`` takes the old structured content away, for it belonged to the old content; null
    ``details`` and null ``structured`` replace nothing. ``is_error`` changes how the model sees the call.
    """

    content: Content | UnsetType = UNSET
    details: Any | UnsetType = UNSET
    structured: Any | UnsetType = UNSET
    usage: Any | UnsetType = UNSET
    terminate: bool | None = None
    is_error: bool | None = None


@frozen
class AfterToolReturned:
    """What changes about the result."""

    at: int
    ticket: int
    patch: ResultPatch | None = None


@frozen
class HookFailed:
    """The hook raised."""

    at: int
    ticket: int
    message: str


@frozen
class CancelHook:
    """Stop waiting for a hook, after the grace; it then fails, unless it answered."""

    ticket: int


HookOrder = (
    PollSteering
    | PollFollowUps
    | PrepareNextTurn
    | FinishTurn
    | PrepareRequest
    | TransformContext
    | ConvertToModel
    | PrepareArguments
    | BeforeTool
    | AfterTool
)
HookAnswer = (
    SteeringReturned
    | FollowUpsReturned
    | NextTurnReturned
    | FinishTurnReturned
    | RequestReturned
    | ContextReturned
    | ConvertedReturned
    | ArgumentsReturned
    | BeforeToolReturned
    | AfterToolReturned
    | HookFailed
)
