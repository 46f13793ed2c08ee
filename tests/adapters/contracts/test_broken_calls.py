"""Each of these journals breaks one rule for calls, and the suite says which: just the cases beside it fail."""

import json
from collections.abc import Callable

import pytest
import trio
from turnfold.adapters.stores.memory import MemoryJournal, MemoryStore
from turnfold.adapters.stores.memory_kept import MemoryRun
from turnfold.effects.journal import CallRejected, CallUpdate, Changes, merge_call
from turnfold.effects.record import CallStatus, Handover, ToolCall
from turnfold.effects.values import replace


class LateRevisionWins(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        return super()._merge(stored and replace(stored, rev=0), incoming)


class SettledOutcomeIsOverwritten(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        if stored and stored.settled and stored.handover is Handover.NONE and incoming.rev > stored.rev:
            return replace(incoming, decision=stored.decision or incoming.decision)
        return super()._merge(stored, incoming)


class OnlyKnownStatusesAreFinal(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        known = stored is None or stored.status in list(CallStatus)
        return super()._merge(stored if known else replace(stored, status=CallStatus.RUNNING), incoming)


class HandoverIsDropped(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        return super()._merge(stored and replace(stored, handover=Handover.NONE), incoming)


class ReceiptIsOverwritten(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        handed = stored and stored.handover and incoming.handover and incoming.rev > stored.rev
        return replace(merged, result=incoming.result) if handed else merged


class ReceiptNeedsNoHandover(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        newer = stored and stored.handover and incoming.rev > stored.rev and not stored.settled
        return replace(merged, result=stored.result or incoming.result) if stored and newer else merged


class ErrorLeavesRoomForAReceipt(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored and replace(stored, error=None), incoming)
        return replace(merged, error=stored.error) if stored and stored.error else merged


class LateHandoverFills(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        if stored and stored.handover and incoming.handover and incoming.rev < stored.rev:
            return replace(stored, result=stored.result or incoming.result)
        return super()._merge(stored, incoming)


class PayloadIsNotFilled(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        return replace(merged, payload=stored.payload) if stored and stored.handover else merged


class KindOfHandoverChanges(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        both = stored and stored.handover and incoming.handover and incoming.rev > stored.rev
        return replace(merged, handover=incoming.handover) if both else merged


class NotesAreMerged(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        return replace(merged, notes={**stored.notes, **merged.notes}) if stored else merged


class NotesEndWithTheCall(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        return replace(merged, notes=stored.notes) if stored and stored.settled else merged


class RuntimeOverwritesTheDecision(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        return replace(merged, decision=incoming.decision) if incoming.decision else merged


class RuntimeForgetsTheDecision(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        newer = stored and incoming.rev > stored.rev
        return replace(merged, decision=incoming.decision) if newer else merged


class MediaAreForgotten(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        return super()._merge(stored, replace(incoming, media=(), expires_at=None))


class DigitsAreLost(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        payload = json.dumps(json.loads(incoming.payload, parse_int=float)) if incoming.payload else ""
        return super()._merge(stored, replace(incoming, payload=payload))


class MemoryIsShared(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        return merge_call(stored, incoming)


class InvalidCallIsStored(MemoryJournal):
    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        return await super().save_call(attempt, replace(call, id=call.id or "?", status=call.status or "queued"))


class InputIsReturned(MemoryJournal):
    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        await super().save_call(attempt, call)
        return call


class RejectedCallIsStored(MemoryJournal):
    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        try:
            return await super().save_call(attempt, call)
        except CallRejected:
            self._runs[self._run_id].calls[call.id] = call
            raise


class UpdateIsLost(MemoryJournal):
    """Reads, waits, and takes what it read for what is there."""

    async def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        run = self._fenced(attempt)
        stored = run.calls.get(call.id)
        await trio.lowlevel.checkpoint()
        if stored is not None:
            run.calls[call.id] = stored
        return await super().save_call(attempt, call)


class DescriptionEndsWithTheCall(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        over = stored is not None and (stored.settled or stored.handover)
        return replace(merged, arguments=stored.arguments, digest=stored.digest) if stored and over else merged


class DigestStays(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        return replace(merged, digest=stored.digest or incoming.digest) if stored else merged


class PartsComeLate(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        return replace(merged, parts=merged.parts or incoming.parts)


class PartsStay(MemoryJournal):
    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        merged = super()._merge(stored, incoming)
        return replace(merged, parts=merged.parts or stored.parts) if stored else merged


class ExpiryIsNoOutcome(MemoryJournal):
    """Takes the end of the time to decide for something that describes a call."""

    def _merge(self, stored: ToolCall | None, incoming: ToolCall) -> ToolCall:
        return replace(super()._merge(stored, incoming), expires_at=incoming.expires_at)


class StepLosesParts(MemoryJournal):
    def _change(self, run: MemoryRun, changes: Changes) -> None:
        super()._change(run, replace(changes, calls=tuple(replace(call, parts=None) for call in changes.calls)))


class HostClearsMediaByNone(MemoryStore):
    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        return await super().settle(run_id, replace(update, media=update.media or ()))


class HostResultKeepsParts(MemoryStore):
    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        before = self._runs[run_id].calls[update.id]
        call = replace(await super().settle(run_id, update), parts=before.parts)
        self._runs[run_id].calls[update.id] = call
        return call


class HostResetsTheRevision(MemoryStore):
    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        call = replace(await super().settle(run_id, update), rev=0)
        self._runs[run_id].calls[update.id] = call
        return call


BROKEN: dict[type[MemoryJournal] | type[MemoryStore], set[str]] = {
    LateRevisionWins: {
        "a_late_handover_fills_nothing",
        "a_late_revision_is_ignored",
        "an_outdated_snapshot_in_a_step_is_ignored",
        "concurrent_writes_of_one_call_lose_nothing",
        "notes_belong_to_the_highest_revision",
        "the_merged_record_is_returned",
        "what_describes_a_call_follows_its_snapshots",
    },
    SettledOutcomeIsOverwritten: {
        "a_settled_outcome_is_final",
        "a_status_of_the_host_is_final",
        "every_member_of_an_outcome_is_final",
        "only_the_host_settles_a_call_that_needs_review",
    },
    OnlyKnownStatusesAreFinal: {"a_status_of_the_host_is_final"},
    HandoverIsDropped: {
        "a_handover_by_the_host_takes_one_receipt",
        "a_handover_by_the_runtime_keeps_its_outcome",
        "a_late_handover_fills_nothing",
        "a_result_from_outside_survives_a_later_handover",
        "a_submitted_call_stays_with_its_owner",
        "a_write_without_handover_is_no_receipt",
        "every_member_of_an_outcome_is_final",
        "the_handover_and_the_payload_of_the_first_stay",
        "what_describes_a_call_follows_its_snapshots",
    },
    ReceiptIsOverwritten: {
        "a_handover_by_the_host_takes_one_receipt",
        "a_result_from_outside_survives_a_later_handover",
        "an_error_from_outside_leaves_no_room_for_a_receipt",
    },
    ReceiptNeedsNoHandover: {"a_write_without_handover_is_no_receipt"},
    ErrorLeavesRoomForAReceipt: {"an_error_from_outside_leaves_no_room_for_a_receipt"},
    LateHandoverFills: {"a_late_handover_fills_nothing"},
    PayloadIsNotFilled: {"a_handover_by_the_host_takes_one_receipt", "a_result_from_outside_survives_a_later_handover"},
    KindOfHandoverChanges: {"the_handover_and_the_payload_of_the_first_stay"},
    NotesAreMerged: {"notes_are_replaced_as_a_whole"},
    NotesEndWithTheCall: {"notes_belong_to_the_highest_revision"},
    RuntimeOverwritesTheDecision: {
        "a_decision_belongs_to_the_host",
        "a_decision_comes_back_whole",
    },
    RuntimeForgetsTheDecision: {
        "a_decision_belongs_to_the_host",
        "a_decision_comes_back_whole",
    },
    MediaAreForgotten: {
        "a_decision_that_is_not_for_this_call_is_refused",
        "every_member_of_an_outcome_is_final",
        "everything_a_record_holds_comes_back",
        "the_host_keeps_replaces_or_clears_media",
    },
    DigitsAreLost: {"json_keeps_its_digits"},
    MemoryIsShared: {"a_record_shares_no_memory_with_its_writer"},
    InvalidCallIsStored: {"a_call_without_id_or_status_is_refused"},
    InputIsReturned: {"the_merged_record_is_returned"},
    RejectedCallIsStored: {"a_refused_call_leaves_nothing"},
    UpdateIsLost: {"concurrent_writes_of_one_call_lose_nothing"},
    DescriptionEndsWithTheCall: {"what_describes_a_call_follows_its_snapshots"},
    DigestStays: {"what_describes_a_call_follows_its_snapshots"},
    PartsComeLate: {"every_member_of_an_outcome_is_final"},
    PartsStay: {"every_member_of_an_outcome_is_final"},
    ExpiryIsNoOutcome: {"every_member_of_an_outcome_is_final"},
    StepLosesParts: {"everything_a_record_holds_comes_back"},
    HostClearsMediaByNone: {"the_host_keeps_replaces_or_clears_media"},
    HostResultKeepsParts: {"the_host_keeps_replaces_or_clears_media"},
    HostResetsTheRevision: {
        "a_decision_belongs_to_the_host",
        "a_decision_comes_back_whole",
        "a_decision_is_taken_once",
        "a_handover_by_the_host_takes_one_receipt",
        "a_late_handover_fills_nothing",
        "only_the_host_settles_a_call_that_needs_review",
    },
}


@pytest.mark.parametrize(("broken", "cases"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN])
def test_a_broken_journal_fails_the_cases_of_its_rule(
    broken: type[MemoryJournal] | type[MemoryStore], cases: set[str], failing_journal_cases: Callable[..., set[str]]
) -> None:
    assert failing_journal_cases(broken) == cases
