"""What concurrent writes to a call mean: ``merge_call`` and ``overlay_external``, row by row."""

import attrs
import pytest
from turnfold.effects.journal import (
    NO_CHANGES,
    CallRejected,
    CallUpdate,
    Changes,
    RunBusy,
    merge_call,
    overlay_external,
)
from turnfold.effects.record import (
    Block,
    BlockKind,
    CallCompletion,
    CallDecision,
    CallStatus,
    Handover,
    MediaRef,
    ToolCall,
    settled,
)
from turnfold.effects.values import replace

PICTURE = MediaRef("p", "image/png", 4, "ab")
HANDED_OVER = (Handover.AWAIT, Handover.DETACHED, Handover.SUBMITTED)

# The same fields in two records that differ in every one of them.
STORED = ToolCall(
    id="record",
    status=CallStatus.RUNNING,
    rev=5,
    parent_id="parent",
    model_call_id="model",
    call_id="call",
    name="tool",
    arguments="{}",
    digest="digest",
    replayable=True,
    side_effects=False,
    notes={"old": "1"},
    result=None,
    error=None,
    parts="[1]",
    media=(PICTURE,),
    started_at=1,
    completed_at=None,
    expires_at=2,
    completion=CallCompletion("1"),
    payload="",
)
INCOMING = ToolCall(
    id="record",
    status=CallStatus.SUCCEEDED,
    rev=6,
    parent_id="parent 2",
    model_call_id="model 2",
    call_id="call 2",
    name="tool 2",
    arguments='{"x":1}',
    digest="digest 2",
    replayable=False,
    side_effects=True,
    notes={"new": "2"},
    result="result",
    error="error",
    parts=None,
    media=(),
    started_at=10,
    completed_at=11,
    expires_at=None,
    completion=None,
    payload='{"op":1}',
)
DESCRIPTION = (
    "parent_id",
    "model_call_id",
    "call_id",
    "name",
    "arguments",
    "digest",
    "replayable",
    "side_effects",
    "notes",
)
OUTCOME = (
    "status",
    "result",
    "error",
    "parts",
    "media",
    "started_at",
    "completed_at",
    "expires_at",
    "completion",
    "handover",
    "payload",
)


def of(call: ToolCall, *names: str) -> dict[str, object]:
    return {name: getattr(call, name) for name in names}


def test_the_two_groups_and_three_fields_are_all_of_a_record() -> None:
    """So a field that is added to records cannot be forgotten in the tables below."""
    assert {*DESCRIPTION, *OUTCOME, "id", "rev", "decision"} == {field.name for field in attrs.fields(ToolCall)}
    differing = {name for name in (*DESCRIPTION, *OUTCOME) if getattr(STORED, name) != getattr(INCOMING, name)}
    assert differing == {*DESCRIPTION, *OUTCOME} - {"handover"}


def test_a_rejection_is_found_in_whatever_it_is_wrapped_in() -> None:
    """JU-01."""
    rejection = CallRejected("not today")

    def raised(error: BaseException, cause: BaseException) -> BaseException:
        try:
            raise error from cause
        except BaseException as chained:
            return chained

    wrapped = raised(RuntimeError("outer"), raised(ValueError("inner"), rejection))
    found = CallRejected.within(wrapped)
    assert found is rejection
    assert found.reason == str(found) == "not today"
    assert CallRejected.within(rejection) is rejection
    assert CallRejected.within(RuntimeError("other")) is None
    assert CallRejected.within(None) is None


def test_a_rejection_is_found_behind_an_exception_that_was_raised_while_it_was_handled() -> None:
    """JU-01, without a ``from``."""
    rejection = CallRejected("no")

    def hide() -> None:
        try:
            raise rejection
        except CallRejected:
            raise RuntimeError("on the way") from None

    with pytest.raises(RuntimeError) as caught:
        hide()
    assert CallRejected.within(caught.value) is rejection


def test_a_chain_of_causes_may_be_a_ring() -> None:
    """JU-01, for chains that somebody built by hand."""
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    assert CallRejected.within(one) is None


@pytest.mark.parametrize("status", ["", "queued", "running", "waiting", "awaiting_decision"])
def test_an_open_status_is_not_settled(status: str) -> None:
    """JU-02."""
    assert not settled(status)
    assert not ToolCall("c", status).settled


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "needs_review", "rejected", "expired", "X"])
def test_a_final_status_is_settled_also_one_we_never_heard_of(status: str) -> None:
    """JU-02."""
    assert settled(status)
    assert ToolCall("c", status).settled


def test_the_host_clears_media_with_an_empty_list() -> None:
    """JU-03."""
    stored = replace(STORED, notes={"k": "v"})
    cleared = overlay_external(stored, CallUpdate("record", CallStatus.SUCCEEDED, media=()))
    assert cleared == replace(stored, status=CallStatus.SUCCEEDED, media=())
    assert overlay_external(stored, CallUpdate("record", CallStatus.SUCCEEDED)).media == (PICTURE,)


def test_a_first_write_is_stored_as_it_is() -> None:
    """JU-04; no copy is needed, since no field of a record can be changed (the stores copy its one mapping)."""
    assert merge_call(None, INCOMING) == INCOMING
    for field in attrs.fields(ToolCall):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(INCOMING, field.name, None)


@pytest.mark.parametrize("rev", [0, 4, 5])
@pytest.mark.parametrize("handover", list(Handover))
@pytest.mark.parametrize("status", [CallStatus.RUNNING, CallStatus.FAILED])
def test_a_snapshot_that_is_not_newer_changes_nothing(rev: int, handover: Handover, status: str) -> None:
    """Row 2."""
    stored = replace(STORED, status=status, handover=handover)
    assert merge_call(stored, replace(INCOMING, rev=rev, handover=handover)) is stored


@pytest.mark.parametrize("handover", HANDED_OVER)
@pytest.mark.parametrize("status", [CallStatus.WAITING, CallStatus.SUCCEEDED, "expired"])
def test_a_handed_over_outcome_ignores_a_snapshot_without_handover(handover: Handover, status: str) -> None:
    """Row 3, settled or not."""
    stored = replace(STORED, status=status, handover=handover)
    merged = merge_call(stored, INCOMING)
    assert of(merged, *DESCRIPTION, "rev") == of(INCOMING, *DESCRIPTION, "rev")
    assert of(merged, *OUTCOME, "id") == of(stored, *OUTCOME, "id")


@pytest.mark.parametrize("handover", HANDED_OVER)
@pytest.mark.parametrize("other", HANDED_OVER)
@pytest.mark.parametrize("status", [CallStatus.QUEUED, CallStatus.SUCCEEDED])
def test_a_handover_fills_a_missing_payload_and_receipt(handover: Handover, other: Handover, status: str) -> None:
    """Row 4: the kinds are not compared, and the stored one stays."""
    stored = replace(STORED, status=status, handover=handover)
    merged = merge_call(stored, replace(INCOMING, handover=other))
    assert of(merged, *DESCRIPTION, "rev") == of(INCOMING, *DESCRIPTION, "rev")
    assert of(merged, *OUTCOME) == {**of(stored, *OUTCOME), "payload": '{"op":1}', "result": "result"}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"payload": "0"}, {"payload": "0", "result": "result"}),
        ({"result": "first"}, {"payload": '{"op":1}', "result": "first"}),
        ({"result": ""}, {"payload": '{"op":1}', "result": ""}),
        ({"error": "broken"}, {"payload": '{"op":1}', "result": None}),
        ({"error": ""}, {"payload": '{"op":1}', "result": None}),
    ],
)
def test_a_handover_replaces_no_payload_and_no_receipt(kept: dict[str, str], expected: dict[str, str]) -> None:
    """Row 4, field by field: an empty text is a result, and an error leaves no room for a receipt."""
    stored = replace(STORED, handover=Handover.DETACHED, **kept)
    merged = merge_call(stored, replace(INCOMING, handover=Handover.DETACHED))
    assert of(merged, *OUTCOME) == {**of(stored, *OUTCOME), **expected}


@pytest.mark.parametrize("status", [status for status in [*CallStatus, "expired"] if settled(status)])
@pytest.mark.parametrize("handover", list(Handover))
def test_a_settled_outcome_stays(status: str, handover: Handover) -> None:
    """Row 5: neither another status nor a payload nor a handover comes in late."""
    stored = replace(STORED, status=status)
    merged = merge_call(stored, replace(INCOMING, handover=handover))
    assert of(merged, *DESCRIPTION, "rev") == of(INCOMING, *DESCRIPTION, "rev")
    assert of(merged, *OUTCOME) == of(stored, *OUTCOME)


@pytest.mark.parametrize("status", [status for status in CallStatus if not settled(status)])
@pytest.mark.parametrize("handover", list(Handover))
def test_an_open_outcome_follows_the_newer_snapshot(status: str, handover: Handover) -> None:
    """Row 6, also where that clears something."""
    incoming = replace(INCOMING, handover=handover)
    assert merge_call(replace(STORED, status=status), incoming) == incoming


def test_the_stored_id_stays() -> None:
    """Whoever calls with two records of different ids means the stored one."""
    for stored in (STORED, replace(STORED, status=CallStatus.FAILED), replace(STORED, handover=Handover.AWAIT)):
        assert merge_call(stored, replace(INCOMING, id="other")).id == "record"


@pytest.mark.parametrize("changes", [{}, {"status": CallStatus.FAILED}, {"handover": Handover.AWAIT}], ids=str)
def test_a_stored_decision_stays_and_a_missing_one_is_taken(changes: dict[str, object]) -> None:
    """Column X of rows 3 to 6. The zero decision, a rejection without a reason, is a decision."""
    stored, first, second = replace(STORED, **changes), CallDecision(), CallDecision(approved=True)
    assert merge_call(replace(stored, decision=first), replace(INCOMING, decision=second)).decision == first
    assert merge_call(replace(stored, decision=first), INCOMING).decision == first
    assert merge_call(stored, replace(INCOMING, decision=second)).decision == second
    assert merge_call(stored, INCOMING).decision is None


def test_notes_are_replaced_as_a_whole_also_by_none() -> None:
    """Column N."""
    for stored in (STORED, replace(STORED, status=CallStatus.FAILED), replace(STORED, handover=Handover.AWAIT)):
        assert dict(merge_call(stored, INCOMING).notes) == {"new": "2"}
        assert dict(merge_call(stored, replace(INCOMING, notes={})).notes) == {}


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (CallUpdate("record"), {}),
        (CallUpdate("record", CallStatus.FAILED), {"status": CallStatus.FAILED}),
        (CallUpdate("record", "expired"), {"status": "expired"}),
        (CallUpdate("record", result="r"), {"result": "r", "parts": None}),
        (CallUpdate("record", result=""), {"result": "", "parts": None}),
        (CallUpdate("record", error=""), {"error": ""}),
        (CallUpdate("record", media=()), {"media": ()}),
        (CallUpdate("record", media=(PICTURE, PICTURE)), {"media": (PICTURE, PICTURE)}),
        (CallUpdate("record", completed_at=0), {"completed_at": 0}),
        (CallUpdate("record", handover=Handover.DETACHED), {"handover": Handover.DETACHED}),
        (CallUpdate("record", payload="0"), {"payload": "0"}),
        (CallUpdate("record", decision=CallDecision()), {"decision": CallDecision()}),
    ],
)
def test_the_host_overlays_what_it_sets_and_nothing_else(update: CallUpdate, expected: dict[str, object]) -> None:
    """Each row of the table for the host's authoritative write."""
    stored = replace(STORED, handover=Handover.AWAIT, payload="1")
    assert overlay_external(stored, update) == replace(stored, **expected)


def test_the_host_cannot_clear_what_it_can_set() -> None:
    """A handover, a payload, a result, an error, a time and a decision only ever get other values."""
    full = replace(INCOMING, handover=Handover.AWAIT, decision=CallDecision(approved=True))
    assert overlay_external(full, CallUpdate("record")) == full


def test_the_host_may_change_a_settled_call() -> None:
    """Its write is authoritative."""
    failed = replace(STORED, status=CallStatus.FAILED, error="broken", decision=CallDecision())
    update = CallUpdate("record", CallStatus.SUCCEEDED, result="ok", decision=CallDecision(approved=True))
    changed = overlay_external(failed, update)
    assert (changed.status, changed.result, changed.error) == (CallStatus.SUCCEEDED, "ok", "broken")
    assert changed.decision == CallDecision(approved=True)


def test_changes_are_empty_only_when_nothing_is_in_them() -> None:
    assert NO_CHANGES.empty
    block, call = Block("b", 1, "m", BlockKind.CONTENT), ToolCall("c", "queued")
    for changes in (
        Changes(blocks=(block,)),
        Changes(calls=(call,)),
        Changes(removed_blocks=("b",)),
        Changes(removed_calls=("c",)),
    ):
        assert not changes.empty


def test_a_busy_run_says_until_when() -> None:
    busy = RunBusy(1_767_225_600_000)
    assert busy.until == 1_767_225_600_000
    assert "1767225600000" in str(busy)
