"""When a model that failed is asked again: to the millisecond, since delays are drawn from the run's own seed."""

import pytest
from turnfold.core.run import Retries, RunSpec, RunState, rules_for
from turnfold.core.run.retrying import retry_delay
from turnfold.core.run.state import ModelRegion, Tickets
from turnfold.effects.model import CallModel, ModelStreamed, StreamFailed
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.transcript import ErrorKind, ModelError
from turnfold.effects.values import replace

from tests.core.run.byhand import ByHand, calls, spec_of, text

PASSING = {ErrorKind.RATE_LIMITED, ErrorKind.TIMEOUT, ErrorKind.NETWORK, ErrorKind.UNAVAILABLE, ErrorKind.PROTOCOL}
FAILED = ModelError(ErrorKind.NETWORK, "gone")
RETRIES = Retries(times=6, first_ms=1_000, longest_ms=6_000, patience_ms=9_000)


def delay(tries: int = 0, error: ModelError = FAILED, seed: bytes = b"", last: int = 0) -> int | None:
    state = replace(RunState(), model=ModelRegion(tries=tries), tickets=Tickets(seed=seed, last=last))
    return retry_delay(state, error, rules_for(RunSpec("run", retries=RETRIES)))


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_only_what_may_pass_is_tried_again(kind: ErrorKind) -> None:
    """Decision 24"""
    assert (delay(error=ModelError(kind, "x")) is not None) is (kind in PASSING)


@pytest.mark.parametrize(("tries", "whole"), [(0, 1_000), (1, 2_000), (2, 4_000), (3, 6_000), (5, 6_000)])
def test_each_delay_is_twice_the_one_before_up_to_the_longest(tries: int, whole: int) -> None:
    found = [delay(tries, seed=bytes([seed])) or 0 for seed in range(200)]
    assert whole // 2 <= min(found) < whole * 6 // 10
    assert whole * 9 // 10 < max(found) <= whole


def test_there_are_as_many_tries_as_there_may_be() -> None:
    assert delay(5) is not None
    assert delay(6) is None


def test_delays_differ_between_runs_and_between_tries_and_nowhere_else() -> None:
    assert len({delay(seed=bytes([seed])) for seed in range(20)}) > 15
    assert len({delay(last=last) for last in range(20)}) > 15
    assert delay(seed=b"a", last=3) == delay(seed=b"a", last=3) == 919


def test_delays_are_spread_evenly_over_the_half_below_the_whole() -> None:
    """To the millisecond of eleven days: recorded runs fold again to the same delays."""
    long = Retries(first_ms=10**9, longest_ms=10**9)
    state = replace(RunState(), tickets=Tickets(seed=b"a", last=3))
    assert retry_delay(state, FAILED, rules_for(RunSpec("run", retries=long))) == 919_111_924


@pytest.mark.parametrize(("wished", "told"), [(0, 500), (700, 1_000), (9_000, 9_000), (9_001, None)])
def test_the_providers_own_delay_is_honoured_within_patience(wished: int, told: int | None) -> None:
    found = delay(error=replace(FAILED, retry_after_ms=wished))
    if told is None:
        assert found is None
        return
    assert found is not None
    assert max(wished, 500) <= found <= max(wished, 1_000)
    assert found == wished or wished < 1_000


def test_a_withdrawn_attempt_is_asked_again_when_its_delay_is_over() -> None:
    run = ByHand(RunSpec("run", retries=Retries(times=1, first_ms=1_000))).start()
    first = run.until(CallModel)
    run.tell(ModelStreamed(run.now, first.ticket, (StreamFailed(FAILED),)))
    due = run.state.model.retry_at
    assert run.now + 500 <= due <= run.now + 1_000
    run.wake(due - 1)
    assert not run.waits_for(CallModel)
    run.wake(due)
    again = run.take(CallModel)
    assert again.request.model_call_id != first.request.model_call_id
    run.tell(ModelStreamed(run.now, again.ticket, text("hello")))
    assert run.to_the_end().outcome == Delivered("hello", 1)


def test_a_model_that_fails_for_good_fails_the_run() -> None:
    run = ByHand(RunSpec("run", retries=Retries(times=0))).start()
    run.say(StreamFailed(replace(FAILED, message="gone\ud800", code="c\ud800")))
    error = replace(FAILED, message="gone\ufffd", code="c\ufffd")
    assert run.to_the_end().outcome == Failed(FailureKind.MODEL, "gone\ufffd", 1, error)


def test_a_second_call_of_the_model_has_all_its_tries_again() -> None:
    run = ByHand(replace(spec_of("echo"), retries=Retries(times=1, first_ms=1))).start()
    for answer in (calls("echo"), text("hello")):
        run.tell(ModelStreamed(run.now, run.until(CallModel).ticket, (StreamFailed(FAILED),)))
        run.wake(run.state.model.retry_at)
        run.say(*answer)
    assert run.to_the_end().outcome == Delivered("hello", 1)
