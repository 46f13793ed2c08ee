"""Vectors for texts, by the ``/embeddings`` that OpenAI and many others have."""

from collections.abc import Iterable

import msgspec

from ...effects.values import frozen
from .client import Query, ServiceClient
from .endpoint import Endpoint
from .errors import DimensionMismatchError
from .failures import unexpected
from .inputs import check_count, check_service, texts_of

__all__ = ["BATCH_SIZE", "Embeddings", "embed"]

BATCH_SIZE = 20
"""So many texts go into one request: the smallest number that every known vendor accepts."""

MAX_ANSWER_BYTES = 32 * 2**20


@frozen
class Embeddings:
    """A vector for each input, in the order of the inputs; ``input_tokens`` is 0 where nobody counted."""

    vectors: tuple[tuple[float, ...], ...] = ()
    input_tokens: int = 0


class _Vector(msgspec.Struct):
    index: int
    embedding: tuple[float, ...]


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Vector]
    usage: _Usage | None = None


async def embed(
    client: ServiceClient,
    endpoint: Endpoint,
    model: str,
    inputs: Iterable[str],
    *,
    dimension: int = 0,
    batch_size: int = BATCH_SIZE,
    timeout_s: float = 300.0,
) -> Embeddings:
    """The vectors of the inputs, asked for in batches one after the other. No inputs: nobody is asked.

    ``dimension`` is asked for and checked; 0: as long as the model makes them, all alike. ``timeout_s`` is for each
    request. Raises ``ServiceError``, and ``DimensionMismatchError`` for a vector of another length; nothing is kept.
    """
    check_service(endpoint, model)
    check_count(batch_size, "batch_size", least=1)
    check_count(dimension, "dimension")
    texts = texts_of(inputs, "the inputs")
    vectors: list[tuple[float, ...]] = []
    tokens = 0
    for start in range(0, len(texts), batch_size):
        batch = texts[start : start + batch_size]
        body = {"model": model, "input": batch, **({"dimensions": dimension} if dimension else {})}
        url = endpoint.below("embeddings")
        query = Query(url, body, timeout_s=timeout_s, max_bytes=MAX_ANSWER_BYTES, model=model)
        answer = await client.ask(endpoint, query, _Answer)
        vectors += _in_order(endpoint, answer.data, len(batch))
        tokens += (answer.usage and answer.usage.prompt_tokens) or 0
        wanted = dimension or len(vectors[0])
        for vector in vectors[start:]:
            if len(vector) != wanted:
                raise DimensionMismatchError(len(vector), wanted)
    return Embeddings(tuple(vectors), tokens)


def _in_order(endpoint: Endpoint, found: list[_Vector], count: int) -> list[tuple[float, ...]]:
    """The vectors of a batch by their index; raises ``ServiceError`` unless each is there once."""
    if len(found) != count:
        raise unexpected(endpoint, f"{endpoint.host} gave {len(found)} vectors for {count} texts")
    by_index = {vector.index: vector.embedding for vector in found}
    if by_index.keys() != set(range(count)):
        raise unexpected(endpoint, f"{endpoint.host} gave vectors whose indices are not those of the texts")
    return [by_index[index] for index in range(count)]
