"""What is done to arguments that are not valid as they were sent."""

import copy
from typing import Any, ClassVar

import pytest
from turnfold.adapters.schemas import check_with_rust
from turnfold.core.arguments import Accepted, prepare

from tests.core.arguments.calls import about, accepted, told


@pytest.mark.parametrize(
    ("wanted", "value", "becomes"),
    [
        ("number", None, 0),
        ("number", True, 1),
        ("number", False, 0),
        ("number", " 0x10 ", 16),
        ("number", "1e3", 1000.0),
        ("number", "-2.5", -2.5),
        ("integer", None, 0),
        ("integer", True, 1),
        ("integer", "1e3", 1000),
        ("integer", "7.0", 7),
        ("boolean", None, False),
        ("boolean", 1, True),
        ("boolean", 0.0, False),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("string", None, ""),
        ("string", True, "true"),
        ("string", False, "false"),
        ("string", 3, "3"),
        ("string", 3.0, "3"),
        ("string", 1e21, "1e+21"),
        ("null", False, None),
        ("null", 0, None),
        ("null", -0.0, None),
        ("null", "", None),
        ("array", "[1, 2]", [1, 2]),
        ("object", '{"a": 1}', {"a": 1}),
    ],
)
def test_a_value_of_another_type_becomes_its_counterpart(wanted: str, value: Any, becomes: Any) -> None:
    result = about({"type": wanted}, value)
    assert (result, type(result)) == (becomes, type(becomes))


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("number", ""),
        ("number", "five"),
        ("number", "1e999"),
        ("number", []),
        ("integer", 1.5),
        ("integer", "1.5"),
        ("boolean", 2),
        ("boolean", "TRUE"),
        ("boolean", " true"),
        ("boolean", ""),
        ("string", []),
        ("string", {}),
        ("null", True),
        ("null", 1),
        ("null", " "),
        ("null", "null"),
        ("array", "{}"),
        ("array", "9"),
        ("array", "[1,"),
        ("array", 5),
        ("array", None),
        ("array", '["\\ud800"]'),
        ("object", "[]"),
        ("object", "null"),
        ("object", False),
    ],
)
def test_what_has_no_counterpart_is_refused(wanted: str, value: Any) -> None:
    assert about({"type": wanted}, value) == f"must be {wanted}"


def test_integers_stay_exact() -> None:
    """Decision 48."""
    assert about({"type": "integer"}, "12345678901234567891") == 12345678901234567891
    assert about({"type": "string"}, 12345678901234567891) == "12345678901234567891"


def test_of_several_types_the_first_that_changes_the_value_wins() -> None:
    assert about({"type": ["integer", "null"]}, "") is None
    assert about({"type": ["boolean", "string"]}, 1) is True
    assert about({"type": ["string", "boolean"]}, 1) == "1"
    assert about({"type": ["null", "array"]}, "[]") == []


def test_a_value_of_one_of_several_types_stays() -> None:
    assert about({"type": ["integer", "string"]}, "5") == "5"
    assert about({"type": ["array", "string"], "maxLength": 1}, "[]") == "must not have more than 1 characters"


def test_nothing_is_coerced_without_a_type() -> None:
    assert told({"properties": {"a": {"enum": [1]}}}, {"a": "1"}) == ["a: must be equal to one of the allowed values"]
    assert told({"properties": {"a": {"type": "integer"}}}, {"a": "1"}) == ["a: must be integer"]
    assert told({"type": "object", "properties": {"a": {"items": {"type": "integer"}}}}, {"a": ["1"]}) == [
        "a.0: must be integer"
    ]


def test_members_and_items_are_coerced_each_by_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "number"}, "l": {"type": "array", "items": {"type": "boolean"}}},
        "additionalProperties": {"type": "string"},
    }
    assert accepted(schema, {"z": 1, "n": "2", "l": ["true", 0]}) == {"z": "1", "n": 2, "l": [True, False]}


def test_a_tuple_is_coerced_item_by_item_and_its_rest_is_not() -> None:
    schema = {
        "type": "array",
        "items": [{"type": "string"}, {"type": "integer"}],
        "additionalItems": {"type": "number"},
    }
    assert accepted(schema, [1, "2", 3]) == ["1", 2, 3]
    assert told(schema, [1, "2", "3"]) == ["2: must be number"]


def test_prefix_items_are_not_coerced() -> None:
    assert told({"type": "array", "prefixItems": [{"type": "integer"}]}, ["1"]) == ["0: must be integer"]


@pytest.mark.parametrize("keyword", ["patternProperties", "dependentSchemas", "if", "not", "contains"])
def test_nothing_is_coerced_through_other_keywords(keyword: str) -> None:
    integer = {"type": "integer"}
    inner: Any = {"type": "object", "properties": {"a": integer}}
    schemas: dict[str, Any] = {
        "patternProperties": {"patternProperties": {"a": integer}},
        "dependentSchemas": {"dependentSchemas": {"a": inner}},
        "if": {"if": True, "then": inner},
        "not": {"not": {"not": inner}},
        "contains": {"properties": {"a": {"type": "array", "contains": integer}}},
    }
    value = ["1"] if keyword == "contains" else "1"
    assert told({"type": "object", **schemas[keyword]}, {"a": value})


def test_every_part_of_all_of_coerces_in_turn() -> None:
    parts = [
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"type": "object", "properties": {"b": {"type": "string"}}},
    ]
    assert accepted({"allOf": parts}, {"a": "1", "b": 2}) == {"a": 1, "b": "2"}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_union_coerces_by_the_first_branch_that_accepts_the_result(keyword: str) -> None:
    assert about({keyword: [{"type": "integer"}, {"type": "boolean"}]}, "true") is True
    assert about({keyword: [{"type": "boolean"}, {"type": "integer"}]}, "1") == 1
    assert about({keyword: [{"type": "number"}, {"type": "boolean"}]}, None) == 0
    assert about({keyword: [{"type": "boolean"}, {"type": "number"}]}, None) is False
    assert about({keyword: [{"type": "number", "minimum": 1}, {"type": "boolean"}]}, None) is False


def test_a_union_leaves_a_value_that_one_of_its_branches_accepts() -> None:
    union = {"anyOf": [{"type": "number"}, {"type": "string"}]}
    assert accepted({"type": "object", "properties": {"u": union, "n": {"type": "number"}}}, {"u": "5", "n": "5"}) == {
        "u": "5",
        "n": 5,
    }


def test_a_union_of_objects_is_told_apart_by_what_fits() -> None:
    branches = [
        {"type": "object", "properties": {"kind": {"const": kind}, "x": {"type": wanted}}, "required": ["kind"]}
        for kind, wanted in (("a", "integer"), ("b", "string"))
    ]
    assert about({"anyOf": branches}, {"kind": "a", "x": "1"}) == {"kind": "a", "x": 1}
    assert about({"anyOf": branches}, {"kind": "b", "x": 1}) == {"kind": "b", "x": "1"}


def test_coercion_follows_references() -> None:
    """Decision 45."""
    schema = {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/point"}, "next": {"$ref": "#"}},
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }
    value = {"p": {"x": "1"}, "next": {"next": {"p": {"x": "2"}}}}
    assert accepted(schema, value) == {"p": {"x": 1}, "next": {"next": {"p": {"x": 2}}}}


def test_decoded_text_is_coerced_and_checked_like_anything_else() -> None:
    """Decision 20."""
    items = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["m"]}}
    assert about(items, '[{"n": "1", "m": null}, {"n": null, "m": 2}]') == [{"n": 1, "m": None}, {"m": 2}]
    assert told({"type": "object", "properties": {"v": items}}, {"v": "[{}]"}) == [
        "v.0.m: must have required properties m"
    ]


def test_text_that_is_nested_too_deeply_is_not_decoded() -> None:
    assert about({"type": "array"}, "[" * 17 + "]" * 17) == "must be array"
    assert about({"type": "array"}, "[" * 2_000 + "]" * 2_000) == "must be array"


class TestNulls:
    """A null may say that a member is missing."""

    SCHEMA: ClassVar[Any] = {
        "type": "object",
        "properties": {
            "needed": {"type": "string"},
            "plain": {"type": "string"},
            "nullable": {"type": ["string", "null"]},
            "anything": {},
            "one": {"enum": [1, None]},
            "never": False,
        },
        "required": ["needed"],
    }

    def test_an_optional_member_that_may_not_be_null_is_left_out(self) -> None:
        assert accepted(self.SCHEMA, {"needed": "x", "plain": None}) == {"needed": "x"}

    def test_a_required_member_is_coerced_instead(self) -> None:
        assert accepted(self.SCHEMA, {"needed": None, "plain": None}) == {"needed": ""}

    def test_a_member_that_may_be_null_keeps_it(self) -> None:
        value = {"needed": "x", "nullable": None, "anything": None, "one": None}
        assert accepted(self.SCHEMA, {**value, "plain": None}) == value

    def test_a_member_that_nobody_declared_keeps_it(self) -> None:
        assert accepted(self.SCHEMA, {"needed": 1, "other": None}) == {"needed": "1", "other": None}

    def test_a_member_that_must_not_be_there_is_told(self) -> None:
        assert told(self.SCHEMA, {"needed": "x", "never": None}) == ["never: schema is false"]

    def test_nulls_are_left_out_at_any_depth_and_through_references(self) -> None:
        schema = {
            "properties": {"l": {"items": {"$ref": "#/$defs/o"}}},
            "$defs": {
                "o": {"properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/n"}}},
                "n": {"type": "number"},
            },
        }
        assert accepted(schema, {"l": [{"a": None, "b": None}, {"a": "x", "c": None}]}) == {
            "l": [{}, {"a": "x", "c": None}]
        }

    def test_nothing_else_is_coerced_when_that_was_all(self) -> None:
        pair = {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}
        schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": pair}}
        assert accepted(schema, {"a": None, "b": [1, "x"]}) == {"b": [1, "x"]}


class TestWhatIsValid:
    """Arguments that are valid as they were sent are the very ones that the tool gets (decision 45)."""

    @pytest.mark.parametrize(
        ("schema", "arguments"),
        [
            ({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, [1, "x"]),
            ({"properties": {"a": {"anyOf": [{"type": "number"}, {"type": "string"}]}}}, {"a": "5"}),
            ({"allOf": [{"type": ["string", "number"]}, {"type": ["number", "string"]}]}, "5"),
            ({"type": "object", "properties": {"a": {"type": ["null", "string"]}}}, {"a": None, "b": None}),
            ({"type": "integer"}, 3.0),
        ],
    )
    def test_they_are_not_touched(self, schema: Any, arguments: Any) -> None:
        assert accepted(schema, arguments) is arguments

    def test_arguments_that_are_coerced_are_not_changed_in_place(self) -> None:
        schema = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}, "s": {}}}
        shared = {"deep": [1]}
        arguments = {"l": ["1", "2"], "s": shared}
        before = copy.deepcopy(arguments)
        result = accepted(schema, arguments)
        assert arguments == before
        assert result["s"] is shared


class TestOptions:
    def test_coercion_can_be_switched_off(self) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        assert told(schema, {"a": "1"}, coercing=False) == ["a: must be integer"]
        assert told(schema, {"a": None}, coercing=False) == ["a: must be integer"]
        assert accepted(schema, {"a": 1}, coercing=False) == {"a": 1}

    def test_defaults_are_filled_in_only_if_asked_for(self) -> None:
        """Decision 45."""
        schema = {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "default": 3},
                "o": {"type": "object", "properties": {"l": {"default": []}}},
                "r": {"items": {"$ref": "#/$defs/r"}},
            },
            "required": ["a"],
            "$defs": {"r": {"properties": {"x": {"default": 0}}}},
        }
        arguments = {"o": {}, "r": [{}, {"x": 1}]}
        assert told(schema, arguments) == ["a: must have required properties a"]
        filled = accepted(schema, arguments, defaulting=True)
        assert filled == {"o": {"l": []}, "r": [{"x": 0}, {"x": 1}], "a": 3}
        assert arguments == {"o": {}, "r": [{}, {"x": 1}]}

    def test_a_default_is_a_fresh_one_every_time(self) -> None:
        tool = prepare("t", {"properties": {"l": {"default": []}}}, check_with_rust, defaulting=True)
        first = tool.check({})
        assert isinstance(first, Accepted)
        first.arguments["l"].append(1)
        assert tool.check({}) == Accepted({"l": []})
