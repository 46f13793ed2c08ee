"""Running a tool: the order, its answers, and the port."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from .record import NO_NOTES, MediaRef
from .transcript import NO_EXTRA, Content, ToolDeclaration
from .values import UNSET, UnsetType, frozen

__all__ = [
    "CancelTool",
    "Invocation",
    "RunTool",
    "ToolCutOff",
    "ToolFailed",
    "ToolPort",
    "ToolProgressed",
    "ToolResult",
    "ToolReturned",
    "ToolSpec",
]


@frozen
class ToolSpec:
    """What a run knows of a tool: its declaration and its traits.

    ``replayable``: the model may be told to call again when the outcome of a call is unknown; the runtime itself never
    repeats one. ``side_effects``: it changes something outside the run, so a call that was cut off needs review unless
    it is replayable. ``sequential``: a batch with such a call runs one call at a time. ``notes`` are put on every
    record of the tool. ``prepares``: an agent asks its ``PrepareArguments`` hook before the arguments are checked.
    ``coerces``: arguments of the wrong type are made to fit where that can be done; ``defaults``: members that are
    missing get the schema's default.
    """

    declaration: ToolDeclaration
    replayable: bool = False
    side_effects: bool = False
    sequential: bool = False
    notes: Mapping[str, str] = NO_NOTES
    prepares: bool = False
    coerces: bool = True
    defaults: bool = False

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self.declaration.name


@frozen
class Invocation:
    """One call, as its tool sees it.

    ``key`` is the record's id: the same whenever the same call is carried out, so a service can recognise a repeat
    (decision 11). ``arguments`` are the decoded, checked arguments.
    """

    key: str
    name: str
    arguments: Mapping[str, Any]
    call_id: str = ""
    model_call_id: str = ""


@frozen
class ToolResult:
    """What a tool gives: ``content`` for the model; the rest for hosts.

    ``is_error`` makes the call fail with the content's text; ``details``, ``structured`` and ``usage`` (what the tool
    itself used) tell absent from null. ``terminate`` asks an agent not to ask its model again, which takes the whole
    batch. ``extra`` is the host's own and reaches listeners only.
    """

    content: Content = ""
    is_error: bool = False
    details: Any | UnsetType = UNSET
    structured: Any | UnsetType = UNSET
    media: tuple[MediaRef, ...] = ()
    usage: Any | UnsetType = UNSET
    terminate: bool | None = None
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class RunTool:
    """Run a tool. Its record is saved as running before this is ever asked."""

    ticket: int
    invocation: Invocation


@frozen
class CancelTool:
    """Stop a tool. It answers all the same: with its result if it has one, else as cut off."""

    ticket: int


@frozen
class ToolProgressed:
    """Something to show while the tool goes on."""

    at: int
    ticket: int
    update: ToolResult


@frozen
class ToolReturned:
    """The tool gave a result."""

    at: int
    ticket: int
    result: ToolResult


@frozen
class ToolFailed:
    """The tool raised; ``message`` is the text the model will see."""

    at: int
    ticket: int
    message: str


@frozen
class ToolCutOff:
    """The tool was stopped before it gave a result: what it did is unknown."""

    at: int
    ticket: int


class ToolPort(Protocol):
    """Whatever carries out calls. A raised exception is an ordinary error of the call; its text goes to the model."""

    async def run(self, invocation: Invocation, progress: Callable[[ToolResult], Awaitable[None]]) -> ToolResult:
        """Carry out one call. Cancellation arrives as the framework's own, at any await."""
        ...
