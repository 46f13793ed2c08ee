"""``replace``: a copy with changes, the same as building the value anew."""

from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.clock import Woke
from turnfold.effects.display import ClearCandidate
from turnfold.effects.transcript import Message, TextPart, UserMessage
from turnfold.effects.values import field, frozen, region, replace
from turnfold.effects.vocabulary import Effect, Event

from tests.strategies import values

ALL = get_args(Message) + get_args(Event) + get_args(Effect)


@given(st.sampled_from(ALL), st.data())
def test_a_copy_with_changes_equals_the_value_built_with_them(cls: type[Any], data: st.DataObject) -> None:
    before, other = data.draw(values(cls)), data.draw(values(cls))
    names = data.draw(st.sets(st.sampled_from([attribute.name for attribute in attrs.fields(cls)])))
    changes = {name: getattr(other, name) for name in names}
    untouched = attrs.evolve(before)
    copy = replace(before, **changes)
    assert copy == attrs.evolve(before, **changes)
    assert type(copy) is cls
    assert before == untouched


def test_a_copy_without_changes_is_equal_and_another_object() -> None:
    part = TextPart("hello", signature="")
    copy = replace(part)
    assert copy == part
    assert copy is not part


def test_values_with_one_field_or_none_can_be_copied() -> None:
    assert replace(Woke(1), at=2) == Woke(2)
    assert replace(ClearCandidate()) == ClearCandidate()


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="UserMessage has no field 'contents'"):
        replace(UserMessage("hello"), contents="typo")
    with pytest.raises(TypeError, match="ClearCandidate has no field 'text'"):
        replace(ClearCandidate(), text="typo")


def test_inherited_fields_are_fields() -> None:
    @frozen
    class Named:
        name: str

    @frozen
    class Aged(Named):
        age: int

    assert replace(Aged("a", 1), name="b") == Aged("b", 1)


def test_a_value_cannot_be_changed_in_place() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        UserMessage("hello").content = "bye"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        object.__setattr__(UserMessage("hello"), "other", 1)


def test_validators_do_not_run_again() -> None:
    seen: list[int] = []

    @frozen
    class Watched:
        number: int = field(validator=lambda _, __, number: seen.append(number))

    assert replace(Watched(1), number=2).number == 2
    assert seen == [1]


# --- regions


@region
class Wide:
    a: int
    b: str = ""
    c: tuple[int, ...] = ()


@given(values(Wide), values(Wide), st.sets(st.sampled_from("abc")))
def test_a_region_is_copied_with_changes_like_any_value(before: Wide, other: Wide, names: set[str]) -> None:
    changes = {name: getattr(other, name) for name in names}
    untouched = attrs.evolve(before)
    assert replace(before, **changes) == attrs.evolve(before, **changes)
    assert before == untouched


def test_a_region_is_frozen_and_knows_its_fields() -> None:
    value = Wide(1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        value.a = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="Wide has no field d"):
        replace(value, d=1)
    assert hash(replace(value, b="x")) == hash(Wide(1, "x"))
    assert vars(replace(value)) is not vars(value)
