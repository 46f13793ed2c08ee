"""One call: arguments in, a result out, on the loop or in a thread."""

import dataclasses
import datetime
import enum
import functools
import math
import threading
import types
from collections.abc import Awaitable, Mapping
from typing import Any, TypedDict

import attrs
import msgspec
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from turnfold.adapters.tools import ArgumentsError, FunctionTool, ToolContext, ToolResultError, tool
from turnfold.adapters.tools.function import MAX_THREADS, _limiter, result_of
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.values import UNSET


@attrs.frozen
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass(frozen=True)
class Line:
    ends: tuple[Point, Point]


class Options(TypedDict, total=False):
    deep: bool


class Unit(enum.StrEnum):
    METRE = "m"


class Tree(msgspec.Struct):
    value: int
    children: list["Tree"] = []


async def nowhere(update: ToolResult) -> None: ...


async def call(made: FunctionTool[..., Any], arguments: Mapping[str, Any]) -> ToolResult:
    return await made.run(Invocation("key", made.spec.name, arguments, "call", "model"), nowhere)


async def test_arguments_are_converted_to_the_types_of_the_signature() -> None:
    arguments = {
        "line": {"ends": [{"x": 1}, {"x": 2, "y": 3}]},
        "unit": "m",
        "options": {"deep": True},
        "tree": {"value": 1, "children": [{"value": 2}]},
        "day": "2024-02-29",
        "named": {"1": 2},
    }
    seen: list[Any] = []

    @tool
    async def watched(
        line: Line, unit: Unit, options: Options, tree: Tree, day: datetime.date, named: dict[int, float]
    ):
        seen.extend([line, unit, options, tree, day, named])

    await call(watched, types.MappingProxyType(arguments))
    assert seen == [
        Line((Point(1), Point(2, 3))),
        Unit.METRE,
        {"deep": True},
        Tree(1, [Tree(2)]),
        datetime.date(2024, 2, 29),
        {1: 2.0},
    ]
    assert isinstance(seen[1], Unit)


async def test_defaults_are_applied_and_never_shared() -> None:
    @tool
    def keep(item: str, kept: list[str] = ["a"]) -> list[str]:  # noqa: B006
        kept.append(item)
        return kept

    assert (await call(keep, {"item": "b"})).structured == ["a", "b"]
    assert (await call(keep, {"item": "c"})).structured == ["a", "c"]


async def test_absent_and_null_arrive_as_what_they_are() -> None:
    @tool
    async def edit(title: str | msgspec.UnsetType | None = UNSET) -> str:
        return "absent" if title is UNSET else repr(title)

    assert [(await call(edit, arguments)).content for arguments in ({}, {"title": None}, {"title": "x"})] == [
        "absent",
        "None",
        "'x'",
    ]


async def test_wrong_arguments_name_each_path() -> None:
    @tool
    async def trip(city: str, days: int, via: list[Point], m: dict[str, Point] | None = None) -> None:
        raise AssertionError("must not run")

    with pytest.raises(ArgumentsError) as caught:
        await call(trip, {"days": "3", "via": [{"x": 1}, {"x": "far"}], "m": {"a": {"x": None}}, "citty": "Rome"})
    assert caught.value.tool == "trip"
    assert caught.value.problems == (
        ("city", "is missing"),
        ("days", "expected int, got str"),
        ("via[1].x", "expected int, got str"),
        ("m[...].x", "expected int, got null"),
        ("citty", "is not an argument of this tool"),
    )
    assert str(caught.value) == (
        'Invalid arguments for tool "trip":\n'
        "  - city: is missing\n"
        "  - days: expected int, got str\n"
        "  - via[1].x: expected int, got str\n"
        "  - m[...].x: expected int, got null\n"
        "  - citty: is not an argument of this tool"
    )


async def test_only_what_is_wrong_is_named() -> None:
    @tool
    async def trip(days: int, named: dict[int, int], options: Options) -> None: ...

    with pytest.raises(ArgumentsError) as caught:
        await call(trip, {"days": "3", "named": {"1": 1}, "options": {}})
    assert caught.value.problems == (("days", "expected int, got str"),)


async def test_nothing_is_coerced() -> None:
    @tool
    async def add(a: int, b: float) -> None: ...

    await call(add, {"a": 1, "b": 2})
    for arguments in ({"a": "1", "b": 2}, {"a": 1.5, "b": 2}, {"a": 1, "b": "2"}, {"a": 1, "b": None}):
        with pytest.raises(ArgumentsError):
            await call(add, arguments)


async def test_a_constraint_is_checked_and_told() -> None:
    @attrs.frozen
    class Even:
        number: int

        def __attrs_post_init__(self) -> None:
            if self.number % 2:
                raise ValueError("must be even")

    @tool
    async def halve(value: Even) -> None: ...

    with pytest.raises(ArgumentsError, match="value: must be even"):
        await call(halve, {"value": {"number": 3}})


# --- results


@pytest.mark.parametrize(
    ("value", "content", "structured"),
    [
        ("text", "text", UNSET),
        ("", "", UNSET),
        (Unit.METRE, "m", UNSET),
        (None, "", UNSET),
        (True, "true", True),
        (0, "0", 0),
        (1.5, "1.5", 1.5),
        ([1, "é"], '[1,"é"]', [1, "é"]),
        ({}, "{}", {}),
        ({1: None}, '{"1":null}', {"1": None}),
        (Point(1, 2), '{"x":1,"y":2}', {"x": 1, "y": 2}),
        (Line((Point(1), Point(2))), '{"ends":[{"x":1,"y":0},{"x":2,"y":0}]}', None),
        (datetime.date(2024, 2, 29), '"2024-02-29"', "2024-02-29"),
        (2**70, str(2**70), 2**70),
        (["\ud83d\ude00", "\ud800!"], '["😀","\ufffd!"]', ["😀", "\ufffd!"]),
    ],
)
async def test_every_value_becomes_a_text_for_the_model(value: Any, content: str, structured: Any) -> None:
    @tool
    async def give() -> Any:
        return value

    result = await call(give, {})
    assert result.content == content
    assert type(result.content) is str
    assert isinstance(value, Line) or result.structured == structured


async def test_a_result_is_given_on_as_it_is() -> None:
    given = ToolResult("no", is_error=True, details={"a": None}, structured=None)

    @tool
    async def give() -> ToolResult:
        return given

    assert await call(give, {}) is given


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
).filter(lambda value: value is not None and not isinstance(value, str))


@given(JSON)
def test_the_text_of_a_structured_result_reads_back_as_the_value(value: Any) -> None:
    result = result_of(value)
    assert isinstance(result.content, str)
    assert msgspec.json.decode(result.content) == result.structured == value


@pytest.mark.parametrize("value", [object(), {(1, 2): 3}, [lambda: 1]])
async def test_a_value_that_json_cannot_hold_is_refused_with_its_type(value: Any) -> None:
    @tool
    async def give() -> Any:
        return value

    with pytest.raises(ToolResultError, match=f"returned a {type(value).__qualname__} that cannot be written as JSON"):
        await call(give, {})


def test_a_value_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ToolResultError):
        result_of(endless)


def test_a_number_that_json_cannot_hold_becomes_null_in_the_text() -> None:
    assert result_of([math.inf]).content == "[null]"


@pytest.mark.parametrize("in_thread", [False, True])
async def test_an_exception_propagates_as_it_is(in_thread: bool) -> None:
    problem = RuntimeError("out of order")

    async def fail() -> None:
        raise problem

    def fail_in_thread() -> None:
        raise problem

    with pytest.raises(RuntimeError) as caught:
        await call(tool(fail_in_thread if in_thread else fail), {})
    assert caught.value is problem


# --- where it runs, and what it knows


async def test_an_async_function_runs_on_the_loop_and_any_other_in_a_thread() -> None:
    @tool
    async def on_loop() -> bool:
        return threading.current_thread() is threading.main_thread()

    @tool
    def in_thread() -> bool:
        return threading.current_thread() is threading.main_thread()

    class Both:
        async def __call__(self) -> bool:
            return threading.current_thread() is threading.main_thread()

    hidden = functools.wraps(on_loop)(lambda: on_loop())
    partial = functools.partial(hidden)
    made = [on_loop, in_thread, tool(name="both")(Both()), tool(hidden), tool(on_loop), tool(name="partial")(partial)]
    assert [(await call(one, {})).structured for one in made] == [True, False, True, True, True, True]


@pytest.mark.parametrize("in_thread", [False, True])
async def test_the_context_tells_the_call_and_shows_progress(in_thread: bool) -> None:
    async def work(context: ToolContext, item: str) -> str:
        await context.progress(f"{item}: half")
        await context.progress(ToolResult("done", details=1))
        return f"{context.key} {context.call_id} {context.model_call_id}"

    def work_in_thread(item: str, context: ToolContext) -> str:
        assert isinstance(context.progress(f"{item}: half"), Awaitable)
        context.progress(ToolResult("done", details=1))
        return f"{context.key} {context.call_id} {context.model_call_id}"

    shown: list[ToolResult] = []

    async def show(update: ToolResult) -> None:
        await trio.lowlevel.checkpoint()
        shown.append(update)

    made: FunctionTool[..., Any] = tool(work_in_thread if in_thread else work)
    result = await made.run(Invocation("record", made.spec.name, {"item": "a"}, "call", "model"), show)
    assert result == ToolResult("record call model")
    assert shown == [ToolResult("a: half"), ToolResult("done", details=1)]


async def test_a_context_made_by_hand_shows_progress_to_nobody() -> None:
    await ToolContext("key").progress("unseen")


async def test_cancelling_leaves_a_deaf_thread_behind() -> None:
    started, release, heard = trio.Event(), threading.Event(), threading.Event()

    @tool
    def deaf(context: ToolContext) -> str:
        context.progress("started")
        release.wait()
        try:
            trio.from_thread.check_cancelled()
        except trio.Cancelled:
            heard.set()
            raise
        return "too late"

    async def show(_: ToolResult) -> None:
        started.set()

    results: list[ToolResult] = []

    async def run() -> None:
        results.append(await deaf.run(Invocation("key", "deaf", {}), show))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await started.wait()
        nursery.cancel_scope.cancel()
    assert not results
    assert not heard.is_set()
    release.set()
    assert await trio.to_thread.run_sync(heard.wait, 10)


async def test_threads_of_tools_do_not_use_up_those_of_others() -> None:
    borrowed: list[int] = []

    @tool
    def look() -> None:
        borrowed.append(
            trio.from_thread.run_sync(lambda: trio.to_thread.current_default_thread_limiter().borrowed_tokens)
        )

    await call(look, {})
    assert borrowed == [0]


async def test_no_more_threads_than_allowed_run_at_once() -> None:
    release = threading.Event()

    @tool
    def wait() -> None:
        release.wait(10)

    async with trio.open_nursery() as nursery:
        for _ in range(MAX_THREADS + 5):
            nursery.start_soon(call, wait, {})
        await trio.testing.wait_all_tasks_blocked()
        used = _limiter().statistics()
        release.set()
    assert (used.borrowed_tokens, used.tasks_waiting) == (MAX_THREADS, 5)
