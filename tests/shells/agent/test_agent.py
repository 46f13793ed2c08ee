"""The agent, under trio and under asyncio: what it does, tells, refuses, and leaves behind."""

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from turnfold.core.agent import AgentView, Limits, QueueMode
from turnfold.effects.agent import AgentEnded, AgentStarted, ToolEnded, ToolStarted, ToolUpdated
from turnfold.effects.hook import AfterTool, BeforeTool, Block, PrepareRequest, ResultPatch
from turnfold.effects.model import ModelChoice, ModelRequest, StreamFailed
from turnfold.effects.schema import SchemaError
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    ImagePart,
    ModelError,
    StopReason,
    SystemMessage,
    TextPart,
    ToolDeclaration,
    UserMessage,
)
from turnfold.effects.values import replace
from turnfold.shells.agent import Agent
from turnfold.shells.agent_drive import Signal
from turnfold.shells.agent_errors import AgentBusy, AgentFailed, CannotContinue, InsideListener
from turnfold.shells.agent_hooks import AgentHooks, Update
from turnfold.shells.agent_tools import Progress

from tests.core.agent.balance import unbalanced
from tests.core.agent.world import brief
from tests.shells.agent.world import Log, Model, Tool, both, call, never, noon, run, say, use

pytestmark = both


def briefly(agent: Agent) -> list[str]:
    return [brief(message) for message in agent.messages]


def test_a_prompt_runs_until_the_agent_is_done(backend: str) -> None:
    async def scene() -> None:
        model, log = Model(use(call("a")), say("it is noon")), Log()
        agent = Agent(model, system_prompt="be brief", tools=[Tool(noon)])
        agent.subscribe(log)
        added = await agent.prompt("what time is it?", [ImagePart("AAA=")])
        assert [brief(message) for message in added] == ["U:what time is it?", "A:a", "R:a:noon", "A:it is noon"]
        assert briefly(agent)[0] == "S:"
        assert unbalanced(log.events) is None
        assert not agent.state.is_running
        assert agent.signal is None

    run(backend, scene)


def test_a_conversation_goes_on_from_prompt_to_prompt(backend: str) -> None:
    async def scene() -> None:
        model = Model(say("one"), say("two"))
        agent = Agent(model)
        await agent.prompt("1")
        await agent.prompt([UserMessage("2a"), UserMessage("2b")])
        assert briefly(agent) == ["U:1", "A:one", "U:2a", "U:2b", "A:two"]
        assert [brief(message) for message in model.requests[1].messages] == ["U:1", "A:one", "U:2a", "U:2b"]

    run(backend, scene)


def test_listeners_are_awaited_in_the_order_in_which_they_subscribed(backend: str) -> None:
    async def scene() -> None:
        heard: list[str] = []

        async def slow(event: Any) -> None:
            await anyio.lowlevel.checkpoint()
            heard.append("slow")

        agent = Agent(Model())
        agent.subscribe(slow)
        agent.subscribe(lambda event: heard.append("fast"))
        agent.subscribe(slow)
        await agent.prompt("hi")
        assert heard == ["slow", "fast"] * (len(heard) // 2)

    run(backend, scene)


def test_each_event_goes_to_those_who_were_there_when_it_happened(backend: str) -> None:
    async def scene() -> None:
        late, log = Log(), Log()
        agent = Agent(Model())

        def first(event: Any) -> None:
            agent.subscribe(late)
            leave()

        agent.subscribe(first)
        leave = agent.subscribe(log)
        await agent.prompt("hi")
        assert log.events == [AgentStarted()]
        assert late.short[0] == "turn+"

    run(backend, scene)


def test_the_state_is_a_value_that_does_not_change(backend: str) -> None:
    async def scene() -> None:
        states: list[AgentView] = []
        agent = Agent(Model(say("hello")))
        agent.subscribe(lambda event: states.append(agent.state))
        await agent.prompt("hi")
        assert [len(state.messages) for state in states] == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
        assert brief(states[6].streaming_message) == "A:hello"
        assert all(state.is_running for state in states)

    run(backend, scene)


def test_steering_is_taken_after_the_turn_under_way(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model(use(call("a")), say("ok")), tools=[Tool(noon)])

        def steer(event: Any) -> None:
            if isinstance(event, ToolStarted):
                agent.steer("hurry")
                agent.follow_up("and then?")

        agent.subscribe(steer)
        await agent.prompt("hi")
        assert briefly(agent)[1:] == ["U:hi", "A:a", "R:a:noon", "U:hurry", "A:ok", "U:and then?", "A:done"]

    run(backend, scene)


@pytest.mark.parametrize(("mode", "runs"), [("one-at-a-time", 3), (QueueMode.ALL, 2)])
def test_a_queue_gives_one_or_all(backend: str, mode: Any, runs: int) -> None:
    async def scene() -> None:
        model = Model()
        agent = Agent(model, follow_up_mode=mode)
        agent.follow_up("1")
        agent.follow_up("2")
        assert agent.has_queued
        assert len(agent.peek()) == (1 if runs == 3 else 2)
        await agent.prompt("hi")
        assert len(model.requests) == runs
        assert not agent.has_queued

    run(backend, scene)


def test_queues_are_cleared_one_by_one_or_together(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model())
        agent.steer("s")
        agent.follow_up("f")
        assert brief(agent.peek()[0]) == "U:s"
        agent.clear_steering()
        assert brief(agent.peek()[0]) == "U:f"
        agent.clear_follow_ups()
        assert not agent.has_queued
        agent.steer("s")
        agent.steering_mode = "all"
        agent.clear_queues()
        assert not agent.has_queued
        assert agent.steering_mode is QueueMode.ALL

    run(backend, scene)


def test_going_on_takes_the_conversation_as_it_is(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model(), messages=[UserMessage("hi")])
        added = await agent.continue_()
        assert [brief(message) for message in added] == ["A:done"]
        with pytest.raises(CannotContinue, match="role: assistant"):
            await agent.continue_()
        agent.steer("more")
        agent.steer("and more")
        added = await agent.continue_()
        assert [brief(message) for message in added] == ["U:more", "A:done", "U:and more", "A:done"]

    run(backend, scene)


def test_there_is_nothing_to_go_on_from_in_an_empty_conversation(backend: str) -> None:
    async def scene() -> None:
        with pytest.raises(CannotContinue, match="No messages to continue from"):
            await Agent(Model(), messages=[SystemMessage("x")]).continue_()

    run(backend, scene)


def test_a_busy_agent_refuses_and_says_what_to_do(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model([None]), grace_s=0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "hi")
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(AgentBusy, match=r"Use steer\(\) or follow_up\(\) to queue messages"):
                await agent.prompt("again")
            with pytest.raises(AgentBusy, match="before continuing"):
                await agent.continue_()
            with pytest.raises(AgentBusy, match="before resetting"):
                agent.reset()
            agent.abort()
        await agent.wait_for_idle()
        assert briefly(agent) == ["U:hi", "A!"]

    run(backend, scene)


def test_a_listener_cannot_wait_for_its_own_run(backend: str) -> None:
    async def scene() -> None:
        refused: list[str] = []

        async def listener(event: Any) -> None:
            if isinstance(event, AgentEnded):
                for ask in (lambda: agent.prompt("x"), agent.continue_, agent.wait_for_idle):
                    try:
                        await ask()
                    except InsideListener as error:
                        refused.append(str(error))
                try:
                    agent.reset()
                except InsideListener as error:
                    refused.append(str(error))

        agent = Agent(Model())
        agent.subscribe(listener)
        await agent.prompt("hi")
        assert len(refused) == 4

    run(backend, scene)


def test_idle_means_settled(backend: str) -> None:
    """Decision 34."""

    async def scene() -> None:
        order: list[str] = []

        async def slow(event: Any) -> None:
            await anyio.wait_all_tasks_blocked()
            order.append(type(event).__name__)

        async def wait() -> None:
            await agent.wait_for_idle()
            order.append("idle")

        agent = Agent(Model())
        agent.subscribe(slow)
        await agent.wait_for_idle()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "hi")
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(wait)
        assert order[-2:] == ["AgentEnded", "idle"]

    run(backend, scene)


def test_a_reset_forgets_all_but_the_instructions(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model(), system_prompt="be brief")
        await agent.prompt("hi")
        agent.follow_up("x")
        agent.reset()
        assert briefly(agent) == ["S:"]
        assert agent.state.system_prompt == "be brief"
        assert not agent.has_queued

    run(backend, scene)


def test_changes_hold_from_the_next_run_on(backend: str) -> None:
    async def scene() -> None:
        model = Model(use(call("a")), say("1"), use(call("b", "map")), say("2"))
        agent = Agent(model, choice=ModelChoice("m1"), tools=[Tool(noon)])

        def change(event: Any) -> None:
            if isinstance(event, ToolStarted) and event.call_id == "a":
                agent.model = ModelChoice("m2")
                agent.thinking_level = "high"
                agent.tools = [Tool(noon, "map")]

        agent.subscribe(change)
        await agent.prompt("hi")
        await agent.prompt("hi")
        assert [request.model.id for request in model.requests] == ["m1", "m1", "m2", "m2"]
        assert [request.options.get("reasoning") for request in model.requests] == [None, None, "high", "high"]
        assert briefly(agent)[-5:] == ["S:", "U:hi", "A:b", "R:b:noon", "A:2"]
        agent.messages = [UserMessage("anew")]
        assert briefly(agent) == ["U:anew"]

    run(backend, scene)


def test_a_request_may_name_another_port(backend: str) -> None:
    async def scene() -> None:
        spare = Model(say("from the spare"))
        hooks = AgentHooks(prepare_request=lambda order: Update(model=ModelChoice("m2", port="spare")))
        agent = Agent(Model(), models={"spare": spare}, hooks=hooks)
        await agent.prompt("hi")
        assert briefly(agent)[-1] == "A:from the spare"
        assert agent.model.id == "unknown"

    run(backend, scene)


def test_a_port_that_does_not_exist_is_named_in_the_failure(backend: str) -> None:
    async def scene() -> None:
        hooks = AgentHooks(prepare_request=lambda order: Update(model=ModelChoice("m2", port="nope")))
        agent = Agent(Model(), hooks=hooks)
        await agent.prompt("hi")
        assert agent.state.error_message == "there is no model port called 'nope'; known: ''"

    run(backend, scene)


def test_hooks_may_be_async_and_see_frozen_values(backend: str) -> None:
    async def scene() -> None:
        seen: list[PrepareRequest] = []

        async def prepare(order: PrepareRequest) -> Update:
            await anyio.lowlevel.checkpoint()
            seen.append(order)
            return Update(messages=[], thinking_level="low")

        async def before(order: BeforeTool) -> Block | None:
            return Block("no") if order.call.id == "b" else None

        def after(order: AfterTool) -> ResultPatch:
            return ResultPatch(content=(TextPart("patched"),))

        model = Model(use(call("a"), call("b")), say("ok"))
        hooks = AgentHooks(prepare_request=prepare, before_tool=before, after_tool=after)
        agent = Agent(model, tools=[Tool(noon)], hooks=hooks)
        await agent.prompt("hi")
        assert briefly(agent)[3:5] == ["R:a:patched", "R!b"]
        assert [len(order.context.messages) for order in seen] == [2, 5]

    run(backend, scene)


def test_a_key_reaches_the_port_and_no_event(backend: str) -> None:
    """Decision 49."""

    async def scene() -> None:
        trace: list[str] = []
        model = Model()
        agent = Agent(
            model,
            choice=ModelChoice("m1", "acme"),
            hooks=AgentHooks(credentials=lambda provider: f"key-of-{provider}"),
            trace=lambda event, effects: trace.append(repr((event, effects))),
        )
        await agent.prompt("hi")
        assert model.requests[0].options["api_key"] == "key-of-acme"
        assert "key-of-acme" not in "".join(trace)
        assert "key-of-acme" not in repr(agent.state)

    run(backend, scene)


def test_a_key_that_cannot_be_had_fails_the_run(backend: str) -> None:
    async def scene() -> None:
        def credentials(provider: str) -> str:
            raise PermissionError("no key for you")

        log = Log()
        agent = Agent(Model(), hooks=AgentHooks(credentials=credentials))
        agent.subscribe(log)
        await agent.prompt("hi")
        assert agent.state.error_message == "no key for you"
        assert unbalanced(log.events) is None

    run(backend, scene)


def test_a_failing_hook_is_told_and_the_agent_can_go_on(backend: str) -> None:
    async def scene() -> None:
        log = Log()
        agent = Agent(Model(), hooks=AgentHooks(convert_to_model=lambda order: 1 / 0))
        agent.subscribe(log)
        added = await agent.prompt("hi")
        assert [brief(message) for message in added] == ["A!"]
        assert agent.state.error_message == "division by zero"
        assert unbalanced(log.events) is None
        agent.hooks = AgentHooks()
        await agent.prompt("again")
        assert agent.state.error_message is None

    run(backend, scene)


def test_a_decision_that_is_none_is_an_error(backend: str) -> None:
    """Decision 46 d."""

    async def scene() -> None:
        agent = Agent(Model(), hooks=AgentHooks(finish_turn=lambda order: "pause"))
        await agent.prompt("hi")
        assert "pause" in agent.state.error_message

    run(backend, scene)


def test_a_listener_that_raises_hears_no_more_of_the_run_but_the_others_do(backend: str) -> None:
    """Decision 46 g."""

    async def scene() -> None:
        heard: list[str] = []
        log = Log()

        def bad(event: Any) -> None:
            heard.append(type(event).__name__)
            raise RuntimeError("ui crashed")

        agent = Agent(Model())
        agent.subscribe(bad)
        agent.subscribe(log)
        await agent.prompt("hi")
        assert heard == ["AgentStarted"]
        assert unbalanced(log.events) is None
        assert agent.state.error_message == "ui crashed"
        await agent.prompt("again")
        assert heard == ["AgentStarted"] * 2

    run(backend, scene)


def test_a_listener_that_raises_at_the_very_end_is_raised(backend: str) -> None:
    async def scene() -> None:
        def late(event: Any) -> None:
            if isinstance(event, AgentEnded):
                raise RuntimeError("late crash")

        agent = Agent(Model())
        agent.subscribe(late)
        with pytest.raises(AgentFailed, match="late crash"):
            await agent.prompt("hi")
        assert briefly(agent) == ["U:hi", "A:done"]
        assert not agent.state.is_running

    run(backend, scene)


def test_a_stream_without_an_end_is_a_failed_answer(backend: str) -> None:
    """Decision 22."""

    async def scene() -> None:
        agent = Agent(Model(say("cut")[:-1]))
        await agent.prompt("hi")
        message = agent.messages[-1]
        assert isinstance(message, AssistantMessage)
        assert (message.stop, message.error.message) == (
            StopReason.ERROR,
            "The stream ended without a terminal event",
        )
        assert message.parts == (TextPart("cut"),)

    run(backend, scene)


def test_a_failed_answer_is_recorded_and_cleared_by_the_next_run(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model((StreamFailed(ModelError(ErrorKind.QUOTA, "limit")),)))
        await agent.prompt("hi")
        assert agent.state.error_message == "limit"
        await agent.prompt("hi")
        assert agent.state.error_message is None

    run(backend, scene)


# --- tools


def test_updates_wait_until_they_have_been_told_and_never_raise_into_the_tool(backend: str) -> None:
    async def scene() -> None:
        told: list[str] = []

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            await progress(ToolResult("half"))
            told.append("tool goes on")
            return ToolResult("ok")

        async def listener(event: Any) -> None:
            if isinstance(event, ToolUpdated):
                await anyio.wait_all_tasks_blocked()
                told.append("listener is done")
                raise RuntimeError("broken")

        agent = Agent(Model(use(call("a"))), tools=[Tool(act)])
        agent.subscribe(listener)
        await agent.prompt("hi")
        assert told == ["listener is done", "tool goes on"]
        assert agent.state.error_message == "broken"

    run(backend, scene)


def test_an_update_after_the_end_of_a_call_is_dropped(backend: str) -> None:
    async def scene() -> None:
        log = Log()
        async with anyio.create_task_group() as tasks:
            ended = anyio.Event()

            async def late(progress: Progress) -> None:
                await ended.wait()
                await progress(ToolResult("late"))

            async def act(invocation: Invocation, progress: Progress) -> ToolResult:
                tasks.start_soon(late, progress)
                return ToolResult("ok")

            agent = Agent(Model(use(call("a"))), tools=[Tool(act)])
            agent.subscribe(log)
            agent.subscribe(lambda event: ended.set() if isinstance(event, ToolEnded) else None)
            await agent.prompt("hi")
        assert not [event for event in log.events if isinstance(event, ToolUpdated)]

    run(backend, scene)


def test_calls_of_a_batch_start_in_call_order(backend: str) -> None:
    async def scene() -> None:
        for _ in range(5):
            tool = Tool(noon)
            agent = Agent(Model(use(*(call(f"c{n}") for n in range(8)))), tools=[tool])
            await agent.prompt("hi")
            assert [one.call_id for one in tool.invocations] == [f"c{n}" for n in range(8)]

    run(backend, scene)


def test_a_limit_on_calls_at_once_holds(backend: str) -> None:
    async def scene() -> None:
        running = most = 0

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await anyio.wait_all_tasks_blocked()
            running -= 1
            return ToolResult("ok")

        calls = [call(f"c{n}") for n in range(6)]
        agent = Agent(Model(use(*calls)), tools=[Tool(act)], limits=Limits(parallel=2))
        await agent.prompt("hi")
        assert most == 2

    run(backend, scene)


def test_a_call_that_takes_too_long_is_stopped(backend: str) -> None:
    """Decision 21."""

    async def scene() -> None:
        agent = Agent(Model(use(call("a"))), tools=[Tool(never)], limits=Limits(tool_ms=10), grace_s=0)
        await agent.prompt("hi")
        assert briefly(agent)[1:] == ["U:hi", "A:a", "R!a", "A:done"]

    run(backend, scene)


def test_a_silent_model_is_stopped(backend: str) -> None:
    async def scene() -> None:
        model = Model([None])
        agent = Agent(model, limits=Limits(model_ms=10), grace_s=0)
        await agent.prompt("hi")
        assert agent.state.error_message == "The model said nothing for 0.01 seconds."
        assert model.cut == 1

    run(backend, scene)


def test_one_call_is_carried_out_by_itself_under_the_same_rules(backend: str) -> None:
    async def scene() -> None:
        log = Log()
        hooks = AgentHooks(after_tool=lambda order: ResultPatch(content=(TextPart(f"{order.call.id} patched"),)))
        agent = Agent(Model(), tools=[Tool(noon)], hooks=hooks)
        agent.subscribe(log)
        outcome = await agent.run_tool_call(call("x"))
        assert outcome.result.content == (TextPart("x patched"),)
        assert not outcome.is_error
        assert (await agent.run_tool_call(call("x"), tools=[])).is_error
        assert log.events == []
        assert len(agent.messages) == 1

    run(backend, scene)


def test_a_tool_may_carry_out_another_call_while_the_agent_runs(backend: str) -> None:
    async def scene() -> None:
        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            return (await agent.run_tool_call(CallPart("inner", "clock", "{}"))).result

        agent = Agent(Model(use(call("a", "outer"))), tools=[Tool(act, "outer"), Tool(noon)])
        await agent.prompt("hi")
        assert briefly(agent)[3] == "R:a:noon"

    run(backend, scene)


def test_arguments_are_checked_and_coerced_by_the_tools_schema(backend: str) -> None:
    """Decision 20."""

    async def scene() -> None:
        tool = Tool(noon)
        schema = {"type": "object", "properties": {"hours": {"type": "integer"}}, "required": ["hours"]}
        tool.spec = replace(tool.spec, declaration=ToolDeclaration("clock", parameters=schema))
        calls = (CallPart("a", "clock", '{"hours": "3"}'), CallPart("b", "clock", "{}"))
        agent = Agent(Model(use(*calls)), tools=[tool])
        await agent.prompt("hi")
        assert [one.arguments for one in tool.invocations] == [{"hours": 3}]
        failed = agent.messages[4]
        assert "hours: must have required properties hours" in failed.content[0].text
        unchecked = Agent(Model(use(calls[1])), tools=[tool], checker=None)
        await unchecked.prompt("hi")
        assert tool.invocations[-1].arguments == {}

    run(backend, scene)


def test_a_schema_that_cannot_be_checked_is_refused_when_the_tool_is_given(backend: str) -> None:
    tool = Tool(noon)
    tool.spec = replace(
        tool.spec, declaration=ToolDeclaration("clock", parameters={"properties": {"x": {"pattern": "("}}})
    )
    with pytest.raises(SchemaError):
        Agent(Model(), tools=[tool])
    agent = Agent(Model(), tools=[Tool(noon)])
    with pytest.raises(SchemaError):
        agent.tools = [tool]
    assert len(agent.tools) == 1


# --- stopping


def test_an_abort_cuts_off_a_model_at_once_and_keeps_what_it_said(backend: str) -> None:
    async def scene() -> None:
        model = Model((*say("so far")[:-1], None))
        log = Log()
        agent = Agent(model, grace_s=3600)
        agent.subscribe(log)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "hi")
            await anyio.wait_all_tasks_blocked()
            agent.abort()
        message = agent.messages[-1]
        assert isinstance(message, AssistantMessage)
        assert (message.stop, message.parts) == (StopReason.ABORTED, (TextPart("so far"),))
        assert model.cut == 1
        assert unbalanced(log.events) is None

    run(backend, scene)


def test_an_abort_cuts_off_tools_and_hooks(backend: str) -> None:
    async def scene() -> None:
        async def hang(order: AfterTool) -> ResultPatch:
            await anyio.sleep_forever()
            raise AssertionError("not reached")

        for tools, hooks in (([Tool(never)], AgentHooks()), ([Tool(noon)], AgentHooks(after_tool=hang))):
            model = Model(use(call("a")))
            agent = Agent(model, tools=tools, hooks=hooks, grace_s=0)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(agent.prompt, "hi")
                await anyio.wait_all_tasks_blocked()
                agent.abort()
            assert briefly(agent)[1:] == ["U:hi", "A:a", "R!a", "A!"]
            assert len(model.requests) == 1

    run(backend, scene)


def test_a_port_that_knows_the_signal_ends_its_answers_itself(backend: str) -> None:
    async def scene() -> None:
        class Polite:
            async def stream_until(self, request: ModelRequest, signal: Signal) -> Any:
                await signal.wait()
                yield StreamFailed(ModelError(ErrorKind.ABORTED, "as you wish"))

        agent = Agent(Polite(), grace_s=5)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "hi")
            await anyio.wait_all_tasks_blocked()
            agent.abort()
            agent.abort()
        assert agent.state.error_message == "as you wish"

    run(backend, scene)


def test_an_abort_while_idle_does_nothing(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model())
        agent.abort()
        await agent.prompt("hi")
        assert briefly(agent) == ["U:hi", "A:done"]

    run(backend, scene)


def test_cancelling_the_caller_ends_the_run_by_its_rules_first(backend: str) -> None:
    async def scene() -> None:
        log = Log()
        agent = Agent(Model(use(call("a"))), tools=[Tool(never)], grace_s=0)
        agent.subscribe(log)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(agent.prompt, "hi")
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
        assert scope.cancelled_caught
        assert unbalanced(log.events) is None
        assert briefly(agent)[-2:] == ["R!a", "A!"]
        assert not agent.state.is_running

    run(backend, scene)


def test_cancelling_a_task_of_asyncio_ends_the_run_by_its_rules_too(backend: str) -> None:
    if backend != "asyncio":
        pytest.skip("trio has scopes only, which the test above cancels")

    async def scene() -> None:
        log = Log()
        agent = Agent(Model(use(call("a"))), tools=[Tool(never)], grace_s=0)
        agent.subscribe(log)
        task = asyncio.create_task(agent.prompt("hi"))
        await anyio.wait_all_tasks_blocked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert unbalanced(log.events) is None
        assert not agent.state.is_running

    run(backend, scene)


def test_leaving_the_agents_context_stops_what_runs_and_waits_for_it(backend: str) -> None:
    async def scene() -> None:
        log = Log()
        async with anyio.create_task_group() as tasks:
            async with Agent(Model([None]), grace_s=0) as agent:
                agent.subscribe(log)
                tasks.start_soon(agent.prompt, "hi")
                await anyio.wait_all_tasks_blocked()
            assert not agent.state.is_running
            assert log.short[-1] == "agent-"

    run(backend, scene)
