"""How well documents answer a query, by either of the two shapes that rerank services have."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Never

import msgspec

from ...effects.values import frozen
from .client import Query, ServiceClient
from .endpoint import Endpoint, without_suffixes
from .errors import misconfigured
from .failures import unexpected
from .inputs import check_count, check_service, check_text, texts_of

__all__ = ["Ranking", "RerankFormat", "Score", "rerank"]

MAX_ANSWER_BYTES = 4 * 2**20

_DASHSCOPE = "/api/v1/services/rerank/text-rerank/text-rerank"


class RerankFormat(StrEnum):
    """The shape of requests: as Cohere and Jina have it, or DashScope's own."""

    COMPATIBLE = "compatible"
    DASHSCOPE = "dashscope"

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise ValueError(f"unknown rerank format {value!r}; known are {', '.join(cls)}")


@frozen
class Score:
    """How relevant the document at ``index`` is; what the numbers mean is the model's business."""

    index: int
    relevance: float


@frozen
class Ranking:
    """The scores in the order in which the service gave them; ``input_tokens`` is 0 where nobody counted."""

    scores: tuple[Score, ...] = ()
    input_tokens: int = 0


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Output(msgspec.Struct):
    results: list[_Result] | None = None


class _Usage(msgspec.Struct):
    total_tokens: int | None = None


class _Answer(msgspec.Struct):
    results: list[_Result] | None = None
    output: _Output | None = None
    usage: _Usage | None = None


async def rerank(
    client: ServiceClient,
    endpoint: Endpoint,
    model: str,
    query: str,
    documents: Iterable[str],
    *,
    top_n: int = 0,
    format: RerankFormat | str = RerankFormat.COMPATIBLE,
    timeout_s: float = 60.0,
) -> Ranking:
    """The scores of the documents, of the best ``top_n`` only where that is given. No documents: nobody is asked.

    An address of DashScope's compatible mode is turned into its native one. Raises ``ServiceError``.
    """
    format = _format(format)
    check_service(endpoint, model)
    check_text(query, "the query")
    check_count(top_n, "top_n")
    texts = texts_of(documents, "the documents")
    if not texts:
        return Ranking()
    limit = {"top_n": top_n} if top_n else {}
    if format is RerankFormat.DASHSCOPE:
        url = endpoint.at(without_suffixes(endpoint.path, "/compatible-mode/v1", "/api/v1", "/v1") + _DASHSCOPE)
        parameters = {"return_documents": False, **limit}
        body = {"model": model, "input": {"query": query, "documents": texts}, "parameters": parameters}
    else:
        url = endpoint.below("rerank")
        body = {"model": model, "query": query, "documents": texts, **limit}
    asked = Query(url, body, timeout_s=timeout_s, max_bytes=MAX_ANSWER_BYTES, model=model)
    answer = await client.ask(endpoint, asked, _Answer)
    found = answer.output and answer.output.results if format is RerankFormat.DASHSCOPE else answer.results
    if not found:
        raise unexpected(endpoint, f"{endpoint.host} gave no scores; check the base URL and the request format")
    if any(not 0 <= result.index < len(texts) for result in found):
        raise unexpected(endpoint, f"{endpoint.host} gave a score for a document that it was not shown")
    scores = tuple(Score(result.index, result.relevance_score) for result in found)
    return Ranking(_best(scores, top_n), (answer.usage and answer.usage.total_tokens) or 0)


def _format(format: RerankFormat | str) -> RerankFormat:
    try:
        return RerankFormat(format)
    except ValueError as unknown:
        raise misconfigured(str(unknown)) from None


def _best(scores: tuple[Score, ...], top_n: int) -> tuple[Score, ...]:
    """The ``top_n`` best scores in the order they came in, should the service have given more; all for 0."""
    if not top_n or len(scores) <= top_n:
        return scores
    best = sorted(range(len(scores)), key=lambda place: -scores[place].relevance)[:top_n]
    return tuple(scores[place] for place in sorted(best))
