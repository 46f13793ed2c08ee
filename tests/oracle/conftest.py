"""Which recordings are compared, and a line for each of their files at the end of the run."""

from pathlib import Path

import pytest

from tests.oracle.recordings import COMPLETE, Report, folders, table

_reports = pytest.StashKey[dict[Path, list[Report]]]()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recordings" in metafunc.fixturenames:
        found = folders(metafunc.config.getoption("--oracle"))
        metafunc.parametrize("recordings", found.values(), ids=found, indirect=True, scope="session")


@pytest.fixture(scope="session")
def recordings(request: pytest.FixtureRequest) -> Path:
    """A folder of recordings. Only the complete ones may be absent, and their tests are skipped then."""
    folder: Path = request.param
    if not folder.is_dir():
        if folder == COMPLETE:
            pytest.skip("the complete recordings are not beside this project")
        pytest.fail(f"there are no recordings in {folder}")
    return folder


@pytest.fixture(scope="session")
def reports(pytestconfig: pytest.Config) -> dict[Path, list[Report]]:
    """What was found in each folder, to be told at the end."""
    return pytestconfig.stash.setdefault(_reports, {})


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
    for folder, found in config.stash.get(_reports, {}).items():
        terminalreporter.section(f"recordings in {folder}")
        terminalreporter.write_line(table(found))
