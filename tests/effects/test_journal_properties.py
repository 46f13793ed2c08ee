"""What concurrent writes to a call mean, whatever they are: ``merge_call`` and ``overlay_external`` as properties."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from turnfold.effects.journal import CallUpdate, merge_call, overlay_external
from turnfold.effects.record import CallDecision, CallStatus, Handover, MediaRef, ToolCall, settled
from turnfold.effects.values import replace

PICTURE = MediaRef("p", "image/png", 4, "ab")

texts = st.sampled_from([None, "", "a", "b"])
statuses = st.sampled_from([*CallStatus, "expired"])
snapshots = st.builds(
    ToolCall,
    id=st.just("record"),
    status=statuses,
    rev=st.integers(0, 6),
    name=st.sampled_from(["x", "y"]),
    notes=st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"), max_size=2),
    result=texts,
    error=texts,
    parts=st.sampled_from([None, "[]"]),
    media=st.sampled_from([(), (PICTURE,)]),
    completed_at=st.sampled_from([None, 1, 2]),
    handover=st.sampled_from(list(Handover)),
    payload=st.sampled_from(["", "1", "2"]),
    decision=st.sampled_from([None, CallDecision(), CallDecision(approved=True)]),
)
open_snapshots = st.builds(
    replace,
    snapshots,
    status=st.sampled_from([status for status in CallStatus if not settled(status)]),
    handover=st.just(Handover.NONE),
    decision=st.none(),
)
updates = st.builds(
    CallUpdate,
    st.just("record"),
    status=st.just("") | statuses,
    result=texts,
    error=texts,
    media=st.sampled_from([None, (), (PICTURE,)]),
    handover=st.sampled_from(list(Handover)),
    payload=st.sampled_from(["", "1", "2"]),
    decision=st.sampled_from([None, CallDecision()]),
)


@given(st.lists(open_snapshots, max_size=5), snapshots, st.randoms(use_true_random=False))
def test_open_snapshots_give_the_same_record_in_any_order(
    before: list[ToolCall], last: ToolCall, shuffler: Random
) -> None:
    """I-01: distinct revisions, no host write, and nothing settled or handed over before the last."""
    in_order = [replace(call, rev=rev) for rev, call in enumerate([*before, replace(last, decision=None)], start=1)]
    shuffled = list(in_order)
    shuffler.shuffle(shuffled)
    assert merged(shuffled) == merged(in_order) == in_order[-1]


@given(st.lists(snapshots, min_size=1, max_size=5))
def test_merging_again_changes_nothing_and_no_revision_goes_back(calls: list[ToolCall]) -> None:
    """I-02."""
    stored: ToolCall | None = None
    for call in calls:
        after = merge_call(stored, call)
        assert after.rev == max(call.rev, stored.rev if stored else 0)
        assert merge_call(after, call) == after
        stored = after


@given(snapshots, updates)
def test_a_host_write_changes_no_revision_and_again_changes_nothing(stored: ToolCall, update: CallUpdate) -> None:
    """I-02."""
    after = overlay_external(stored, update)
    assert after.rev == stored.rev
    assert overlay_external(after, update) == after


@given(snapshots, st.lists(snapshots, max_size=4))
def test_the_runtime_never_leaves_an_outcome_that_is_final(stored: ToolCall, later: list[ToolCall]) -> None:
    """Once a call is over or handed over, only the host gives it another status, error, time or owner."""
    for call in later:
        after = merge_call(stored, call)
        if stored.settled or stored.handover is not Handover.NONE:
            kept = replace(after, status=stored.status, error=stored.error, handover=stored.handover)
            assert replace(kept, completed_at=stored.completed_at, media=stored.media) == after
        stored = after


def merged(calls: list[ToolCall]) -> ToolCall | None:
    stored: ToolCall | None = None
    for call in calls:
        stored = merge_call(stored, call)
    return stored
