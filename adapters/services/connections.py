"""What is open, for each event loop on its own: a connection works only in the loop that opened it."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from weakref import WeakSet

import httpx
from anyio.lowlevel import RunVar

from .errors import misconfigured

__all__ = ["Connections"]


class Connections:
    """HTTP clients, those for servers on this machine apart from all others, under trio and asyncio alike.

    A loop that ends closes what was left open in it, because it closes every generator that it has seen begin. So what
    nobody closed can be used in one ``asyncio.run`` or ``trio.run`` after the other, or in two at once. What is kept
    for a loop (``RunVar``) must not hold the loop, as the connections do: it would never go.
    """

    def __init__(self, make: Callable[[bool], httpx.AsyncClient]) -> None:
        """``make`` is told whether the client is for servers on this machine."""
        self._make = make
        self._open: dict[tuple[_Loop, bool], tuple[httpx.AsyncClient, AsyncGenerator[None, None]]] = {}
        self._closed = WeakSet[_Loop]()

    async def current(self, local: bool) -> httpx.AsyncClient:
        """The client in this loop, made when it is first needed; raises ``ServiceError`` after ``aclose`` in it."""
        loop = _this_loop()
        if loop in self._closed:
            raise misconfigured("the client for services was closed: make another one")
        if (loop, local) not in self._open:
            client = self._make(local)
            keeper = self._keep((loop, local), client)
            self._open[loop, local] = client, keeper
            await anext(keeper)
        return self._open[loop, local][0]

    async def aclose(self) -> None:
        """Close what is open in this loop, for good."""
        loop = _this_loop()
        self._closed.add(loop)
        for local in (False, True):
            kept = self._open.get((loop, local))
            if kept is not None:
                await kept[1].aclose()

    async def _keep(self, key: "tuple[_Loop, bool]", client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._open.pop(key, None)
            with contextlib.suppress(Exception):
                await client.aclose()


class _Loop:
    """Stands for an event loop for as long as it runs, and never again for another."""


_LOOP: RunVar[_Loop] = RunVar("what stands for an event loop of services")


def _this_loop() -> _Loop:
    loop = _LOOP.get(None)
    if loop is None:
        loop = _Loop()
        _LOOP.set(loop)
    return loop
