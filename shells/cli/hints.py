"""What to type next, complete: on the database that this command was given, so that it can be pasted as it is."""

import shlex
from contextvars import ContextVar

from .style import clean

__all__ = ["on_database", "typed"]

_DATABASE: ContextVar[str] = ContextVar("database", default="")


def on_database(path: str | None) -> None:
    """From now on, hints name this database; none if the command was given none."""
    _DATABASE.set(path or "")


def typed(*words: str) -> str:
    """A command as somebody types it: ``turnfold``, the words, and ``--db`` where this command has it."""
    path = _DATABASE.get()
    return " ".join(("turnfold", *words, *(("--db", clean(shlex.quote(path))) if path else ())))
