"""Every recorded case is equal, or differs by a rule of decision 46; no kind of case is missing from ours."""

import re
from pathlib import Path

import pytest

from tests.oracle.kinds import kinds
from tests.oracle.recordings import CHOSEN, COMPLETE, SUBJECTS, Report, cases, comparer, known, report


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_recorded_case_is_equal_or_explained(
    subject: str, recordings: Path, reports: dict[Path, list[Report]]
) -> None:
    path = recordings / f"{subject}.json"
    if not path.exists():
        pytest.skip(f"the folder has no {path.name}")
    found = report(subject, path, comparer(subject))
    reports.setdefault(recordings, []).append(found)
    assert found.unexplained == {}
    if found.known is not None:
        assert found.different == found.known


def test_every_file_of_the_folder_is_compared(recordings: Path) -> None:
    assert {path.stem for path in recordings.glob("*.json")} <= set(SUBJECTS)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_recordings_of_this_project_are_those_that_were_counted(subject: str) -> None:
    """A recording that is changed by hand would otherwise be compared without its counts."""
    assert known(subject, CHOSEN / f"{subject}.json") is not None


def test_their_readme_says_how_many_there_are_and_how_many_differ() -> None:
    text = (CHOSEN / "README.md").read_text()
    rows = re.findall(r"^\| `(\w+)\.json` \|.*\| (\d+)(?: of \d+)? \| (.*) \|$", text, re.MULTILINE)
    said = {subject: (int(count), letters) for subject, count, letters in rows}
    assert said == {subject: counted(subject) for subject in SUBJECTS}


def counted(subject: str) -> tuple[int, str]:
    path = CHOSEN / f"{subject}.json"
    letters = ", ".join(f"{count} by {letter}" for letter, count in (known(subject, path) or {}).items())
    return len(cases(path)), letters or "none"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_kind_of_case_was_left_out_when_they_were_chosen(subject: str) -> None:
    path = COMPLETE / f"{subject}.json"
    if not path.is_file() or known(subject, path) is None:
        pytest.skip("the complete recordings that they were chosen from are not beside this project")
    chosen, complete = cases(CHOSEN / path.name), cases(path)
    assert [case for case in chosen if case not in complete] == []
    assert frozenset[str]().union(*map(kinds, complete)) - frozenset[str]().union(*map(kinds, chosen)) == set()
