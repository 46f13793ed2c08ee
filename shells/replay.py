"""Replay: fold a recorded run again, and name the first effect that is not what it was.

Nothing is asked of the world: the events are those of the recording, and what the fold gives for them is compared with
what it gave then, byte for byte. So a change of a rule shows on every run that was ever recorded. Recordings hold user
data, and so may what is said of a difference.
"""

import os
from collections.abc import Iterable
from typing import Any, cast

from ..core.run import Ended, Fold, IllegalEvent, Rules, RunState
from ..effects.codec import DecodeError, dump, encode_effect, load
from ..effects.lifecycle import RunResult
from ..effects.values import UNSET, frozen, replace
from .recording import DamagedLine, Header, Line, NotARecording, RecordingError, decode_header, decode_line, lines_of

__all__ = ["CutOff", "Difference", "IllegalRecording", "NeedsFunctions", "Replayed", "replay", "replay_file"]

_SHOWN = 200
_ABSENT = "nothing"


@frozen
class Difference:
    """The first effect that is not what it was: ``effect`` counts from 1, ``member`` is a path such as ``$.call.rev``.

    ``expected`` is what the recording has there and ``found`` what this release gives, both as JSON (or as the name of
    an effect that only one of them has), cut to some 200 characters.
    """

    line: int
    event: str
    effect: int
    name: str
    member: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"line {self.line} ({self.event}): effect {self.effect}, {self.name}, differs at {self.member}: "
            f"the recording has {self.expected}, and now it is {self.found}"
        )


@frozen
class Replayed:
    """How far a recording was folded again: up to its end, or up to and including the first ``difference``.

    ``result`` is missing when the recording ends before its run did.
    """

    header: Header
    state: RunState
    events: int = 0
    difference: Difference | None = None

    @property
    def result(self) -> RunResult | None:
        """What the run gave back."""
        return self.state.life.result if isinstance(self.state.life, Ended) else None


class CutOff(RecordingError):
    """The recording ends in the middle of a line, as after a crash; ``replayed`` is what the whole lines give."""

    def __init__(self, line: int, replayed: Replayed) -> None:
        super().__init__(f"the recording is cut off in line {line}; the {replayed.events} events before it are whole")
        self.line = line
        self.replayed = replayed


class IllegalRecording(RecordingError):
    """The event of line ``line`` cannot happen where the run is then: the recording, or this release, is wrong."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"the event in line {line} of the recording cannot happen there: {reason}")
        self.line = line


class NeedsFunctions(RecordingError):
    """The run was set up with functions of its host's, which no recording holds: give ``replay`` the host's rules."""


def replay(lines: Iterable[bytes], rules: Rules | None = None) -> Replayed:
    """Fold a recording again, under its own set-up or under ``rules``; ``lines`` are as a binary file gives them.

    Raises ``NotARecording``, ``NewerFormat``, ``DamagedLine``, ``NeedsFunctions``, ``IllegalRecording`` or ``CutOff``.
    """
    numbered = enumerate(lines, 1)
    _, first = next(numbered, (1, b""))
    if not first.endswith(b"\n"):
        raise NotARecording("it has no whole first line")
    header = decode_header(first)
    if rules is None and header.functions:
        names = ", ".join(header.functions)
        raise NeedsFunctions(f"the run was made with functions of its host ({names}): give the rules it was run under")
    fold = Fold(rules or header.rules)
    replayed = Replayed(header, fold.start())
    for number, raw in numbered:
        if not raw.endswith(b"\n"):
            raise CutOff(number, replayed)
        replayed = _fold(fold, replayed, number, decode_line(number, raw))
        if replayed.difference is not None:
            break
    return replayed


def replay_file(path: str | os.PathLike[str], rules: Rules | None = None) -> Replayed:
    """Fold the recording in a file again, as ``replay`` does; raises ``OSError`` when it cannot be read."""
    with open(path, "rb") as file:
        return replay(lines_of(file), rules)


def _fold(fold: Fold, replayed: Replayed, number: int, line: Line) -> Replayed:
    try:
        state, effects = fold.reduce(replayed.state, line.event)
    except IllegalEvent as error:
        raise IllegalRecording(number, str(error)) from error
    difference = None
    found = tuple(map(encode_effect, effects))
    if found != line.effects:
        difference = _difference(number, type(line.event).__name__, line.effects, found)
    return replace(replayed, state=state, events=replayed.events + 1, difference=difference)


def _difference(line: int, event: str, expected: tuple[bytes, ...], found: tuple[bytes, ...]) -> Difference:
    same = 0
    while same < min(len(expected), len(found)) and expected[same] == found[same]:
        same += 1
    try:
        then, now = _effect_at(same, expected), _effect_at(same, found)
    except DecodeError as error:
        raise DamagedLine(line, str(error)) from error
    was, is_now = (str(effect.get("type", _ABSENT)) for effect in (then, now))
    name, member = (is_now if was == _ABSENT else was), "$"
    if was == is_now:
        member, was, is_now = _first_member("$", then, now)
    return Difference(line, event, same + 1, name, member, was, is_now)


def _effect_at(place: int, effects: tuple[bytes, ...]) -> dict[str, Any]:
    return _members(load(effects[place])) if place < len(effects) else {}


def _first_member(path: str, then: Any, now: Any) -> tuple[str, str, str]:
    """The path of the first member that differs, and both its values as JSON."""
    ours, theirs = _members(now), _members(then)
    for name in {**theirs, **ours} if type(then) is type(now) else ():
        one, other = theirs.get(name, UNSET), ours.get(name, UNSET)
        if one != other:
            return _first_member(f"{path}[{name}]" if isinstance(name, int) else f"{path}.{name}", one, other)
    return path, _shown(then), _shown(now)


def _members(value: Any) -> dict[Any, Any]:
    if isinstance(value, list):
        return dict(enumerate(cast("list[Any]", value)))
    return cast("dict[Any, Any]", value) if isinstance(value, dict) else {}


def _shown(value: Any) -> str:
    if value is UNSET:
        return _ABSENT
    text = dump(value).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
