"""``turnfold runs``: what is in a database, the latest first."""

import sys
from argparse import Namespace

import trio

from ...adapters.stores import RunSummary
from .database import open_to_look
from .report import json_text, state_of, summary_data
from .style import clean, date_time, style_for
from .table import table

__all__ = ["run"]

_HEADINGS = ("RUN", "STATE", "ATTEMPTS", "UPDATED", "CONVERSATION")


def run(arguments: Namespace) -> int:
    """Print the runs. Raises what ``errors`` explains."""
    return trio.run(_list, arguments)


async def _list(arguments: Namespace) -> int:
    with open_to_look(arguments.db) as store:
        found = await store.runs(arguments.limit)
    if arguments.json:
        print(json_text([summary_data(summary) for summary in found]))
    elif not found:
        print("no runs yet: turnfold chat or turnfold demo --keep makes one")
    else:
        for line in table(_HEADINGS, [*map(_row, found)], style_for(sys.stdout)):
            print(line)
    return 0


def _row(summary: RunSummary) -> tuple[str, str, str, str, str]:
    return (
        clean(summary.run_id),
        state_of(summary),
        str(summary.attempt),
        date_time(summary.updated_at),
        clean(summary.conversation) or "-",
    )
