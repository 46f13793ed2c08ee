"""What an agent's state says when, and what a run leaves as it was: under trio and under asyncio."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from turnfold.effects.agent import (
    AgentEnded,
    AgentStarted,
    FinishAction,
    MessageEnded,
    MessageStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from turnfold.effects.hook import PrepareNextTurn, PrepareRequest
from turnfold.effects.model import ModelChoice, ModelRequest, StreamFailed
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import ErrorKind, ModelError, TextPart, UserMessage
from turnfold.shells.agent import Agent
from turnfold.shells.agent_drive import Signal
from turnfold.shells.agent_errors import AgentFailed
from turnfold.shells.agent_hooks import AgentHooks, Update
from turnfold.shells.agent_tools import Progress

from tests.core.agent.world import brief
from tests.shells.agent.world import Log, Model, Tool, both, call, noon, run, say, use

pytestmark = both


def briefly(agent: Agent) -> list[str]:
    return [brief(message) for message in agent.messages]


# --- when


def test_the_state_is_changed_before_listeners_hear_why(backend: str) -> None:
    async def scene() -> None:
        seen: list[Any] = []

        def look(event: Any) -> None:
            state = agent.state
            match event:
                case MessageStarted():
                    seen.append(state.streaming_message is event.message)
                case MessageEnded():
                    seen.append(state.messages[-1] is event.message and state.streaming_message is None)
                case ToolStarted():
                    seen.append(state.pending_calls == ("a",))
                case ToolEnded():
                    seen.append(state.pending_calls == ())
                case _:
                    pass

        agent = Agent(Model(use(call("a"))), tools=[Tool(noon)])
        agent.subscribe(look)
        await agent.prompt("hi")
        assert len(seen) == 10
        assert all(seen)

    run(backend, scene)


@pytest.mark.parametrize(("text", "kept"), [("quota", "quota"), ("", None)])
def test_the_text_of_a_failed_answer_is_there_once_its_turn_has_ended(
    backend: str, text: str, kept: str | None
) -> None:
    async def scene() -> None:
        seen: list[tuple[type, str | None]] = []
        agent = Agent(Model((StreamFailed(ModelError(ErrorKind.QUOTA, text)),)))
        agent.subscribe(lambda event: seen.append((type(event), agent.state.error_message)))
        await agent.prompt("hi")
        assert seen[-2:] == [(TurnEnded, kept), (AgentEnded, kept)]
        assert {error for _, error in seen[:-2]} == {None}

    run(backend, scene)


def test_an_agent_is_busy_until_the_last_listener_has_heard_of_the_end(backend: str) -> None:
    async def scene() -> None:
        seen: list[bool] = []

        def listen(event: Any) -> None:
            if isinstance(event, AgentEnded):
                seen.extend([agent.state.is_running, agent.signal is not None])
                agent.steer("later")

        agent = Agent(Model())
        agent.subscribe(listen)
        await agent.prompt("hi")
        assert seen == [True, True]
        assert not agent.state.is_running
        assert brief(agent.peek()[0]) == "U:later"

    run(backend, scene)


# --- what stays


def test_what_hooks_change_in_a_run_is_over_with_it(backend: str) -> None:
    async def scene() -> None:
        def request(order: PrepareRequest) -> Update | None:
            return Update(thinking_level="max") if order.model.id == "m2" else None

        def turn(order: PrepareNextTurn) -> Update:
            return Update(model=ModelChoice("m2"), thinking_level="high", tools=[Tool(noon, "map")])

        model, clock = Model(use(call("a")), say("1"), say("2")), Tool(noon)
        hooks = AgentHooks(prepare_request=request, prepare_next_turn=turn)
        agent = Agent(model, choice=ModelChoice("m1"), thinking_level="low", tools=[clock], hooks=hooks)
        await agent.prompt("hi")
        assert (agent.model, agent.thinking_level, agent.tools) == (ModelChoice("m1"), "low", (clock,))
        await agent.prompt("again")
        asked = [(request.model.id, request.options["reasoning"]) for request in model.requests]
        assert asked == [("m1", "low"), ("m2", "max"), ("m1", "low")]

    run(backend, scene)


@pytest.mark.parametrize("how", ["failed", "ended"])
def test_what_is_queued_outlives_a_run_that_ended_before_its_turn(backend: str, how: str) -> None:
    async def scene() -> None:
        actions = iter([FinishAction.END])
        failed = [StreamFailed(ModelError(ErrorKind.QUOTA, "limit"))]
        model = Model(failed) if how == "failed" else Model(say("1"))
        hooks = AgentHooks(finish_turn=lambda order: next(actions, None))
        agent = Agent(model, hooks=hooks)

        def queue(event: Any) -> None:
            if isinstance(event, MessageEnded) and len(model.requests) == 1 and not agent.has_queued:
                agent.steer("s")
                agent.follow_up("f")

        leave = agent.subscribe(queue)
        await agent.prompt("hi")
        leave()
        assert [brief(message) for message in agent.peek()] == ["U:s"]
        await agent.prompt("again")
        assert briefly(agent)[2:] == ["U:again", "U:s", "A:done", "U:f", "A:done"]

    run(backend, scene)


@pytest.mark.parametrize("where", [AgentStarted, MessageStarted, MessageEnded])
def test_a_listener_that_raises_keeps_back_whatever_was_to_follow_its_event(backend: str, where: type) -> None:
    """The rest of what left with the event is dropped: here, the poll that would have emptied the queue."""

    async def scene() -> None:
        def listen(event: Any) -> None:
            if isinstance(event, where):
                raise RuntimeError("ui crashed")

        model = Model()
        agent = Agent(model)
        agent.steer("wait for me")
        agent.subscribe(listen)
        await agent.prompt("hi")
        assert [brief(message) for message in agent.peek()] == ["U:wait for me"]
        assert model.requests == []

    run(backend, scene)


# --- grace


def test_a_tool_that_sees_the_abort_may_use_the_grace(backend: str) -> None:
    async def scene() -> None:
        started = anyio.Event()

        async def act(invocation: Invocation, progress: Progress) -> ToolResult:
            started.set()
            while not progress.aborted:
                await anyio.lowlevel.checkpoint()
            return ToolResult((TextPart("just in time"),))

        agent = Agent(Model(use(call("a"))), tools=[Tool(act)], grace_s=20)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "hi")
            await started.wait()
            agent.abort()
        assert briefly(agent)[1:] == ["U:hi", "A:a", "R:a:just in time", "A!"]

    run(backend, scene)


def test_leaving_the_agents_context_gives_what_runs_its_grace(backend: str) -> None:
    async def scene() -> None:
        class Polite:
            async def stream_until(self, request: ModelRequest, signal: Signal) -> Any:
                await signal.wait()
                for _ in range(10):
                    await anyio.lowlevel.checkpoint()
                yield StreamFailed(ModelError(ErrorKind.ABORTED, "as you wish"))

        log = Log()
        async with anyio.create_task_group() as tasks:
            async with Agent(Polite(), messages=[UserMessage("hi")], grace_s=20) as agent:
                agent.subscribe(log)
                tasks.start_soon(agent.continue_)
                await anyio.wait_all_tasks_blocked()
            assert agent.state.error_message == "as you wish"
            assert log.short[-1] == "agent-"

    run(backend, scene)


@pytest.mark.parametrize("how", ["cancel", "leave the agent", "leave the stream"])
def test_a_model_that_cannot_see_the_abort_gets_no_grace(backend: str, how: str) -> None:
    async def scene() -> None:
        model = Model((*say("so")[:-1], None))
        async with anyio.create_task_group() as tasks, Agent(model, grace_s=3600) as agent:
            if how == "leave the stream":
                async with agent.stream("hi"):
                    await anyio.wait_all_tasks_blocked()
            else:
                tasks.start_soon(agent.prompt, "hi")
                await anyio.wait_all_tasks_blocked()
            if how == "cancel":
                tasks.cancel_scope.cancel()
        assert briefly(agent) == ["U:hi", "A!so"]
        assert model.cut == 1

    run(backend, scene)


def test_a_key_that_is_fetched_has_its_grace(backend: str) -> None:
    """A hook that exchanges one key for another must not lose both."""

    async def scene() -> None:
        asked, fetched = anyio.Event(), False

        async def fetch(provider: str) -> str:
            nonlocal fetched
            asked.set()
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
            fetched = True
            return "key"

        model = Model()
        agent = Agent(model, choice=ModelChoice("m1"), hooks=AgentHooks(credentials=fetch), grace_s=20)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "hi")
            await asked.wait()
            agent.abort()
        assert (fetched, model.requests) == (True, [])
        assert briefly(agent)[-1] == "A!"

    run(backend, scene)


# --- raising


def test_a_failed_answer_can_be_raised_until_there_is_another(backend: str) -> None:
    async def scene() -> None:
        quota, wordless = ModelError(ErrorKind.QUOTA, "no credit left"), ModelError(ErrorKind.NETWORK, "")
        agent = Agent(Model((StreamFailed(quota),), (StreamFailed(wordless),), RuntimeError("broken")))
        agent.raise_for_error()
        for text, error in (("no credit left", quota), ("the answer ended as error", wordless)):
            await agent.prompt("hi")
            with pytest.raises(AgentFailed) as raised:
                agent.raise_for_error()
            assert (str(raised.value), raised.value.error) == (text, error)
        await agent.prompt("hi")
        with pytest.raises(AgentFailed, match="broken"):
            agent.raise_for_error()
        await agent.prompt("hi")
        agent.raise_for_error()

    run(backend, scene)


def test_an_aborted_answer_can_be_raised_too(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model([None]))
        async with agent.stream("hi"):
            await anyio.wait_all_tasks_blocked()
        with pytest.raises(AgentFailed) as raised:
            agent.raise_for_error()
        assert raised.value.error is not None
        assert raised.value.error.kind is ErrorKind.ABORTED

    run(backend, scene)
