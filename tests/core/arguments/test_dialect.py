"""Any schema as one of a single dialect, and what is refused when a tool is registered."""

import json
from typing import Any

import pytest
from turnfold.core.arguments.dialect import TUPLE, document_of, target_of
from turnfold.effects.schema import SchemaError


def document(schema: Any) -> Any:
    return document_of(schema)[0]


def referred(schema: Any, way: str = "v") -> Any:
    """What the reference of a property means in the document."""
    written = document(schema)
    return target_of(written, written["properties"][way]["$ref"])[0]


def test_lists_of_items_become_prefix_items() -> None:
    written = document({"items": [{"type": "string"}], "additionalItems": {"type": "number"}})
    assert written == {TUPLE: True, "prefixItems": [{"type": "string"}], "items": {"type": "number"}}


def test_additional_items_mean_nothing_without_a_list_of_items() -> None:
    assert document({"items": {"type": "string"}, "additionalItems": False}) == {"items": {"type": "string"}}


def test_the_words_of_all_drafts_are_taken_whatever_the_schema_claims_to_be() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "prefixItems": [True],
        "dependentRequired": {"a": []},
    }
    assert document(schema) == {"prefixItems": [True], "dependentRequired": {"a": []}}


def test_what_says_nothing_about_values_is_left_out() -> None:
    assert document({"title": "A", "description": "B", "examples": [1], "x-mine": {}, "readOnly": True}) == {}


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"properties": {"$schema": {"type": "string"}, "enum": {"const": {"$ref": "#/nowhere"}}}}
    assert document(schema) == schema


def test_a_type_that_nobody_knows_is_any_type() -> None:
    assert document({"type": "float", "minimum": 1}) == {"minimum": 1}
    assert document({"type": ["string", "date"]}) == {}


def test_exclusive_limits_of_draft_4_mean_nothing() -> None:
    assert document({"minimum": 1, "exclusiveMinimum": True, "exclusiveMaximum": 3}) == {
        "minimum": 1,
        "exclusiveMaximum": 3,
    }


def test_the_document_shares_nothing_with_the_schema() -> None:
    schema = {"enum": [["a"]], "properties": {"a": {"default": {"b": 1}}}}
    written = document(schema)
    schema["enum"][0].append("z")
    schema["properties"]["a"]["default"]["b"] = 2
    assert written == {"enum": [["a"]], "properties": {"a": {"default": {"b": 1}}}}


@pytest.mark.parametrize(
    ("reference", "root"),
    [
        ("#/$defs/n", {"$defs": {"n": {"type": "number"}}}),
        ("#/definitions/n", {"definitions": {"n": {"type": "number"}}}),
        ("#/$defs/a~1b~0c", {"$defs": {"a/b~c": {"type": "number"}}}),
        ("#/$defs/~01", {"$defs": {"~1": {"type": "number"}}}),
        ("#/$defs/a%20b%c3%a9", {"$defs": {"a bé": {"type": "number"}}}),
        ("#/x-types/0", {"x-types": [{"type": "number"}]}),
        ("#/items/0", {"items": [{"type": "number"}]}),
        ("#num", {"$defs": {"n": {"$anchor": "num", "type": "number"}}}),
        ("#num", {"$defs": {"n": {"$dynamicAnchor": "num", "type": "number"}}}),
        ("#num", {"definitions": {"n": {"$id": "#num", "type": "number"}}}),
        ("other", {"$id": "https://s.example/a/root", "$defs": {"n": {"$id": "other", "type": "number"}}}),
        ("/a/b", {"$id": "https://s.example/x/y", "$defs": {"n": {"$id": "/a/b", "type": "number"}}}),
        ("urn:n", {"$defs": {"n": {"$id": "urn:n", "type": "number"}}}),
        ("urn:n#/$defs/m", {"$defs": {"n": {"$id": "urn:n", "$defs": {"m": {"type": "number"}}}}}),
    ],
)
def test_references_within_the_document_are_found(reference: str, root: dict[str, Any]) -> None:
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        assert referred({**root, "properties": {"v": {keyword: reference}}}) == {"type": "number"}


def test_a_pointer_is_about_the_document_that_it_stands_in() -> None:
    inner = {"$id": "urn:inner", "$defs": {"a": {"const": 1}}, "properties": {"v": {"$ref": "#/$defs/a"}}}
    written = document({"$defs": {"a": {"const": 2}}, "allOf": [inner]})
    assert target_of(written, written["allOf"][0]["properties"]["v"]["$ref"])[0] == {"const": 1}


def test_a_reference_to_the_root_is_one_to_a_copy_of_it() -> None:
    schema = {"type": "object", "properties": {"v": {"$ref": "#"}}}
    written = document(schema)
    target = referred(schema)
    assert target["type"] == "object"
    assert target["properties"]["v"] == written["properties"]["v"]


def test_a_reference_to_nothing_accepts_nothing() -> None:
    for nothing in ("#/$defs/none", "#none", "#/properties/v/enum/7", "#/properties/v/enum/x"):
        assert referred({"properties": {"v": {"$ref": nothing, "enum": [1]}}}) is False


def test_only_what_is_referred_to_is_kept() -> None:
    schema = {"$ref": "#/$defs/used", "$defs": {"used": {"type": "null"}, "unused": {"type": 5}}}
    assert document(schema) == {"$ref": "#/$defs/used", "$defs": {"used": {"type": "null"}}}


def test_places_with_the_same_last_word_are_kept_apart() -> None:
    schema = {
        "properties": {"v": {"$ref": "#/$defs/a"}, "w": {"$ref": "#/x/a"}},
        "$defs": {"a": {"const": 1}},
        "x": {"a": {"const": 2}},
    }
    assert [referred(schema, "v"), referred(schema, "w")] == [{"const": 1}, {"const": 2}]


@pytest.mark.parametrize(
    ("schema", "where", "problem"),
    [
        ("text", (), "a schema is an object, true or false, not str"),
        ({"properties": {"a": 5}}, ("properties", "a"), "a schema is an object, true or false, not int"),
        ({"properties": []}, ("properties",), "it must be an object, not list"),
        ({"allOf": {}}, ("allOf",), "it must be a list, not dict"),
        ({"anyOf": []}, ("anyOf",), "it is empty, so nothing could ever meet it"),
        ({"not": {"$ref": 5}}, ("not", "$ref"), "a reference is a text, not int"),
        ({"$ref": "#", "$dynamicRef": "#"}, (), "it has both $ref and $dynamicRef; put one of them into allOf"),
        ({"items": [], "prefixItems": []}, (), "it has prefixItems and a list of items; use one of them"),
        (
            {"items": {"$ref": "https://else.example/s#/a"}},
            ("items", "$ref"),
            "it refers to https://else.example/s, which is not part of it; nothing is ever fetched",
        ),
        (
            {"items": {"$ref": "file.json"}},
            ("items", "$ref"),
            "it refers to file.json, which is not part of it; nothing",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_with_its_place(schema: Any, where: tuple[str, ...], problem: str) -> None:
    with pytest.raises(SchemaError) as caught:
        document_of(schema)
    assert caught.value.where == where
    assert caught.value.problem.startswith(problem)
    assert str(caught.value).startswith("the schema cannot be used: " + ".".join(where))


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"not": {"if": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [{"$ref": "#/not"}]}}},
        {"items": {"$ref": "#/items"}},
        {
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"dependentSchemas": {"x": {"$ref": "#/$defs/a"}}}},
        },
    ],
)
def test_a_schema_that_refers_to_itself_about_the_same_value_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="refers to itself without going into the value"):
        document_of(schema)


def test_a_schema_may_refer_to_itself_about_a_part_of_the_value() -> None:
    for schema in ({"items": {"$ref": "#"}}, {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}):
        assert document_of(schema)[1] <= 3


def nested(depth: int, keyword: str = "items") -> Any:
    schema: Any = {}
    for _ in range(depth):
        schema = {keyword: schema}
    return schema


def chained(length: int) -> Any:
    places = {f"d{index}": {"$ref": f"#/$defs/d{index + 1}"} for index in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**places, f"d{length}": {}}}


def multiplied(width: int, times: int) -> Any:
    places = {f"d{index}": {"anyOf": [{"$ref": f"#/$defs/d{index + 1}"}] * width} for index in range(times)}
    return {"$ref": "#/$defs/d0", "$defs": {**places, f"d{times}": {}}}


@pytest.mark.parametrize(
    "schema", [nested(60), nested(20, "not"), chained(20), multiplied(4, 5), {"enum": [[[]]] * 2_000}]
)
def test_large_schemas_are_taken(schema: Any) -> None:
    document_of(schema)


@pytest.mark.parametrize(
    "schema",
    [
        nested(70),
        nested(30, "not"),
        nested(100_000),
        chained(40),
        chained(30_000),
        multiplied(4, 8),
        multiplied(2, 40),
        {"properties": {str(index): {} for index in range(30_000)}},
        {"properties": {str(index): {} for index in range(100_000)}},
        {"const": json.loads("[" * 900 + "]" * 900)},
    ],
    ids=[
        "deep",
        "in-place",
        "too-deep-to-go-through",
        "chain",
        "endless",
        "branches",
        "many-branches",
        "wide",
        "wider",
        "deep-value",
    ],
)
def test_schemas_that_a_checker_might_not_survive_are_refused(schema: Any) -> None:
    """A recursion in the library that is too deep would end the process."""
    with pytest.raises(SchemaError, match=r"deep|parts|for one value"):
        document_of(schema)
