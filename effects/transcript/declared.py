"""What a transcript says of instructions and tools: system messages replayed in order.

A conversation carries its own instructions and tool declarations, as system messages that may come at any point; what
is in force is what replaying them gives. Everything here is pure and leaves its arguments as they are.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..values import frozen, replace
from .messages import Message, SystemMessage, TextPart, ToolDeclaration, parts_of

__all__ = [
    "ToolChanges",
    "current_system",
    "current_tools",
    "declare",
    "declared_tools",
    "initial_system",
    "same_declaration",
    "system_prompt",
    "system_text",
    "tool_changes",
    "tools_after",
    "update_text",
    "with_tool_changes",
]


@frozen
class ToolChanges:
    """How one list of tools becomes another; a changed tool is in both."""

    added: tuple[ToolDeclaration, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


# --- tools


def tools_after(tools: tuple[ToolDeclaration, ...], messages: Iterable[Message]) -> tuple[ToolDeclaration, ...]:
    """The tools in force after more messages: each removes first, then adds; a name added again keeps its place."""
    for message in messages:
        if isinstance(message, SystemMessage) and (message.tools_added or message.tools_removed):
            tools = _after_one(tools, message)
    return tools


def current_tools(messages: Iterable[Message]) -> tuple[ToolDeclaration, ...]:
    """The tools that a transcript has declared and not taken away."""
    return tools_after((), messages)


def declared_tools(messages: Iterable[Message]) -> tuple[ToolDeclaration, ...]:
    """All tools that a transcript has ever declared, as it did last, whether or not it took them away."""
    tools: tuple[ToolDeclaration, ...] = ()
    for message in messages:
        if isinstance(message, SystemMessage):
            tools = _after_one(tools, replace(message, tools_removed=None))
    return tools


def _after_one(tools: tuple[ToolDeclaration, ...], message: SystemMessage) -> tuple[ToolDeclaration, ...]:
    now = list(tools)
    for name in message.tools_removed or ():
        place = _place(now, name)
        if place is not None:
            del now[place]
    for tool in message.tools_added or ():
        place = _place(now, tool.name)
        if place is None:
            now.append(tool)
        else:
            now[place] = tool
    return tuple(now)


def _place(tools: list[ToolDeclaration], name: str) -> int | None:
    return next((place for place, tool in enumerate(tools) if tool.name == name), None)


def same_declaration(one: ToolDeclaration, other: ToolDeclaration) -> bool:
    """Whether a model would see the same tool. The order of members counts: it is part of what a provider caches."""
    if one is other:
        return True
    if one.name != other.name or one.description != other.description:
        return False
    return _text(one.parameters) == _text(other.parameters) and _text(one.extra) == _text(other.extra)


def _text(value: Any) -> bytes:
    return msgspec.json.encode(value)


def tool_changes(previous: Sequence[ToolDeclaration], current: Sequence[ToolDeclaration]) -> ToolChanges:
    """What a transcript must say so that ``current`` is in force where ``previous`` was."""
    before = {tool.name: tool for tool in previous}
    after = {tool.name: tool for tool in current}

    def same(one: ToolDeclaration, other: ToolDeclaration | None) -> bool:
        return other is not None and same_declaration(one, other)

    return ToolChanges(
        tuple(tool for tool in current if not same(tool, before.get(tool.name))),
        tuple(tool.name for tool in previous if not same(tool, after.get(tool.name))),
    )


def with_tool_changes(message: SystemMessage, changes: ToolChanges) -> SystemMessage:
    """The message with exactly these changes; without any, it says nothing of tools."""
    return replace(message, tools_added=changes.added or None, tools_removed=changes.removed or None)


def declare(
    declared: tuple[ToolDeclaration, ...],
    tools: tuple[ToolDeclaration, ...],
    entering: tuple[Message, ...],
    at: int,
) -> tuple[Message, ...]:
    """The entering messages, made to say how ``declared`` becomes ``tools``; the very same ones if they already do.

    The last system message among them carries the change, whatever it claimed itself; without one, a system message of
    its own goes before the first other message.
    """
    place = next((i for i in range(len(entering) - 1, -1, -1) if isinstance(entering[i], SystemMessage)), None)
    if place is None:
        changes = tool_changes(tools_after(declared, entering), tools)
        if not changes:
            return entering
        first = next((i for i, message in enumerate(entering) if not isinstance(message, SystemMessage)), len(entering))
        return (*entering[:first], with_tool_changes(SystemMessage("", timestamp=at), changes), *entering[first:])
    message = entering[place]
    assert isinstance(message, SystemMessage)
    changes = tool_changes(tools_after(declared, (*entering[:place], *entering[place + 1 :])), tools)
    if not changes and message.tools_added is None and message.tools_removed is None:
        return entering
    return (*entering[:place], with_tool_changes(message, changes), *entering[place + 1 :])


# --- instructions


def system_text(message: SystemMessage) -> str:
    """The whole text of a system message: its content, then its sections."""
    return _paragraphs((_content(message), *(message.sections or {}).values()))


def update_text(message: SystemMessage) -> str:
    """A system message in mid-conversation, told as the change it is."""
    told = [_content(message)]
    for name, section in (message.sections or {}).items():
        if section is None:
            told.append(f'Removed system prompt section "{name}".')
        else:
            told.append(f'Updated system prompt section "{name}":\n\n{section}')
    return _paragraphs(told)


def current_system(messages: Iterable[Message]) -> SystemMessage | None:
    """All system messages as the one they amount to; none if they amount to nothing."""
    contents: list[str] = []
    sections: dict[str, str | None] = {}
    tools: tuple[ToolDeclaration, ...] = ()
    timestamp: int | None = None
    found = False
    for message in messages:
        if not isinstance(message, SystemMessage):
            continue
        found = True
        timestamp = message.timestamp if timestamp is None else timestamp
        contents.append(_content(message))
        tools = tools_after(tools, (message,))
        for name, section in (message.sections or {}).items():
            if section is None:
                sections.pop(name, None)
            else:
                sections[name] = section
    if not found:
        return None
    return SystemMessage(_paragraphs(contents), sections or None, tools_added=tools or None, timestamp=timestamp or 0)


def system_prompt(messages: Iterable[Message]) -> str:
    """The instructions in force, as text."""
    message = current_system(messages)
    return "" if message is None else system_text(message)


def initial_system(prompt: str, tools: tuple[ToolDeclaration, ...]) -> SystemMessage | None:
    """The system message a conversation begins with, if there is anything to say."""
    if not prompt and not tools:
        return None
    return SystemMessage(prompt, tools_added=tools or None, timestamp=0)


def _content(message: SystemMessage) -> str:
    return "\n".join(part.text for part in parts_of(message.content) if isinstance(part, TextPart))


def _paragraphs(texts: Iterable[str | None]) -> str:
    return "\n\n".join(text for text in texts if text)
