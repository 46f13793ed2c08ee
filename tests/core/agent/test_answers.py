"""The model's answer as it arrives."""

from turnfold.effects.agent import MessageEnded, MessageStarted, MessageUpdated
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    DeltaKind,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    ModelError,
    StopReason,
    TextPart,
    ThinkingPart,
    Usage,
)

from tests.core.agent.world import World, call

TEXT = (Started("api", "acme", "m1", "r1"), BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "he"), BlockDelta(0, "llo"))


def answers_of(world: World) -> list[AssistantMessage]:
    ended = (event.message for event in world.events if isinstance(event, MessageEnded))
    return [message for message in ended if isinstance(message, AssistantMessage)]


def test_an_answer_is_told_as_it_grows() -> None:
    world = World(answers=[(*TEXT, BlockEnded(0, "sig"), StreamFinished())]).prompt("hi")
    updates = [event for event in world.events if isinstance(event, MessageUpdated)]
    assert [update.message.parts[0].text for update in updates] == ["", "he", "hello", "hello"]
    assert all(update.message.stop is StopReason.PENDING for update in updates)
    assert answers_of(world)[0].parts == (TextPart("hello", "sig"),)


def test_the_announcement_has_no_thinking_level_and_the_end_has() -> None:
    world = World(answers=[(*TEXT, StreamFinished())], thinking="high").prompt("hi")
    started = [event.message for event in world.events if isinstance(event, MessageStarted)][-1]
    assert (started.thinking_level, answers_of(world)[0].thinking_level) == (None, "high")


def test_an_answer_that_comes_whole_is_announced_whole() -> None:
    world = World(answers=[(StreamFinished(message=AssistantMessage((TextPart("x"),))),)]).prompt("hi")
    started = [event.message for event in world.events if isinstance(event, MessageStarted)][-1]
    assert started is answers_of(world)[0]
    assert started.thinking_level == "off"


def test_what_comes_before_an_answer_begins_is_not_told_and_not_part_of_it() -> None:
    early = (BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "ghost"))
    world = World(answers=[(*early, *TEXT, StreamFinished())]).prompt("hi")
    assert answers_of(world)[0].parts == (TextPart("hello"),)
    assert sum(isinstance(event, MessageUpdated) for event in world.events) == 3


def test_an_answer_that_never_begins_is_kept_and_told_at_its_end() -> None:
    world = World(answers=[(*TEXT[1:], StreamFinished())]).prompt("hi")
    assert answers_of(world)[0].parts == (TextPart("hello"),)
    assert not [event for event in world.events if isinstance(event, MessageUpdated)]


def test_a_second_beginning_is_ignored() -> None:
    """Decision 46 b."""
    world = World(answers=[(*TEXT, Started("other"), BlockDelta(0, "!"), StreamFinished())]).prompt("hi")
    assert answers_of(world)[0].parts == (TextPart("hello!"),)
    assert answers_of(world)[0].api == "api"


def test_the_whole_message_of_the_end_replaces_what_arrived() -> None:
    whole = AssistantMessage((TextPart("rewritten"),))
    world = World(answers=[(*TEXT, StreamFinished(message=whole))]).prompt("hi")
    assert answers_of(world)[0].parts == whole.parts


def test_usage_counts_and_is_no_event() -> None:
    world = World(answers=[(*TEXT, UsageReported(Usage(3, output=1)), StreamFinished())]).prompt("hi")
    assert answers_of(world)[0].usage.total == 4
    assert sum(isinstance(event, MessageUpdated) for event in world.events) == 3


def test_a_failed_answer_keeps_what_had_come_of_it() -> None:
    failed = StreamFailed(ModelError(ErrorKind.NETWORK, "gone"))
    world = World(answers=[(*TEXT, failed)]).prompt("hi")
    message = answers_of(world)[0]
    assert (message.stop, message.error.message, message.parts) == (StopReason.ERROR, "gone", (TextPart("hello"),))


def test_an_aborted_answer_is_told_as_aborted() -> None:
    world = World(answers=[(StreamFailed(ModelError(ErrorKind.ABORTED, "stopped")),)]).prompt("hi")
    assert answers_of(world)[0].stop is StopReason.ABORTED


def test_thinking_and_calls_arrive_too() -> None:
    deltas = (
        Started(),
        BlockStarted(0, DeltaKind.THINKING),
        BlockDelta(0, "hm"),
        BlockEnded(0),
        BlockStarted(1, DeltaKind.CALL, "a", "clock"),
        BlockDelta(1, '{"x":'),
        BlockDelta(1, "1}"),
        BlockEnded(1),
        StreamFinished(StopReason.TOOL_USE),
    )
    world = World(answers=[deltas]).prompt("hi")
    assert answers_of(world)[0].parts == (ThinkingPart("hm"), CallPart("a", "clock", '{"x":1}'))


def test_arguments_that_still_arrive_can_be_looked_at() -> None:
    deltas = (
        Started(),
        BlockStarted(0, DeltaKind.CALL, "a", "clock"),
        BlockDelta(0, '{"zone": "Eu'),
        BlockStarted(1, DeltaKind.TEXT),
        StreamFinished(StopReason.TOOL_USE),
    )
    world = World(answers=[deltas]).prompt("hi")
    updates = [event for event in world.events if isinstance(event, MessageUpdated)]
    assert [update.arguments for update in updates] == [{}, {"zone": "Eu"}, None]


def test_what_was_told_earlier_stays_as_it_was() -> None:
    world = World(answers=[(*TEXT, StreamFinished())]).prompt("hi")
    first = next(event for event in world.events if isinstance(event, MessageUpdated))
    assert first.message.parts[0].text == ""


def test_an_unknown_reason_to_stop_is_an_ordinary_end() -> None:
    stopped = StreamFinished(StopReason.STOP, "sensitive", AssistantMessage((call("a"),), raw_stop="sensitive"))
    world = World(answers=[(stopped,)]).prompt("hi")
    assert "tool+a" in world.timeline
