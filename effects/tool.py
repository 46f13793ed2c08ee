"""Running a tool: the order, its answers, and the port."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast

from .record import NO_NOTES, MediaRef
from .transcript import NO_EXTRA, Content, ImagePart, TextPart, ToolDeclaration
from .values import UNSET, UnsetType, field, frozen, of_texts, of_type, replace

__all__ = [
    "Await",
    "CancelTool",
    "Complete",
    "Control",
    "Detached",
    "Invocation",
    "RunTool",
    "Tool",
    "ToolControlled",
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

    ``completion``: the tool may end a durable run with ``Complete``; such a call stands alone in its output.
    ``timeout_ms`` limits each call (0: the run's limit). ``has_policy``: a policy is asked before each call.
    ``reconciles``: it can find out what became of a call that was cut off.
    """

    declaration: ToolDeclaration
    replayable: bool = False
    side_effects: bool = False
    sequential: bool = False
    notes: Mapping[str, str] = field(default=NO_NOTES, validator=of_texts)
    prepares: bool = False
    coerces: bool = True
    defaults: bool = False
    completion: bool = False
    timeout_ms: int = 0
    has_policy: bool = False
    reconciles: bool = False

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self.declaration.name


@frozen
class Invocation:
    """One call, as its tool sees it.

    ``key`` is the record's id: the same whenever the same call is carried out, so a service can recognise a repeat
    (decision 11). ``arguments`` are the decoded, checked arguments. ``can_suspend``: the tool may answer ``Await``.
    """

    key: str
    name: str
    arguments: Mapping[str, Any]
    call_id: str = ""
    model_call_id: str = ""
    can_suspend: bool = False

    def without_suspend(self) -> "Invocation":
        """The same call for a tool within the tool, which cannot wait for anybody outside (decision 18)."""
        return replace(self, can_suspend=False)


def _of_content(result: object, _: object, content: object) -> None:
    parts = cast("tuple[object, ...]", content) if isinstance(content, tuple) else ()
    fits = content is None or isinstance(content, str | tuple)
    if not fits or not all(isinstance(part, TextPart | ImagePart) for part in parts):
        raise TypeError("ToolResult.content must be text, or a tuple of text and image parts")


@frozen
class ToolResult:
    """What a tool gives: ``content`` for the model; the rest for hosts.

    ``is_error`` makes the call fail with the content's text; ``details``, ``structured`` and ``usage`` (what the tool
    itself used) tell absent from null. ``terminate`` asks an agent not to ask its model again, which takes the whole
    batch. ``extra`` is the host's own and reaches listeners only.
    """

    content: Content = field(default="", validator=_of_content)
    is_error: bool = False
    details: Any | UnsetType = UNSET
    structured: Any | UnsetType = UNSET
    media: tuple[MediaRef, ...] = ()
    usage: Any | UnsetType = UNSET
    terminate: bool | None = None
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class Await:
    """The result comes from outside, later: the run is suspended after its batch until the host settles the call.

    ``payload`` is for whoever settles it: any value that JSON can hold.
    """

    payload: Any | UnsetType = UNSET


@frozen
class Detached:
    """The work goes on without the run, which shows the model ``receipt`` and does not wait."""

    receipt: str = field(validator=of_type(str))
    payload: Any | UnsetType = UNSET


@frozen
class Complete:
    """The run ends with ``value``: any value that JSON can hold.

    Newer input supersedes a value that is not ``fixed``. Only a tool whose spec says ``completion`` may give it.
    """

    value: Any
    fixed: bool = field(default=False, validator=of_type(bool))


Control = Await | Detached | Complete
"""What a tool of a durable run may return instead of a result: values, which no layer can swallow (decision 42)."""


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
class ToolControlled:
    """The tool said what becomes of the call instead of giving a result."""

    at: int
    ticket: int
    control: Control


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

    async def run(
        self, invocation: Invocation, progress: Callable[[ToolResult], Awaitable[None]]
    ) -> ToolResult | Control:
        """Carry out one call. Cancellation arrives as the framework's own, at any await."""
        ...


class Tool(ToolPort, Protocol):
    """A tool that a run can be given: what it is, and how it is carried out."""

    @property
    def spec(self) -> ToolSpec:
        """Its declaration and traits."""
        ...
