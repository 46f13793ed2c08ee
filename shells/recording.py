"""Recordings: one execution of a run as lines of JSON, from which ``replay`` folds it again without the world.

The first line is the header: the format, the release that wrote it, and the set-up of the run as data. Each further
line is one event with the effects that the fold gave for it. A model request is its length and digest; all else is
written out, so **a recording holds user data**: messages, arguments and results of tools, what a journal had stored.
It is made readable for its owner only, and should be kept and thrown away like the conversation itself.

Read ``Recorder`` first; then how a header and a line are written and read, and what a recording may have instead.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, BinaryIO, Self

import attrs
import msgspec

from ..core.run import Functions, Rules, RunSpec, SpecError, rules_for
from ..core.text import CHINESE, ENGLISH, Language, WordError, Words, words_for
from ..effects.codec import DecodeError, decode_event, dump, encode_effect, encode_event, from_data, load, to_data
from ..effects.lifecycle import RunEnded
from ..effects.values import frozen
from ..effects.vocabulary import Effect, Event
from .host import SchemaCheck

__all__ = [
    "FORMAT", "MAX_LINE", "DamagedLine", "Header", "Line", "NewerFormat", "NotARecording", "Recorder", "RecordingError",
    "decode_header", "decode_line", "encode_header", "encode_line", "lines_of",
]  # fmt: skip

FORMAT = 1
"""The format that this release writes, and the newest it reads."""

MAX_LINE = 64 * 1024 * 1024
"""How long a line may be, in bytes. A longer one ends the recording, when it is made and when it is read."""

_log = logging.getLogger(__name__)


class Recorder:
    """Records one execution: give it to ``Runtime.run`` as ``trace``.

    ``target`` is a path, whose file must not exist yet, or a binary file, which stays open. Each event is written and
    flushed, on the loop's own thread, before its effects are carried out. A recorder never breaks its run: when a line
    cannot be written the recording ends there, ``problem`` says why, and ``report`` is told (by default it is logged).
    Raises ``OSError`` when the file cannot be made.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        *,
        max_line: int = MAX_LINE,
        report: Callable[[str], None] = _log.error,
    ) -> None:
        self.problem: str | None = None
        self._owned = isinstance(target, str | os.PathLike)
        self._file = _new_file(target) if isinstance(target, str | os.PathLike) else target
        self._max_line = max_line
        self._report = report
        self._begun = False

    def begin(self, rules: Rules) -> None:
        """Write the header. ``Runtime.run`` does this; whoever drives a fold does it before the first event."""
        if self._begun:
            self._give_up("it holds an execution already: use another recorder for the next one")
        self._begun = True
        self._write(lambda: encode_header(rules))

    def __call__(self, event: Event, effects: tuple[Effect, ...]) -> None:
        """Write one event with its effects."""
        if not self._begun:
            self._give_up("it was not begun, so nobody could tell under which set-up it was made")
        self._write(lambda: encode_line(event, effects))
        if effects and isinstance(effects[-1], RunEnded):
            self.close()

    def close(self) -> None:
        """Close the file if this recorder made it; nothing is written after that."""
        if self._owned:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, encoded: Callable[[], bytes]) -> None:
        if self.problem is not None:
            return
        try:
            line = encoded()
            if len(line) > self._max_line:
                self._give_up(f"a line of {len(line)} bytes is longer than the {self._max_line} that it may have")
                return
            self._file.write(line + b"\n")
            self._file.flush()
        except Exception as error:
            self._give_up(f"{type(error).__name__}: {error}")

    def _give_up(self, problem: str) -> None:
        if self.problem is None:
            self.problem = f"the recording ends here, and its run goes on: {problem}"
            self._report(self.problem)


def _new_file(path: str | os.PathLike[str]) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


class RecordingError(ValueError):
    """A recording that cannot be replayed as it is."""


class NotARecording(RecordingError):
    """It does not begin with the header of a recording."""


class NewerFormat(RecordingError):
    """A later release wrote it, in a format (``found``) that this one does not know (up to ``known``)."""

    def __init__(self, found: int) -> None:
        super().__init__(f"the recording has format {found}, this release reads up to {FORMAT}: use a later release")
        self.found = found
        self.known = FORMAT


class DamagedLine(RecordingError):
    """Line ``line`` is not one that a recorder writes."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line} of the recording cannot be read: {reason}")
        self.line = line


@frozen
class Header:
    """What a recording says of itself: the release that wrote it, and the set-up, without the host's functions.

    ``functions`` names the host's functions and extensions it was made with: these cannot be recorded, so such a run
    is replayed under the host's own set-up.
    """

    version: str
    rules: Rules
    functions: tuple[str, ...] = ()


@frozen
class Line:
    """One event, and the effects that were given for it, as they were written."""

    event: Event
    effects: tuple[bytes, ...]


@frozen
class _Header:
    """The header as it is written; its first member tells that it is one."""

    recording: int
    turnfold: str
    spec: RunSpec
    language: Language
    words: Mapping[str, str] = {}
    checks: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


def encode_header(rules: Rules) -> bytes:
    """The header of a recording made under these rules, without its line end."""
    language, words = _overrides(rules.words)
    checks = tuple(name for name, check in rules.functions.checks.items() if isinstance(check, SchemaCheck))
    return dump(to_data(_Header(FORMAT, _version(), rules.spec, language, words, checks, _functions(rules))))


def _functions(rules: Rules) -> tuple[str, ...]:
    functions = rules.functions
    named = [f"record name of {tool}" for tool in sorted(functions.record_names)]
    named += [f"check of {tool}" for tool, check in functions.checks.items() if not isinstance(check, SchemaCheck)]
    named += [what for what in ("fallback", "cost") if getattr(functions, what) is not None]
    return (*named, *(f"extension {extension.name}" for extension in rules.extensions))


def decode_header(raw: bytes) -> Header:
    """The header in a recording's first line; raises ``NotARecording`` or ``NewerFormat``."""
    try:
        data = from_data(load(raw), Mapping[str, Any])
        if type(data.get("recording")) is not int:
            raise NotARecording("it does not begin with the header of a recording")
        if data["recording"] > FORMAT:
            raise NewerFormat(data["recording"])
        written = from_data(data, _Header)
        return Header(
            written.turnfold,
            rules_for(written.spec, words_for(written.language, written.words), _checks(written)),
            written.functions,
        )
    except (DecodeError, WordError, SpecError) as error:
        raise NotARecording(f"it does not begin with the header of a recording: {error}") from error


def _checks(written: _Header) -> Functions:
    """A check by a tool's schema is no function of the host's: it can be made anew."""
    tools = {tool.name: tool for tool in written.spec.tools}
    return Functions(checks={name: SchemaCheck(tools[name]) for name in written.checks if name in tools})


def encode_line(event: Event, effects: tuple[Effect, ...]) -> bytes:
    """One line, without its end."""
    return b'{"event":%b,"effects":[%b]}' % (encode_event(event), b",".join(map(encode_effect, effects)))


@frozen
class _RawLine:
    event: msgspec.Raw
    effects: tuple[msgspec.Raw, ...]


_raw_line = msgspec.json.Decoder(_RawLine)


def decode_line(number: int, raw: bytes) -> Line:
    """The line in the JSON, its effects as they were written; raises ``DamagedLine``."""
    try:
        line = _raw_line.decode(raw)
        return Line(decode_event(bytes(line.event)), tuple(map(bytes, line.effects)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, DecodeError) as error:
        raise DamagedLine(number, str(error)) from error


def lines_of(file: BinaryIO, max_line: int = MAX_LINE) -> Iterator[bytes]:
    """The lines of a recording, ends included; raises ``DamagedLine`` instead of reading an endless one."""
    number = 0
    while line := file.readline(max_line + 1):
        number += 1
        if len(line) > max_line and not line.endswith(b"\n"):
            raise DamagedLine(number, f"it is longer than {max_line} bytes")
        yield line


def _overrides(words: Words) -> tuple[Language, Mapping[str, str]]:
    """The language whose catalogue is nearest, and where the words differ from it."""
    ours = attrs.asdict(words)
    found: list[tuple[Language, dict[str, str]]] = []
    for language, catalogue in ((Language.ENGLISH, ENGLISH), (Language.CHINESE, CHINESE)):
        theirs = attrs.asdict(catalogue)
        found.append((language, {name: text for name, text in ours.items() if text != theirs[name]}))
    return min(found, key=lambda one: len(one[1]))


def _version() -> str:
    try:
        return version("turnfold")
    except PackageNotFoundError:
        return "unknown"
