"""A model behind a network: ``RemoteModel`` asks it and streams what it says, under trio and asyncio alike.

A vendor's SDK makes the request where there is one (address, headers, authentication) and gives us the open response;
its retries are off, its redirects are off, and the environment variables it would read are overruled, so that a request
depends on nothing but its configuration. We read the bytes ourselves: see ``sse`` for why. What is no success never
reaches an SDK's own error handling, which would read it without bound: a hook on the HTTP client looks at every
response first.

No scope is open across a ``yield``, and every way out closes the response: an answer that is not wanted any more must
not keep its connection.
"""

import contextlib
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import anyio

from ...effects.model import Delta, ModelRequest, StreamFailed
from ...effects.transcript import ErrorKind
from ...effects.values import replace
from .attempts import is_visible
from .config import ConfigError, ModelConfig, is_loopback
from .connections import Connection, Connections
from .credentials import Credentials, Turn, is_about_the_key
from .discreet import carrying, on_request
from .failures import ModelFailureError, NoStreamError, failure, of_exception
from .prompt import boundary_for
from .protocols import WireProtocol
from .reader import is_whole
from .sse import EventDecoder, EventTooLargeError, ServerEvent

__all__ = ["RemoteModel"]

MAX_ANSWER_BYTES = 256 * 2**20
"""The most bytes that one answer may have on the wire."""

MAX_ERROR_BYTES = 64 * 2**10
"""How much of an error page is read."""

PAGE_S = 2.0
"""How long an error page may take, whatever time there was to answer: it is told by what has come until then."""

GRACE_S = 5.0
"""How long to wait in all for what may follow the terminal marker, such as usage."""

DRAIN_S = 0.1
"""How long to wait for the end of the bytes when nothing of interest can follow: a drained connection is used again."""


KEEP_ALIVE = "ping"
"""The name of events that say nothing but that somebody is there."""

_ANY_URL = ("all://", "http://", "https://")
_waiting: ContextVar[anyio.CancelScope | None] = ContextVar("the wait for an answer", default=None)


class RemoteModel:
    """A ``ModelPort`` of a vendor. ``aclose`` it when done, or use it as a context manager.

    Its connections are kept for the next request, for each event loop its own (``Connections``).
    """

    def __init__(
        self, protocol: WireProtocol, config: ModelConfig, sdk: ModuleType, credentials: Credentials | None = None
    ) -> None:
        """``credentials`` give the key of each request, where it is not the configuration's own."""
        self.config = config
        self._protocol = protocol
        self._sdk = sdk
        self._credentials = credentials
        self._boundary = boundary_for(config, protocol.id_rule)
        self._connections = Connections(self._connect)

    def __repr__(self) -> str:
        return f"RemoteModel({self.config.vendor.name}, {self.config.model}, {self.config.host})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The deltas of one answer, the last of which is terminal; a failure is a terminal delta, never raised.

        An answer that fails for its key, before anything of it was seen, is asked for again with the next key.
        """
        last: list[Delta] = []
        try:
            config = self._config_for(request)
            turn = Turn(None if request.options.get("api_key") else self._credentials, config)
            while (with_key := await turn.next()) is not None:
                last, seen, is_held = [], False, turn.may_go_on
                async with aclosing(self._attempt(request, with_key)) as deltas:
                    async for delta in deltas:
                        refused = isinstance(delta, StreamFailed) and is_about_the_key(delta.error)
                        if isinstance(delta, StreamFailed) and refused and not seen:
                            delta = replace(delta, error=turn.rejected(delta.error))
                        seen = seen or (is_visible(delta) and not refused)
                        last.append(delta)
                        if seen or not is_held:
                            for each in last:
                                yield each
                            last = []
                if seen or not is_held:
                    return
        except ModelFailureError as failed:
            last = last or self._protocol.reader(self.config).fail(failed.error)
        for delta in last:
            yield delta

    async def _attempt(self, request: ModelRequest, config: ModelConfig) -> AsyncGenerator[Delta, None]:
        """The deltas of one answer with one key. It may take several requests, where its provider pauses."""
        answer: _Answer | None = None
        reader = self._protocol.reader(config)
        try:
            body: dict[str, Any] | None = self._body(request, config)
            while body is not None:
                answer = await self._ask(body, config)
                grace = math.inf
                while not reader.over:
                    if reader.complete and grace == math.inf:
                        grace = anyio.current_time() + GRACE_S
                    events = await answer.events(grace)
                    if events is None:
                        break
                    for event in events:
                        for delta in reader.feed(event.name, event.data):
                            yield delta
                await answer.drain()
                await answer.aclose()
                body = reader.resumed(body)
            last = reader.finish()
        except ModelFailureError as failed:
            last = reader.fail(failed.error)
        finally:
            if answer is not None:
                await answer.aclose()
        for delta in last:
            yield delta

    async def aclose(self) -> None:
        """Close the connections that are kept for this event loop."""
        await self._connections.aclose()

    async def __aenter__(self) -> "RemoteModel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _config_for(self, request: ModelRequest) -> ModelConfig:
        try:
            return self.config.serving(request)
        except ConfigError as wrong:
            raise failure(self.config, ErrorKind.INVALID_CONFIG, str(wrong)) from None

    def _body(self, request: ModelRequest, config: ModelConfig) -> dict[str, Any]:
        boundary = self._boundary if config.target == self.config.target else None
        return self._protocol.build(request, config, boundary)

    async def _ask(self, body: dict[str, Any], config: ModelConfig) -> "_Answer":
        """Send the request and wait until the answer begins; raises ``ModelFailureError``."""
        headers = self._protocol.headers(self._sdk, config)
        ours = {name: value for name, value in headers.items() if isinstance(value, str)}
        ours["Accept-Encoding"] = "identity"  # compression would hold pieces back, and can be a bomb
        left_out = {name: value for name, value in headers.items() if name not in ours}
        seconds = config.patience.headers_s
        path = self._protocol.path_for(config.model)
        try:
            connection = await self._connections.current()
            with anyio.move_on_after(seconds) as scope, carrying({**ours, **config.headers}):
                _waiting.set(scope)
                response = await connection.ask(path, body, left_out, config.api_key)
                return _Answer(response, config)
        except Exception as raised:
            raise ModelFailureError(of_exception(config, raised)) from None
        finally:
            _waiting.set(None)
        raise failure(config, ErrorKind.TIMEOUT, f"{config.host} did not answer within {seconds:g} s")

    def _connect(self) -> Connection:
        """Connections, none of which is open yet."""
        patience = self.config.patience
        local = is_loopback(urlsplit(self.config.base_url).hostname or "")
        http = getattr(self._sdk, self._protocol.http_client)(
            timeout=self._sdk.Timeout(
                connect=patience.connect_s,
                read=max(patience.headers_s, patience.stall_s),
                write=patience.headers_s,
                pool=patience.connect_s,
            ),
            follow_redirects=False,
            trust_env=not local,
            mounts=dict.fromkeys(_ANY_URL) if local else {},  # Anthropic's first SDKs of version 2 read proxies anyway
            event_hooks={"request": [on_request(self.config.query)], "response": [_refuse_pages]},
        )
        return self._protocol.connect(self._sdk, self.config, http)


async def _refuse_pages(response: Any) -> None:
    """Look at a response before the SDK does; raises ``NoStreamError`` for what cannot be a stream of events."""
    media = str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()
    if not 200 <= response.status_code < 300 or _is_page(media):
        waiting = _waiting.get()
        if waiting is not None:
            waiting.deadline = anyio.current_time() + PAGE_S + DRAIN_S
        raise NoStreamError(response.status_code, response.headers, await _beginning(response))


def _is_page(media: str) -> bool:
    """Whether a page of this type is never a stream: one that says so is not waited for. Of text one cannot know."""
    return media.endswith(("/html", "/json", "+json"))


class _Answer:
    """An answer that is arriving."""

    def __init__(self, response: Any, config: ModelConfig) -> None:
        self._config = config
        self._response = response
        self._chunks: AsyncGenerator[bytes, None] = response.aiter_bytes()
        self._decoder = EventDecoder()
        self._size = 0
        self._page: bytearray | None = bytearray()  # what came, until the first event shows that it is no page
        self._last_event = anyio.current_time()

    async def events(self, until: float) -> list[ServerEvent] | None:
        """The events that arrive next, possibly none; nothing at the end. Raises ``ModelFailureError``.

        It waits until the given time, a time on the loop's clock, at the longest; if that is infinite, as long as the
        configuration's patience lasts: see ``Patience``.
        """
        host, patience = self._config.host, self._config.patience
        stalled, queued = anyio.current_time() + patience.stall_s, self._last_event + patience.queue_s
        if until == math.inf:
            until = min(stalled, queued)
        try:
            with anyio.CancelScope(deadline=until):
                return self._taken(await anext(self._chunks, b""))
        except EventTooLargeError:
            raise failure(self._config, ErrorKind.PROTOCOL, f"{host} sent more than an answer may have") from None
        except Exception as raised:
            raise ModelFailureError(of_exception(self._config, raised)) from None
        if queued < stalled:
            phrase = f"{host} sent nothing for {patience.queue_s:g} s but signs of life"
        else:
            phrase = f"{host} sent nothing for {patience.stall_s:g} s"
        raise failure(self._config, ErrorKind.TIMEOUT, phrase)

    async def drain(self) -> None:
        """Take what is left on the way, if it comes at once: a connection that was read to its end can be reused."""
        with contextlib.suppress(Exception), anyio.move_on_after(DRAIN_S):
            while await anext(self._chunks, b""):
                pass

    async def aclose(self) -> None:
        """Let go of the response, whatever state it is in."""
        await _let_go(self._chunks)

    def _taken(self, chunk: bytes) -> list[ServerEvent] | None:
        self._size += len(chunk)
        if self._size > MAX_ANSWER_BYTES:
            raise EventTooLargeError
        events = self._decoder.feed(chunk) if chunk else self._rest()
        if any(event.name != KEEP_ALIVE for event in events):
            self._last_event = anyio.current_time()
            self._page = None
        if self._page is not None:
            self._page += chunk[: MAX_ERROR_BYTES - len(self._page)]
            if not chunk and self._decoder.foreign:
                raise NoStreamError(self._response.status_code, self._response.headers, bytes(self._page))
        return events if chunk else events or None

    def _rest(self) -> list[ServerEvent]:
        """The last event, should it be whole though its end is missing; a torn one is no event at all."""
        return [event for event in self._decoder.flush() if is_whole(event.data)]


async def _beginning(response: Any) -> bytes:
    """The beginning of an error page; what arrived of it, if it breaks off or takes too long."""
    page = bytearray()
    chunks: AsyncGenerator[bytes, None] = response.aiter_bytes()
    try:
        with contextlib.suppress(Exception), anyio.move_on_after(PAGE_S):
            while len(page) < MAX_ERROR_BYTES and (chunk := await anext(chunks, b"")):
                page += chunk
    finally:
        await _let_go(chunks)
    return bytes(page[:MAX_ERROR_BYTES])


async def _let_go(chunks: AsyncGenerator[bytes, None]) -> None:
    """End a body that may still be arriving, by a read that is cancelled at once; that closes the response as well.

    Closing the outermost of the HTTP library's nested generators would leave the innermost to the garbage collector.
    """
    with contextlib.suppress(Exception), anyio.CancelScope(shield=True) as scope:
        scope.cancel()
        while await anext(chunks, b""):
            pass
