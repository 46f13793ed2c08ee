"""What a record is by itself: valid, settled, frozen, and with words that stay as they are."""

import pytest
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
    validate_call,
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
