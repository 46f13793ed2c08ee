"""A model behind a network: ``RemoteModel`` asks it through its vendor's SDK and streams what it says.

The SDK makes the request (address, headers, authentication) and gives us the open response; its retries are off, its
redirects are off, and the environment variables it would read are overruled, so that a request depends on nothing but
its configuration. We read the bytes ourselves: see ``sse`` for why. What is no success never reaches the SDK's own
error handling, which would read it without bound: a hook on the HTTP client looks at every response first.

No scope is open across a ``yield``, and every way out closes the response: an answer that is not wanted any more must
not keep its connection.
"""

import contextlib
from collections.abc import AsyncGenerator
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import trio

from ...effects.model import Delta, ModelRequest
from ...effects.transcript import ErrorKind
from ...effects.transcript.boundary import Boundary
from .config import ConfigError, ModelConfig, is_loopback
from .failures import ModelFailureError, NoStreamError, failure, of_exception
from .protocols import SdkClient, WireProtocol
from .reader import is_whole
from .sse import EventDecoder, EventTooLargeError, ServerEvent

__all__ = ["RemoteModel"]

MAX_ANSWER_BYTES = 256 * 2**20
"""The most bytes that one answer may have on the wire."""

MAX_ERROR_BYTES = 64 * 2**10
"""How much of an error page is read."""

GRACE_S = 5.0
"""How long to wait for what may follow the terminal marker, such as usage."""

DRAIN_S = 0.1
"""How long to wait for the end of the bytes when nothing of interest can follow: a drained connection is used again."""


_ANY_URL = ("all://", "http://", "https://")


class RemoteModel:
    """A ``ModelPort`` on top of an SDK. Use it under trio; ``aclose`` it when done, or use it as a context manager."""

    def __init__(self, protocol: WireProtocol, config: ModelConfig, sdk: ModuleType) -> None:
        self.config = config
        self._protocol = protocol
        self._sdk = sdk
        self._boundary = Boundary(config.target, protocol.id_rule, config.wording)
        self._client: SdkClient | None = None

    def __repr__(self) -> str:
        return f"RemoteModel({self.config.vendor.name}, {self.config.model}, {self.config.host})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The deltas of one answer, the last of which is terminal; a failure is a terminal delta, never raised."""
        answer: _Answer | None = None
        reader = self._protocol.reader(self.config)
        try:
            config = self._config_for(request)
            reader = self._protocol.reader(config)
            answer = await self._ask(request, config)
            while not reader.over:
                events = await answer.events(GRACE_S if reader.complete else config.patience.stall_s)
                if events is None:
                    break
                for event in events:
                    for delta in reader.feed(event.name, event.data):
                        yield delta
            await answer.drain()
            last = reader.finish()
        except ModelFailureError as failed:
            last = reader.fail(failed.error)
        finally:
            if answer is not None:
                await answer.aclose()
        for delta in last:
            yield delta

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def __aenter__(self) -> "RemoteModel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _config_for(self, request: ModelRequest) -> ModelConfig:
        try:
            return self.config.serving(request)
        except ConfigError as wrong:
            raise failure(self.config, ErrorKind.INVALID_CONFIG, str(wrong)) from None

    async def _ask(self, request: ModelRequest, config: ModelConfig) -> "_Answer":
        """Send the request and wait until the answer begins; raises ``ModelFailureError``."""
        boundary = self._boundary if config.target == self.config.target else None
        body = self._protocol.build(request, config, boundary)
        headers = {
            **self._protocol.headers(self._sdk, config),
            "Accept-Encoding": "identity",  # compression would hold pieces back, and can be a bomb
            **config.headers,
        }
        seconds = config.patience.headers_s
        try:
            client = self._connected()
            if config.api_key != self.config.api_key:
                client = client.with_options(api_key=config.api_key)
            with trio.fail_after(seconds):
                stream = await client.post(
                    self._protocol.path,
                    cast_to=object,
                    body=body,
                    options={"headers": headers},
                    stream=True,
                    stream_cls=self._sdk.AsyncStream[object],
                )
        except trio.TooSlowError:
            phrase = f"{config.host} did not answer within {seconds:g} s"
            raise failure(config, ErrorKind.TIMEOUT, phrase) from None
        except Exception as raised:
            raise ModelFailureError(of_exception(config, raised)) from None
        return _Answer(stream.response, config)

    def _connected(self) -> SdkClient:
        """The SDK's client, made when it is first needed."""
        if self._client is None:
            patience = self.config.patience
            local = is_loopback(urlsplit(self.config.base_url).hostname or "")
            http = self._sdk.DefaultAsyncHttpxClient(
                timeout=self._sdk.Timeout(
                    connect=patience.connect_s,
                    read=max(patience.headers_s, patience.stall_s),
                    write=patience.headers_s,
                    pool=patience.connect_s,
                ),
                follow_redirects=False,
                trust_env=not local,
                mounts=dict.fromkeys(_ANY_URL) if local else {},  # some SDKs read proxies all the same
                event_hooks={"response": [_refuse_pages]},
            )
            self._client = self._protocol.connect(self._sdk, self.config, http)
        return self._client


async def _refuse_pages(response: Any) -> None:
    """Look at a response before the SDK does; raises ``NoStreamError`` for what is no stream of events."""
    media = str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()
    if not 200 <= response.status_code < 300 or media in ("text/html", "application/json"):
        raise NoStreamError(response.status_code, response.headers, await _beginning(response))


class _Answer:
    """An answer that is arriving."""

    def __init__(self, response: Any, config: ModelConfig) -> None:
        self._config = config
        self._chunks: AsyncGenerator[bytes, None] = response.aiter_bytes()
        self._decoder = EventDecoder()
        self._size = 0

    async def events(self, seconds: float) -> list[ServerEvent] | None:
        """The events that arrive next, possibly none; nothing at the end. Raises ``ModelFailureError``."""
        host = self._config.host
        try:
            with trio.fail_after(seconds):
                chunk = await anext(self._chunks, b"")
            self._size += len(chunk)
            if self._size > MAX_ANSWER_BYTES:
                raise EventTooLargeError
            return self._decoder.feed(chunk) if chunk else self._rest()
        except trio.TooSlowError:
            raise failure(self._config, ErrorKind.TIMEOUT, f"{host} sent nothing for {seconds:g} s") from None
        except EventTooLargeError:
            raise failure(self._config, ErrorKind.PROTOCOL, f"{host} sent more than an answer may have") from None
        except Exception as raised:
            raise ModelFailureError(of_exception(self._config, raised)) from None

    async def drain(self) -> None:
        """Take what is left on the way, if it comes at once: a connection that was read to its end can be reused."""
        with contextlib.suppress(Exception), trio.move_on_after(DRAIN_S):
            while await anext(self._chunks, b""):
                pass

    async def aclose(self) -> None:
        """Let go of the response, whatever state it is in."""
        await _let_go(self._chunks)

    def _rest(self) -> list[ServerEvent] | None:
        """The last event, should it be whole though its end is missing; a torn one is no event at all."""
        return [event for event in self._decoder.flush() if is_whole(event.data)] or None


async def _beginning(response: Any) -> bytes:
    """The beginning of an error page; what arrived of it, if it breaks off."""
    page = bytearray()
    chunks: AsyncGenerator[bytes, None] = response.aiter_bytes()
    try:
        with contextlib.suppress(Exception):
            while len(page) < MAX_ERROR_BYTES and (chunk := await anext(chunks, b"")):
                page += chunk
    finally:
        await _let_go(chunks)
    return bytes(page[:MAX_ERROR_BYTES])


async def _let_go(chunks: AsyncGenerator[bytes, None]) -> None:
    """End a body that may still be arriving, by a read that is cancelled at once; that closes the response as well.

    Closing the outermost of the HTTP library's nested generators would leave the innermost to the garbage collector.
    """
    with contextlib.suppress(Exception), trio.CancelScope(shield=True) as scope:
        scope.cancel()
        while await anext(chunks, b""):
            pass
