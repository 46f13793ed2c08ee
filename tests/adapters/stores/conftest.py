"""Where the databases of these tests lie: in memory, if the machine can, since hundreds of files wait for a disk."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder for databases."""
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="turnfold-", dir=_MEMORY) as name:
        yield Path(name)
