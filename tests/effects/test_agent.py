"""How a changed list of messages is told, so that a hook that changes nothing costs nothing."""

from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.agent import Rewrite
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import Message, UserMessage

TALK: Seq[Message] = Seq(UserMessage(text) for text in "abc")
NEW = UserMessage("new")


def test_what_stays_at_the_beginning_is_told_by_its_number() -> None:
    a, b, c = TALK
    assert Rewrite.of(TALK, TALK) == Rewrite.of(TALK, [a, b, c]) == Rewrite(3)
    assert Rewrite.of(TALK, [a, b, c, NEW]) == Rewrite(3, (NEW,))
    assert Rewrite.of(TALK, [a, NEW, c]) == Rewrite(1, (NEW, c))
    assert Rewrite.of(TALK, [a]) == Rewrite(1)
    assert Rewrite.of(TALK, []) == Rewrite(0)
    assert Rewrite.of(TALK, [b, c]) == Rewrite(0, (b, c))


def test_what_changes_nothing_gives_the_very_list_back() -> None:
    assert Rewrite(3).apply(TALK) is TALK


@given(st.lists(st.sampled_from([*TALK, NEW]), max_size=6))
def test_a_change_that_is_told_gives_the_changed_list(after: list[Message]) -> None:
    assert list(Rewrite.of(TALK, after).apply(TALK)) == after
    assert list(TALK) == [UserMessage(text) for text in "abc"]
