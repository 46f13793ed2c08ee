"""A list of models, each of which answers where the one before cannot."""

from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import pytest
import trio
import trio.testing
from turnfold.adapters.models import (
    ConfigError,
    FallbackModel,
    Reply,
    Retries,
    ScriptedModel,
    ScriptExhaustedError,
    Tried,
    fail,
    make_model,
    raw,
    say,
    think,
)
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelChoice,
    ModelRequest,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.transcript import (
    AssistantMessage,
    ErrorKind,
    ModelError,
    Spent,
    StopReason,
    TextPart,
    Usage,
)
from turnfold.effects.values import replace

from tests.adapters.models.answers import PROTOCOLS, answer_of, stream_of
from tests.adapters.models.loopback import REQUEST, in_real_time, model_at, says, serving, streams

DOWN = fail("down", ErrorKind.UNAVAILABLE)
WRONG = fail("wrong", ErrorKind.INVALID_REQUEST)
ONCE = Retries(0)


def candidate(name: str, *script: Reply | str) -> ScriptedModel:
    return ScriptedModel(script, provider="p", model=name, usage=Usage(1))


async def deltas_of(model: FallbackModel, request: ModelRequest = REQUEST) -> list[Delta]:
    return [delta async for delta in model.stream(request)]


def asked(model: FallbackModel, request: ModelRequest = REQUEST) -> tuple[list[Delta], float]:
    """The deltas of an answer, and how long they took on a clock that jumps."""

    async def run() -> tuple[list[Delta], float]:
        began = trio.current_time()
        return await deltas_of(model, request), trio.current_time() - began

    return trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


def said(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta))


def test_the_first_that_can_answers_and_says_who_it_is() -> None:
    one, two, three = candidate("one", WRONG), candidate("two", "hello"), candidate("three")
    deltas, _ = asked(FallbackModel([one, two, three]))
    assert deltas == [
        Started("scripted", "p", "two", "response-1"),
        BlockStarted(0, DeltaKind.TEXT),
        BlockDelta(0, "hello"),
        BlockEnded(0),
        UsageReported(Usage(1)),
        StreamFinished(),
    ]
    assert (len(one.requests), len(three.requests)) == (1, 0)


def test_a_passing_failure_is_tried_again_before_the_next_candidate() -> None:
    one, two = candidate("one", DOWN, DOWN, DOWN), candidate("two", DOWN, "hello")
    deltas, seconds = asked(FallbackModel([one, two], chance=lambda: 1.0))
    assert said(deltas) == "hello"
    assert (len(one.requests), len(two.requests)) == (3, 2)
    assert seconds == pytest.approx(0.5 + 1.0 + 0.5)


def test_delays_double_up_to_a_limit_and_half_of_each_is_by_chance() -> None:
    error = ModelError(ErrorKind.UNAVAILABLE, "down")
    delays = [Retries().delay_ms(retry, error, 0.0) for retry in (0, 1, 2, 3, 4, 5, 10_000)]
    assert delays == [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]
    assert Retries().delay_ms(1, error, 1.0) == 1_000
    assert Retries().delay_ms(1, error, 0.5) == 750


@pytest.mark.parametrize(("wished", "waited"), [(0, 0), (1_234, 1_234), (60_000, 8_000)])
def test_a_delay_that_the_provider_asks_for_counts_instead_up_to_the_limit(wished: int, waited: int) -> None:
    one = candidate("one", fail("slow down", ErrorKind.RATE_LIMITED, retry_after_ms=wished), "hello")
    deltas, seconds = asked(FallbackModel([one], retries=1))
    assert said(deltas) == "hello"
    assert seconds == pytest.approx(waited / 1000)


@pytest.mark.parametrize("kind", [kind for kind in ErrorKind if kind is not ErrorKind.ABORTED])
def test_only_what_may_pass_is_tried_again_and_anything_else_asks_the_next(kind: ErrorKind) -> None:
    one, two = candidate("one", *[fail("down", kind)] * 3), candidate("two", "hello")
    assert said(asked(FallbackModel([one, two]))[0]) == "hello"
    passing = ("rate_limited", "timeout", "network", "unavailable")
    assert len(one.requests) == (3 if kind.value in passing else 1)


def test_an_answer_that_was_called_off_is_neither_tried_again_nor_asked_of_another() -> None:
    one, two = candidate("one", fail("called off", ErrorKind.ABORTED)), candidate("two", "hello")
    deltas, _ = asked(FallbackModel([one, two]))
    assert deltas[-1] == StreamFailed(ModelError(ErrorKind.ABORTED, "called off"))
    assert two.requests == []


@pytest.mark.parametrize(
    "begun",
    [
        say("h"),
        think("h"),
        raw(BlockStarted(0, DeltaKind.CALL, "c", "f")),
        raw(BlockStarted(0, DeltaKind.TEXT), BlockEnded(0)),
    ],
)
def test_whoever_has_shown_something_answers_to_the_end(begun: Reply) -> None:
    broken = begun + DOWN
    one, two = candidate("one", broken, "hello"), candidate("two", "hello")
    deltas, _ = asked(FallbackModel([one, two]))
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.message == "down"
    assert (len(one.requests), two.requests) == (1, [])


@pytest.mark.parametrize(
    "begun",
    [
        raw(Started("a", "p", "lost")),
        raw(BlockStarted(0, DeltaKind.TEXT)),
        raw(BlockStarted(0, DeltaKind.THINKING), BlockDelta(0, "")),
        raw(UsageReported(Usage(7))),
    ],
)
def test_what_shows_nothing_is_held_back_and_dropped(begun: Reply) -> None:
    one, two = candidate("one", begun + DOWN), candidate("two", "hello")
    deltas, _ = asked(FallbackModel([one, two], ONCE))
    assert [delta.model for delta in deltas if isinstance(delta, Started)] == ["two"]
    assert len([delta for delta in deltas if isinstance(delta, BlockStarted)]) == 1


def test_an_empty_answer_is_an_answer() -> None:
    one, two = candidate("one", Reply(())), candidate("two", "hello")
    deltas, _ = asked(FallbackModel([one, two]))
    assert deltas[-1] == StreamFinished()
    assert two.requests == []


def test_when_nobody_answers_the_last_failure_is_told_with_how_many_were_tried() -> None:
    last = fail("slow down", ErrorKind.RATE_LIMITED, retry_after_ms=5)
    deltas, _ = asked(FallbackModel([candidate("one", WRONG), candidate("two", last, last)], retries=1))
    assert isinstance(deltas[0], Started)
    assert deltas[0].model == "two"
    failed = deltas[-1]
    assert isinstance(failed, StreamFailed)
    assert (failed.error.kind, failed.error.retry_after_ms) == (ErrorKind.RATE_LIMITED, 5)
    assert failed.error.message == "slow down; 2 models were tried, with 3 requests in all"
    assert len([delta for delta in deltas if isinstance(delta, StreamFailed)]) == 1


def test_a_single_failure_is_told_as_it_is() -> None:
    deltas, _ = asked(FallbackModel([candidate("one", WRONG)]))
    assert deltas[-1] == StreamFailed(ModelError(ErrorKind.INVALID_REQUEST, "wrong"))
    deltas, _ = asked(FallbackModel([candidate("one", DOWN, DOWN)], retries=1))
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.message == "down; one model was tried, with 2 requests in all"


def test_what_was_given_up_is_counted_and_observed() -> None:
    """Decisions 24 and 26: the usage of a discarded attempt counts, as that of its own model."""
    lost = raw(UsageReported(Usage(7, output=2))) + DOWN
    told: list[Tried] = []
    one, two = candidate("one", lost, lost), candidate("two", "hello")
    deltas, _ = asked(FallbackModel([one, two], retries=1, observe=told.append))
    (report,) = [delta for delta in deltas if isinstance(delta, UsageReported)]
    assert report == UsageReported(Usage(1), (Spent(usage=Usage(14, output=4)),))
    down = ModelError(ErrorKind.UNAVAILABLE, "down")
    assert told == [
        Tried(0, 0, Usage(7, output=2), down),
        Tried(0, 1, Usage(7, output=2), down),
        Tried(1, 0, Usage(1), None, "p", "two"),
    ]


def test_each_attempt_tells_whose_tokens_it_used() -> None:
    """What a model said it was comes first; a model of ours tells even if it never answered, and what was chosen."""
    told: list[Tried] = []
    lost = raw(Started("a", "other", "swapped"), UsageReported(Usage(7))) + DOWN
    silent = make_model("openai", "one", api_key="k-1234")

    async def refused(request: ModelRequest) -> AsyncIterator[Delta]:
        yield StreamFailed(ModelError(ErrorKind.INVALID_REQUEST, "wrong"))

    cast("Any", silent).stream = refused
    models = [silent, candidate("two", lost), candidate("three", "hello")]
    request = replace(REQUEST, model=ModelChoice("chosen", "openai"), options={"api_key": "no key at all"})
    asked(FallbackModel(models, ONCE, observe=told.append), request)
    assert [(each.provider, each.model, each.usage) for each in told] == [
        ("openai", "chosen", Usage()),
        ("other", "swapped", Usage(7)),
        ("p", "three", Usage(1)),
    ]


LOST = (Spent(usage=Usage(7)),)


def test_what_was_given_up_is_counted_where_the_answer_reports_nothing_or_comes_whole() -> None:
    lost = raw(UsageReported(Usage(7))) + DOWN
    plain = raw(StreamFinished())
    deltas, _ = asked(FallbackModel([candidate("one", lost), candidate("two", plain)], ONCE))
    assert deltas == [UsageReported(Usage(), LOST), StreamFinished()]
    whole = raw(StreamFinished(message=AssistantMessage((TextPart("hello"),), usage=Usage(1))))
    deltas, _ = asked(FallbackModel([candidate("one", lost), candidate("two", whole)], ONCE))
    assert isinstance(deltas[-1], StreamFinished)
    assert deltas[-1].message is not None
    assert (deltas[-1].message.usage, deltas[-1].message.besides) == (Usage(1), LOST)
    deltas, _ = asked(FallbackModel([candidate("one", lost), candidate("two", WRONG)], ONCE))
    assert UsageReported(Usage(), LOST) in deltas


def test_what_a_list_within_a_list_gave_up_is_told_once_and_by_model() -> None:
    def lost(name: str) -> Reply:
        return raw(Started("a", "p", name), UsageReported(Usage(7))) + DOWN

    told: list[Tried] = []
    inner = FallbackModel([candidate("one", lost("one")), candidate("two", lost("two"))], ONCE)
    outer = FallbackModel([inner, candidate("three", "hello")], ONCE, observe=told.append)
    deltas, _ = asked(outer)
    reports = [delta for delta in deltas if isinstance(delta, UsageReported)]
    assert reports == [
        UsageReported(Usage(1), (Spent("p", "two", usage=Usage(7)), Spent("p", "one", usage=Usage(7)))),
    ]
    assert [each.usage for each in told] == [Usage(14), Usage(1)]


def test_a_candidate_that_ends_without_saying_how_has_failed() -> None:
    one, two = candidate("one", raw()), candidate("two", "hello")
    assert said(asked(FallbackModel([one, two]))[0]) == "hello"
    deltas, _ = asked(FallbackModel([candidate("one", raw(BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "h")))]))
    assert isinstance(deltas[-1], StreamFailed)
    assert deltas[-1].error.kind is ErrorKind.PROTOCOL


def test_a_candidate_that_raises_breaks_its_contract_and_is_not_covered_up() -> None:
    with pytest.raises(Exception, match="the script has 0 replies"):
        asked(FallbackModel([candidate("one"), candidate("two", "hello")]))


def test_an_answer_that_is_not_wanted_any_more_is_let_go_of() -> None:
    told: list[Tried] = []
    closed: list[str] = []

    class Endless:
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            try:
                yield BlockStarted(0, DeltaKind.TEXT)
                while True:
                    yield BlockDelta(0, "la")
            finally:
                closed.append("yes")

    async def run() -> None:
        deltas = FallbackModel([Endless()], observe=told.append).stream(REQUEST)
        async for _ in deltas:
            break
        await deltas.aclose()

    trio.run(run)
    assert closed == ["yes"]
    assert [each.error and each.error.kind for each in told] == [ErrorKind.ABORTED]


def test_a_port_that_cannot_be_closed_will_do() -> None:
    class Bare:
        def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            left = iter([StreamFinished(StopReason.STOP)])

            class Deltas:
                def __aiter__(self) -> "Deltas":
                    return self

                async def __anext__(self) -> Delta:
                    for delta in left:
                        return delta
                    raise StopAsyncIteration

            return Deltas()

    assert asked(FallbackModel([Bare()]))[0] == [StreamFinished()]


def test_a_chosen_model_and_a_key_are_for_the_first_candidate_alone() -> None:
    """The key was resolved for one vendor (decision 49), and goes to nobody else."""
    one, two = candidate("one", WRONG), candidate("two", "hello")
    request = replace(REQUEST, model=ModelChoice("m", "p"), options={"api_key": "key-number-1", "user": "u"})
    asked(FallbackModel([one, two]), request)
    assert one.requests[0] == request
    assert two.requests[0].options == {"user": "u"}
    assert two.requests[0].model is None


@pytest.mark.parametrize(
    ("brand", "url", "goes_on"),
    [
        ("openai", None, True),
        ("openai", "https://elsewhere.example/v1", False),
        ("openai_compatible", "https://api.openai.com/v1", False),
    ],
)
def test_a_key_goes_on_only_to_the_same_vendor_at_the_same_address(brand: str, url: str | None, goes_on: bool) -> None:
    models: list[Any] = [make_model("openai", "one", api_key="k-1234"), make_model(brand, "two", url, "k-5678")]
    seen: list[ModelRequest] = []

    async def refused(request: ModelRequest) -> AsyncIterator[Delta]:
        seen.append(request)
        yield StreamFailed(ModelError(ErrorKind.INVALID_REQUEST, "wrong"))

    for model in models:
        model.stream = refused
    asked(FallbackModel(models), replace(REQUEST, options={"api_key": "key-number-1"}))
    assert ["api_key" in request.options for request in seen] == [True, goes_on]


def test_the_same_rules_go_around_other_ports() -> None:
    told: list[Tried] = []
    model = FallbackModel([candidate("one"), candidate("two")], retries=1, observe=told.append, chance=lambda: 1.0)
    others = iter([candidate("three", DOWN, DOWN), candidate("four", "hello")])
    deltas, seconds = asked(model.around(lambda _: next(others)))
    assert (said(deltas), seconds) == ("hello", pytest.approx(0.5))
    assert [each.candidate for each in told] == [0, 0, 1]
    with pytest.raises(ScriptExhaustedError):
        asked(model)


def test_the_id_of_a_call_is_the_same_for_whoever_is_asked() -> None:
    """TestModelCallID: a port sees the id of the caller, whose records of the call can carry it; it may be empty."""
    for id in ("call-1", ""):
        one, two = candidate("one", WRONG), candidate("two", "hello")
        asked(FallbackModel([one, two]), replace(REQUEST, model_call_id=id))
        assert [request.model_call_id for request in (*one.requests, *two.requests)] == [id, id]


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_any_framework_that_the_candidates_run_on_will_do(backend: str) -> None:
    one, two = candidate("one", DOWN, DOWN), candidate("two", "hello")
    deltas = anyio.run(deltas_of, FallbackModel([one, two], Retries(1, 0)), backend=backend)
    assert said(deltas) == "hello"
    assert len(one.requests) == 2


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        FallbackModel([])
    with pytest.raises(ConfigError, match=r"number 2 .* is a str and no model"):
        FallbackModel([candidate("one"), cast("Any", "openai")])
    with pytest.raises(ConfigError, match="negative"):
        Retries(-1)
    assert repr(FallbackModel([candidate("one")])) == "FallbackModel(1 candidates)"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", ["401 X", "404 X", "429 X", "500 X", "529 X"])
@in_real_time
async def test_a_vendor_that_fails_is_stood_in_for_by_another(protocol: str, status: str) -> None:
    _, body, expected = stream_of(f"{protocol}/plain")
    async with (
        serving(says(status)) as failing,
        serving(streams([body])) as working,
        FallbackModel([model_at(failing, "openai-chat"), model_at(working, protocol)], Retries(1, 0)) as model,
    ):
        deltas = await deltas_of(model)
        assert len(failing.asked) == (2 if status[:3] in ("429", "500", "529") else 1)
        assert len(working.asked) == 1
    assert answer_of(deltas) == expected
    assert isinstance(deltas[0], Started)
    assert (deltas[0].api, deltas[0].model) == (protocol, "the-model")
