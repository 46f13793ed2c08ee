"""From a conversation to a request: preparation, transformation, conversion, and the call.

What a hook transforms or converts is for one request; the conversation itself stays as it is.
"""

from typing import Any

from ...effects.hook import (
    ContextReturned,
    ConvertedReturned,
    ConvertToModel,
    PrepareRequest,
    RequestReturned,
    TransformContext,
)
from ...effects.model import CallModel, ModelRequest
from ...effects.sequence import Seq
from ...effects.transcript import Message
from ...effects.values import replace
from .desk import ask
from .rules import AgentRules, Hook
from .state import AgentState, Converting, PreparingRequest, Streaming, Transforming
from .talking import context_of, level_of, update, visible_of

__all__ = ["begin_request", "on_context", "on_converted", "on_request"]


def begin_request(state: AgentState, rules: AgentRules) -> AgentState:
    """The model is to be asked."""
    if Hook.PREPARE_REQUEST not in rules.hooks:
        return _transform(state, rules)
    context, wish = context_of(state), state.wish
    return ask(
        replace(state, phase=PreparingRequest()),
        lambda ticket: PrepareRequest(ticket, context, wish.model, level_of(wish)),
    )


def on_request(state: AgentState, event: RequestReturned, rules: AgentRules, about: int) -> AgentState:
    """The host prepared the request. Its tools may be called at once, and are declared a turn later."""
    return _transform(update(state, event.update), rules)


def _transform(state: AgentState, rules: AgentRules) -> AgentState:
    messages = state.talk.messages
    if Hook.TRANSFORM_CONTEXT not in rules.hooks:
        return _convert(state, rules, messages)
    return ask(replace(state, phase=Transforming(messages)), lambda ticket: TransformContext(ticket, messages))


def on_context(state: AgentState, event: ContextReturned, rules: AgentRules, about: int) -> AgentState:
    """The host chose what the request carries."""
    assert isinstance(state.phase, Transforming)
    return _convert(state, rules, event.change.apply(state.phase.messages))


def _convert(state: AgentState, rules: AgentRules, messages: Seq[Message]) -> AgentState:
    if Hook.CONVERT_TO_MODEL not in rules.hooks:
        talk = state.talk
        return _call(state, rules, talk.visible if messages is talk.messages else visible_of(messages))
    return ask(replace(state, phase=Converting(messages)), lambda ticket: ConvertToModel(ticket, messages))


def on_converted(state: AgentState, event: ConvertedReturned, rules: AgentRules, about: int) -> AgentState:
    """The host converted the messages to what a model may see."""
    assert isinstance(state.phase, Converting)
    return _call(state, rules, event.change.apply(state.phase.messages))


def _call(state: AgentState, rules: AgentRules, messages: Seq[Message]) -> AgentState:
    options: dict[str, Any] = dict(rules.options)
    options.pop("reasoning", None)
    if state.wish.thinking is not None:
        options["reasoning"] = state.wish.thinking
    model = state.wish.model

    def order(ticket: int) -> CallModel:
        return CallModel(ticket, ModelRequest(str(ticket), messages, options=options, model=model))

    state = ask(state, order)
    return replace(state, phase=Streaming(state.tickets.last))
