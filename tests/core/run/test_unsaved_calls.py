"""Journals that refuse, lose or mistake the record of a call: nothing starts, and what runs is stopped."""

from turnfold.effects.journal import CallRefused, CallSaved, JournalFailed, SaveCall
from turnfold.effects.outcome import Failed, FailureKind
from turnfold.effects.tool import (
    CancelTool,
    RunTool,
    ToolCutOff,
)
from turnfold.effects.values import replace

from tests.core.run.test_calls import save, started


def test_a_refused_call_ends_the_run_and_starts_nothing() -> None:
    """Only submissions and pauses may be refused."""
    run = started("echo")
    run.tell(CallRefused(run.now, run.take(SaveCall).ticket, "not on a Sunday"))
    outcome = run.to_the_end().outcome
    assert outcome == Failed(FailureKind.JOURNAL, "the journal refused to save a call: not on a Sunday", boundary=1)
    assert not any(isinstance(effect, RunTool) for effect in run.asked)


def test_a_failed_write_stops_the_calls_that_run_beside_it() -> None:
    run = started("echo", "other")
    first, second = run.take(SaveCall), run.take(SaveCall)
    save(run, first)
    tool = run.take(RunTool)
    run.tell(JournalFailed(run.now, second.ticket, "disk full"))
    assert run.take(CancelTool).ticket == tool.ticket
    run.tell(ToolCutOff(run.now, tool.ticket))
    result = run.to_the_end()
    assert [record.status for record in result.calls] == ["interrupted", "running"]
    assert run.orders == []


def test_a_write_beside_one_that_failed_is_answered_before_the_run_ends() -> None:
    """N-18"""
    run = started("echo", "other")
    first, second = run.take(SaveCall), run.take(SaveCall)
    run.tell(JournalFailed(run.now, first.ticket, "disk full"))
    save(run, second)
    result = run.to_the_end()
    assert [(record.name, record.status) for record in result.calls] == [("echo", "running"), ("other", "interrupted")]


def test_an_answer_for_another_call_breaks_the_journals_contract() -> None:
    run = started("echo")
    write = run.take(SaveCall)
    run.tell(CallSaved(run.now, write.ticket, replace(write.call, id="another")))
    outcome = run.to_the_end().outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CONTRACT_BREACH
    assert not run.waits_for(RunTool)
