"""Promises about any schema and any arguments."""

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from turnfold.adapters.schemas import check_with_rust
from turnfold.core.arguments import LINES_MAX, Accepted, ToolArguments, prepare

from tests.strategies import JSON

NAMES = st.sampled_from(["a", "b", "1", "", "x/y"])
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -3, 2.5, "", "1", "-2.5", "true", "x", "[]", "{}", "[1]", '{"a": "1"}']
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TYPES = st.sampled_from(["null", "boolean", "number", "integer", "string", "array", "object"])
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(SCALARS, min_size=1, max_size=2, unique_by=repr),
        "minimum": st.integers(-1, 2),
        "maxLength": st.integers(0, 2),
        "minItems": st.integers(0, 2),
        "required": st.lists(NAMES, max_size=2, unique=True),
    },
)


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of schemas: most say of what type they are, since only then anything happens."""
    applied = st.fixed_dictionaries(
        {"type": TYPES},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^.$"]), inner, max_size=2),
            "items": inner | st.lists(inner, max_size=2),
            "required": st.lists(NAMES, max_size=2, unique=True),
        },
    )
    branches = st.lists(inner, min_size=1, max_size=2)
    in_place = st.sampled_from(["allOf", "anyOf", "oneOf"]).flatmap(
        lambda keyword: st.fixed_dictionaries({keyword: branches}, optional={"type": TYPES, "not": inner})
    )
    return applied | in_place


SCHEMAS = st.recursive(LEAVES | st.booleans(), larger, max_leaves=6)
TOOLS = SCHEMAS.map(lambda schema: prepare("tool", schema, check_with_rust))


@given(TOOLS, VALUES | JSON)
def test_what_the_tool_gets_is_valid(tool: ToolArguments, arguments: Any) -> None:
    result = tool.check(arguments)
    assume(isinstance(result, Accepted))
    assert isinstance(result, Accepted)
    assert tool.probe.schema.accepts(result.arguments)


@given(TOOLS, VALUES)
def test_what_is_refused_is_refused_by_the_checker_too(tool: ToolArguments, arguments: Any) -> None:
    if isinstance(tool.check(arguments), str):
        assert not tool.probe.schema.accepts(arguments)


@given(TOOLS, VALUES)
def test_what_is_valid_is_not_touched(tool: ToolArguments, arguments: Any) -> None:
    if tool.probe.schema.accepts(arguments):
        result = tool.check(arguments)
        assert isinstance(result, Accepted)
        assert result.arguments is arguments


@given(TOOLS, VALUES)
def test_the_arguments_are_never_changed_in_place(tool: ToolArguments, arguments: Any) -> None:
    before = copy.deepcopy(arguments)
    tool.check(arguments)
    assert repr(arguments) == repr(before)


@given(TOOLS, VALUES)
def test_checking_again_changes_nothing(tool: ToolArguments, arguments: Any) -> None:
    result = tool.check(arguments)
    if isinstance(result, Accepted):
        assert tool.check(result.arguments) == result
    assert tool.check(arguments) == result


@given(SCHEMAS, VALUES)
def test_a_refusal_says_why_in_one_to_eight_lines(schema: Any, arguments: Any) -> None:
    """And none of them is the one that stands for want of a better one."""
    result = prepare("tool", schema, check_with_rust).check(arguments)
    if isinstance(result, str):
        lines = result.partition("\n\nReceived arguments:\n")[0].splitlines()[1:]
        assert 1 <= len(lines) <= LINES_MAX
        assert all(line.startswith("  - ") and ": " in line for line in lines)
        assert "  - root: must be valid" not in lines


@given(SCHEMAS, VALUES)
def test_without_coercion_only_what_is_valid_is_taken(schema: Any, arguments: Any) -> None:
    tool = prepare("tool", schema, check_with_rust, coercing=False)
    result = tool.check(arguments)
    assert isinstance(result, Accepted) == tool.probe.schema.accepts(arguments)
