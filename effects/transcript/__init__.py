"""What a model reads and writes, as values: read ``messages`` first, then ``encoding``.

``boundary`` makes any transcript fit for any provider on its way out; ``text`` keeps what enters storable;
``partial_json`` shows the arguments of a call while they arrive. ``failures`` and ``waiting`` tell what went wrong with
a call to a service, and how long it asks to wait.
"""

from .encoding import DecodeError, Sealed, decode_message, encode_message
from .messages import (
    NO_EXTRA,
    ZERO_USAGE,
    AssistantMessage,
    AssistantPart,
    CallPart,
    Content,
    CustomMessage,
    ErrorKind,
    ImagePart,
    Message,
    ModelError,
    Part,
    Spent,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    Usage,
    UserMessage,
    calls_of,
    parts_of,
    text_of,
)
from .text import clean_json, clean_text, without_nul

__all__ = [
    "NO_EXTRA",
    "ZERO_USAGE",
    "AssistantMessage",
    "AssistantPart",
    "CallPart",
    "Content",
    "CustomMessage",
    "DecodeError",
    "ErrorKind",
    "ImagePart",
    "Message",
    "ModelError",
    "Part",
    "Sealed",
    "Spent",
    "StopReason",
    "SystemMessage",
    "TextPart",
    "ThinkingPart",
    "ToolDeclaration",
    "ToolResultMessage",
    "Usage",
    "UserMessage",
    "calls_of",
    "clean_json",
    "clean_text",
    "decode_message",
    "encode_message",
    "parts_of",
    "text_of",
    "without_nul",
]
