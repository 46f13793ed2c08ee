"""``turnfold demo``: a run that is killed in the middle of a payment, and what becomes of it.

Three real processes carry out one run, each of them ``turnfold resume``. The first is killed with SIGKILL while a tool
with side effects and a harmless one are running; the second goes on from what the first had saved, until the run needs
a decision and an answer from outside. ``demo_person`` gives both, and the third process goes on with them.
``demo_agent`` is who runs, ``demo_report`` tells what happened and checks that it is what should have.
"""

import contextlib
import secrets
import shutil
import signal
import sys
import tempfile
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import trio

from ...adapters.stores import SqliteStore, StoreError, UnknownRun
from ...effects.feed import InputMessage
from ...effects.outcome import Delivered
from ...effects.values import replace
from .database import open_existing, open_or_make
from .demo_agent import FAST, QUESTION, USUAL, Pace, clear_up, read_witness, witness_of
from .demo_person import answer_as_a_person
from .demo_processes import now, relay, start
from .demo_report import Evidence, Execution, closing, problems, timeline
from .exits import CliError, ExitCode
from .hints import on_database, typed
from .screen import Screen
from .style import folded, wrapped

__all__ = ["run"]

PATIENCE_S = 30.0
"""How long each process may take before the demonstration gives up, in seconds."""

LINGER_S = 0.25
"""How long the tools run before the kill, in seconds."""


def run(arguments: Namespace) -> int:
    """Run the demonstration; 0 only if everything happened as it should. Raises what ``errors`` explains."""
    kept = arguments.keep or bool(arguments.db)
    run_id = f"demo-{secrets.token_hex(3)}"
    with _place(arguments) as path:
        try:
            return trio.run(_demo, path, run_id, FAST if arguments.fast else USUAL, kept)
        except BaseException:
            if kept:
                trio.run(_say_how_to_go_on, path, run_id)
            raise


@contextmanager
def _place(arguments: Namespace) -> Generator[str]:
    """The database: the one that was named, or one in a temporary directory that goes unless it is to be kept."""
    if arguments.db:
        yield arguments.db
        return
    directory = tempfile.mkdtemp(prefix="turnfold-demo-")
    try:
        yield str(Path(directory) / "demo.db")
    finally:
        if not arguments.keep:
            shutil.rmtree(directory, ignore_errors=True)


async def _say_how_to_go_on(path: str, run_id: str) -> None:
    """What was interrupted can be resumed like any other run, and keeps what its tools have noted until then."""
    with contextlib.suppress(CliError, StoreError), open_existing(path) as store:
        summary = await store.run(run_id)
        if summary is not None and not isinstance(summary.outcome, Delivered):
            on_database(path)
            print(f"turnfold: the run is kept, and goes on with: {typed('resume', run_id, '--wait')}", file=sys.stderr)


async def _demo(path: str, run_id: str, pace: Pace, kept: bool) -> int:
    screen = Screen(sys.stdout)
    with open_or_make(path) as store:
        await store.create_run(run_id, run_id, {"kind": "demo", "pace": pace.name})
        await store.append(run_id, InputMessage(QUESTION))
    started_at = now()
    title, width = screen.style.bold("A run that survives its process."), min(screen.style.width, 80)
    for line in folded(f"{title} Everything happens here: no network, no key.", width):
        screen.line(line)
    for line in wrapped(f"Somebody asks: {QUESTION}", width):
        screen.line(line)
    witness = witness_of(Path(path), run_id)
    first = await _process(screen, 1, run_id, path, kill_after=witness)
    with open_existing(path) as store:
        left = await store.run(run_id)
    second = await _process(screen, 2, run_id, path)
    acts = await answer_as_a_person(screen, path, run_id)
    third = await _process(screen, 3, run_id, path)
    with open_existing(path) as store:
        evidence = await _gather(store, run_id, (first, second, third), started_at, witness)
        evidence = replace(evidence, acts=acts, lease_until=left and left.lease_until)
    if evidence.summary.outcome is not None:
        clear_up(evidence.summary, path)
    for line in timeline(evidence, screen.style):
        screen.line(line)
    wrong = problems(evidence)
    for line in closing(evidence, wrong, path if kept else None, screen.style):
        screen.line(line)
    return ExitCode.FAILED if wrong else ExitCode.OK


async def _gather(
    store: SqliteStore, run_id: str, executions: tuple[Execution, ...], started_at: int, witness: Path
) -> Evidence:
    summary, resume = await store.run(run_id), await store.load(run_id)
    if summary is None or resume is None:
        raise UnknownRun(run_id)
    unconsumed = await store.feed(run_id).pending(0)
    return Evidence(started_at, summary, resume, executions, tuple(read_witness(witness)), unconsumed == 0)


async def _process(screen: Screen, number: int, run_id: str, path: str, kill_after: Path | None = None) -> Execution:
    """Carry the run out in a process of its own, to its end or until it is killed in the middle of its work."""
    at = now()
    process = await start("resume", run_id, "--db", path, "--wait", "--watched")
    screen.line()
    screen.line(screen.style.bold(f"process {number}") + screen.style.dim(f" (pid {process.pid})"))
    try:
        with trio.fail_after(PATIENCE_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(relay, screen, process, path)
                if kill_after is not None:
                    await _kill_at_work(process, kill_after)
                await process.wait()
    except* trio.TooSlowError as error:
        raise CliError(
            f"process {number} was not done after {PATIENCE_S:g} s; run it again", ExitCode.FAILED
        ) from error
    finally:
        with trio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.wait()
    ended_at = now()
    if process.returncode == -signal.SIGKILL:
        killed = f"{screen.style.bad('killed with SIGKILL')}: nothing could be saved, said or cleaned up"
        for line in folded(killed, min(screen.style.width, 80) - 2):
            screen.line(f"  {line}")
    return Execution(number, process.pid, at, ended_at, process.returncode)


async def _kill_at_work(process: trio.Process, witness: Path) -> None:
    """Kill the process once both tools of its batch have taken effect."""
    while process.poll() is None:
        if {"charge", "write_report"} <= {sight.tool for sight in read_witness(witness)}:
            await trio.sleep(LINGER_S)
            process.kill()
            return
        await trio.sleep(0.01)
