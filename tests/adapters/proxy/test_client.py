"""The client against a proxy on this machine, on trio and asyncio alike: what it sends, and what arrives."""

import contextlib
import json
import socket
from typing import Any

import anyio
import anyio.abc
import httpx
import pytest
from turnfold.adapters.proxy import Patience, ProxyConfigError, ProxyModel, client
from turnfold.adapters.proxy.failures import ABORTED
from turnfold.effects.agent import MessageUpdated
from turnfold.effects.model import BlockDelta, BlockStarted, Delta, ModelChoice, ModelRequest, StreamFailed
from turnfold.effects.model import StreamFinished as Finished
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    ImagePart,
    ModelError,
    TextPart,
    ToolDeclaration,
    UserMessage,
)
from turnfold.effects.values import replace
from turnfold.shells.agent import Agent
from turnfold.shells.agent_drive import Signal

from tests.adapters.proxy.loopback import (
    MODEL,
    NOW,
    REQUEST,
    TOKEN,
    Answer,
    Drop,
    Hang,
    Loopback,
    ask,
    failure_of,
    free_port,
    in_real_time,
    proxy_at,
    serving,
)


def line(**frame: Any) -> bytes:
    return f"data: {json.dumps(frame)}\n\n".encode()


START = line(type="start")
TEXT = line(type="text_start", contentIndex=0)
HELLO = line(type="text_delta", contentIndex=0, delta="Hello")
DONE = line(type="done", reason="stop")
PLAIN = Answer([START, TEXT, HELLO, DONE])


def text_of(deltas: list[Delta]) -> str:
    assert isinstance(deltas[-1], Finished)
    return "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta))


async def body_of(request: ModelRequest, **options: Any) -> dict[str, Any]:
    """What the proxy is sent."""
    async with serving(PLAIN) as server, proxy_at(server, **options) as model:
        assert text_of(await ask(model, request)) == "Hello"
        (asked,) = server.asked
    body: dict[str, Any] = json.loads(asked.body)
    return body


# What is sent.


@in_real_time
async def test_a_proxy_is_asked_at_its_path_with_a_bearer_token() -> None:
    async with serving(PLAIN) as server, proxy_at(f"{server.url}/base/") as model:
        assert text_of(await ask(model)) == "Hello"
        (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/base//api/stream")
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.body.decode() == (
        '{"model":{"id":"px-1","name":"Px","api":"chat-v1","provider":"northwind"},'
        '"context":{"messages":[{"role":"user","content":"hello","timestamp":7}]},"options":{}}'
    )


@in_real_time
async def test_only_options_that_are_known_are_sent_and_in_their_order() -> None:
    """Decision 49: no key of a provider ever goes to the proxy."""
    options = {
        "maxRetryDelayMs": 9,
        "api_key": "sk-secret",
        "apiKey": "sk-secret",
        "custom": 1,
        "signal": 2,
        "toolExecution": "parallel",
        "headers": {"x-a": "1"},
        "metadata": {"u": [float("nan")]},
        "temperature": 0.5,
    }
    body = await body_of(replace(REQUEST, options=options, max_output_tokens=64))
    assert list(body["options"].items()) == [
        ("temperature", 0.5),
        ("maxTokens", 64),
        ("headers", {"x-a": "1"}),
        ("metadata", {"u": [None]}),
        ("maxRetryDelayMs", 9),
    ]
    body = await body_of(replace(REQUEST, options={"maxTokens": 5}, max_output_tokens=64))
    assert body["options"] == {"maxTokens": 5}


@in_real_time
async def test_a_request_may_choose_its_model() -> None:
    body = await body_of(replace(REQUEST, model=ModelChoice("other", extra={"input": ["text"]})))
    assert body["model"] == {"id": "other", "input": ["text"]}


@in_real_time
async def test_what_the_request_adds_stands_where_the_system_and_the_user_speak() -> None:
    tool = ToolDeclaration("find", "Finds.", {})
    body = await body_of(replace(REQUEST, instruction="Rules.\ud83d", tools=(tool,), notice="Hurry."))
    first, hello, notice = body["context"]["messages"]
    assert first == {
        "role": "system",
        "content": "Rules.\ufffd",
        "toolsAdded": [{"name": "find", "description": "Finds.", "parameters": {}}],
        "timestamp": 0,
    }
    assert (hello["content"], notice) == ("hello", {"role": "user", "content": "Hurry."})


@in_real_time
async def test_the_context_is_made_fit_for_any_model() -> None:
    """Decision 15: every call has its result, and no text half a character."""
    own = AssistantMessage((CallPart("c", "find", "{}"),), "chat-v1", "northwind", "px-1", timestamp=1)
    body = await body_of(replace(REQUEST, context=Seq([own, UserMessage("\ud83d"), UserMessage((ImagePart("AA=="),))])))
    _, result, said, image = body["context"]["messages"]
    assert (result["toolCallId"], result["isError"], result["timestamp"]) == ("c", True, NOW)
    assert (said["content"], image["content"][0]["type"]) == ("\ufffd", "image")


@in_real_time
async def test_a_request_that_cannot_be_written_is_the_hosts_mistake() -> None:
    cycle: dict[str, Any] = {}
    cycle["itself"] = cycle
    async with serving(PLAIN) as server, proxy_at(server) as model:
        for value in (cycle, object()):
            (failed,) = await ask(model, replace(REQUEST, options={"metadata": {"secret": value}}))
            assert isinstance(failed, StreamFailed)
            assert failed.error.kind is ErrorKind.INVALID_REQUEST
            assert "secret" not in failed.error.message
        assert server.connections == 0


@in_real_time
async def test_the_environment_and_earlier_answers_have_no_say() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        cookie = replace(PLAIN, headers={"Set-Cookie": "a=b"})
        async with serving(cookie) as server, proxy_at(server) as model:
            for _ in range(3):
                assert text_of(await ask(model)) == "Hello"
            assert not any("cookie" in asked.headers for asked in server.asked)
            assert server.connections == 1


@in_real_time
async def test_a_client_of_ones_own_stays_open() -> None:
    async with httpx.AsyncClient(follow_redirects=True, auth=("user", "password")) as own, serving(PLAIN) as server:
        async with proxy_at(server, client=own) as model:
            assert text_of(await ask(model)) == "Hello"
        assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
        assert not own.is_closed


# What arrives.


@in_real_time
async def test_deltas_come_as_they_arrive() -> None:
    got: list[Delta] = []
    waiting = Answer([START, TEXT, HELLO, Hang()])
    async with serving(waiting) as server, proxy_at(server) as model, contextlib.aclosing(model.stream(REQUEST)) as one:
        async for delta in one:
            got.append(delta)
            if isinstance(delta, BlockDelta):
                break
    assert len(got) == 3


@in_real_time
async def test_an_answer_that_is_left_early_frees_its_connection() -> None:
    async with serving(Answer([START, TEXT, HELLO, Hang()])) as server, proxy_at(server) as model:
        async with contextlib.aclosing(model.stream(REQUEST)) as deltas:
            await anext(deltas)
        await server.let_go.wait()


@in_real_time
async def test_a_cancelled_answer_frees_its_connection() -> None:
    async with serving(Answer([START, Hang()])) as server, proxy_at(server) as model:
        async with anyio.create_task_group() as group, contextlib.aclosing(model.stream(REQUEST)) as deltas:

            async def cancel_once_it_waits(group: anyio.abc.TaskGroup = group) -> None:
                await anyio.wait_all_tasks_blocked()
                group.cancel_scope.cancel()

            await anext(deltas)
            group.start_soon(cancel_once_it_waits)
            await anext(deltas)
        await server.let_go.wait()


@pytest.mark.parametrize("cut", [b"data", b"\xc3", b"\xf0\x9f", b"}"])
@in_real_time
async def test_bytes_may_be_cut_anywhere(cut: bytes) -> None:
    text = 'data: {"type": "text_delta", "contentIndex": 0, "delta": "é😀"}\n'.encode()
    at = text.index(cut) + len(cut)
    async with serving(Answer([START, TEXT, text[:at], text[at:], DONE])) as server, proxy_at(server) as model:
        assert text_of(await ask(model)) == "é😀"


@in_real_time
async def test_the_end_needs_no_line_end_and_the_rest_is_read_but_not_told() -> None:
    more = Answer([START, DONE[:-2]]), Answer([START, DONE, TEXT, line(type="error", reason="error")])
    for answer in more:
        async with serving(answer) as server, proxy_at(server) as model:
            for _ in range(2):
                assert isinstance((await ask(model))[-1], Finished)
            assert server.connections == 1


@in_real_time
async def test_a_proxy_that_keeps_the_connection_open_is_not_waited_for() -> None:
    async with serving(Answer([START, DONE, Hang()])) as server, proxy_at(server) as model:
        assert isinstance((await ask(model))[-1], Finished)


# Abort.


async def ask_until(model: ProxyModel, signal: Signal, stop: type[Any]) -> list[Delta]:
    got: list[Delta] = []
    async with contextlib.aclosing(model.stream_until(REQUEST, signal)) as deltas:
        async for delta in deltas:
            got.append(delta)
            if isinstance(delta, stop):
                signal.set()
    return got


@in_real_time
async def test_an_aborted_answer_ends_and_keeps_what_had_come() -> None:
    """Decision 47: while it waits for more, and between two lines that came together."""
    for chunks in ([START, TEXT, HELLO, Hang()], [START + TEXT + HELLO + HELLO + DONE]):
        async with serving(Answer(chunks)) as server, proxy_at(server) as model:
            *_, last = await ask_until(model, Signal(), BlockDelta)
            if isinstance(chunks[-1], Hang):
                await server.let_go.wait()  # an answer that came whole may leave its connection open
        assert isinstance(last, StreamFailed)
        assert last.error == ModelError(ErrorKind.ABORTED, "Request aborted by user")
        assert last.message is not None
        assert (last.message.stop, last.message.parts) == ("aborted", (TextPart("Hello"),))


@in_real_time
async def test_a_set_signal_asks_nobody() -> None:
    """Decision 47."""
    signal = Signal()
    signal.set()
    async with serving(PLAIN) as server, proxy_at(server) as model:
        (last,) = await ask_until(model, signal, BlockStarted)
        assert server.connections == 0
    assert isinstance(last, StreamFailed)
    assert last.error.kind is ErrorKind.ABORTED


@in_real_time
async def test_an_abort_is_heard_while_the_proxy_has_not_answered_yet() -> None:
    for answer in (Answer([Hang()]), Answer([b"{", Hang()], "500 Oh No")):
        signal = Signal()
        async with serving(answer) as server, proxy_at(server) as model, anyio.create_task_group() as group:

            async def set_later(signal: Signal = signal, server: Loopback = server) -> None:
                await server.was_asked.wait()
                signal.set()

            group.start_soon(set_later)
            (last,) = await ask_until(model, signal, BlockStarted)
            await server.let_go.wait()
        assert isinstance(last, StreamFailed)
        assert last.error.kind is ErrorKind.ABORTED


@in_real_time
async def test_an_answer_that_came_before_the_signal_is_whole() -> None:
    signal = Signal()
    async with serving(PLAIN) as server, proxy_at(server) as model:
        assert text_of(await ask_until(model, signal, Finished)) == "Hello"


@in_real_time
async def test_an_agent_may_talk_through_a_proxy_and_abort_what_it_says() -> None:
    async with serving(PLAIN) as server, proxy_at(server) as model, Agent(model, choice=MODEL) as agent:
        await agent.prompt("hello")
        said = agent.state.messages[-1]
        assert isinstance(said, AssistantMessage)
        assert said.parts == (TextPart("Hello"),)
    slow = Answer([START, TEXT, HELLO, Hang()])
    async with serving(slow) as server, proxy_at(server) as model, Agent(model, choice=MODEL) as agent:
        agent.subscribe(lambda event: agent.abort() if isinstance(event, MessageUpdated) else None)
        await agent.prompt("hello")
        said = agent.state.messages[-1]
        assert isinstance(said, AssistantMessage)
        assert (said.stop, said.error) == ("aborted", ABORTED)
        assert said.parts == (TextPart(""),)


# What goes wrong.


@pytest.mark.parametrize(
    ("status", "page", "text", "kind"),
    [
        ("502 Bad Gateway", b"upstream gone", "502 Bad Gateway", ErrorKind.UNAVAILABLE),
        ("400 Bad Request", b'{"error":"model not allowed","code":7}', "model not allowed", ErrorKind.INVALID_REQUEST),
        ("401 X", b'\xef\xbb\xbf{"error":"who?"}', "who?", ErrorKind.UNAUTHORIZED),
        ("500 Oh No", b'{"error":""}', "500 Oh No", ErrorKind.UNAVAILABLE),
        ("500 Oh No", b'{"error":false}', "500 Oh No", ErrorKind.UNAVAILABLE),
        ("500 Oh No", b'{"error":0}', "500 Oh No", ErrorKind.UNAVAILABLE),
        ("500 Oh No", b'{"error":null}', "500 Oh No", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":true}', "true", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":12.5}', "12.5", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":12.0}', "12", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":["a",null,["b",0],false]}', "a,,b,0,false", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":{"message":"in here","code":1}}', "in here", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":{"code":1}}', "500 X", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":"cut off', "500 X", ErrorKind.UNAVAILABLE),
        ("500 X", b'{"error":"a"} junk', "500 X", ErrorKind.UNAVAILABLE),
        ("500 X", b'["error"]', "500 X", ErrorKind.UNAVAILABLE),
        ("418 Teapot", b"", "418 Teapot", ErrorKind.PROTOCOL),
        ("429 Too Many Requests", b'{"message":"slow down"}', "429 Too Many Requests", ErrorKind.RATE_LIMITED),
    ],
)
@in_real_time
async def test_an_answer_that_is_no_success_says_what_its_page_says(
    status: str, page: bytes, text: str, kind: ErrorKind
) -> None:
    error = await failure_of(Answer([page] if page else [], status))
    assert (error.message, error.kind, error.status) == (f"Proxy error: {text}", kind, int(status[:3]))


@pytest.mark.parametrize(("text", "wait_ms"), [("20", 20_000), ("1.5", 1_500), ("soon", None), ("nan", None)])
@in_real_time
async def test_a_rate_limit_may_tell_how_long_to_wait(text: str, wait_ms: int | None) -> None:
    assert (await failure_of(Answer([], "429 X", {"Retry-After": text}))).retry_after_ms == wait_ms


@in_real_time
async def test_a_rate_limit_may_name_a_date() -> None:
    past = Answer([], "429 X", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})
    assert (await failure_of(past)).retry_after_ms == 0


@in_real_time
async def test_a_redirect_is_not_followed() -> None:
    """The token goes only where it was meant to go, whatever the client that was given would do."""
    async with serving(PLAIN) as elsewhere, httpx.AsyncClient(follow_redirects=True) as own:
        answer = Answer([], "307 Temporary Redirect", {"Location": f"{elsewhere.url}/?token=secret"})
        for options in ({}, {"client": own}):
            error = await failure_of(answer, **options)
            assert (error.kind, error.status) == (ErrorKind.PROTOCOL, 307)
            assert error.message == "Proxy error: 307 Temporary Redirect (redirects are not followed)"
        assert elsewhere.connections == 0


@in_real_time
async def test_no_text_of_the_proxy_shows_the_token_or_has_no_end() -> None:
    for words in (f"no, not with {TOKEN} really", "x" * 5_000):
        page = json.dumps({"error": words}).encode()
        reported = [START, line(type="error", reason="error", errorMessage=words)]
        for answer in (Answer([page], "401 X"), Answer(reported)):
            error = await failure_of(answer)
            assert error.message.endswith(("no, not with *** really", "xxx…"))
            assert len(error.message) < 2_100


@in_real_time
async def test_a_long_error_page_is_not_read_to_its_end() -> None:
    endless = (b"no " * 10_000 for _ in range(10_000))
    error = await failure_of(Answer(endless, "500 Oh No"))
    assert error.message == "Proxy error: 500 Oh No"
    assert next(endless, None) is not None


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([START, TEXT, HELLO], "Connection closed by proxy server before the response completed"),
        ([START, TEXT, HELLO, b"data: {oops\n", DONE], "a frame of the answer is not JSON"),
        ([START, TEXT, HELLO, b"data: null\n", DONE], "a frame of the answer is null"),
        ([START, TEXT, HELLO, line(type="text_delta", contentIndex=1, delta=""), DONE], "Received text_delta for non-"),
    ],
)
@in_real_time
async def test_an_answer_that_is_not_as_it_should_be_keeps_what_had_come(chunks: list[bytes], text: str) -> None:
    async with serving(Answer(chunks)) as server, proxy_at(server) as model:
        *_, last = await ask(model)
    assert isinstance(last, StreamFailed)
    assert text in last.error.message
    assert last.message is not None
    assert last.message.parts == (TextPart("Hello"),)
    assert last.message.error == last.error


@in_real_time
async def test_a_connection_that_breaks_off_is_a_failure_with_what_had_come() -> None:
    drop = Drop()
    async with serving(Answer([START, TEXT, HELLO, drop])) as server, proxy_at(server) as model:
        got: list[Delta] = []
        async with contextlib.aclosing(model.stream(REQUEST)) as deltas:
            async for delta in deltas:
                got.append(delta)
                if isinstance(delta, BlockDelta):
                    drop.now.set()
    assert isinstance(got[-1], StreamFailed)
    assert got[-1].error.kind is ErrorKind.NETWORK
    assert "broke off" in got[-1].error.message


@in_real_time
async def test_a_refused_connection_names_the_host() -> None:
    port = free_port()
    async with proxy_at(f"http://127.0.0.1:{port}") as model:
        (failed,) = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is ErrorKind.NETWORK
    assert f"127.0.0.1:{port} refused the connection" in failed.error.message


@in_real_time
async def test_a_proxy_that_speaks_no_tls_is_told_apart_from_a_broken_network() -> None:
    async def garbage(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group, proxy_at(f"https://127.0.0.1:{port}") as model:
            group.start_soon(listener.serve, garbage)
            (failed,) = await ask(model)
            group.cancel_scope.cancel()
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is ErrorKind.TLS
    assert f"127.0.0.1:{port}" in failed.error.message


@in_real_time
async def test_an_unknown_host_is_named() -> None:
    def no_names(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", no_names)
        async with proxy_at("https://proxy.example") as model:
            (failed,) = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is ErrorKind.NETWORK
    assert "no host called proxy.example" in failed.error.message


@in_real_time
async def test_a_stalled_answer_is_given_up() -> None:
    error = await failure_of(Answer([START, Hang()]), patience=Patience(stall_s=0.05))
    assert error.kind is ErrorKind.TIMEOUT
    assert "sent nothing for 0.05 s" in error.message


@in_real_time
async def test_a_proxy_that_does_not_answer_is_given_up() -> None:
    """It takes the connection, and that is all."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with proxy_at(f"http://127.0.0.1:{port}", patience=Patience(headers_s=0.05)) as model:
            (failed,) = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is ErrorKind.TIMEOUT
    assert "did not answer within 0.05 s" in failed.error.message


@in_real_time
async def test_an_answer_without_end_is_given_up() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "MAX_ANSWER_BYTES", 50_000)
        error = await failure_of(Answer(b": nothing\n" * 1_000 for _ in range(100)))
    assert error.kind is ErrorKind.PROTOCOL
    assert "more bytes than one may have" in error.message


# Configuration.


@pytest.mark.parametrize(
    "url",
    [
        "",
        "proxy.example",
        "ftp://proxy.example",
        "https://",
        "https://user:password@proxy.example",
        "https://proxy.example?a=password",
        "https://proxy.example#password",
        "https://proxy.example:port-password",
        "https://proxy example/password",
        "http://proxy.example",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ProxyConfigError) as raised:
        ProxyModel(url, TOKEN)
    assert "password" not in str(raised.value).replace("a user name or a password", "")
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "tökn"])
def test_a_token_that_is_none_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(ProxyConfigError) as raised:
        ProxyModel("https://proxy.example", token)
    assert not token or token not in str(raised.value)


def test_a_token_travels_unencrypted_only_where_it_may() -> None:
    for url in ("http://localhost:1", "http://[::1]:1", "http://127.8.8.8", "https://proxy.example"):
        assert TOKEN not in repr(ProxyModel(url, TOKEN)) + repr(ProxyModel(url, TOKEN).config)
    ProxyModel("http://proxy.example", TOKEN, allow_http=True)


def test_the_clock_is_the_worlds_unless_one_is_given() -> None:
    assert ProxyModel("https://proxy.example", TOKEN, model=MODEL)._now() > NOW
