"""``World``: one run and everything around it, without I/O, randomness or time of its own.

Here is what a world holds and the few ways in which anything changes: an event is delivered, something is stored, an
execution begins or dies, input arrives, the host writes. ``ports`` says how orders are carried out, ``choices`` what
may happen next, ``settling`` how a world is brought to its end. After every event all promises are checked; the first
that is broken raises ``PromiseBroken`` with the whole story.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NoReturn

from ...core.invariants import OF_WHAT_IS_ASKED, broken, promise
from ...core.run import Fold, IllegalEvent, Rules, RunSpec, RunState, rules_for
from ...effects.feed import FeedFailed, InputClaimed, InputSignalled, WatchFeed
from ...effects.journal import AttemptBegun, AttemptStale, CallUpdate, JournalFailed, Step
from ...effects.lifecycle import CancelAsked, RunStarted
from ...effects.model import ModelBroke
from ...effects.outcome import Completed, Delivered
from ...effects.question import VerdictGiven
from ...effects.values import replace
from ...effects.vocabulary import Effect, Event
from .executor import Executor
from .outputs import Output, says
from .promises import Complaint, PromiseBroken
from .reading import blamed_on_limits, is_final
from .scenario import Review, Scenario
from .store import Conversation, Stored, host_writes
from .trace import Trace
from .witness import Blind, Witness

__all__ = ["Watch", "World"]

_BLAMES: dict[type, str] = {
    JournalFailed: "journal",
    AttemptStale: "stale",
    FeedFailed: "feed",
    CancelAsked: "cancel",
    ModelBroke: "broke",
}


class Watch(StrEnum):
    """How closely a world looks at its run: into its state and at what it does, only at the latter, or at neither."""

    CLOSELY = "closely"
    FROM_OUTSIDE = "from outside"
    NOT_AT_ALL = "not at all"


class World:
    """One run in its world. ``fold`` makes the fold under test from its rules; ``watch`` says how closely to look."""

    def __init__(self, scenario: Scenario, fold: type[Fold] = Fold, watch: Watch = Watch.CLOSELY) -> None:
        self.scenario = scenario
        self.rules: Rules = scenario.rules
        self.now = 1_000_000
        self.stored = Stored()
        self.conversation = Conversation(scenario.inputs)
        self.executors: list[Executor] = []
        self.trace = Trace()
        self.schedule: list[int] = []
        self.names: list[str] = []
        self.calm = False
        self.said = 0
        self.reviewed = 0
        self.arrived = 0
        self.crashes = scenario.crashes
        self.rivals = scenario.rivals
        self.faults = scenario.faults
        self.bound = 0
        self.cancelled = False
        self.watch = watch
        self.witness = Blind(self.rules) if watch is Watch.NOT_AT_ALL else Witness(self.rules)
        self._kind = fold
        self._fold = fold(self.rules)

    # --- what is there

    @property
    def alive(self) -> list[Executor]:
        """The executors that still do something, the oldest first."""
        return [executor for executor in self.executors if executor.alive]

    @property
    def last(self) -> Executor | None:
        """The execution that began last."""
        return self.executors[-1] if self.executors else None

    @property
    def over(self) -> bool:
        """Whether all input is answered and nobody does anything any more."""
        last = self.last
        if last is None or last.result is None or self.alive:
            return False
        outcome = last.result.outcome
        answered = isinstance(outcome, Delivered | Completed) and outcome.boundary == len(self.conversation.messages)
        return answered or is_final(outcome)

    # --- executions

    def begin(self, take_over: bool = False, fold: Fold | None = None) -> Executor:
        """A new execution begins now; ``fold`` when it knows less of the run than others."""
        executor = Executor(len(self.executors) + 1, fold or self._fold)
        self.executors.append(executor)
        seed = f"seed {executor.number}".encode()
        self.deliver(executor, RunStarted(self.now, seed, take_over))
        return executor

    def cancel_from_outside(self) -> None:
        """Somebody takes the run over to cancel it, without its tools and extensions (decision 40)."""
        self.cancelled = True
        self.cancel(self.begin(True, self._kind(rules_for(RunSpec(self.scenario.spec.run_id)))))

    def crash(self, executor: Executor) -> None:
        """The executor dies: whatever it knew, and what was not carried out, is gone."""
        executor.died = True
        self.trace.add(0, f"executor {executor.number} dies")

    def cancel(self, executor: Executor) -> None:
        """Somebody wants the run to stop."""
        self.deliver(executor, CancelAsked(self.now))

    # --- events

    def deliver(self, executor: Executor, event: Event) -> None:
        """Fold one event, take what is asked, and check every promise."""
        self._learn(executor, event)
        before = executor.state
        try:
            after, effects = executor.fold.reduce(before, event)
        except Exception as error:
            self.trace.add(executor.number, event)
            self.fail("the fold takes every event that can happen", f"{type(error).__name__}: {error}", error)
        executor.state = after
        ticket: int | None = getattr(event, "ticket", None)
        if ticket is not None and ticket not in executor.pending:
            executor.answered.append((ticket, event))
        self.trace.add(executor.number, event, effects)
        names = self._broken(before, after, effects, executor.fold.rules)
        if names:
            self.fail(names[0], promise(names[0]))
        self._take(executor, effects)

    def _broken(self, before: RunState, after: RunState, effects: tuple[Effect, ...], rules: Rules) -> Sequence[str]:
        if self.watch is Watch.CLOSELY:
            return broken(before, after, effects, rules)
        if self.watch is Watch.NOT_AT_ALL:
            return ()
        return [holds.__name__ for effect in effects for holds in OF_WHAT_IS_ASKED if not holds(effect)]

    def refuse(self, executor: Executor, events: Iterable[Event]) -> None:
        """Deliver events that cannot happen: each must be illegal, and none may leave a trace."""
        before = repr(executor.state)
        for event in events:
            try:
                executor.fold.reduce(executor.state, event)
            except IllegalEvent:
                continue
            except Exception as error:
                self.trace.add(executor.number, event)
                self.fail("an event that cannot happen is illegal, and nothing else", repr(error), error)
            self.trace.add(executor.number, event)
            self.fail("an event that cannot happen is illegal", "it was taken")
        if repr(executor.state) != before:
            self.fail("an illegal event leaves the state untouched", "")

    def _learn(self, executor: Executor, event: Event) -> None:
        """What an event tells, as the world knows it."""
        blame = _BLAMES.get(type(event))
        if blame is not None:
            executor.blamed.add(blame)
        executor.hear(event)
        if isinstance(event, InputClaimed):
            self.bound = max(self.bound, event.claim.boundary)
        elif isinstance(event, VerdictGiven):
            self.witness.ends.guard_says(executor, event)
        elif isinstance(event, AttemptBegun):
            if not self.conversation.messages:
                executor.blamed.add("no input")
            executor.blamed |= blamed_on_limits(self.scenario)
            if event.begun.resume.calls:
                executor.blamed.add("calls")

    def _take(self, executor: Executor, effects: tuple[Effect, ...]) -> None:
        try:
            for order in executor.take(effects):
                self.witness.asked(executor, order, self.now, self.stored)
            if executor.result is not None:
                self.witness.ended(executor, executor.result, self.stored, self.conversation.messages)
        except Complaint as complaint:
            self.complain(complaint)
        except (KeyError, ValueError) as error:
            self.fail("orders and notices refer to what is there", f"{type(error).__name__}: {error}", error)

    # --- the store, the feed, the host

    def store(self, after: Stored, step: Step | None = None) -> None:
        """An executor's write, a step or something else, reaches the store."""
        before, self.stored = self.stored, after
        try:
            self.witness.stored(before, after, self.conversation.messages, step)
        except Complaint as complaint:
            self.complain(complaint)

    def host_writes(self, update: CallUpdate, words: str) -> None:
        """The host, or a person, writes what they know of a call; the store may refuse it."""
        before = self.stored.calls[update.id]
        after = host_writes(self.stored, update, self.now)
        if isinstance(after, str):
            self.trace.add(0, f"{words} {update.id}, and is refused: {after}")
        else:
            self.trace.add(0, f"{words} {update.id}")
            self.stored = after
        try:
            self.witness.calls.host_wrote(before, self.stored.calls[update.id], update, self.now)
        except Complaint as complaint:
            self.complain(complaint)

    def consume(self) -> None:
        """The host has passed on what was delivered."""
        outcome = self.stored.outcome
        if isinstance(outcome, Delivered | Completed):
            self.conversation = replace(self.conversation, consumed=max(self.conversation.consumed, outcome.boundary))
            self.trace.add(0, f"the host consumes the input up to {outcome.boundary}")

    def input_arrives(self, signal: bool) -> None:
        """The next of the later input is there."""
        message = self.scenario.later[self.arrived]
        self.arrived += 1
        self.conversation = replace(self.conversation, messages=(*self.conversation.messages, message))
        self.trace.add(0, f"input {len(self.conversation.messages)} arrives" + ("" if signal else ", without a signal"))
        if signal:
            for executor in self.alive:
                self.signal(executor)

    def signal(self, executor: Executor) -> None:
        """The executor's subscription says that there may be something."""
        for pending in list(executor.pending.values()):
            if isinstance(pending.order, WatchFeed) and pending.open:
                self.deliver(executor, InputSignalled(self.now, pending.order.ticket))

    def next_output(self) -> Output:
        """What the model says the next time it is asked."""
        self.said += 1
        outputs = self.scenario.outputs
        return outputs[self.said - 1].signed if self.said <= len(outputs) else says(f"last word {self.said}")

    def next_review(self) -> Review:
        """What the guard says the next time it is asked."""
        self.reviewed += 1
        reviews = self.scenario.reviews
        return reviews[self.reviewed - 1] if self.reviewed <= len(reviews) else Review()

    # --- complaints

    def verdict(self) -> None:
        """The run is over: the records must tell the truth."""
        try:
            self.witness.verdict(self.stored)
        except Complaint as complaint:
            self.complain(complaint)

    def complain(self, complaint: Complaint) -> NoReturn:
        """Stop the world for what the witness found."""
        self.fail(complaint.promise, complaint.detail)

    def fail(self, name: str, detail: str, cause: BaseException | None = None) -> NoReturn:
        """A promise is broken: stop the world and tell the whole story."""
        raise PromiseBroken(name, self.story(detail), tuple(self.schedule), tuple(self.names), self.trace) from cause

    def story(self, detail: str = "") -> str:
        """The schedule and the trace, for people."""
        troubles = ", ".join(sorted(trouble.name for trouble in self.scenario.troubles)) or "none"
        lines = [detail] if detail else []
        return "\n".join([*lines, f"troubles: {troubles}; schedule: {shortened(self.schedule)}", str(self.trace)])


def shortened(schedule: Iterable[int]) -> str:
    """A schedule with its runs of zeros counted: ``0*12 5 0 3``."""
    said: list[str] = []
    zeros = 0
    for number in (*schedule, -1):
        if number == 0:
            zeros += 1
            continue
        if zeros:
            said.append(f"0*{zeros}" if zeros > 1 else "0")
            zeros = 0
        if number > 0:
            said.append(str(number))
    return " ".join(said)
