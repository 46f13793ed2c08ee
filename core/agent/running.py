"""While a call runs, and after: its updates, its answer, and what the host makes of its result."""

from ...effects.agent import ToolUpdated
from ...effects.agent_vocabulary import ToolNotRun
from ...effects.hook import AfterTool, AfterToolReturned, ResultPatch
from ...effects.tool import ToolCutOff, ToolFailed, ToolProgressed, ToolResult, ToolReturned
from ...effects.values import UNSET, replace
from ..text import fill
from .batch import acting, finish, with_call
from .desk import ask, tell
from .failing import fail
from .rules import AgentRules, Hook
from .state import AgentState, CallFinishing, CallRunning
from .talking import context_of
from .wording import error_result, seconds

__all__ = ["on_after", "on_not_run", "on_progress", "on_tool_answer", "patched"]

Answer = ToolReturned | ToolFailed | ToolCutOff


def on_progress(state: AgentState, event: ToolProgressed, rules: AgentRules, index: int) -> AgentState:
    """The tool has something to show."""
    call = acting(state).calls[index]
    return tell(state, ToolUpdated(call.id, call.name, call.arguments, event.update))


def on_tool_answer(state: AgentState, event: Answer, rules: AgentRules, index: int) -> AgentState:
    """The tool is done. If a listener raised at one of its updates, the run fails now, and not before."""
    batch = acting(state)
    call = batch.live[index]
    assert isinstance(call, CallRunning)
    if call.broken is not None:
        return fail(state, call.broken)
    result, is_error = _outcome(event, rules, call, batch.calls[index].name)
    if Hook.AFTER_TOOL not in rules.hooks:
        return finish(state, rules, index, result, is_error)
    part, context = batch.calls[index], context_of(state)
    return ask(
        with_call(state, index, CallFinishing(result, is_error)),
        lambda ticket: AfterTool(ticket, batch.message, part, call.arguments, context, result, is_error),
        index,
    )


def on_not_run(state: AgentState, event: ToolNotRun, rules: AgentRules, index: int) -> AgentState:
    """The tool was not started any more."""
    return finish(state, rules, index, error_result(rules.words.aborted), True)


def _outcome(event: Answer, rules: AgentRules, call: CallRunning, name: str) -> tuple[ToolResult, bool]:
    match event:
        case ToolReturned(result=result):
            return result, result.is_error
        case ToolFailed(message=message):
            return error_result(message), True
        case ToolCutOff() if call.timed_out:
            text = fill(rules.words.timed_out, name=name, seconds=seconds(rules.limits.tool_ms))
            return error_result(text), True
        case ToolCutOff():
            return error_result(rules.words.aborted), True


def on_after(state: AgentState, event: AfterToolReturned, rules: AgentRules, index: int) -> AgentState:
    """The host looked at the result."""
    call = acting(state).live[index]
    assert isinstance(call, CallFinishing)
    if event.patch is None:
        return finish(state, rules, index, call.result, call.is_error)
    is_error = call.is_error if event.patch.is_error is None else event.patch.is_error
    return finish(state, rules, index, patched(call.result, event.patch), is_error)


def patched(result: ToolResult, patch: ResultPatch) -> ToolResult:
    """The result with the patch's members: new content takes old structured content away, null replaces nothing."""
    if patch.content is not UNSET:
        result = replace(result, content=patch.content, structured=UNSET)
    if patch.structured is not UNSET and patch.structured is not None:
        result = replace(result, structured=patch.structured)
    if patch.details is not UNSET and patch.details is not None:
        result = replace(result, details=patch.details)
    if patch.usage is not UNSET:
        result = replace(result, usage=patch.usage)
    return result if patch.terminate is None else replace(result, terminate=patch.terminate)
