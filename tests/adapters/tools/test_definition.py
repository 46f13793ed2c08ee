"""What a signature and a docstring say about a tool, and which functions cannot be one."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import attrs
import msgspec
import pytest
from turnfold.adapters.tools import FunctionTool, ToolContext, ToolDefinitionError, tool
from turnfold.effects.transcript import ToolDeclaration


@attrs.define
class Mutable:
    """Cannot be hashed."""

    x: int = 0


def test_name_description_and_schema_come_from_the_function() -> None:
    @tool
    async def weather(city: str, days: int = 3, metric: bool = True) -> str:
        """Tell the weather.

        Only for today and later.

        Args:
            city (str): Where, with
                the country.
            days: How many
              days.

        Returns:
            One line a day.
        """
        return f"{city}{days}{metric}"

    assert weather.spec.declaration == ToolDeclaration(
        "weather",
        "Tell the weather.\n\nOnly for today and later.\n\nReturns:\n    One line a day.",
        {
            "type": "object",
            "properties": {
                "city": {"description": "Where, with the country.", "type": "string"},
                "days": {"description": "How many days.", "type": "integer", "default": 3},
                "metric": {"type": "boolean", "default": True},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    )


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    @tool
    def now() -> str:
        return "noon"

    assert now.spec.declaration.description == ""
    assert (now.spec.replayable, now.spec.side_effects, now.spec.sequential, now.spec.notes) == (
        False,
        False,
        False,
        {},
    )
    assert now.spec.declaration.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_options_become_the_declaration_and_the_traits() -> None:
    @tool(
        name="pay-bill",
        description="Pay.",
        replayable=True,
        side_effects=True,
        sequential=True,
        notes={"unit": "bank"},
    )
    def pay(amount: int) -> None:
        """Not told."""

    spec = pay.spec
    assert (spec.name, spec.declaration.description) == ("pay-bill", "Pay.")
    assert (spec.replayable, spec.side_effects, spec.sequential) == (True, True, True)
    assert spec.notes == {"unit": "bank"}


def test_an_empty_description_replaces_the_docstring() -> None:
    def silent() -> None:
        """Something."""

    assert tool(description="")(silent).spec.declaration.description == ""


def test_a_description_in_the_annotation_wins_over_the_docstring() -> None:
    @tool
    def find(what: Annotated[str, msgspec.Meta(description="near")], limit: Annotated[int, msgspec.Meta(ge=1)] = 5):
        """Find.

        Args:
            what: far
            limit: at most
        """

    properties = find.spec.declaration.parameters["properties"]
    assert properties["what"] == {"description": "near", "type": "string"}
    assert properties["limit"] == {"description": "at most", "type": "integer", "minimum": 1, "default": 5}


def test_the_context_is_no_argument() -> None:
    @tool
    def send(context: ToolContext, text: str) -> None:
        """Send.

        Args:
            context: not for models
            text: what
        """

    assert list(send.spec.declaration.parameters["properties"]) == ["text"]


def test_annotations_may_be_text() -> None:
    def find(what: "str", context: "ToolContext", limit: "int | None" = None) -> None: ...

    assert list(tool(find).spec.declaration.parameters["properties"]) == ["what", "limit"]


def test_absent_null_and_value_can_be_told_apart() -> None:
    @tool
    def edit(title: str | msgspec.UnsetType | None = msgspec.UNSET) -> None: ...

    assert edit.spec.declaration.parameters["properties"] == {
        "title": {"anyOf": [{"type": "string"}, {"type": "null"}]}
    }


def test_bound_methods_partials_and_callable_objects_can_be_tools() -> None:
    class Shop:
        """Sells."""

        def buy(self, item: str) -> str:
            """Buy."""
            return item

        async def __call__(self, item: str, count: int = 1) -> str:
            return item * count

    def add(a: int, b: int) -> int:
        """Add.

        Args:
            a: first
            b: second
        """
        return a + b

    bound, called = tool(Shop().buy), tool(name="shop")(Shop())
    assert (bound.spec.name, bound.spec.declaration.description) == ("buy", "Buy.")
    assert (called.spec.declaration.description, list(called.spec.declaration.parameters["properties"])) == (
        "Sells.",
        ["item", "count"],
    )
    partial = tool(name="add_one")(functools.partial(add, b=1))
    assert partial.spec.declaration.parameters["properties"]["b"] == {
        "description": "second",
        "type": "integer",
        "default": 1,
    }


def test_a_tool_is_still_the_function() -> None:
    @tool
    def double(number: int) -> int:
        """Twice."""
        return number * 2

    assert double(4) == 8
    assert double.__doc__ == "Twice."
    assert repr(double) == "FunctionTool('double')"


def test_a_function_that_carries_attributes_of_our_names_stays_a_tool() -> None:
    def odd() -> None: ...

    odd.spec = "mine"  # type: ignore[attr-defined]
    assert tool(odd).spec.name == "odd"


# --- what is refused


def positional_only(a: int, /) -> None: ...
def many(*values: int) -> None: ...
def named(**values: int) -> None: ...
def bare(a) -> None: ...
def a_method(self, a: int) -> None: ...
def callback(a: Callable[[], int]) -> None: ...
def lazily(a: Iterable[int]) -> None: ...
def two_texts(a: str | bytes) -> None: ...
def accent(größe: int) -> None: ...
def no_fit(a: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013
def no_json(a: Any = object()) -> None: ...  # noqa: B008
def no_number(a: float = float("inf")) -> None: ...
def two_contexts(a: ToolContext, b: ToolContext) -> None: ...
def yields(a: int):
    yield a


async def yields_later(a: int):
    yield a


def undefined(a: "Nowhere") -> None: ...  # noqa: F821


def misspelt(city: str) -> None:
    """Say.

    Args:
        citty: where
    """


@pytest.mark.parametrize(
    ("function", "parameter", "problem"),
    [
        (positional_only, "a", "remove the '/'"),
        (many, "values", "*values has no schema"),
        (named, "values", "**values has no schema"),
        (bare, "a", "annotate it"),
        (a_method, "self", "tool(instance.method)"),
        (callback, "a", "its type cannot be described"),
        (lazily, "a", "its type cannot be described"),
        (two_texts, "a", "more than one str-like type"),
        (accent, "größe", "rename it"),
        (no_fit, "a", "write `int | None`"),
        (no_json, "a", "change one of the two"),
        (no_number, "a", "change one of the two"),
        (two_contexts, "b", "already taken by 'a'"),
        (misspelt, "citty", "there is no such parameter"),
        (yields, "", "it yields"),
        (yields_later, "", "it yields"),
        (undefined, "", "Nowhere"),
        (lambda: None, "", "tool(name=...)"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_by_name(
    function: Callable[..., Any], parameter: str, problem: str
) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    assert problem in str(caught.value)
    assert function.__qualname__ in str(caught.value)
    assert (caught.value.function, caught.value.parameter) == (function.__qualname__, parameter)


@pytest.mark.parametrize("name", ["", "two words", "a.b", "größe", "x" * 65, "line\n"])
def test_a_name_that_models_cannot_use_is_refused(name: str) -> None:
    def fine() -> None: ...

    with pytest.raises(ToolDefinitionError, match="letters, digits, underscores and hyphens"):
        FunctionTool(fine, name=name)


def test_the_longest_name_is_taken() -> None:
    def fine() -> None: ...

    assert FunctionTool(fine, name="x" * 64).spec.name == "x" * 64


def test_a_default_of_any_kind_is_told_as_json() -> None:
    @tool
    def keep(
        *,
        items: list[str] = ["a"],  # noqa: B006
        box: Mutable = Mutable(),  # noqa: B008
        named: dict[int, float] = {1: 2},  # noqa: B006
        none: str | None = None,
        needed: int,
    ) -> None: ...

    parameters = keep.spec.declaration.parameters
    defaults = {name: told["default"] for name, told in parameters["properties"].items() if name != "needed"}
    assert defaults == {"items": ["a"], "box": {"x": 0}, "named": {"1": 2}, "none": None}
    assert parameters["required"] == ["needed"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sideeffects", "did you mean side_effects?"),
        ("colour", "there are name, description, replayable, side_effects, sequential, notes, "),
    ],
)
def test_an_option_that_is_none_is_refused_at_once(name: str, hint: str) -> None:
    options: dict[str, Any] = {name: True}
    with pytest.raises(TypeError, match=re.escape(f"tool() has no option {name!r}; {hint}")):
        tool(**options)


def test_the_help_names_each_option() -> None:
    options = [*inspect.signature(FunctionTool).parameters][1:]
    assert [*inspect.signature(tool).parameters][1:-1] == options
    text = inspect.getdoc(tool) or ""
    assert [name for name in options if f"``{name}``" not in text] == []
