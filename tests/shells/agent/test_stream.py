"""A run as a stream: one reader, a bound, and an end that is told to both who read and who wait."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from turnfold.effects.agent import AgentEnded, AgentEvent, MessageUpdated
from turnfold.effects.model import BlockDelta, BlockStarted, Delta, DeltaKind, ModelRequest, Started, StreamFinished
from turnfold.effects.transcript import UserMessage
from turnfold.shells.agent import Agent
from turnfold.shells.agent_errors import AgentBusy, AgentFailed, CannotContinue, StreamMisused
from turnfold.shells.agent_hooks import AgentHooks
from turnfold.shells.event_stream import BOUND

from tests.core.agent.balance import unbalanced
from tests.core.agent.world import brief
from tests.shells.agent.world import Model, both, run, say

pytestmark = both


class Flood:
    """A model that says much, in small pieces; ``said`` counts the pieces that were taken from it."""

    def __init__(self, pieces: int, blocks: int = 1) -> None:
        self._pieces = pieces
        self._blocks = blocks
        self.said = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        yield Started()
        for index in range(self._blocks):
            yield BlockStarted(index, DeltaKind.TEXT)
        for piece in range(self._pieces):
            self.said += 1
            yield BlockDelta(piece % self._blocks, "x")
        yield StreamFinished()


def test_events_come_one_by_one_and_the_result_at_the_end(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model(say("hello")))
        events: list[AgentEvent] = []
        async with agent.stream("hi") as stream:
            async for event in stream:
                events.append(event)
            added = await stream.result()
        assert unbalanced(events) is None
        assert [brief(message) for message in added] == ["U:hi", "A:hello"]

    run(backend, scene)


def test_a_stream_may_be_read_without_a_context_of_its_own_inside_the_agents(backend: str) -> None:
    async def scene() -> None:
        async with Agent(Model(say("hello"))) as agent:
            events = [event async for event in agent.stream("hi")]
            assert isinstance(events[-1], AgentEnded)
            assert [brief(m) for m in await agent.stream("again").result()] == ["U:again", "A:done"]

    run(backend, scene)


def test_a_stream_in_no_context_says_what_to_do(backend: str) -> None:
    async def scene() -> None:
        with pytest.raises(StreamMisused, match="async with"):
            await Agent(Model()).stream("hi").result()

    run(backend, scene)


def test_a_second_reader_is_an_error(backend: str) -> None:
    async def scene() -> None:
        async with Agent(Model()).stream("hi") as stream:
            async for _ in stream:
                with pytest.raises(StreamMisused, match="one reader"):
                    aiter(stream)

    run(backend, scene)


def test_waiting_for_the_result_alone_discards_events(backend: str) -> None:
    async def scene() -> None:
        model = Flood(3 * BOUND)
        async with Agent(model).stream("hi") as stream:
            added = await stream.result()
        assert len(added[-1].parts[0].text) == 3 * BOUND

    run(backend, scene)


def test_the_result_is_the_same_whenever_and_however_often_it_is_asked_for(backend: str) -> None:
    async def scene() -> None:
        found: list[Any] = []

        async def wait(stream: Any) -> None:
            found.append(await stream.result())

        async with Agent(Model(say("hello"))).stream("hi") as stream:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, stream)
                tasks.start_soon(wait, stream)
            found.append(await stream.result())
        found.append(await stream.result())
        assert [[brief(message) for message in added] for added in found] == [["U:hi", "A:hello"]] * 4

    run(backend, scene)


def test_a_reader_that_stops_may_still_wait_for_the_result(backend: str) -> None:
    async def scene() -> None:
        async with Agent(Flood(3 * BOUND, blocks=2)).stream("hi") as stream:
            async for _ in stream:
                break
            assert len(await stream.result()) == 2

    run(backend, scene)


def test_deltas_of_one_block_are_merged_when_nobody_reads(backend: str) -> None:
    async def scene() -> None:
        model = Flood(5 * BOUND)
        async with Agent(model).stream("hi") as stream:
            await anyio.wait_all_tasks_blocked()
            assert model.said == 5 * BOUND
            events = [event async for event in stream]
        deltas = [e.delta for e in events if isinstance(e, MessageUpdated) and isinstance(e.delta, BlockDelta)]
        assert sum(len(delta.text) for delta in deltas) == 5 * BOUND
        assert len(events) <= BOUND + 10
        assert unbalanced(events) is None

    run(backend, scene)


def test_a_merged_update_shows_the_answer_as_far_as_it_goes(backend: str) -> None:
    async def scene() -> None:
        async with Agent(Flood(2 * BOUND)).stream("hi") as stream:
            await anyio.wait_all_tasks_blocked()
            text = ""
            async for event in stream:
                if isinstance(event, MessageUpdated) and isinstance(event.delta, BlockDelta):
                    text += event.delta.text
                    assert event.message.parts[0].text == text

    run(backend, scene)


def test_the_run_waits_when_merging_does_not_help(backend: str) -> None:
    async def scene() -> None:
        model = Flood(3 * BOUND, blocks=2)
        async with Agent(model).stream("hi") as stream:
            await anyio.wait_all_tasks_blocked()
            assert model.said <= BOUND
            events = [event async for event in stream]
        assert model.said == 3 * BOUND
        assert len([event for event in events if isinstance(event, MessageUpdated)]) == 3 * BOUND + 2

    run(backend, scene)


def test_leaving_early_aborts_the_run_and_waits_for_it(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model((*say("so")[:-1], None)), grace_s=0)
        async with agent.stream("hi") as stream:
            async for event in stream:
                if isinstance(event, MessageUpdated):
                    break
        assert not agent.state.is_running
        assert brief(agent.messages[-1]).startswith("A!")

    run(backend, scene)


async def _reading_badly(agent: Agent) -> None:
    async with agent.stream("hi") as stream:
        async for _ in stream:
            raise KeyError("mine")


def test_an_error_of_the_reader_goes_on_its_way(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model((*say("so")[:-1], None)), grace_s=0)
        with pytest.raises(KeyError, match="mine"):
            await _reading_badly(agent)
        assert not agent.state.is_running

    run(backend, scene)


def test_a_failure_ends_the_reading_and_is_raised_from_the_result(backend: str) -> None:
    async def scene() -> None:
        hooks = AgentHooks(convert_to_model=lambda order: 1 / 0)
        async with Agent(Model(), hooks=hooks).stream("hi") as stream:
            events: list[Any] = [event async for event in stream]
            assert unbalanced(events) is None
            with pytest.raises(AgentFailed, match="division by zero"):
                await stream.result()

    run(backend, scene)


def test_a_busy_agent_refuses_a_stream_and_goes_on(backend: str) -> None:
    async def scene() -> None:
        async with Agent(Model((*say("so")[:-1], None)), grace_s=0) as agent, agent.stream("hi"):
            with pytest.raises(AgentBusy):
                async with agent.stream("again"):
                    raise AssertionError("not reached")
            with pytest.raises(AgentBusy):
                await agent.stream("and again").result()
            with pytest.raises(AgentBusy):
                [event async for event in agent.stream("still")]
            assert agent.state.is_running
            assert not agent.signal.aborted

    run(backend, scene)


def test_a_stream_that_is_left_at_once_is_aborted(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model([None]), grace_s=0)
        async with agent.stream("hi"):
            assert agent.state.is_running
        assert not agent.state.is_running

    run(backend, scene)


def test_going_on_may_be_streamed_too(backend: str) -> None:
    async def scene() -> None:
        agent = Agent(Model(), messages=[UserMessage("hi")])
        async with agent.stream_on() as stream:
            events = [event async for event in stream]
        assert unbalanced(events) is None
        assert brief(agent.messages[-1]) == "A:done"
        with pytest.raises(CannotContinue):
            async with agent.stream_on():
                raise AssertionError("not reached")

    run(backend, scene)


def test_an_agent_may_be_made_outside_of_any_event_loop(backend: str) -> None:
    agent = Agent(Model())
    run(backend, lambda: agent.prompt("hi"))
    assert brief(agent.messages[-1]) == "A:done"
