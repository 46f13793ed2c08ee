"""Each of these stores takes decisions by another rule, and the suite says which: just the cases beside it fail."""

from collections.abc import Callable

import pytest
from turnfold.adapters.stores import DecisionRefused, MemoryStore, Refusal
from turnfold.adapters.stores.rules import overlaid
from turnfold.effects.journal import CallUpdate
from turnfold.effects.record import CallDecision, CallStatus, ToolCall
from turnfold.effects.values import replace


class Deciding(MemoryStore):
    """A store that asks ``_decided`` what becomes of a decision; as it stands, it breaks no rule."""

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        run = self._runs[run_id]
        decision = update.decision and self._decided(run.calls[update.id], update.decision)
        call = await super().settle(run_id, replace(update, decision=None))
        if decision is not None:
            call = replace(call, decision=decision)
            run.put(call, self._now())
        return call

    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        overlaid(stored, CallUpdate(stored.id, decision=decision), self._now())
        return decision


class DecisionLosesWhatItIsBoundTo(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        return replace(super()._decided(stored, decision), digest="", expires_at=None)


class DecisionLosesItsResult(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        return replace(super()._decided(stored, decision), result=None)


class DecisionLosesItsAuthor(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        return replace(super()._decided(stored, decision), by="")


class SecondDecisionWins(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        if stored.decision is not None:
            return decision
        return super()._decided(stored, decision)


class SecondDecisionIsIgnored(Deciding):
    """And says nothing, so that somebody believes to have rejected what is carried out."""

    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        return stored.decision or super()._decided(stored, decision)


class SameDecisionIsRefused(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        if stored.decision is not None:
            raise DecisionRefused(stored.id, Refusal.ALREADY_DECIDED)
        return super()._decided(stored, decision)


class OnlyTheAnswerIsCompared(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        before = stored.decision
        if before is not None and (before.approved, before.arguments) == (decision.approved, decision.arguments):
            return before
        return super()._decided(stored, decision)


class RefusalComesTooLate(MemoryStore):
    """Writes the rest of the update before it looks at the decision."""

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        await super().settle(run_id, replace(update, decision=None))
        return await super().settle(run_id, update)


class AnybodyMayDecide(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        return super()._decided(replace(stored, status=CallStatus.AWAITING_DECISION), decision)


class DigestIsNotCompared(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        super()._decided(replace(stored, digest=decision.digest), decision)
        return decision


class DecisionsNeverExpire(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        if stored.decision is None:
            super()._decided(stored, replace(decision, expires_at=None))
            return decision
        return super()._decided(stored, decision)


class PausesNeverExpire(Deciding):
    def _decided(self, stored: ToolCall, decision: CallDecision) -> CallDecision:
        return super()._decided(replace(stored, expires_at=None), decision)


ONCE, FITTING, WHOLE = (
    "a_decision_is_taken_once",
    "a_decision_that_is_not_for_this_call_is_refused",
    "a_decision_comes_back_whole",
)

BROKEN: dict[type[MemoryStore], set[str]] = {
    Deciding: set(),
    DecisionLosesWhatItIsBoundTo: {ONCE, WHOLE},
    DecisionLosesItsResult: {ONCE, WHOLE},
    DecisionLosesItsAuthor: {ONCE, WHOLE, "a_decision_survives_a_late_write"},
    SecondDecisionWins: {ONCE},
    SecondDecisionIsIgnored: {ONCE},
    SameDecisionIsRefused: {ONCE},
    OnlyTheAnswerIsCompared: {ONCE},
    RefusalComesTooLate: {ONCE, FITTING},
    AnybodyMayDecide: {FITTING},
    DigestIsNotCompared: {FITTING},
    DecisionsNeverExpire: {FITTING},
    PausesNeverExpire: {FITTING},
}


@pytest.mark.parametrize(("broken", "cases"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN])
def test_a_store_that_decides_otherwise_fails_the_cases_of_its_rule(
    broken: type[MemoryStore], cases: set[str], failing_journal_cases: Callable[..., set[str]]
) -> None:
    assert failing_journal_cases(broken) == cases
