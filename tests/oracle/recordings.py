"""A folder of recordings, and how each file of it is compared: the runner of the conformance tests.

A file is compared by the module of its name, whose ``compare`` takes a case and gives a verdict: equal, different by a
rule of decision 46 (a letter), or unexplained, which none may be. Any folder of that shape will do; of the published
recordings it is also known how many cases differ by which rule.
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

__all__ = ["SUBJECTS", "Report", "comparer", "report", "table"]

SUBJECTS = ("loop", "agent", "arguments", "partial_json", "proxy", "transcript")

# The published files, and how many of their cases differ by which rule.
PUBLISHED: Mapping[str, Mapping[str, int]] = {
    "03ac570cce478d93 loop": {"a": 2, "b": 1, "c": 1, "d": 2, "e": 1, "f": 1},
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


def comparer(subject: str) -> Compare:
    """How a file is compared."""
    compare: Compare = importlib.import_module(f"tests.oracle.{subject}").compare
    return compare


def report(subject: str, path: Path, compare: Compare) -> Report:
    """Compare every case of a file."""
    raw = path.read_bytes()
    verdicts = {case["name"]: _judged(compare, case) for case in json.loads(raw)["cases"]}
    return Report(
        subject,
        Counter(verdict.kind for verdict in verdicts.values()),
        {name: verdict.why for name, verdict in verdicts.items() if verdict.kind == UNEXPLAINED},
        PUBLISHED.get(f"{hashlib.sha256(raw).hexdigest()[:16]} {subject}"),
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
