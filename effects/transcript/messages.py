"""What a model reads and writes: messages, their parts, tool declarations and usage.

Values only. A provider's own members that we do not name travel in ``extra``, where an absent member, an explicit
``None`` and a value are three different things.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ..values import UNSET, UnsetType, field, frozen

__all__ = [
    "NO_EXTRA",
    "ZERO_USAGE",
    "AssistantMessage",
    "AssistantPart",
    "CallPart",
    "Content",
    "CustomMessage",
    "ErrorKind",
    "ImagePart",
    "Message",
    "ModelError",
    "Part",
    "StopReason",
    "SystemMessage",
    "TextPart",
    "ThinkingPart",
    "ToolDeclaration",
    "ToolResultMessage",
    "Usage",
    "UserMessage",
    "calls_of",
    "parts_of",
    "text_of",
]

NO_EXTRA: Mapping[str, Any] = {}


@frozen
class TextPart:
    """Text. ``signature`` is opaque and goes back to the model that gave it (``None``: absent, ``""``: empty)."""

    text: str
    signature: str | None = None
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class ThinkingPart:
    """Reasoning shown or hidden by the provider. ``redacted`` reasoning has its payload in ``signature``."""

    text: str
    signature: str | None = None
    redacted: bool = False
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class ImagePart:
    """An image: base64 ``data`` (or a ``url`` that the provider can fetch) and its MIME type."""

    data: str = ""
    mime: str = "image/png"
    url: str | None = None
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class CallPart:
    """A tool call as the model wrote it. ``arguments`` is the raw text, possibly cut off and possibly not JSON.

    ``arguments_error`` says why the port could not read them; such a call never runs (decisions 12 and 45).
    """

    id: str
    name: str
    arguments: str = ""
    signature: str | None = None
    extra: Mapping[str, Any] = NO_EXTRA
    arguments_error: str | None = None


Part = TextPart | ThinkingPart | ImagePart | CallPart
AssistantPart = TextPart | ThinkingPart | CallPart
Content = str | tuple[TextPart | ImagePart, ...] | None


@frozen
class ToolDeclaration:
    """A tool as a model sees it: ``parameters`` is a JSON Schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(factory=lambda: {"type": "object", "properties": {}})
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class Usage:
    """Tokens in disjoint parts, whose sum is the total; ``reasoning`` is a part of ``output`` (decision 26)."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """Input, cache reads, cache writes and output together."""
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        """What is more here than in ``other``, which must not be larger in any part."""
        return Usage(
            self.input - other.input,
            self.cache_read - other.cache_read,
            self.cache_write - other.cache_write,
            self.output - other.output,
            self.reasoning - other.reasoning,
        )


ZERO_USAGE = Usage()


@frozen
class Spent:
    """What one model used for one purpose; ``provider`` and ``model`` as its outputs say (empty: it never said)."""

    provider: str = ""
    model: str = ""
    purpose: str = "main"
    usage: Usage = ZERO_USAGE

    @property
    def key(self) -> tuple[str, str, str]:
        """Whose it is and what for."""
        return self.provider, self.model, self.purpose

    @property
    def name(self) -> str:
        """Whose it is, for people: ``provider/model``, or what of it is known."""
        return "/".join(filter(None, (self.provider, self.model)))


class StopReason(StrEnum):
    """Why an output ended; ``PENDING``: not yet. A provider's own word is kept beside it as ``raw_stop``."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_USE = "tool_use"
    REFUSAL = "refusal"
    ERROR = "error"
    ABORTED = "aborted"
    PENDING = "pending"


class ErrorKind(StrEnum):
    """What kind of failure a call to a service was, wherever it was made (decision 24)."""

    INVALID_CONFIG = "invalid_config"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    OVERFLOW = "overflow"
    INVALID_REQUEST = "invalid_request"
    TIMEOUT = "timeout"
    NETWORK = "network"
    TLS = "tls"
    PROTOCOL = "protocol"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"
    ABORTED = "aborted"


@frozen
class ModelError:
    """A failed model call: a text for people (without secrets) and what a program needs to react.

    ``status`` is the HTTP status (0: no response), ``code`` the provider's own code, ``retry_after_ms`` the delay the
    server asked for, in milliseconds.
    """

    kind: ErrorKind
    message: str
    status: int = 0
    code: str | None = None
    request_id: str | None = None
    retry_after_ms: int | None = None


@frozen
class SystemMessage:
    """An instruction, or in mid-conversation a change of sections and tools (``None`` as a section removes it)."""

    content: Content = None
    sections: Mapping[str, str | None] | None = None
    tools_added: tuple[ToolDeclaration, ...] | None = None
    tools_removed: tuple[str, ...] | None = None
    timestamp: int | None = None
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class UserMessage:
    """Something said to the model. ``timestamp`` is in milliseconds since the epoch, as everywhere."""

    content: Content = ""
    timestamp: int | None = None
    extra: Mapping[str, Any] = NO_EXTRA


@frozen
class AssistantMessage:
    """One output of a model: parts in the order the model wrote them, and how it ended.

    ``api``, ``provider`` and ``model`` say who wrote it; only the same model gets signatures back (decision 25).
    ``thinking_level`` is the level it was asked for with, where an agent asked (``off``: none). ``besides`` is what
    other models used for this output before they were given up; ``usage`` leaves it out.
    """

    parts: tuple[AssistantPart, ...] = ()
    api: str = ""
    provider: str = ""
    model: str = ""
    stop: StopReason = StopReason.STOP
    raw_stop: str | None = None
    usage: Usage = ZERO_USAGE
    response_id: str | None = None
    error: ModelError | None = None
    timestamp: int | None = None
    extra: Mapping[str, Any] = NO_EXTRA
    thinking_level: str | None = None
    besides: tuple[Spent, ...] = ()

    @property
    def spent(self) -> tuple[Spent, ...]:
        """Everything that was used for it, by model."""
        return (Spent(self.provider, self.model, usage=self.usage), *self.besides)


@frozen
class ToolResultMessage:
    """The result of one call, for the model; ``details`` and ``structured`` are for hosts (three states each).

    So is ``usage``, what the tool itself used, in the tool's own shape.
    """

    call_id: str
    name: str
    content: Content = ""
    is_error: bool = False
    details: Any | UnsetType = UNSET
    structured: Any | UnsetType = UNSET
    timestamp: int | None = None
    extra: Mapping[str, Any] = NO_EXTRA
    usage: Any | UnsetType = UNSET


@frozen
class CustomMessage:
    """A host's own message: carried through untouched; only the host's conversion decides what a model sees of it."""

    role: str
    content: Any = UNSET
    timestamp: int | None = None
    extra: Mapping[str, Any] = NO_EXTRA


Message = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage | CustomMessage


def parts_of(content: Content) -> tuple[TextPart | ImagePart, ...]:
    """The parts of a message's content; a string is one text part, nothing is none."""
    if content is None:
        return ()
    return (TextPart(content),) if isinstance(content, str) else content


def text_of(message: AssistantMessage | UserMessage | SystemMessage | ToolResultMessage) -> str:
    """The text of a message: its text parts, joined by line breaks (an output's parts are joined as they are)."""
    if isinstance(message, AssistantMessage):
        return "".join(part.text for part in message.parts if isinstance(part, TextPart))
    return "\n".join(part.text for part in parts_of(message.content) if isinstance(part, TextPart))


def calls_of(message: AssistantMessage) -> tuple[CallPart, ...]:
    """The tool calls of an output, in the order the model made them."""
    return tuple(part for part in message.parts if isinstance(part, CallPart))
