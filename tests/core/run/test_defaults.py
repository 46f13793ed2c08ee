"""What holds where a host says nothing, and the set-ups that are refused at their very edge."""

from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from turnfold.core.run import Extension, Functions, Limits, ModelSpec, Retries, RunSpec, SpecError, rules_for
from turnfold.core.run.fingerprint import AgentParts, changes, fingerprint, schema_of
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ToolDeclaration

SCHEMA = {"type": "object"}


def test_limits_where_nothing_is_said() -> None:
    assert Limits() == Limits(
        iterations=20,
        turns=0,
        lease_ms=30_000,
        poll_ms=5_000,
        corrections=1,
        tokens=0,
        cost=0.0,
        tool_ms=0,
        first_token_ms=0,
        stall_ms=0,
        run_ms=0,
    )
    assert Retries() == Retries(times=2, first_ms=500, longest_ms=10_000, patience_ms=60_000)
    assert RunSpec("r") == RunSpec("r", "", (), ModelSpec(0, {}), Limits(), False, False, False, "", Retries())


@pytest.mark.parametrize(
    "limits",
    [
        {"iterations": 1},
        {"turns": 0},
        {"lease_ms": 1},
        {"poll_ms": 1},
        {"corrections": 0, "tokens": 0, "cost": 0, "tool_ms": 0, "first_token_ms": 0, "stall_ms": 0, "run_ms": 0},
    ],
)
def test_the_smallest_limits_are_taken(limits: dict[str, Any]) -> None:
    assert rules_for(RunSpec("r", limits=Limits(**limits))).spec.limits == Limits(**limits)


@pytest.mark.parametrize(
    "name", ["corrections", "tokens", "cost", "tool_ms", "first_token_ms", "stall_ms", "run_ms", "turns"]
)
def test_no_limit_is_negative(name: str) -> None:
    with pytest.raises(SpecError, match="negative"):
        rules_for(RunSpec("r", limits=Limits(**{name: -1})))


@pytest.mark.parametrize("name", ["times", "first_ms", "longest_ms", "patience_ms"])
def test_no_retry_is_negative(name: str) -> None:
    assert rules_for(RunSpec("r", retries=Retries(**{name: 0})))
    with pytest.raises(SpecError, match="retries and their delays cannot be negative"):
        rules_for(RunSpec("r", retries=Retries(**{name: -1})))


class Named(Extension):
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize(
    ("names", "told"),
    [(("a", "b", "a"), r"an extension is registered twice \(as 'a'\)"), (("a", ""), "an extension has no name")],
)
def test_each_extension_has_a_name_of_its_own(names: tuple[str, ...], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        rules_for(RunSpec("r"), extensions=[Named(name) for name in names])


def test_checks_are_for_tools_that_are_there() -> None:
    with pytest.raises(SpecError, match="checks are given for tools the run does not have: a, b"):
        rules_for(RunSpec("r"), functions=Functions(checks={"b": str, "a": str}))


def test_the_rules_name_the_completion_tools_in_order_and_keep_the_extensions() -> None:
    tools = tuple(ToolSpec(ToolDeclaration(name), completion=name != "look") for name in ("finish", "look", "abort"))
    extensions = (Named("b"), Named("a"))
    rules = rules_for(RunSpec("r", tools=tools), extensions=list(extensions))
    assert rules.completion == ("abort", "finish")
    assert rules.extensions == extensions


# --- the fingerprint


def parts(**changed: Any) -> AgentParts:
    tool = ToolSpec(ToolDeclaration("pay", "Pays.", SCHEMA))
    told = {"instruction": "Be kind.", "model": (0, {"t": 1}), "tools": (tool,), "extensions": ("plan",), **changed}
    return AgentParts(**told)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, ()),
        ({"instruction": "Be brief."}, ("instruction",)),
        ({"model": (9, {"t": 1})}, ("model",)),
        ({"model": (0, {"t": 2})}, ("model",)),
        ({"instruction": "", "model": (1, {})}, ("instruction", "model")),
        ({"tools": ()}, ("tool pay",)),
        ({"tools": (ToolSpec(ToolDeclaration("pay", "Pays!", SCHEMA)),)}, ("tool pay",)),
        ({"tools": (ToolSpec(ToolDeclaration("pay", "Pays.", {})),)}, ("tool pay",)),
        ({"tools": (ToolSpec(ToolDeclaration("pay", "Pays.", SCHEMA), completion=True),)}, ("tool pay",)),
        ({"tools": (ToolSpec(ToolDeclaration("pay", "Pays.", SCHEMA), replayable=True),)}, ()),
        (
            {"tools": (ToolSpec(ToolDeclaration("buy")), ToolSpec(ToolDeclaration("ask")))},
            ("tool ask", "tool buy", "tool pay"),
        ),
        ({"extensions": ()}, ("extension plan",)),
        ({"extensions": ("plan", "b", "a")}, ("extension a", "extension b")),
    ],
)
def test_what_changed_of_an_agent_is_told_by_part(changed: dict[str, Any], told: tuple[str, ...]) -> None:
    """Decision 35"""
    before, after = fingerprint(parts()), fingerprint(parts(**changed))
    assert changes(before, after) == told
    assert changes(after, before) == told


def test_a_fingerprint_is_the_same_whatever_the_order_of_options() -> None:
    one, two = parts(model=(0, {"a": 1, "b": 2})), parts(model=(0, {"b": 2, "a": 1}))
    assert fingerprint(one) == fingerprint(two)


def test_a_fingerprint_is_stored_in_one_form() -> None:
    """A resume under a later release compares with what an earlier one has stored."""

    def digest(raw: bytes) -> str:
        return blake2b(raw, digest_size=8).hexdigest()

    tools = (
        ToolSpec(ToolDeclaration("pay", "Pays \ud800.", SCHEMA)),
        ToolSpec(ToolDeclaration("finish", "", {}), completion=True),
    )
    assert msgspec.json.decode(fingerprint(parts(instruction="Be \ud800.", tools=tools))) == {
        "instruction": digest(b"Be ?."),
        "model": digest(b'[0,{"t":1}]'),
        "tools": {
            "finish": {"description": digest(b""), "schema": {}, "completion": True},
            "pay": {"description": digest(b"Pays ?."), "schema": SCHEMA},
        },
        "extensions": ["plan"],
    }


def test_what_changed_is_told_in_the_order_of_names() -> None:
    names = tuple("hgfedcba")
    told = changes(fingerprint(parts(extensions=())), fingerprint(parts(extensions=names)))
    assert told == tuple(f"extension {name}" for name in sorted(names))


def test_a_fingerprint_tells_schemas_and_no_text() -> None:
    raw = fingerprint(parts(instruction="a secret \ud800"))
    assert b"secret" not in raw
    assert b"Pays" not in raw
    assert schema_of(raw, "pay") == SCHEMA
    assert schema_of(raw, "other") is None


@pytest.mark.parametrize("raw", [b"", b"\xff", b"[]", b'{"tools": 1, "extensions": 2}', b'{"tools": {"pay": 1}}'])
def test_a_fingerprint_that_cannot_be_read_tells_everything_as_new(raw: bytes) -> None:
    assert schema_of(raw, "pay") is None
    assert changes(raw, fingerprint(parts())) == ("instruction", "model", "tool pay", "extension plan")
