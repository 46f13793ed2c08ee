"""``turnfold cancel``: end a run, whoever is at it, and whatever it was made by."""

from argparse import Namespace

import trio

from ...adapters.stores import RunSummary
from ...effects.outcome import Completed, Delivered, Failed, FailureKind, Outcome
from ..runtime import Runtime
from .database import open_existing
from .demo_agent import clear_up
from .execution import exit_code, holder_of
from .exits import CliError, ExitCode
from .finding import find_run
from .hints import typed
from .report import outcome_text, state_of
from .style import clean

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Cancel one run. Raises what ``errors`` explains."""
    return trio.run(_cancel, arguments)


async def _cancel(arguments: Namespace) -> int:
    with open_existing(arguments.db) as store:
        before = await find_run(store, arguments.run_id)
        run_id = before.run_id
        if _is_over(before):
            clear_up(before, arguments.db)
            print(f"there is nothing to cancel: the run {clean(run_id)} is over ({state_of(before)})")
            return ExitCode.OK
        holder = holder_of(before)
        result = await Runtime().cancel(run_id, store.journal(run_id), arguments.reason)
        after = await store.run(run_id)
    clear_up(before, arguments.db)
    if not _was_cancelled(result.outcome):
        text = outcome_text(result.outcome)
        raise CliError(f"the run {run_id} could not be cancelled ({text}); try again", exit_code(result.outcome))
    taken = f", and was taken from process {holder.pid}" if holder and holder.pid and not holder.gone else ""
    print(f"the run {clean(run_id)} is cancelled{taken}")
    left = after.needs_review + after.outstanding + after.waiting if after else 0
    if left:
        wait = "waits" if left == 1 else "wait"
        print(f"{left} of its calls still {wait} for somebody; {typed('waiting')} lists them")
    return ExitCode.OK


def _is_over(summary: RunSummary) -> bool:
    return summary.lease_until is None and isinstance(summary.outcome, Delivered | Completed | Failed)


def _was_cancelled(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.CANCELLED
