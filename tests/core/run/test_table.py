"""The table of moves is reviewed like code: it stands in ARCHITECTURE.md, line by line as it is printed."""

from turnfold.core.run import table
from turnfold.core.run.moves import ANSWERS, MOVES

from tests.rules.tree import ROOT

JOURNAL = {"BeginAttempt", "RenewLease", "EndAttempt", "SaveStep", "SaveCall"}
QUESTIONS = {"AskPolicy", "AskReconcile", "AskGuard"}


def test_the_table_stands_in_the_architecture_as_it_is_printed() -> None:
    written = (ROOT / "ARCHITECTURE.md").read_text().splitlines()
    first = written.index(table().splitlines()[0])
    printed = table().splitlines()
    assert written[first : first + len(printed)] == printed


def test_the_printed_table_has_a_part_for_each_region_and_says_what_is_tolerated() -> None:
    lines = table().splitlines()
    assert [line.strip("*") for line in lines if line.startswith("**")] == list(MOVES)
    assert lines[:4] == ["**life**", "", "| event | in phase | what it does |", "|---|---|---|"]
    assert "| CancelAsked | Closing, Ended | tolerated – nothing: the run is ending |" in lines
    assert "| CancelAsked | Recovering, Opening, Working | close as cancelled |" in lines
    assert lines[lines.index("**lease**") - 1] == ""


def test_what_each_answer_may_answer() -> None:
    found = {event.__name__: {order.__name__ for order in orders} for event, orders in ANSWERS.items()}
    assert found == {
        "AttemptBegun": {"BeginAttempt"},
        "AttemptRefused": {"BeginAttempt"},
        "AttemptStale": JOURNAL,
        "AttemptEnded": {"EndAttempt"},
        "LeaseRenewed": {"RenewLease"},
        "StepSaved": {"SaveStep"},
        "CallSaved": {"SaveCall"},
        "CallRefused": {"SaveCall"},
        "JournalFailed": JOURNAL,
        "FeedWatched": {"WatchFeed"},
        "InputSignalled": {"WatchFeed"},
        "FeedPolled": {"PollFeed"},
        "InputClaimed": {"ClaimInput"},
        "FeedFailed": {"WatchFeed", "PollFeed", "ClaimInput"},
        "ModelStreamed": {"CallModel"},
        "ModelCutOff": {"CallModel"},
        "ModelBroke": {"CallModel"},
        "ToolProgressed": {"RunTool"},
        "ToolReturned": {"RunTool"},
        "ToolFailed": {"RunTool"},
        "ToolCutOff": {"RunTool"},
        "ToolControlled": {"RunTool"},
        "PolicyGiven": {"AskPolicy"},
        "Reconciled": {"AskReconcile"},
        "VerdictGiven": {"AskGuard"},
        "QuestionFailed": QUESTIONS,
        "QuestionCutOff": QUESTIONS,
    }
