"""From a hook's order to the host's function and back to an answer, in plain async/await.

A host's functions may be plain or async. They get the order itself, a frozen value, and return what they want changed;
an exception becomes ``HookFailed``.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

from ..core.agent import Hook
from ..effects.agent import FinishAction, Rewrite, TurnUpdate
from ..effects.agent_vocabulary import AgentInput
from ..effects.handed_in import check_level, checked_tools
from ..effects.hook import (
    AfterTool,
    AfterToolReturned,
    ArgumentsReturned,
    BeforeTool,
    BeforeToolReturned,
    Block,
    ContextReturned,
    ConvertedReturned,
    ConvertToModel,
    FinishTurn,
    FinishTurnReturned,
    FollowUpsReturned,
    HookFailed,
    HookOrder,
    NextTurnReturned,
    PollFollowUps,
    PollSteering,
    PrepareArguments,
    PrepareNextTurn,
    PrepareRequest,
    Proceed,
    RequestReturned,
    ResultPatch,
    SteeringReturned,
    TransformContext,
)
from ..effects.model import ModelChoice
from ..effects.sequence import Seq
from ..effects.transcript import Message
from ..effects.values import field, frozen
from .agent_tools import AgentTool, Toolshed

__all__ = ["NO_HOOKS", "AgentHooks", "Update", "answer_hook", "failure_text", "resolved"]

T = TypeVar("T")
Maybe = T | Awaitable[T]


def _of_level(_: object, __: object, level: str | None) -> None:
    # An empty one goes to the provider as it is; some recordings do that.
    if level:
        check_level(level)


@frozen
class Update:
    """What a host wants changed for the rest of a run; what is ``None`` stays.

    ``context`` is the whole conversation anew, ``tools`` what may be called; ``messages`` enter first in the turn that
    is prepared. The thinking level ``off`` asks for none; raises ``ValueError`` for one that is none.
    """

    context: Sequence[Message] | None = None
    tools: Sequence[AgentTool] | None = None
    messages: Sequence[Message] = ()
    model: ModelChoice | None = None
    thinking_level: str | None = field(default=None, validator=_of_level)


@frozen
class AgentHooks:
    """A host's hooks; each may be left out, and may be plain or async.

    ``prepare_next_turn`` and ``prepare_request`` return an ``Update``; ``transform_context`` and ``convert_to_model``
    the messages of one request; ``before_tool`` may ``Block`` a call, or ``Proceed`` with other arguments;
    ``after_tool`` returns a ``ResultPatch``; ``finish_turn`` a ``FinishAction``; ``credentials`` gets the provider's
    name and returns the key of one request, or nothing. ``steering`` and ``follow_ups`` are for who drives a loop
    without an ``Agent``, which answers them from its queues. What is called around one call and raises is that call's
    error; anything else that raises fails the run.
    """

    prepare_next_turn: Callable[[PrepareNextTurn], Maybe[Update | None]] | None = None
    prepare_request: Callable[[PrepareRequest], Maybe[Update | None]] | None = None
    transform_context: Callable[[TransformContext], Maybe[Sequence[Message]]] | None = None
    convert_to_model: Callable[[ConvertToModel], Maybe[Sequence[Message]]] | None = None
    before_tool: Callable[[BeforeTool], Maybe[Block | Proceed | None]] | None = None
    after_tool: Callable[[AfterTool], Maybe[ResultPatch | None]] | None = None
    finish_turn: Callable[[FinishTurn], Maybe[FinishAction | str | None]] | None = None
    steering: Callable[[], Maybe[Sequence[Message]]] | None = None
    follow_ups: Callable[[], Maybe[Sequence[Message]]] | None = None
    credentials: Callable[[str], Maybe[str | None]] | None = None

    @property
    def configured(self) -> frozenset[Hook]:
        """The hooks the fold is to ask."""
        return frozenset(hook for hook in Hook if getattr(self, hook.value) is not None)


NO_HOOKS = AgentHooks()


async def answer_hook(order: HookOrder, hooks: AgentHooks, tools: Toolshed, now: Callable[[], int]) -> AgentInput:
    """Ask the host what the order asks."""
    try:
        return await _ask(order, hooks, tools, now)
    except Exception as error:
        return HookFailed(now(), order.ticket, failure_text(error))


async def _ask(order: HookOrder, hooks: AgentHooks, tools: Toolshed, now: Callable[[], int]) -> AgentInput:
    ticket = order.ticket
    match order:
        case PollSteering():
            return SteeringReturned(now(), ticket, tuple(await _called(hooks.steering)))
        case PollFollowUps():
            return FollowUpsReturned(now(), ticket, tuple(await _called(hooks.follow_ups)))
        case PrepareNextTurn(turn=turn):
            update = await _called(hooks.prepare_next_turn, order)
            return NextTurnReturned(now(), ticket, _update(update, turn.context.messages, tools))
        case PrepareRequest(context=context):
            update = await _called(hooks.prepare_request, order)
            return RequestReturned(now(), ticket, _update(update, context.messages, tools))
        case TransformContext(messages=messages):
            changed = await _called(hooks.transform_context, order)
            return ContextReturned(now(), ticket, Rewrite.of(messages, changed))
        case ConvertToModel(messages=messages):
            changed = await _called(hooks.convert_to_model, order)
            return ConvertedReturned(now(), ticket, Rewrite.of(messages, changed))
        case FinishTurn():
            action = await _called(hooks.finish_turn, order)
            return FinishTurnReturned(now(), ticket, None if action is None else FinishAction(action))
        case PrepareArguments(call=call, arguments=arguments):
            return ArgumentsReturned(now(), ticket, await resolved(tools.prepare(call.name, arguments)))
        case BeforeTool():
            return BeforeToolReturned(now(), ticket, await _called(hooks.before_tool, order) or Proceed())
        case AfterTool():
            return AfterToolReturned(now(), ticket, await _called(hooks.after_tool, order))


def _update(update: Update | None, before: Seq[Message], tools: Toolshed) -> TurnUpdate | None:
    if update is None:
        return None
    return TurnUpdate(
        context=None if update.context is None else Rewrite.of(before, update.context),
        tools=None if update.tools is None else tools.take(checked_tools(update.tools)),
        messages=tuple(update.messages),
        model=update.model,
        thinking_level=update.thinking_level,
    )


async def _called(function: Callable[..., Any] | None, *arguments: Any) -> Any:
    if function is None:
        raise TypeError("the fold asked a hook that is not configured")
    return await resolved(function(*arguments))


async def resolved(value: Maybe[T]) -> T:
    """The value, awaited if it has to be."""
    return await cast("Awaitable[T]", value) if inspect.isawaitable(value) else cast("T", value)


def failure_text(error: BaseException) -> str:
    """An exception as its text, or as its class's name where there is none."""
    return str(error) or type(error).__name__
