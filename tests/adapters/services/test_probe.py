"""Whether a brand answers and accepts a key."""

from typing import Any

import pytest
from turnfold.adapters.models import VENDORS, vendor_of
from turnfold.adapters.models.config import base_url_for
from turnfold.adapters.services import ServiceError, Stage, UnsupportedError, embed, endpoint_for, probe
from turnfold.adapters.services.brands import listing_of
from turnfold.effects.transcript import ErrorKind

from tests.adapters.models.loopback import KEY, in_real_time
from tests.adapters.services.world import at_paths, routed, service

LIST = {"data": []}


@pytest.mark.parametrize(
    ("brand", "base", "path", "page"),
    [
        ("openai", "/v1", "/v1/models", LIST),
        ("anthropic", "", "/v1/models", LIST),
        ("anthropic", "/v1", "/v1/models", LIST),
        ("google", "", "/v1beta/models", {"models": []}),
        ("google", "/v1beta/", "/v1beta/models", {"models": []}),
        ("google", "/v1beta/openai", "/v1beta/models", {"models": []}),
        ("alibaba", "/compatible-mode/v1", "/api/v1/models", {"success": True, "output": {"models": []}}),
        ("alibaba", "/api/v1", "/api/v1/models", {"success": True, "output": {"models": []}}),
        ("alibaba", "", "/api/v1/models", {"success": True, "output": {"models": []}}),
        ("openrouter", "/api/v1", "/api/v1/key", {"data": {"label": "x"}}),
        ("typesafe", "/v1", "/v1/models", {"models": []}),
        ("ollama", "/v1", "/api/tags", {"models": []}),
        ("ollama", "", "/api/tags", {"models": []}),
        *((brand, "/v1", "/v1/models", LIST) for brand in ("deepseek", "moonshot", "zhipu", "volcengine", "minimax")),
        *((brand, "/v1", "/v1/models", LIST) for brand in ("xai", "mistral", "openai_compatible")),
    ],
)
@in_real_time
async def test_each_brand_is_asked_where_it_answers(brand: str, base: str, path: str, page: dict[str, Any]) -> None:
    """TestProbe."""
    async with service(at_paths({path: page})) as here:
        await probe(here.client, brand, here.at(base))
        (asked,) = here.server.asked
    assert asked.line.startswith("GET ")
    assert asked.body is None
    shown = {"authorization": f"Bearer {KEY}"}
    if brand == "anthropic":
        shown = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    elif brand == "google":
        shown = {"x-goog-api-key": KEY}
    every = ("authorization", "x-api-key", "anthropic-version", "x-goog-api-key")
    assert {name: asked.headers[name] for name in every if name in asked.headers} == shown


@in_real_time
async def test_without_a_key_none_is_shown() -> None:
    async with service(routed(api__tags={"models": []})) as here:
        await probe(here.client, "ollama", here.at(key=None))
        assert "authorization" not in here.server.asked[0].headers


@pytest.mark.parametrize(
    ("brand", "page"),
    [
        ("google", {"data": []}),
        ("openai", {"data": {}}),
        ("openai", {}),
        ("openrouter", {"data": []}),
        ("alibaba", {"success": False, "output": {"models": []}}),
        ("alibaba", {"success": True, "output": []}),
    ],
)
@in_real_time
async def test_an_answer_of_another_shape_is_a_protocol_failure(brand: str, page: dict[str, Any]) -> None:
    """TestProbe: google with the wrong shape."""
    every = ("/models", "/v1/models", "/v1beta/models", "/api/v1/models", "/key")
    async with service(at_paths(dict.fromkeys(every, page))) as here:
        with pytest.raises(ServiceError) as failed:
            await probe(here.client, brand, here.at())
    assert (failed.value.kind, failed.value.stage) == (ErrorKind.PROTOCOL, Stage.CAPABILITY)


@in_real_time
async def test_a_missing_path_is_not_found() -> None:
    """TestProbe: typesafe."""
    async with service(routed()) as here:
        with pytest.raises(ServiceError) as failed:
            await probe(here.client, "typesafe", here.at())
    assert (failed.value.kind, failed.value.stage) == (ErrorKind.NOT_FOUND, Stage.CAPABILITY)


@in_real_time
async def test_an_unknown_brand_is_not_asked() -> None:
    async with service(routed()) as here:
        with pytest.raises(ServiceError, match="unknown brand 'acme'") as failed:
            await probe(here.client, "acme", here.at())
        assert here.server.connections == 0
    assert (failed.value.kind, failed.value.stage) == (ErrorKind.INVALID_CONFIG, Stage.CAPABILITY)


def test_every_brand_of_the_models_can_be_probed_and_listed() -> None:
    for brand in VENDORS:
        assert listing_of(brand).path


def test_the_address_of_a_brand_is_that_of_its_models() -> None:
    """Where they are asked by the compatible protocol, if the brand speaks it: its other services are there too."""
    for brand, vendor in VENDORS.items():
        row = vendor_of(brand, "openai-chat") or vendor
        if not row.base_url:
            with pytest.raises(ServiceError, match=f"{brand} needs a base URL"):
                endpoint_for(brand, KEY)
            continue
        endpoint = endpoint_for(brand, f" {KEY} ")
        assert (endpoint.url, endpoint.name, endpoint.api_key) == (base_url_for(row, None)[0], brand, KEY)


def test_an_address_may_be_another_than_the_brands_own() -> None:
    assert endpoint_for("openai", None, "http://localhost:1/x/").url == "http://localhost:1/x"
    assert endpoint_for("typesafe", KEY, "http://10.0.0.1", allow_http=True).url == "http://10.0.0.1"
    with pytest.raises(ServiceError, match="unencrypted"):
        endpoint_for("openai", KEY, "http://10.0.0.1")
    with pytest.raises(UnsupportedError, match="unknown brand 'acme'"):
        endpoint_for("acme", KEY, "https://example.com")


@in_real_time
async def test_a_missing_key_service_says_nothing_of_models() -> None:
    async with service(routed()) as here:
        with pytest.raises(ServiceError, match="has nothing at this address; check the base URL") as failed:
            await probe(here.client, "openrouter", here.at())
        assert "model" not in str(failed.value)
        with pytest.raises(ServiceError, match="no model embed-1, or nothing at this address"):
            await embed(here.client, here.at(), "embed-1", ["x"])
