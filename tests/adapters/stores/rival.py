"""A process of its own that uses a store: started by ``test_processes``, waits for a line, works, reports as JSON."""

import json
import sys
from itertools import count

import trio
from turnfold.adapters.stores import SqliteStore
from turnfold.effects.feed import InputMessage
from turnfold.effects.journal import LogChange, RunBusy, StaleAttempt, Step
from turnfold.effects.record import ToolCall


async def begin(store: SqliteStore, _: str) -> object:
    """Whether this process got the run."""
    try:
        return (await store.journal("r").begin(60_000)).attempt
    except RunBusy:
        return "busy"


async def write_much(store: SqliteStore, name: str) -> object:
    """Messages into one conversation of all, calls and steps into a run of one's own."""
    journal = store.journal(name)
    attempt = (await journal.begin(60_000)).attempt
    told: list[int] = []
    for number in range(40):
        told.append((await store.append("talk", InputMessage(f"{name}-{number}")))[0])
        await journal.save_call(attempt, ToolCall(f"{number:02}", "running", 1))
        await journal.save_step(attempt, Step(b"%d" % number, {"main": LogChange(number, (b"%d" % number,))}))
    return told


async def write_until_stale(store: SqliteStore, _: str) -> object:
    """How many calls were accepted before somebody took the run over."""
    journal = store.journal("r")
    attempt = (await journal.begin(60_000)).attempt
    for number in count():
        try:
            await journal.save_call(attempt, ToolCall(f"{number:06}", "running", 1))
        except StaleAttempt:
            return number
        if number == 50:
            print("going", flush=True)
    return None


async def write_for_ever(store: SqliteStore, _: str) -> object:
    """Steps whose state says how long their log must be, until killed."""
    journal = store.journal("r")
    attempt = (await journal.begin(60_000)).attempt
    for number in count():
        logs = {"main": LogChange(number, (b"x" * 500,))}
        await journal.save_step(attempt, Step(b"%d" % (number + 1), logs, {"count": b"%d" % (number + 1)}))
        if number == 50:
            print("going", flush=True)
    return None


async def append(store: SqliteStore, text: str) -> object:
    """One message."""
    return (await store.append("talk", InputMessage(text)))[0]


async def main(path: str, work: str, argument: str) -> None:
    """Open, work, report."""
    with SqliteStore(path) as store:
        print(json.dumps(await globals()[work](store, argument)), flush=True)


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    trio.run(main, *sys.argv[1:])
