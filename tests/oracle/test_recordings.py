"""Every recorded case is equal, or differs by a rule of decision 46."""

from pathlib import Path

import pytest

from tests.oracle.recordings import SUBJECTS, Report, comparer, report


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_recorded_case_is_equal_or_explained(subject: str, recordings: Path, reports: list[Report]) -> None:
    path = recordings / f"{subject}.json"
    if not path.exists():
        pytest.skip(f"the folder has no {path.name}")
    found = report(subject, path, comparer(subject))
    reports.append(found)
    assert found.unexplained == {}
    if found.known is not None:
        assert found.different == found.known


def test_every_file_of_the_folder_is_compared(recordings: Path) -> None:
    assert {path.stem for path in recordings.glob("*.json")} <= set(SUBJECTS)
