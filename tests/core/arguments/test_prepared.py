"""A tool's schema, made ready once."""

from typing import Any

import pytest
from turnfold.adapters.schemas import check_with_rust
from turnfold.core.arguments import DEPTH_MAX, LINES_MAX, Accepted, prepare
from turnfold.effects.schema import Document, Schema, SchemaError, Way

from tests.core.arguments.calls import told
from tests.rules.purity import pure


def nested(depth: int, inner: Any = 1) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


class Counting:
    """A checker that counts what it is asked."""

    def __init__(self) -> None:
        self.made = 0
        self.asked = 0

    def __call__(self, document: Document) -> Schema:
        self.made += 1
        outer, ready = self, check_with_rust(document)

        class Counted:
            def accepts(self, value: Any, at: Way = ()) -> bool:
                outer.asked += 1
                return ready.accepts(value, at)

        return Counted()


def test_a_schema_is_made_ready_once() -> None:
    checker = Counting()
    tool = prepare("t", {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}, checker)
    assert checker.made == 1
    for _ in range(5):
        assert isinstance(tool.check({"a": 3}), Accepted)
    assert (checker.made, checker.asked) == (1, 5)
    tool.check({"a": "x"})
    made = checker.made
    for _ in range(5):
        tool.check({"a": "x"})
    assert checker.made == made


@pytest.mark.parametrize("arguments", [None, True, 5, "text", []])
def test_arguments_that_are_no_object_are_an_error_like_any_other(arguments: Any) -> None:
    """Decision 45: they go to the validator."""
    assert told({"type": "object"}, arguments) == ["root: must be object"]


def test_a_coerced_root_that_is_not_valid_is_an_error() -> None:
    """Decision 46 h."""
    assert told({"type": "string", "minLength": 3}, 5) == ["root: must not have fewer than 3 characters"]


def test_a_schema_that_the_checker_cannot_take_is_refused_with_its_place() -> None:
    with pytest.raises(SchemaError) as caught:
        prepare("t", {"properties": {"a": {"pattern": "("}}}, check_with_rust)
    assert caught.value.where == ("properties", "a", "pattern")


def test_a_default_that_is_not_valid_is_refused_if_defaults_are_asked_for() -> None:
    schema = {"properties": {"a": {"items": {"type": "integer", "default": "x"}}}}
    prepare("t", schema, check_with_rust)
    with pytest.raises(SchemaError, match=r"properties\.a\.items\.default: the default is not valid itself"):
        prepare("t", schema, check_with_rust, defaulting=True)


def test_arguments_may_be_nested_only_so_deep() -> None:
    tool = prepare("t", {"type": "array"}, check_with_rust)
    assert isinstance(tool.check(nested(DEPTH_MAX)), Accepted)
    for depth in (DEPTH_MAX + 1, 100_000):
        assert tool.check(nested(depth)) == (
            f'Validation failed for tool "t":\n  - root: must not be nested more than {DEPTH_MAX} levels deep\n\n'
            "Received arguments:\n(nested too deep to be shown)"
        )


def test_a_schema_that_goes_far_before_it_goes_into_the_value_allows_less_depth() -> None:
    """So that neither this interpreter nor the checker comes to its limit."""
    defs: dict[str, Any] = {f"d{i}": {"allOf": [{"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}]}]} for i in range(5)}
    defs["d5"] = {"type": ["array", "string"], "items": {"$ref": "#/$defs/d0"}, "maxLength": 0}
    tool = prepare("t", {"$ref": "#/$defs/d0", "$defs": defs}, check_with_rust)
    assert 5 < tool.depth_max < DEPTH_MAX
    deepest = tool.check(nested(tool.depth_max, "x"))
    assert isinstance(deepest, str)
    assert ": must not have more than 0 characters\n" in deepest
    assert str(tool.check(nested(tool.depth_max + 1, "x"))).splitlines()[1].endswith("levels deep")


@pytest.mark.parametrize(
    "schema",
    [
        {
            "anyOf": [
                {"type": "array", "items": {"$ref": "#"}},
                {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
            ]
        },
        {
            "oneOf": [
                {"type": "array", "items": {"$ref": "#"}},
                {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
            ]
        },
        {"type": "array", "allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]},
        {
            "anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}}],
            "unevaluatedItems": False,
        },
    ],
    ids=["anyOf", "oneOf", "allOf", "unevaluated"],
)
def test_a_schema_that_holds_itself_twice_costs_no_more_for_every_level(schema: Any) -> None:
    """Twice the questions for each level would be more than anybody can wait for."""

    def questions(depth: int) -> int:
        checker = Counting()
        tool = prepare("t", schema, checker)
        assert "levels deep" not in str(tool.check(nested(depth, {})))
        return checker.asked

    assert 0 < questions(32) < 5 * questions(8)


def test_checking_touches_nothing_but_its_arguments() -> None:
    """Decision 48: the checker is pure, so the fold may call it."""
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "integer"}, {"pattern": "^x", "format": "date"}]}},
    }
    tool = prepare("t", schema, check_with_rust)
    with pure():
        assert tool.check({"a": "1"}) == Accepted({"a": 1})
        assert isinstance(tool.check({"a": "y"}), str)


def test_what_a_person_wrote_is_checked_as_it_is() -> None:
    """Nothing is made to fit, and each place that is wrong is named."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    tool = prepare("t", schema, check_with_rust)
    assert tool.wrong({"a": 1, "b": "x"}) == ()
    assert isinstance(tool.check({"a": "1", "b": None}), Accepted)
    assert tool.wrong({"a": "1", "b": None}) == (("a", "must be integer"), ("b", "must be string"))
    assert tool.wrong([]) == (("root", "must be object"),)
    assert tool.wrong({}) == (("a", "must have required properties a"),)
    deep = f"must not be nested more than {DEPTH_MAX} levels deep"
    assert tool.wrong({"a": 1, "c": nested(DEPTH_MAX)}) == (("root", deep),)


def test_no_more_than_a_few_places_are_named() -> None:
    properties = {f"p{number:02}": {"type": "integer"} for number in range(20)}
    tool = prepare("t", {"type": "object", "properties": properties}, check_with_rust)
    assert len(tool.wrong(dict.fromkeys(properties, "x"))) == LINES_MAX
