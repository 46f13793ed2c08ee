"""What a transcript says of tools and instructions."""

import pytest
from turnfold.effects.transcript import SystemMessage, TextPart, ToolDeclaration, UserMessage
from turnfold.effects.transcript.declared import (
    ToolChanges,
    current_system,
    current_tools,
    declare,
    initial_system,
    same_declaration,
    system_prompt,
    system_text,
    tool_changes,
    with_tool_changes,
)

A, B = ToolDeclaration("a"), ToolDeclaration("b")
A2 = ToolDeclaration("a", "other")


def added(*tools: ToolDeclaration, removed: tuple[str, ...] | None = None) -> SystemMessage:
    return SystemMessage("", tools_added=tools, tools_removed=removed)


def test_tools_are_removed_before_others_are_added() -> None:
    assert current_tools([added(A, B), added(A2, removed=("a",))]) == (B, A2)


def test_a_name_added_again_keeps_its_place() -> None:
    assert current_tools([added(A, B), added(A2)]) == (A2, B)


def test_the_order_of_members_counts() -> None:
    one = ToolDeclaration("a", parameters={"x": 1, "y": 2})
    other = ToolDeclaration("a", parameters={"y": 2, "x": 1})
    assert not same_declaration(one, other)
    assert same_declaration(one, ToolDeclaration("a", parameters={"x": 1, "y": 2}))


def test_a_changed_tool_is_added_and_removed() -> None:
    assert tool_changes((A, B), (A2,)) == ToolChanges((A2,), ("a", "b"))
    assert not tool_changes((A, B), (A, B))


def test_without_changes_a_message_says_nothing_of_tools() -> None:
    assert with_tool_changes(added(A), ToolChanges()) == SystemMessage("")


def test_what_is_declared_already_changes_nothing() -> None:
    entering = (UserMessage("hi"),)
    assert declare((A,), (A,), entering, 5) is entering


def test_a_change_goes_before_the_first_message_that_is_no_system_message() -> None:
    assert declare((), (A,), (UserMessage("hi"),), 5) == (
        SystemMessage("", tools_added=(A,), timestamp=5),
        UserMessage("hi"),
    )
    assert declare((), (A,), (), 5) == (SystemMessage("", tools_added=(A,), timestamp=5),)


def test_the_last_system_message_carries_the_change_whatever_it_claimed() -> None:
    entering = (SystemMessage("first"), SystemMessage("last", tools_added=(B,), tools_removed=("x",)))
    assert declare((), (A,), entering, 5) == (SystemMessage("first"), SystemMessage("last", tools_added=(A,)))


def test_a_claim_that_is_true_already_is_taken_away() -> None:
    assert declare((A,), (A,), (SystemMessage("s", tools_added=(A,)),), 5) == (SystemMessage("s"),)


def test_all_system_messages_amount_to_one() -> None:
    messages = [
        UserMessage("hi"),
        SystemMessage("one", {"s": "x", "t": "y"}, tools_added=(A,)),
        SystemMessage((TextPart("two"), TextPart("lines")), {"s": None, "u": "z"}, timestamp=7),
    ]
    assert current_system(messages) == SystemMessage(
        "one\n\ntwo\nlines", {"t": "y", "u": "z"}, tools_added=(A,), timestamp=7
    )
    assert system_prompt(messages) == "one\n\ntwo\nlines\n\ny\n\nz"


def test_no_system_message_amounts_to_nothing() -> None:
    assert current_system([UserMessage("hi")]) is None
    assert system_prompt([]) == ""


@pytest.mark.parametrize(
    ("prompt", "tools", "message"),
    [
        ("", (), None),
        ("be brief", (), SystemMessage("be brief", timestamp=0)),
        ("", (A,), SystemMessage("", tools_added=(A,), timestamp=0)),
    ],
)
def test_a_conversation_begins_with_its_instructions_and_tools(
    prompt: str, tools: tuple[ToolDeclaration, ...], message: SystemMessage | None
) -> None:
    assert initial_system(prompt, tools) == message


def test_empty_parts_of_a_system_text_are_left_out() -> None:
    assert system_text(SystemMessage("", {"a": "", "b": "text", "c": None})) == "text"
