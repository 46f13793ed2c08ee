"""What must be in no log: headers and query of a request, put in below everything that logs.

SDKs log the headers that they are given and the addresses that they ask, HTTP clients the latter once more when the
answer is there. So both learn of them as late as that is possible, in a hook on the HTTP client, and the address is
without its query again as soon as the request is on its way. A key that an SDK is given as such it keeps to itself.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["carrying", "on_request"]

_headers: ContextVar[Mapping[str, str] | None] = ContextVar("headers of a request", default=None)


@contextmanager
def carrying(headers: Mapping[str, str]) -> Generator[None, None, None]:
    """Requests that are sent meanwhile, by this task, carry these headers."""
    before = _headers.set(headers)
    try:
        yield
    finally:
        _headers.reset(before)


def on_request(query: Mapping[str, str]) -> Callable[[Any], Awaitable[None]]:
    """A hook for an HTTP client whose requests carry this query."""

    async def hook(request: Any) -> None:
        request.headers.update(_headers.get() or {})
        shown = request.url
        request.url = shown.copy_merge_params(query) if query else shown

        async def on_its_way(event: str, info: object) -> None:
            # What is sent was made of the address before the first event of the trace.
            request.url = shown

        request.extensions = {**request.extensions, "trace": on_its_way}

    return hook
