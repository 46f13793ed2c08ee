"""The JSON Schema of every kind of type: written where it is used, and never with a reference that can be avoided."""

import dataclasses
import enum
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import attrs
import msgspec
from turnfold.adapters.tools import tool
from turnfold.adapters.tools.schema import schema_of


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass
class Box:
    corner: Point
    colours: list[Colour]


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


class Tree(msgspec.Struct):
    """A tree."""

    value: Point
    children: list["Tree"] = []


class Ping(msgspec.Struct):
    pong: "Pong | None" = None


class Pong(msgspec.Struct):
    ping: Ping | None = None


class Tricky(msgspec.Struct):
    """Members with the names of JSON Schema's own words."""

    ref: Point = msgspec.field(name="$ref")
    properties: Point
    discriminator: Annotated[str, msgspec.Meta(examples=[{"$ref": "#/$defs/Point"}])]


POINT = {
    "title": "Point",
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
}
COLOUR = {"title": "Colour", "description": "A colour.", "enum": ["blue", "red"]}


def schema(annotation: Any) -> dict[str, Any]:
    return schema_of(msgspec.defstruct("arguments", [("a", annotation)]))


def test_nested_types_are_written_where_they_are_used() -> None:
    assert schema(dict[str, Box | None]) == {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "additionalProperties": {
                    "anyOf": [
                        {
                            "title": "Box",
                            "type": "object",
                            "properties": {
                                "corner": POINT,
                                "colours": {"type": "array", "items": COLOUR},
                            },
                            "required": ["corner", "colours"],
                        },
                        {"type": "null"},
                    ]
                },
            }
        },
        "required": ["a"],
    }


def test_typed_dicts_literals_enums_and_optionals_are_described() -> None:
    properties = schema(tuple[Options, Literal["a", "b"], Optional[Colour]])["properties"]["a"]["prefixItems"]  # noqa: UP045
    assert properties == [
        {
            "title": "Options",
            "type": "object",
            "properties": {"deep": {"type": "boolean"}, "limit": {"type": "integer"}},
            "required": ["deep"],
        },
        {"enum": ["a", "b"]},
        {"anyOf": [COLOUR, {"type": "null"}]},
    ]


def test_a_tagged_union_has_no_discriminator() -> None:
    described = schema(Cat | Dog)["properties"]["a"]
    assert [branch["properties"]["type"] for branch in described["anyOf"]] == [{"enum": ["cat"]}, {"enum": ["dog"]}]
    assert described.keys() == {"anyOf"}


def test_only_a_type_that_contains_itself_stays_a_definition() -> None:
    described = schema(list[Tree])
    assert described["properties"]["a"] == {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
    assert described["$defs"] == {
        "Tree": {
            "title": "Tree",
            "description": "A tree.",
            "type": "object",
            "properties": {
                "value": POINT,
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []},
            },
            "required": ["value"],
        }
    }


def test_types_that_contain_each_other_stay_definitions() -> None:
    described = schema(Ping)
    assert described["properties"]["a"] == {"$ref": "#/$defs/Ping"}
    assert described["$defs"].keys() == {"Ping", "Pong"}


def test_members_named_like_schema_words_and_examples_are_left_alone() -> None:
    described = schema(Tricky)["properties"]["a"]["properties"]
    assert described == {
        "$ref": POINT,
        "properties": POINT,
        "discriminator": {"type": "string", "examples": [{"$ref": "#/$defs/Point"}]},
    }


def test_a_description_beside_a_reference_wins_over_the_types_own() -> None:
    @tool
    def paint(colour: Annotated[Colour, msgspec.Meta(description="Of the wall.")] = Colour.RED) -> None: ...

    assert paint.spec.declaration.parameters["properties"]["colour"] == {
        **COLOUR,
        "description": "Of the wall.",
        "default": "red",
    }


def test_a_docstring_describes_the_parameter_where_its_type_only_describes_itself() -> None:
    @tool
    def paint(colour: Colour) -> None:
        """Paint.

        Args:
            colour: Of the wall.
        """

    assert paint.spec.declaration.parameters["properties"]["colour"]["description"] == "Of the wall."
