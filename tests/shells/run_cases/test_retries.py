"""Models that fail: asked again for a passing reason, later each time, and as their provider wishes."""

from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, pause, raw, say
from turnfold.core.run import Retries
from turnfold.effects.model import BlockDelta, BlockStarted, DeltaKind, UsageReported
from turnfold.effects.outcome import Failed, FailureKind
from turnfold.effects.transcript import ErrorKind, ModelError, Usage

from tests.shells.run_cases.parts import Seen, failure
from tests.shells.world import Tool, Viewer, World, asked, now, texts


class Timed(ScriptedModel):
    """A model that remembers when it was asked, in milliseconds from its making."""

    def __init__(self, *script: Any) -> None:
        super().__init__(script)
        self.times: list[int] = []
        self._begun = now()

    def stream(self, request: Any) -> Any:
        self.times.append(now() - self._begun)
        return super().stream(request)


@pytest.mark.parametrize(
    "kind",
    [ErrorKind.RATE_LIMITED, ErrorKind.TIMEOUT, ErrorKind.NETWORK, ErrorKind.UNAVAILABLE, ErrorKind.PROTOCOL],
)
async def test_a_model_that_failed_for_a_passing_reason_is_asked_again_later(kind: ErrorKind) -> None:
    """Decision 24: twice as late each time, up to the longest delay, each spread over its second half."""
    world = World()
    await world.say("hi")
    retries = Retries(times=4, first_ms=1000, longest_ms=3000)
    model = Timed(*[fail("busy", kind)] * 4, "here")
    assert (await world.run(model, retries=retries)).text == "here"
    delays = [after - before for before, after in zip(model.times, model.times[1:], strict=False)]
    for delay, longest in zip(delays, (1000, 2000, 3000, 3000), strict=True):
        assert longest / 2 <= delay <= longest
    assert asked(model) == [["user: hi"]] * 5
    assert len({request.model_call_id for request in model.requests}) == len(model.requests)


PERMANENT = set(ErrorKind) - {
    ErrorKind.RATE_LIMITED,
    ErrorKind.TIMEOUT,
    ErrorKind.NETWORK,
    ErrorKind.UNAVAILABLE,
    ErrorKind.PROTOCOL,
}


@pytest.mark.parametrize("kind", sorted(PERMANENT))
async def test_a_model_that_failed_for_good_is_not_asked_again(kind: ErrorKind) -> None:
    """Decision 24"""
    world, model = World(), Timed(fail("no", kind), "never said")
    await world.say("hi")
    result = await world.run(model, retries=Retries(times=3))
    assert failure(result) == (FailureKind.REFUSED if kind is ErrorKind.REFUSED else FailureKind.MODEL, 1)
    assert len(model.requests) == 1


async def test_a_model_that_fails_once_too_often_fails_the_run() -> None:
    """Decision 24: with what the provider said last."""
    world, model = World(), Timed(fail("first"), fail("second"), fail("third"), "never said")
    await world.say("hi")
    result = await world.run(model, retries=Retries(times=2))
    assert result.outcome == Failed(FailureKind.MODEL, "third", 1, ModelError(ErrorKind.UNAVAILABLE, "third"))
    assert len(model.requests) == 3


async def test_tries_are_counted_for_each_model_call() -> None:
    world, model = World(), Timed(fail(), call("echo"), fail(), "done")
    await world.say("hi")
    assert (await world.run(model, Tool("echo"), retries=Retries(times=1))).text == "done"


async def test_the_delay_that_a_provider_asks_for_is_honoured() -> None:
    """Decision 24: also where it is longer than any delay of ours; a shorter one does not make ours shorter."""
    world = World()
    model = Timed(fail("slow down", ErrorKind.RATE_LIMITED, retry_after_ms=45_000), fail(retry_after_ms=1), "here")
    await world.say("hi")
    retries = Retries(times=2, first_ms=1000, longest_ms=1000, patience_ms=45_000)
    assert (await world.run(model, retries=retries)).text == "here"
    assert model.times[1] == 45_000
    assert 500 <= model.times[2] - model.times[1] <= 1000


async def test_a_delay_that_is_too_long_fails_the_run_at_once() -> None:
    """Decision 24: up to a cap; the provider's wish is in the failure, for whoever resumes the run."""
    world, begun = World(), now()
    model = Timed(fail("slow down", ErrorKind.RATE_LIMITED, retry_after_ms=45_001), "never said")
    await world.say("hi")
    result = await world.run(model, retries=Retries(times=2, patience_ms=45_000))
    assert isinstance(result.outcome, Failed)
    assert result.outcome.error == ModelError(ErrorKind.RATE_LIMITED, "slow down", retry_after_ms=45_001)
    assert (len(model.requests), now() - begun) == (1, 0)


async def test_a_discarded_attempt_is_withdrawn_and_its_usage_counted() -> None:
    """Decision 24: its blocks leave record and stream, and the new attempt has an id of its own."""
    world, viewer = World(), Viewer()
    broken = raw(
        BlockStarted(0, DeltaKind.THINKING),
        BlockDelta(0, "hm"),
        BlockStarted(1, DeltaKind.TEXT),
        BlockDelta(1, "Let me"),
        BlockStarted(2, DeltaKind.CALL, "a", "echo"),
        UsageReported(Usage(input=7)),
    ) + pause(1)
    broken += fail("gone", ErrorKind.NETWORK)
    echo = Tool("echo")
    await world.say("hi")
    model = Seen(viewer, broken, say("Again.") + call("echo", id="b"), "done")
    result = await world.run(model, echo, retries=Retries(), stream=viewer, stream_id="s")
    assert model.shown == [("", []), ("", []), ("", ["Again.", ""])]
    assert (texts(result), result.text) == (["Again.", ""], "done")
    assert (len(echo.invocations), len(result.calls)) == (1, 1)
    assert result.usage == Usage(input=7) + Usage(10, output=2) + Usage(10, output=2)
    assert [view.text for view in viewer.snapshot.blocks] == ["Again.", ""]
    assert any("Let me" in repr(delta) for _, delta in viewer.deltas)
    stored = await world.stored()
    assert (stored.blocks, stored.calls, stored.usage) == (result.blocks, result.calls, result.usage)


async def test_a_delay_gives_way_to_a_cancellation() -> None:
    world, model = World(), Timed(fail(retry_after_ms=60_000), "never said")
    await world.say("hi")
    with trio.move_on_after(1) as scope:
        await world.run(model, retries=Retries())
    assert (scope.cancelled_caught, len(model.requests), model.times) == (True, 1, [0])
    outcome = (await world.stored()).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CANCELLED
