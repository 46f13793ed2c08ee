"""The ``turnfold`` command: the only place that names concrete adapters.

Read ``arguments`` first (what can be said), then a module a command: ``demo``, ``chat``, ``runs``, ``show`` and
``resume``; ``waiting``, ``decide`` and ``settle`` for calls that wait for somebody; ``cancel``; ``vendors``, ``models``
and ``probe`` for what there is to ask. ``conversation`` and ``execution`` carry runs out for them, ``render`` and
``screen`` show that, ``environment`` and ``keys`` say what of the environment counts, and ``errors`` turns whatever
goes wrong into one line and an exit code. ``main`` is all that others call.
"""

import contextlib
import importlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from .arguments import parse
from .exits import ExitCode

__all__ = ["ExitCode", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code (see ``ExitCode``), whatever happens."""
    _be_lenient()
    debug = "--debug" in (sys.argv[1:] if argv is None else argv)
    try:
        arguments = parse(argv)
        # Below what looks at the arguments, everything may take long to import.
        from .hints import on_database

        on_database(getattr(arguments, "db", None))
        command: Callable[..., int] = importlib.import_module(f".{arguments.command}", __name__).run
        code = command(arguments)
        sys.stdout.flush()
        return int(code)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ExitCode.OK)
    except BaseException as error:
        if debug:
            traceback.print_exc()
        return _explain(error)


def _explain(error: BaseException) -> int:
    # What it needs takes long to import, and only an error needs it.
    from .errors import explained

    text, code = explained(error)
    if code is ExitCode.BROKEN_PIPE:
        # Nobody reads us any more; without this the interpreter would complain about it when it ends.
        with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    elif text:
        with contextlib.suppress(OSError):
            print(f"turnfold: {text}", file=sys.stderr)
    return int(code)


def _be_lenient() -> None:
    """A closed stream counts as an empty one, and a terminal that lacks a character gets a question mark."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (for as long as we run)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
