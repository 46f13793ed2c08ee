"""Services run under trio and under asyncio alike."""

import gc
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import trio
from turnfold.adapters.services import ServiceClient, ServiceError, discover, embed, endpoint_at, probe, rerank
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
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (hangs, ErrorKind.TIMEOUT),
        (says_401_and_hangs, ErrorKind.UNAUTHORIZED),
        (hangs_up, ErrorKind.NETWORK),
        (None, ErrorKind.NETWORK),
    ],
)
def test_a_failure_has_its_kind(backend: str, name: str, answer: Answer | None, kind: ErrorKind) -> None:
    with serving_elsewhere(answer or hangs) as server:
        url = server.url if answer else f"http://127.0.0.1:{free_port()}"

        async def scene() -> None:
            async with ServiceClient() as client:
                with pytest.raises(ServiceError) as failed:
                    await CALLS[name](client, endpoint_at(url, KEY), 0.2)
            assert failed.value.kind is kind

        run(backend, scene)


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
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_client_outlives_the_loop_in_which_it_was_used(backend: str) -> None:
    """What is open works only in the loop that opened it."""
    client = ServiceClient()
    with serving_elsewhere(at_paths(PAGES)) as server:
        for _ in range(2):
            run(backend, lambda: probe(client, "openai", endpoint_at(server.url, KEY)))
        assert len(server.asked) == 2
        run(backend, client.aclose)
        with pytest.raises(ServiceError, match="was closed"):
            run(backend, lambda: probe(client, "openai", endpoint_at(server.url, KEY)))
        gc.collect()
