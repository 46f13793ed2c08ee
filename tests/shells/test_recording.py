"""A recorder writes everything down, and never breaks its run; what it wrote reads back as it was."""

import io
import logging
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from turnfold.adapters.models.scripted import ScriptedModel, call, raw
from turnfold.core.run import Functions, Limits, RunSpec, SpecError, rules_for
from turnfold.core.text import CHINESE, ENGLISH, words_for
from turnfold.effects.codec import encode_effect
from turnfold.effects.model import BlockDelta, StreamFinished
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ToolDeclaration
from turnfold.effects.vocabulary import Effect, Event
from turnfold.shells.recording import (
    FORMAT,
    DamagedLine,
    NewerFormat,
    NotARecording,
    Recorder,
    decode_header,
    decode_line,
    encode_header,
    encode_line,
    lines_of,
)

from tests.shells.world import Tool, World
from tests.strategies import EFFECTS, EVENTS, FEW, TEXTS, WILD_TEXTS, values

RULES = rules_for(RunSpec("run", instruction="Be brief."))


async def test_a_run_is_recorded_from_its_first_event_to_its_last(tmp_path: Path) -> None:
    world, path = World(), tmp_path / "run.jsonl"
    await world.say("hi")
    seen: list[str] = []
    recorder = Recorder(path)
    result = await world.run(ScriptedModel([call("echo"), "done"]), Tool("echo"), trace=recorder)
    header, *lines = path.read_bytes().splitlines()
    assert decode_header(header).rules.spec.tools == (ToolSpec(ToolDeclaration("echo")),)
    for number, line in enumerate(lines, 2):
        seen.append(type(decode_line(number, line).event).__name__)
    assert (seen[0], seen[-1]) == ("RunStarted", "AttemptEnded")
    assert b'"type":"RunEnded"' in decode_line(1, lines[-1]).effects[-1]
    assert recorder.problem is None
    assert result.text == "done"


def test_only_its_owner_may_read_a_recording(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.jsonl"):
        assert stat.S_IMODE(os.stat(tmp_path / "run.jsonl").st_mode) == 0o600


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("precious")
    with pytest.raises(FileExistsError):
        Recorder(tmp_path / "run.jsonl")
    assert (tmp_path / "run.jsonl").read_text() == "precious"


class FullDisk(io.BytesIO):
    """A disk with room for some bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def write(self, data: Any) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError("no space left on device")
        return super().write(data)


@pytest.mark.parametrize("room", [0, 1_000, 5_000])
async def test_a_full_disk_ends_the_recording_and_not_the_run(room: int) -> None:
    world, disk = World(), FullDisk(room)
    await world.say("hi")
    reports: list[str] = []
    recorder = Recorder(disk, report=reports.append)
    result = await world.run(ScriptedModel([call("echo"), "done"]), Tool("echo"), trace=recorder)
    assert result.text == "done"
    assert reports == [recorder.problem] != [None]
    assert "no space left on device" in reports[0]
    assert disk.getvalue().count(b"\n") == len(disk.getvalue().splitlines())


async def test_a_line_may_not_be_longer_than_its_bound() -> None:
    world, file = World(), io.BytesIO()
    await world.say("hi" * 2_000)
    recorder = Recorder(file, max_line=4_000, report=lambda problem: None)
    assert (await world.run(ScriptedModel(["done"]), trace=recorder)).text == "done"
    assert "longer than the 4000 that it may have" in (recorder.problem or "")
    assert max(map(len, file.getvalue().splitlines())) <= 4_000


def test_a_problem_is_logged_unless_somebody_else_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        Recorder(FullDisk(0)).begin(RULES)
    assert "the recording ends here, and its run goes on: OSError: no space left" in caplog.text


def test_a_recorder_is_for_one_execution() -> None:
    file, reports = io.BytesIO(), list[str]()
    recorder = Recorder(file, report=reports.append)
    recorder.begin(RULES)
    recorder.begin(RULES)
    assert len(file.getvalue().splitlines()) == 1
    assert "use another recorder" in reports[0]


@given(EVENTS)
def test_an_event_before_the_header_is_not_written(event: Event) -> None:
    file, reports = io.BytesIO(), list[str]()
    recorder = Recorder(file, report=reports.append)
    recorder(event, ())
    assert file.getvalue() == b""
    assert "was not begun" in reports[0]


@FEW
@given(EVENTS, st.lists(EFFECTS, max_size=3).map(tuple))
def test_a_line_reads_back_as_it_was(event: Event, effects: tuple[Effect, ...]) -> None:
    raw_line = encode_line(event, effects)
    assert b"\n" not in raw_line
    line = decode_line(2, raw_line)
    assert line.event == event
    assert line.effects == tuple(map(encode_effect, effects))


@FEW
@given(
    values(RunSpec).filter(lambda spec: spec.run_id != ""),
    st.sampled_from([ENGLISH, CHINESE]),
    st.dictionaries(st.sampled_from(["interrupted", "needs_review", "final_notice"]), TEXTS),
)
def test_a_header_reads_back_as_it_was(spec: RunSpec, words: Any, overrides: dict[str, str]) -> None:
    language = "zh" if words is CHINESE else "en"
    try:
        rules = rules_for(spec, words_for(language, {name: text.replace("{", "") for name, text in overrides.items()}))
    except SpecError:
        reject()
    header = decode_header(encode_header(rules))
    assert (header.rules, header.functions) == (rules, ())


def test_a_header_tells_the_release_and_whose_functions_are_needed() -> None:
    spec = RunSpec("run", tools=(ToolSpec(ToolDeclaration("bash")),), limits=Limits(iterations=3))
    header = decode_header(encode_header(rules_for(spec, functions=Functions(record_names={"bash": str.upper}))))
    assert header.version
    assert header.functions == ("record name of bash",)
    assert header.rules == rules_for(spec)


@given(WILD_TEXTS)
def test_a_set_up_with_halves_of_surrogate_pairs_can_be_recorded(text: str) -> None:
    """decision 45"""
    assert decode_header(encode_header(rules_for(RunSpec("run", text)))).rules.spec.instruction == text


async def test_halves_of_surrogate_pairs_do_not_break_a_recording() -> None:
    """decision 45"""
    world, file = World(), io.BytesIO()
    await world.say("hi")
    recorder = Recorder(file)
    pieces = [BlockDelta(0, "\ud83d"), BlockDelta(0, "\ude00 and "), BlockDelta(0, "\ud83d")]
    result = await world.run(ScriptedModel([raw(*pieces, StreamFinished())]), trace=recorder)
    assert recorder.problem is None
    assert result.text == "😀 and \ufffd"
    assert rb"\\ud83d" in file.getvalue()


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b'{"recording":true}',
        b'{"recording":1}',
        b'{"recording":1,"turnfold":"0","spec":{"run_id":""},"language":"en"}',
        b'{"recording":1,"turnfold":"0","spec":{"run_id":"r"},"language":"en","words":{"hello":"you"}}',
        b'{"recording":1,"turnfold":"0","spec":{"run_id":"r"},"language":"tlh"}',
        b'{"recording":1,"turnfold":"0","spec":{"run_id":"r","tools":[{}]},"language":"en"}',
        b'{"escaped":{"recording":"\\\\u1"}}',
    ],
)
def test_what_does_not_begin_as_a_recording_is_refused(header: bytes) -> None:
    with pytest.raises(NotARecording, match="does not begin with the header"):
        decode_header(header)


def test_a_later_format_is_refused_by_name() -> None:
    with pytest.raises(NewerFormat, match=f"has format {FORMAT + 1}, this release reads up to {FORMAT}") as caught:
        decode_header(b'{"recording":%d,"whatever":1}' % (FORMAT + 1))
    assert (caught.value.found, caught.value.known) == (FORMAT + 1, FORMAT)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"1",
        b"{}",
        b'{"event":{},"effects":[]}',
        b'{"event":{"type":"Woke","at":1}}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_damaged_line_is_named(line: bytes) -> None:
    with pytest.raises(DamagedLine, match="line 7 of the recording") as caught:
        decode_line(7, line)
    assert caught.value.line == 7


def test_lines_are_read_with_their_ends_and_within_bounds() -> None:
    assert list(lines_of(io.BytesIO(b"one\ntwo\nthr"))) == [b"one\n", b"two\n", b"thr"]
    assert list(lines_of(io.BytesIO(b"one\nfour\n"), max_line=4)) == [b"one\n", b"four\n"]
    with pytest.raises(DamagedLine, match=r"line 2 .* longer than 4 bytes"):
        list(lines_of(io.BytesIO(b"one\nfives\n"), max_line=4))
    with pytest.raises(DamagedLine, match="line 1"):
        list(lines_of(io.BytesIO(b"x" * 1_000), max_line=4))
