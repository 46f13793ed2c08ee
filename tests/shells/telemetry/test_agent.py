"""An agent's runs as spans, under trio and asyncio: the tree, what is said, how it ends, and that nobody is hurt."""

import builtins
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode
from turnfold.adapters.models.scripted import ScriptedModel, fail, think
from turnfold.adapters.models.scripted import call as use
from turnfold.adapters.models.scripted import say as text
from turnfold.core.extensions import Price, Prices
from turnfold.effects.agent import AgentEnded, AgentStarted, MessageEnded, ToolEnded, ToolStarted, TurnEnded
from turnfold.effects.agent_vocabulary import Continued
from turnfold.effects.hook import AfterTool, BeforeTool, Block, ResultPatch
from turnfold.effects.model import ModelChoice, Started, StreamFinished
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import TextPart, Usage
from turnfold.shells.agent import Agent
from turnfold.shells.agent_hooks import AgentHooks
from turnfold.shells.agent_tools import Progress
from turnfold.shells.telemetry import AgentTelemetry, MissingExtra

from tests.shells.agent.world import Log, Model, Tool, both, call, never, noon, run, say
from tests.shells.agent.world import use as ask
from tests.shells.telemetry.world import Failing, Spans

pytestmark = both

CHOICE = ModelChoice("m1", "acme")
PRICES = Prices({"scripted": Price(1.0, 10.0)})


def watched(spans: Spans, model: Any, *tools: Any, **options: Any) -> tuple[Agent, AgentTelemetry]:
    about = {name: options.pop(name) for name in ("agent_name", "content", "prices") if name in options}
    telemetry = AgentTelemetry(provider=spans.provider, **about)
    agent = Agent(model, tools=tools, trace=telemetry.trace, trace_call=telemetry.trace_call, **options)
    return agent, telemetry


def errors(spans: Spans) -> dict[str, Any]:
    """The kind of error of each span that ended with one."""
    assert all(
        (span.status.status_code is StatusCode.ERROR) == ("error.type" in (span.attributes or {})) for span in spans.all
    )
    return {span.name: (span.attributes or {})["error.type"] for span in spans.all if not span.status.is_ok}


def said(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


# --- the tree


def test_a_run_is_a_span_with_its_model_and_tool_calls_under_it(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        model = ScriptedModel([use("clock", id="a"), text("noon")])
        agent, _ = watched(spans, model, Tool(noon), choice=CHOICE, agent_name="teller")
        await agent.prompt("what time is it?")
        assert spans.names == ["chat m1", "execute_tool clock", "chat m1", "invoke_agent teller"]
        assert [spans.parent(span) for span in spans.all] == [*["invoke_agent teller"] * 3, None]
        kinds = [SpanKind.CLIENT, SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL]
        assert [span.kind for span in spans.all] == kinds
        assert errors(spans) == {}

    run(backend, scene)


def test_calls_of_one_batch_are_side_by_side_whatever_order_they_end_in(backend: str) -> None:
    async def scene() -> None:
        spans, second_is_over = Spans(), anyio.Event()

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            if invocation.call_id == "a":
                await second_is_over.wait()
            return ToolResult("done")

        agent, _ = watched(spans, Model(ask(call("a"), call("b")), say("ok")), Tool(act))
        agent.subscribe(lambda event: second_is_over.set() if isinstance(event, ToolEnded) else None)
        await agent.prompt("go")
        tools = [span for span in spans.all if span.name == "execute_tool clock"]
        assert [said(span)["gen_ai.tool.call.id"] for span in tools] == ["b", "a"]
        assert [spans.parent(span) for span in tools] == ["invoke_agent"] * 2
        assert tools[1].start_time < tools[0].end_time

    run(backend, scene)


def test_a_run_is_under_the_span_that_was_current_where_it_was_asked_for(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        tracer = trace.get_tracer("host", tracer_provider=spans.provider)
        agent, _ = watched(spans, Model(say("1"), say("2")))

        async def one(name: str) -> None:
            with tracer.start_as_current_span(name):
                async with agent.stream("hi") as events:
                    async for _ in events:
                        pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "request")
        with tracer.start_as_current_span("later request"):
            await agent.prompt("hi")
        runs = [span for span in spans.all if span.name == "invoke_agent"]
        assert [spans.parent(span) for span in runs] == ["request", "later request"]
        assert not trace.get_current_span().get_span_context().is_valid

    run(backend, scene)


def test_a_tool_may_open_spans_under_its_own_call(backend: str) -> None:
    """Two calls run together and each runs another agent: nothing leaks from one task to the other."""

    async def scene() -> None:
        spans = Spans()

        async def delegate(invocation: Invocation, progress: Progress) -> ToolResult:
            name = invocation.call_id
            inner, _ = watched(spans, Model(say("done")), agent_name=name)
            with telemetry.span(f"delegate {name}", within=invocation):
                await inner.prompt("go")
            return ToolResult("done")

        agent, telemetry = watched(spans, Model(ask(call("a"), call("b"))), Tool(delegate), agent_name="outer")
        await agent.prompt("go")
        ids = {span.context.span_id: said(span).get("gen_ai.tool.call.id") for span in spans.all}
        for name in "ab":
            assert spans.parent(spans.one(f"invoke_agent {name}")) == f"delegate {name}"
            parent = spans.one(f"delegate {name}").parent
            assert parent is not None
            assert ids[parent.span_id] == name

    run(backend, scene)


def test_a_call_that_a_tool_asks_for_is_under_the_run_or_where_the_tool_says(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()

        async def outer(invocation: Invocation, progress: Progress) -> ToolResult:
            await agent.run_tool_call(call("free"))
            with telemetry.span("detour", within=invocation):
                await agent.run_tool_call(call("held"))
            return ToolResult("done")

        async def clock(invocation: Invocation, progress: Progress) -> ToolResult:
            with telemetry.span(f"look {invocation.call_id}", within=invocation):
                return ToolResult("noon")

        model = Model(ask(call("a", "outer")), say("ok"))
        agent, telemetry = watched(spans, model, Tool(outer, "outer"), Tool(clock))
        await agent.prompt("go")
        calls = {said(span).get("gen_ai.tool.call.id"): span for span in spans.all}
        assert spans.parent(calls["free"]) == spans.parent(calls["a"]) == "invoke_agent"
        assert spans.parent(calls["held"]) == "detour"
        assert spans.parent(spans.one("detour")) == "execute_tool outer"
        for name in ("free", "held"):
            parent = spans.one(f"look {name}").parent
            assert parent is not None
            assert parent.span_id == calls[name].context.span_id
        assert errors(spans) == {}

    run(backend, scene)


def test_a_call_that_a_program_asks_for_is_a_span_where_it_was_asked_for(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        tracer = trace.get_tracer("host", tracer_provider=spans.provider)
        agent, telemetry = watched(spans, Model(), Tool(noon), content=True)
        with tracer.start_as_current_span("request"):
            await agent.run_tool_call(call("x"))
            await agent.prompt("hi")
            await agent.run_tool_call(call("y", "nope"))
        await agent.run_tool_call(call("z"))
        calls = [span for span in spans.all if span.name.startswith("execute_tool")]
        assert [spans.parent(span) for span in calls] == ["request", "request", None]
        assert [said(span)["gen_ai.tool.call.result"] for span in calls] == ["noon", "Tool nope not found", "noon"]
        assert errors(spans) == {"execute_tool nope": "tool_error"}
        ended = len(spans.all)
        telemetry.close()
        assert len(spans.all) == ended

    run(backend, scene)


def test_a_call_of_a_program_in_an_aborted_run_says_so(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()

        async def outer(invocation: Invocation, progress: Progress) -> ToolResult:
            agent.abort()
            return (await agent.run_tool_call(call("inner"))).result

        agent, _ = watched(spans, Model(ask(call("a", "outer"))), Tool(outer, "outer"), Tool(noon), grace_s=20)
        await agent.prompt("go")
        assert errors(spans)["execute_tool clock"] == "aborted"
        assert [event.name for event in spans.one("invoke_agent").events] == ["turnfold.abort"]

    run(backend, scene)


def test_a_call_of_a_program_that_was_torn_down_is_ended_in_the_end(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        agent, telemetry = watched(spans, Model(), Tool(never))
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(agent.run_tool_call, call("x"))
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
        assert spans.all == []
        telemetry.close()
        assert errors(spans) == {"execute_tool clock": "cut_off"}

    run(backend, scene)


# --- what is said


def test_a_model_call_tells_tokens_cost_reason_and_ids(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        usage = Usage(input=100, cache_read=20, cache_write=5, output=30, reasoning=10)
        model = ScriptedModel([text("hi", usage=usage, raw_stop="end_turn")])
        agent, _ = watched(
            spans, model, choice=CHOICE, prices=PRICES, options={"temperature": 0.5, "api_key": "secret", "seed": True}
        )
        await agent.prompt("hi")
        found = said(spans.one("chat m1"))
        assert found.pop("gen_ai.response.time_to_first_chunk") >= 0
        assert found == {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "scripted",
            "gen_ai.request.model": "scripted",
            "gen_ai.request.stream": True,
            "gen_ai.request.temperature": 0.5,
            "gen_ai.response.finish_reasons": ("end_turn",),
            "gen_ai.response.id": "response-1",
            "gen_ai.usage.input_tokens": 125,
            "gen_ai.usage.output_tokens": 30,
            "gen_ai.usage.cache_read.input_tokens": 20,
            "gen_ai.usage.cache_creation.input_tokens": 5,
            "gen_ai.usage.reasoning.output_tokens": 10,
            "turnfold.usage.cost": pytest.approx(0.000425),
        }

    run(backend, scene)


def test_a_run_tells_the_sum_of_its_model_calls(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        replies = [use("clock") + text("", usage=Usage(input=1, output=2)), text("x", usage=Usage(input=10, output=20))]
        agent, _ = watched(spans, ScriptedModel(replies), Tool(noon), choice=CHOICE, prices=PRICES, agent_name="teller")
        await agent.prompt("hi")
        assert said(spans.one("invoke_agent teller")) == {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "teller",
            "gen_ai.provider.name": "acme",
            "gen_ai.request.model": "m1",
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.usage.input_tokens": 11,
            "gen_ai.usage.output_tokens": 22,
            "turnfold.usage.cost": pytest.approx(0.000231),
        }

    run(backend, scene)


def test_a_model_without_a_price_is_said_to_be_unpriced(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        agent, _ = watched(spans, ScriptedModel([text("hi")]), prices=Prices({"other": Price(1.0, 1.0)}))
        await agent.prompt("hi")
        for span in spans.all:
            assert said(span)["turnfold.usage.unpriced"] is True
            assert "turnfold.usage.cost" not in said(span)

    run(backend, scene)


def test_the_model_that_answered_is_told_by_its_own_word(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        agent, _ = watched(spans, Model([Started("api", "acme", "m1", "r1", "m1-2026"), StreamFinished()]))
        await agent.prompt("hi")
        assert said(spans.one("chat"))["gen_ai.response.model"] == "m1-2026"
        assert said(spans.one("chat"))["gen_ai.response.id"] == "r1"

    run(backend, scene)


def test_content_is_there_only_when_it_is_asked_for(backend: str) -> None:
    async def scene(content: bool) -> Spans:
        spans = Spans()

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            raise RuntimeError("private failure")

        model = ScriptedModel([think("private") + use("clock", {"zone": "private"}, id="a"), text("private answer")])
        agent, _ = watched(spans, model, Tool(act), content=content, system_prompt="private rules")
        await agent.prompt("private question")
        return spans

    def everything(spans: Spans) -> str:
        return "".join(span.to_json() for span in spans.all)

    assert "private" not in everything(run(backend, lambda: scene(False)))
    spans = run(backend, lambda: scene(True))
    last = said(spans.all[2])
    assert json.loads(last["gen_ai.system_instructions"]) == [{"type": "text", "content": "private rules"}]
    assert [message["role"] for message in json.loads(last["gen_ai.input.messages"])] == ["user", "assistant", "tool"]
    assert json.loads(last["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "private answer"}], "finish_reason": "stop"}
    ]
    tool = said(spans.one("execute_tool clock"))
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"zone": "private"}
    assert tool["gen_ai.tool.call.result"] == "private failure"
    assert spans.one("execute_tool clock").status.description == "private failure"
    asked = json.loads(said(spans.one("invoke_agent"))["gen_ai.input.messages"])
    assert asked[0]["parts"] == [{"type": "text", "content": "private question"}]


# --- how it ends


def test_a_failed_model_call_fails_its_span_and_the_runs(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        agent, _ = watched(spans, ScriptedModel([fail("overloaded")]))
        await agent.prompt("hi")
        assert errors(spans) == {"chat": "unavailable", "invoke_agent": "unavailable"}
        assert {span.status.description for span in spans.all} == {"overloaded"}

    run(backend, scene)


def test_a_port_that_raises_fails_its_span_and_the_runs(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        agent, _ = watched(spans, Model(RuntimeError("broken port")))
        await agent.prompt("hi")
        assert errors(spans) == {"chat": "model_broke", "invoke_agent": "run_failed"}

    run(backend, scene)


def test_credentials_that_cannot_be_had_fail_the_model_call(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()

        def credentials(provider: str) -> str:
            raise LookupError("no key")

        agent, _ = watched(spans, Model(), choice=CHOICE, hooks=AgentHooks(credentials=credentials))
        await agent.prompt("hi")
        assert errors(spans) == {"chat m1": "credentials_failed", "invoke_agent": "run_failed"}

    run(backend, scene)


@pytest.mark.parametrize("where", ["model", "tool"])
def test_an_abort_ends_every_span(backend: str, where: str) -> None:
    async def scene() -> None:
        spans = Spans()
        model = Model([*say("half")[:3], None]) if where == "model" else Model(ask(call("a")))
        agent, _ = watched(spans, model, Tool(never), grace_s=0.01)

        def abort(event: Any) -> None:
            if isinstance(event, ToolStarted) or (where == "model" and "half" in str(event)):
                agent.abort()

        agent.subscribe(abort)
        await agent.prompt("hi")
        found = errors(spans)
        tool = {"execute_tool clock": "aborted"} if where == "tool" else {}
        assert found == {"invoke_agent": "aborted", "chat": "aborted", **tool}
        assert [event.name for event in spans.one("invoke_agent").events] == ["turnfold.abort"]

    run(backend, scene)


def test_a_tool_that_is_cut_off_says_so(backend: str) -> None:
    async def scene() -> None:
        spans, running = Spans(), anyio.Event()

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            running.set()
            return await never(invocation, progress)

        agent, _ = watched(spans, Model(ask(call("a"))), Tool(act), grace_s=0.01)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "hi")
            await running.wait()
            agent.abort()
        assert errors(spans)["execute_tool clock"] == "cut_off"

    run(backend, scene)


def refuse(order: BeforeTool) -> Block:
    return Block("not today")


def stumble(order: BeforeTool) -> None:
    raise RuntimeError("hook")


@pytest.mark.parametrize(
    ("name", "hook", "kind"),
    [
        ("clock", refuse, "blocked"),
        ("clock", stumble, "hook_failed"),
        ("nobody", None, "tool_error"),
        ("clock", None, "tool_failed"),
    ],
)
def test_a_call_that_fails_says_how_and_the_run_goes_well(
    backend: str, name: str, hook: Callable[[BeforeTool], Any], kind: str
) -> None:
    async def scene() -> None:
        spans = Spans()

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            raise RuntimeError("broken")

        agent, _ = watched(spans, Model(ask(call("a", name)), say("ok")), Tool(act), hooks=AgentHooks(before_tool=hook))
        await agent.prompt("hi")
        assert errors(spans) == {f"execute_tool {name}": kind}

    run(backend, scene)


def test_a_failed_call_that_a_hook_mends_went_well(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            raise RuntimeError("broken")

        def mend(order: AfterTool) -> ResultPatch:
            return ResultPatch(content=(TextPart("fine"),), is_error=False)

        agent, _ = watched(spans, Model(ask(call("a")), say("ok")), Tool(act), hooks=AgentHooks(after_tool=mend))
        await agent.prompt("hi")
        assert errors(spans) == {}

    run(backend, scene)


@pytest.mark.parametrize("kind", [AgentStarted, MessageEnded, ToolStarted, ToolEnded, TurnEnded, AgentEnded])
def test_a_listener_that_raises_leaves_no_span_open(backend: str, kind: type) -> None:
    async def scene() -> None:
        spans = Spans()
        agent, telemetry = watched(spans, Model(ask(call("a"), call("b")), say("ok")), Tool(noon))

        def listen(event: Any) -> None:
            if isinstance(event, kind):
                raise RuntimeError("a listener")

        agent.subscribe(listen)
        try:
            await agent.prompt("hi")
        except Exception:
            assert kind is AgentEnded
        assert spans.names[-1] == "invoke_agent"
        assert ("invoke_agent" in errors(spans)) == (kind is not AgentEnded)
        ended = len(spans.all)
        telemetry.close()
        assert len(spans.all) == ended

    run(backend, scene)


def test_a_run_that_was_torn_down_is_ended_with_the_next(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()
        agent, telemetry = watched(spans, Model(say("one"), say("two")))
        telemetry.trace(Continued(0), ())
        await agent.prompt("hi")
        assert spans.names == ["invoke_agent", "chat", "invoke_agent"]
        assert said(spans.all[0])["error.type"] == "cut_off"
        telemetry.trace(Continued(0), ())
        telemetry.close()
        assert len(spans.all) == 4

    run(backend, scene)


# --- nobody is hurt


class Broken(SpanProcessor):
    """What an SDK does not catch: a processor that raises."""

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        raise RuntimeError("on start")

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("on end")


@pytest.mark.parametrize("how", ["tracer", "processor", "no SDK"])
def test_a_telemetry_that_fails_changes_nothing_about_a_run(backend: str, how: str) -> None:
    async def scene() -> None:
        spans, plain, log = Spans(), Log(), Log()
        spans.provider.add_span_processor(Broken())
        provider: Any = {"tracer": Failing(), "processor": spans.provider, "no SDK": trace.NoOpTracerProvider()}[how]
        telemetry = AgentTelemetry(provider=provider)

        def agent(heard: Log, **options: Any) -> Agent:
            made = Agent(Model(ask(call("a"), call("b")), say("ok")), tools=[Tool(noon)], now=lambda: 0, **options)
            made.subscribe(heard)
            return made

        await agent(plain).prompt("hi")
        await agent(log, trace=telemetry.trace).prompt("hi")
        assert log.events == plain.events

    run(backend, scene)


def test_a_mapping_that_fails_changes_nothing_about_a_run(backend: str) -> None:
    async def scene() -> None:
        spans = Spans()

        class Unpriced(Prices):
            def cost(self, *arguments: Any) -> float:
                raise RuntimeError("prices")

        agent, _ = watched(spans, ScriptedModel([text("hi")]), prices=Unpriced())
        added = await agent.prompt("hi")
        assert len(added) == 2
        assert spans.names == ["chat", "invoke_agent"]
        assert errors(spans) == {"chat": "cut_off", "invoke_agent": "cut_off"}

    run(backend, scene)


def test_without_the_api_the_error_names_the_extra(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"turnfold\[telemetry\]"):
        AgentTelemetry()
