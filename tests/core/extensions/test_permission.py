"""Which calls the permission gate lets through."""

from typing import Any

import pytest
from turnfold.core.extensions.policies import CHINESE, Allow, PermissionGate
from turnfold.effects.agent import Context
from turnfold.effects.hook import BeforeTool
from turnfold.effects.transcript import AssistantMessage, CallPart


def order(tool: str, arguments: Any) -> BeforeTool:
    call = CallPart("a", tool)
    return BeforeTool(1, AssistantMessage((call,)), call, arguments, Context())


def permitted(gate: PermissionGate, tool: str, arguments: Any = None) -> bool:
    return gate(order(tool, {} if arguments is None else arguments)) is None


def test_without_rules_nothing_is_permitted() -> None:
    assert not permitted(PermissionGate(), "read")


def test_a_rule_allows_its_tool_and_no_other() -> None:
    gate = PermissionGate((Allow("read"), Allow("git_*")))
    assert permitted(gate, "read", {"path": "anything"})
    assert permitted(gate, "git_log")
    assert not permitted(gate, "reader")
    assert not permitted(gate, "git")
    assert permitted(PermissionGate((Allow("*"),)), "anything")


@pytest.mark.parametrize(
    ("wanted", "given", "allowed"),
    [
        ("test", "test", True),
        ("test", "production", False),
        (True, True, True),
        (True, 1, False),
        (1, True, False),
        (1, 1.0, True),
        ([1, {"a": [True]}], [1, {"a": [True]}], True),
        ([1, {"a": [True]}], [1, {"a": [1]}], False),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, "a", False),
        (None, None, True),
        (lambda value: value.startswith("/tmp"), "/tmp/x", True),
        (lambda value: value.startswith("/tmp"), "/etc/x", False),
        (lambda value: value.startswith("/tmp"), 5, False),
        (lambda value: "yes", "x", False),
    ],
)
def test_a_condition_is_a_value_or_a_function_that_says_true(wanted: Any, given: Any, allowed: bool) -> None:
    gate = PermissionGate((Allow("deploy", {"stage": wanted}),))
    assert permitted(gate, "deploy", {"stage": given}) is allowed


def test_an_async_condition_has_not_agreed() -> None:
    closed: list[Any] = []

    async def later(value: Any) -> bool:
        return True

    def keep(value: Any) -> Any:
        closed.append(later(value))
        return closed[0]

    assert not permitted(PermissionGate((Allow("read", {"path": keep}),)), "read", {"path": "x"})
    closed[0].close()


def test_a_missing_argument_meets_no_condition() -> None:
    gate = PermissionGate((Allow("read", {"path": lambda value: True}),))
    assert not permitted(gate, "read", {})
    assert not permitted(gate, "read", "no object")


def test_an_exact_rule_admits_no_further_arguments() -> None:
    gate = PermissionGate((Allow("deploy", {"stage": "test"}, exact=True),))
    assert permitted(gate, "deploy", {"stage": "test"})
    assert not permitted(gate, "deploy", {"stage": "test", "force": True})
    assert not permitted(PermissionGate((Allow("now", exact=True),)), "now", "no object")


def test_one_rule_that_admits_is_enough() -> None:
    gate = PermissionGate((Allow("read", {"path": "a"}), Allow("read", {"path": "b"})))
    assert permitted(gate, "read", {"path": "b"})


def test_the_reason_says_whether_it_is_the_tool_or_the_arguments() -> None:
    gate = PermissionGate((Allow("read", {"path": "a"}),), CHINESE)
    tool, arguments = gate(order("rm", {})), gate(order("read", {"path": "{name}"}))
    assert tool is not None
    assert arguments is not None
    assert tool.reason == CHINESE.tool_not_permitted.replace("{name}", "rm")
    assert arguments.reason == CHINESE.arguments_not_permitted.replace("{name}", "read")
