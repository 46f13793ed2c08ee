"""A recording folds again to what it was, and the first thing that is not so is named."""

import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from turnfold.adapters.models.scripted import ScriptedModel, call
from turnfold.core.run import Functions, Limits, Rules
from turnfold.core.text import CHINESE
from turnfold.effects.values import replace
from turnfold.shells.host import Host
from turnfold.shells.recording import DamagedLine, NewerFormat, NotARecording, Recorder, decode_header
from turnfold.shells.replay import CutOff, IllegalRecording, NeedsFunctions, Replayed, replay, replay_file

from tests.shells.world import Tool, World


async def record(**options: Any) -> list[bytes]:
    """The lines of a run with one call."""
    world, file = World(), io.BytesIO()
    await world.say("hi")
    await world.run(ScriptedModel([call("echo", {"x": 1}), "done"]), Tool("echo"), trace=Recorder(file), **options)
    return file.getvalue().splitlines(keepends=True)


def rules_of(lines: list[bytes]) -> Rules:
    return decode_header(lines[0]).rules


def edited(lines: list[bytes], event: str, change: Any) -> tuple[list[bytes], int]:
    """The recording with its first line of an event changed, and the number of that line."""
    for place, line in enumerate(lines[1:], 1):
        data = msgspec.json.decode(line)
        if data["event"]["type"] == event:
            change(data)
            return [*lines[:place], msgspec.json.encode(data) + b"\n", *lines[place + 1 :]], place + 1
    raise AssertionError(f"there is no {event} in the recording")


async def test_a_recording_folds_again_to_the_same_effects(tmp_path: Path) -> None:
    lines = await record()
    (tmp_path / "run.jsonl").write_bytes(b"".join(lines))
    for replayed in (replay(lines), replay_file(tmp_path / "run.jsonl")):
        assert replayed.difference is None
        assert replayed.events == len(lines) - 1
        assert replayed.result is not None
        assert replayed.result.text == "done"


async def test_a_recording_that_ends_before_its_run_has_no_result() -> None:
    replayed = replay((await record())[:-3])
    assert (replayed.result, replayed.difference) == (None, None)


async def test_a_recording_that_was_cut_off_replays_up_to_there() -> None:
    lines = await record()
    with pytest.raises(CutOff, match=f"cut off in line {len(lines)}") as caught:
        replay([*lines[:-1], lines[-1][:40]])
    replayed = caught.value.replayed
    assert isinstance(replayed, Replayed)
    assert replayed.events == len(lines) - 2
    with pytest.raises(NotARecording, match="no whole first line"):
        replay([lines[0][:40]])
    with pytest.raises(NotARecording, match="no whole first line"):
        replay([])


async def test_a_member_that_differs_is_named() -> None:
    lines, number = edited(
        await record(), "StepSaved", lambda data: data["effects"][1]["call"].update(status="succeeded")
    )
    difference = replay(lines).difference
    assert difference is not None
    assert str(difference) == (
        f"line {number} (StepSaved): effect 2, SaveCall, differs at $.call.status: "
        'the recording has "succeeded", and now it is "running"'
    )


async def test_a_member_that_only_one_of_them_has_is_named() -> None:
    def change(data: Any) -> None:
        step = next(effect for effect in data["effects"] if effect["type"] == "SaveStep")["step"]
        step["changes"]["blocks"].append("one more")
        del step["usage"]["output"]

    lines, _ = edited(await record(), "ModelStreamed", change)
    difference = replay(lines).difference
    assert difference is not None
    assert (difference.name, difference.member) == ("SaveStep", "$.step.changes.blocks[1]")
    assert (difference.expected, difference.found) == ('"one more"', "nothing")


async def test_an_effect_that_only_one_of_them_has_is_named() -> None:
    lines = await record()
    fewer, _ = edited(lines, "AttemptBegun", lambda data: data["effects"].pop())
    more, _ = edited(lines, "AttemptBegun", lambda data: data["effects"].append({"type": "WakeAt", "at": 1}))
    other, _ = edited(lines, "AttemptBegun", lambda data: data["effects"].__setitem__(0, {"type": "Unheard"}))
    kept = len(msgspec.json.decode(lines[2])["effects"])
    named = [replay(changed).difference.name for changed in (fewer, more, other)]  # type: ignore[union-attr]
    told = [
        (difference.effect, difference.expected, difference.found)
        for difference in (replay(changed).difference for changed in (fewer, more, other))
        if difference is not None
    ]
    assert told[0] == (kept, "nothing", named[0])
    assert named[1:] == ["WakeAt", "Unheard"]
    assert told[1] == (kept + 1, "WakeAt", "nothing")
    assert told[2][:2] == (1, "Unheard")


async def test_only_the_first_difference_counts_and_long_values_are_cut() -> None:
    lines = await record()
    text = "x" * 1_000
    first, number = edited(lines, "StepSaved", lambda data: data["effects"][1]["call"].update(name=text))
    both, _ = edited(first, "CallSaved", lambda data: data["effects"].clear())
    replayed = replay(both)
    assert replayed.difference is not None
    assert replayed.difference.line == number == replayed.events + 1
    assert len(replayed.difference.expected) < 250


async def test_a_recording_can_be_folded_under_another_set_up() -> None:
    lines = await record()
    rules = rules_of(lines)
    assert replay(lines, rules).difference is None
    impatient = replace(rules, spec=replace(rules.spec, limits=Limits(lease_ms=5)))
    difference = replay(lines, impatient).difference
    assert difference is not None
    assert (difference.line, difference.member, difference.found) == (2, "$.lease_ms", "5")


async def test_words_of_the_host_are_part_of_the_set_up() -> None:
    world, file = World(words=CHINESE), io.BytesIO()
    await world.say("hi")
    await world.run(ScriptedModel([call("nothing"), "done"]), trace=Recorder(file))
    lines = file.getvalue().splitlines(keepends=True)
    assert rules_of(lines).words == CHINESE
    assert replay(lines).difference is None


async def test_a_run_with_functions_of_its_host_is_replayed_under_them() -> None:
    def shout(arguments: str) -> str:
        return arguments.upper()

    lines = await record(host=Host(record_names={"echo": shout}))
    with pytest.raises(NeedsFunctions, match="record name of echo"):
        replay(lines)
    rules = replace(rules_of(lines), functions=Functions(record_names={"echo": shout}))
    assert replay(lines, rules).difference is None
    other = replace(rules, functions=Functions(record_names={"echo": str.lower}))
    assert replay(lines, other).difference is not None


async def test_an_event_that_cannot_happen_is_named() -> None:
    lines = await record()
    doubled = [*lines[:3], lines[2], *lines[3:]]
    with pytest.raises(IllegalRecording, match=re.escape("the event in line 4")) as caught:
        replay(doubled)
    assert caught.value.line == 4


async def test_what_is_no_recording_is_refused() -> None:
    lines = await record()
    with pytest.raises(NotARecording):
        replay(lines[1:])
    with pytest.raises(NewerFormat):
        replay([lines[0].replace(b'"recording":1', b'"recording":99'), *lines[1:]])
    with pytest.raises(DamagedLine, match="line 3"):
        replay([*lines[:2], b"{}\n"])
    damaged, number = edited(lines, "StepSaved", lambda data: data["effects"].__setitem__(0, {"escaped": "\\u1"}))
    with pytest.raises(DamagedLine, match=f"line {number}"):
        replay(damaged)
