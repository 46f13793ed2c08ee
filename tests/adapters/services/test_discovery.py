"""Lists of models, to the last page."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import trio
from turnfold.adapters.services import ListedModel, ModelType, ServiceError, Stage, UnsupportedError, discover
from turnfold.adapters.services.listed import details_of, reader_for
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.loopback import Asked, in_real_time, says
from tests.adapters.services.world import at_paths, routed, service, target


def query_of(asked: Asked) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(target(asked)).query))


def detail(asked: Asked) -> dict[str, Any]:
    if asked.body["model"] == "llava":
        return {"capabilities": ["completion", "vision"], "parameters": "stop x\nnum_ctx   8192\nnum_ctx 1"}
    return {"capabilities": ["embedding"]}


@in_real_time
async def test_models_of_ollama_are_listed_with_their_details() -> None:
    """TestDiscovery."""
    tags = {"models": [{"model": " llava "}, {"name": "nomic"}, {"model": " "}]}
    async with service(routed(api__tags=tags, api__show=detail)) as here:
        found = await discover(here.client, "ollama", here.at("/v1", key=None))
    assert found.models == (
        ListedModel("llava", "llava", ModelType.CHAT, ("image",), 8192, 8192),
        ListedModel("nomic", "nomic", ModelType.EMBEDDING),
    )
    assert found.problems == ()


@in_real_time
async def test_a_model_that_does_not_tell_its_details_is_listed_without() -> None:
    async with service(routed(api__tags={"models": [{"model": "a"}, {"model": "b"}]})) as here:
        found = await discover(here.client, "ollama", here.at())
    assert [model.id for model in found.models] == ["a", "b"]
    assert [problem.partition(":")[0] for problem in found.problems] == ["a", "b"]
    assert "404" in found.problems[0]


@in_real_time
async def test_details_are_asked_for_four_at_a_time() -> None:
    at_once, most = 0, 0
    tags = {"models": [{"model": str(number)} for number in range(9)]}

    async def answer(stream: trio.SocketStream, asked: Asked) -> None:
        nonlocal at_once, most
        if "/api/show" not in asked.line:
            await routed(api__tags=tags)(stream, asked)
            return
        at_once += 1
        most = max(most, at_once)
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        at_once -= 1
        await says("200 OK", b"{}")(stream, asked)

    async with service(answer) as here:
        assert len((await discover(here.client, "ollama", here.at())).models) == 9
    assert most == 4


@in_real_time
async def test_no_models_of_ollama_are_an_empty_list() -> None:
    async with service(routed(api__tags={"models": None})) as here:
        assert (await discover(here.client, "ollama", here.at())).models == ()


@in_real_time
async def test_models_of_openrouter_are_sorted_out_by_what_they_give() -> None:
    """TestDiscovery."""

    def entry(id: str, gives: list[str], takes: list[str], **more: Any) -> dict[str, Any]:
        return {"id": id, "architecture": {"output_modalities": gives, "input_modalities": takes}, **more}

    listed = [
        entry(
            "chat",
            ["text"],
            ["file", "image", "text", "image"],
            name=" Chat ",
            context_length=1000,
            top_provider={"max_completion_tokens": 100},
        ),
        entry("painter", ["image"], ["text"]),
        entry("both", ["text", "image"], ["text"]),
        entry("deaf", ["text"], ["audio"]),
        entry("vectors", ["embeddings"], ["text"], top_provider={"max_completion_tokens": 5}),
        entry("ranks", ["rerank"], ["text"]),
        entry("decides", ["decisions"], ["text"]),
        entry(" ", ["text"], ["text"]),
    ]
    async with service(routed(v1__models={"data": listed})) as here:
        found = await discover(here.client, "openrouter", here.at("/v1?tenant=7"))
        assert [query_of(asked) for asked in here.server.asked] == [{"tenant": "7", "output_modalities": "all"}]
    assert found.models == (
        ListedModel("chat", "Chat", ModelType.CHAT, ("image",), 1000, 100),
        ListedModel("vectors", "vectors", ModelType.EMBEDDING),
        ListedModel("ranks", "ranks", ModelType.RERANK),
        ListedModel("decides", "decides", ModelType.DECISION),
    )


@in_real_time
async def test_a_compatible_server_lists_ids_in_its_order() -> None:
    listed = [{"id": " b "}, {"id": ""}, {"id": 7}, "x", {"id": "a", "max_model_len": 4096}]
    async with service(routed(models={"data": listed})) as here:
        found = await discover(here.client, "openai_compatible", here.at())
    assert found.models == (ListedModel("b", "b"), ListedModel("a", "a", context_window=4096))


@in_real_time
async def test_a_brand_that_nobody_knows_is_unsupported() -> None:
    """TestDiscovery: ErrUnsupported."""
    async with service(routed()) as here:
        with pytest.raises(UnsupportedError, match=r"unknown brand 'opnai'; .*; did you mean openai\?$") as failed:
            await discover(here.client, "opnai", here.at())
        assert here.server.connections == 0
    assert (failed.value.kind, failed.value.stage) == (ErrorKind.INVALID_CONFIG, Stage.CAPABILITY)


@pytest.mark.parametrize("brand", ["openai", "openrouter", "google", "alibaba"])
@in_real_time
async def test_a_page_without_a_list_is_a_protocol_failure(brand: str) -> None:
    every = ("/models", "/v1beta/models", "/api/v1/models")
    async with service(at_paths({path: {"data": None} for path in every})) as here:
        with pytest.raises(ServiceError) as failed:
            await discover(here.client, brand, here.at())
    assert failed.value.kind == ErrorKind.PROTOCOL


# Pages.


def after(asked: Asked) -> dict[str, Any]:
    cursor = query_of(asked).get("after_id") or query_of(asked).get("after")
    names = ["a", "b"] if cursor is None else ["c"]
    return {"data": [{"id": name} for name in names], "has_more": cursor is None, "last_id": names[-1]}


def by_cursor(asked: Asked) -> dict[str, Any]:
    def entry(name: str) -> dict[str, Any]:
        return {"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]}

    if query_of(asked).get("pageToken") == "next":
        return {"models": [entry("c")]}
    return {"models": [entry("a"), entry("b")], "nextPageToken": "next"}


def numbered(asked: Asked) -> dict[str, Any]:
    models = {"1": ["a", "b"], "2": ["c"]}[query_of(asked)["page_no"]]
    return {"success": True, "output": {"total": 3, "models": [{"model": name} for name in models]}}


@pytest.mark.parametrize(
    ("brand", "path", "pages", "queries"),
    [
        ("anthropic", "/v1/models", after, [{"limit": "1000"}, {"limit": "1000", "after_id": "b"}]),
        ("openai", "/models", after, [{}, {"after": "b"}]),
        ("google", "/v1beta/models", by_cursor, [{"pageSize": "1000"}, {"pageSize": "1000", "pageToken": "next"}]),
        (
            "alibaba",
            "/api/v1/models",
            numbered,
            [{"page_size": "100", "page_no": "1"}, {"page_size": "100", "page_no": "2"}],
        ),
    ],
)
@in_real_time
async def test_a_list_is_read_to_its_last_page(
    brand: str, path: str, pages: Callable[[Asked], Any], queries: list[dict[str, str]]
) -> None:
    async with service(at_paths({path: pages})) as here:
        found = await discover(here.client, brand, here.at())
        assert [query_of(asked) for asked in here.server.asked] == queries
    assert [model.id for model in found.models] == ["a", "b", "c"]


@in_real_time
async def test_a_list_without_an_end_is_given_up() -> None:
    page = {"data": [{"id": "a"}], "has_more": True, "last_id": "a"}
    async with service(routed(models=page)) as here:
        with pytest.raises(ServiceError, match="does not end"):
            await discover(here.client, "openai", here.at())
        assert len(here.server.asked) == 2


# Entries.


@pytest.mark.parametrize(
    ("brand", "entry", "model"),
    [
        (
            "anthropic",
            {
                "id": "claude-x",
                "display_name": "Claude X",
                "max_input_tokens": 200_000,
                "max_tokens": 64_000,
                "capabilities": {"image_input": {"supported": True}},
            },
            ListedModel("claude-x", "Claude X", ModelType.CHAT, ("image",), 200_000, 64_000),
        ),
        ("anthropic", {"id": "claude-y"}, ListedModel("claude-y", "claude-y")),
        ("anthropic", {"display_name": "nobody"}, None),
        (
            "google",
            {
                "name": "models/gem",
                "displayName": "Gem",
                "inputTokenLimit": 100,
                "outputTokenLimit": 10,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            },
            ListedModel("gem", "Gem", ModelType.CHAT, (), 100, 10),
        ),
        (
            "google",
            {"name": "models/vec", "supportedGenerationMethods": ["embedContent"]},
            ListedModel("vec", "vec", ModelType.EMBEDDING),
        ),
        ("google", {"name": "models/art", "supportedGenerationMethods": ["predict"]}, None),
        (
            "mistral",
            {
                "id": "m",
                "name": "M",
                "capabilities": {"completion_chat": True, "vision": True},
                "max_context_length": 32,
            },
            ListedModel("m", "M", ModelType.CHAT, ("image",), 32),
        ),
        (
            "mistral",
            {"id": "m-embed", "capabilities": {"completion_chat": False}},
            ListedModel("m-embed", "m-embed", ModelType.EMBEDDING),
        ),
        ("mistral", {"id": "m-ocr", "capabilities": {"completion_chat": False}}, None),
        ("mistral", {"capabilities": {}}, None),
        (
            "moonshot",
            {"id": "k", "context_length": 9, "supports_image_in": True, "supports_video_in": True},
            ListedModel("k", "k", ModelType.CHAT, ("image", "video"), 9),
        ),
        ("alibaba", {"model": "qwen", "name": "Qwen"}, ListedModel("qwen", "Qwen")),
        ("alibaba", {"name": "qwen"}, ListedModel("qwen", "qwen")),
        ("typesafe", {"name": "t"}, ListedModel("t", "t")),
        ("openrouter", {"id": "x", "architecture": {"output_modalities": [["text"]]}}, None),
        ("openai", {"id": "o", "context_window": True}, ListedModel("o", "o")),
    ],
)
def test_an_entry_is_read_as_its_brand_writes_it(brand: str, entry: dict[str, Any], model: ListedModel | None) -> None:
    assert reader_for(brand)(entry) == model


@pytest.mark.parametrize(
    ("parameters", "window"),
    [("num_ctx 10", 10), ("num_ctx x\nnum_ctx 10", 0), ("num_ctx\nnum_ctx 10", 10), ("num_ctx -1", 0), ("", 0)],
)
def test_the_first_set_window_counts(parameters: str, window: int) -> None:
    model = details_of(ListedModel("a", "a"), {"parameters": parameters})
    assert (model.context_window, model.max_output_tokens) == (window, window)
