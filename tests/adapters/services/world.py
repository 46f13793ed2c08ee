"""A service on this machine: pages by path, 404 for all others."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import attrs
import pytest
import trio
from turnfold.adapters.services import (
    Endpoint,
    ServiceClient,
    ServiceError,
    discover,
    embed,
    endpoint_at,
    probe,
    rerank,
)

from tests.adapters.models.loopback import KEY, Answer, Asked, Loopback, says, serving

Call = Callable[[ServiceClient, Endpoint, float], Awaitable[object]]
CALLS: dict[str, Call] = {
    "probe": lambda client, endpoint, s: probe(client, "openai", endpoint, timeout_s=s),
    "discover": lambda client, endpoint, s: discover(client, "openai", endpoint, timeout_s=s),
    "ollama": lambda client, endpoint, s: discover(client, "ollama", endpoint, timeout_s=s),
    "embed": lambda client, endpoint, s: embed(client, endpoint, "m", ["x"], timeout_s=s),
    "rerank": lambda client, endpoint, s: rerank(client, endpoint, "m", "q", ["x"], timeout_s=s),
}
"""Everything that can be asked, for as many seconds."""

Page = dict[str, Any] | Callable[[Asked], Any]


def routed(**pages: Page) -> Answer:
    """Answer with JSON by path; a function makes it of the request. ``models__list`` is ``/models/list``."""
    by_path = {"/" + name.replace("__", "/").replace("_", "-"): page for name, page in pages.items()}
    return at_paths(by_path)


def at_paths(pages: dict[str, Page]) -> Answer:
    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        page = pages.get(urlsplit(target(asked)).path)
        if page is None:
            await says("404 Not Found")(stream, asked)
            return
        body = page(asked) if callable(page) else page
        await says("200 OK", json.dumps(body).encode(), Content_Type="application/json")(stream, asked)

    return answer


def target(asked: Asked) -> str:
    """Path and query of a request."""
    return asked.line.split(" ")[1]


@attrs.frozen
class Service:
    """The server and a client for it."""

    server: Loopback
    client: ServiceClient

    def at(self, path: str = "", key: str | None = KEY) -> Endpoint:
        return endpoint_at(self.server.url + path, key)

    @property
    def targets(self) -> list[str]:
        return [target(asked) for asked in self.server.asked]


@contextlib.asynccontextmanager
async def service(answer: Answer) -> AsyncIterator[Service]:
    """A service as long as the context lasts."""
    async with serving(answer) as server, ServiceClient() as client:
        yield Service(server, client)


def assert_no_secret(failed: "pytest.ExceptionInfo[ServiceError] | ServiceError") -> None:
    """A failure is one line that holds no secret, and so does the chain it comes with."""
    error: BaseException | None = failed if isinstance(failed, ServiceError) else failed.value
    assert "\n" not in str(error)
    for text in (str(error), repr(error), repr(vars(error))):
        assert KEY not in text
        assert "secret" not in text
    assert error is not None
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
