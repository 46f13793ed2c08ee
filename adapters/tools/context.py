"""What a tool may know of the call it carries out, beside its arguments."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any

from ...effects.tool import ToolResult
from ...effects.values import field, frozen

__all__ = ["DONE", "ToolContext"]


class _Done:
    """Something to await that is over already."""

    def __await__(self) -> Generator[Any, Any, None]:
        yield from ()


DONE: Awaitable[None] = _Done()


def _nowhere(_: ToolResult) -> Awaitable[None]:
    return DONE


@frozen
class ToolContext:
    """The call that a tool carries out. A function asks for it by a parameter of this type, whatever its name.

    ``key`` is the call's idempotency key: the same whenever the same call is carried out, so that a service can
    recognise a repeat (decision 11). ``call_id`` is the provider's id of the call and ``model_call_id`` ours of the
    model call that asked for it. ``can_suspend``: the function may return ``Await``. Made by hand, in a test of
    a tool, it shows progress to nobody.
    """

    key: str = ""
    call_id: str = ""
    model_call_id: str = ""
    send: Callable[[ToolResult], Awaitable[None]] = field(default=_nowhere, repr=False)
    can_suspend: bool = False

    def progress(self, update: ToolResult | str) -> Awaitable[None]:
        """Show something while the tool goes on. An async tool awaits it; for a sync tool, calling it is enough."""
        return self.send(ToolResult(update) if isinstance(update, str) else update)
