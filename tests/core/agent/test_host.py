"""Around a run: the view, the queues, and how a run may begin."""

import pytest
from turnfold.core.agent import (
    Queue,
    QueueMode,
    Queues,
    continuation,
    first_view,
    prompt_messages,
    reset_view,
    settled_view,
    started_view,
    watch_event,
    with_messages,
)
from turnfold.effects.agent import MessageEnded, MessageStarted, ToolEnded, ToolStarted, TurnEnded
from turnfold.effects.agent_vocabulary import Continued, Prompted
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import ToolResult
from turnfold.effects.transcript import (
    AssistantMessage,
    ErrorKind,
    ImagePart,
    ModelError,
    StopReason,
    SystemMessage,
    TextPart,
    UserMessage,
)

from tests.core.agent.world import NOW, tool, user

EMPTY = first_view(Seq(), (), "", None, "off")


def test_an_agent_begins_with_what_it_is_told_to_be() -> None:
    view = first_view(Seq([user("hi")]), (tool(),), "be brief", None, "off")
    system = view.messages[0]
    assert isinstance(system, SystemMessage)
    assert (system.content, system.timestamp, [one.name for one in system.tools_added]) == ("be brief", 0, ["clock"])
    assert view.system_prompt == "be brief"


def test_a_leading_system_message_wins() -> None:
    view = first_view(Seq([SystemMessage("other")]), (tool(),), "be brief", None, "off")
    assert list(view.messages) == [SystemMessage("other")]


def test_an_agent_without_instructions_and_tools_begins_empty() -> None:
    assert not EMPTY.messages
    assert EMPTY.model.id == "unknown"


def test_a_message_counts_when_it_ends() -> None:
    view = watch_event(started_view(EMPTY), MessageStarted(user("hi")))
    assert (view.streaming_message, len(view.messages)) == (user("hi"), 0)
    view = watch_event(view, MessageEnded(user("hi")))
    assert (view.streaming_message, len(view.messages)) == (None, 1)


def test_calls_pend_from_their_start_to_their_end() -> None:
    view = started_view(EMPTY)
    for call_id in ("b", "a", "b"):
        view = watch_event(view, ToolStarted(call_id, "clock", "{}"))
    assert view.pending_calls == ("b", "a")
    assert watch_event(view, ToolEnded("b", "clock", ToolResult(), False)).pending_calls == ("a",)
    assert settled_view(view).pending_calls == ()


@pytest.mark.parametrize(("text", "kept"), [("limit", "limit"), ("", None)])
def test_the_text_of_a_failed_answer_is_kept_until_the_next_run(text: str, kept: str | None) -> None:
    failed = AssistantMessage(stop=StopReason.ERROR, error=ModelError(ErrorKind.RATE_LIMITED, text))
    view = watch_event(EMPTY, TurnEnded(failed))
    assert view.error_message == kept
    assert started_view(view).error_message is None


def test_a_reset_keeps_what_the_conversation_amounts_to() -> None:
    messages = Seq([SystemMessage("a", tools_added=(tool().declaration,), timestamp=3), user("hi"), SystemMessage("b")])
    view = reset_view(with_messages(EMPTY, messages))
    assert list(view.messages) == [SystemMessage("a\n\nb", tools_added=(tool().declaration,), timestamp=3)]
    assert not reset_view(with_messages(EMPTY, Seq([user("hi")]))).messages


def test_a_queue_gives_one_or_all() -> None:
    queue = Queue().added(user("1")).added(user("2"))
    assert (queue.next, queue.drained.messages) == ((user("1"),), (user("2"),))
    queue = Queue(QueueMode.ALL, queue.messages)
    assert (len(queue.next), queue.drained.messages) == (2, ())


def test_steering_goes_before_follow_ups() -> None:
    queues = Queues(Queue(), Queue().added(user("later")))
    assert queues.next == (user("later"),)
    assert Queues(Queue().added(user("now")), queues.follow_ups).next == (user("now"),)
    assert not queues.cleared.waiting


def test_a_prompt_is_a_text_a_message_or_several() -> None:
    image = ImagePart("AAA=")
    assert prompt_messages("", NOW, [image]) == Prompted(NOW, (UserMessage((TextPart(""), image), NOW),))
    assert prompt_messages(user("x"), NOW, [image]) == Prompted(NOW, (user("x"),))
    assert prompt_messages([user("x"), user("y")], NOW) == Prompted(NOW, (user("x"), user("y")))


NOTHING = "No messages to continue from"
ANSWERED = with_messages(EMPTY, Seq([user("hi"), AssistantMessage()]))


@pytest.mark.parametrize("messages", [(), (SystemMessage("x"),)])
def test_there_is_nothing_to_go_on_from_but_instructions(messages: tuple) -> None:
    assert continuation(with_messages(EMPTY, Seq(messages)), Queues(), NOW)[0] == NOTHING


def test_a_run_goes_on_from_anything_but_an_answer() -> None:
    assert continuation(with_messages(EMPTY, Seq([user("hi")])), Queues(), NOW) == (Continued(NOW), Queues())


def test_after_an_answer_one_steering_message_is_the_prompt_and_the_first_poll_gives_nothing() -> None:
    queues = Queues(Queue().added(user("1")).added(user("2")))
    first, left = continuation(ANSWERED, queues, NOW)
    assert first == Prompted(NOW, (user("1"),))
    nothing, left = left.steer()
    assert nothing == ()
    assert left.steer()[0] == (user("2"),)


def test_after_an_answer_follow_ups_are_the_prompt_if_nothing_steers() -> None:
    queues = Queues(Queue(), Queue().added(user("f")))
    first, left = continuation(ANSWERED, queues, NOW)
    assert first == Prompted(NOW, (user("f"),))
    assert not left.waiting
    assert not left.held


def test_after_an_answer_with_nothing_queued_there_is_no_going_on() -> None:
    assert continuation(ANSWERED, Queues(), NOW)[0] == "Cannot continue from message role: assistant"
