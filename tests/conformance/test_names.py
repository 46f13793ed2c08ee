"""Every name of the two systems this one follows has a place here, or a reason why it has none, or is still to come.

``names.toml`` says which. A name that is mapped must exist; a line that is dropped changes the counts below.
"""

import importlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pytest

from tests.rules.tree import ROOT

# How many names the reference page of each system exports.
COUNTS = {"einorun": 173, "engine": 105}

LATER = "later"
LONGEST_REASON = 120
TARGET = re.compile(r"turnfold(\.\w+)+:\w+(\.\w+)*")

Tables = Mapping[str, Mapping[str, Any]]


class Missing(Exception):
    """A target that does not exist."""


def told() -> Tables:
    return tomllib.loads((ROOT / "tests" / "conformance" / "names.toml").read_text(encoding="utf-8"))


def misshapen(tables: Tables) -> Iterator[str]:
    """The entries whose value is neither a target, nor a reason for none, nor ``later``."""
    for table, names in tables.items():
        for name, value in names.items():
            match value:
                case "later":
                    continue
                case str() if TARGET.fullmatch(value):
                    continue
                case {"none": str(reason), **rest} if not rest and reason.strip() and len(reason.splitlines()) == 1:
                    if len(reason) <= LONGEST_REASON:
                        continue
                case _:
                    pass
            yield f"{table}.{name}: {value!r}"


def unresolved(tables: Tables) -> Iterator[str]:
    """The entries whose target does not exist, each with what is missing."""
    for table, names in tables.items():
        for name, value in names.items():
            if isinstance(value, str) and value != LATER:
                try:
                    resolve(value)
                except Missing as missing:
                    yield f"{table}.{name}: {missing}"


def resolve(target: str) -> None:
    """Import a target and follow its members; raises ``Missing`` for one that is not there or not public."""
    module_name, _, path = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise Missing(f"there is no module {error.name}") from error
    first, *members = path.split(".")
    if first not in getattr(module, "__all__", (first,)) or not hasattr(module, first):
        raise Missing(f"{module_name} has no public name {first}")
    found: Any = getattr(module, first)
    for member in members:
        found = member_of(found, member)


def member_of(owner: Any, name: str) -> Any:
    """A member of a class, or what a class knows of a field; what every object has is nobody's own."""
    private = name.startswith("_") and not name.endswith("__")
    if isinstance(owner, type) and not private:
        for cls in owner.__mro__[:-1]:
            if name in vars(cls):
                return vars(cls)[name]
        if attrs.has(owner) and name in attrs.fields_dict(owner):
            return attrs.fields_dict(owner)[name]
    raise Missing(f"{getattr(owner, '__qualname__', owner)} has no public member {name}")


def test_every_name_has_a_target_or_a_reason_or_is_still_to_come() -> None:
    assert list(misshapen(told())) == []


def test_every_target_exists() -> None:
    assert list(unresolved(told())) == []


def test_no_name_is_left_out() -> None:
    assert {table: len(names) for table, names in told().items()} == COUNTS


def test_a_name_given_twice_is_refused() -> None:
    """The reader refuses it, however the key is written, so ``told`` is the check of the file itself."""
    for again in ('Block = "later"', '"Block" = "later"', "'Block' = { none = 'no' }"):
        with pytest.raises(tomllib.TOMLDecodeError):
            tomllib.loads(f'[einorun]\nBlock = "later"\n{again}\n')


@pytest.mark.parametrize(
    "value",
    [
        '""',
        '"Later"',
        '"turnfold.effects.record"',
        '"turnfold:Block"',
        '"attrs:frozen"',
        '"turnfold.effects.record:Block."',
        '"no reason at all"',
        "true",
        "{}",
        '{ none = "" }',
        '{ none = " " }',
        '{ none = "one\\ntwo" }',
        f'{{ none = "{"x" * (LONGEST_REASON + 1)}" }}',
        '{ none = "why", later = true }',
        '{ because = "why" }',
    ],
)
def test_any_other_shape_is_found(value: str) -> None:
    assert len(list(misshapen(tomllib.loads(f"[einorun]\nBlock = {value}\n")))) == 1


def test_a_method_whose_name_is_not_quoted_is_found() -> None:
    """It would be a table of its own, and not counted as the name that it is."""
    assert len(list(misshapen(tomllib.loads('[einorun]\nFeed.Watch = "later"\n')))) == 1


@pytest.mark.parametrize(
    "target",
    [
        "turnfold.effects.nowhere:Block",
        "turnfold.effects.record:Nothing",
        "turnfold.effects.record:region",
        "turnfold.effects.record:Block.nothing",
        "turnfold.effects.record:Block.position.nothing",
        "turnfold.effects.record:ToolCall.settled.nothing",
        "turnfold.effects.record:BlockKind.NOTHING",
        "turnfold.effects.record:_OPEN",
        "turnfold.shells:Nothing",
        "turnfold.shells:Agent._tell",
        "turnfold.effects.feed:Feed.__repr__",
    ],
)
def test_a_target_that_is_not_there_is_found(target: str) -> None:
    assert len(list(unresolved({"einorun": {"Block": target}}))) == 1


@pytest.mark.parametrize(
    "target",
    [
        "turnfold.effects.record:Block",
        "turnfold.effects.record:Block.position",
        "turnfold.effects.record:ToolCall.status",
        "turnfold.effects.record:ToolCall.settled",
        "turnfold.effects.record:BlockKind.CONTENT",
        "turnfold.effects.feed:Feed.watch",
        "turnfold.effects.agent:AgentEvent",
        "turnfold.shells:Agent.model",
    ],
)
def test_classes_fields_properties_methods_members_and_unions_are_there(target: str) -> None:
    assert list(unresolved({"einorun": {"Block": target}})) == []
