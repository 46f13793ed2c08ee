"""What a record is by itself: valid, settled, frozen, and with words that stay as they are."""

import pytest
from turnfold.core.run.records import waiting
from turnfold.effects.record import (
    BlockKind,
    CallDecision,
    CallStatus,
    CompletionSource,
    Handover,
    InvalidCall,
    PlanStatus,
    Standing,
    ToolCall,
    Wait,
    validate_call,
    waits_for,
)


def test_a_call_with_id_and_status_can_be_stored() -> None:
    call = ToolCall("c", "a status of the host")
    assert validate_call(call) is call


def test_a_call_without_id_cannot_be_stored() -> None:
    """JC-15."""
    with pytest.raises(InvalidCall, match="without an id"):
        validate_call(ToolCall("", CallStatus.QUEUED))


def test_a_call_without_status_cannot_be_stored_and_is_named() -> None:
    """JC-15."""
    with pytest.raises(InvalidCall, match="record c has no status"):
        validate_call(ToolCall("c", ""))


def test_the_zero_decision_is_a_rejection_without_a_reason() -> None:
    decision = CallDecision()
    assert (decision.approved, decision.reason, decision.arguments) == (False, "", "")
    assert (decision.digest, decision.result, decision.expires_at, decision.by) == ("", None, None, "")


@pytest.mark.parametrize(
    ("enumeration", "words"),
    [
        (BlockKind, ["thinking", "content", "tool_call"]),
        (Standing, ["superseded", "rejected", "broken_off"]),
        (Handover, ["", "await", "detached", "submitted"]),
        (CompletionSource, ["tool", "guard", "fallback"]),
        (Wait, ["decision", "result", "outstanding", "review"]),
        (PlanStatus, ["pending", "in_progress", "completed"]),
        (
            CallStatus,
            [
                "queued",
                "running",
                "waiting",
                "awaiting_decision",
                "succeeded",
                "failed",
                "interrupted",
                "needs_review",
                "rejected",
            ],
        ),
    ],
)
def test_stored_words_stay_as_they_are(enumeration: type[str], words: list[str]) -> None:
    """They are in every database that was ever written."""
    assert [str(word) for word in enumeration] == words  # type: ignore[attr-defined]


@pytest.mark.parametrize("status", [*CallStatus, "a status of the host"])
@pytest.mark.parametrize("handover", list(Handover))
@pytest.mark.parametrize("decided", [False, True])
def test_a_call_waits_for_somebody_outside_or_for_nobody(status: str, handover: Handover, decided: bool) -> None:
    """By what it is to be: first whether it is over, then whose it is, then whether somebody has decided."""
    call = ToolCall("c", status, handover=handover, decision=CallDecision(True) if decided else None)
    if status == CallStatus.NEEDS_REVIEW:
        expected = Wait.REVIEW
    elif call.settled:
        expected = None
    elif handover:
        expected = Wait.RESULT if handover is Handover.AWAIT else Wait.OUTSTANDING
    else:
        expected = Wait.DECISION if status == CallStatus.AWAITING_DECISION and not decided else None
    assert waits_for(call) is expected


def test_a_run_is_held_up_by_decisions_and_by_awaited_results() -> None:
    assert [wait for wait in Wait if wait.holds_up] == [Wait.DECISION, Wait.RESULT]


@pytest.mark.parametrize("handover", list(Handover))
@pytest.mark.parametrize("status", list(CallStatus))
@pytest.mark.parametrize("decision", [None, CallDecision(True)])
def test_what_holds_a_run_up_is_what_the_run_waits_for(
    status: CallStatus, handover: Handover, decision: CallDecision | None
) -> None:
    """A host that lists calls and the fold that suspends for them must not be of two minds."""
    call = ToolCall("c", status, handover=handover, decision=decision)
    wait = waits_for(call)
    assert (wait is not None and wait.holds_up) is waiting(call, 0)
