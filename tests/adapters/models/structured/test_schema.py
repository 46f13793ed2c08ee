"""What a type is to a model."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Required, TypedDict, TypeVar

import attrs
import msgspec
import pytest
from turnfold.adapters.models.structured import SchemaTypeError, schema_for
from turnfold.adapters.models.structured.strict import strictly
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
        "colour": {"type": "string", "enum": ["green", "red"]},
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
        {"type": "string", "enum": ["circle"]},
        {"type": "string", "enum": ["square"]},
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


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("type_", "described"),
    [
        (Literal["low"], {"type": "string", "enum": ["low"]}),
        (Colour, {"type": "string", "enum": ["blue", "red"]}),
        (Level, {"type": "integer", "enum": [1]}),
        (list[Colour], {"type": "array", "items": {"type": "string", "enum": ["blue", "red"]}}),
        (
            dict[Colour, int],
            {
                "type": "object",
                "propertyNames": {"type": "string", "enum": ["blue", "red"]},
                "additionalProperties": {"type": "integer"},
            },
        ),
    ],
)
def test_values_that_are_listed_have_their_type(type_: Any, described: dict[str, Any]) -> None:
    """OpenAI refuses a strict schema in which anything has none."""
    found = schema_for(attrs.make_class("Holder", {"held": attrs.field(type=type_)})).schema["properties"]["held"]
    if "propertyNames" in described and "propertyNames" not in found:
        described = {name: value for name, value in described.items() if name != "propertyNames"}  # an older msgspec
    assert found == described


@pytest.mark.parametrize(("values", "types"), [((None, "a"), {"null", "string"}), ((1, "a"), {"integer", "string"})])
def test_values_of_several_types_have_all_of_them(values: tuple[Any, ...], types: set[str]) -> None:
    holder = attrs.make_class("Holder", {"held": attrs.field(type=Literal[values])})  # type: ignore[valid-type]
    try:
        msgspec.json.schema(holder)
    except TypeError:
        pytest.skip("this msgspec cannot describe values of several types")
    held = schema_for(holder).schema["properties"]["held"]
    assert isinstance(held["type"], list)
    assert (set(held["type"]), set(held["enum"])) == (types, set(values))


@dataclasses.dataclass
class Item:
    when: datetime.datetime


@dataclasses.dataclass
class Page(Generic[T]):
    items: list[T]
    at: datetime.datetime | None = None


class Corner(NamedTuple):
    at: datetime.datetime
    item: Item


AT = {"type": "string", "format": "date-time"}


def formats(schema: Any) -> Iterator[str]:
    """What each string in a schema is said to be."""
    if isinstance(schema, dict):
        if schema.get("type") == "string":
            yield schema.get("format", "")
        schema = list(schema.values())
    for child in schema if isinstance(schema, list) else ():
        yield from formats(child)


@dataclasses.dataclass
class Outer:
    one: Page[Item]
    many: Page[Page[Item]]
    bare: Page[int]
    corner: Corner


def test_times_have_their_format_in_generic_types_too() -> None:
    assert list(formats(dict(schema_for(Page[Item]).schema))) == ["date-time"] * 2
    assert list(formats(dict(schema_for(Outer).schema))) == ["date-time"] * 8


def test_times_have_their_format_in_classes_that_are_called_alike() -> None:
    other = dataclasses.make_dataclass("Item", [("at", datetime.datetime)])
    other.__module__ = "elsewhere"
    both = dataclasses.make_dataclass("Both", [("one", Item), ("other", other)])
    assert list(formats(dict(schema_for(both).schema))) == ["date-time"] * 2


class Base(TypedDict):
    zeta: int
    alpha: str


class Derived(Base):
    nu: datetime.datetime
    beta: int


class Boxed(TypedDict, Generic[T]):
    second: T
    first: Derived


def test_the_members_of_a_typed_dict_stand_as_they_were_declared() -> None:
    found = schema_for(Boxed[int]).schema
    assert list(found["properties"]) == found["required"] == ["second", "first"]
    inner = found["properties"]["first"]
    assert list(inner["properties"]) == inner["required"] == ["zeta", "alpha", "nu", "beta"]
    assert inner["properties"]["nu"] == AT


# What a provider can hold a model to.


@attrs.define
class Limited:
    """Things with limits."""

    price: decimal.Decimal
    raw: Annotated[bytes, msgspec.Meta(description="a picture")]
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=8, pattern="^[a-z]+$")]
    count: Annotated[int, msgspec.Meta(ge=0, lt=10, multiple_of=2)]
    some: Annotated[list[int], msgspec.Meta(min_length=1, max_length=3, examples=[[1]])]
    id: uuid.UUID
    span: datetime.timedelta
    node: Node


def test_a_strict_schema_has_the_keywords_that_are_documented_and_tells_the_others() -> None:
    """OpenAI's supported schemas; what is left out is refused with the whole schema."""
    found = schema_for(Limited)
    assert found.closed
    strict = strictly(dict(found.schema))
    properties = strict["properties"]
    assert {**strict, "properties": None, "$defs": None} == {**found.schema, "properties": None, "$defs": None}
    assert properties == {
        "price": {"type": "string", "description": "format: decimal"},
        "raw": {"type": "string", "description": "a picture; contentEncoding: base64"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "description": "maxLength: 8; minLength: 1"},
        "count": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10, "multipleOf": 2},
        "some": {
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 1,
            "maxItems": 3,
            "description": "examples: [[1]]",
        },
        "id": {"type": "string", "format": "uuid"},
        "span": {"type": "string", "format": "duration"},
        "node": {"$ref": "#/$defs/Node"},
    }
    assert strict["$defs"] == found.schema["$defs"]
    tags = {"type": "array", "items": {"type": "string", "title": "tag"}, "uniqueItems": True}
    assert strictly({"anyOf": [tags, {"type": "null"}]})["anyOf"] == [
        {"type": "array", "items": {"type": "string", "description": "title: tag"}, "description": "uniqueItems: true"},
        {"type": "null"},
    ]


class Unknown:
    pass


@pytest.mark.parametrize(
    ("wanted", "says_so"),
    [(int, "no object"), (list[int], "no object"), (Pair, "no object"), (dict[str, int], "no object")],
)
def test_what_is_no_object_is_refused(wanted: Any, says_so: str) -> None:
    with pytest.raises(SchemaTypeError, match=says_so):
        schema_for(wanted)


class Modelled:
    """As pydantic's models look from outside."""

    model_fields: ClassVar[dict[str, Any]] = {}

    @classmethod
    def model_validate(cls, value: Any) -> Any: ...


@dataclasses.dataclass
class Line:
    path: pathlib.Path


KINDS = "none of attrs, dataclass, msgspec struct or TypedDict"


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        (list[Line], "field held[].path: pathlib.Path cannot be described; use str"),
        (dict[str, Line], "field held{}.path: pathlib.Path cannot be described; use str"),
        (tuple[int, complex], "field held[]: complex cannot be described; use str"),
        (object, "field held: object cannot be described; use typing.Any"),
        (Callable[[int], int], "field held: collections.abc.Callable cannot be described; use str"),
        (Unknown | None, f"field held: {__name__}.Unknown cannot be described, being {KINDS}"),
        (Annotated[Unknown, msgspec.Meta(description="d")], "Unknown cannot be described, being none of"),
        (Modelled, f"field held: a pydantic model is {KINDS}"),
        (Page[Unknown], "field held.items[]: "),
        (int | Unknown, "field held: Type unions containing a custom type may not contain"),
        (dataclasses.make_dataclass("In", [("a", int | Unknown)]), "field held.a: Type unions containing"),
        ("Nowhere", "name 'Nowhere' is not defined"),
    ],
)
def test_what_cannot_be_described_is_refused_in_a_whole_line_that_names_the_field(type_: Any, said: str) -> None:
    with pytest.raises(SchemaTypeError) as failed:
        schema_for(attrs.make_class("Holder", {"held": attrs.field(type=type_)}))
    assert said in str(failed.value)
    assert str(failed.value).startswith("Holder")
    assert "\n" not in str(failed.value)
    assert not str(failed.value).endswith(":")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Modelled, f"Modelled: a pydantic model is {KINDS}"),
        (complex, f"complex is {KINDS}"),
        (Unknown, f"Unknown is {KINDS}"),
    ],
)
def test_what_is_no_class_with_fields_is_refused_by_name(wanted: Any, said: str) -> None:
    with pytest.raises(SchemaTypeError) as failed:
        schema_for(wanted)
    assert str(failed.value) == said
