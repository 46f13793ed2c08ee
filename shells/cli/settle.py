"""``turnfold settle``: how a call ended that somebody outside its run had to finish, or to look into."""

from argparse import Namespace

import trio

from ...effects.record import Wait, waits_for
from ..answering import NotWaiting, find_call, settle
from .answered import how_to_go_on
from .database import open_existing
from .exits import CliError, ExitCode
from .hints import typed
from .report import result_text
from .style import clean

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Settle one call. Raises what ``errors`` explains."""
    return trio.run(_settle, arguments)


async def _settle(arguments: Namespace) -> int:
    with open_existing(arguments.db) as store:
        run_id, call = await find_call(store, arguments.call_id)
        wait = waits_for(call)
        try:
            call = await settle(store, run_id, call.id, result=arguments.result, error=arguments.error)
        except NotWaiting as error:
            decidable = error.wait is Wait.DECISION
            way = f"use {typed('decide', clean(call.id), '--approve')}" if decidable else _look()
            raise CliError(f"{error}; {way}", ExitCode.FAILED) from error
        print(f"{clean(call.name)} {clean(call.status).replace('_', ' ')}: {result_text(call, 400)}")
        if wait is Wait.RESULT:
            print(await how_to_go_on(store, run_id))
    return ExitCode.OK


def _look() -> str:
    return f"{typed('waiting')} lists those that wait"
