"""Making a model: what is asked for, what is checked, and what an error may say."""

import traceback
from typing import Any

import pytest
from turnfold.adapters.models import VENDORS, ConfigError, Patience, RemoteModel, make_model
from turnfold.adapters.models.config import base_url_for

SECRET = "hunter2-secret"


def error_of(*args: Any, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        make_model(*args, **options)
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
    text = error_of(brand, "m", api_key=key)
    assert brand in text
    assert "TURNFOLD_API_KEY" in text


@pytest.mark.parametrize("brand", ["ollama", "openai_compatible"])
def test_some_brands_need_no_key(brand: str) -> None:
    assert make_model(brand, "m", "http://localhost:1234").config.api_key == ""


@pytest.mark.parametrize("key", [SECRET + "\n" + SECRET, SECRET + "\u00e9", "two " + SECRET])
def test_a_key_that_no_header_can_hold_is_refused_without_repeating_it(key: str) -> None:
    assert "TURNFOLD_API_KEY" in error_of("openai", "m", api_key=key)


def test_white_space_around_a_key_is_not_part_of_it() -> None:
    assert make_model("openai", "m", api_key=" k-1234\n").config.api_key == "k-1234"


@pytest.mark.parametrize("model", ["", "  "])
def test_a_missing_model_is_asked_for(model: str) -> None:
    assert "which model of openai" in error_of("openai", model, api_key="k")


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
    assert "openai_compatible needs a base URL" in error_of("openai_compatible", "m")


@pytest.mark.parametrize("url", ["http://example.com/v1", "http://10.0.0.7:8000/v1", "http://localhost.example.com"])
def test_a_key_does_not_travel_unencrypted_unless_told_so(url: str) -> None:
    for secrets in ({"api_key": SECRET}, {"headers": {"Authorization": SECRET}}):
        text = error_of("openai_compatible", "m", url, **secrets)
        assert "unencrypted" in text
        assert "allow_http" in text
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
