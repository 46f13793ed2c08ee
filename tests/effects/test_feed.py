"""What input is by itself: how messages are told apart."""

from typing import Any

import pytest
from turnfold.effects.feed import InputMessage, Role
from turnfold.effects.values import replace


def test_a_message_is_of_a_user_unless_said_otherwise() -> None:
    message = InputMessage("hello")
    assert (message.role, message.id, message.revision, message.media, dict(message.meta)) == ("user", "", "", None, {})


def test_a_message_is_known_by_id_and_revision() -> None:
    """Identity for entering a history once; content, role, media and meta have no part in it."""
    message = InputMessage("hello", id="m", revision="2")
    assert message.key == "m@2"
    assert replace(message, content="other", role=Role.ASSISTANT, meta={"k": "v"}).key == message.key


@pytest.mark.parametrize("changes", [{"id": "n"}, {"revision": "3"}, {"revision": ""}], ids=str)
def test_another_id_or_revision_is_another_message(changes: dict[str, str]) -> None:
    message = InputMessage("hello", id="m", revision="2")
    assert replace(message, **changes).key != message.key


@pytest.mark.parametrize("member", ["content", "id", "revision", "role", "media", "meta"])
def test_a_message_of_something_else_is_refused_when_it_is_made(member: str) -> None:
    members: dict[str, Any] = {"content": "hello", member: 3}
    with pytest.raises(TypeError, match=rf"^InputMessage\.{member} must be "):
        InputMessage(**members)
