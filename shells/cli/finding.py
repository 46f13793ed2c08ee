"""Finding a run by its id, or by as much of the beginning as no other run has."""

from ...adapters.stores import RunSummary, Store, UnknownRun
from .exits import CliError
from .style import clean

__all__ = ["find_run"]

_MOST = 1000
"""How many runs a store lists at once; where there are more, nobody can say that a beginning is unambiguous."""

_SHOWN = 3


async def find_run(store: Store, beginning: str) -> RunSummary:
    """The run with this id, or the only one whose id begins so.

    Raises ``UnknownRun``, and ``CliError`` where the beginning does not tell.
    """
    exact = await store.run(beginning)
    if exact is not None:
        return exact
    listed = await store.runs(_MOST) if beginning else ()
    found = [summary for summary in listed if summary.run_id.startswith(beginning)]
    if not found:
        raise UnknownRun(beginning)
    if len(found) > 1:
        names = [clean(summary.run_id) for summary in found[:_SHOWN]] + ["…"] * (len(found) > _SHOWN)
        raise CliError(
            f"more than one run has an id that begins with {beginning!r}: {', '.join(names)}; say more of it"
        )
    if len(listed) == _MOST:
        raise CliError(f"there are too many runs to find one by a beginning such as {beginning!r}; give its whole id")
    return found[0]
