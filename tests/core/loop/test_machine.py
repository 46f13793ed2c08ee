"""The moves of the agent loop: what each does to the phase and to the context, and what may start when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.loop import (
    Acting,
    Asking,
    Loop,
    Received,
    Resting,
    accept,
    ask,
    begin,
    close,
    numbered,
    receive,
    rest,
    settle,
    startable,
    stream,
)
from turnfold.effects.model import BlockDelta, StreamFinished
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    Sealed,
    TextPart,
    ToolResultMessage,
    UserMessage,
    calls_of,
)

from tests.strategies import WILD_TEXTS

HELLO = UserMessage("hello")
TEXT = AssistantMessage((TextPart("hi"),))


def output(count: int) -> AssistantMessage:
    return AssistantMessage(tuple(CallPart(f"c{place}", "echo") for place in range(count)))


def result(index: int) -> ToolResultMessage:
    return ToolResultMessage(f"c{index}", "echo", f"result {index}")


def acting(count: int, *, sequential: bool = False) -> Loop:
    message = output(count)
    return accept(ask(Loop(), HELLO), message, message, sequential)


def test_asking_takes_what_enters_into_the_context() -> None:
    loop = ask(Loop(), HELLO, TEXT)
    assert list(loop.context) == [HELLO, TEXT]
    assert isinstance(loop.phase, Asking)
    assert ask(loop).context is loop.context


def test_streaming_grows_the_answer_and_not_the_context() -> None:
    loop, growths, terminal = stream(ask(Loop(), HELLO), (BlockDelta(0, "h"),))
    assert [growth.text for growth in growths] == ["h"]
    assert terminal is None
    loop, _, terminal = stream(loop, (BlockDelta(0, "i"), StreamFinished()))
    assert isinstance(loop.phase, Asking)
    assert "".join(loop.phase.partial.blocks[0].text) == "hi"
    assert terminal == StreamFinished()
    assert list(loop.context) == [HELLO]


def test_a_received_output_waits_to_be_accepted() -> None:
    loop = receive(ask(Loop(), HELLO), TEXT)
    assert loop.phase == Received(TEXT)
    assert list(loop.context) == [HELLO]
    assert rest(loop).phase == Resting()


def test_a_text_lets_the_loop_rest_and_calls_let_it_act() -> None:
    item = Sealed.of(TEXT)
    loop = accept(ask(Loop(), HELLO), TEXT, item)
    assert (list(loop.context), loop.phase) == ([HELLO, item], Resting())
    loop = acting(2)
    assert loop.phase == Acting(calls_of(output(2)))
    assert list(loop.context) == [HELLO, output(2)]


@given(st.integers(1, 5), st.booleans(), st.randoms())
def test_calls_start_in_order_and_all_at_once_or_one_by_one(count: int, sequential: bool, order: object) -> None:
    loop, started, open_calls = acting(count, sequential=sequential), list[int](), list[int]()
    while not (isinstance(loop.phase, Acting) and loop.phase.done):
        assert isinstance(loop.phase, Acting)
        indices = startable(loop.phase)
        assert len(indices) <= 1 or not sequential
        started += indices
        open_calls += indices
        loop = begin(loop, indices.stop) if indices else loop
        assert len(open_calls) == 1 or not sequential
        assert len(startable(loop.phase)) == 0  # type: ignore[arg-type]
        done = open_calls.pop(order.randrange(len(open_calls)))  # type: ignore[attr-defined]
        loop = settle(loop, done, result(done))
    assert started == list(range(count))


@given(st.permutations(range(4)))
def test_results_enter_in_call_order_whoever_was_first(order: list[int]) -> None:
    """decision 14"""
    loop = begin(acting(4), 4)
    for index in order:
        assert not isinstance(loop.phase, Acting) or not loop.phase.done
        loop = settle(loop, index, result(index))
    assert isinstance(loop.phase, Acting)
    assert loop.phase.done
    loop, results = close(loop)
    assert results == tuple(map(result, range(4)))
    assert list(loop.context) == [HELLO, output(4), *results]
    assert loop.phase == Resting()


def test_a_batch_cannot_close_before_every_result_is_there() -> None:
    with pytest.raises(KeyError):
        close(settle(begin(acting(2), 2), 1, result(1)))


def test_a_move_leaves_the_loop_it_was_made_from_as_it_was() -> None:
    first = ask(Loop(), HELLO)
    one, other = accept(first, TEXT, TEXT), ask(first, UserMessage("more"))
    assert list(first.context) == [HELLO]
    assert (list(one.context), list(other.context)) == ([HELLO, TEXT], [HELLO, UserMessage("more")])


# --- identity


def test_ids_that_are_there_and_unique_stay_as_they_are() -> None:
    message = AssistantMessage((TextPart("x"), CallPart("a", "one"), CallPart("b", "two")))
    assert numbered(message, 3) == message


@given(st.lists(st.sampled_from(["", "a", "b", "call_7_1", "call_7_2"]) | WILD_TEXTS, max_size=6))
def test_every_call_has_an_id_of_its_own(ids: list[str]) -> None:
    """Decision 16: made from the output's place, and from nothing else."""
    message = AssistantMessage((TextPart("x"), *(CallPart(call_id, "echo") for call_id in ids)))
    found = [call.id for call in calls_of(numbered(message, 7))]
    assert all(found)
    assert len(set(found)) == len(found)
    for call_id in found:
        call_id.encode()
    assert numbered(message, 7) == numbered(message, 7)


def test_ids_are_made_from_the_place_of_the_output_and_of_the_call() -> None:
    message = AssistantMessage((TextPart("x"), CallPart("", "one"), CallPart("a", "two"), CallPart("a", "three")))
    assert [call.id for call in calls_of(numbered(message, 7))] == ["call_7_1", "a", "call_7_3"]
