"""Where the recordings are, and a line for each of their files at the end of the run."""

from pathlib import Path

import pytest

from tests.oracle.recordings import Report, table

_reports = pytest.StashKey[list[Report]]()


@pytest.fixture(scope="session")
def recordings(pytestconfig: pytest.Config) -> Path:
    """The folder of the recordings; tests that need it are skipped where there is none."""
    folder = pytestconfig.getoption("--oracle")
    if folder is None:
        pytest.skip("there are no recordings beside this project; name their folder with --oracle")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"--oracle: there is no folder {path}")
    return path


@pytest.fixture(scope="session")
def reports(pytestconfig: pytest.Config) -> list[Report]:
    """What was found, to be told at the end."""
    return pytestconfig.stash.setdefault(_reports, [])


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
    found = config.stash.get(_reports, [])
    if found:
        terminalreporter.section("recordings")
        terminalreporter.write_line(table(found))
