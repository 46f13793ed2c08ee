"""No file of the project knows the machine that it was written on."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.rules.tree import ROOT

# Written apart, so that this file is not found itself.
FOLDERS = ["home", "work", "Users", "root", "mnt", "tmp/dev"]
ABSOLUTE = re.compile(rb"(?<![\w./~-])/(" + "|".join(FOLDERS).encode() + rb")/[\w.-]")


def files() -> Iterator[Path]:
    """The files of the project: tracked, or new and not ignored; without git, all but hidden folders and caches."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = (
            subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60).stdout.decode().split("\0")
        )
        yield from (ROOT / name for name in names if name and (ROOT / name).is_file())
        return
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and "__pycache__" not in parts and not any(part.startswith(".") for part in parts[:-1]):
            yield path


def test_no_file_names_a_folder_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in files()
        for match in ABSOLUTE.finditer(path.read_bytes())
    ]
    assert found == []


def test_such_a_folder_would_be_found() -> None:
    for folder in FOLDERS:
        for before in (b"", b" ", b"'", b"(", b"file:"):
            assert ABSOLUTE.search(before + b"/" + folder.encode() + b"/me"), (before, folder)
    for harmless in (b"https://example.org/" + b"home/page", b"a/" + b"work/b", b"~/" + b"work/c", b"/" + b"work"):
        assert not ABSOLUTE.search(harmless), harmless


def test_the_files_of_the_project_are_looked_at() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {"README.md", "effects/values.py", "tests/rules/test_paths.py"} <= names
