"""Lines from a descriptor: whole, in order, and the last one too."""

import os
from pathlib import Path

from turnfold.shells.cli.keyboard import LineReader


async def lines_of(descriptor: int) -> list[str]:
    reader = LineReader(descriptor)
    found: list[str] = []
    while (line := await reader.line()) is not None:
        found.append(line)
    assert await reader.line() is None
    return found


async def test_lines_come_whole_from_a_pipe_and_the_last_one_needs_no_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, "one\n\nzwei äöü\r\nthree".encode())
    os.close(writing)
    assert await lines_of(reading) == ["one", "", "zwei äöü", "three"]
    os.close(reading)


async def test_a_file_is_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"one\ntw\xffo\n")
    file = os.open(tmp_path / "lines", os.O_RDONLY)
    assert await lines_of(file) == ["one", "tw\ufffdo"]
    os.close(file)


async def test_nothing_is_nothing() -> None:
    file = os.open(os.devnull, os.O_RDONLY)
    assert await lines_of(file) == []
    os.close(file)


async def test_a_reader_knows_whether_more_was_typed() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo\n \n")
    reader = LineReader(reading)
    assert await reader.line() == "one"
    assert reader.has_more
    assert await reader.line() == "two"
    assert not reader.has_more
    os.close(writing)
    os.close(reading)
