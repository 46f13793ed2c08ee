"""Reading what a provider sent without trusting its types: a member of the wrong type counts as absent."""

from typing import Any, cast

__all__ = ["as_count", "as_list", "as_object", "as_text"]


def as_object(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """The number or the place of something, or none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
