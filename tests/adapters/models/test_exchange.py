"""The real SDKs against a server on this machine: what they send, and what arrives."""

import contextlib
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import anthropic
import pytest
import trio
from turnfold.adapters.models import Gateway, make_model
from turnfold.effects.model import BlockDelta, Delta, ModelChoice, Started, StreamFailed, StreamFinished
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import AssistantMessage, ErrorKind, StopReason, TextPart, ThinkingPart
from turnfold.effects.values import replace

from tests.adapters.models.answers import BRANDS, PROTOCOLS, STREAMS, answer_of, config_of, stream_of
from tests.adapters.models.loopback import (
    KEY,
    REQUEST,
    Asked,
    Loopback,
    Open,
    ask,
    assert_no_secret,
    free_port,
    in_real_time,
    model_at,
    says,
    serving,
    streams,
)

# --- streams through the SDKs


@pytest.mark.parametrize("name", STREAMS)
@in_real_time
async def test_a_stream_through_the_sdk_gives_the_same_answer(name: str) -> None:
    protocol, body, answer = stream_of(name)
    async with serving(streams([body])) as server, model_at(server, protocol, pauses=0) as model:
        assert answer_of(await ask(model)) == answer


def awkward(body: bytes) -> list[bytes]:
    """A stream cut behind the d of each ``data:``, inside each character of several bytes, and between line ends."""
    cuts = {at.start() + 1 for at in re.finditer(rb"data:|[\xc2-\xf4][\x80-\xbf]|\r\n|(?<=\r\n)\r|\n\n", body)}
    return [body[a:b] for a, b in itertools.pairwise([0, *sorted(cuts), len(body)])]


def test_where_it_is_awkward_to_cut() -> None:
    body = "event: é\ndata: 漢🙂\n\ndata:x\r\n\r\n".encode()
    first, second = "é".encode(), "漢🙂".encode()
    assert awkward(body) == [
        b"event: " + first[:1],
        first[1:] + b"\nd",
        b"ata: " + second[:1],
        second[1:4],
        second[4:] + b"\n",
        b"\nd",
        b"ata:x\r",
        b"\n\r",
        b"\n",
    ]


@pytest.mark.parametrize("name", STREAMS)
@in_real_time
async def test_cut_at_awkward_places_through_the_sdk_too(name: str) -> None:
    """Each piece is a chunk of its own, and so reaches the reader on its own however the network joins them."""
    protocol, body, answer = stream_of(name)
    async with serving(streams(awkward(body))) as server, model_at(server, protocol, pauses=0) as model:
        assert answer_of(await ask(model)) == answer


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_byte_by_byte_through_the_sdk_too(protocol: str) -> None:
    _, body, answer = stream_of(f"{protocol}/unicode")
    pieces = [body[i : i + 1] for i in range(len(body))]
    async with serving(streams(pieces)) as server, model_at(server, protocol) as model:
        assert answer_of(await ask(model)) == answer


@in_real_time
async def test_deltas_come_as_they_arrive() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    go_on = trio.Event()

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        half = body.index(b" there")
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await stream.send_all(body[:half])
        await go_on.wait()
        await stream.send_all(body[half:])
        await stream.aclose()

    got: list[Delta] = []
    async with (
        serving(answer) as server,
        model_at(server) as model,
        contextlib.aclosing(model.stream(REQUEST)) as deltas,
    ):
        async for delta in deltas:
            got.append(delta)
            if isinstance(delta, BlockDelta):
                go_on.set()
    assert isinstance(got[-1], StreamFinished)


@in_real_time
async def test_an_answer_that_its_limit_cut_says_so_at_its_end() -> None:
    """TestStreamStopReason."""
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": "part"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
    ]
    pieces = [f"data: {json.dumps({'id': 'r', **chunk})}\n\n".encode() for chunk in chunks]
    async with serving(streams([*pieces, b"data: [DONE]\n\n"])) as server, model_at(server) as model:
        deltas = await ask(model)
    assert "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta)) == "part"
    assert isinstance(deltas[-1], StreamFinished)
    assert (deltas[-1].stop, deltas[-1].raw_stop) == (StopReason.LENGTH, "length")


# --- what is sent


@in_real_time
async def test_openai_is_asked_at_its_path_with_a_bearer_token() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    async with serving(streams([body])) as server, model_at(f"{server.url}/v1?api-version=7", temperature=0) as model:
        await ask(model)
        (asked,) = server.asked
    assert asked.line == "POST /v1/chat/completions?api-version=7 HTTP/1.1"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.body == {
        "model": "the-model",
        "messages": [{"role": "user", "content": "hello"}],
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "stream": True,
    }


@in_real_time
async def test_anthropic_is_asked_at_its_path_with_the_key_and_a_version() -> None:
    _, body, _ = stream_of("anthropic-messages/plain")
    async with serving(streams([body])) as server, model_at(f"{server.url}/v1/", "anthropic-messages") as model:
        await ask(model)
        (asked,) = server.asked
    assert asked.line == "POST /v1/messages HTTP/1.1"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"]
    assert asked.body["stream"] is True


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_the_environment_has_no_say(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, addresses and headers that the SDKs would pick up go nowhere."""
    for sdk in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{sdk}_API_KEY", "from-the-environment")
        monkeypatch.setenv(f"{sdk}_BASE_URL", "http://127.0.0.1:9/from-the-environment")
        monkeypatch.setenv(f"{sdk}_CUSTOM_HEADERS", "X-Custom: from-the-environment\nX-Api-Key: from-the-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "from-the-environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "from-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    _, body, _ = stream_of(f"{protocol}/plain")
    async with (
        serving(streams([body])) as server,
        make_model(BRANDS[protocol], "m", server.url, KEY, protocol=protocol, headers={"X-Mine": "1"}) as model,
    ):
        assert isinstance((await ask(model))[-1], StreamFinished)
        (asked,) = server.asked
    assert "from-the-environment" not in str(asked.headers)
    assert asked.headers["x-mine"] == "1"


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS.keys() - {"anthropic-messages"}))
@in_real_time
async def test_on_this_machine_a_proxy_is_not_even_looked_at(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that cannot be used, for want of a package or of sense, nothing is heard.

    Anthropic's oldest SDK that we work with looks at proxies all the same.
    """
    for variable in ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, "nonsense://127.0.0.1:9")
    _, body, _ = stream_of(f"{protocol}/plain")
    async with serving(streams([body])) as server, model_at(server, protocol) as model:
        assert isinstance((await ask(model))[-1], StreamFinished)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_without_a_key_no_authorization_is_sent(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "from-the-environment")
    _, body, _ = stream_of(f"{protocol}/plain")
    async with serving(streams([body])) as server:
        async with make_model("openai_compatible", "m", server.url, gateway=Gateway(protocol)) as model:
            deltas = await ask(model)
        (asked,) = server.asked
    assert isinstance(deltas[-1], StreamFinished)
    assert not asked.headers.keys() & {"authorization", "x-api-key", "x-goog-api-key"}


@in_real_time
async def test_a_local_server_is_asked_below_the_path_that_it_has() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    async with serving(streams([body])) as server, make_model("ollama", "m", server.url) as model:
        await ask(model)
        (asked,) = server.asked
    assert asked.line.startswith("POST /v1/chat/completions ")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_key_that_came_with_the_request_is_used_for_it_alone(protocol: str) -> None:
    """Decision 49: the shell resolves credentials for one call; they are no part of what is asked."""
    _, body, _ = stream_of(f"{protocol}/plain")
    request = replace(REQUEST, options={"api_key": "sk-fresh-key", "user": "u"})
    async with serving(streams([body])) as server, model_at(server, protocol) as model:
        for each in (request, REQUEST):
            assert isinstance((await ask(model, each))[-1], StreamFinished)
        first, second = server.asked
        assert server.connections == 1
    assert "sk-fresh-key" in str(first.headers)
    assert KEY not in str(first.headers)
    assert "api_key" not in first.body
    assert first.body["user"] == "u"
    assert KEY in str(second.headers)


@in_real_time
async def test_a_key_that_came_with_the_request_is_as_secret_as_any() -> None:
    request = replace(REQUEST, options={"api_key": "sk-fresh-secret"})
    async with serving(says("401 X", b"no: sk-fresh-secret")) as server, model_at(server) as model:
        _, failed = await ask(model, request)
    assert isinstance(failed, StreamFailed)
    assert_no_secret(failed)
    assert failed.error.message.endswith("no: ***")


@pytest.mark.parametrize(
    ("url", "key", "says_so"),
    [
        ("http://models.example/v1", "sk-fresh-secret", "unencrypted"),
        ("https://models.example/v1", "sk-fresh\nsecret", "characters that no key has"),
    ],
)
@in_real_time
async def test_a_key_that_may_not_be_sent_is_not_sent(url: str, key: str, says_so: str) -> None:
    async with make_model("openai_compatible", "m", url) as model:
        _, failed = await ask(model, replace(REQUEST, options={"api_key": key}))
    assert isinstance(failed, StreamFailed)
    assert_no_secret(failed)
    assert failed.error.kind == ErrorKind.INVALID_CONFIG
    assert says_so in failed.error.message


@pytest.mark.parametrize(
    ("choice", "used"),
    [
        (ModelChoice("other", "openai", "openai-chat"), "other"),
        (ModelChoice("other"), "other"),
        (ModelChoice("other", "anthropic"), "the-model"),
        (ModelChoice("", "openai"), "the-model"),
        (None, "the-model"),
    ],
)
@in_real_time
async def test_a_request_may_choose_among_the_vendors_models(choice: ModelChoice | None, used: str) -> None:
    _, body, _ = stream_of("openai-chat/plain")
    own = AssistantMessage((ThinkingPart("hm", "reasoning"), TextPart("a")), "openai-chat", "openai", "the-model")
    request = replace(REQUEST, model=choice, context=Seq([own]))
    async with serving(streams([body])) as server, model_at(server) as model:
        started, *_ = await ask(model, request)
        (asked,) = server.asked
    assert isinstance(started, Started)
    assert started.model == asked.body["model"] == used
    assert ("reasoning" in asked.body["messages"][0]) is (used == "the-model")


@in_real_time
async def test_a_connection_is_used_again() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    async with serving(streams([body])) as server, model_at(server) as model:
        for _ in range(3):
            assert isinstance((await ask(model))[-1], StreamFinished)
        assert server.connections == 1


@in_real_time
async def test_a_model_that_was_closed_may_be_asked_again() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    async with serving(streams([body])) as server:
        model = model_at(server)
        for _ in range(2):
            assert isinstance((await ask(model))[-1], StreamFinished)
            await model.aclose()
            await model.aclose()
        assert server.connections == 2


def test_a_model_outlives_the_trio_run_it_was_first_used_in() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    port = free_port()
    model = model_at(f"http://127.0.0.1:{port}")

    async def once() -> Delta:
        (listener,) = await trio.open_tcp_listeners(port, host="127.0.0.1")
        async with trio.open_nursery() as nursery:
            server = Loopback(streams([body]))
            nursery.start_soon(trio.serve_listeners, server.serve, [listener])
            last = (await ask(model))[-1]
            await model.aclose()
            nursery.cancel_scope.cancel()
        return last

    assert [type(trio.run(once)) for _ in range(2)] == [StreamFinished, StreamFinished]


# --- cancelling


@in_real_time
async def test_cancelling_closes_the_connection_at_once() -> None:
    """Decision 47: cancellation is the framework's own, and leaves nothing behind."""
    sent, closed = trio.Event(), trio.Event()
    _, body, _ = stream_of("openai-chat/plain")

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([body[:500]], ends=False)(Open(stream), asked)
        sent.set()
        assert await stream.receive_some() == b""
        closed.set()

    async with serving(answer) as server, model_at(server) as model, trio.open_nursery() as nursery:
        nursery.start_soon(ask, model)
        await sent.wait()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await closed.wait()


@in_real_time
async def test_a_consumer_that_stops_early_closes_the_connection_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    closed = trio.Event()
    _, body, _ = stream_of("openai-chat/plain")

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await streams([body[:900]], ends=False)(Open(stream), asked)
        assert await stream.receive_some() == b""
        closed.set()

    async with serving(answer) as server, model_at(server) as model:
        async with contextlib.aclosing(model.stream(REQUEST)) as deltas:
            async for delta in deltas:
                assert isinstance(delta, Started)
                break
        await closed.wait()
    assert [str(warning.message) for warning in recwarn if warning.category is ResourceWarning] == []


# --- who asks


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_nobody_elses_client_is_imitated(protocol: str) -> None:
    """Who asks is told by the SDK's own headers, and by plain httpx's where there is none; nothing is added to them."""
    _, body, _ = stream_of(f"{protocol}/plain")
    async with serving(streams([body])) as server, model_at(server, protocol) as model:
        await ask(model)
        (asked,) = server.asked
    names = {"gemini-generate": "python-httpx/", "anthropic-messages": "AsyncAnthropic/Python "}
    assert asked.headers["user-agent"].startswith(names.get(protocol, "AsyncOpenAI/Python "))
    usual = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}
    keys = {"authorization", "x-api-key", "x-goog-api-key", "anthropic-version"}
    of_the_sdk = {name for name in asked.headers if name.startswith("x-stainless-")}
    assert asked.headers.keys() - usual - keys - of_the_sdk == set()
    assert bool(of_the_sdk) is (protocol != "gemini-generate")


@pytest.mark.parametrize(
    ("base_url", "bearer", "headers"),
    [
        ("https://api.anthropic.com", False, {}),
        ("https://api.anthropic.com", True, {}),
        ("https://gateway.example", False, {"X-Api-Key": "sk-secret-key"}),
        ("https://gateway.example", True, {}),
    ],
)
def test_only_gateways_of_anthropics_get_the_key_in_a_header_of_its_own(
    base_url: str, bearer: bool, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anthropic's own address gets it from the SDK, as the SDK knows best."""
    monkeypatch.delenv("ANTHROPIC_CUSTOM_HEADERS", raising=False)
    config = replace(config_of("anthropic-messages"), base_url=base_url, bearer=bearer)
    assert PROTOCOLS["anthropic-messages"].headers(anthropic, config) == headers


def test_importing_the_room_imports_no_sdk() -> None:
    code = (
        "import sys, turnfold.adapters.models as room\n"
        "room.ScriptedModel(['hi'])\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'openai', 'anthropic', 'httpx', 'httpx2'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path("/"))
    assert done.stdout.strip() == "[]"
