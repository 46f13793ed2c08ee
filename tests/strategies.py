"""Hypothesis strategies for every value that crosses the border, made from the values' own annotations.

``values(Cls)`` gives any instance of a frozen class, and ``values(A | B)`` of a union, however deeply they are nested;
a field that is added to a class is drawn from then on without a change here. The named strategies below it are for
reading tests.
"""

import enum
import functools
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from turnfold.effects.display import BlockView, Operation
from turnfold.effects.outcome import Outcome
from turnfold.effects.record import Block, ToolCall
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import Message, Sealed
from turnfold.effects.vocabulary import Effect, Event

# For a test that is repeated for many classes.
FEW = settings(max_examples=settings.default.max_examples // 10)

# Text as it may be stored: everything but halves of surrogate pairs.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
# Text as it may arrive.
WILD_TEXTS = st.text(st.characters() | st.sampled_from("\ud800\udbff\udc00\udfff\0"), max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)


@functools.cache
def values(wanted: Any) -> st.SearchStrategy[Any]:
    """Any value of a type: a frozen class, a union, a container of them, a scalar, or JSON where it says ``Any``."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if wanted in _SCALARS:
        return _SCALARS[wanted]
    if origin in (Union, types.UnionType):
        return st.one_of(*(values(member) for member in arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is Seq:
        return st.lists(values(arguments[0]), max_size=3).map(Seq)
    if origin is Mapping:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if issubclass(wanted, enum.Enum):
        return st.sampled_from(wanted)
    return st.deferred(lambda: _instances(wanted))


@functools.cache
def _instances(cls: type[attrs.AttrsInstance]) -> st.SearchStrategy[Any]:
    """Instances, each field with its default as often as not: what is left out is where an encoding goes wrong."""
    hints = get_type_hints(cls)
    fields = {field.alias or field.name: field for field in attrs.fields(cls)}
    needed = {alias: values(hints[field.name]) for alias, field in fields.items() if field.default is attrs.NOTHING}
    optional = {alias: values(hints[field.name]) for alias, field in fields.items() if alias not in needed}
    return st.fixed_dictionaries(needed, optional=optional).map(lambda drawn: cls(**drawn))


_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: NUMBERS,
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=8),
    Any: JSON,
    type(None): st.none(),
    msgspec.UnsetType: st.just(msgspec.UNSET),
    Sealed: st.deferred(lambda: MESSAGES.map(Sealed.of)),
}

MESSAGES: st.SearchStrategy[Message] = values(Message)
CALLS: st.SearchStrategy[ToolCall] = values(ToolCall)
BLOCKS: st.SearchStrategy[Block] = values(Block)
OUTCOMES: st.SearchStrategy[Outcome] = values(Outcome)
OPERATIONS: st.SearchStrategy[Operation] = values(Operation)
BLOCK_VIEWS: st.SearchStrategy[BlockView] = values(BlockView)
EVENTS: st.SearchStrategy[Event] = values(Event)
EFFECTS: st.SearchStrategy[Effect] = values(Effect)
