"""What is known about vendors: every brand is there, consistent, and nobody's to change."""

from typing import Any

import pytest
from turnfold.adapters.models import VENDORS, ConfigError, Gateway, Strategy, Vendor, brands, make_model, vendor_of
from turnfold.adapters.models.config import append_path, base_url_for, vendor_for
from turnfold.adapters.models.factory import protocol_of
from turnfold.adapters.models.vendors import CallIds, Rerank, protocols_of, strategies_of, through

from tests.adapters.models.answers import PROTOCOLS, stream_of
from tests.adapters.models.loopback import KEY, ask, in_real_time, serving, streams

LISTED = [
    "openai", "anthropic", "google", "deepseek", "alibaba", "moonshot", "zhipu", "volcengine", "minimax", "xai",
    "mistral", "openrouter", "typesafe", "ollama", "openai_compatible",
]  # fmt: skip
ROWS = [(brand, protocol) for brand in LISTED for protocol in protocols_of(brand)]


def row(brand: str, protocol: str = "") -> Vendor:
    vendor = vendor_of(brand, protocol)
    assert vendor is not None
    return vendor


def test_brands_are_listed_in_their_order_and_the_list_is_ones_own() -> None:
    assert brands() == list(VENDORS) == LISTED
    brands().clear()
    assert brands() == LISTED


@pytest.mark.parametrize(
    ("brand", "given", "used"),
    [
        ("openai", "https://api.example.com/v1/", "https://api.example.com/v1"),
        ("alibaba", "https://dashscope.example.com", "https://dashscope.example.com/compatible-mode/v1"),
        ("alibaba", "https://dashscope.example.com/api/v1", "https://dashscope.example.com/compatible-mode/v1"),
        (
            "alibaba",
            "https://dashscope.example.com/compatible-mode/v1/",
            "https://dashscope.example.com/compatible-mode/v1",
        ),
        ("ollama", "http://box:11434", "http://box:11434/v1"),
        ("ollama", "http://box:11434/v1", "http://box:11434/v1"),
        ("google", "https://gemini.example.com/v1beta", "https://gemini.example.com"),
        ("anthropic", "https://claude.example.com/v1", "https://claude.example.com"),
    ],
)
def test_an_address_is_made_the_protocols_own_test_compatible_url(brand: str, given: str, used: str) -> None:
    """TestCompatibleURL."""
    assert base_url_for(row(brand), given)[0] == used


def test_an_address_without_a_scheme_is_an_error() -> None:
    """TestCompatibleURL."""
    with pytest.raises(ConfigError, match="malformed"):
        base_url_for(row("openai"), "localhost:8080")


@pytest.mark.parametrize(("brand", "protocol"), ROWS)
def test_every_row_has_a_protocol_that_is_there_and_a_strategy_that_the_protocol_has(brand: str, protocol: str) -> None:
    """TestPresets."""
    vendor = row(brand, protocol)
    assert protocol_of(vendor) is PROTOCOLS[protocol]
    assert vendor.supports(vendor.structured)
    assert vendor.supports(Strategy.NONE)
    assert vendor.lacks <= strategies_of(protocol)
    assert vendor.base_url.startswith("https://") or brand in ("ollama", "typesafe", "openai_compatible")


def test_the_rows_say_what_the_vendors_document() -> None:
    """TestPresets."""
    assert (row("anthropic").protocol, row("anthropic").structured) == ("anthropic-messages", Strategy.FORCED_TOOL)
    assert (row("google").protocol, row("google").structured) == ("gemini-generate", Strategy.GEMINI)
    assert row("volcengine").protocol == "openai-responses"
    assert [name for name in LISTED if row(name).key_optional] == ["ollama", "openai_compatible"]
    assert [name for name in LISTED if row(name).rerank is Rerank.DASHSCOPE] == ["alibaba"]
    assert [name for name in LISTED if row(name).call_ids is CallIds.NINE] == ["mistral"]
    assert [name for name in LISTED if not row(name).asks_for_usage] == ["mistral"]
    assert row("openai").max_tokens == "max_completion_tokens"


@pytest.mark.parametrize(
    ("brand", "strategy"),
    [
        ("volcengine", Strategy.JSON_SCHEMA),
        ("google", Strategy.JSON_OBJECT),
        ("deepseek", Strategy.JSON_SCHEMA),
        ("anthropic", Strategy.JSON_SCHEMA),
        ("openai", Strategy.GEMINI),
    ],
)
def test_a_strategy_that_a_vendor_has_no_words_for_is_not_supported(brand: str, strategy: Strategy) -> None:
    assert not row(brand).supports(strategy)
    assert row(brand).supports(Strategy.FORCED_TOOL)


def test_an_unknown_brand_is_not_known_and_a_protocol_that_a_brand_has_not_is_none() -> None:
    """TestPresets."""
    assert vendor_of("opemai") is None
    assert vendor_of("google", "anthropic-messages") is None
    assert protocols_of("opemai") == []
    assert strategies_of("morse") == {Strategy.NONE}


@pytest.mark.parametrize("nested", [False, True])
def test_changing_a_copy_changes_no_other(nested: bool) -> None:
    """TestPresets."""
    thinking: Any = row("zhipu").thinking.off
    (thinking["thinking"] if nested else thinking)["type"] = "changed"
    for vendor in (row("zhipu"), row("moonshot"), VENDORS["zhipu"]):
        assert vendor.thinking.off == {"thinking": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("endpoint", "path", "whole"),
    [
        ("https://example.com/base/", "v1/models", "https://example.com/base/v1/models"),
        ("https://example.com", "//v1/models", "https://example.com/v1/models"),
        ("https://example.com/a%2Fb?key=1&x=", "c%20d", "https://example.com/a%2Fb/c%20d?key=1&x="),
        ("https://example.com/a//", "b", "https://example.com/a//b"),
    ],
)
def test_a_path_is_put_below_an_address_test_append_path(endpoint: str, path: str, whole: str) -> None:
    """TestAppendPath."""
    assert append_path(endpoint, path) == whole


@pytest.mark.parametrize(
    ("endpoint", "path"), [("example.com", "a"), ("https://example.com/%zz", "a"), ("https://e.com", "%")]
)
def test_an_escape_that_is_none_is_an_error(endpoint: str, path: str) -> None:
    """TestAppendPath."""
    with pytest.raises(ConfigError, match="malformed"):
        append_path(endpoint, path)


# --- protocols and gateways


def test_a_protocol_that_a_brand_does_not_speak_is_told_what_it_speaks() -> None:
    with pytest.raises(
        ConfigError, match="google does not speak 'openai-responses', only gemini-generate, openai-chat"
    ):
        vendor_for("google", "openai-responses")


def test_a_gateway_names_its_protocol_itself() -> None:
    with pytest.raises(ConfigError, match="leave the other one out"):
        vendor_for("google", "openai-chat", Gateway())


def test_a_gateway_with_a_protocol_that_nobody_knows_is_told_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown protocol 'morse'; known are openai-chat"):
        make_model("google", "m", "https://x.example", KEY, gateway=Gateway("morse"))


def test_behind_a_gateway_a_vendor_keeps_its_name_and_loses_what_describes_its_own_server() -> None:
    vendor = through(row("anthropic"), Gateway())
    assert (vendor.name, vendor.protocol, vendor.base_url, vendor.strips) == ("anthropic", "openai-chat", "", ())
    assert vendor.structured is Strategy.FORCED_TOOL
    assert through(row("google"), Gateway()).structured is Strategy.FORCED_TOOL
    assert through(row("openai"), Gateway()).max_tokens == "max_tokens"
    assert through(row("openai"), Gateway("openai-responses")).max_tokens == "max_output_tokens"


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_a_gateway_speaks_any_protocol(protocol: str) -> None:
    vendor = through(row("deepseek"), Gateway(protocol))
    assert protocol_of(vendor) is PROTOCOLS[protocol]
    assert vendor.supports(vendor.structured)


@pytest.mark.parametrize("keeps", [False, True])
@in_real_time
async def test_a_gateway_keeps_its_endpoint_and_the_thinking_switch_when_asked(keeps: bool) -> None:
    """TestGatewayKeepsEndpoint."""
    _, body, _ = stream_of("openai-chat/plain")
    gateway = Gateway(keeps_thinking=keeps)
    async with (
        serving(streams([body])) as server,
        make_model("alibaba", "m", f"{server.url}/v1", KEY, gateway=gateway, reasoning="off") as model,
    ):
        await ask(model)
        (asked,) = server.asked
    assert asked.line == "POST /v1/chat/completions HTTP/1.1"
    assert (asked.body.get("enable_thinking") is False) is keeps
    assert "chat_template_kwargs" in asked.body or not keeps


# --- every row, to where it is sent

PATHS = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic-messages": "/v1/messages",
    "gemini-generate": "/v1beta/models/m:streamGenerateContent?alt=sse",
}
PREFIXES = {
    ("alibaba", "openai-chat"): "/compatible-mode/v1",
    ("ollama", "openai-chat"): "/v1",
    ("google", "openai-chat"): "/v1beta/openai",
}


@pytest.mark.parametrize(("brand", "protocol"), ROWS)
@in_real_time
async def test_every_brand_is_asked_at_its_path_with_its_key_in_a_header(brand: str, protocol: str) -> None:
    _, body, _ = stream_of(f"{protocol}/plain")
    async with (
        serving(streams([body])) as server,
        make_model(brand, "m", server.url, KEY, protocol=protocol) as model,
    ):
        await ask(model)
        (asked,) = server.asked
    assert asked.line == f"POST {PREFIXES.get((brand, protocol), '')}{PATHS[protocol]} HTTP/1.1"
    assert KEY not in asked.line
    sent = {name for name, value in asked.headers.items() if KEY in value}
    expected = {"gemini-generate": {"x-goog-api-key"}, "anthropic-messages": {"authorization", "x-api-key"}}
    assert sent == expected.get(protocol, {"authorization"})
    assert asked.headers["content-type"] == "application/json"
    assert "text/event-stream" in asked.headers["accept"] or protocol != "gemini-generate"


@in_real_time
async def test_the_name_of_a_model_is_one_part_of_the_address() -> None:
    _, body, _ = stream_of("gemini-generate/plain")
    async with (
        serving(streams([body])) as server,
        make_model("google", "models/a/../b?c", f"{server.url}/x?token=1", KEY) as model,
    ):
        await ask(model)
        (asked,) = server.asked
    assert asked.line == "POST /x/v1beta/models/a%2F..%2Fb%3Fc:streamGenerateContent?alt=sse&token=1 HTTP/1.1"
