"""What callers hand in: whatever is wrong with it is told by a typed error, and nobody is asked."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from turnfold.adapters.services import (
    RerankFormat,
    ServiceClient,
    ServiceError,
    Stage,
    UnsupportedError,
    discover,
    embed,
    endpoint_at,
    probe,
    rerank,
)
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.loopback import KEY, free_port, in_real_time
from tests.adapters.services.world import assert_no_secret, routed, service

HERE = endpoint_at(f"http://127.0.0.1:{free_port()}", KEY)
REQUEST, CONFIG = ErrorKind.INVALID_REQUEST, ErrorKind.INVALID_CONFIG

Wrong = Callable[[ServiceClient, Any], Awaitable[object]]
WRONG: dict[str, tuple[Wrong, ErrorKind, str]] = {
    "one text": (lambda c, e: embed(c, e, "m", "abc"), REQUEST, "inputs must be a list of texts: put"),
    "bytes": (lambda c, e: embed(c, e, "m", b"abc"), REQUEST, "not a value of type bytes"),
    "none": (lambda c, e: embed(c, e, "m", None), REQUEST, "inputs must be a list of texts, not None"),
    "object": (lambda c, e: embed(c, e, "m", {"a": "b"}), REQUEST, "not a value of type dict"),
    "number": (lambda c, e: embed(c, e, "m", ["a", 7]), REQUEST, "number 1 is a value of type int"),
    "no model": (lambda c, e: embed(c, e, " ", ["a"]), REQUEST, "the name of the model is empty"),
    "model": (lambda c, e: embed(c, e, None, ["a"]), REQUEST, "the name of the model must be a text, not None"),
    "batch": (lambda c, e: embed(c, e, "m", ["a"], batch_size=0), REQUEST, "batch_size must be 1 or more, not 0"),
    "batch of": (lambda c, e: embed(c, e, "m", ["a"], batch_size=True), REQUEST, "batch_size must be a whole number"),
    "dimension": (lambda c, e: embed(c, e, "m", ["a"], dimension=-1), REQUEST, "dimension must be 0 or more"),
    "address": (lambda c, e: embed(c, "https://example.com", "m", ["a"]), CONFIG, "endpoint_at or endpoint_for"),
    "one document": (lambda c, e: rerank(c, e, "m", "q", "d1"), REQUEST, "documents must be a list of texts: put"),
    "no query": (lambda c, e: rerank(c, e, "m", "", ["d"]), REQUEST, "the query is empty"),
    "query": (lambda c, e: rerank(c, e, "m", ["q"], ["d"]), REQUEST, "the query must be a text"),
    "no ranker": (lambda c, e: rerank(c, e, "", "q", ["d"]), REQUEST, "the name of the model is empty"),
    "top": (lambda c, e: rerank(c, e, "m", "q", ["d"], top_n=-1), REQUEST, "top_n must be 0 or more"),
    "format": (lambda c, e: rerank(c, e, "m", "q", ["d"], format="nope"), CONFIG, "known are compatible, dashscope"),
    "time": (lambda c, e: embed(c, e, "m", ["a"], timeout_s=0), REQUEST, "timeout_s must be"),
    "time of": (lambda c, e: embed(c, e, "m", ["a"], timeout_s="1"), REQUEST, "timeout_s must be"),
    "unknown": (lambda c, e: discover(c, "opnai", e), CONFIG, "unknown brand 'opnai'; known are openai, "),
    "no brand": (lambda c, e: probe(c, None, e), CONFIG, "unknown brand None"),
    "endpoint first": (lambda c, e: probe(c, e, "openai"), CONFIG, "unknown brand Endpoint"),
    "probe": (lambda c, e: probe(c, "openai", None), CONFIG, "endpoint_at or endpoint_for, not None"),
    "discover": (lambda c, e: discover(c, "openai", 7), CONFIG, "endpoint_at or endpoint_for"),
}


@pytest.mark.parametrize("what", WRONG)
@in_real_time
async def test_what_makes_no_sense_is_told_and_not_sent(what: str) -> None:
    call, kind, phrase = WRONG[what]
    async with ServiceClient() as client:
        with pytest.raises(ServiceError) as failed:
            await call(client, HERE)
    assert failed.value.kind == kind
    assert phrase in str(failed.value)
    assert_no_secret(failed)


@in_real_time
async def test_texts_may_come_in_anything_that_gives_them_once() -> None:
    def vectors(asked: Any) -> dict[str, Any]:
        return {"data": [{"index": place, "embedding": [place]} for place, _ in enumerate(asked.body["input"])]}

    scores = {"results": [{"index": 2, "relevance_score": 1.0}]}
    async with service(routed(embeddings=vectors, rerank=scores)) as here:
        found = await embed(here.client, here.at(), "m", (text for text in "abc"), batch_size=2)
        assert len(found.vectors) == 3
        await rerank(here.client, here.at(), "m", "q", (text for text in "abc"))
        assert [asked.body.get("input") for asked in here.server.asked] == [["a", "b"], ["c"], None]
        assert here.server.asked[-1].body["documents"] == ["a", "b", "c"]


def test_a_format_that_nobody_knows_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match="unknown rerank format 'nope'; known are compatible, dashscope"):
        RerankFormat("nope")


@pytest.mark.parametrize(("url", "key"), [(None, KEY), (7, None), (b"https://example.com", None)])
def test_an_address_is_a_text(url: Any, key: Any) -> None:
    with pytest.raises(ServiceError, match="the base URL must be a text") as failed:
        endpoint_at(url, key)
    assert (failed.value.kind, failed.value.stage) == (CONFIG, Stage.CONNECT)


@pytest.mark.parametrize("key", [lambda: KEY, b"sk-a-very-secret-key", [KEY]])
def test_a_key_is_a_text(key: Any) -> None:
    with pytest.raises(ServiceError, match="the API key must be a text") as failed:
        endpoint_at("https://example.com", key)
    assert failed.value.kind == CONFIG
    assert_no_secret(failed)


def test_an_unknown_brand_is_a_failure_as_any_other() -> None:
    assert issubclass(UnsupportedError, ServiceError)
    assert issubclass(UnsupportedError, LookupError)
