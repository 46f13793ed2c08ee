"""Any transcript gives a request that its protocol accepts (decisions 15 and 16)."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turnfold.adapters.models import vendor_of
from turnfold.adapters.models.config import ModelConfig
from turnfold.adapters.models.vendors import protocols_of
from turnfold.effects.model import ModelRequest
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import Message

from tests.adapters.models.answers import BRANDS, PROTOCOLS, config_of
from tests.adapters.models.transcripts import TEXTS, TOOLS, check, transcripts


def body_of(config: ModelConfig, context: list[Message], **members: Any) -> dict[str, Any]:
    return PROTOCOLS[config.vendor.protocol].build(ModelRequest("call-1", Seq(context), **members), config, None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_transcript_gives_a_request_that_passes_the_protocols_own_rules(protocol: str, data: st.DataObject) -> None:
    context = data.draw(transcripts(protocol))
    instruction, notice, tools = data.draw(TEXTS), data.draw(TEXTS), data.draw(TOOLS)
    images = data.draw(st.booleans())
    config = config_of(protocol, images=images)
    check(protocol, body_of(config, context, instruction=instruction, notice=notice, tools=tools))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_the_same_transcript_gives_the_same_request_and_stays_as_it_was(protocol: str, data: st.DataObject) -> None:
    context = data.draw(transcripts(protocol))
    before = list(map(repr, context))
    config = config_of(protocol)
    assert body_of(config, context) == body_of(config, context)
    assert list(map(repr, context)) == before


@pytest.mark.parametrize("brand", ["deepseek", "mistral", "moonshot", "volcengine", "openrouter", "google"])
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_so_it_is_for_brands_with_rules_of_their_own(brand: str, data: st.DataObject) -> None:
    protocol = data.draw(st.sampled_from(protocols_of(brand)))
    vendor = vendor_of(brand, protocol)
    assert vendor is not None
    config = ModelConfig(vendor=vendor, model="gemini-2.5-flash", base_url="https://x.example")
    context = data.draw(transcripts(protocol, brand, config.model))
    body = body_of(config, context)
    check(protocol, body, ids="[a-zA-Z0-9]{9}" if brand == "mistral" else "", latest=protocol != "gemini-generate")
    if brand == "mistral":
        roles = [message["role"] for message in body["messages"]]
        assert ("tool", "user") not in pairwise(roles)


def test_every_protocol_has_a_vendor_of_its_own_here() -> None:
    assert set(BRANDS) == set(PROTOCOLS)
