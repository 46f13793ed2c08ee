"""What a model may be sent: any transcript, made valid for it (decisions 15, 16, 25)."""

import re
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.sequence import Seq
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    CustomMessage,
    DecodeError,
    ImagePart,
    Message,
    Sealed,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
    calls_of,
    encode_message,
)
from turnfold.effects.transcript.boundary import Boundary, Target, Wording, fit

ME = Target("api", "vendor", "model")
BLIND = Target("api", "vendor", "model", images=False)
NO_RESULT = (TextPart("No result provided"),)


def mine(*parts: object, stop: StopReason = StopReason.STOP) -> AssistantMessage:
    return AssistantMessage(parts, "api", "vendor", "model", stop=stop)  # type: ignore[arg-type]


def foreign(*parts: object) -> AssistantMessage:
    return AssistantMessage(parts, "api", "vendor", "another")  # type: ignore[arg-type]


def short_rule(id: str) -> str:
    return re.sub("[^a-zA-Z0-9_]", "_", id)[:9]


def closing(id: str, name: str = "t") -> ToolResultMessage:
    return ToolResultMessage(id, name, NO_RESULT, is_error=True)


# --- one rule each


def test_a_valid_transcript_goes_out_as_the_very_objects_that_came_in() -> None:
    """Decision 25: byte-exact for the same model."""
    transcript = [
        SystemMessage("be good"),
        UserMessage((TextPart("see"), ImagePart("AA=="))),
        mine(ThinkingPart("", "signed"), ThinkingPart("", "payload", redacted=True), CallPart("1", "t", '{"a": 1}')),
        ToolResultMessage("1", "t", "fine"),
        mine(TextPart("ok", "sig", {"annotations": []})),
    ]
    assert all(a is b for a, b in zip(fit(transcript, ME), transcript, strict=True))


def test_reasoning_without_text_or_signature_is_left_out_even_for_its_own_model() -> None:
    (out,) = fit([mine(ThinkingPart("  \u3000\n"), ThinkingPart("plain"), TextPart("a"))], ME)
    assert out == mine(ThinkingPart("plain"), TextPart("a"))


def test_reasoning_of_another_model_becomes_text_and_its_signatures_are_left_out() -> None:
    """Decision 25."""
    parts = (
        ThinkingPart("why", "s"),
        ThinkingPart("open"),
        ThinkingPart("", "s"),
        ThinkingPart("hidden", "s", redacted=True),
        TextPart("a", "s", {"x": 1}),
        CallPart("1", "t", "{}", "s"),
    )
    out, result = fit([foreign(*parts)], ME)
    assert out == foreign(TextPart("why"), TextPart("open"), TextPart("a"), CallPart("1", "t", "{}"))
    assert result == closing("1")


@pytest.mark.parametrize(
    "other", [Target("x", "vendor", "model"), Target("api", "x", "model"), Target("api", "vendor", "x")]
)
def test_a_model_is_the_same_only_if_api_provider_and_name_are(other: Target) -> None:
    (out,) = fit([mine(ThinkingPart("t", "s"))], other)
    assert out == mine(TextPart("t"))


def test_open_calls_are_closed_before_whatever_follows() -> None:
    """Decision 15: before a user message, before another output, at the end."""
    asking = mine(CallPart("1", "t"), CallPart("2", "u"))
    answer = ToolResultMessage("2", "u", "r")
    for following in (UserMessage("v"), mine(TextPart("x"))):
        assert fit([asking, answer, following], ME) == (asking, answer, closing("1"), following)
    assert fit([asking, answer], ME, closed_at=7)[-1] == ToolResultMessage("1", "t", NO_RESULT, True, timestamp=7)


def test_results_without_a_call_and_second_results_are_left_out() -> None:
    asking = mine(CallPart("1", "t"))
    first, second, stray = (ToolResultMessage(id, "t", text) for id, text in (("1", "a"), ("1", "b"), ("9", "c")))
    assert fit([stray, asking, stray, first, second, UserMessage("v"), second], ME) == (asking, first, UserMessage("v"))
    two = mine(CallPart("1", "t"), CallPart("2", "t"))
    assert fit([two, first, second, stray], ME) == (two, first, closing("2"))


def test_a_result_that_comes_after_its_call_was_closed_is_left_out() -> None:
    """Decision 46 i."""
    asking = mine(CallPart("1", "t"))
    late = ToolResultMessage("1", "t", "late")
    assert fit([asking, UserMessage("v"), late], ME) == (asking, closing("1"), UserMessage("v"))


@pytest.mark.parametrize("stop", [StopReason.ERROR, StopReason.ABORTED])
def test_failed_outputs_are_left_out_with_the_results_of_their_calls(stop: StopReason) -> None:
    broken = mine(TextPart("half"), CallPart("1", "t"), stop=stop)
    transcript = [UserMessage("u"), broken, ToolResultMessage("1", "t", "r"), UserMessage("v")]
    assert fit(transcript, ME) == (UserMessage("u"), UserMessage("v"))


@pytest.mark.parametrize("stop", set(StopReason) - {StopReason.ERROR, StopReason.ABORTED})
def test_every_other_output_stays(stop: StopReason) -> None:
    out = mine(TextPart("a"), stop=stop)
    assert fit([out], ME) == (out,)


def test_system_messages_wait_until_no_call_is_open() -> None:
    asking = mine(CallPart("1", "t"), CallPart("2", "t"))
    news, more = SystemMessage("news"), SystemMessage("more")
    one, two = ToolResultMessage("1", "t", "r"), ToolResultMessage("2", "t", "r")
    assert fit([asking, news, one, more, two], ME) == (asking, one, two, news, more)
    assert fit([asking, one, news, UserMessage("v")], ME) == (asking, one, closing("2"), news, UserMessage("v"))
    assert fit([asking, news], ME) == (asking, closing("1"), closing("2"), news)


def test_a_hosts_own_messages_are_left_out() -> None:
    assert fit([CustomMessage("note", "x"), UserMessage("u")], ME) == (UserMessage("u"),)


def test_missing_content_is_no_content() -> None:
    out = fit([UserMessage(None), SystemMessage(None), mine(CallPart("1", "t")), ToolResultMessage("1", "t", None)], ME)
    assert [getattr(message, "content", None) for message in out] == [(), (), None, ()]


def test_rows_of_images_give_way_to_one_text_for_a_model_that_sees_none() -> None:
    picture = ImagePart("AA==")
    out = fit(
        [
            UserMessage((TextPart("a"), picture, picture, TextPart("b"), picture)),
            mine(CallPart("1", "t")),
            ToolResultMessage("1", "t", (picture, TextPart("c"))),
        ],
        BLIND,
        wording=Wording(image_omitted="[no]", tool_image_omitted="[none]"),
    )
    assert out[0] == UserMessage((TextPart("a"), TextPart("[no]"), TextPart("b"), TextPart("[no]")))
    assert out[2] == ToolResultMessage("1", "t", (TextPart("[none]"), TextPart("c")))


def test_a_text_that_is_the_placeholder_already_is_not_repeated() -> None:
    content = (TextPart(Wording().image_omitted), ImagePart("AA=="))
    assert fit([UserMessage(content)], BLIND) == (UserMessage(content[:1]),)


def test_ids_of_the_same_model_stay_and_those_of_another_follow_the_rule() -> None:
    for author, id in ((mine, "id|1"), (foreign, "id_1")):
        out, result = fit([author(CallPart("id|1", "t")), ToolResultMessage("id|1", "t", "r")], ME, short_rule)
        assert isinstance(out, AssistantMessage)
        assert isinstance(result, ToolResultMessage)
        assert [call.id for call in calls_of(out)] == [id] == [result.call_id]


def test_ids_that_become_equal_are_told_apart() -> None:
    """Decision 16: ``c|1`` and ``c/1`` would both be ``c_1``."""
    out, *results = fit(
        [
            foreign(CallPart("c|1", "t"), CallPart("c/1", "t")),
            ToolResultMessage("c/1", "t", "second"),
            ToolResultMessage("c|1", "t", "first"),
        ],
        ME,
        short_rule,
    )
    assert isinstance(out, AssistantMessage)
    assert [call.id for call in calls_of(out)] == ["c_1", "call_2"]
    assert results == [ToolResultMessage("call_2", "t", "second"), ToolResultMessage("c_1", "t", "first")]


def test_missing_and_repeated_ids_are_made_from_their_place_and_results_follow_in_order() -> None:
    """Decision 16: a provider that omits or repeats ids cannot merge two calls."""
    out = fit(
        [
            mine(CallPart("", "a"), CallPart("", "b"), CallPart("x", "c"), CallPart("x", "d")),
            ToolResultMessage("", "a", "1"),
            ToolResultMessage("x", "c", "3"),
            ToolResultMessage("", "b", "2"),
            ToolResultMessage("x", "d", "4"),
            mine(CallPart("x", "e")),
            ToolResultMessage("x", "e", "5"),
        ],
        ME,
    )
    results = [(m.call_id, m.content) for m in out if isinstance(m, ToolResultMessage)]
    assert results == [("call_1", "1"), ("x", "3"), ("call_2", "2"), ("call_4", "4"), ("call_5", "5")]


def test_a_rule_that_leaves_no_room_still_gives_every_call_an_id_of_its_own() -> None:
    out = fit([foreign(*(CallPart(str(n), "t") for n in range(3)))], ME, lambda _: "same")
    ids = [message.call_id for message in out if isinstance(message, ToolResultMessage)]
    assert ids == ["same", "call_2", "call_3"]


def test_unpaired_surrogates_are_replaced_wherever_text_is() -> None:
    """Decision 15: recursively, names and arguments included; pairs are joined."""
    bad, good = "a\ud800b \ud83d\ude00", "a\ufffdb \U0001f600"
    tool = ToolDeclaration(bad, bad, {bad: [bad]})
    out = fit(
        [
            SystemMessage(bad, {bad: bad, "gone": None}, (tool,)),
            UserMessage((TextPart(bad), ImagePart(bad, bad, bad)), extra={bad: {"x": [bad]}}),
            mine(ThinkingPart(bad, bad), TextPart(bad, bad), CallPart(bad, bad, bad, bad)),
            ToolResultMessage(bad, bad, bad),
        ],
        ME,
    )
    assert out == (
        SystemMessage(good, {good: good, "gone": None}, (ToolDeclaration(good, good, {good: [good]}),)),
        UserMessage((TextPart(good), ImagePart(good, good, good)), extra={good: {"x": [good]}}),
        mine(ThinkingPart(good, good), TextPart(good, good), CallPart(good, good, good, good)),
        ToolResultMessage(good, good, good),
    )


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        (r'{"a": "\ud83d\ude00"}', r'{"a": "\ud83d\ude00"}'),
        (r'{"a": "\ud83d"}', r'{"a": "\ufffd"}'),
        (r'{"a": "\uDE00\uD83D"}', r'{"a": "\ufffd\ufffd"}'),
        (r'{"a": "\\ud83d"}', r'{"a": "\\ud83d"}'),
        (r'{"a": "\\\ud83d"}', r'{"a": "\\\ufffd"}'),
        (r'{"a": "\ud83', r'{"a": "\ud83'),
    ],
)
def test_surrogates_that_hide_behind_escapes_in_arguments_are_replaced_too(raw: str, sent: str) -> None:
    out = fit([mine(CallPart("1", "t", raw))], ME)[0]
    assert isinstance(out, AssistantMessage)
    assert calls_of(out)[0].arguments == sent


def test_sealed_messages_are_opened_and_only_their_damage_is_an_error() -> None:
    assert fit([Sealed.of(UserMessage("u"))], ME) == (UserMessage("u"),)
    a, b, c = (UserMessage(text) for text in "abc")
    boundary = Boundary(ME)
    boundary.fit(Seq([a]))
    with pytest.raises(DecodeError):
        boundary.fit(Seq([a, b, Sealed(b"{}")]))
    assert boundary.fit(Seq([a, c])) == (a, c)


def test_a_context_that_was_rewritten_is_looked_at_again() -> None:
    boundary = Boundary(ME)
    for texts in ("ab", "cde", "cd", "cx"):
        context = tuple(UserMessage(text) for text in texts)
        assert boundary.fit(Seq(context)) == context


def test_of_a_context_that_grew_only_the_end_is_looked_at() -> None:
    """Decision 45 on 15: the result is kept for the prefix already seen."""
    opened = Counter[int]()

    class Counting(Sealed):
        def open(self) -> Message:
            opened[id(self)] += 1
            return super().open()

    context: Seq[Message | Sealed] = Seq()
    boundary = Boundary(ME)
    for n in range(50):
        context = context.append(Counting.of(mine(CallPart(str(n), "t"))))
        assert boundary.fit(context)[-1] == closing(str(n))
    assert set(opened.values()) == {1}
    boundary.fit(context.cut(10))
    assert sum(opened.values()) == 60


# --- any transcript

WORDS = st.text(alphabet=["a", " ", "\ud800", "\udc00", "|", "\U0001f600"], max_size=3)
IDS = st.sampled_from(["", "1", "2", "c|1", "c/1", "call_1", "call_2", "\ud800", "123456789|x"])
SIGNATURES = st.none() | st.just("") | WORDS
TEXT = st.builds(TextPart, WORDS, SIGNATURES)
IMAGE = st.builds(ImagePart, st.just("AA=="))
CONTENT = st.none() | WORDS | st.lists(TEXT | IMAGE, max_size=3).map(tuple)
PARTS = (
    TEXT
    | st.builds(ThinkingPart, WORDS, SIGNATURES, st.booleans())
    | st.builds(CallPart, IDS, WORDS, st.sampled_from(["", "{}", r'{"a":"\ud800"}', '{"a']) | WORDS, SIGNATURES)
)
MESSAGES = st.one_of(
    st.builds(SystemMessage, CONTENT),
    st.builds(UserMessage, CONTENT),
    st.builds(
        AssistantMessage,
        st.lists(PARTS, max_size=4).map(tuple),
        st.just("api"),
        st.just("vendor"),
        st.sampled_from(["model", "another"]),
        st.sampled_from(StopReason),
    ),
    st.builds(ToolResultMessage, IDS, WORDS, CONTENT, st.booleans()),
    st.builds(CustomMessage, WORDS),
)
TRANSCRIPTS = st.lists(MESSAGES, max_size=12)
TARGETS = st.sampled_from([ME, BLIND])


@given(TRANSCRIPTS, TARGETS)
def test_any_transcript_comes_out_valid(transcript: list[Message], target: Target) -> None:
    assert_valid(fit(transcript, target, short_rule), target)


@given(TRANSCRIPTS, TARGETS)
def test_doing_it_twice_changes_nothing(transcript: list[Message], target: Target) -> None:
    once = fit(transcript, target, short_rule)
    assert fit(once, target, short_rule) == once


@given(TRANSCRIPTS, TARGETS)
def test_what_was_there_is_neither_lost_nor_invented(transcript: list[Message], target: Target) -> None:
    """Users, systems and good outputs all go out, in their order; only made-up results are new."""
    out = fit(transcript, target, short_rule)
    for kind in (UserMessage, SystemMessage):
        assert sum(isinstance(m, kind) for m in out) == sum(isinstance(m, kind) for m in transcript)
    kept = [m for m in transcript if isinstance(m, AssistantMessage) and m.stop not in ("error", "aborted")]
    outputs = [m for m in out if isinstance(m, AssistantMessage)]
    assert [[c.arguments for c in calls_of(m)] for m in fit(kept, target) if isinstance(m, AssistantMessage)] == [
        [c.arguments for c in calls_of(m)] for m in outputs
    ]
    made_up = sum(isinstance(m, ToolResultMessage) and m.content == NO_RESULT for m in out)
    answered = sum(isinstance(m, ToolResultMessage) for m in out) - made_up
    assert answered <= sum(isinstance(m, ToolResultMessage) for m in transcript)


@given(TRANSCRIPTS, TARGETS, st.lists(st.integers(0, 12), max_size=4))
def test_a_growing_context_gives_what_the_whole_gives(
    transcript: list[Message], target: Target, lengths: list[int]
) -> None:
    """Also when it is cut, or replaced by an equal one, between two requests."""
    boundary = Boundary(target, short_rule)
    context: Seq[Message | Sealed] = Seq(transcript)
    for length in [*lengths, len(transcript)]:
        part = context.cut(min(length, len(context)))
        assert boundary.fit(part) == fit(part, target, short_rule)
        assert boundary.fit(Seq(list(part))) == fit(part, target, short_rule)


def assert_valid(out: Iterable[Message], target: Target) -> None:
    open_ids: list[str] = []
    used: set[str] = set()
    for message in out:
        assert not isinstance(message, CustomMessage)
        if isinstance(message, ToolResultMessage):
            open_ids.remove(message.call_id)
        else:
            assert not open_ids
        if isinstance(message, AssistantMessage):
            assert message.stop not in (StopReason.ERROR, StopReason.ABORTED)
            open_ids = [call.id for call in calls_of(message)]
            assert not used.intersection(open_ids)
            used.update(open_ids)
            assert all(open_ids)
            if not target.wrote(message):
                assert all(short_rule(id) == id for id in open_ids)
                assert not any(isinstance(p, ThinkingPart) or p.signature for p in message.parts)
        elif not target.images and isinstance(message.content, tuple):
            assert not any(isinstance(part, ImagePart) for part in message.content)
        encode_message(message)
    assert not open_ids
