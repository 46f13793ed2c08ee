"""The calls of an answer: taken up in call order, carried out one by one or together, and their results entered.

Every call passes ``take_up``, preparation (``preparing``), ``running`` unless it settled before, and ``finish``.
Listeners and hooks may abort in between, so the batch waits for what they did (``Flush``) wherever it then looks
whether to go on.
"""

from typing import cast

from ...effects.agent import Settled, ToolEnded, ToolOutcome, ToolStarted
from ...effects.agent_vocabulary import AgentSettled, Flush, Flushed
from ...effects.tool import Invocation, RunTool, ToolResult, ToolSpec
from ...effects.transcript import AssistantMessage, CallPart, StopReason, ToolResultMessage, calls_of
from ...effects.values import replace
from ..text import fill
from .desk import ask, tell
from .rules import AgentRules
from .state import Acting, AgentState, CallDone, CallPhase, CallReady, CallRunning, CallTaken, Ended
from .talking import enter, show
from .turns import end_turn
from .wording import error_result

__all__ = ["acting", "begin_batch", "finish", "go_on", "ready", "take_up", "tool_named", "with_call"]


def begin_batch(state: AgentState, rules: AgentRules, message: AssistantMessage) -> AgentState:
    """An answer asks for calls. A batch runs one call at a time if the rules or one of the called tools say so."""
    calls = calls_of(message)
    if message.stop is StopReason.LENGTH:
        return _refuse_truncated(state, rules, message, calls)
    called = (tool_named(state, call.name) for call in calls)
    sequential = rules.sequential or any(tool is not None and tool.sequential for tool in called)
    return take_up(replace(state, phase=Acting(message, calls, sequential)), 0)


def _refuse_truncated(
    state: AgentState, rules: AgentRules, message: AssistantMessage, calls: tuple[CallPart, ...]
) -> AgentState:
    """An answer cut off at its length limit: none of its calls runs (decision 43), and the model is asked again."""
    results: list[ToolResultMessage] = []
    for call in calls:
        result = error_result(fill(rules.words.truncated, name=call.name))
        results.append(_message(state, call, result, True))
        state = tell(state, _started(call), ToolEnded(call.id, call.name, result, True))
        state = show(state, results[-1])
    return end_turn(enter(state, *results), rules, message, tuple(results), more=True)


def tool_named(state: AgentState, name: str) -> ToolSpec | None:
    """The tool that may be called by this name: the first one, should several have it."""
    return next((tool for tool in state.talk.tools if tool.name == name), None)


# --- one call after the other


def take_up(state: AgentState, index: int) -> AgentState:
    """Announce a call, and wait for what listeners do about it."""
    state = ask(tell(state, _started(acting(state).calls[index])), Flush, index)
    return with_call(state, index, CallTaken(state.tickets.last))


def ready(state: AgentState, rules: AgentRules, index: int, call: CallReady) -> AgentState:
    """A call may run: at once if calls run one by one, else when all have been taken up."""
    state = with_call(state, index, call)
    if acting(state).sequential:
        return _run(state, index, call)
    return _next(state, rules, index)


def _next(state: AgentState, rules: AgentRules, index: int) -> AgentState:
    """Take up the next call of a batch that runs together; once all are, or after an abort, those that may run do."""
    batch = acting(state)
    if not state.cancelled and index + 1 < len(batch.calls):
        return take_up(state, index + 1)
    return _start(replace(state, phase=replace(batch, closed=True)), rules)


def _start(state: AgentState, rules: AgentRules) -> AgentState:
    """Run what may run, as far as the limit allows; after an abort it ends unrun."""
    most = rules.limits.parallel or len(acting(state).calls)
    running = sum(isinstance(call, CallRunning) for call in acting(state).live.values())
    for index, call in acting(state).live.items():
        if not isinstance(call, CallReady):
            continue
        if state.cancelled:
            state = _told(state, index, error_result(rules.words.aborted), True)
        elif running < most:
            running += 1
            state = _run(state, index, call)
    return _close(state, rules) if _all_done(acting(state)) else state


def _run(state: AgentState, index: int, call: CallReady) -> AgentState:
    part = acting(state).calls[index]
    model_call = str(state.tickets.last)

    def order(ticket: int) -> RunTool:
        return RunTool(ticket, Invocation(part.id, part.name, call.arguments, part.id, model_call))

    state = ask(state, order, index)
    return with_call(state, index, CallRunning(call.arguments, state.tickets.last))


def finish(state: AgentState, rules: AgentRules, index: int, result: ToolResult, is_error: bool) -> AgentState:
    """The result of a call is final: it is told, and the batch goes on once listeners have seen it."""
    state = _told(state, index, result, is_error)
    batch = acting(state)
    if batch.sequential:
        state = show(state, _done(batch, index).message)
    elif batch.closed and _all_done(batch):
        return _close(state, rules)
    elif batch.closed and not any(isinstance(call, CallReady) for call in batch.live.values()):
        return state
    state = ask(state, Flush, index)
    return with_call(state, index, replace(_done(batch, index), flush=state.tickets.last))


def _told(state: AgentState, index: int, result: ToolResult, is_error: bool) -> AgentState:
    call = acting(state).calls[index]
    state = tell(state, ToolEnded(call.id, call.name, result, is_error))
    state = with_call(state, index, CallDone(result, _message(state, call, result, is_error)))
    batch = acting(state)
    return replace(state, phase=replace(batch, done=batch.done + 1))


def go_on(state: AgentState, event: Flushed, rules: AgentRules, index: int) -> AgentState:
    """Listeners have seen the end of a call: the next one is taken up, or started."""
    batch = acting(state)
    if not batch.sequential:
        return _start(state, rules) if batch.closed else _next(state, rules, index)
    if state.cancelled or index + 1 == len(batch.calls):
        return _close(state, rules)
    return take_up(state, index + 1)


# --- the end of a batch


def _close(state: AgentState, rules: AgentRules) -> AgentState:
    """Results enter in call order (decision 14), none for calls never taken up. To terminate, all must wish to."""
    batch = acting(state)
    done = [_done(batch, index) for index in range(len(batch.live))]
    results = tuple(call.message for call in done)
    if batch.alone:
        settled = Settled(outcome=ToolOutcome(done[0].result, results[0].is_error))
        return replace(state, phase=Ended(), out=(*state.out, AgentSettled(settled)))
    if not batch.sequential:
        state = show(state, *results)
    terminate = all(call.result.terminate is True for call in done)
    return end_turn(enter(state, *results), rules, batch.message, results, more=not terminate)


# --- small pieces


def acting(state: AgentState) -> Acting:
    """The batch under way."""
    assert isinstance(state.phase, Acting)
    return state.phase


def with_call(state: AgentState, index: int, call: CallPhase) -> AgentState:
    """The state with one call of the batch in another phase."""
    batch = acting(state)
    return replace(state, phase=replace(batch, live={**batch.live, index: call}))


def _all_done(batch: Acting) -> bool:
    return batch.done == len(batch.live)


def _done(batch: Acting, index: int) -> CallDone:
    return cast("CallDone", batch.live[index])


def _started(call: CallPart) -> ToolStarted:
    return ToolStarted(call.id, call.name, call.arguments)


def _message(state: AgentState, call: CallPart, result: ToolResult, is_error: bool) -> ToolResultMessage:
    return ToolResultMessage(
        call_id=call.id,
        name=call.name,
        content=() if result.content is None or result.content == "" else result.content,
        is_error=is_error,
        details=result.details,
        timestamp=state.clock.now,
        usage=result.usage,
    )
