"""Spans that cannot hurt anybody: whatever a tracer, an exporter or a payload does, the work goes on as if unobserved.

Parents are explicit. A span that could not be recorded has no recorded children, and one that is over takes nothing
more: what comes late is not even read.
"""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["Attributes", "MissingExtra", "RecordedSpan", "SpanRecorder", "SpanScope"]

T = TypeVar("T")
Value = str | bool | int | float | Sequence[str]
Payload = Mapping[str, Value | None]
Attributes = Payload | Callable[[], Payload]
"""Attributes, or a function that reads them, called at most once and only while the span is recorded."""

OK = "ok"
NOT_INSTALLED = "telemetry needs the OpenTelemetry API, which is not installed: pip install 'turnfold[telemetry]'"


class MissingExtra(ImportError):
    """What an optional part of turnfold needs is not installed; the text names the extra."""


class RecordedSpan:
    """One span. Nothing here raises, and nothing has any effect once the span is over, or if it was never recorded."""

    def __init__(self, recorder: "SpanRecorder", span: "Span | None") -> None:
        self._recorder = recorder
        self._span = span
        self._status: tuple[str, str] | None = None

    @property
    def recorded(self) -> bool:
        """Whether the span was recorded and is not over."""
        return self._span is not None

    def set_attributes(self, attributes: Attributes) -> None:
        """Add attributes, or replace those of the same name: all of them or, if they cannot be read, none.

        ``None`` leaves what is there.
        """
        span = self._span
        if span is not None:
            _quietly(lambda: span.set_attributes(_read(attributes)))

    def add_event(self, name: str, attributes: Attributes | None = None) -> None:
        """Say that something happened now; unless its attributes cannot be read."""
        span = self._span
        if span is not None:
            _quietly(lambda: span.add_event(name, _read(attributes)))

    def set_status(self, status: str | None, message: str = "") -> None:
        """Say how the span went: ``ok`` is well, any other word is an error, and ``None`` says nothing.

        The last word counts, whatever exception comes after it.
        """
        if self._span is not None and status is not None:
            self._status = (status, message)

    def end(self, error: str | None = None, message: str = "") -> None:
        """The span is over; ``error`` is the kind of error that ended it, unless a status was set."""
        span, self._span = self._span, None
        if span is None:
            return
        said = self._status or (None if error is None else (error, message))
        if said is not None:
            _quietly(lambda: self._recorder.mark(span, *said))
        _quietly(span.end)

    def context(self) -> "Context | None":
        """The OpenTelemetry context of this span's children; nothing if they would not be recorded."""
        span = self._span
        return None if span is None else self._recorder.context_of(span)


class SpanRecorder:
    """Starts spans with a tracer of ``provider`` (usually the one that is set up for the process).

    Raises ``MissingExtra`` if the OpenTelemetry API is not installed.
    """

    def __init__(self, provider: "TracerProvider | None" = None, *, schema: str | None = None) -> None:
        try:
            from opentelemetry import context, trace
        except ImportError as error:
            raise MissingExtra(NOT_INSTALLED) from error
        self._trace = trace
        self._context = context
        self._tracer: Tracer | None = _quietly(
            lambda: trace.get_tracer("turnfold", tracer_provider=provider, schema_url=schema)
        )

    def start(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        parent: RecordedSpan | None = None,
        client: bool = False,
    ) -> RecordedSpan:
        """Start a span, under ``parent`` or else under what is current in this task. It has to be ended."""
        return RecordedSpan(self, _quietly(lambda: self._start(name, attributes, parent, client)))

    def span(
        self, name: str, attributes: Attributes | None = None, *, parent: RecordedSpan | None = None
    ) -> "SpanScope":
        """``with recorder.span(...) as span``: a span as long as the block, and current in its task for as long.

        An exception passes through as it is, and is the span's error unless a status was set.
        """
        return SpanScope(self, name, attributes, parent)

    def _start(
        self, name: str, attributes: Attributes | None, parent: RecordedSpan | None, client: bool
    ) -> "Span | None":
        if self._tracer is None:
            return None
        context = self._context.get_current() if parent is None else parent.context()
        if context is None:
            return None
        kind = self._trace.SpanKind.CLIENT if client else self._trace.SpanKind.INTERNAL
        return self._tracer.start_span(name, context, kind, _read(attributes))

    def current(self) -> "Span | None":
        """The span that is current in this task, whoever made it current."""
        return _quietly(self._trace.get_current_span)

    def context_of(self, span: "Span") -> "Context | None":
        """What is current, with ``span`` in it."""
        return _quietly(lambda: self._trace.set_span_in_context(span))

    def mark(self, span: "Span", status: str, message: str) -> None:
        """Set the final status."""
        code = self._trace.StatusCode.OK if status == OK else self._trace.StatusCode.ERROR
        span.set_status(self._trace.Status(code, None if status == OK else message or status))

    def enter(self, span: RecordedSpan) -> Any:
        """Make a span current in this task; what undoes it."""
        context = span.context()
        return None if context is None else _quietly(lambda: self._context.attach(context))

    def leave(self, token: Any) -> None:
        """Undo ``enter``."""
        if token is not None:
            _quietly(lambda: self._context.detach(token))


class SpanScope:
    """A span as a block; see ``SpanRecorder.span``."""

    def __init__(
        self, recorder: SpanRecorder, name: str, attributes: Attributes | None, parent: RecordedSpan | None
    ) -> None:
        self._recorder = recorder
        self._begin = lambda: recorder.start(name, attributes, parent=parent)

    def __enter__(self) -> RecordedSpan:
        """Start the span."""
        self._span = self._begin()
        self._token = self._recorder.enter(self._span)
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it; an exception goes on."""
        self._recorder.leave(self._token)
        if error is None:
            self._span.end()
            return
        self._span.set_attributes({"error.type": type(error).__qualname__})
        self._span.end(type(error).__qualname__, _quietly(lambda: str(error)) or "")


def _read(attributes: Attributes | None) -> dict[str, Value]:
    """All attributes at once, so that what cannot be read leaves nothing behind."""
    payload = attributes() if callable(attributes) else attributes or {}
    return {name: value for name, value in payload.items() if value is not None}


def _quietly(act: Callable[[], T]) -> T | None:
    """Do something that is nobody's business but ours: if it fails, nothing was recorded."""
    try:
        return act()
    except Exception:
        return None
