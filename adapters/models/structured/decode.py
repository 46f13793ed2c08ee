"""From the text of an answer to a value: strict about what it is, lenient about what stands around it."""

import json
import math
from typing import Any, NoReturn, TypeVar

import msgspec

from ....effects.transcript import clean_json

__all__ = ["UndecodedError", "decode_object"]

T = TypeVar("T")

_LONGEST = 500


class UndecodedError(ValueError):
    """A text that holds no such object; says what is wrong with it, to people and to the model."""


def decode_object(text: str, wanted: type[T]) -> T:
    """The value in a text: of the JSON object that its first ``{`` begins. What stands before and behind is ignored.

    Members that the type does not know are ignored. Whatever the type's own checks raise says that this is no such
    object. Raises ``UndecodedError``.
    """
    start = text.find("{")
    if start < 0:
        raise UndecodedError("the output holds no JSON object")
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as wrong:
        raise UndecodedError(f"the output is no JSON: {wrong.msg} at character {wrong.pos - start}") from wrong
    except (ValueError, RecursionError) as wrong:
        raise UndecodedError(f"the output is no JSON that can be read: {wrong}") from wrong
    try:
        return msgspec.convert(clean_json(value), wanted, str_keys=True)
    except Exception as wrong:  # the type's own code ran, and that may raise anything
        raise UndecodedError(f"the object is not as it should be: {_reason(wrong)}") from wrong


def _reason(wrong: Exception) -> str:
    """What an exception says, on one line; with its name where the words alone may say nothing, as a key does."""
    said = " ".join(str(wrong).split())
    if not isinstance(wrong, ValueError | TypeError | AssertionError) or not said:
        said = f"{type(wrong).__name__}: {said}".rstrip(": ")
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "…"


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is out of range")
    return number


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_DECODER: Any = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number)
