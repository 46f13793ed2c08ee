"""Spans in memory, and tracers that fail."""

from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, Tracer


class Spans:
    """A provider, and what was exported by it."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def all(self) -> list[ReadableSpan]:
        """The spans that are over, in the order in which they ended."""
        return list(self._exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.all]

    def one(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.all if span.name == name]
        return found

    def parent(self, span: ReadableSpan) -> str | None:
        """The name of a span's parent."""
        if span.parent is None:
            return None
        return next(other.name for other in self.all if other.context.span_id == span.parent.span_id)

    @property
    def tree(self) -> dict[str, str | None]:
        return {span.name: self.parent(span) for span in self.all}


class Failing(TracerProvider):
    """A provider whose tracer starts nothing."""

    def get_tracer(self, *arguments: Any, **options: Any) -> Tracer:
        return FailingTracer()


class FailingTracer(Tracer):
    def start_span(self, *arguments: Any, **options: Any) -> Span:
        raise RuntimeError("no spans today")

    def start_as_current_span(self, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError("no spans today")


class Unreadable(Mapping[str, Any]):
    """Attributes that fail when half of them have been read."""

    def __getitem__(self, name: str) -> Any:
        if name == "second":
            raise RuntimeError("cannot be read")
        return name

    def __iter__(self) -> Iterator[str]:
        return iter(("first", "second"))

    def __len__(self) -> int:
        return 2
