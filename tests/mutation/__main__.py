"""``python -m tests.mutation``: change the code of the fold in every small way, and see whether the tests notice.

Prints the surviving mutants and the score, and exits with 1 if it is below the minimum. The score is the share of
mutants that some test tells apart, among those that can be told apart: what is explained does not count.
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from . import explained
from .mutants import ROOT, Mutant, Source
from .trial import Trial, Verdict, run

FILES = [
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "core/run").glob("*.py")),
    "effects/journal.py",
    "effects/spending.py",
]

FUNCTIONS = {"effects/journal.py": ("merge_call", "overlay_external")}
"""Where only these functions are under trial."""

TESTS = [
    "tests/core/run",
    "tests/effects/test_journal.py",
    "tests/effects/test_journal_properties.py",
    "tests/effects/test_spending.py",
    "tests/shells/run_cases",
    "tests/shells/test_runtime.py",
    "tests/shells/test_runtime_calls.py",
    "tests/shells/test_runtime_input.py",
    "tests/shells/test_runtime_recovery.py",
    "tests/shells/test_runtime_stores.py",
    "tests/shells/test_policies.py",
    "tests/shells/test_handed_in.py",
    "tests/simulation/test_stories.py",
    "tests/mutation/sample.py",
]


def arguments(given: list[str]) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="only this file or function; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the mutants and try none")
    parser.add_argument("--sample", type=int, metavar="N", help="try only so many, the same ones every time")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many to try at a time (2)")
    parser.add_argument("--minimum", type=float, default=90, metavar="PERCENT", help="the least good score (90)")
    parser.add_argument("--budget", type=float, default=8, metavar="SECONDS", help="of tests for one mutant (8)")
    return parser.parse_args(given)


def chosen(only: list[str] | None, sample: int | None) -> tuple[list[Mutant], list[Mutant]]:
    """All mutants that are made, and those of them that are to be tried."""
    made = [
        mutant
        for file in FILES
        for mutant in Source.of(file).mutants()
        if mutant.function in FUNCTIONS.get(file, (mutant.function,))
    ]
    wanted = [mutant for mutant in made if only is None or any(_is_of(mutant, name) for name in only)]
    if sample is not None and sample < len(wanted):
        places = sorted(random.Random(0).sample(range(len(wanted)), sample))
        wanted = [wanted[place] for place in places]
    return made, wanted


def _is_of(mutant: Mutant, name: str) -> bool:
    path = Path(mutant.file)
    return name in (mutant.file, path.name, path.stem, mutant.function, f"{path.stem}.{mutant.function}")


def main(given: list[str]) -> int:
    """Try the mutants and tell what became of them."""
    asked = arguments(given)
    made, wanted = chosen(asked.only, asked.sample)
    if asked.list:
        print(*wanted, f"{len(wanted)} mutants", sep="\n")
        return 0
    began = time.monotonic()
    trial = Trial(wanted, asked.jobs, asked.budget)
    run(trial, [path for path in TESTS if (ROOT / path).exists()])
    if not trial.tests:
        print("no test could be run")
        return 1
    return tell(trial, made, asked.minimum, time.monotonic() - began)


def tell(trial: Trial, made: list[Mutant], minimum: float, seconds: float) -> int:
    """Print the surviving mutants and the score; 1 if it is too low."""
    entries = explained.read()
    alive = [verdict for verdict in trial.verdicts if not verdict.killed]
    open_ = [verdict for verdict in alive if verdict.mutant.key not in entries]
    for verdict in sorted(open_, key=lambda one: (one.mutant.file, one.mutant.line)):
        nth = f" ({verdict.mutant.nth})" if verdict.mutant.nth > 1 else ""
        print(f"{verdict.mutant}{nth} [{verdict.how}]")
    for entry in explained.stale(entries.values(), made, FILES):
        print(f"explained, but there is no such mutant any more: {entry.key}")
    for verdict in trial.verdicts:
        if verdict.killed and verdict.mutant.key in entries:
            print(f"explained, but {verdict.how} tells it apart: {verdict.mutant}")
    for file, (tried, left) in by_file(trial.verdicts, open_).items():
        print(f"{file}: {left} of {tried} survive")
    counted = len(trial.verdicts) - (len(alive) - len(open_))
    score = 100 * (counted - len(open_)) / counted if counted else 100.0
    print(
        f"{len(trial.verdicts)} mutants, {len(trial.verdicts) - len(alive)} told apart, "
        f"{len(alive) - len(open_)} explained, {len(open_)} survive; {seconds:.0f} s; score {score:.1f} %"
    )
    return 0 if score >= minimum else 1


def by_file(verdicts: list[Verdict], alive: list[Verdict]) -> dict[str, tuple[int, int]]:
    """How many were tried of each file, and how many of those survive unexplained."""
    tried = Counter(verdict.mutant.file for verdict in verdicts)
    left = Counter(verdict.mutant.file for verdict in alive)
    return {file: (tried[file], left[file]) for file in sorted(tried)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
