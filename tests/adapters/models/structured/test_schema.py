"""What a type is to a model."""

import dataclasses
import datetime
from collections.abc import Iterator
from typing import Annotated, Any, Generic, Literal, NamedTuple, Required, TypedDict, TypeVar

import attrs
import msgspec
import pytest
from turnfold.adapters.models.structured import SchemaTypeError, schema_for
from turnfold.adapters.schemas import check_with_rust

from tests.adapters.models.structured.world import Answered, Node

T = TypeVar("T")


@dataclasses.dataclass
class Point:
    x: int
    y: float = 1.0


class Partly(TypedDict, total=False):
    title: Required[str]
    note: str


class Shape(msgspec.Struct, rename="camel"):
    the_points: list[Point]
    colour: Literal["red", "green"] = "red"
    point: Annotated[Point, msgspec.Meta(description="in the middle")] | None = None


class Circle(msgspec.Struct, tag="circle"):
    radius: float


class Square(msgspec.Struct, tag="square"):
    side: float = 1.0


@attrs.define
class Drawing:
    shape: Circle | Square
    made: datetime.datetime
    raw: bytes = b""


POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "number"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}


def test_what_may_be_nothing_says_so_and_is_required_all_the_same() -> None:
    """TestSchemaFor."""
    found = schema_for(Answered)
    assert found.name == "Answered"
    assert found.schema == {
        "type": "object",
        "description": "What most tests ask for.",
        "properties": {"title": {"type": "string"}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["title", "note"],
        "additionalProperties": False,
    }
    assert (found.closed, found.recursive) == (True, False)


def _called(name: str) -> type:
    """A class with a name that no class statement could give; attrs before 25 cannot make one so."""
    made = attrs.make_class("Made", {"title": attrs.field(type=str)})
    made.__name__ = made.__qualname__ = name
    return made


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (_called("!"), "output"),
        (_called("答案"), "output"),
        (_called("a b" * 30), ("a_b" * 22)[:64]),
    ],
)
def test_a_type_without_a_name_of_use_is_called_output(wanted: type, name: str) -> None:
    """TestSchemaForAnonymous."""
    found = schema_for(wanted)
    assert found.name == name
    assert found.schema["properties"] == {"title": {"type": "string"}}


@pytest.mark.parametrize("wanted", [Partly, Point, Shape])
def test_a_default_makes_nothing_optional(wanted: type) -> None:
    """TestSchemaForRequiresOmitempty, at the top level and in nested objects."""

    def objects(schema: Any) -> Iterator[dict[str, Any]]:
        children = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        if isinstance(schema, dict) and schema.get("type") == "object":
            yield schema
        for child in children:
            yield from objects(child)

    found = list(objects(dict(schema_for(wanted).schema)))
    assert found
    for schema in found:
        assert schema["required"] == list(schema["properties"])
        assert not any("default" in described for described in schema["properties"].values())


def test_everything_stands_where_it_is_used_in_the_order_of_its_declaration() -> None:
    found = schema_for(Shape)
    assert found.schema["properties"] == {
        "thePoints": {"type": "array", "items": POINT},
        "colour": {"enum": ["green", "red"]},
        "point": {"anyOf": [POINT | {"description": "in the middle"}, {"type": "null"}]},
    }
    assert list(found.schema["properties"]) == ["thePoints", "colour", "point"]
    assert "$ref" not in repr(found.schema)


def test_times_bytes_and_tagged_unions_are_described_without_names_of_ours() -> None:
    found = schema_for(Drawing).schema["properties"]
    assert found["made"] == {"type": "string", "format": "date-time"}
    assert found["raw"] == {"type": "string", "contentEncoding": "base64"}
    assert sorted(found["shape"]) == ["anyOf"]
    assert [one["properties"]["type"] for one in found["shape"]["anyOf"]] == [
        {"enum": ["circle"]},
        {"enum": ["square"]},
    ]
    assert all(one["required"] == list(one["properties"]) for one in found["shape"]["anyOf"])


def test_a_type_that_contains_itself_keeps_a_name() -> None:
    found = schema_for(Node)
    node = {
        "type": "object",
        "description": "A type that contains itself.",
        "properties": {
            "name": {"type": "string", "description": "how it is called"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
        "required": ["name", "children"],
        "additionalProperties": False,
    }
    assert found.schema == {**node, "$defs": {"Node": node}}
    assert (found.recursive, found.closed) == (True, True)
    checker = check_with_rust(dict(found.schema))
    assert checker.accepts({"name": "a", "children": [{"name": "b", "children": []}]})
    assert not checker.accepts({"name": "a", "children": [{"name": "b"}]})


@attrs.frozen
class Times:
    at: datetime.datetime | None
    many: list[Annotated[datetime.datetime, msgspec.Meta(description="each")]] | None
    named: dict[str, datetime.time]
    pair: tuple[datetime.date, datetime.datetime]
    inner: "Times | None"
    text: str | None


def test_times_have_their_format_wherever_they_are() -> None:
    """SchemaFor: date-time strings for times."""
    found = schema_for(Times).schema["properties"]
    at = {"type": "string", "format": "date-time"}
    assert found["at"] == {"anyOf": [at, {"type": "null"}]}
    assert found["many"]["anyOf"][0]["items"] == {**at, "description": "each"}
    assert found["named"]["additionalProperties"] == {"type": "string", "format": "time"}
    assert found["pair"]["prefixItems"] == [{"type": "string", "format": "date"}, at]
    assert found["inner"] == {"anyOf": [{"$ref": "#/$defs/Times"}, {"type": "null"}]}
    assert found["text"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


@attrs.frozen
class Tree:
    node: Node
    other: Point


def test_only_what_contains_itself_keeps_a_name() -> None:
    found = schema_for(Tree)
    assert list(found.schema["$defs"]) == ["Node"]
    assert found.schema["properties"] == {"node": {"$ref": "#/$defs/Node"}, "other": POINT}


@pytest.mark.parametrize(
    ("type_", "closed"),
    [
        (dict[str, int], False),
        (dict[str, Any], False),
        (Any, False),
        (list, False),
        (list[int], True),
        (list[dict[str, int]], False),
        (tuple[int, str], False),
        (dict[str, int] | None, False),
        (Point, True),
    ],
)
def test_a_schema_is_closed_if_no_object_takes_members_by_any_name(type_: Any, closed: bool) -> None:
    assert schema_for(attrs.make_class("Holder", {"held": attrs.field(type=type_)})).closed is closed


def test_members_by_any_name_keep_their_schema() -> None:
    holder = attrs.make_class("Holder", {"held": attrs.field(type=dict[str, Point])})
    assert schema_for(holder).schema["properties"]["held"] == {"type": "object", "additionalProperties": POINT}


class Pair(NamedTuple):
    a: int


class Box(msgspec.Struct, Generic[T]):
    held: T


def test_a_generic_type_is_named_after_its_parts() -> None:
    assert schema_for(Box[int]).schema["properties"] == {"held": {"type": "integer"}}


class Unknown:
    pass


@pytest.mark.parametrize(
    ("wanted", "says_so"),
    [(int, "no object"), (list[int], "no object"), (Pair, "no object"), (dict[str, int], "no object")],
)
def test_what_is_no_object_is_refused(wanted: Any, says_so: str) -> None:
    with pytest.raises(SchemaTypeError, match=says_so):
        schema_for(wanted)


@pytest.mark.parametrize("type_", [Unknown, complex, "Nowhere"])
def test_what_cannot_be_described_is_refused_in_one_line(type_: Any) -> None:
    with pytest.raises(SchemaTypeError, match="cannot be described") as failed:
        schema_for(attrs.make_class("Holder", {"held": attrs.field(type=type_)}))
    assert "\n" not in str(failed.value)
