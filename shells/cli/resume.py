"""``turnfold resume``: go on with a run that was interrupted, as the command that began it would.

Running and resuming are one door, so this is also how the demonstration's two processes carry out their run.
"""

import os
from argparse import Namespace
from contextlib import AsyncExitStack

import trio

from ...adapters.stores import RunSummary, SqliteStore
from .conversation import Chat
from .database import open_existing
from .demo_agent import clear_up, demo_job
from .execution import Answered, Idle, Job
from .exits import CliError, ExitCode
from .finding import find_run
from .hints import typed
from .keyboard import Interrupts
from .keys import warn_of_key
from .settings import settings_for
from .style import clean

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Resume one run until it ends. Raises what ``errors`` explains."""
    warn_of_key(arguments)
    return trio.run(_resume, arguments)


async def _resume(arguments: Namespace) -> int:
    async with AsyncExitStack() as stack:
        store = stack.enter_context(open_existing(arguments.db))
        summary = await find_run(store, arguments.run_id)
        job = await _job(stack, store, summary, arguments)
        nursery = await stack.enter_async_context(trio.open_nursery())
        interrupts = Interrupts()
        await nursery.start(interrupts.listen)
        chat = Chat(
            store,
            job,
            interrupts,
            again=f"{typed('resume', clean(summary.run_id))} asks again",
            take_over=arguments.take_over,
            wait=arguments.wait,
        )
        code = await _go_on(chat)
        nursery.cancel_scope.cancel()
    if code is ExitCode.OK and not arguments.watched:
        clear_up(summary, arguments.db)
    return code


async def _go_on(chat: Chat) -> ExitCode:
    standing = await chat.standing()
    if isinstance(standing, Idle):
        chat.notes.line("there is nothing to go on with: everything that was said has been answered")
        return ExitCode.OK
    if isinstance(standing, Answered):
        await chat.deliver(standing.outcome)
        return ExitCode.OK
    return await chat.turn()


async def _job(stack: AsyncExitStack, store: SqliteStore, summary: RunSummary, arguments: Namespace) -> Job:
    match summary.meta.get("kind"):
        case "demo":
            return demo_job(summary, arguments.db, watched=arguments.watched)
        case "chat":
            settings = settings_for(arguments, os.environ, summary.meta)
            model = await stack.enter_async_context(settings.make_model())
            return Job(
                summary.run_id,
                summary.conversation,
                model,
                settings.make_tools(),
                settings.system,
                settings.max_tokens,
                meta=settings.meta,
            )
        case _:
            raise CliError(
                f"the run {summary.run_id!r} was not made by turnfold chat or demo; resume it with the program that "
                "made it, which knows its tools"
            )
