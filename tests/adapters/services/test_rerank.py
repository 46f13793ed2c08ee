"""Scores for documents, in both shapes of requests."""

from typing import Any

import pytest
from turnfold.adapters.models.vendors import Rerank
from turnfold.adapters.services import RerankFormat, Score, ServiceError, rerank
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.loopback import Asked, in_real_time
from tests.adapters.services.world import at_paths, routed, service

NATIVE = "/api/v1/services/rerank/text-rerank/text-rerank"
RESULTS = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]


@in_real_time
async def test_a_compatible_service_gives_scores_and_tokens() -> None:
    """TestRerank; the order is the service's."""
    async with service(routed(v1__rerank={"results": RESULTS, "usage": {"total_tokens": 7}})) as here:
        found = await rerank(here.client, here.at("/v1"), "rank-1", "which?", ["a", "b"], top_n=2)
        assert here.server.asked[0].body == {"model": "rank-1", "query": "which?", "documents": ["a", "b"], "top_n": 2}
    assert found.scores == (Score(1, 0.9), Score(0, 0.1))
    assert found.input_tokens == 7


@pytest.mark.parametrize("base", ["", "/", "/api/v1", "/v1", "/compatible-mode/v1", "/compatible-mode/v1/"])
@in_real_time
async def test_dashscope_is_asked_at_its_native_address(base: str) -> None:
    """TestRerank."""

    def scores(asked: Asked) -> dict[str, Any]:
        return {"output": {"results": RESULTS[:1] if "input" in asked.body else []}}

    async with service(at_paths({NATIVE: scores})) as here:
        found = await rerank(
            here.client, here.at(base), "rank-1", "which?", ["a", "b"], top_n=1, format=RerankFormat.DASHSCOPE
        )
        assert here.server.asked[0].body == {
            "model": "rank-1",
            "input": {"query": "which?", "documents": ["a", "b"]},
            "parameters": {"return_documents": False, "top_n": 1},
        }
    assert (found.scores, found.input_tokens) == ((Score(1, 0.9),), 0)


@pytest.mark.parametrize("index", [2, -1])
@in_real_time
async def test_a_score_for_an_unknown_document_is_a_protocol_failure(index: int) -> None:
    """TestRerank."""
    async with service(routed(rerank={"results": [{"index": index, "relevance_score": 1}]})) as here:
        with pytest.raises(ServiceError) as failed:
            await rerank(here.client, here.at(), "rank-1", "which?", ["a", "b"])
    assert failed.value.kind == ErrorKind.PROTOCOL


@pytest.mark.parametrize("format", RerankFormat)
@pytest.mark.parametrize("page", [{}, {"results": []}, {"output": {}}, {"output": None, "results": None}])
@in_real_time
async def test_no_scores_are_a_protocol_failure(page: dict[str, Any], format: RerankFormat) -> None:
    async with service(at_paths({"/rerank": page, NATIVE: page})) as here:
        with pytest.raises(ServiceError) as failed:
            await rerank(here.client, here.at(), "rank-1", "which?", ["a"], format=format)
    assert failed.value.kind == ErrorKind.PROTOCOL


@in_real_time
async def test_no_documents_ask_nobody_and_an_unset_limit_is_not_sent() -> None:
    async with service(routed(rerank={"results": RESULTS[1:]})) as here:
        assert (await rerank(here.client, here.at(), "rank-1", "which?", [])).scores == ()
        assert here.server.connections == 0
        await rerank(here.client, here.at(), "rank-1", "which?", ["a"], format="compatible")
        assert "top_n" not in here.server.asked[0].body


@pytest.mark.parametrize(("top_n", "indices"), [(0, [0, 1, 2]), (1, [2]), (2, [0, 2]), (3, [0, 1, 2]), (9, [0, 1, 2])])
@in_real_time
async def test_more_scores_than_asked_for_are_cut_to_the_best(top_n: int, indices: list[int]) -> None:
    """Some services have no limit; the order stays theirs."""
    given = [{"index": index, "relevance_score": score} for index, score in enumerate((0.5, 0.1, 0.9))]
    async with service(routed(rerank={"results": given})) as here:
        found = await rerank(here.client, here.at(), "rank-1", "which?", ["a", "b", "c"], top_n=top_n)
    assert [score.index for score in found.scores] == indices


def test_the_formats_are_called_as_the_vendors_rows_call_them() -> None:
    assert [format.value for format in RerankFormat] == [format.value for format in Rerank]
