"""Surviving mutants that no test can tell apart, each with its reason: what stands in ``explained.toml``."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import attrs

from .mutants import Mutant

FILE = Path(__file__).with_name("explained.toml")


@attrs.frozen
class Explained:
    """One entry: the mutant's key and why nobody can tell it apart."""

    key: tuple[str, str, str, str, int]
    why: str


def read(path: Path = FILE) -> dict[tuple[str, str, str, str, int], Explained]:
    """The entries by key. Raises ``ValueError`` for one without a reason."""
    found: dict[tuple[str, str, str, str, int], Explained] = {}
    for entry in tomllib.loads(path.read_text()).get("mutant", []):
        key = entry["file"], entry["function"], entry["was"], entry["now"], entry.get("nth", 1)
        if not entry.get("why", "").strip():
            raise ValueError(f"{path.name} gives no reason for {key}")
        found[key] = Explained(key, entry["why"])
    return found


def stale(entries: Iterable[Explained], made: Iterable[Mutant], files: Iterable[str]) -> list[Explained]:
    """Entries for code that is not there any more."""
    keys, looked_at = {mutant.key for mutant in made}, set(files)
    return [entry for entry in entries if entry.key[0] in looked_at and entry.key not in keys]
