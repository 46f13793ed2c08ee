"""Services run under trio and under asyncio alike."""

import gc
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
import trio
from turnfold.adapters.services import ServiceClient, ServiceError, discover, embed, endpoint_at, probe, rerank
from turnfold.adapters.services.connections import Connections
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.loopback import KEY, Answer, Asked, free_port, serving_elsewhere
from tests.adapters.services.world import CALLS, at_paths

both = pytest.mark.parametrize("backend", ["trio", "asyncio"])
"""A test that runs under both frameworks: it takes ``backend`` and calls ``run``."""

PAGES: dict[str, Any] = {
    "/models": {"data": [{"id": "a"}]},
    "/api/tags": {"models": [{"model": str(number)} for number in range(6)]},
    "/api/show": {"capabilities": ["embedding"]},
    "/embeddings": {"data": [{"index": 0, "embedding": [1]}]},
    "/rerank": {"results": [{"index": 0, "relevance_score": 1}]},
}


def run(backend: str, scene: Callable[[], Awaitable[Any]]) -> Any:
    """Run a scene; one that hangs fails instead."""

    async def guarded() -> Any:
        with anyio.fail_after(20):
            return await scene()

    return anyio.run(guarded, backend=backend)


@both
def test_everything_can_be_asked(backend: str) -> None:
    with serving_elsewhere(at_paths(PAGES)) as server:
        endpoint = endpoint_at(server.url, KEY)

        async def scene() -> None:
            async with ServiceClient() as client:
                await probe(client, "openai", endpoint)
                assert [model.id for model in (await discover(client, "openai", endpoint)).models] == ["a"]
                found = await discover(client, "ollama", endpoint)
                assert (len(found.models), found.problems) == (6, ())
                assert (await embed(client, endpoint, "m", ["x"])).vectors == ((1.0,),)
                assert len((await rerank(client, endpoint, "m", "q", ["x"])).scores) == 1

        run(backend, scene)


async def hangs(stream: trio.SocketStream, asked: Asked) -> None:
    await trio.sleep_forever()


async def says_401_and_hangs(stream: trio.SocketStream, asked: Asked) -> None:
    await stream.send_all(b"HTTP/1.1 401 X\r\nContent-Length: 9000\r\n\r\nno such key")
    await trio.sleep_forever()


async def hangs_up(stream: trio.SocketStream, asked: Asked) -> None:
    await trio.aclose_forcefully(stream)


@both
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (hangs, ErrorKind.TIMEOUT),
        (says_401_and_hangs, ErrorKind.UNAUTHORIZED),
        (hangs_up, ErrorKind.NETWORK),
        (None, ErrorKind.NETWORK),
    ],
)
def test_a_failure_has_its_kind(backend: str, answer: Answer | None, kind: ErrorKind) -> None:
    """Whatever was asked; everything is asked at once, since most of it is waiting."""
    kinds: dict[str, ErrorKind] = {}
    with serving_elsewhere(answer or hangs) as server:
        url = server.url if answer else f"http://127.0.0.1:{free_port()}"

        async def asks(name: str) -> None:
            async with ServiceClient() as client:
                with pytest.raises(ServiceError) as failed:
                    await CALLS[name](client, endpoint_at(url, KEY), 0.3)
            kinds[name] = failed.value.kind

        async def scene() -> None:
            async with anyio.create_task_group() as tasks:
                for name in CALLS:
                    tasks.start_soon(asks, name)

        run(backend, scene)
    assert kinds == dict.fromkeys(CALLS, kind)


@both
def test_cancellation_is_nobodys_failure(backend: str) -> None:
    with serving_elsewhere(hangs) as server:

        async def scene() -> None:
            async with ServiceClient() as client:
                with anyio.move_on_after(0.1) as scope:
                    await probe(client, "openai", endpoint_at(server.url, KEY))
                assert scope.cancelled_caught

        run(backend, scene)


@both
def test_a_client_outlives_the_loop_in_which_it_was_used(backend: str) -> None:
    """What is open works only in the loop that opened it, and ends with it: nobody has to close it."""
    client = ServiceClient()
    with serving_elsewhere(at_paths(PAGES)) as server:
        endpoint = endpoint_at(server.url, KEY)

        async def scene() -> None:
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(probe, client, "openai", endpoint)

        for runs in range(1, 4):
            run(backend, scene)
            for _ in range(server.connections):
                server.left.get(timeout=5)
            assert len(server.asked) == 3 * runs
            server.connections = 0


@both
def test_a_loop_that_ended_leaves_nothing_behind(backend: str) -> None:
    connections, left = Connections(lambda local: httpx.AsyncClient(verify=False)), list[weakref.ref[Any]]()

    async def scene() -> None:
        for local in (True, False):
            left.append(weakref.ref(await connections.current(local)))

    run(backend, scene)
    gc.collect()
    assert [kept() for kept in left] == [None, None]


@both
def test_a_client_that_is_closed_in_one_loop_serves_the_others(backend: str) -> None:
    client = ServiceClient()
    asked_once, go_on = threading.Event(), threading.Event()
    ends: list[str] = []

    with serving_elsewhere(at_paths(PAGES)) as server:
        endpoint = endpoint_at(server.url, KEY)

        async def slowly() -> None:
            await probe(client, "openai", endpoint)
            asked_once.set()
            await anyio.to_thread.run_sync(go_on.wait, 10)
            await probe(client, "openai", endpoint)
            ends.append("asked twice")
            await client.aclose()
            server.left.get(timeout=5)
            ends.append("closed")

        async def quickly() -> None:
            await probe(client, "openai", endpoint)
            await client.aclose()
            server.left.get(timeout=5)
            with pytest.raises(ServiceError, match="was closed"):
                await probe(client, "openai", endpoint)

        thread = threading.Thread(target=run, args=(backend, slowly))
        thread.start()
        assert asked_once.wait(10)
        run(backend, quickly)
        go_on.set()
        thread.join(20)
        assert ends == ["asked twice", "closed"]
        assert server.connections == 2
