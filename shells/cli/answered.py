"""What is to be done after a call was answered, for ``decide`` and ``settle`` alike."""

from ...adapters.stores import SqliteStore
from .execution import holder_of
from .hints import typed
from .style import clean
from .todo import is_ours

__all__ = ["how_to_go_on"]


async def how_to_go_on(store: SqliteStore, run_id: str) -> str:
    """On one line, what the run still waits for, or how it goes on."""
    summary, name = await store.run(run_id), clean(run_id)
    if summary is not None and summary.waiting:
        calls = "another call" if summary.waiting == 1 else f"{summary.waiting} other calls"
        return f"the run {name} still waits for {calls}; {typed('waiting')} lists them"
    holder, ours = holder_of(summary), summary is None or is_ours(summary)
    if holder is not None and not holder.gone:
        return f"{holder}; when it is done, " + (typed("resume", name) if ours else "resume the run")
    if not ours:
        return f"the run {name} can go on: resume it with the program that made it"
    return f"the run {name} can go on: {typed('resume', name)}"
