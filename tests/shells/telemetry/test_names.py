"""The names are those of the conventions, as the OpenTelemetry project publishes them."""

import re

import pytest
from turnfold.core.extensions.spans import attributes, mapping

NAME = re.compile(r'"(gen_ai\.[a-z_.]+|error\.[a-z_.]+)"')


def used() -> set[str]:
    found: set[str] = set()
    for module in (attributes, mapping):
        with open(str(module.__file__), encoding="utf-8") as file:
            found |= set(NAME.findall(file.read()))
    return found


def test_every_name_is_one_of_the_conventions() -> None:
    schemas = pytest.importorskip("opentelemetry.semconv.schemas")
    if attributes.SCHEMA not in {schema.value for schema in schemas.Schemas}:
        pytest.skip("the conventions that are installed are older than those that are used")
    known = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    names = {value for name, value in vars(known).items() if name.startswith("GEN_AI_") and isinstance(value, str)}
    assert {name for name in used() if name.startswith("gen_ai.")} - names == set()
    assert "gen_ai.usage.input_tokens" in used()
