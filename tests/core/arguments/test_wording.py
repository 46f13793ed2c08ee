"""What a model is told about arguments that are not valid."""

from typing import Any

import pytest
from turnfold.adapters.schemas import check_with_rust
from turnfold.core.arguments import LINES_MAX, RECEIVED_MAX, prepare

from tests.core.arguments.calls import about, told


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "string"}, [], "must be string"),
        ({"type": ["string", "null"]}, [], "must be either string or null"),
        ({"type": ["integer"]}, "x", "must be either integer"),
        ({"enum": [1, 2]}, 3, "must be equal to one of the allowed values"),
        ({"const": {"a": 1}}, {"a": 2}, "must be equal to constant"),
        ({"minLength": 2}, "é", "must not have fewer than 2 characters"),
        ({"maxLength": 1}, "ab", "must not have more than 1 characters"),
        ({"pattern": "^a\\d"}, "b1", 'must match pattern "^a\\d"'),
        ({"format": "date"}, "2023-02-29", 'must match format "date"'),
        ({"minimum": 1.5}, 1, "must be >= 1.5"),
        ({"maximum": 1e21}, 2e21, "must be <= 1e+21"),
        ({"exclusiveMinimum": 0}, 0, "must be > 0"),
        ({"exclusiveMaximum": 2.0}, 2, "must be < 2"),
        ({"multipleOf": 0.1}, 0.35, "must be multiple of 0.1"),
        ({"minItems": 2}, [1], "must not have fewer than 2 items"),
        ({"maxItems": 1}, [1, 2], "must not have more than 1 items"),
        ({"uniqueItems": True}, [1, 1.0], "must not have duplicate items"),
        ({"minProperties": 1}, {}, "must not have fewer than 1 properties"),
        ({"maxProperties": 0}, {"a": 1}, "must not have more than 0 properties"),
        ({"not": {"type": "string"}}, "x", "must not be valid"),
        (False, 1, "schema is false"),
        ({"unevaluatedItems": False}, [1], "must not have unevaluated items"),
        ({"unevaluatedProperties": False}, {"a": 1}, "must not have unevaluated properties"),
        ({"contains": {"const": 1}}, [2], "must contain at least 1 valid item"),
    ],
)
def test_each_keyword_says_what_must_be_true(schema: Any, value: Any, problem: str) -> None:
    assert about(schema, value) == problem


class TestPaths:
    def test_they_lead_to_the_value(self) -> None:
        schema = {"properties": {"a": {"items": {"properties": {"b": {"type": "string"}}}}}}
        assert told(schema, {"a": [{}, {"b": []}]}) == ["a.1.b: must be string"]

    def test_the_whole_value_is_the_root(self) -> None:
        assert told({"type": "string"}, []) == ["root: must be string"]

    def test_a_slash_in_a_name_is_written_as_a_dot(self) -> None:
        assert told({"properties": {"a/b": {"properties": {"c~d": False}}}}, {"a/b": {"c~d": 1}}) == [
            "a.b.c~d: schema is false"
        ]

    @pytest.mark.parametrize("name", ["1", "01", "+1", "", "items", "~1", "%", "ü b"])
    def test_any_name_leads_to_its_own_value(self, name: str) -> None:
        schema = {"properties": {name: {"type": "string"}, "1": {"type": "string"}, "other": {"type": "string"}}}
        assert told(schema, {name: [], "other": []}) == [f"{name or 'root'}: must be string", "other: must be string"]

    def test_of_missing_members_the_first_is_named(self) -> None:
        schema = {"properties": {"o": {"required": ["a/b", "c", "d"]}}}
        assert told(schema, {"o": {"c": 1}}) == ["o.a/b: must have required properties a/b, d"]
        assert told({"required": ["", "x"]}, {}) == ["root: must have required properties , x"]


class TestOrder:
    def test_keywords_come_by_rank_and_members_in_the_order_of_the_schema(self) -> None:
        schema = {
            "properties": {"b": {"type": "integer", "enum": [1]}, "a": {"type": "array", "maxItems": 0}},
            "additionalProperties": False,
            "required": ["c", "a"],
            "type": "object",
            "maxProperties": 2,
        }
        assert told(schema, {"z": 1, "a": [1], "b": "x"}) == [
            "c: must have required properties c",
            "z: schema is false",
            "root: must not have additional properties",
            "b: must be integer",
            "b: must be equal to one of the allowed values",
            "a: must not have more than 0 items",
            "root: must not have more than 2 properties",
        ]

    def test_names_that_are_numbers_come_first_as_in_javascript(self) -> None:
        assert told({"additionalProperties": False}, {"b": 1, "10": 1, "9": 1}) == [
            "9: schema is false",
            "10: schema is false",
            "b: schema is false",
            "root: must not have additional properties",
        ]

    def test_patterns_come_in_the_order_of_the_schema_then_of_the_value(self) -> None:
        schema = {"patternProperties": {"z": {"type": "null"}, "a": {"type": "null"}}}
        assert told(schema, {"az": 1, "z": 1, "a": 1}) == [
            "az: must be null",
            "z: must be null",
            "az: must be null",
            "a: must be null",
        ]

    def test_items_come_before_prefix_items(self) -> None:
        schema = {"prefixItems": [{"type": "string"}], "items": {"type": "string"}, "maxItems": 1}
        assert told(schema, [1, 2]) == [
            "1: must be string",
            "root: must not have more than 1 items",
            "0: must be string",
        ]

    def test_a_tuple_is_told_where_items_and_additional_items_are(self) -> None:
        schema = {"items": [{"type": "string"}], "additionalItems": {"type": "string"}, "minItems": 5}
        assert told(schema, [1, 2, 3]) == [
            "1: must be string",
            "0: must be string",
            "root: must not have fewer than 5 items",
        ]

    def test_no_more_than_eight_lines_are_told(self) -> None:
        schema = {"items": {"type": "string"}}
        assert told(schema, [[]] * 20) == [f"{index}: must be string" for index in range(LINES_MAX)]


class TestSchemasInSchemas:
    def test_of_additional_members_each_is_told_and_then_all(self) -> None:
        schema = {
            "properties": {"a": True},
            "patternProperties": {"^p": True},
            "additionalProperties": {"type": "null"},
        }
        assert told(schema, {"a": 1, "p1": 1, "x": 1, "y": None, "z": 1}) == [
            "x: must be null",
            "z: must be null",
            "root: must not have additional properties",
        ]

    def test_of_names_each_is_told_and_then_all(self) -> None:
        schema = {"propertyNames": {"anyOf": [{"maxLength": 1}, {"pattern": "^ok"}]}}
        assert told(schema, {"no": 1, "a": 1, "ok1": 1, "not": 1}) == [
            "no: must not have more than 1 characters",
            'no: must match pattern "^ok"',
            "no: must match a schema in anyOf",
            "not: must not have more than 1 characters",
            'not: must match pattern "^ok"',
            "not: must match a schema in anyOf",
            "root: property names no, not are invalid",
        ]

    def test_of_a_union_each_branch_is_told_and_then_the_union(self) -> None:
        branches = [{"required": ["a"]}, {"properties": {"b": {"type": "null"}}}]
        assert told({"anyOf": branches}, {"b": 1}) == [
            "a: must have required properties a",
            "b: must be null",
            "root: must match a schema in anyOf",
        ]
        assert told({"oneOf": branches}, {"b": 1})[-1] == "root: must match exactly one schema in oneOf"

    def test_when_too_many_branches_accept_only_that_is_told(self) -> None:
        schema = {"oneOf": [{"type": "number"}, {"minimum": 0}, {"type": "string"}]}
        assert told(schema, 5) == ["root: must match exactly one schema in oneOf"]

    def test_all_of_and_references_add_nothing(self) -> None:
        schema = {"allOf": [{"$ref": "#/$defs/a"}, {"minLength": 9}], "$defs": {"a": {"maxLength": 1}}}
        assert told(schema, "abc") == [
            "root: must not have more than 1 characters",
            "root: must not have fewer than 9 characters",
        ]

    def test_a_reference_is_told_beside_its_neighbours(self) -> None:
        schema = {"$ref": "#/$defs/a", "maximum": 3, "$defs": {"a": {"type": "integer"}}}
        assert told(schema, 5.5) == ["root: must be <= 3", "root: must be integer"]

    def test_of_a_condition_only_what_is_otherwise_is_told(self) -> None:
        schema = {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}
        assert told(schema, {"a": 1}) == ['root: must match "then" schema']
        assert told(schema, {}) == ["c: must have required properties c", 'root: must match "else" schema']

    def test_dependents_are_told_by_the_word_that_asks_for_them(self) -> None:
        line = "root: must have properties x, y when property a is present"
        assert told({"dependentRequired": {"a": ["x", "y"]}}, {"a": 1}) == [line, line]
        assert told({"dependencies": {"a": ["x", "y"]}}, {"a": 1}) == [line]
        schema = {"properties": {"x": {"type": "null"}}, "required": ["y"]}
        for word in ("dependentSchemas", "dependencies"):
            assert told({word: {"a": schema}}, {"a": 1, "x": 1}) == [
                "y: must have required properties y",
                "x: must be null",
            ]
            assert told({word: {"a": False}, "type": "object"}, {"a": 1}) == ["root: schema is false"]

    def test_a_list_that_lacks_items_is_told_once_or_twice(self) -> None:
        line = "root: must contain at least 1 valid item"
        counted = {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}
        assert told(counted, [1]) == [line]
        assert told(counted, [1, 2, 3, 4]) == [line]
        assert told(counted, ["a"]) == [line, line]
        assert told({"contains": {"type": "integer"}, "minContains": 0, "maxContains": 0}, [1]) == [line]
        assert told({"contains": {"type": "integer"}, "minContains": 0, "minItems": 2}, ["a"]) == [
            "root: must not have fewer than 2 items"
        ]

    def test_what_a_failed_schema_looked_at_is_left_unevaluated(self) -> None:
        schema = {"properties": {"a": {"type": "null"}}, "unevaluatedProperties": False}
        assert told(schema, {"a": 1}) == ["a: must be null", "root: must not have unevaluated properties"]

    def test_what_was_evaluated_is_not_told(self) -> None:
        schema = {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False, "minProperties": 2}
        assert told(schema, {"a": 1}) == ["root: must not have fewer than 2 properties"]


class TestText:
    def test_the_tool_is_named_as_it_is_and_the_arguments_are_shown_as_they_were_sent(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}}
        arguments = {
            "z": {"b": [], "a": {}},
            "n": "x",
            "m": "1",
            "2": 1e21,
            "1": None,
            "u": "ü\u2028\n\x01",
            "l": [1.0, True],
        }
        assert prepare('a "b"\nc', schema, check_with_rust).check(arguments) == (
            'Validation failed for tool "a "b"\nc":\n'
            "  - n: must be integer\n"
            "\n"
            "Received arguments:\n"
            "{\n"
            '  "1": null,\n'
            '  "2": 1e+21,\n'
            '  "z": {\n'
            '    "b": [],\n'
            '    "a": {}\n'
            "  },\n"
            '  "n": "x",\n'
            '  "m": "1",\n'
            '  "u": "ü\u2028\\n\\u0001",\n'
            '  "l": [\n'
            "    1,\n"
            "    true\n"
            "  ]\n"
            "}"
        )

    def test_arguments_that_are_no_object_are_shown_too(self) -> None:
        text = prepare("t", {"type": "object"}, check_with_rust).check("x\ud800")
        assert isinstance(text, str)
        assert text.endswith('Received arguments:\n"x\\ud800"')

    def test_long_arguments_are_cut(self) -> None:
        text = prepare("t", {"type": "integer"}, check_with_rust).check("x" * 100_000)
        assert isinstance(text, str)
        assert len(text) < RECEIVED_MAX + 200
        assert text.endswith(f"... ({100_002 - RECEIVED_MAX} more characters)")
