"""A permission gate: no tool runs unless a rule allows the call, and the model is told why not.

The gate is a value and a pure function at once, so it is the hook itself::

    gate = PermissionGate(
        (
            Allow("search"),
            Allow("read", {"path": lambda path: path in READABLE}),
            Allow("deploy", {"stage": "test", "dry_run": True}, exact=True),
        )
    )
    agent = Agent(model, tools=tools, hooks=AgentHooks(before_tool=gate))

It sees the arguments as they were checked and coerced. A hook that replaces arguments must do so before it asks the
gate, for what is changed afterwards no rule has seen.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ....effects.hook import BeforeTool, Block
from ....effects.values import field, frozen
from ...text import fill
from .words import ENGLISH, PolicyWords

__all__ = ["Allow", "PermissionGate"]


@frozen
class Allow:
    """Allows calls of ``tool`` (a name that ends with ``*`` stands for all that begin so) that meet every condition.

    A condition on an argument is the value it must have, or a plain function that returns ``True`` for values it may
    have; anything else that comes of the function (an exception, something to await) is a no, and an argument that is
    missing meets no condition. Arguments without one may be anything, unless the rule is ``exact``: then there must be
    none.
    """

    tool: str
    where: Mapping[str, Any] = field(factory=dict[str, Any])
    exact: bool = False

    def names(self, tool: str) -> bool:
        """Whether the rule is about this tool."""
        return tool.startswith(self.tool[:-1]) if self.tool.endswith("*") else tool == self.tool

    def admits(self, arguments: Any) -> bool:
        """Whether the arguments meet every condition."""
        if not isinstance(arguments, Mapping):
            return not self.where and not self.exact
        given = cast("Mapping[str, Any]", arguments)
        if self.exact and any(name not in self.where for name in given):
            return False
        return all(name in given and _meets(given[name], wanted) for name, wanted in self.where.items())


@frozen
class PermissionGate:
    """Blocks every call that none of the ``rules`` allows. Without a rule, that is every call."""

    rules: tuple[Allow, ...] = ()
    words: PolicyWords = ENGLISH

    def __call__(self, order: BeforeTool) -> Block | None:
        """Answer the ``before_tool`` hook: nothing lets the call run."""
        name = order.call.name
        about = [rule for rule in self.rules if rule.names(name)]
        if any(rule.admits(order.arguments) for rule in about):
            return None
        return Block(fill(self.words.arguments_not_permitted if about else self.words.tool_not_permitted, name=name))


def _meets(value: Any, wanted: Any) -> bool:
    if not callable(wanted):
        return _same(value, wanted)
    allows: Callable[[Any], Any] = wanted
    try:
        return allows(value) is True
    except Exception:
        return False


def _same(value: Any, wanted: Any) -> bool:
    """Equal as JSON is: true is not 1, at any depth."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        one, other = cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", wanted)
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        items, others = cast("Sequence[Any]", value), cast("Sequence[Any]", wanted)
        return len(items) == len(others) and all(map(_same, items, others))
    return value == wanted
