"""What a person types: whole lines, and Ctrl-C. Nothing here blocks the event loop or holds a lock at exit.

Standard input is read straight from its file descriptor. A terminal in its usual mode hands over whole lines and cuts
one that is longer than it can hold; such a line is refused rather than sent in half.
"""

import errno
import os
import select
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

import trio

__all__ = ["MAX_TERMINAL_LINE", "Interrupts", "LineReader", "LineTooLongError"]

MAX_TERMINAL_LINE = 4095
"""How many bytes of a line the terminal of Linux keeps; the line break comes on top."""

_CHUNK = 65536


class LineTooLongError(ValueError):
    """The terminal cut a line."""


class LineReader:
    """Lines from a file descriptor, for as long as there are any."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._terminal = os.isatty(descriptor)
        self._buffer = b""
        self._ended = False

    @property
    def has_more(self) -> bool:
        """Whether more was read than was handed out."""
        return bool(self._buffer.strip())

    async def line(self) -> str | None:
        """The next line without its end, or nothing at the end of the input. Raises ``LineTooLongError``.

        On a terminal, lines that arrive together were pasted, and are one text; a command always stands alone.
        """
        raw = await self._raw_line()
        if raw is None:
            return None
        lines = [raw]
        while self._terminal and not _is_command(lines[-1]) and self._ready():
            more = await self._raw_line()
            if more is None or _is_command(more):
                self._buffer = b"" if more is None else more + b"\n" + self._buffer
                break
            lines.append(more)
        if self._terminal and any(len(line) >= MAX_TERMINAL_LINE for line in lines):
            raise LineTooLongError
        return b"\n".join(lines).decode("utf-8", "replace").strip("\r\n")

    async def _raw_line(self) -> bytes | None:
        while b"\n" not in self._buffer and not self._ended:
            chunk = await self._read()
            # Ctrl-D after some text hands the text over; the next one, on an empty line, is the end.
            self._ended = not chunk
            self._buffer += chunk
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    async def _read(self) -> bytes:
        try:
            await trio.lowlevel.wait_readable(self._descriptor)
        except OSError:
            # An ordinary file cannot be waited for; reading it does not wait either.
            return await trio.to_thread.run_sync(self._read_now, abandon_on_cancel=True)
        return self._read_now()

    def _read_now(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError as error:
            if error.errno == errno.EIO:  # the terminal is gone
                return b""
            raise

    def _ready(self) -> bool:
        return b"\n" in self._buffer or bool(select.select([self._descriptor], [], [], 0)[0])


def _is_command(line: bytes) -> bool:
    return line.startswith(b"/")


class Interrupts:
    """Ctrl-C as something to ask about: the first one within a turn stops the turn, any other one says to leave."""

    def __init__(self) -> None:
        self.leaving = False
        self.on_stop: Callable[[], None] | None = None
        """Told when a turn begins to stop, which may take a moment."""
        self._turn: trio.CancelScope | None = None
        self._waiting: trio.CancelScope | None = None

    async def listen(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take Ctrl-C over until cancelled; needs the main thread."""
        with trio.open_signal_receiver(signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                self._pressed()

    @contextmanager
    def turn(self) -> Generator[trio.CancelScope]:
        """A piece of work that the first Ctrl-C cancels and a second one leaves."""
        with trio.CancelScope() as scope:
            self._turn = scope
            try:
                yield scope
            finally:
                self._turn = None

    @contextmanager
    def waiting(self) -> Generator[trio.CancelScope]:
        """A wait, for a person or a lease, that Ctrl-C leaves."""
        with trio.CancelScope() as scope:
            self._waiting = scope
            if self.leaving:
                scope.cancel()
            try:
                yield scope
            finally:
                self._waiting = None

    def _pressed(self) -> None:
        if self._turn is not None and not self._turn.cancel_called:
            self._turn.cancel()
            if self.on_stop is not None:
                self.on_stop()
            return
        self.leaving = True
        if self._waiting is not None:
            self._waiting.cancel()
