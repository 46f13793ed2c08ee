"""The conversation as it grows, and how a host's update changes it."""

from ...effects.agent import Context, MessageEnded, MessageStarted, TurnUpdate
from ...effects.sequence import Seq
from ...effects.transcript import CustomMessage, Message, ToolDeclaration
from ...effects.transcript.declared import current_tools, declare, tools_after
from ...effects.values import replace
from .desk import tell
from .state import AgentState, Talk, Wish

__all__ = [
    "OFF",
    "context_of",
    "declared_with",
    "enter",
    "joined",
    "level_of",
    "show",
    "talk_of",
    "update",
    "visible_of",
]

OFF = "off"
"""How hosts are told that no thinking level is in force, and how they ask for none."""


def talk_of(context: Context) -> Talk:
    """A conversation as the run keeps it."""
    messages = context.messages
    return Talk(messages, visible_of(messages), Seq(), context.tools, current_tools(messages))


def visible_of(messages: Seq[Message]) -> Seq[Message]:
    """What a model may see when no host converts: everything but a host's own messages."""
    return Seq(message for message in messages if not isinstance(message, CustomMessage))


def context_of(state: AgentState) -> Context:
    """The conversation as hooks see it."""
    return Context(state.talk.messages, state.talk.tools)


def level_of(wish: Wish) -> str:
    """The thinking level in force, in words."""
    return OFF if wish.thinking is None else wish.thinking


def joined(talk: Talk, *messages: Message) -> Talk:
    """The conversation with more messages."""
    visible = [message for message in messages if not isinstance(message, CustomMessage)]
    return replace(
        talk,
        messages=talk.messages.extend(messages),
        visible=talk.visible.extend(visible),
        added=talk.added.extend(messages),
        declared=tools_after(talk.declared, messages),
    )


def enter(state: AgentState, *messages: Message) -> AgentState:
    """Messages join the conversation."""
    return replace(state, talk=joined(state.talk, *messages))


def show(state: AgentState, *messages: Message) -> AgentState:
    """Tell of whole messages, one after the other."""
    return tell(state, *(event for message in messages for event in (MessageStarted(message), MessageEnded(message))))


def declared_with(state: AgentState, entering: tuple[Message, ...]) -> tuple[Message, ...]:
    """The entering messages, made to declare the tools that may be called now."""
    tools: tuple[ToolDeclaration, ...] = tuple(tool.declaration for tool in state.talk.tools)
    return declare(state.talk.declared, tools, entering, state.clock.now)


def update(state: AgentState, wanted: TurnUpdate | None) -> AgentState:
    """What a host wants changed for the rest of the run; messages are the caller's business."""
    if wanted is None:
        return state
    talk, wish = state.talk, state.wish
    if wanted.context is not None:
        messages = wanted.context.apply(talk.messages)
        if messages is not talk.messages:
            talk = replace(talk, messages=messages, visible=visible_of(messages), declared=current_tools(messages))
    if wanted.tools is not None:
        talk = replace(talk, tools=wanted.tools)
    if wanted.model is not None:
        wish = replace(wish, model=wanted.model)
    if wanted.thinking_level is not None:
        wish = replace(wish, thinking=None if wanted.thinking_level == OFF else wanted.thinking_level)
    return replace(state, talk=talk, wish=wish)
