"""The port: ``ProxyModel`` asks a proxy and streams what it answers. The only code here that touches the network.

It runs under trio and asyncio alike. No scope is open across a ``yield``, and every way out closes the response: an
answer that is not wanted any more must not keep its connection.
"""

import contextlib
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Protocol, TypeVar

import anyio
import httpx

from ...effects.model import Delta, ModelChoice, ModelRequest
from ...effects.transcript import ErrorKind, ModelError
from ...effects.transcript.boundary import Boundary, Target
from .answer import UNFINISHED, Answer
from .config import Patience, ProxyConfig, make_config
from .failures import ABORTED, failure, of_exception, of_status, scrubbed
from .lines import FrameError, LineReader, frame_of
from .request import PATH, RequestError, build_body

__all__ = ["ProxyModel", "StopSignal"]

T = TypeVar("T")

MAX_ANSWER_BYTES = 256 * 2**20
"""The most bytes that one answer may have on the line."""

MAX_ERROR_BYTES = 64 * 2**10
"""How long an error page may be to be read at all."""

DRAIN_S = 0.1
"""How long to wait for the end of the bytes behind the terminal frame: a drained connection is used again."""


class StopSignal(Protocol):
    """Whether an answer is still wanted."""

    @property
    def aborted(self) -> bool:
        """Whether it is not."""
        ...

    async def wait(self) -> None:
        """Return once it is not."""
        ...


class ProxyModel:
    """A ``ModelPort`` behind a proxy. ``aclose`` it when done, or use it as a context manager.

    ``url`` is the proxy's address, put before the path as it is; ``token`` is the bearer token it knows us by, and
    travels by https only, unless the proxy is on this machine or ``allow_http`` says that the network is one's own.
    ``model`` is asked for where a request does not choose one. A ``client`` of one's own is never closed here. ``now``
    gives milliseconds since the epoch. Raises ``ProxyConfigError``.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        model: ModelChoice | None = None,
        patience: Patience | None = None,
        allow_http: bool = False,
        client: httpx.AsyncClient | None = None,
        now: Callable[[], int] | None = None,
    ) -> None:
        self.config = make_config(url, token, patience or Patience(), allow_http)
        self._model = model or ModelChoice()
        self._client = client
        self._owns_client = client is None
        self._now = now or _milliseconds
        self._boundary: Boundary | None = None

    def __repr__(self) -> str:
        return f"ProxyModel({self.config.host})"

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The deltas of one answer, the last of which is terminal; a failure is a terminal delta, never raised."""
        return self._stream(request, None)

    def stream_until(self, request: ModelRequest, signal: StopSignal) -> AsyncGenerator[Delta, None]:
        """As ``stream``; once the signal is set it ends as aborted, and asks nobody if it is set from the start."""
        return self._stream(request, signal)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        client = self._client
        if self._owns_client and client is not None:
            self._client = None
            await client.aclose()

    async def __aenter__(self) -> "ProxyModel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _stream(self, request: ModelRequest, signal: StopSignal | None) -> AsyncGenerator[Delta, None]:
        model = request.model or self._model
        answer = Answer(model, self._now(), lambda text: scrubbed(self.config, text))
        received: _Received | None = None
        last: Iterable[Delta] = ()
        try:
            received = await self._ask(request, model, signal)
            while not answer.over and (payloads := await received.payloads()) is not None:
                for payload in payloads:
                    if signal is not None and signal.aborted:
                        raise _Failed(ABORTED)
                    deltas = _deltas(answer, payload)
                    if answer.over:
                        last = deltas
                        break
                    for delta in deltas:
                        yield delta
            last = last or answer.fail(ModelError(ErrorKind.NETWORK, UNFINISHED))
            await received.drain()
        except FrameError as wrong:
            last = answer.fail(ModelError(ErrorKind.PROTOCOL, str(wrong)))
        except _Failed as failed:
            last = answer.fail(failed.error)
        finally:
            if received is not None:
                await received.aclose()
        for delta in last:
            yield delta

    async def _ask(self, request: ModelRequest, model: ModelChoice, signal: StopSignal | None) -> "_Received":
        """Send the request and wait until a successful answer begins; raises ``_Failed``."""
        config = self.config
        try:
            body = build_body(request, model, self._boundary_for(model))
        except RequestError as wrong:
            raise _Failed(ModelError(ErrorKind.INVALID_REQUEST, str(wrong))) from None
        client = self._connected()
        headers = {
            "Authorization": f"Bearer {config.token}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # compression would hold pieces back, and can be a bomb
        }

        async def send() -> httpx.Response:
            to_send = client.build_request("POST", config.url + PATH, content=body, headers=headers)
            return await client.send(to_send, stream=True, auth=None, follow_redirects=False)

        late = f"{config.host} did not answer within {config.patience.headers_s:g} s"
        response = await _within(config, send, config.patience.headers_s, late, signal)
        received = _Received(response, config, signal)
        if not response.is_success:
            raise _Failed(await received.refusal())
        return received

    def _boundary_for(self, model: ModelChoice) -> Boundary:
        target = Target(model.api, model.provider, model.id)
        if self._boundary is None or self._boundary.target != target:
            self._boundary = Boundary(target, closed_at=self._now())
        return self._boundary

    def _connected(self) -> httpx.AsyncClient:
        """The HTTP client, made when it is first needed."""
        if self._client is None:
            patience = self.config.patience
            timeout = httpx.Timeout(
                connect=patience.connect_s,
                read=max(patience.headers_s, patience.stall_s),
                write=patience.headers_s,
                pool=patience.connect_s,
            )
            self._client = httpx.AsyncClient(
                timeout=timeout,
                follow_redirects=False,
                trust_env=not self.config.local,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # requests do not depend on each other
            )
        return self._client


def _deltas(answer: Answer, payload: str) -> Iterable[Delta]:
    """The deltas of one payload; raises ``FrameError``."""
    frame = frame_of(payload)
    return () if frame is None else answer.take(frame)


def _milliseconds() -> int:
    return math.floor(time.time() * 1000)


class _Failed(Exception):
    """The call failed, and ``error`` says how. Never leaves this module."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(error.message)
        self.error = error


class _Received:
    """A response that is arriving."""

    def __init__(self, response: httpx.Response, config: ProxyConfig, signal: StopSignal | None) -> None:
        self._response = response
        self._config = config
        self._signal = signal
        self._chunks = response.aiter_raw()
        self._lines = LineReader()
        self._size = 0
        self._ended = False

    async def payloads(self) -> Iterable[str] | None:
        """The payloads that arrive next, possibly none; nothing at the end. Raises ``_Failed`` and ``FrameError``."""
        if self._ended:
            return None
        chunk = await self._chunk()
        self._size += len(chunk)
        if self._size > MAX_ANSWER_BYTES:
            raise _Failed(failure(self._config, ErrorKind.PROTOCOL, "the answer has more bytes than one may have"))
        self._ended = not chunk
        return self._lines.feed(chunk) if chunk else self._lines.flush()

    async def refusal(self) -> ModelError:
        """What an answer that is no success says. It is read only if it is short, and closed in any case."""
        page: bytes | None = b""
        try:
            while chunk := await self._chunk():
                page += chunk
                if len(page) > MAX_ERROR_BYTES:
                    page = None
                    break
        except _Failed as failed:
            if failed.error is ABORTED:
                raise
            page = None
        finally:
            await self.aclose()
        status, phrase = self._response.status_code, self._response.reason_phrase
        return of_status(self._config, status, phrase, self._response.headers, page, time.time())

    async def drain(self) -> None:
        """Take what is left on the way, if it comes at once."""
        with contextlib.suppress(Exception), anyio.move_on_after(DRAIN_S):
            while self._size <= MAX_ANSWER_BYTES and (chunk := await anext(self._chunks, b"")):
                self._size += len(chunk)

    async def aclose(self) -> None:
        """Let go of the response, by a read that is cancelled at once: that ends all of the library's generators."""
        with contextlib.suppress(Exception), anyio.CancelScope(shield=True) as scope:
            scope.cancel()
            while await anext(self._chunks, b""):
                pass
        with contextlib.suppress(Exception), anyio.move_on_after(1, shield=True):
            await self._response.aclose()

    async def _chunk(self) -> bytes:
        """The next bytes; none at the end. Raises ``_Failed``."""
        config, seconds = self._config, self._config.patience.stall_s
        late = f"{config.host} sent nothing for {seconds:g} s"
        return await _within(config, lambda: anext(self._chunks, b""), seconds, late, self._signal)


async def _within(
    config: ProxyConfig,
    wait: Callable[[], Awaitable[T]],
    seconds: float,
    late: str,
    signal: StopSignal | None,
) -> T:
    """What ``wait`` gives, unless it takes longer or the signal is set before; raises ``_Failed``."""
    found: list[T] = []
    raised: list[Exception] = []

    async def work() -> None:
        try:
            found.append(await wait())
        except Exception as error:
            raised.append(error)

    with anyio.move_on_after(seconds):
        await _until(work, signal)
    if found:
        return found[0]
    if raised:
        raise _Failed(of_exception(config, raised[0]))
    if signal is not None and signal.aborted:
        raise _Failed(ABORTED)
    raise _Failed(failure(config, ErrorKind.TIMEOUT, late))


async def _until(work: Callable[[], Awaitable[None]], signal: StopSignal | None) -> None:
    """Work until it is done or the signal is set; with a set signal, not at all."""
    if signal is None:
        await work()
        return
    if signal.aborted:
        return
    async with anyio.create_task_group() as group:

        async def watch(signal: StopSignal) -> None:
            await signal.wait()
            group.cancel_scope.cancel()

        group.start_soon(watch, signal)
        await work()
        group.cancel_scope.cancel()
