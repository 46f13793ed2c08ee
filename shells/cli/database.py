"""Which file holds the conversations, and opening it for a command."""

import os
from collections.abc import Mapping
from pathlib import Path

from ...adapters.stores import SqliteStore
from .exits import CliError, ExitCode

__all__ = ["default_path", "open_existing", "open_or_make", "open_to_look"]


def default_path(environ: Mapping[str, str] | None = None) -> Path:
    """``turnfold/turnfold.db`` in the user's data directory (XDG; a relative ``XDG_DATA_HOME`` counts as none)."""
    environ = os.environ if environ is None else environ
    home = Path(environ.get("XDG_DATA_HOME", ""))
    if not home.is_absolute():
        home = Path("~/.local/share").expanduser()
    return home / "turnfold" / "turnfold.db"


def open_to_look(path: str | None) -> SqliteStore:
    """The store of a command that only reads: it makes no file, and needs no right to write into the one there is.

    Raises ``CliError`` or ``StoreError``.
    """
    place = _existing(path)
    return SqliteStore(place, read_only=not (os.access(place, os.W_OK) and os.access(place.parent, os.W_OK)))


def open_existing(path: str | None) -> SqliteStore:
    """The store of a command that changes what is there: it makes no file. Raises ``CliError`` or ``StoreError``."""
    place = _existing(path)
    if not os.access(place, os.W_OK):
        raise CliError(
            f"{place} is read-only, so nothing was changed; make it writable, or use a copy of it", ExitCode.DATABASE
        )
    return SqliteStore(place)


def open_or_make(path: str | None) -> SqliteStore:
    """The store of a command that writes. What it makes, file and default directory, only its owner may read.

    Raises ``CliError`` or ``StoreError``.
    """
    place = _place(path)
    try:
        if not path:
            place.parent.parent.mkdir(parents=True, exist_ok=True)
            place.parent.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise CliError(
            f"cannot write {place} ({error.strerror}); name a file in a folder of your own with --db", ExitCode.DATABASE
        ) from error
    return SqliteStore(place)


def _existing(path: str | None) -> Path:
    place = _place(path)
    if not place.exists():
        raise CliError(
            f"there is no database {place}; name one with --db, or make one with turnfold chat or turnfold demo --keep",
            ExitCode.DATABASE,
        )
    if place.is_file() and not place.stat().st_size:
        raise CliError(
            f"{place} is an empty file, with no runs in it; turnfold chat --db makes a database of it",
            ExitCode.DATABASE,
        )
    return place


def _place(path: str | None) -> Path:
    place = Path(path) if path else default_path()
    if place.is_dir():
        raise CliError(f"{place} is a directory; name a file in it with --db", ExitCode.DATABASE)
    return place
