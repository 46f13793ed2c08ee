"""The order of events behind an object: attempts, what each is told, how it ends, what it used."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from turnfold.adapters.models import ConfigError, Reply, ScriptedModel, Strategy, call, fail, raw, say, think, vendor_of
from turnfold.adapters.models.structured import (
    Ask,
    CallFailedError,
    Generated,
    GeneratedObject,
    GenerationError,
    ObjectSoFar,
    RefusedError,
    StructuredWords,
    TruncatedError,
    UndecodableError,
    UndecodedError,
    generate,
    generate_object,
    schema_for,
    stream_object,
)
from turnfold.adapters.models.structured.words import CHINESE_WORDS, ENGLISH_WORDS
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelRequest,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ErrorKind,
    ImagePart,
    ModelError,
    StopReason,
    TextPart,
    Usage,
    UserMessage,
    clean_json,
    text_of,
)
from turnfold.effects.values import replace

from tests.adapters.models.structured.world import ANSWERED, Answered, Node


@attrs.frozen
class Titled:
    """A title, whatever else is said."""

    title: str


@attrs.frozen
class Range:
    """Two numbers in order."""

    low: int
    high: int

    def __attrs_post_init__(self) -> None:
        assert self.low <= self.high, "low must not be above high"


VALUES = st.none() | st.integers() | st.text() | st.lists(st.booleans())
ASK = Ask("what is it?", "Be brief.", max_output_tokens=50)
FENCED = 'Sure:\n```json\n{"title": "ok", "note": null}\n```'


def texts(request: ModelRequest) -> list[str]:
    return [text_of(message) for message in request.messages if not hasattr(message, "call_id")]  # type: ignore[arg-type]


def used(input: int, output: int) -> Usage:
    return Usage(input=input, output=output)


async def test_an_undecodable_answer_is_asked_for_once_more() -> None:
    """TestGenerateObjectRetriesOnce."""
    model = ScriptedModel([say("It is fine.", usage=used(12, 3)), say(FENCED, usage=used(10, 4))])
    found = await generate_object(model, ANSWERED, ASK)
    assert (found.value.title, found.value.note, found.text) == ("ok", None, FENCED)
    assert found.usage == used(22, 7)
    assert found.usage.total == 29
    first, second = model.requests
    assert len(texts(first)) == 2
    system, asked, said, again = texts(second)
    assert (system, asked, said) == (first.instruction, "what is it?", "It is fine.")
    assert isinstance(list(second.messages)[2], AssistantMessage)
    assert again == ENGLISH_WORDS.ask_again("the output holds no JSON object")
    for request in model.requests:
        assert request.options["reasoning"] == "off"
        assert request.instruction.startswith("Be brief.\n\n")
        assert '"required": ["title", "note"]' in request.instruction
        assert (request.max_output_tokens, request.purpose) == (50, "generate")


async def test_a_second_undecodable_answer_is_the_end() -> None:
    """TestGenerateObjectGivesUpAfterRetry."""
    model = ScriptedModel([say("no", usage=used(1, 1)), say("{", usage=used(1, 1)), say(FENCED)])
    with pytest.raises(UndecodableError) as failed:
        await generate_object(model, Answered, ASK)
    assert failed.value.usage.total == 4
    assert failed.value.text == "{"
    assert isinstance(failed.value.__cause__, UndecodedError)
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (say('{"title": "ok"}', stop=StopReason.LENGTH), TruncatedError),
        (say("", stop=StopReason.REFUSAL), RefusedError),
        (say('{"title": "ok"}', stop=StopReason.REFUSAL), RefusedError),
        (fail("filtered", ErrorKind.REFUSED), RefusedError),
        (fail("gone", ErrorKind.UNAVAILABLE), CallFailedError),
        (raw(BlockStarted(0, DeltaKind.TEXT), StreamFinished(StopReason.ABORTED)), CallFailedError),
        (raw(BlockStarted(0, DeltaKind.TEXT)), CallFailedError),
    ],
)
async def test_a_stop_that_is_none_is_an_error_before_anything_is_decoded(
    reply: Reply, error: type[GenerationError]
) -> None:
    """TestGenerateObjectStopReasons; none of them is tried again."""
    model = ScriptedModel([reply, say(FENCED)])
    with pytest.raises(error) as failed:
        await generate_object(model, Answered, ASK)
    assert type(failed.value) is error
    assert len(model.requests) == len(failed.value.attempts) == 1


async def test_what_a_failure_used_is_told() -> None:
    broken = raw(UsageReported(used(7, 1)), StreamFailed(ModelError(ErrorKind.NETWORK, "broke off")))
    with pytest.raises(CallFailedError, match="broke off") as failed:
        await generate_object(ScriptedModel([say("no", usage=used(5, 1)), broken]), Answered, ASK)
    assert failed.value.error.kind == ErrorKind.NETWORK
    assert failed.value.usage == used(12, 2)
    assert [attempt.error is None for attempt in failed.value.attempts] == [True, False]


async def test_each_attempt_has_an_id_of_its_own() -> None:
    """TestModelCallIDPerAttempt."""
    model = ScriptedModel([say("no"), say(FENCED)])
    found = await generate_object(model, Answered, "what is it?")
    ids = [request.model_call_id for request in model.requests]
    assert len(set(ids)) == 2
    assert [attempt.model_call_id for attempt in found.attempts] == ids
    for id in ids:
        assert (uuid.UUID(id).version, uuid.UUID(id).variant) == (7, uuid.RFC_4122)


async def test_usage_that_grows_within_a_call_counts_once() -> None:
    """Decision 26: a later report replaces an earlier one, and a whole message repeats it."""
    message = AssistantMessage((TextPart('{"title": "ok"}'),), usage=used(3, 2))
    deltas = (UsageReported(used(3, 0)), UsageReported(used(3, 2)), StreamFinished(message=message))
    assert (await generate_object(ScriptedModel([raw(*deltas)]), Answered, ASK)).usage == used(3, 2)
    deltas = (*deltas[:2], StreamFinished(message=replace(message, usage=Usage())))
    assert (await generate_object(ScriptedModel([raw(*deltas)]), Answered, ASK)).usage == used(3, 2)


async def test_reasoning_and_calls_are_no_text() -> None:
    reply = think('{"title": "thought"}') + call("x", {"title": "called"}) + say('{"title": ') + say('"ok"}')
    assert (await generate_object(ScriptedModel([reply]), Answered, ASK)).value == Answered("ok")


async def test_a_text_is_given_with_how_it_ended() -> None:
    """Generate: two messages, thinking off, the stop for the caller to see."""
    model = ScriptedModel([say("half a", stop=StopReason.LENGTH, raw_stop="max_tokens", usage=used(1, 2))])
    found = await generate(model, ASK)
    assert (found.text, found.stop, found.raw_stop) == ("half a", StopReason.LENGTH, "max_tokens")
    assert found.usage == used(1, 2)
    (request,) = model.requests
    assert (texts(request), request.tools) == (["Be brief.", "what is it?"], ())
    assert isinstance(found, Generated)


async def test_a_text_may_be_asked_for_in_a_shape() -> None:
    model = ScriptedModel([say(FENCED)])
    assert (await generate(model, "what is it?", schema_for(Answered))).text == FENCED
    assert '"additionalProperties": false' in model.requests[0].instruction


async def test_a_failed_call_for_a_text_is_raised() -> None:
    for kind in (ErrorKind.UNAVAILABLE, ErrorKind.REFUSED):
        with pytest.raises(CallFailedError):
            await generate(ScriptedModel([fail("gone", kind)]), "what is it?")


async def test_reasoning_may_be_asked_for_and_options_are_passed_on() -> None:
    model = ScriptedModel([say(FENCED)])
    await generate_object(model, Answered, Ask("x", reasoning="low", options={"temperature": 0.5}))
    assert model.requests[0].options == {"reasoning": "low", "temperature": 0.5}


async def test_a_check_of_the_type_that_fails_is_an_answer_of_no_use() -> None:
    """Whatever it raises: the answer is asked for once more, and what all attempts used is told."""
    ordered = [say('{"low": 2, "high": 1}', usage=used(5, 1)), say('{"low": 1, "high": 2}', usage=used(6, 1))]
    model = ScriptedModel(ordered)
    found = await generate_object(model, Range, ASK)
    assert (found.value, found.usage) == (Range(1, 2), used(11, 2))
    assert "low must not be above high" in texts(model.requests[1])[-1]
    with pytest.raises(UndecodableError, match="low must not be above high") as failed:
        await generate_object(ScriptedModel(ordered[:1] * 2), Range, ASK)
    assert failed.value.usage == used(10, 2)


async def test_nothing_to_ask_is_an_error_before_anything_is_asked() -> None:
    for ask in (lambda: None, lambda: Ask(None)):
        with pytest.raises(ConfigError, match="nothing to ask"):
            await generate(ScriptedModel([]), ask())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (["a"], "a text, or a tuple of TextPart and ImagePart, not a list"),
        ([TextPart("a")], "not a list"),
        (b"a", "not a bytes"),
        (("a",), r"TextPart and ImagePart, and holds a str \(part 1 of the input\)"),
        ((TextPart("a"), None), r"holds None \(part 2"),
        ((TextPart(3),), "the text of a TextPart is a str, not an int"),  # type: ignore[arg-type]
        ((ImagePart(b"raw"),), "base64 in a str, not a bytes: base64.b64encode"),  # type: ignore[arg-type]
        ((ImagePart("raw"),), "not base64"),
        ((ImagePart("data:image/png;base64,aGk="),), "not base64"),
        ((ImagePart("é==="),), "not base64"),
        ((ImagePart("aGk=!"),), "not base64"),
        ((ImagePart("\n"),), "not base64"),
        ((ImagePart(),), "has data, or else a url"),
        ((ImagePart(url=b"x"),), "the url of an ImagePart is a str"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_what_can(content: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Ask(content)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "a",
        (),
        (TextPart("a"), ImagePart("aGk=")),
        (ImagePart("aGkg\naGk=\n"),),
        (ImagePart(url="https://x/a.png"),),
    ],
)
def test_texts_and_parts_can_be_asked(content: Any) -> None:
    assert Ask(content).input == content


@pytest.mark.parametrize("members", [{"reasoning": "hgih"}, {"options": {"reasoning": "hgih"}}])
def test_a_level_of_reasoning_that_is_none_is_an_error_before_anything_is_asked(members: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="not 'hgih'; did you mean high"):
        Ask("x", **members)
    with pytest.raises(ConfigError, match=r"not 'zzz'$"):
        Ask("x", reasoning="zzz")
    assert Ask("x", reasoning="xhigh", options={"reasoning": {"effort": "none"}}).reasoning == "xhigh"


# Streaming.


async def test_an_object_can_be_seen_while_it_is_written() -> None:
    model = ScriptedModel([say('Well: {"title": "okay", "note": null} done')], chunk=6)
    *parts, last = [part async for part in stream_object(model, Answered, ASK)]
    seen = [part.data for part in parts if isinstance(part, ObjectSoFar)]
    assert seen == [{}, {"title": "o"}, {"title": "okay"}, {"title": "okay", "note": None}]
    assert isinstance(last, GeneratedObject)
    assert last.value == Answered("okay")


@given(
    value=st.dictionaries(st.text(max_size=4), VALUES, max_size=4),
    before=st.text(alphabet="ab `\n"),
    after=st.text(alphabet="ab `\n"),
    chunk=st.integers(1, 9),
)
def test_what_is_seen_last_is_the_whole_object(value: dict[str, Any], before: str, after: str, chunk: int) -> None:
    text = f"{before}{json.dumps(clean_json({**value, 'title': 'ok'}))}{after}"

    async def watch() -> list[Any]:
        model = ScriptedModel([say(text)], chunk=chunk)
        return [part async for part in stream_object(model, Titled, ASK)]

    *parts, last = trio.run(watch)
    assert parts[-1].data == json.loads(text.strip("ab `\n"))
    assert last.value == Titled("ok")


async def test_only_the_object_is_shown_while_it_is_written() -> None:
    reply = think('{"title": "thought"}') + call("x", {"title": "called"}) + say('{"title": "ok"}')
    parts = [part async for part in stream_object(ScriptedModel([reply], chunk=100), Answered, ASK)]
    assert parts[:-1] == [ObjectSoFar({"title": "ok"}, 1)]


async def test_a_second_attempt_begins_from_nothing() -> None:
    model = ScriptedModel([say('{"title": 7}'), say('{"title": "ok"}')], chunk=100)
    parts = [part async for part in stream_object(model, Answered, ASK)]
    assert parts[:2] == [ObjectSoFar({"title": 7}, 1), ObjectSoFar({"title": "ok"}, 2)]


async def test_the_arguments_of_a_forced_call_are_the_object() -> None:
    ask = Ask("what is it?", strategy=Strategy.FORCED_TOOL, vendor=vendor_of("anthropic"))
    model = ScriptedModel([say("Here you are.") + call("Answered", '{"title": "ok"}')], chunk=5)
    *parts, last = [part async for part in stream_object(model, Answered, ask)]
    assert [part.data for part in parts if isinstance(part, ObjectSoFar)][-1] == {"title": "ok"}
    assert isinstance(last, GeneratedObject)
    assert last.value == Answered("ok")
    (request,) = model.requests
    assert [tool.name for tool in request.tools] == ["Answered"]
    assert request.options["tool_choice"] == {"type": "tool", "name": "Answered"}
    assert request.instruction == ""


async def test_a_model_that_does_not_call_may_say_it() -> None:
    ask = Ask("what is it?", strategy=Strategy.FORCED_TOOL, vendor=vendor_of("anthropic"))
    assert (await generate_object(ScriptedModel([say(FENCED)]), Answered, ask)).value == Answered("ok")


async def test_a_whole_message_replaces_what_came_before() -> None:
    ask = Ask("what is it?", strategy=Strategy.FORCED_TOOL, vendor=vendor_of("anthropic"))
    message = AssistantMessage((CallPart("c1", "Answered", '{"title": "ok"}'),))
    deltas: tuple[Delta, ...] = (
        BlockStarted(0, DeltaKind.CALL, "c1", "Answered"),
        BlockDelta(0, '{"ti'),
        StreamFinished(message=message),
    )
    assert (await generate_object(ScriptedModel([raw(*deltas)]), Answered, ask)).value == Answered("ok")
    deltas = (*deltas[:2], BlockEnded(0, part=CallPart("c1", "Answered", '{"title": "end"}')), StreamFinished())
    assert (await generate_object(ScriptedModel([raw(*deltas)]), Answered, ask)).value == Answered("end")


class Watched:
    """A port whose stream says when it is let go of."""

    def __init__(self) -> None:
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        try:
            for _ in range(100):
                yield BlockDelta(0, '{"title": "x" ')
                await trio.lowlevel.checkpoint()
        finally:
            self.closed = True


async def test_an_answer_that_is_not_wanted_any_more_does_not_go_on() -> None:
    model = Watched()
    parts = stream_object(model, Answered, ASK)
    assert isinstance(await anext(parts), ObjectSoFar)
    await parts.aclose()
    assert model.closed


class Listed:
    """A port that gives an iterator that cannot be closed, and cannot be remembered."""

    __slots__ = ()

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        return self._deltas().__aiter__()

    def _deltas(self) -> Any:
        class Deltas:
            def __init__(self) -> None:
                self.left: list[Delta] = [BlockDelta(0, FENCED), StreamFinished()]

            def __aiter__(self) -> "Deltas":
                return self

            async def __anext__(self) -> Delta:
                if not self.left:
                    raise StopAsyncIteration
                return self.left.pop(0)

        return Deltas()


async def test_any_port_will_do() -> None:
    assert (await generate_object(Listed(), Answered, ASK)).value == Answered("ok")


async def test_a_type_that_contains_itself_is_generated() -> None:
    model = ScriptedModel([say('{"name": "a", "children": [{"name": "b", "children": []}]}')])
    assert (await generate_object(model, Node, ASK)).value == Node("a", [Node("b")])
    assert "$defs" in model.requests[0].instruction


# Words.


async def test_the_texts_come_in_two_languages_and_can_be_replaced() -> None:
    model = ScriptedModel([say("no"), say(FENCED)])
    await generate_object(model, Answered, Ask("什么?", language="zh"))
    assert model.requests[0].instruction.startswith(CHINESE_WORDS.shown[:10])
    assert texts(model.requests[1])[-1].startswith(CHINESE_WORDS.again[:10])
    own = StructuredWords("hand in", "as {schema}!", "no: {problem}!")
    model = ScriptedModel([say("no"), say(FENCED)])
    await generate_object(model, Answered, Ask("x", language="fr", words=own))
    assert model.requests[0].instruction.startswith("as {")
    last = list(model.requests[1].messages)[-1]
    assert isinstance(last, UserMessage)
    assert last.content == "no: the output holds no JSON object!"


@pytest.mark.parametrize(
    "wrong",
    [("{x}", "{schema}", "{problem}"), ("a", "no place", "{problem}"), ("a", "{schema}", "{problem} {schema}")],
)
def test_a_wrong_placeholder_is_an_error_at_once(wrong: tuple[str, str, str]) -> None:
    """Decision 36."""
    with pytest.raises(ValueError, match="must hold"):
        StructuredWords(*wrong)


def test_braces_in_a_schema_are_no_placeholders() -> None:
    assert ENGLISH_WORDS.show('{"a": "{problem}"}').endswith('{"a": "{problem}"}')
