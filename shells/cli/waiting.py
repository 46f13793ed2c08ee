"""``turnfold waiting``: what somebody has to decide, settle or look into, over all runs.

Arguments are shown here, other than by ``show``: who decides must see on what.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator

import trio

from ...adapters.stores import WaitingCall
from ...effects.record import Wait
from .database import open_to_look
from .hints import typed
from .report import arguments_text, json_text, waiting_data
from .style import Style, clean, date_time, shortened, style_for

__all__ = ["run"]

_LONG = 400


def run(arguments: Namespace) -> int:
    """Print the calls that wait. Raises what ``errors`` explains."""
    return trio.run(_list, arguments)


async def _list(arguments: Namespace) -> int:
    with open_to_look(arguments.db) as store:
        found = await store.waiting(arguments.limit, arguments.conversation)
    if arguments.json:
        print(json_text([waiting_data(waiting) for waiting in found]))
        return 0
    style = style_for(sys.stdout)
    for line in _lines(found, style, full=len(found) == arguments.limit):
        print(line)
    return 0


def _lines(found: tuple[WaitingCall, ...], style: Style, *, full: bool) -> Iterator[str]:
    if not found:
        yield "no call waits for anybody"
        return
    for waiting in found:
        yield from _one(waiting, style)
    yield ""
    if full:
        yield style.dim("there may be more: --limit shows them")
    kinds = {waiting.kind for waiting in found}
    if Wait.DECISION in kinds:
        yield style.dim(f"{typed('decide', 'CALL', '--approve')}  (or --reject, --arguments, --result)")
    if kinds - {Wait.DECISION}:
        yield style.dim(f"{typed('settle', 'CALL', '--result', 'TEXT')}  (or --error)")


def _one(waiting: WaitingCall, style: Style) -> Iterator[str]:
    call = waiting.call
    room = style.width if style.moves else _LONG
    given = shortened(f"{call.name}({arguments_text(call.arguments, _LONG)})", room - 13)
    yield f"{style.warn(_word(waiting).ljust(11))}  {given}"
    yield f"  call  {clean(call.id)}"
    yield f"  run   {clean(waiting.run_id)}" + style.dim(f"  since {date_time(waiting.since)}")
    if call.payload:
        yield style.dim(f"  about {shortened(call.payload, room - 8)}")


def _word(waiting: WaitingCall) -> str:
    return "expired" if waiting.expired else waiting.kind.value
