"""When a run fails: what is in flight is cut off and answers first; then the failure is told, or just given back.

The Agent promises that its events are balanced (decision 46 g). So a failure that is told first ends what listeners saw
begin: the open message, each call, a result for each call of the last answer; then comes the failure's own message.
"""

from collections.abc import Iterator

from ...effects.agent import (
    AgentEnded,
    AgentEvent,
    MessageEnded,
    MessageStarted,
    MessageUpdated,
    Settled,
    ToolEnded,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
)
from ...effects.agent_vocabulary import AbortAsked, AgentSettled, CredentialsFailed, Emit, SinkFailed
from ...effects.hook import HookFailed
from ...effects.model import ModelBroke
from ...effects.sequence import Seq
from ...effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    Message,
    ModelError,
    StopReason,
    TextPart,
    ToolResultMessage,
)
from ...effects.values import replace
from ..text import fill
from .desk import cut_all, tell
from .rules import AgentRules
from .seen import Seen, see
from .state import Acting, AgentState, CallRunning, Ended, Failing
from .wording import error_result

__all__ = ["conclude", "fail", "on_abort", "on_broken", "on_sink_failed"]


def on_abort(state: AgentState, event: AbortAsked, rules: AgentRules, about: int) -> AgentState:
    """Somebody wants the run to stop: everything in flight is cut off, after a grace for whoever can end by itself."""
    return replace(cut_all(state), cancelled=True)


def on_broken(
    state: AgentState, event: ModelBroke | CredentialsFailed | HookFailed, rules: AgentRules, about: int
) -> AgentState:
    """A port broke its contract, or a hook raised that is not about a call: the run fails with that text."""
    return fail(state, event.message)


def on_sink_failed(state: AgentState, event: SinkFailed, rules: AgentRules, about: int) -> AgentState:
    """A listener raised. While a tool runs, the run fails after it; while a failure is told, the telling goes on."""
    state = replace(state, cancelled=state.cancelled or event.aborted)
    if isinstance(event.event, AgentEnded):
        settled = Settled(failure=event.message, told=False)
        return replace(state, phase=Ended(), out=(*state.out, AgentSettled(settled)))
    if isinstance(state.phase, Ended) and state.phase.closing:
        return replace(state, out=(*state.out, *event.dropped))
    if isinstance(event.event, ToolUpdated) and isinstance(state.phase, Acting):
        return _break(state, state.phase, event.event, event.message)
    return fail(state, event.message)


def _break(state: AgentState, batch: Acting, event: ToolUpdated, message: str) -> AgentState:
    for index, call in batch.live.items():
        if isinstance(call, CallRunning) and call.broken is None and batch.calls[index].id == event.call_id:
            live = {**batch.live, index: replace(call, broken=message)}
            return replace(state, phase=replace(batch, live=live))
    return state


def fail(state: AgentState, message: str) -> AgentState:
    """The run has failed."""
    return cut_all(replace(state, phase=Failing(message)))


def conclude(state: AgentState, rules: AgentRules) -> AgentState:
    """A failed run ends once nothing is in flight any more."""
    if not isinstance(state.phase, Failing) or state.tickets.in_flight:
        return state
    if not rules.told:
        settled = Settled(failure=state.phase.message, told=False)
        return replace(state, phase=Ended(), out=(*state.out, AgentSettled(settled)))
    text = state.phase.message
    message = _failure(state, text)
    state = tell(state, *_closing(state, rules, text))
    state = tell(state, MessageStarted(message), MessageEnded(message), TurnEnded(message), AgentEnded(Seq([message])))
    settled = Settled(Seq([message]), failure=text)
    return replace(state, phase=Ended(closing=True), out=(*state.out, AgentSettled(settled)))


def _failure(state: AgentState, text: str) -> AssistantMessage:
    model = state.wish.model
    message = AssistantMessage(
        (TextPart(""),), api=model.api, provider=model.provider, model=model.id, timestamp=state.clock.now
    )
    return _broken_off(message, state, text)


def _broken_off(message: AssistantMessage, state: AgentState, text: str) -> AssistantMessage:
    stop = StopReason.ABORTED if state.cancelled else StopReason.ERROR
    kind = ErrorKind.ABORTED if state.cancelled else ErrorKind.PROTOCOL
    return replace(message, stop=stop, error=ModelError(kind, text))


def _closing(state: AgentState, rules: AgentRules, text: str) -> Iterator[AgentEvent]:
    """The end of everything that listeners saw begin."""
    seen = state.seen
    for effect in state.out:
        if isinstance(effect, Emit):
            seen = see(seen, effect.event)
    if not seen.turn:
        yield TurnStarted()
    if seen.message is not None:
        ended = MessageEnded(_whole(seen.message, state, text))
        seen = see(seen, ended)
        yield ended
    for call in seen.begun:
        ended_call = ToolEnded(
            call.call_id, call.name, error_result(fill(rules.words.unfinished, name=call.name, problem=text)), True
        )
        seen = see(seen, ended_call)
        yield ended_call
    for call in seen.calls[seen.answered :]:
        result = _result(state, rules, seen, call, text)
        yield MessageStarted(result)
        yield MessageEnded(result)


def _whole(message: Message | MessageUpdated, state: AgentState, text: str) -> Message:
    if isinstance(message, MessageUpdated):
        message = message.message
    if isinstance(message, AssistantMessage) and message.stop is StopReason.PENDING:
        return _broken_off(message, state, text)
    return message


def _result(state: AgentState, rules: AgentRules, seen: Seen, call: CallPart, text: str) -> ToolResultMessage:
    ended = next((event for event in seen.ended if event.call_id == call.id), None)
    result = error_result(fill(rules.words.not_run, name=call.name, problem=text)) if ended is None else ended.result
    return ToolResultMessage(
        call.id,
        call.name,
        result.content or (),
        is_error=ended is None or ended.is_error,
        details=result.details,
        timestamp=state.clock.now,
        usage=result.usage,
    )
