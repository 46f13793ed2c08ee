"""Folders of recordings, and how each file of one is compared: the runner of the conformance tests.

A file is compared by the module of its name, whose ``compare`` takes a case and gives a verdict: equal, different by a
rule of decision 46 (a letter), or unexplained, which none may be. Any folder of that shape will do; of the recordings
in ``fixtures/oracle``, and of the complete ones that they were chosen from, it is also known how many cases differ by
which rule.
"""

import hashlib
import importlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from tests.oracle.verdict import UNEXPLAINED, Verdict

__all__ = ["CHOSEN", "COMPLETE", "SUBJECTS", "Report", "cases", "comparer", "folders", "known", "report", "table"]

SUBJECTS = ("loop", "agent", "arguments", "partial_json", "proxy", "transcript")

CHOSEN = Path(__file__).parents[2] / "fixtures" / "oracle"
"""The recordings of this project."""
COMPLETE = Path(__file__).parents[3] / "shared" / "oracle"
"""Where the complete recordings are compared as well, if somebody keeps them beside the project."""

# How many cases differ by which rule, by the digest of the file: chosen and complete.
_KNOWN: Mapping[str, Mapping[str, int]] = {
    "1086a207a39efbc5 loop": {"a": 2, "b": 1, "c": 1, "d": 2, "e": 1, "f": 1},
    "03ac570cce478d93 loop": {"a": 2, "b": 1, "c": 1, "d": 2, "e": 1, "f": 1},
    "aa90331e30f514a4 agent": {"f": 1, "g": 4},
    "8a227e5366af6e3f agent": {"f": 1, "g": 4},
    "2382e4e6c70ed5ac arguments": {"h": 11},
    "095b0409fb0f07e1 partial_json": {},
    "c6640dd14f4fa7a4 proxy": {},
    "50a6d082cf18322c transcript": {"i": 1},
}

Compare = Callable[[dict[str, Any]], Verdict]


@attrs.frozen
class Report:
    """What the comparison of a file found: how many cases of each kind, and the first difference of the unexplained.

    ``known`` is how many cases differ by which rule, where that is known.
    """

    subject: str
    counted: Mapping[str, int]
    unexplained: Mapping[str, str] = attrs.field(factory=dict)
    known: Mapping[str, int] | None = None

    @property
    def different(self) -> dict[str, int]:
        """How many cases differ, by letter."""
        return {kind: count for kind, count in sorted(self.counted.items()) if len(kind) == 1}

    def __str__(self) -> str:
        letters = ", ".join(f"{count} by {letter}" for letter, count in self.different.items()) or "none different"
        return (
            f"{self.subject + '.json':<18} {sum(self.counted.values()):>5} cases: "
            f"{self.counted.get('equal', 0)} equal, {letters}, {self.counted.get(UNEXPLAINED, 0)} unexplained"
        )


def folders(given: str | None) -> dict[str, Path]:
    """What is compared, by name: the folder that was given and nothing else, or else all that are known of."""
    return {"chosen": CHOSEN, "complete": COMPLETE} if given is None else {"given": Path(given)}


def cases(path: Path) -> list[dict[str, Any]]:
    """The cases of a file."""
    return json.loads(path.read_bytes())["cases"]


def known(subject: str, path: Path) -> Mapping[str, int] | None:
    """How many cases of a file differ by which rule; None for a file that nobody has counted."""
    return _KNOWN.get(f"{hashlib.sha256(path.read_bytes()).hexdigest()[:16]} {subject}")


def comparer(subject: str) -> Compare:
    """How a file is compared."""
    compare: Compare = importlib.import_module(f"tests.oracle.{subject}").compare
    return compare


def report(subject: str, path: Path, compare: Compare) -> Report:
    """Compare every case of a file."""
    verdicts = {case["name"]: _judged(compare, case) for case in cases(path)}
    return Report(
        subject,
        Counter(verdict.kind for verdict in verdicts.values()),
        {name: verdict.why for name, verdict in verdicts.items() if verdict.kind == UNEXPLAINED},
        known(subject, path),
    )


def _judged(compare: Compare, case: dict[str, Any]) -> Verdict:
    """An exception is as unexplained as anything; the other cases are still compared."""
    try:
        return compare(case)
    except Exception as error:
        return Verdict(UNEXPLAINED, f"{type(error).__name__}: {error}")


def table(reports: list[Report]) -> str:
    """What the comparison of a folder found, a line for each file."""
    return "\n".join(map(str, reports))
