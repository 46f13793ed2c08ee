"""From the text of an answer to a value."""

import contextlib
import dataclasses
from typing import Required, TypedDict

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.adapters.models.structured import UndecodedError, decode_object

from tests.adapters.models.structured.world import Answered, Node


@dataclasses.dataclass
class Data:
    title: str
    note: str | None = None


class Typed(TypedDict, total=False):
    title: Required[str]
    note: str | None


class Struct(msgspec.Struct):
    title: str
    note: str | None = None


@pytest.mark.parametrize("wanted", [Answered, Data, Struct])
def test_a_value_of_each_kind_of_class(wanted: type) -> None:
    assert decode_object('{"title": "ok", "note": null}', wanted) == wanted("ok")
    assert decode_object('{"title": "ok"}', wanted) == wanted("ok")


def test_a_typed_dict_is_a_dict() -> None:
    assert decode_object('{"title": "ok", "more": 1}', Typed) == {"title": "ok"}


@pytest.mark.parametrize(
    "text",
    [
        'Here it is: {"title": "ok"} and {"that": "is"} all',
        '```json\n{"title": "ok"}\n```',
        '{"title": "ok", "unknown": [1, {}]}',
        ' \n{"title": "ok"}}}}',
    ],
)
def test_what_stands_around_an_object_does_not_matter(text: str) -> None:
    """TestDecodeObjectTrailingText."""
    assert decode_object(text, Answered) == Answered("ok")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("[1]", "no JSON object"),
        ("{not JSON} {}", "is no JSON"),
        ('{"title": "o', "is no JSON"),
        ('{"title": NaN}', "NaN is no number"),
        ('{"title": 1e999}', "out of range"),
        ('{"a":' * 100_000, "no JSON"),
        ('{"title": 7}', r"Expected `str`, got `int` - at `\$\.title`"),
        ("{}", "missing required field `title`"),
    ],
)
def test_a_text_without_such_an_object_says_why(text: str, problem: str) -> None:
    with pytest.raises(UndecodedError, match=problem) as failed:
        decode_object(text, Answered)
    assert "\n" not in str(failed.value)
    assert len(str(failed.value)) < 300


@attrs.frozen
class Checked:
    size: int = attrs.field(validator=attrs.validators.ge(3))


def test_the_types_own_checks_count_as_decoding() -> None:
    with pytest.raises(UndecodedError, match="must be >= 3"):
        decode_object('{"size": 1}', Checked)


@dataclasses.dataclass
class Range:
    low: int
    high: int = 9

    def __post_init__(self) -> None:
        assert self.low <= self.high, f"low must not be above\n{self.high}"
        if self.low < 0:
            raise {0: KeyError("low"), 1: RuntimeError(), 2: ZeroDivisionError("x" * 1_000)}[-self.low - 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"low": 10}', "low must not be above 9"),
        ('{"low": -1}', "KeyError: 'low'"),
        ('{"low": -2}', "RuntimeError"),
        ('{"low": -3}', "ZeroDivisionError: xxx"),
    ],
)
def test_whatever_the_types_own_checks_raise_is_told_on_one_line(text: str, said: str) -> None:
    with pytest.raises(UndecodedError, match=rf"as it should be: {said}") as failed:
        decode_object(text, Range)
    assert "\n" not in str(failed.value)
    assert len(str(failed.value)) < 600


def test_a_value_may_contain_its_own_kind() -> None:
    assert decode_object('{"name": "a", "children": [{"name": "b"}]}', Node) == Node("a", [Node("b")])


def test_no_half_of_a_surrogate_pair_comes_through() -> None:
    assert decode_object('{"title": "a\\ud83d"}', Answered) == Answered("a\ufffd")


@given(text=st.text() | st.text(alphabet='{}[]":,\\ tile0123456789.eE+-nulfasr', max_size=60))
def test_any_text_gives_a_value_or_says_why(text: str) -> None:
    found: object = None
    with contextlib.suppress(UndecodedError):
        found = decode_object(text, Answered)
    assert found is None or isinstance(found, Answered)
