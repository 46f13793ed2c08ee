"""Asking a service over HTTP: JSON out, JSON back, every failure typed. The only code here that touches the network.

Written on anyio: it runs under trio and under asyncio. Redirects are never followed: a key goes only where it was meant
to go. An answer has a size that it may not exceed and a time in which it must be there, whole; how an answer that is no
success is told comes before how long it is, or how long its page takes. Cancellation is nobody's failure and passes
through.
"""

import json
import math
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar

import anyio
import httpx
import msgspec

from ...effects.transcript import ErrorKind, ModelError, clean_json
from ...effects.values import frozen
from .connections import Connections
from .endpoint import Endpoint
from .errors import ServiceError, misused
from .failures import of_exception, of_status, of_success, unexpected

__all__ = ["MAX_ANSWER_BYTES", "Query", "ServiceClient"]

T = TypeVar("T")

MAX_ANSWER_BYTES = 16 * 2**20
"""The most bytes that an answer may have, where a service does not say otherwise."""

MAX_ERROR_BYTES = 64 * 2**10
"""How much of an error page is read, and how long a success may be that is looked through for an error report."""

ERROR_PAGE_S = 2.0
"""How long an error page may take, once its status is there: what has come until then must do."""

CONNECT_S = 10.0
"""How long to wait for a connection."""


_NOTHING: Mapping[str, str] = {}


@frozen
class Query:
    """One request. ``bearer``: whether the endpoint's key goes along as a bearer token; ``timeout_s`` is for all of it.

    With a ``body`` it is a POST, else a GET. ``body`` is JSON-like data. ``model`` is the one that is asked, if any,
    for texts.
    """

    url: str
    body: Any = None
    headers: Mapping[str, str] = _NOTHING
    bearer: bool = True
    timeout_s: float = 60.0
    max_bytes: int = MAX_ANSWER_BYTES
    model: str = ""


class ServiceClient:
    """An HTTP client for services, under trio or asyncio; ``aclose`` it when done, or use it as a context manager.

    ``connect_s`` is how long to wait for a connection, in seconds. Each event loop has its own connections; those that
    nobody closed end with it (``Connections``).
    """

    def __init__(self, *, connect_s: float = CONNECT_S) -> None:
        self._connect_s = connect_s
        self._connections = Connections(self._made)

    async def __aenter__(self) -> "ServiceClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections that are kept for this event loop; nobody can be asked in it any more."""
        await self._connections.aclose()

    async def ask(self, endpoint: Endpoint, query: Query, wanted: type[T]) -> T:
        """The answer of an endpoint as a value of the wanted type; raises ``ServiceError``."""
        try:
            content = None if query.body is None else json.dumps(clean_json(query.body), allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError):
            phrase = f"{endpoint.label}: the request cannot be written as JSON"
            raise ServiceError(ModelError(ErrorKind.INVALID_REQUEST, phrase)) from None
        if isinstance(query.timeout_s, bool | str) or not query.timeout_s > 0:
            raise misused(f"{endpoint.label}: timeout_s must be a number of seconds above 0")
        client = await self._connections.current(endpoint.local)
        try:
            with anyio.fail_after(query.timeout_s) as scope:
                answer = await _answer(client, endpoint, query, content, scope)
        except TimeoutError:
            phrase = f"{endpoint.label}: {endpoint.host} did not answer within {query.timeout_s:g} s"
            raise ServiceError(ModelError(ErrorKind.TIMEOUT, phrase)) from None
        failed = of_success(endpoint, answer, query.model) if len(answer) <= MAX_ERROR_BYTES else None
        if failed is not None:
            raise failed
        return _decoded(endpoint, answer, wanted)

    def _made(self, local: bool) -> httpx.AsyncClient:
        """A client for servers on this machine, which no proxy can reach, or for all others."""
        return httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=self._connect_s),
            follow_redirects=False,
            trust_env=not local,
            event_hooks={"request": [_keep_out_of_logs]},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # requests do not depend on each other
        )


async def _keep_out_of_logs(request: httpx.Request) -> None:
    """Take the query, which may hold a secret, from the request's address as soon as it is on its way.

    The HTTP client logs the address of each request once it is answered. What is sent was made of it before the first
    event of the trace.
    """

    async def on_its_way(event: str, info: object) -> None:
        request.url = request.url.copy_with(query=None)

    request.extensions = {**request.extensions, "trace": on_its_way}


async def _answer(
    client: httpx.AsyncClient, endpoint: Endpoint, query: Query, content: bytes | None, scope: anyio.CancelScope
) -> bytes:
    """The body of a successful answer; raises ``ServiceError``. ``scope`` ends when its time is up."""
    try:
        request = client.build_request(
            "GET" if content is None else "POST", query.url, content=content, headers=_headers(endpoint, query)
        )
        response = await client.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            if not response.is_success:
                page = await _beginning(response, scope)
                raise of_status(endpoint, response.status_code, response.headers, page, query.model)
            return await _whole(endpoint, response, query.max_bytes)
        finally:
            await response.aclose()
    except ServiceError:
        raise
    except Exception as raised:
        raise of_exception(endpoint, raised) from None


def _headers(endpoint: Endpoint, query: Query) -> dict[str, str]:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}  # compression can be a bomb
    if query.body is not None:
        headers["Content-Type"] = "application/json"
    if query.bearer and endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    return {**headers, **query.headers}


async def _whole(endpoint: Endpoint, response: httpx.Response, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > max_bytes:
            raise unexpected(endpoint, f"{endpoint.host} sent more than the {max_bytes} bytes an answer may have")
    return bytes(body)


async def _beginning(response: httpx.Response, scope: anyio.CancelScope) -> bytes:
    """The beginning of an error page; what arrived of it, if it breaks off or takes too long.

    From here on nothing is late: the status says what is wrong, with its page or without.
    """
    page = bytearray()
    left = max(0.0, scope.deadline - anyio.current_time())
    scope.deadline = math.inf
    try:
        with anyio.move_on_after(min(left, ERROR_PAGE_S)):
            async for chunk in response.aiter_bytes():
                page += chunk
                if len(page) >= MAX_ERROR_BYTES:
                    break
    except (httpx.HTTPError, OSError):
        pass
    return bytes(page[:MAX_ERROR_BYTES])


def _decoded(endpoint: Endpoint, answer: bytes, wanted: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=wanted)
    except msgspec.ValidationError as wrong:
        phrase = f"{endpoint.host} gave an answer of another shape ({wrong}); check the base URL"
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        what = "a web page" if answer.lstrip()[:1] == b"<" else "something that is no JSON"
        phrase = f"{endpoint.host} answered with {what}; check the base URL"
    raise unexpected(endpoint, phrase)
