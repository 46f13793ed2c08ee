"""The two unions are complete: every order has its answers, every answer its order, and all are plain frozen values."""

from typing import Any, get_args, get_type_hints

import attrs
import pytest
from turnfold.effects.clock import WakeAt, Woke
from turnfold.effects.feed import (
    ClaimInput,
    FeedFailed,
    FeedPolled,
    FeedWatched,
    InputClaimed,
    InputSignalled,
    PollFeed,
    WatchFeed,
)
from turnfold.effects.journal import (
    AttemptBegun,
    AttemptEnded,
    AttemptRefused,
    AttemptStale,
    BeginAttempt,
    CallRefused,
    CallSaved,
    EndAttempt,
    JournalFailed,
    LeaseRenewed,
    RenewLease,
    SaveCall,
    SaveStep,
    StepSaved,
)
from turnfold.effects.lifecycle import CancelAsked, RunStarted
from turnfold.effects.model import CallModel, CancelModel, ModelBroke, ModelCutOff, ModelStreamed
from turnfold.effects.question import (
    AskGuard,
    AskPolicy,
    AskReconcile,
    CancelQuestion,
    PolicyGiven,
    QuestionCutOff,
    QuestionFailed,
    Reconciled,
    VerdictGiven,
)
from turnfold.effects.tool import (
    CancelTool,
    RunTool,
    ToolControlled,
    ToolCutOff,
    ToolFailed,
    ToolProgressed,
    ToolReturned,
)
from turnfold.effects.vocabulary import Effect, Event, Notice, Order

# Every way in which an order can be answered.
ANSWERS: dict[type, set[type]] = {
    BeginAttempt: {AttemptBegun, AttemptRefused, AttemptStale, JournalFailed},
    RenewLease: {LeaseRenewed, AttemptStale, JournalFailed},
    EndAttempt: {AttemptEnded, AttemptStale, JournalFailed},
    SaveStep: {StepSaved, AttemptStale, JournalFailed},
    SaveCall: {CallSaved, CallRefused, AttemptStale, JournalFailed},
    WatchFeed: {FeedWatched, InputSignalled, FeedFailed},
    PollFeed: {FeedPolled, FeedFailed},
    ClaimInput: {InputClaimed, FeedFailed},
    CallModel: {ModelStreamed, ModelCutOff, ModelBroke},
    CancelModel: {ModelStreamed, ModelCutOff, ModelBroke},
    RunTool: {ToolProgressed, ToolReturned, ToolControlled, ToolFailed, ToolCutOff},
    CancelTool: {ToolProgressed, ToolReturned, ToolControlled, ToolFailed, ToolCutOff},
    AskPolicy: {PolicyGiven, QuestionFailed, QuestionCutOff},
    AskReconcile: {Reconciled, QuestionFailed, QuestionCutOff},
    AskGuard: {VerdictGiven, QuestionFailed, QuestionCutOff},
    CancelQuestion: {PolicyGiven, Reconciled, VerdictGiven, QuestionFailed, QuestionCutOff},
    WakeAt: {Woke},
}
# What the outside says of its own accord.
UNASKED = {RunStarted, CancelAsked}


def test_every_order_has_its_answers() -> None:
    assert set(get_args(Order)) == ANSWERS.keys()


def test_every_event_is_an_answer_or_comes_from_outside() -> None:
    assert set(get_args(Event)) == UNASKED.union(*ANSWERS.values())


def test_an_effect_is_an_order_or_a_notice() -> None:
    assert set(get_args(Effect)) == set(get_args(Order)) | set(get_args(Notice))
    assert not set(get_args(Order)) & set(get_args(Notice))
    assert not set(get_args(Effect)) & set(get_args(Event))


def test_names_are_unique_since_they_are_written_down() -> None:
    names = [cls.__name__ for cls in get_args(Event) + get_args(Effect)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("order", get_args(Order))
def test_an_answer_carries_the_ticket_of_its_order(order: type[Any]) -> None:
    ticketed = "ticket" in get_type_hints(order)
    assert ticketed is (order is not WakeAt)
    for answer in ANSWERS[order]:
        assert ("ticket" in get_type_hints(answer)) is ticketed


@pytest.mark.parametrize("event", get_args(Event))
def test_every_event_says_when_it_happened(event: type[Any]) -> None:
    first = attrs.fields(event)[0]
    assert (first.name, get_type_hints(event)["at"], first.default) == ("at", int, attrs.NOTHING)


@pytest.mark.parametrize("cls", get_args(Event) + get_args(Effect))
def test_everything_at_the_border_is_a_frozen_slotted_value_with_a_meaning(cls: type[Any]) -> None:
    assert attrs.has(cls)
    assert "__slots__" in vars(cls)
    assert "__dict__" not in dir(cls)
    assert cls.__doc__
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        cls.__setattr__(object.__new__(cls), attrs.fields(cls)[0].name, 1)
