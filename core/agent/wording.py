"""Small texts: time limits as people say them, and results that are nothing but a text for the model."""

from ...effects.tool import ToolResult
from ...effects.transcript import TextPart

__all__ = ["error_result", "seconds"]


def seconds(milliseconds: int) -> str:
    """A time limit as people say it."""
    return f"{milliseconds / 1000:g}"


def error_result(text: str, terminate: bool | None = None) -> ToolResult:
    """A result that tells the model why there is no other."""
    return ToolResult((TextPart(text),), details={}, terminate=terminate)
