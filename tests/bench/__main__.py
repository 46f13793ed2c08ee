"""Print what turnfold costs, one JSON object a line; every measurement is a process of its own.

``python -m tests.bench`` runs everything; ``python -m tests.bench steps 1000 sqlite`` one cell. Figures are the best of
a few repetitions, since a shared machine only ever adds to them. What is here is about durable runs; ``agent`` has the
in-memory agent's share.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import trio
from turnfold.adapters.stores.memory import MemoryStore
from turnfold.adapters.stores.sqlite import SqliteStore
from turnfold.core.run import Limits
from turnfold.effects.display import DisplayDelta, text_bytes
from turnfold.effects.feed import InputMessage
from turnfold.shells.runtime import Runtime

from . import agent
from .world import CountingJournal, Echo, StepModel, TextModel

MANY = Limits(iterations=1_000_000)
CELLS: list[tuple[str, int, str]] = [
    *(("steps", n, kind) for kind in ("memory", "sqlite") for n in (10, 100, 1000)),
    ("deltas", 20_000, "memory"),
    ("resume", 800, "sqlite"),
    ("concurrent", 1000, "memory"),
    *agent.CELLS,
]


def store_of(kind: str, folder: str) -> MemoryStore | SqliteStore:
    return MemoryStore() if kind == "memory" else SqliteStore(os.path.join(folder, "bench.db"))


async def steps(n: int, kind: str) -> dict[str, Any]:
    """n steps of one model call with one trivial tool call each: time, logical bytes, growth, events and effects."""
    best: dict[str, Any] = {}
    for _ in range(3 if n >= 1000 else 10):
        with tempfile.TemporaryDirectory() as folder:
            store = store_of(kind, folder)
            await store.append("c", InputMessage("go"))
            counts = [0, 0]
            journal = CountingJournal(store.journal("r"))
            arguments: dict[str, Any] = {"feed": store.feed("c"), "tools": [Echo()], "limits": MANY}
            await store.append("counted", InputMessage("go"))
            counted = {**arguments, "feed": store.feed("counted")}
            await Runtime().run("counted", model=StepModel(n), journal=journal, trace=_counting(counts), **counted)
            started = time.perf_counter()
            await Runtime().run("r", model=StepModel(n), journal=store.journal("timed"), **arguments)
            elapsed = time.perf_counter() - started
            figures = {
                "ms_per_step": round(elapsed / n * 1000, 4),
                "logical_bytes_per_step": round(journal.bytes / n),
                "writes_per_step": round(journal.writes / n, 3),
                "events_per_step": round(counts[0] / n, 3),
                "effects_per_step": round(counts[1] / n, 3),
            }
            store.close()
            if kind == "sqlite":
                figures["database_bytes_per_step"] = round(_size(folder) / (2 * n))
            if not best or figures["ms_per_step"] < best["ms_per_step"]:
                best = figures
    return best


async def deltas(n: int, kind: str) -> dict[str, Any]:
    """One answer of n text deltas, from the model port to the display deltas of a viewer."""
    best = 0.0
    for _ in range(5):
        store = MemoryStore()
        await store.append("c", InputMessage("go"))
        shown: list[DisplayDelta] = []
        started = time.perf_counter()
        await Runtime().run(
            "r", model=TextModel(n), feed=store.feed("c"), journal=store.journal("r"), stream=shown.append
        )
        best = max(best, n / (time.perf_counter() - started))
        assert sum(text_bytes(delta) for delta in shown) == n * 5
    return {"deltas_per_second": round(best)}


async def resume(n: int, kind: str) -> dict[str, Any]:
    """Load a delivered run of n steps from a fresh connection, and give its outcome again."""
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        store = store_of(kind, folder)
        await store.append("c", InputMessage("go"))
        setup: dict[str, Any] = {"tools": [Echo()], "limits": MANY}
        await Runtime().run("r", model=StepModel(n), feed=store.feed("c"), journal=store.journal("r"), **setup)
        store.close()
        for _ in range(10):
            store = store_of(kind, folder)
            started = time.perf_counter()
            result = await Runtime().run(
                "r", model=StepModel(0), feed=store.feed("c"), journal=store.journal("r"), **setup
            )
            best = min(best, time.perf_counter() - started)
            assert result.text == "done"
            store.close()
    return {"ms": round(best * 1000, 2)}


async def concurrent(n: int, kind: str) -> dict[str, Any]:
    """n runs of 3 steps at once in one process."""
    store = MemoryStore()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    texts: list[str] = []

    async def one(number: int) -> None:
        name = f"r{number}"
        await store.append(name, InputMessage("go"))
        result = await Runtime().run(
            name, model=StepModel(3), feed=store.feed(name), journal=store.journal(name), tools=[Echo()]
        )
        texts.append(result.text)

    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for number in range(n):
            nursery.start_soon(one, number)
    elapsed = time.perf_counter() - started
    assert texts == ["done"] * n
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": round(elapsed, 3),
        "peak_mb": round(peak / 1024, 1),
        "added_mb": round((peak - before) / 1024, 1),
        "vendor_sdk_imported": bool({"openai", "anthropic"} & sys.modules.keys()),
    }


def _counting(counts: list[int]) -> Callable[..., None]:
    def trace(event: object, effects: tuple[object, ...]) -> None:
        counts[0] += 1
        counts[1] += len(effects)

    return trace


def _size(folder: str) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())


WORKLOADS = {"steps": steps, "deltas": deltas, "resume": resume, "concurrent": concurrent, **agent.WORKLOADS}


def main(arguments: list[str]) -> int:
    if arguments:
        workload, n, kind = arguments[0], int(arguments[1]), arguments[2]
        figures = trio.run(WORKLOADS[workload], n, kind)
        print(json.dumps({"workload": workload, "n": n, "kind": kind, **figures}), flush=True)
        return 0
    for workload, n, kind in CELLS:
        done = subprocess.run([sys.executable, "-m", "tests.bench", workload, str(n), kind], check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
