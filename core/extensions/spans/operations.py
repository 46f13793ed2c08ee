"""What can be done to a span, as data. Spans are named by a number that is not used twice."""

from collections.abc import Mapping, Sequence
from enum import Enum

from ....effects.values import field, frozen

__all__ = ["AddEvent", "Attributes", "EndSpan", "SpanKind", "SpanOperation", "StartSpan", "Value"]

Value = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Value]


class SpanKind(Enum):
    """Whether the span is about work of our own, or about asking somebody else."""

    INTERNAL = "internal"
    CLIENT = "client"


@frozen
class StartSpan:
    """A span begins, under ``parent`` (``None``: under whatever the caller is in)."""

    key: int
    name: str
    kind: SpanKind = SpanKind.INTERNAL
    parent: int | None = None
    attributes: Attributes = field(factory=dict[str, Value])


@frozen
class AddEvent:
    """Something happened in a span."""

    key: int
    name: str
    attributes: Attributes = field(factory=dict[str, Value])


@frozen
class EndSpan:
    """A span is over: well, unless ``error`` says what kind of error ended it; ``message`` is for people."""

    key: int
    attributes: Attributes = field(factory=dict[str, Value])
    error: str | None = None
    message: str = ""


SpanOperation = StartSpan | AddEvent | EndSpan
