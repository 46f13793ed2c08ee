"""Before a call runs: its tool is looked up, its arguments are prepared and checked, and the host may stop it.

Whatever goes wrong here is an error result of the call, without the tool having run and without ``AfterTool``.
"""

from typing import Any

import msgspec

from ...effects.agent_vocabulary import CallAsked, Flushed
from ...effects.hook import (
    ArgumentsReturned,
    BeforeTool,
    BeforeToolReturned,
    Block,
    HookFailed,
    PrepareArguments,
    Proceed,
)
from ...effects.tool import ToolSpec
from ...effects.transcript import CallPart
from ...effects.values import UNSET, replace
from ..text import fill
from .batch import acting, finish, go_on, ready, take_up, tool_named, with_call
from .desk import ask
from .rules import Accepted, AgentRules, Hook
from .state import Acting, AgentState, CallChecked, CallDone, CallPreparing, CallReady, CallTaken
from .talking import context_of
from .wording import error_result

__all__ = ["on_arguments", "on_before", "on_call_asked", "on_call_hook_failed", "on_flushed"]


def on_call_asked(state: AgentState, event: CallAsked, rules: AgentRules, about: int) -> AgentState:
    """One call, by itself: a batch of its own."""
    return take_up(replace(state, phase=Acting(event.message, (event.call,), True, alone=True)), 0)


def on_flushed(state: AgentState, event: Flushed, rules: AgentRules, about: int) -> AgentState:
    """Listeners have seen a call begin, or end. What they saw of a batch that is over needs nothing more."""
    call = state.phase.live.get(about) if isinstance(state.phase, Acting) else None
    if isinstance(call, CallTaken) and call.flush == event.ticket:
        return _prepare(state, rules, about)
    if isinstance(call, CallDone) and call.flush == event.ticket:
        return go_on(state, event, rules, about)
    return state


def _prepare(state: AgentState, rules: AgentRules, index: int) -> AgentState:
    call = acting(state).calls[index]
    tool = tool_named(state, call.name)
    if tool is None:
        return _stop(state, rules, index, fill(rules.words.tool_not_found, name=call.name))
    arguments, problem = _parse(call)
    if problem:
        text = fill(rules.words.invalid_arguments, name=call.name, problem=problem)
        return _stop(state, rules, index, text)
    if not tool.prepares:
        return _check(state, rules, index, tool, arguments)
    state = with_call(state, index, CallPreparing(tool))
    return ask(state, lambda ticket: PrepareArguments(ticket, call, arguments), index)


def _parse(call: CallPart) -> tuple[Any, str]:
    """The arguments as a value, or what is wrong with their text; blank text is an empty object (decision 45)."""
    if call.arguments_error is not None:
        return None, call.arguments_error
    if not call.arguments.strip():
        return {}, ""
    try:
        return msgspec.json.decode(call.arguments), ""
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return None, f"they are not valid JSON ({error})"


def on_arguments(state: AgentState, event: ArgumentsReturned, rules: AgentRules, index: int) -> AgentState:
    """The tool prepared the arguments."""
    call = acting(state).live[index]
    assert isinstance(call, CallPreparing)
    return _check(state, rules, index, call.tool, event.arguments)


def _check(state: AgentState, rules: AgentRules, index: int, tool: ToolSpec, arguments: Any) -> AgentState:
    checked = _checked(rules, tool, arguments)
    if isinstance(checked, str):
        return _stop(state, rules, index, checked)
    if Hook.BEFORE_TOOL not in rules.hooks:
        return _decided(state, rules, index, CallChecked(tool, checked.arguments), Proceed())
    batch, context = acting(state), context_of(state)
    return ask(
        with_call(state, index, CallChecked(tool, checked.arguments)),
        lambda ticket: BeforeTool(ticket, batch.message, batch.calls[index], checked.arguments, context),
        index,
    )


def _checked(rules: AgentRules, tool: ToolSpec, arguments: Any) -> Accepted | str:
    try:
        return rules.check(tool, arguments)
    except Exception as error:
        return str(error) or type(error).__name__


def on_before(state: AgentState, event: BeforeToolReturned, rules: AgentRules, index: int) -> AgentState:
    """The host decided whether the call runs."""
    call = acting(state).live[index]
    assert isinstance(call, CallChecked)
    return _decided(state, rules, index, call, event.decision)


def _decided(
    state: AgentState, rules: AgentRules, index: int, call: CallChecked, decision: Proceed | Block
) -> AgentState:
    """An abort beats any decision; arguments that the host replaced are checked again."""
    if state.cancelled:
        return _stop(state, rules, index, rules.words.aborted)
    if isinstance(decision, Block):
        return _stop(state, rules, index, decision.reason or rules.words.blocked, decision.terminate)
    arguments = call.arguments
    if decision.arguments is not UNSET:
        checked = _checked(rules, call.tool, decision.arguments) if rules.recheck else Accepted(decision.arguments)
        if isinstance(checked, str):
            return _stop(state, rules, index, checked)
        arguments = checked.arguments
    return ready(state, rules, index, CallReady(arguments))


def on_call_hook_failed(state: AgentState, event: HookFailed, rules: AgentRules, index: int) -> AgentState:
    """A hook around the call raised: that is the call's error (decision 19)."""
    return _stop(state, rules, index, event.message)


def _stop(state: AgentState, rules: AgentRules, index: int, text: str, terminate: bool | None = None) -> AgentState:
    return finish(state, rules, index, error_result(text, terminate), True)
