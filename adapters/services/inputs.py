"""What callers hand in, checked before anybody is asked: each error is a ``ServiceError`` that says what was meant."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from .endpoint import Endpoint
from .errors import misconfigured, misused

__all__ = ["check_count", "check_endpoint", "check_service", "check_text", "texts_of"]


def check_service(endpoint: object, model: object) -> None:
    """An endpoint, and the name of a model."""
    check_endpoint(endpoint)
    check_text(model, "the name of the model")


def check_endpoint(endpoint: object) -> None:
    """An endpoint, made from an address."""
    if not isinstance(endpoint, Endpoint):
        raise misconfigured(f"an endpoint is made with endpoint_at or endpoint_for, not {_kind(endpoint)}")


def check_text(given: object, what: str) -> None:
    """A text with something in it."""
    if not isinstance(given, str):
        raise misused(f"{what} must be a text, not {_kind(given)}")
    if not given.strip():
        raise misused(f"{what} is empty")


def check_count(given: object, what: str, least: int = 0) -> None:
    """A whole number that is large enough."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise misused(f"{what} must be a whole number, not {_kind(given)}")
    if given < least:
        raise misused(f"{what} must be {least} or more, not {given}")


def texts_of(given: object, what: str) -> list[str]:
    """The texts, whatever they come in. One text is not taken for a list of its letters, nor for a list of one."""
    if isinstance(given, str):
        raise misused(f"{what} must be a list of texts: put the one text into a list")
    if isinstance(given, bytes | bytearray | Mapping) or not isinstance(given, Iterable):
        raise misused(f"{what} must be a list of texts, not {_kind(cast('object', given))}")
    texts = list(cast("Iterable[Any]", given))
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise misused(f"{what} must all be texts, but number {place} is {_kind(text)}")
    return texts


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
