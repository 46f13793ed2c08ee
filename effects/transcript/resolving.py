"""A whole transcript as models may take it: some read a system message anywhere, some only at the beginning.

Apart from ``declared``, which says what is in force: here messages are put in order for it. Everything is pure, and
what needs no change comes back as the very objects that came in.
"""

from collections.abc import Iterable, Sequence

from ..values import frozen
from .declared import current_system, current_tools, initial_system, same_declaration
from .messages import Message, SystemMessage, ToolDeclaration

__all__ = [
    "ToolPlan",
    "collapsed",
    "first_system",
    "only_adds_tools",
    "plan_tools",
    "redefines_tools",
    "resolved",
    "with_instructions",
    "without_first_system",
]


def first_system(messages: Sequence[Message]) -> SystemMessage | None:
    """The system message that a transcript begins with, if it does."""
    first = messages[0] if messages else None
    return first if isinstance(first, SystemMessage) else None


def without_first_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The transcript behind the system message that it begins with."""
    return tuple(messages if first_system(messages) is None else messages[1:])


def with_instructions(
    prompt: str, tools: tuple[ToolDeclaration, ...], messages: Iterable[Message]
) -> tuple[Message, ...]:
    """The transcript with a system message in front that says prompt and tools, if there are any."""
    first = initial_system(prompt, tools)
    return (*messages,) if first is None else (first, *messages)


def collapsed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The transcript with all its system messages as one, at its beginning."""
    head = current_system(messages)
    rest = (message for message in messages if not isinstance(message, SystemMessage))
    return (*rest,) if head is None else (head, *rest)


def resolved(messages: Sequence[Message], anywhere: bool) -> tuple[Message, ...]:
    """The transcript for a model; ``anywhere``: whether it reads system messages in mid-conversation."""
    return tuple(messages) if anywhere else collapsed(messages)


# Tools that change on the way.


@frozen
class ToolPlan:
    """How a request brings its tools: ``tools`` are its own; if ``anchored``, the messages bring those added later."""

    tools: tuple[ToolDeclaration, ...]
    anchored: bool = False


def plan_tools(messages: Sequence[Message], additions: bool) -> ToolPlan:
    """How to bring the tools to a model; ``additions``: whether it takes more of them in mid-conversation.

    It never takes any away, so a transcript that does anything but add has all that is in force in the request itself.
    """
    if not additions or not only_adds_tools(messages):
        return ToolPlan(current_tools(messages))
    first = first_system(messages)
    return ToolPlan(() if first is None else first.tools_added or (), anchored=True)


def only_adds_tools(messages: Iterable[Message]) -> bool:
    """Whether no tool is ever taken away or declared a second time."""
    names: set[str] = set()
    for message in messages:
        if not isinstance(message, SystemMessage):
            continue
        if message.tools_removed:
            return False
        for tool in message.tools_added or ():
            if tool.name in names:
                return False
            names.add(tool.name)
    return True


def redefines_tools(messages: Iterable[Message]) -> bool:
    """Whether a tool is declared twice, and not in the same way."""
    known: dict[str, ToolDeclaration] = {}
    for message in messages:
        if isinstance(message, SystemMessage):
            for tool in message.tools_added or ():
                if tool.name in known and not same_declaration(known[tool.name], tool):
                    return True
                known[tool.name] = tool
    return False
