"""What the small questions one can ask of a value answer."""

from hypothesis import given
from turnfold.effects.feed import InputMessage
from turnfold.effects.model import ModelRequest
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import (
    ZERO_USAGE,
    AssistantMessage,
    CallPart,
    ImagePart,
    Message,
    Sealed,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    Usage,
    UserMessage,
    calls_of,
    parts_of,
    text_of,
)

from tests.strategies import MESSAGES, values


@given(values(Usage), values(Usage))
def test_the_parts_of_usage_are_disjoint_and_reasoning_is_in_the_output(one: Usage, other: Usage) -> None:
    assert one.total == one.input + one.cache_read + one.cache_write + one.output
    assert (one + other).total == one.total + other.total
    assert (one + other).reasoning == one.reasoning + other.reasoning
    assert one + ZERO_USAGE == one
    assert one + other == other + one


def test_content_is_read_as_parts_whatever_its_form() -> None:
    image = ImagePart("aGk=")
    assert parts_of(None) == ()
    assert parts_of("") == (TextPart(""),)
    assert parts_of((TextPart("a"), image)) == (TextPart("a"), image)


def test_the_text_of_an_output_is_joined_and_that_of_other_messages_stands_in_lines() -> None:
    output = AssistantMessage((ThinkingPart("hm"), TextPart("a"), CallPart("1", "add"), TextPart("b")))
    assert text_of(output) == "ab"
    assert text_of(UserMessage((TextPart("a"), ImagePart("aGk="), TextPart("b")))) == "a\nb"
    assert text_of(SystemMessage()) == ""


def test_calls_keep_the_order_in_which_they_were_made() -> None:
    calls = (CallPart("2", "add"), CallPart("1", "add"))
    assert calls_of(AssistantMessage((calls[0], TextPart("and"), calls[1]))) == calls


@given(MESSAGES, MESSAGES)
def test_a_request_reads_as_instruction_context_notice(one: Message, other: Message) -> None:
    context = Seq([one, Sealed.of(other)])
    assert list(ModelRequest("m", context).messages) == [one, other]
    full = ModelRequest("m", context, instruction="be brief", notice="last one")
    assert list(full.messages) == [SystemMessage("be brief"), one, other, UserMessage("last one")]


def test_a_revised_message_has_another_key() -> None:
    assert InputMessage("a", "1", "x").key == InputMessage("b", "1", "x").key
    assert len({InputMessage("a", "1", "x").key, InputMessage("a", "1", "y").key, InputMessage("a", "2", "x").key}) == 3


def test_a_tool_goes_by_the_name_of_its_declaration() -> None:
    assert ToolSpec(ToolDeclaration("add")).name == "add"
