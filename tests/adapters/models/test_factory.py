"""Making a model: what is asked for, what is checked, and what an error may say."""

import inspect
import traceback
from typing import Any

import pytest
from turnfold.adapters.models import VENDORS, ConfigError, Patience, RemoteModel, make_model
from turnfold.adapters.models.config import base_url_for
from turnfold.effects.handed_in import LEVELS

SECRET = "hunter2-secret"


def error_of(*args: Any, about: str | None = None, **options: Any) -> str:
    """The error of making a model so, which is about this parameter, and tells nothing that must not be told."""
    with pytest.raises(ConfigError) as caught:
        make_model(*args, **options)
    assert about is None or caught.value.about == about
    chain = "".join(traceback.format_exception(caught.value)[-1:]) + repr(caught.value)
    causes: list[BaseException | None] = [caught.value.__cause__, caught.value.__context__]
    assert SECRET not in chain + repr(causes)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_an_unknown_brand_is_told_the_known_ones() -> None:
    text = error_of("opemai", "m")
    assert "'opemai'" in text
    assert all(brand in text for brand in VENDORS)


@pytest.mark.parametrize("brand", ["openai", "anthropic"])
@pytest.mark.parametrize("key", [None, "", "  \n"])
def test_a_missing_key_names_where_to_put_it(brand: str, key: str | None) -> None:
    text = error_of(brand, "m", api_key=key, about="api_key")
    assert brand in text
    assert text.endswith("say api_key=...")


@pytest.mark.parametrize("brand", ["ollama", "openai_compatible"])
def test_some_brands_need_no_key(brand: str) -> None:
    assert make_model(brand, "m", "http://localhost:1234").config.api_key == ""


@pytest.mark.parametrize("key", [SECRET + "\n" + SECRET, SECRET + "\u00e9", "two " + SECRET])
def test_a_key_that_no_header_can_hold_is_refused_without_repeating_it(key: str) -> None:
    assert "characters that no key has" in error_of("openai", "m", api_key=key, about="api_key")


def test_white_space_around_a_key_is_not_part_of_it() -> None:
    assert make_model("openai", "m", api_key=" k-1234\n").config.api_key == "k-1234"


@pytest.mark.parametrize("model", ["", "  "])
def test_a_missing_model_is_asked_for(model: str) -> None:
    assert "which model of openai" in error_of("openai", model, api_key="k", about="model")


@pytest.mark.parametrize(
    "url",
    [
        f"localhost:8080/{SECRET}",
        f"example.com/{SECRET}",
        f"ftp://example.com/{SECRET}",
        f"http:///{SECRET}",
        f"https://example.com:{SECRET}/v1",
        f"https://example.com:99999/{SECRET}",
        f"https://[{SECRET}/v1",
        f"https://exa mple.com/{SECRET}",
        f"https://example.com/{SECRET}#top",
        f"https://ex\u00e4mple.com/{SECRET}",
    ],
)
def test_a_malformed_address_is_refused_without_repeating_it(url: str) -> None:
    assert "malformed" in error_of("openai_compatible", "m", url)


def test_a_password_in_the_address_is_refused_without_repeating_it() -> None:
    assert "password" in error_of("openai", "m", f"https://me:{SECRET}@example.com/v1", "k")


def test_a_brand_without_an_address_of_its_own_asks_for_one() -> None:
    assert "openai_compatible needs a base URL" in error_of("openai_compatible", "m", about="base_url")


@pytest.mark.parametrize("url", ["", "  "])
def test_an_address_that_was_forgotten_is_not_the_brands_own(url: str) -> None:
    """A variable that is not set, say: the key would go elsewhere than meant."""
    text = error_of("openai", "m", url, SECRET, about="base_url")
    assert "needs a base URL" in text
    assert text.endswith("or None for openai's own")
    assert not error_of("openai_compatible", "m", url).endswith("own")


@pytest.mark.parametrize("brand", ["openai", "anthropic", "ollama"])
def test_an_escape_in_an_address_that_is_none_is_refused(brand: str) -> None:
    assert "must begin an escape" in error_of(brand, "m", "https://x.example/%zz", "k", about="base_url")


@pytest.mark.parametrize("url", ["http://example.com/v1", "http://10.0.0.7:8000/v1", "http://localhost.example.com"])
def test_a_key_does_not_travel_unencrypted_unless_told_so(url: str) -> None:
    for secrets in ({"api_key": SECRET}, {"headers": {"Authorization": SECRET}}):
        text = error_of("openai_compatible", "m", url, **secrets)
        assert "unencrypted" in text
        assert "allow_http" in text
        assert error_of("openai_compatible", "m", url, about="allow_http", **secrets)
        assert make_model("openai_compatible", "m", url, allow_http=True, **secrets)
    assert make_model("openai_compatible", "m", url)


@pytest.mark.parametrize(
    "url", ["http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:8000/v1", "http://a.localhost"]
)
def test_on_this_machine_a_key_may_travel_unencrypted(url: str) -> None:
    assert make_model("openai_compatible", "m", url, SECRET)


@pytest.mark.parametrize(
    ("brand", "url", "used"),
    [
        ("openai", None, "https://api.openai.com/v1"),
        ("openai", "https://gateway.example/openai/v1/", "https://gateway.example/openai/v1"),
        ("anthropic", None, "https://api.anthropic.com"),
        ("anthropic", "https://gateway.example/a/v1/", "https://gateway.example/a"),
        ("ollama", None, "http://localhost:11434/v1"),
        ("ollama", "http://box:11434/", "http://box:11434/v1"),
        ("ollama", "http://box:11434/v1", "http://box:11434/v1"),
        ("openai_compatible", " https://x.example/a%2Fb/ ", "https://x.example/a%2Fb"),
    ],
)
def test_addresses_work_with_and_without_the_protocols_own_part(brand: str, url: str | None, used: str) -> None:
    assert base_url_for(VENDORS[brand], url) == (used, {})


def test_a_query_goes_with_every_request() -> None:
    model = make_model("openai", "m", "https://x.example/v1?api-version=7&empty=", "k")
    assert model.config.base_url == "https://x.example/v1"
    assert model.config.query == {"api-version": "7", "empty": ""}


def test_nothing_that_shows_a_model_shows_a_secret() -> None:
    model = make_model(
        "openai", "m", f"https://x.example/v1?token={SECRET}", SECRET, headers={"X-Token": SECRET}, metadata=SECRET
    )
    assert isinstance(model, RemoteModel)
    for shown in (repr(model), str(model), repr(model.config), repr(vars(model))):
        assert SECRET not in shown
    assert "x.example" in repr(model)


def test_settings_and_options_are_kept_apart() -> None:
    config = make_model("openai", "m", api_key="k", images=False, patience=Patience(stall_s=1), temperature=0).config
    assert (config.images, config.patience.stall_s, config.options) == (False, 1, {"temperature": 0})


def test_vendors_are_known_by_their_own_names_and_documented_addresses() -> None:
    assert all(name == vendor.name for name, vendor in VENDORS.items())
    assert all(url.startswith(("https://", "http://localhost")) for v in VENDORS.values() if (url := v.base_url))


@pytest.mark.parametrize(
    ("name", "value", "says_so"),
    [
        ("brand", None, "brand must be a string, not NoneType"),
        ("model", None, "model must be a string, the model's name, not NoneType"),
        ("base_url", b"https://x.example", "base_url must be a string, not bytes"),
        ("protocol", None, "protocol must be a string, not NoneType"),
        ("gateway", "openai-chat", "gateway must be a Gateway(...), not str"),
        ("images", "no", "images must be True or False, not str"),
        ("max_output_tokens", "7", "max_output_tokens must be a whole number, 0 for no limit, not str"),
        ("max_output_tokens", True, "max_output_tokens must be a whole number, 0 for no limit, not bool"),
        ("max_output_tokens", 7.0, "max_output_tokens must be a whole number, 0 for no limit, not float"),
        ("max_output_tokens", -1, "max_output_tokens must not be negative"),
        ("pauses", -1, "pauses must not be negative"),
        ("pauses", None, "pauses must be a whole number, not NoneType"),
        ("patience", 5, "patience must be a Patience(...), not int"),
        ("allow_http", "false", "allow_http must be True or False, not str"),
        ("wording", "x", "wording must be a Wording(...), not str"),
        ("headers", ["X: 1"], "headers must be a mapping from names to strings, not list"),
        ("headers", {"X": 3}, "the header X must be a string, not int"),
        ("headers", {"X": None}, "the header X must be a string, not NoneType"),
        ("headers", {3: "x"}, "a header has a name that no header has"),
        ("headers", {f"X {SECRET}": "x"}, "a header has a name that no header has"),
        ("headers", {"X": f"{SECRET}\n"}, "the header X has characters that cannot be sent"),
        ("headers", {"X": f"{SECRET}\u00e9"}, "the header X has characters that cannot be sent"),
        ("reasoning", True, "reasoning must be one of off, minimal, low, medium, high, xhigh, max, not True"),
        ("reasoning", 3, "reasoning must be one of off, minimal, low, medium, high, xhigh, max, not 3"),
        ("reasoning", "hgih", "not 'hgih'; did you mean high?"),
        ("reasoning", "none", "not 'none'"),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_when_a_model_is_made(name: str, value: Any, says_so: str) -> None:
    given = {"brand": "openai", "model": "m", "api_key": "k-1234", name: value}
    assert says_so in error_of(about=name, **given)


@pytest.mark.parametrize(
    ("name", "says_so"),
    [
        ("url", "base_url="),
        ("base_uri", "base_url"),
        ("baseurl", "base_url"),
        ("api_base", "base_url="),
        ("endpoint", "base_url="),
        ("apikey", "api_key"),
        ("api_keys", "api_key"),
        ("token", "api_key="),
        ("timeout", "patience=Patience("),
        ("max_retries", "Retries"),
        ("default_headers", "headers="),
        ("header", "headers"),
        ("system", "instruction="),
        ("max_output_token", "max_output_tokens"),
        ("maxOutputTokens", "max_output_tokens"),
        ("reasonning", "reasoning"),
        ("allow_https", "allow_http"),
        ("gatway", "gateway"),
        ("patience_s", "patience"),
        ("stream", "the request's"),
        ("http_client", "proxies"),
    ],
)
def test_a_name_that_is_not_ours_is_no_member_of_the_body(name: str, says_so: str) -> None:
    """A mistyped address would send the key to the brand's own."""
    text = error_of("openai", "m", api_key=SECRET, about=name, **{name: "https://x.example"})
    assert text.startswith(f"make_model has no parameter {name}: ")
    assert says_so in text


MEMBERS = """
audio background betas cache_control cached_content cachedContent cache_breakpoints chat_template_kwargs container
context_management conversation do_sample enable_search enable_thinking format frequency_penalty function_call functions
generationConfig guided_json image_config include inference_geo keep_alive labels logit_bias logprobs
max_completion_tokens max_tokens max_tool_calls mcp_servers metadata min_p modalities models n options output_config
parallel_tool_calls plugins prediction presence_penalty previous_response_id prompt prompt_cache_key prompt_mode
provider random_seed reasoning_effort reasoning_format reasoning_split repetition_penalty request_id response_format
route safe_prompt safetySettings safety_identifier search_options search_parameters seed service_tier stop
stop_sequences store stream_options temperature text think thinking thinking_budget toolConfig tool_choice tools
top_k top_logprobs top_p transforms truncation usage user verbosity vl_high_resolution_images web_search_options
"""


def test_members_of_bodies_are_not_taken_for_slips() -> None:
    given: dict[str, Any] = dict.fromkeys(MEMBERS.split(), "x")
    assert make_model("openai", "m", api_key="k-1234", **given).config.options == given


@pytest.mark.parametrize("level", [*LEVELS, {"effort": "low"}])
def test_reasoning_is_a_level_or_what_the_body_says(level: Any) -> None:
    assert make_model("openai", "m", api_key="k-1234", reasoning=level).config.options == {"reasoning": level}


@pytest.mark.parametrize("nothing", [None, "", {}])
def test_nothing_is_said_of_reasoning_where_nobody_asked(nothing: Any) -> None:
    assert make_model("openai", "m", api_key="k-1234", reasoning=nothing).config.options == {}


def test_no_limit_may_be_said_in_two_ways() -> None:
    for none in (0, None):
        assert make_model("openai", "m", api_key="k-1234", max_output_tokens=none).config.max_output_tokens == 0


def test_every_parameter_is_explained_and_the_help_is_short() -> None:
    signature = inspect.signature(make_model)
    assert [name for name in signature.parameters if f"``{name}``" not in (make_model.__doc__ or "")] == []
    assert "Callable" not in str(signature)
    assert len(str(signature)) < 700


@pytest.mark.parametrize(
    ("brand", "meant"), [("gemini", "google"), ("Claude", "anthropic"), ("OpenAI", "openai"), ("mistrall", "mistral")]
)
def test_a_brand_by_another_name_is_understood(brand: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"^unknown brand {brand!r}; known are openai, .*; did you mean {meant}\?$"):
        make_model(brand, "m")


def test_a_brand_that_is_like_no_other_is_only_unknown() -> None:
    with pytest.raises(ConfigError, match=r"openai_compatible$"):
        make_model("zzz", "m")


def test_a_key_in_the_place_of_the_address_is_taken_for_an_address() -> None:
    with pytest.raises(ConfigError, match="base URL is malformed"):
        make_model("anthropic", "m", "sk-a-key")
