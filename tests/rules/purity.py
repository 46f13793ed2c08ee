"""``pure()``: while it is entered, this thread may not touch the world.

Python reports to audit hooks what reaches outside: files, sockets, processes, databases, loading a module. (Clocks and
random numbers are not reported; that core cannot even name them is for ``test_imports``.) A hook cannot be taken off,
so there is one, and it only listens where a thread is armed. What it may let pass is listed, so that an event nobody
thought of is caught.

    with pure():
        state, effects = fold.reduce(state, event)
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["ImpureError", "pure"]

# What computing alone reports: attribute tricks, and code that attrs and cattrs make on first use.
HARMLESS = frozenset(
    [
        "builtins.id",
        "code.__new__",
        "compile",
        "exec",
        "function.__new__",
        "object.__delattr__",
        "object.__getattr__",
        "object.__setattr__",
        "sys._getframe",
        "sys._getframemodulename",
    ]
)


class ImpureError(AssertionError):
    """Code that must be pure reached outside."""


class _Armed(threading.local):
    found: list[str] | None = None


_armed = _Armed()
_installed = False


@contextmanager
def pure() -> Iterator[None]:
    """Arm the hook for this thread. Raises ``ImpureError`` on the spot, and again on leaving if that was swallowed."""
    _install()
    outer, found = _armed.found, list[str]()
    _armed.found = found
    try:
        yield
    finally:
        _armed.found = outer
    if found:
        raise ImpureError(f"touched the world: {'; '.join(found)}")


def _install() -> None:
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    found = _armed.found
    if found is None or event in HARMLESS:
        return
    # Describing the arguments may itself be reported.
    _armed.found = None
    try:
        found.append(f"{event}{arguments!r}"[:200])
    finally:
        _armed.found = found
    raise ImpureError(f"touched the world: {found[-1]}")
