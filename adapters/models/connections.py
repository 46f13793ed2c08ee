"""How a request leaves: through a vendor's SDK, or plainly over httpx where there is none for the protocol.

Apart from ``exchange``, which knows time limits and failures and nothing of how a request is put together. Both kinds
follow no redirects and repeat nothing; what an SDK would read from the environment is overruled: the ``headers`` here
are those to leave out. Those to send come by another way: see ``discreet``. ``Connections`` keeps what is open, for
each event loop on its own.
"""

import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from types import ModuleType
from typing import Any, Protocol

import anyio.lowlevel

__all__ = ["Connection", "Connections", "PlainConnection", "SdkConnection"]


class Connection(Protocol):
    """Connections to one address."""

    async def ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, Any], api_key: str) -> Any:
        """Send a request; gives the open response."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class SdkConnection:
    """A vendor's SDK. Its client puts the request together; its stream object is only used for the response in it."""

    def __init__(self, sdk: ModuleType, client: Any, api_key: str) -> None:
        self._sdk = sdk
        self._client = client
        self._api_key = api_key

    async def ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, Any], api_key: str) -> Any:
        """Send a request, with this key if it is another than usual; gives the open response."""
        client = self._client if api_key == self._api_key else self._client.with_options(api_key=api_key)
        stream = await client.post(
            path,
            cast_to=object,
            body=body,
            options={"headers": headers},
            stream=True,
            stream_cls=self._sdk.AsyncStream[object],
        )
        return stream.response

    async def aclose(self) -> None:
        """Close the SDK's connections."""
        await self._client.close()


class PlainConnection:
    """An ``httpx.AsyncClient``. The key is a header like others (see ``discreet``), and is never in the address."""

    def __init__(self, http: Any, base_url: str, query: Mapping[str, str]) -> None:
        self._http = http
        self._base_url = base_url
        self._query = dict(query)

    async def ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, Any], api_key: str) -> Any:
        """Send a request; gives the open response. A success has no other look at its body than the caller's."""
        request = self._http.build_request(
            "POST",
            self._base_url + path,
            params=self._query,
            content=json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(),
            headers={"Content-Type": "application/json", "Accept": "text/event-stream", **headers},
        )
        return await self._http.send(request, stream=True, follow_redirects=False)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


_LOOP: anyio.lowlevel.RunVar[object] = anyio.lowlevel.RunVar("what stands for an event loop")


class Connections:
    """The connections of one model, under trio and asyncio alike: what is open works only in the loop that opened it.

    A loop that ends closes what was left open in it, because it closes every generator that it has seen begin. So a
    model that nobody closed can be used in one ``asyncio.run`` or ``trio.run`` after the other, or in two at once.
    """

    def __init__(self, make: Callable[[], Connection]) -> None:
        self._make = make
        self._open: dict[object, tuple[Connection, AsyncGenerator[None, None]]] = {}

    async def current(self) -> Connection:
        """The connection in this loop, made when it is first needed."""
        loop = _this_loop()
        if loop not in self._open:
            connection = self._make()
            keeper = self._keep(loop, connection)
            self._open[loop] = connection, keeper
            await anext(keeper)
        return self._open[loop][0]

    async def aclose(self) -> None:
        """Close what is open in this loop."""
        kept = self._open.get(_this_loop())
        if kept is not None:
            await kept[1].aclose()

    async def _keep(self, loop: object, connection: Connection) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._open.pop(loop, None)
            with contextlib.suppress(Exception):
                await connection.aclose()


def _this_loop() -> object:
    """Something that is the same for as long as an event loop runs, and never again."""
    loop = _LOOP.get(None)
    if loop is None:
        loop = object()
        _LOOP.set(loop)
    return loop
