"""The ten promises of a span, against an in-memory exporter: lifecycle, status, recording, parentage, passivity."""

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry.trace import StatusCode
from turnfold.shells.telemetry import RecordedSpan, SpanRecorder

from tests.shells.agent.world import both, run
from tests.shells.telemetry.world import Failing, Spans, Unreadable


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def recorder(spans: Spans) -> SpanRecorder:
    return SpanRecorder(spans.provider)


class Rejected(Exception):
    """What a block raises; its identity must be kept."""


@pytest.mark.parametrize("failing", [False, True])
def test_admits_once_synchronously_and_preserves_the_result(spans: Spans, failing: bool) -> None:
    recorder = SpanRecorder(Failing() if failing else spans.provider)
    admitted: list[bool] = []

    def work() -> object:
        with recorder.span("work") as span:
            admitted.append(span.recorded)
            return result

    result = object()
    assert work() is result
    assert admitted == [not failing]
    assert spans.names == ([] if failing else ["work"])


@both
@pytest.mark.parametrize("error", [Rejected("no"), Rejected(), KeyboardInterrupt()])
def test_preserves_synchronous_and_asynchronous_rejection_values(backend: str, error: BaseException) -> None:
    spans = Spans()
    recorder = SpanRecorder(spans.provider)

    def reject() -> None:
        with recorder.span("sync"):
            raise error

    async def scene() -> None:
        with recorder.span("async"):
            await anyio.lowlevel.checkpoint()
            raise error

    with pytest.raises(type(error)) as caught:
        reject()
    assert caught.value is error
    if isinstance(error, Exception):
        with pytest.raises(type(error)) as caught:
            run(backend, scene)
        assert caught.value is error
    for span in spans.all:
        assert span.status.status_code is StatusCode.ERROR
        assert span.attributes == {"error.type": type(error).__name__}
    assert spans.all[0].status.description == (str(error) or type(error).__name__)


def test_uses_last_explicit_status_without_automatic_overwrite(spans: Spans, recorder: SpanRecorder) -> None:
    def work(name: str, said: tuple[str, ...]) -> None:
        with recorder.span(name) as span:
            for status in said:
                span.set_status(status, "said")
            raise Rejected("raised")

    def fail(name: str, *said: str) -> None:
        with pytest.raises(Rejected):
            work(name, said)

    fail("well after all", "error", "ok")
    fail("badly after all", "ok", "error")
    fail("nothing said")
    with recorder.span("badly without exception") as span:
        span.set_status("error", "said")
    found = {span.name: (span.status.status_code, span.status.description) for span in spans.all}
    assert found == {
        "well after all": (StatusCode.OK, None),
        "badly after all": (StatusCode.ERROR, "said"),
        "nothing said": (StatusCode.ERROR, "raised"),
        "badly without exception": (StatusCode.ERROR, "said"),
    }


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("ok", StatusCode.OK),
        ("OK", StatusCode.ERROR),
        ("", StatusCode.ERROR),
        ("unknown", StatusCode.ERROR),
        (None, StatusCode.UNSET),
    ],
)
def test_normalizes_readable_status_names_and_preserves_explicit_precedence(
    spans: Spans, recorder: SpanRecorder, said: str | None, code: StatusCode
) -> None:
    with recorder.span("said") as span:
        span.set_status(said)
    assert spans.one("said").status.status_code is code
    with recorder.span("said before nothing") as span:
        span.set_status("ok")
        span.set_status(None)
    assert spans.one("said before nothing").status.status_code is StatusCode.OK


def test_merges_attributes_and_records_ordered_events(spans: Spans, recorder: SpanRecorder) -> None:
    with recorder.span("work", {"a": 1, "b": 1, "c": None}) as span:
        span.set_attributes({"b": 2, "d": ["x"]})
        span.set_attributes({"a": None})
        span.add_event("first", {"n": 1})
        span.add_event("second")
    found = spans.one("work")
    assert found.attributes == {"a": 1, "b": 2, "d": ("x",)}
    assert [(event.name, dict(event.attributes or {})) for event in found.events] == [
        ("first", {"n": 1}),
        ("second", {}),
    ]


def test_ignores_failed_attribute_calls_atomically(spans: Spans, recorder: SpanRecorder) -> None:
    with recorder.span("work", {"kept": 1}) as span:
        span.set_attributes(Unreadable())
        span.add_event("lost", Unreadable())
        span.set_attributes({"later": 2})
    found = spans.one("work")
    assert found.attributes == {"kept": 1, "later": 2}
    assert not found.events


def test_makes_calls_after_settlement_inert(spans: Spans, recorder: SpanRecorder) -> None:
    read: list[str] = []

    def reader() -> Mapping[str, Any]:
        read.append("read")
        return {"late": 1}

    span = recorder.start("work", {"early": 1})
    span.end()
    span.set_attributes(reader)
    span.add_event("late", reader)
    span.set_status("error")
    span.end("late")
    with recorder.span("late child", reader, parent=span) as child:
        assert not child.recorded
    assert read == []
    assert spans.names == ["work"]
    assert spans.one("work").attributes == {"early": 1}
    assert spans.one("work").status.status_code is StatusCode.UNSET


@both
def test_records_nested_and_concurrent_child_relationships(backend: str) -> None:
    spans = Spans()
    recorder = SpanRecorder(spans.provider)

    async def child(name: str, parent: RecordedSpan, others: anyio.Event, mine: anyio.Event) -> None:
        with recorder.span(name, parent=parent) as span, recorder.span(f"under {name}", parent=span):
            mine.set()
            await others.wait()

    async def scene() -> None:
        with recorder.span("root") as root:
            one, other = anyio.Event(), anyio.Event()
            outliving = recorder.start("outliving", parent=root)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(child, "one", root, other, one)
                tasks.start_soon(child, "other", root, one, other)
        outliving.end()

    run(backend, scene)
    assert spans.tree == {
        "root": None,
        "one": "root",
        "other": "root",
        "under one": "one",
        "under other": "other",
        "outliving": "root",
    }


def test_suppresses_unreadable_telemetry_payload_failures(spans: Spans, recorder: SpanRecorder) -> None:
    def reader() -> Mapping[str, Any]:
        raise RuntimeError("cannot be read")

    with recorder.span("unreadable", Unreadable()) as span, recorder.span("child", parent=span):
        assert not span.recorded
    with recorder.span("readable") as span:
        span.set_attributes(reader)
        span.add_event("lost", reader)
        assert span.recorded
    assert spans.names == ["readable"]
    assert not spans.one("readable").events


def test_ignores_failed_status_calls_atomically(spans: Spans, recorder: SpanRecorder) -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("cannot be read")

    with pytest.raises(Unprintable), recorder.span("unprintable"):
        raise Unprintable
    found = spans.one("unprintable")
    assert (found.status.status_code, found.status.description) == (StatusCode.ERROR, Unprintable.__qualname__)
