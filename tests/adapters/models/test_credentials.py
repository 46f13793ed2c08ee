"""Whose turn it is among the keys of a model, through the real clients of every protocol."""

import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast
from urllib.parse import quote_plus

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from turnfold.adapters.models import BearerToken, ConfigError, Credentials, KeyPool, Patience, RemoteModel, make_model
from turnfold.adapters.models.credentials import Credential, KeySource, Turn
from turnfold.adapters.models.failures import ModelFailureError, of_exception, of_page, of_report, of_status
from turnfold.effects.model import BlockDelta, Delta, Started, StreamFailed, StreamFinished
from turnfold.effects.transcript import ErrorKind
from turnfold.effects.values import replace

from tests.adapters.models.answers import BRANDS, PROTOCOLS, answer_of, config_of, stream_of
from tests.adapters.models.loopback import (
    REQUEST,
    Answer,
    Asked,
    Loopback,
    ask,
    free_port,
    in_real_time,
    says,
    serving,
    streams,
)

JSON = {"Content_Type": "application/json"}
NOT_ACCEPTED = b'{"error": {"message": "no such key", "type": "authentication_error"}}'


def keyed_model(server: Loopback, credentials: Credentials, protocol: str = "openai-chat", **more: Any) -> RemoteModel:
    return make_model(BRANDS[protocol], "the-model", server.url, credentials, protocol=protocol, **more)


def key_of(asked: Asked) -> str:
    """The key that a request came with, in whichever header."""
    headers = asked.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-goog-api-key") or headers.get("x-api-key") or bearer


def only(accepted: str, refusal: Answer, protocol: str = "openai-chat") -> Answer:
    """Answer to one key, and refuse all others."""
    _, body, _ = stream_of(f"{protocol}/plain")
    answer = streams([body])

    async def chosen(stream: trio.SocketStream, asked: Asked) -> None:
        await (answer if key_of(asked) == accepted else refusal)(stream, asked)

    return chosen


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_function_gives_a_key_for_each_request(protocol: str) -> None:
    """Over one connection: the SDK's client is told the key of each request."""
    keys = iter(["key-number-1", "key-number-2", "key-number-3"])

    async def late() -> str:
        await trio.lowlevel.checkpoint()
        return next(keys)

    _, body, _ = stream_of(f"{protocol}/plain")
    sources: list[Callable[[], str | Awaitable[str]]] = [lambda: next(keys), late]
    for source in sources:
        async with serving(streams([body])) as server, keyed_model(server, source, protocol) as model:
            assert isinstance((await ask(model))[-1], StreamFinished)
            first = key_of(server.asked[0])
            if source is not late:
                await ask(model)
                assert [first, key_of(server.asked[1])] == ["key-number-1", "key-number-2"]
            assert server.connections == 1
    assert first == "key-number-3"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "400 Bad Request"])
@in_real_time
async def test_the_next_key_of_a_pool_takes_over_and_stays_in_front(protocol: str, status: str) -> None:
    """401, 403, and any status with the code of an expired token."""
    code = "token_expired" if status.startswith("400") else "somehow"
    refusal = says(status, b'{"error": {"message": "no", "code": "%b"}}' % code.encode(), **JSON)
    pool = KeyPool(["key-number-1", "key-number-2", lambda: "key-number-3"])
    _, _, expected = stream_of(f"{protocol}/plain")
    async with (
        serving(only("key-number-3", refusal, protocol)) as server,
        keyed_model(server, pool, protocol) as model,
    ):
        assert answer_of(await ask(model)) == expected
        assert [key_of(asked) for asked in server.asked] == ["key-number-1", "key-number-2", "key-number-3"]
        assert answer_of(await ask(model)) == expected
        assert key_of(server.asked[-1]) == "key-number-3"
        assert len(server.asked) == 4


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_key_that_is_refused_in_mid_stream_has_a_successor_if_nothing_was_seen(protocol: str) -> None:
    reports = {
        "anthropic-messages": b'event: error\ndata: {"type": "error", "error": {"type": "authentication_error"}}\n\n',
        "openai-responses": b'data: {"type": "error", "code": "invalid_api_key", "message": "no"}\n\n',
        "openai-chat": b'data: {"error": {"code": "invalid_api_key", "message": "no"}}\n\n',
        "gemini-generate": b'data: {"error": {"code": 401, "message": "no"}}\n\n',
    }
    beginnings = {
        "anthropic-messages": b'data: {"type": "message_start", "message": {"id": "lost", "content": []}}\n\n',
        "openai-responses": b'data: {"type": "response.created", "response": {"id": "lost"}}\n\n',
    }
    refusal = streams([piece for piece in (beginnings.get(protocol), reports[protocol]) if piece])
    _, _, expected = stream_of(f"{protocol}/plain")
    async with (
        serving(only("key-number-2", refusal, protocol)) as server,
        keyed_model(server, KeyPool(["key-number-1", "key-number-2"]), protocol) as model,
    ):
        assert answer_of(await ask(model)) == expected
        assert len(server.asked) == 2


@in_real_time
async def test_nothing_is_asked_again_once_something_was_seen() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    begun = body[: body.index(b" there")].rpartition(b"data:")[0]
    broken = streams([begun, b'data: {"error": {"code": "invalid_api_key", "message": "no"}}\n\n'])
    pool = KeyPool(["key-number-1", "key-number-2", "key-number-3"])

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await (says("401 X") if key_of(asked) == "key-number-1" else broken)(stream, asked)

    async with serving(answer) as server, keyed_model(server, pool) as model:
        deltas = await ask(model)
        assert len(server.asked) == 2
    assert any(isinstance(delta, BlockDelta) for delta in deltas)
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind is ErrorKind.UNAUTHORIZED
    assert "none of" not in deltas[-1].error.message


@in_real_time
async def test_what_can_be_seen_is_not_held_back() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    half = body.index(b" there")
    go_on = trio.Event()

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await stream.send_all(body[:half])
        await go_on.wait()
        await stream.send_all(body[half:])
        await stream.aclose()

    async with (
        serving(answer) as server,
        keyed_model(server, KeyPool(["key-number-1", "key-number-2"])) as model,
        contextlib.aclosing(model.stream(REQUEST)) as deltas,
    ):
        got: list[Delta] = []
        async for delta in deltas:
            got.append(delta)
            if isinstance(delta, BlockDelta):
                go_on.set()
    assert isinstance(got[0], Started)
    assert isinstance(got[-1], StreamFinished)


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        ("429 X", "slow down", ErrorKind.RATE_LIMITED),
        ("403 X", "concurrency limit reached", ErrorKind.RATE_LIMITED),
        ("500 X", "", ErrorKind.UNAVAILABLE),
        ("402 X", "", ErrorKind.QUOTA),
        ("403 X", "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO", ErrorKind.REFUSED),
    ],
)
@in_real_time
async def test_only_what_is_about_the_key_asks_for_another(status: str, said: str, kind: ErrorKind) -> None:
    answer = says(status, said.encode())
    async with serving(answer) as server, keyed_model(server, KeyPool(["key-number-1", "key-number-2"])) as model:
        *_, failed = await ask(model)
        assert len(server.asked) == 1
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is kind


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_pool_that_is_used_up_says_how_many_were_tried_and_none_of_them(protocol: str) -> None:
    keys = ["key-number-1", "key-number-2", "key-number-3"]

    async def refusal(stream: trio.SocketStream, asked: Asked) -> None:
        page = f"{key_of(asked)} is as bad as key-number-1 was"
        await says("401 X", page.encode())(stream, asked)

    pool = KeyPool([*keys, "key-number-2", "  "])
    async with serving(refusal) as server, keyed_model(server, pool, protocol) as model:
        *_, failed = await ask(model)
        assert [key_of(asked) for asked in server.asked] == keys
        shown = repr((model, model.config, pool, failed, str(pool)))
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is ErrorKind.UNAUTHORIZED
    assert failed.error.message.endswith("*** is as bad as *** was; none of the 3 keys that were tried was accepted")
    assert not any(key in shown for key in keys)


@in_real_time
async def test_a_function_is_asked_once_more_for_a_key_that_may_have_expired() -> None:
    keys = iter(["key-number-1", "key-number-2"])
    async with (
        serving(only("key-number-2", says("401 X"))) as server,
        keyed_model(server, lambda: next(keys)) as model,
    ):
        assert isinstance((await ask(model))[-1], StreamFinished)
        assert len(server.asked) == 2


@in_real_time
async def test_the_same_key_is_not_sent_twice() -> None:
    async with serving(says("401 X", NOT_ACCEPTED, **JSON)) as server, keyed_model(server, lambda: "key-1") as model:
        *_, failed = await ask(model)
        assert len(server.asked) == 1
    assert isinstance(failed, StreamFailed)
    assert failed.error.message.endswith("no such key")


def raising(error: Exception) -> Callable[[], str]:
    def source() -> str:
        raise error

    return source


async def never() -> str:
    await trio.sleep_forever()
    return ""


@pytest.mark.parametrize(
    ("source", "kind", "says_so"),
    [
        (raising(ValueError("key-number-1")), ErrorKind.INVALID_CONFIG, "could not be had (ValueError)"),
        (raising(ConnectionRefusedError("key-number-1")), ErrorKind.NETWORK, "could not be had"),
        (never, ErrorKind.TIMEOUT, "could not be had"),
        (lambda: None, ErrorKind.INVALID_CONFIG, "gave none"),
        (lambda: " ", ErrorKind.INVALID_CONFIG, "gave none"),
        (lambda: "key-number-1\nand more", ErrorKind.INVALID_CONFIG, "characters that no key has"),
        (lambda: 5, ErrorKind.INVALID_CONFIG, "gave int"),
        (lambda: b"key-number-1", ErrorKind.INVALID_CONFIG, "gave bytes"),
        (lambda: ["key-number-1"], ErrorKind.INVALID_CONFIG, "gave list"),
        (lambda: BearerToken(cast("Any", None)), ErrorKind.INVALID_CONFIG, "gave none"),
        (lambda: BearerToken(cast("Any", 5)), ErrorKind.INVALID_CONFIG, "gave int"),
        (raising(ConfigError("key-number-1")), ErrorKind.INVALID_CONFIG, "could not be had (ConfigError)"),
    ],
)
@in_real_time
async def test_a_key_that_cannot_be_had_is_a_failure_without_a_request(
    source: Callable[[], Any], kind: ErrorKind, says_so: str
) -> None:
    """Decision 49: a failure to get a key is told, and what it said is not."""
    async with (
        serving(says("500 X")) as server,
        keyed_model(server, source, patience=Patience(headers_s=0.05)) as model,
    ):
        _, failed = await ask(model)
        assert server.asked == []
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is kind
    assert says_so in failed.error.message
    assert "key-number-1" not in repr(failed)


@in_real_time
async def test_a_function_that_fails_is_not_asked_again() -> None:
    asked: list[str] = []

    def source() -> str:
        asked.append("once")
        raise ValueError

    async with make_model("openai", "m", "http://127.0.0.1:9", source) as model:
        _, failed = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert asked == ["once"]


@in_real_time
async def test_a_function_that_fails_does_not_keep_a_pool_from_its_other_keys() -> None:
    pool = KeyPool([raising(ValueError()), "key-number-2"])
    async with serving(only("key-number-2", says("401 X"))) as server, keyed_model(server, pool) as model:
        assert isinstance((await ask(model))[-1], StreamFinished)


@pytest.mark.parametrize(
    "bad",
    [
        "sk bad key",
        "schl\u00fcssel",
        "two\nlines",
        BearerToken("sk bad key"),
        lambda: "sk bad key",
        lambda: cast("Any", 5),
    ],
)
@in_real_time
async def test_a_key_that_cannot_be_sent_has_a_successor_and_goes_to_the_end(bad: Credential | KeySource) -> None:
    pool = KeyPool([bad, "key-number-2"])
    async with serving(only("key-number-2", says("401 X"))) as server, keyed_model(server, pool) as model:
        assert isinstance((await ask(model))[-1], StreamFinished)
        assert pool.in_order() == ("key-number-2", bad)
        assert isinstance((await ask(model))[-1], StreamFinished)
        assert len(server.asked) == 2


@in_real_time
async def test_keys_none_of_which_can_be_sent_are_told_as_such() -> None:
    asked: list[str] = []

    def source() -> str:
        asked.append("once")
        return "sk bad key"

    async with serving(says("500 X")) as server:
        for credentials in (KeyPool(["sk bad key", "two\nlines"]), source):
            async with keyed_model(server, credentials) as model:
                _, failed = await ask(model)
            assert isinstance(failed, StreamFailed)
            assert failed.error.kind is ErrorKind.INVALID_CONFIG
            assert "characters that no key has" in failed.error.message
        assert server.asked == []
    assert asked == ["once"]


@in_real_time
async def test_a_function_may_give_nothing_where_no_key_is_needed() -> None:
    _, body, _ = stream_of("openai-chat/plain")
    async with serving(streams([body])) as server, make_model("ollama", "m", server.url, lambda: None) as model:
        assert isinstance((await ask(model))[-1], StreamFinished)
        assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_bearer_token_is_sent_as_one_whatever_the_protocol(protocol: str) -> None:
    _, body, _ = stream_of(f"{protocol}/plain")
    async with (
        serving(streams([body])) as server,
        keyed_model(server, KeyPool([BearerToken("key-number-1")]), protocol) as model,
        keyed_model(server, BearerToken("key-number-1"), protocol) as other,
    ):
        for each in (model, other):
            assert isinstance((await ask(each))[-1], StreamFinished)
    for asked in server.asked:
        assert asked.headers["authorization"] == "Bearer key-number-1"
        assert "x-api-key" not in asked.headers
        assert "x-goog-api-key" not in asked.headers


@in_real_time
async def test_a_key_that_came_with_the_request_goes_before_the_pool() -> None:
    """Decision 49: it was resolved for this very call, so no other key stands in for it."""
    pool = KeyPool(["key-number-1", "key-number-2"])
    request = replace(REQUEST, options={"api_key": "key-of-the-call"})
    async with serving(says("401 X")) as server, keyed_model(server, pool) as model:
        *_, failed = await ask(model, request)
        assert [key_of(asked) for asked in server.asked] == ["key-of-the-call"]
    assert isinstance(failed, StreamFailed)


@pytest.mark.parametrize("credentials", [KeyPool(["key-number-1"]), lambda: "key-number-1", BearerToken("key-1")])
def test_no_key_travels_unencrypted_wherever_it_comes_from(credentials: Credentials) -> None:
    with pytest.raises(ConfigError, match="unencrypted"):
        make_model("openai", "m", "http://models.example/v1", credentials)
    make_model("openai", "m", "http://models.example/v1", credentials, allow_http=True)


def test_a_pool_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        KeyPool([])


@pytest.mark.parametrize(
    "keys", ["sk-secret", b"sk-secret", None, 5, ["sk-1", 5], [b"sk-1"], [BearerToken(cast("Any", 5))]]
)
def test_a_pool_is_made_of_keys(keys: Any) -> None:
    """One key alone is no list of its letters."""
    with pytest.raises(ConfigError, match=r"not (str|bytes|NoneType|int)") as caught:
        KeyPool(keys)
    assert "secret" not in str(caught.value)
    assert caught.value.about == "api_key"


@pytest.mark.parametrize(
    ("credentials", "says_so"),
    [
        (["sk-secret", "b"], "api_key=KeyPool"),
        (("sk-secret",), "api_key=KeyPool"),
        (b"sk-secret", "not bytes"),
        (5, "not int"),
        (0, "not int"),
        (BearerToken(cast("Any", 5)), "not int"),
        (BearerToken(cast("Any", str)), "not type"),
        (BearerToken("sk secret"), "characters that no key has"),
        (BearerToken(" "), "needs an API key"),
    ],
)
def test_what_can_be_no_key_is_refused_when_a_model_is_made(credentials: Any, says_so: str) -> None:
    with pytest.raises(ConfigError, match=says_so) as caught:
        make_model("openai", "m", api_key=credentials)
    assert "secret" not in str(caught.value)
    assert caught.value.about == "api_key"


@pytest.mark.parametrize("key", [5, b"key-number-1", BearerToken("key-number-1")])
@in_real_time
async def test_a_key_that_comes_with_a_request_is_a_string(key: Any) -> None:
    async with serving(says("500 X")) as server, keyed_model(server, "key-number-0") as model:
        _, failed = await ask(model, replace(REQUEST, options={"api_key": key}))
        assert server.asked == []
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is ErrorKind.INVALID_CONFIG
    assert "api_key must be a string" in failed.error.message


def test_a_pool_knows_how_many_keys_it_has_and_forgets_none() -> None:
    pool = KeyPool(["a", "b", "c"])
    for key in ("a", "c", "unknown", "b"):
        pool.rejected(key)
    assert pool.in_order() == ("a", "c", "b")
    assert (len(pool), repr(pool)) == (3, "KeyPool(3 keys)")


@in_real_time
async def test_so_many_keys_are_tried_and_no_more() -> None:
    turn = Turn(KeyPool([f"key-{n}" for n in range(100)]), replace(config_of("openai-chat"), api_key=""))
    tried = 0
    while await turn.next() is not None:
        tried += 1
    assert tried == turn.tried == 64


@in_real_time
async def test_models_may_share_a_pool_and_learn_from_each_other() -> None:
    pool = KeyPool(["key-number-1", "key-number-2"])
    async with (
        serving(only("key-number-2", says("401 X"))) as server,
        keyed_model(server, pool) as one,
        keyed_model(server, pool) as other,
    ):
        for model in (one, other):
            assert isinstance((await ask(model))[-1], StreamFinished)
        assert len(server.asked) == 3


# --- no text tells a key

KEYS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", min_size=16, max_size=60)


@given(
    KEYS.filter(lambda key: "key-in-between" not in key),
    st.sampled_from(sorted(PROTOCOLS)),
    st.sampled_from([400, 401, 403, 404, 413, 429, 500]),
    st.text(max_size=40),
    st.booleans(),
)
def test_no_failure_and_no_repr_tells_a_key(key: str, protocol: str, status: int, said: str, bearer: bool) -> None:
    """Whatever a provider repeats, wherever it stands: as words, as a code, as the name of the request."""
    other = f"{key[::-1]}key-in-between"
    base = replace(config_of(protocol), api_key="")
    config = base.with_key(key, bearer, (other,))
    words = f"{said} {key} {said} {other}"
    report = {"error": {"message": words, "code": f"{key}", "type": other}}
    page = repr(words).encode(errors="replace")
    errors = [
        of_status(config, status, {"x-request-id": f"req {key}"}, page, 0.0),
        of_report(config, report, f"{other}-req"),
        of_page(config, page),
        of_exception(config, ValueError(words)),
        of_exception(config, ModelFailureError(of_report(config, report))),
    ]
    told = repr((errors, config, config.with_key(key, bearer), BearerToken(key), KeyPool([key, BearerToken(other)])))
    told += "".join(str(error) + error.message for error in errors)
    assert key not in told
    assert other not in told


QUERY_SECRET = "sec+ret/val=="


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_a_query_that_a_server_repeats_is_not_told_escaped_or_not(protocol: str) -> None:
    async def echo(stream: trio.SocketStream, asked: Asked) -> None:
        await says("400 X", json.dumps({"error": {"message": f"bad: {asked.line}"}}).encode(), **JSON)(stream, asked)

    url = f"?token={quote_plus(QUERY_SECRET)}"
    async with serving(echo) as server:
        at = server.url + url
        async with make_model(BRANDS[protocol], "m", at, "key-number-1", protocol=protocol) as model:
            _, failed = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert "token=***" in failed.error.message
    for secret in (QUERY_SECRET, "sec", "val"):
        assert secret not in failed.error.message


def test_texts_lose_what_is_secret_however_an_address_escapes_it() -> None:
    base = replace(config_of("openai-chat"), query={"token": "sec+r et/"}, headers={"X-Token": "Bearer sec+r"})
    said = "sec+r et/, sec%2Br%20et/, sec%2Br%20et%2F, sec%2Br+et%2F, sec+r, sk-secret-key."
    assert base.scrubbed(said) == "***, ***, ***, ***, ***, ***."


@pytest.mark.parametrize(("key", "text"), [("", "no such key"), ("abcd", "no such key"), ("abc", ""), ("k", "")])
def test_texts_are_not_repeated_where_the_key_is_too_short_to_be_taken_out(key: str, text: str) -> None:
    assert replace(config_of("openai-chat"), api_key=key).scrubbed("no such key") == text
    assert replace(config_of("openai-chat"), withheld=(key,)).scrubbed("no such key") == text
    assert "abcd" not in replace(config_of("openai-chat"), api_key="abcd").scrubbed("abcd is bad")


def test_a_request_shows_its_options_but_no_key() -> None:
    shown = repr(replace(REQUEST, options={"api_key": "key-number-1", "temperature": 0}))
    assert "key-number-1" not in shown
    assert "'temperature': 0" in shown
    assert "'api_key': '***'" in shown
    assert "api_key" not in repr(REQUEST)


@in_real_time
async def test_nobody_listens_and_still_no_key_is_told() -> None:
    server = Loopback(says("500 X"))
    server.url = f"http://127.0.0.1:{free_port()}"
    async with keyed_model(server, KeyPool(["key-number-1", "key-number-2"])) as model:
        _, failed = await ask(model)
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind is ErrorKind.NETWORK
    assert "key-number" not in repr(failed)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_real_time
async def test_no_log_tells_a_key_however_much_is_logged(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    """The clients log requests with their headers and addresses."""
    caplog.set_level(logging.DEBUG)
    secrets = ("key-number-1", "key-number-2", "header-secret", "query-secret")
    pool = KeyPool([BearerToken("key-number-1"), "key-number-2"])
    async with serving(only("key-number-2", says("401 X"), protocol)) as server:
        at = f"{server.url}?token=query-secret"
        async with make_model(
            BRANDS[protocol], "m", at, pool, protocol=protocol, headers={"X-Mine": "header-secret"}
        ) as model:
            assert isinstance((await ask(model))[-1], StreamFinished)
        sent = str(vars(server.asked[-1]))
        assert [secret for secret in secrets[1:] if secret not in sent] == []
    assert [secret for secret in secrets if secret in caplog.text] == []
