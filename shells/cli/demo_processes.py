"""The processes of the demonstration: how each is started, and what it says."""

import os
import shlex
import subprocess
import sys
import time

import trio

from .screen import Screen
from .style import wrapped

__all__ = ["now", "relay", "start"]


async def start(*arguments: str) -> trio.Process:
    """This very command, in a process of its own."""
    return await trio.lowlevel.open_process(
        [sys.executable, "-m", __package__ or "", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )


async def relay(screen: Screen, process: trio.Process, path: str) -> None:
    """Show what the process says, line by line; that it works on the database in ``path`` goes without saying."""
    if process.stdout is None:
        return
    database = f" --db {shlex.quote(path)}"
    buffer = b""
    async for chunk in process.stdout:
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            for piece in wrapped(
                line.decode("utf-8", "replace").replace(database, ""), min(screen.style.width, 80) - 4
            ):
                screen.line(screen.style.dim("  │ ") + piece)


def now() -> int:
    """Now, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
