"""Models of which the next one answers where the one before cannot: ``FallbackModel``.

Read ``stream`` first. What a candidate sends is held back until something of it can be seen; from then on the answer is
that candidate's, however it ends. Whether a failure may be over the next time is told by its kind, never by its text.
"""

import random
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from copy import copy

import anyio

from ...effects.handed_in import check_kind
from ...effects.model import Delta, ModelPort, ModelRequest, Started, StreamFailed, StreamFinished, UsageReported
from ...effects.spending import NO_SPENDING, Spending
from ...effects.transcript import ZERO_USAGE, ErrorKind, ModelError, Spent, Usage
from ...effects.values import frozen, replace
from .attempts import closing, is_visible
from .config import ConfigError, ModelConfig

__all__ = ["FallbackModel", "Retries", "Tried", "who_is_asked"]

PASSING = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.TIMEOUT, ErrorKind.NETWORK, ErrorKind.UNAVAILABLE})
"""Failures for which a candidate is asked again, because they may be over the next time."""


@frozen
class Retries:
    """How often a candidate is asked again after a passing failure, and when; in milliseconds.

    The first delay is ``first_ms``, each further one twice that, half of it by chance. A delay that the provider asks
    for counts instead. Neither is longer than ``longest_ms``.
    """

    times: int = 2
    first_ms: int = 500
    longest_ms: int = 8_000

    def __attrs_post_init__(self) -> None:
        if min(self.times, self.first_ms, self.longest_ms) < 0:
            raise ConfigError("retries and their delays cannot be negative")

    def delay_ms(self, retry: int, error: ModelError, chance: float) -> float:
        """How long to wait before this retry (the first is 0); ``chance`` is from 0 to 1."""
        if error.retry_after_ms is not None:
            return min(error.retry_after_ms, self.longest_ms)
        delay = min(self.longest_ms, self.first_ms << min(retry, 30))
        return delay / 2 + delay / 2 * chance


@frozen
class Tried:
    """One attempt that is over: which candidate it was of, what it used, and its failure (none: it answered).

    ``provider`` and ``model`` say whose prices these tokens have, as far as the candidate tells. The answer tells of
    them too (``besides``), so count them once.
    """

    candidate: int
    retry: int
    usage: Usage
    error: ModelError | None
    provider: str = ""
    model: str = ""


class FallbackModel:
    """A ``ModelPort`` over others, tried in their order, under any framework that they run on. ``aclose`` it when done.

    A model and a key that a request brings are for the first candidate; the key goes on only to the same vendor at the
    same address. ``options`` of a request go to all of them. What attempts used that were given up is told beside the
    answer's own usage, by model (``UsageReported.besides``); ``observe`` is told of every attempt. Raises
    ``ConfigError`` without a candidate, and for one that is no model.
    """

    def __init__(
        self,
        candidates: Iterable[ModelPort],
        retries: Retries | int | None = None,
        *,
        observe: Callable[[Tried], None] = lambda _: None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """``retries`` as a number: so many, with the usual delays. ``chance`` gives numbers from 0 to 1."""
        if callable(getattr(candidates, "stream", None)):
            raise ConfigError("the models to fall back on are a list, even of one: FallbackModel([model])")
        self._candidates = tuple(candidates)
        if not self._candidates:
            raise ConfigError("a list of models to fall back on needs at least one")
        for place, candidate in enumerate(self._candidates, 1):
            if not callable(getattr(candidate, "stream", None)):
                given = type(candidate).__name__
                raise ConfigError(
                    f"number {place} of the models to fall back on is a {given} and no model: make_model makes one"
                )
        self._retries = Retries(retries) if isinstance(retries, int) else retries or Retries()
        check_kind(self._retries, ConfigError, "retries", Retries, "turnfold.adapters.models")
        self._observe = observe
        self._chance = chance

    def __repr__(self) -> str:
        return f"FallbackModel({len(self._candidates)} candidates)"

    async def __aenter__(self) -> "FallbackModel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the candidates that can be closed."""
        for candidate in self._candidates:
            if (close := getattr(candidate, "aclose", None)) is not None:
                await close()

    def around(self, each: Callable[[ModelPort], ModelPort]) -> "FallbackModel":
        """The same rules over what ``each`` makes of every candidate; the candidates stay this one's to close."""
        other = copy(self)
        other._candidates = tuple(map(each, self._candidates))
        return other

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The deltas of the first answer of which anything can be seen; else the last failure, with what was tried."""
        attempt = _Attempt(0, 0, NO_SPENDING)
        asked = 0
        for place, candidate in enumerate(self._candidates):
            retry = 0
            while retry <= self._retries.times:
                attempt = _Attempt(place, retry, attempt.spent)
                asked += 1
                try:
                    async with aclosing(attempt.deltas(candidate, self._request_for(place, request))) as deltas:
                        async for delta in deltas:
                            yield delta
                finally:
                    self._observe(attempt.told)
                if attempt.shown:
                    return
                if attempt.failed.error.kind not in PASSING:
                    break
                if retry < self._retries.times:
                    delay = self._retries.delay_ms(retry, attempt.failed.error, self._chance())
                    await anyio.sleep(delay / 1000)
                retry += 1
        for delta in attempt.given_up(len(self._candidates), asked):
            yield delta

    def _request_for(self, place: int, request: ModelRequest) -> ModelRequest:
        """The request as a candidate may have it."""
        if place == 0:
            return request
        options = request.options
        if "api_key" in options and not _same_door(self._candidates[0], self._candidates[place]):
            options = {name: value for name, value in options.items() if name != "api_key"}
        return replace(request, model=None, options=options)


class _Attempt:
    """One candidate asked once. ``shown``: the answer is this one's; ``failed`` tells why it is not."""

    def __init__(self, candidate: int, retry: int, before: Spending) -> None:
        self.shown = False
        self.failed = StreamFailed(ModelError(ErrorKind.ABORTED, "the answer was not waited for"))
        self._candidate = candidate
        self._retry = retry
        self._before = before
        self._usage = ZERO_USAGE
        self._within: tuple[Spent, ...] = ()
        self._provider = ""
        self._model = ""
        self._over = False
        self._answered = False
        self._held: list[Delta] = []

    @property
    def spent(self) -> Spending:
        """What was used, by those before it too."""
        return self._before.plus(Spent(self._provider, self._model, usage=self._usage), *self._within)

    @property
    def _besides(self) -> tuple[Spent, ...]:
        """What others used for this answer: those before this one, and those that it asked itself."""
        return self._before.plus(*self._within).rows

    @property
    def told(self) -> Tried:
        """This attempt, as it ended."""
        error = None if self._answered else self.failed.error
        usage = sum((spent.usage for spent in self._within), self._usage)
        return Tried(self._candidate, self._retry, usage, error, self._provider, self._model)

    async def deltas(self, candidate: ModelPort, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """What may be passed on of the answer: nothing of one that failed before anything could be seen."""
        self._provider, self._model = who_is_asked(candidate, request)
        async with closing(candidate.stream(request)) as deltas:
            async for delta in deltas:
                for each in self._passed_on(delta):
                    yield each
                if self._over:
                    return
        self.failed = StreamFailed(ModelError(ErrorKind.PROTOCOL, "the model ended its answer without saying how"))
        for each in self._passed_on(self.failed):
            yield each

    def given_up(self, candidates: int, asked: int) -> list[Delta]:
        """The last deltas where nobody answered: who was asked last, and why it failed."""
        error = self.failed.error
        if asked > 1:
            models = "one model was" if candidates == 1 else f"{candidates} models were"
            error = replace(error, message=f"{error.message}; {models} tried, with {asked} requests in all")
        return [*self._held[:-1], replace(self.failed, error=error)]

    def _passed_on(self, delta: Delta) -> list[Delta]:
        """The deltas that are not held back any more."""
        if isinstance(delta, Started):
            self._provider, self._model = delta.provider or self._provider, delta.model or self._model
        elif isinstance(delta, UsageReported):
            self._usage, self._within = delta.usage, delta.besides
            delta = UsageReported(self._usage, self._besides)
        elif isinstance(delta, StreamFinished | StreamFailed):
            delta = self._on_end(delta)
        self._held.append(delta)
        failed = isinstance(delta, StreamFailed) and delta.error.kind is not ErrorKind.ABORTED
        self.shown = self.shown or (is_visible(delta) and not failed)
        if not self.shown:
            return []
        passed, self._held = self._held, []
        return passed

    def _on_end(self, end: StreamFinished | StreamFailed) -> Delta:
        self._over = True
        self._answered = isinstance(end, StreamFinished)
        unreported = self._usage == ZERO_USAGE
        if end.message is not None:
            self._usage, self._within = end.message.usage, end.message.besides
            end = replace(end, message=replace(end.message, besides=self._besides))
        elif unreported and self._before.rows:
            self._held.append(UsageReported(ZERO_USAGE, self._besides))
        if isinstance(end, StreamFailed):
            self.failed = end
        return end


def who_is_asked(model: ModelPort, request: ModelRequest) -> tuple[str, str]:
    """The provider and the model that a request goes to, as far as the port tells: by a ``config``, as ours have."""
    config = getattr(model, "config", None)
    if not isinstance(config, ModelConfig):
        return "", ""
    target = config.serving(replace(request, options={})).target  # whatever key it brings makes no difference
    return target.provider, target.model


def _same_door(one: ModelPort, other: ModelPort) -> bool:
    """Whether a key for the one may go to the other: both say that they ask the same vendor at the same address."""
    configs = [getattr(model, "config", None) for model in (one, other)]
    doors = {(config.vendor.name, config.host) for config in configs if isinstance(config, ModelConfig)}
    return len(doors) == 1 and all(isinstance(config, ModelConfig) for config in configs)
