"""Explore generated worlds and say how many a second: ``python -m tests.simulation.explore [WORLDS] [--seed TEXT]``.

Without more said these are 20 000 worlds, the same every time, on every processor there is; give a number for more, and
a seed for others. The first broken promise ends it, with the plainest world that was found. ``.ci/run`` runs this.
"""

import argparse
import hashlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator

from turnfold.shells.simulate import PromiseBroken, run_schedule, shrink

from tests.simulation.worlds import SIZE, case

WORLDS = 20_000
CHUNK = 250

Job = tuple[str, int, int]
"""Seed, and from which world to which."""


def jobs(seed: str, worlds: int) -> Iterator[Job]:
    """All of them, in portions."""
    for first in range(0, worlds, CHUNK):
        yield seed, first, min(first + CHUNK, worlds)


def tape(seed: str, number: int) -> bytes:
    """The string of bytes that a world is read off: made from its number alone, whoever runs it."""
    return hashlib.shake_128(f"{seed} {number}".encode()).digest(SIZE)


def explore(job: Job) -> tuple[int, str]:
    """How many events happened in some worlds, and the story of the first promise that was broken, if any was."""
    seed, first, end = job
    events = 0
    for number in range(first, end):
        one = case(tape(seed, number))
        try:
            events += len(run_schedule(one.scenario, one.schedule).trace)
        except PromiseBroken:
            told = shrink(one.scenario, one.schedule)
            return events, f"world {number} of seed {seed!r}\n{told}\nwhat happens instead: {list(told.names)}"
    return events, ""


def main(arguments: list[str] | None = None) -> int:
    """Explore, print what was explored, and say whether every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.explore", description=__doc__)
    parser.add_argument("worlds", type=int, nargs="?", default=WORLDS)
    parser.add_argument("--seed", default="turnfold")
    given = parser.parse_args(arguments)
    began, events = time.monotonic(), 0
    workers = os.cpu_count() or 1
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for happened, story in pool.imap(explore, jobs(given.seed, given.worlds)):
            if story:
                print(story)
                return 1
            events += happened
    seconds = time.monotonic() - began
    each = events // max(given.worlds, 1)
    print(f"{given.worlds} worlds of {each} events: {given.worlds / seconds:.0f} per second on {workers} processors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
