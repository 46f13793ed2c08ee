"""What a program hands in is looked at where it does so: before anything has begun, or was paid for.

Models, tools and stores are known by their members, whatever their class. Each check raises what ``refuse`` makes of
one sentence: who asks chooses the error.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from .tool import ToolSpec

__all__ = ["LEVELS", "check_kind", "check_level", "check_members", "check_model", "checked_tools"]

T = TypeVar("T")
Refuse = Callable[[str], Exception]

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""The thinking levels, from none to the most."""


def check_model(model: object, refuse: Refuse, name: str = "model", members: tuple[str, ...] = ("stream",)) -> None:
    """Whether it is a model: it has one of these methods."""
    check_members(model, refuse, name, members, "make_model(...)")


def check_members(value: object, refuse: Refuse, name: str, members: tuple[str, ...], source: str) -> None:
    """Whether it has one of these methods, such as ``source`` gives."""
    if isinstance(value, type):
        raise refuse(f"{name} is the class {value.__name__}: make one of it")
    if not any(callable(getattr(value, member, None)) for member in members):
        raise refuse(f"{name} must have a {members[0]} method, such as {source} gives, not {_what(value)}")


def check_kind(value: object, refuse: Refuse, name: str, wanted: type, home: str = "") -> None:
    """Whether it is of this class, which programs import from ``home``."""
    if not isinstance(value, wanted):
        raise refuse(f"{name} must be {home + '.' if home else ''}{wanted.__name__}, not {_what(value)}")


def check_level(level: object) -> None:
    """Raises ``ValueError`` for anything but a thinking level."""
    if level not in LEVELS:
        raise ValueError(f"the thinking level must be one of {', '.join(LEVELS)}, not {level!r}")


def checked_tools(tools: Iterable[T], refuse: Refuse = TypeError) -> tuple[T, ...]:
    """The tools, each with a ``spec`` and a ``run``."""
    try:
        given = tuple(tools)
    except TypeError:
        raise refuse(f"tools must be a list, even of one tool: tools=[...], not {_what(tools)}") from None
    for place, tool in enumerate(given):
        problem = _wrong_tool(tool)
        if problem:
            raise refuse(f"tools[{place}] {problem}")
    return given


def _wrong_tool(tool: object) -> str:
    if isinstance(tool, type):
        return f"is the class {tool.__name__}: make one of it"
    if isinstance(getattr(tool, "spec", None), ToolSpec) and callable(getattr(tool, "run", None)):
        return ""
    name = getattr(tool, "__name__", "")
    if name and callable(tool):
        return f"is a plain function ({name}): decorate it with @tool"
    return f"must be a tool, with a spec and a run method, not {_what(tool)}"


def _what(value: object) -> str:
    """What it is, so that two classes of one name can be told apart."""
    kind = type(value)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return "None" if value is None else f"{home}{kind.__qualname__}"
