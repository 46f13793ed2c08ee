"""The real clients under asyncio and under trio, one loop after the other, with an agent on top."""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import trio
from turnfold.effects.agent import MessageUpdated
from turnfold.effects.model import BlockDelta, Delta, StreamFinished
from turnfold.effects.transcript import AssistantMessage, ErrorKind, text_of
from turnfold.shells import Agent

from tests.adapters.models.answers import PROTOCOLS, stream_of
from tests.adapters.models.loopback import (
    REQUEST,
    Answer,
    Asked,
    Open,
    ask,
    model_at,
    says,
    serving_elsewhere,
    streams,
)

LOOPS = ("asyncio", "trio")
both = pytest.mark.parametrize("loop", LOOPS)
each = pytest.mark.parametrize("protocol", PROTOCOLS)


def run_on(loop: str, work: Callable[[], Awaitable[Any]]) -> Any:
    """Run on an event loop of its own, on the real clock."""

    async def bounded() -> Any:
        with anyio.fail_after(20):
            return await work()

    return asyncio.run(bounded()) if loop == "asyncio" else trio.run(bounded)


def plain(protocol: str) -> tuple[Answer, str]:
    """A plain answer, and its text."""
    _, body, expected = stream_of(f"{protocol}/plain")
    return streams([body]), "".join(part["text"] for part in expected["parts"] if part["type"] == "text")


def half(protocol: str) -> Answer:
    """The beginning of a plain answer, with some text in it; then nothing, for as long as the client is there."""
    _, body, _ = stream_of(f"{protocol}/plain")
    at = body.index(b"Hello")
    ends = [body.index(end, at) + len(end) for end in (b"\n\n", b"\r\n\r\n") if end in body[at:]]

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([body[: min(ends)]], ends=False)(Open(stream), asked)
        assert await stream.receive_some() == b""

    return answer


@each
def test_one_model_serves_an_agent_in_one_loop_after_the_other(protocol: str) -> None:
    """Nobody closes it: each loop that ends closes its connection, and the next one has its own."""
    answer, text = plain(protocol)
    with serving_elsewhere(answer) as server:
        model = model_at(server, protocol)
        for loop in (*LOOPS, *reversed(LOOPS)):
            said = run_on(loop, functools.partial(_twice, Agent(model)))
            assert [text_of(message) for message in said] == [text, text]
            server.left.get(timeout=5)
        assert server.connections == 4


async def _twice(agent: Agent) -> list[AssistantMessage]:
    said = [(await agent.prompt("hello"))[-1] for _ in range(2)]
    return [message for message in said if isinstance(message, AssistantMessage)]


@both
@each
def test_an_agent_that_is_aborted_in_mid_stream_lets_go_of_its_connection(protocol: str, loop: str) -> None:
    with serving_elsewhere(half(protocol)) as server:
        agent = Agent(model_at(server, protocol), grace_s=0.05)
        agent.subscribe(lambda event: agent.abort() if isinstance(event, MessageUpdated) else None)

        async def work() -> None:
            *_, said = await agent.prompt("hello")
            assert isinstance(said, AssistantMessage)
            assert said.error is not None
            assert said.error.kind is ErrorKind.ABORTED
            server.left.get(timeout=5)

        run_on(loop, work)


@both
@each
def test_leaving_the_events_of_an_agent_early_lets_go_of_the_connection(protocol: str, loop: str) -> None:
    with serving_elsewhere(half(protocol)) as server:
        agent = Agent(model_at(server, protocol), grace_s=0.05)

        async def work() -> None:
            async with agent.stream("hello") as events:
                async for event in events:
                    if isinstance(event, MessageUpdated):
                        break
            server.left.get(timeout=5)

        run_on(loop, work)


@both
@each
def test_leaving_the_deltas_of_an_answer_early_lets_go_of_the_connection(protocol: str, loop: str) -> None:
    with serving_elsewhere(half(protocol)) as server:
        model = model_at(server, protocol)

        async def work() -> None:
            async with contextlib.aclosing(model.stream(REQUEST)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, BlockDelta):
                        break
            server.left.get(timeout=5)

        run_on(loop, work)


@each
def test_a_task_that_asyncio_cancels_lets_go_of_its_connection(protocol: str) -> None:
    """Asyncio's own way of cancelling, which is no scope of anyio's."""
    with serving_elsewhere(half(protocol)) as server:
        model = model_at(server, protocol)

        async def read(seen: asyncio.Event) -> None:
            async for delta in model.stream(REQUEST):
                if isinstance(delta, BlockDelta):
                    seen.set()

        async def work() -> None:
            seen = asyncio.Event()
            task = asyncio.create_task(read(seen))
            await seen.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.left.get(timeout=5)

        run_on("asyncio", work)


@both
@each
def test_a_failure_is_told_alike_in_every_loop(protocol: str, loop: str) -> None:
    with serving_elsewhere(says("401 X", b"no such key")) as server:
        agent = Agent(model_at(server, protocol))

        async def work() -> None:
            *_, said = await agent.prompt("hello")
            assert isinstance(said, AssistantMessage)
            assert said.error is not None
            assert said.error.kind is ErrorKind.UNAUTHORIZED

        run_on(loop, work)


def test_a_model_may_be_used_in_two_loops_at_once() -> None:
    """Neither takes the other's connection, nor closes it with its own."""
    answer, _ = plain("openai-chat")
    asked_once, go_on = threading.Event(), threading.Event()
    ends: list[Delta] = []

    with serving_elsewhere(answer) as server:
        model = model_at(server)

        async def slowly() -> None:
            ends.append((await ask(model))[-1])
            asked_once.set()
            await asyncio.to_thread(go_on.wait, 10)
            ends.append((await ask(model))[-1])

        async def quickly() -> None:
            ends.append((await ask(model))[-1])
            await model.aclose()

        thread = threading.Thread(target=run_on, args=("asyncio", slowly))
        thread.start()
        assert asked_once.wait(10)
        run_on("trio", quickly)
        go_on.set()
        thread.join(20)
        assert [type(end) for end in ends] == [StreamFinished] * 3
        assert server.connections == 2
