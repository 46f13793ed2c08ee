"""A whole transcript as models may take it."""

import pytest
from turnfold.effects.transcript import Message, SystemMessage, TextPart, ToolDeclaration, UserMessage
from turnfold.effects.transcript.declared import declared_tools, update_text
from turnfold.effects.transcript.resolving import (
    ToolPlan,
    collapsed,
    first_system,
    only_adds_tools,
    plan_tools,
    redefines_tools,
    resolved,
    with_instructions,
    without_first_system,
)

A, B = ToolDeclaration("a"), ToolDeclaration("b")
A2 = ToolDeclaration("a", "other")
HELLO = UserMessage("hello")
RULES = SystemMessage("Rules.", {"tone": "calm", "old": "x"}, (A,), timestamp=5)
LATER = SystemMessage("Note.", {"old": None, "new": ""}, (B,), timestamp=6)
TALK: tuple[Message, ...] = (RULES, HELLO, LATER)


def added(*tools: ToolDeclaration, removed: tuple[str, ...] | None = None) -> SystemMessage:
    return SystemMessage("", tools_added=tools, tools_removed=removed)


def test_the_first_system_message_is_one_only_at_the_beginning() -> None:
    assert first_system(TALK) is RULES
    assert without_first_system(TALK) == (HELLO, LATER)
    for talk in ((HELLO, RULES), ()):
        assert first_system(talk) is None
        assert without_first_system(talk) == talk


def test_instructions_go_in_front_where_there_are_any() -> None:
    assert with_instructions("", (), [HELLO]) == (HELLO,)
    assert with_instructions("P", (A,), [HELLO]) == (SystemMessage("P", tools_added=(A,), timestamp=0), HELLO)


def test_all_system_messages_become_one() -> None:
    head = SystemMessage("Rules.\n\nNote.", {"tone": "calm", "new": ""}, (A, B), timestamp=5)
    assert collapsed(TALK) == resolved(TALK, anywhere=False) == (head, HELLO)
    assert collapsed((head, HELLO)) == (head, HELLO)
    assert collapsed((HELLO,)) == (HELLO,)


def test_a_model_that_reads_them_anywhere_gets_them_as_they_are() -> None:
    found = resolved(TALK, anywhere=True)
    assert all(one is other for one, other in zip(found, TALK, strict=True))


def test_an_update_is_told_as_the_change_it_is() -> None:
    assert update_text(SystemMessage((TextPart("Note"), TextPart("two")), {"tone": "calm", "old": None, "no": ""})) == (
        'Note\ntwo\n\nUpdated system prompt section "tone":\n\ncalm\n\n'
        'Removed system prompt section "old".\n\nUpdated system prompt section "no":\n\n'
    )
    assert update_text(SystemMessage("")) == ""


def test_declared_tools_are_never_taken_away() -> None:
    assert declared_tools([added(A, B), HELLO, added(A2, removed=("b",))]) == (A2, B)


@pytest.mark.parametrize(
    ("talk", "only_adds", "redefines"),
    [
        ([], True, False),
        ([added(A), HELLO, added(B)], True, False),
        ([added(A), added(A)], False, False),
        ([added(A), added(A2)], False, True),
        ([added(A), added(A2), added(A2)], False, True),
        ([added(A), added(removed=("a",))], False, False),
        ([added(A), added(A2, removed=("a",))], False, True),
        ([added(A, A)], False, False),
    ],
)
def test_changes_that_only_add_are_told_from_others(talk: list[Message], only_adds: bool, redefines: bool) -> None:
    assert only_adds_tools(talk) is only_adds
    assert redefines_tools(talk) is redefines


def test_tools_that_are_only_added_may_come_where_they_were_added() -> None:
    talk = [added(A), HELLO, added(B)]
    assert plan_tools(talk, additions=True) == ToolPlan((A,), anchored=True)
    assert plan_tools(talk, additions=False) == ToolPlan((A, B))
    assert plan_tools(talk[1:], additions=True) == ToolPlan((), anchored=True)


def test_otherwise_the_request_has_what_is_in_force() -> None:
    assert plan_tools([added(A, B), added(A2, removed=("b",))], additions=True) == ToolPlan((A2,))
