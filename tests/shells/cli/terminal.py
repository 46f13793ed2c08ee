"""A person at a terminal: types when something has appeared, while ``main`` runs in this very process."""

import os
import pty
import re
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from typing import TextIO

import pytest
from turnfold.shells.cli import main

PATIENCE_S = 10.0
CTRL_C = signal.SIGINT
CTRL_D = "\x04"

Act = str | signal.Signals | Callable[[], None] | None
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Person(threading.Thread):
    """Follows a script of (what must appear next, colours aside, and what to do then)."""

    def __init__(self, descriptor: int, script: Sequence[tuple[str, Act]]) -> None:
        super().__init__(daemon=True)
        self.seen = ""
        self.stuck_at: str | None = None
        self.over = threading.Event()
        self._descriptor = descriptor
        self._script = script
        self._place = 0

    def run(self) -> None:
        for expected, act in self._script:
            if not self._wait_for(expected):
                self.stuck_at = expected
                self._give_up()
                break
            self._do(act)
        while self._read():
            pass

    def _give_up(self) -> None:
        """Press Ctrl-C until the command has ended."""
        while not self.over.wait(0.2):
            os.kill(os.getpid(), signal.SIGINT)

    def _wait_for(self, expected: str) -> bool:
        while (found := _ESCAPE.sub("", self.seen).find(expected, self._place)) < 0:
            if not self._read():
                return False
        self._place = found + len(expected)
        return True

    def _read(self) -> bool:
        if not select.select([self._descriptor], [], [], PATIENCE_S)[0]:
            return False
        try:
            chunk = os.read(self._descriptor, 65536)
        except OSError:
            return False
        self.seen += chunk.decode("utf-8", "replace")
        return bool(chunk)

    def _do(self, act: Act) -> None:
        if isinstance(act, signal.Signals):
            os.kill(os.getpid(), act)
        elif callable(act):
            act()
        elif act is not None:
            os.write(self._descriptor, act.encode())


def at_terminal(
    monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], script: Sequence[tuple[str, Act]], width: int = 80
) -> tuple[int, str]:
    """The exit code of a command and all that a person saw who followed the script, escapes included."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, width))
    person = Person(master, script)
    with open(slave, encoding="utf-8") as reading, open(slave, "w", encoding="utf-8", closefd=False) as writing:
        with monkeypatch.context() as patch:
            for name, stream in (("stdin", reading), ("stdout", writing), ("stderr", writing)):
                patch.setattr(sys, name, stream)
            person.start()
            code = main(arguments)
            person.over.set()
        writing.flush()
    person.join(PATIENCE_S)
    os.close(master)
    assert person.stuck_at is None, f"waited in vain for {person.stuck_at!r} in:\n{person.seen}"
    return code, person.seen.replace("\r\n", "\n")


def plain(seen: str) -> str:
    """What stands on the screen: without colours, and of a line that was written over only the last version."""
    lines = seen.replace("\r\x1b[2K", "\x00").split("\n")
    return "\n".join(_ESCAPE.sub("", line.rpartition("\x00")[2]) for line in lines)


def shown(terminal: TextIO, master: int) -> str:
    """What was written to a terminal so far. It may arrive in pieces, so that its end is marked."""
    terminal.write("\0")
    terminal.flush()
    seen = b""
    while not seen.endswith(b"\0"):
        seen += os.read(master, 65536)
    return seen[:-1].decode().replace("\r\n", "\n")
