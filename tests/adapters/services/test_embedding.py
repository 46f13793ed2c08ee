"""Vectors: batches, order, dimensions."""

from typing import Any

import pytest
from turnfold.adapters.services import DimensionMismatchError, ServiceError, Stage, embed
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.loopback import KEY, Asked, in_real_time, says
from tests.adapters.services.world import assert_no_secret, routed, service

TEXTS = [f"text {number}" for number in range(25)]


def vectors(asked: Asked) -> dict[str, Any]:
    """A vector for each text, the last one first: its number, and its place in the batch."""
    texts = asked.body["input"]
    data = [{"index": place, "embedding": [float(text.split()[1]), place]} for place, text in enumerate(texts)]
    return {"data": data[::-1], "usage": {"prompt_tokens": len(texts)}}


@in_real_time
async def test_texts_go_in_batches_and_vectors_come_back_in_order() -> None:
    """TestEmbedding."""
    async with service(routed(v1__embeddings=vectors)) as here:
        found = await embed(here.client, here.at("/v1/"), "embed-1", TEXTS, dimension=2)
        asked = here.server.asked
    assert [len(request.body["input"]) for request in asked] == [20, 5]
    assert asked[0].body | {"input": []} == {"model": "embed-1", "input": [], "dimensions": 2}
    assert {request.headers["authorization"] for request in asked} == {f"Bearer {KEY}"}
    assert [vector[0] for vector in found.vectors] == list(range(25))
    assert found.vectors[1] == (1.0, 1.0)
    assert found.vectors[21] == (21.0, 1.0)
    assert found.input_tokens == 25


@in_real_time
async def test_a_vector_of_another_length_is_no_failure_of_the_call() -> None:
    """TestEmbedding: the sentinel is no classified failure."""
    async with service(routed(embeddings=vectors)) as here:
        with pytest.raises(DimensionMismatchError) as failed:
            await embed(here.client, here.at(), "embed-1", TEXTS, dimension=3)
        assert (failed.value.got, failed.value.wanted) == (2, 3)
        assert (failed.value.kind, failed.value.stage) == (ErrorKind.INVALID_REQUEST, Stage.CAPABILITY)
        assert not isinstance(failed.value, ServiceError)
        assert len(here.server.asked) == 1


@in_real_time
async def test_a_dimension_is_asked_for_only_where_one_is_wanted() -> None:
    async with service(routed(embeddings=vectors)) as here:
        found = await embed(here.client, here.at(), "embed-1", TEXTS[:1])
        assert here.server.asked[0].body == {"model": "embed-1", "input": ["text 0"]}
    assert found.vectors == ((0.0, 0.0),)


@in_real_time
async def test_vectors_of_one_model_are_all_as_long() -> None:
    data = [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]
    async with service(routed(embeddings={"data": data})) as here:
        with pytest.raises(DimensionMismatchError):
            await embed(here.client, here.at(), "embed-1", TEXTS[:2])


@in_real_time
async def test_no_texts_ask_nobody() -> None:
    async with service(routed()) as here:
        found = await embed(here.client, here.at(), "embed-1", [], dimension=3)
        assert here.server.connections == 0
    assert (found.vectors, found.input_tokens) == ((), 0)


@pytest.mark.parametrize(
    "data",
    [
        [{"index": 0, "embedding": [1]}],
        [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}],
        [{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [1]}],
        [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": ["x"]}],
        [{"embedding": [1]}, {"index": 1, "embedding": [1]}],
        None,
    ],
)
@in_real_time
async def test_an_answer_that_is_not_what_was_asked_for_is_a_protocol_failure(data: Any) -> None:
    async with service(routed(embeddings={"data": data})) as here:
        with pytest.raises(ServiceError) as failed:
            await embed(here.client, here.at(), "embed-1", TEXTS[:2])
    assert (failed.value.kind, failed.value.stage) == (ErrorKind.PROTOCOL, Stage.CAPABILITY)
    assert "127.0.0.1" in str(failed.value)


@in_real_time
async def test_a_key_that_is_not_accepted_is_told_with_its_stage() -> None:
    """TestEmbeddingStatus."""
    async with service(says("401 Unauthorized", b'{"error": {"message": "no"}}')) as here:
        with pytest.raises(ServiceError) as failed:
            await embed(here.client, here.at(), "embed-1", TEXTS)
    error = failed.value
    assert (error.kind, error.stage, error.status) == (ErrorKind.UNAUTHORIZED, Stage.AUTHENTICATE, 401)
    assert_no_secret(failed)


@in_real_time
async def test_a_failure_of_a_later_batch_leaves_nothing() -> None:
    calls = 0

    def second_fails(asked: Asked) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        return vectors(asked) if calls == 1 else {"data": []}

    async with service(routed(embeddings=second_fails)) as here:
        with pytest.raises(ServiceError):
            await embed(here.client, here.at(), "embed-1", TEXTS)
    assert calls == 2
