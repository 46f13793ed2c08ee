"""From a world that breaks a promise to the plainest world that still breaks it.

Scenarios and stories (schedules by the names of their choices, so that a change before one does not change what it
means) are made smaller one change at a time, each kept when the same promise is still broken: fewer steps, ordinary
steps, fewer troubles, a shorter script. What is left is what a person has to read.
"""

from collections.abc import Iterator, Sequence

from ...core.run import Fold, SpecError
from ...effects.values import replace
from .outputs import Output, calls, says
from .promises import PromiseBroken
from .scenario import Scenario, Trouble
from .schedule import run_schedule
from .world import Watch

__all__ = ["shrink"]

MAX_RUNS = 3_000
MORE = 3

Story = tuple[str, ...]


def shrink(
    scenario: Scenario, schedule: Sequence[int | str], fold: type[Fold] = Fold, watch: Watch = Watch.CLOSELY
) -> PromiseBroken:
    """The same broken promise in the plainest world that was found; raises ``ValueError`` when none is broken."""
    found = _broken(scenario, schedule, fold, watch)
    if found is None:
        raise ValueError("this world breaks no promise, so there is nothing to shrink")
    return _Shrinking(scenario, found, fold, watch).run()


def _broken(scenario: Scenario, schedule: Sequence[int | str], fold: type[Fold], watch: Watch) -> PromiseBroken | None:
    try:
        run_schedule(scenario, schedule, fold, watch)
    except PromiseBroken as broken:
        return broken
    return None


class _Shrinking:
    """The smallest case so far, and the attempts to beat it."""

    def __init__(self, scenario: Scenario, found: PromiseBroken, fold: type[Fold], watch: Watch) -> None:
        self.scenario = scenario
        self.found = found
        self.story = found.names
        self.fold = fold
        self.watch = watch
        self.runs = 0

    def run(self) -> PromiseBroken:
        """Try until nothing makes it smaller."""
        progress = True
        while progress and self.runs < MAX_RUNS:
            before = self.found
            self._drop_steps()
            self._drop_choices()
            self._simplify()
            progress = self.found is not before
        return self.found

    def _try(self, scenario: Scenario, story: Story) -> bool:
        """Whether the promise is broken there too; then that is the smallest so far."""
        self.runs += 1
        try:
            again = _broken(scenario, story, self.fold, self.watch) if self.runs <= MAX_RUNS else None
        except SpecError:
            return False  # a limit of cost, without what tokens cost
        if again is None or again.promise != self.found.promise:
            return False
        self.scenario, self.found = scenario, again
        end = max((place for place, name in enumerate(again.names, 1) if name), default=0)
        self.story = again.names[:end]
        return True

    def _drop_steps(self) -> None:
        size = max(1, len(self.story))
        while size:
            place = 0
            while place < len(self.story):
                if not self._try(self.scenario, self.story[:place] + self.story[place + size :]):
                    place += size
            size //= 2

    def _drop_choices(self) -> None:
        """Without one of its choices a story may take fewer ordinary steps, or some more, to where it was going."""
        place = 0
        while place < len(self.story):
            if self.story[place] and any(self._try(self.scenario, story) for story in _without(self.story, place)):
                place = 0
            place += 1

    def _simplify(self) -> None:
        for place in reversed(range(len(self.scenario.outputs))):
            for plain in ((), (says(f"answer {place}"),), (calls(("charge", "{}")),)):
                if self.scenario.outputs[place : place + 1] == plain:
                    break
                smaller = _with_outputs(self.scenario, place, plain)
                # With less to say there is less to wait for.
                if any(self._try(smaller, story) for story in (self.story, *_with_less_waiting(self.story))):
                    break
        for trouble in Trouble:
            if trouble in self.scenario.troubles:
                self._try(replace(self.scenario, troubles=self.scenario.troubles - {trouble}), self.story)
        for name, value in _PLAIN:
            if getattr(self.scenario, name) != value:
                self._try(replace(self.scenario, **{name: value}), self.story)
        for name, value in _PLAIN_SPEC:
            spec = self.scenario.spec
            if getattr(spec, name) != value:
                self._try(replace(self.scenario, spec=replace(spec, **{name: value})), self.story)


_PLAIN = tuple(
    (name, getattr(Scenario(), name))
    for name in (
        "later",
        "inputs",
        "reviews",
        "extensions",
        "functions",
        "policies",
        "knowledge",
        "behaviours",
        "crashes",
        "rivals",
        "faults",
    )
)
_PLAIN_SPEC = tuple(
    (name, getattr(Scenario().spec, name))
    for name in ("tools", "limits", "retries", "sequential", "discard_undelivered", "guarded")
)


def _without(story: Story, place: int) -> Iterator[Story]:
    """The story without the choice at a place, with the ordinary steps after it, or fewer of them, or some more."""
    before, after = story[:place], story[place + 1 :]
    waiting = next((count for count, name in enumerate(after) if name), len(after))
    for count in range(waiting + 1):
        yield before + after[count:]
    for count in range(1, MORE + 1):
        yield (*before, *[""] * count, *after)


def _with_less_waiting(story: Story) -> Iterator[Story]:
    """The story with fewer ordinary steps before one of its choices."""
    waited = 0
    for place, name in enumerate(story):
        if not name:
            waited += 1
            continue
        for count in range(1, waited + 1):
            yield (*story[: place - count], *story[place:])
        waited = 0


def _with_outputs(scenario: Scenario, place: int, outputs: tuple[Output, ...]) -> Scenario:
    return replace(scenario, outputs=(*scenario.outputs[:place], *outputs, *scenario.outputs[place + 1 :]))
