"""``turnfold chat``: a conversation that outlives the process.

A conversation is one run (decision 41): what is said is appended to its feed, the run goes on until it has answered,
and the answer consumes what it answers once it has been shown. ``run`` sets that up; ``Chat`` takes turns, ``Talk`` is
the person at the terminal, and ``answer_lines`` the pipe that can stand in for one.
"""

import os
import re
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import trio

from ...adapters.stores import SqliteStore
from .conversation import Chat
from .database import default_path, open_existing, open_or_make
from .execution import Job
from .exits import CliError, ExitCode
from .hints import typed
from .keyboard import Interrupts, LineReader
from .keys import warn_of_key
from .settings import settings_for
from .talk import Talk, answer_lines

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Chat until the person or the input is done. Raises what ``errors`` explains."""
    warn_of_key(arguments)
    return trio.run(_chat, arguments)


async def _chat(arguments: Namespace) -> int:
    name = _checked(arguments.conversation)
    run_id = f"chat-{name}"
    settings = settings_for(arguments, os.environ, await _stored_settings(arguments.db, run_id))
    model, tools = settings.make_model(), settings.make_tools()
    with open_or_make(arguments.db) as store:
        job = Job(run_id, name, model, tools, settings.system, settings.max_tokens, meta=settings.meta)
        async with model, trio.open_nursery() as nursery:
            interrupts = Interrupts()
            await nursery.start(interrupts.listen)
            again = "/retry asks again" if sys.stdin.isatty() else f"{typed('chat', *_named(name))} answers it"
            code = await _converse(Chat(store, job, interrupts, again=again, take_over=arguments.take_over))
            nursery.cancel_scope.cancel()
    return code


async def _converse(chat: Chat) -> ExitCode:
    reader = LineReader(sys.stdin.fileno())
    if sys.stdin.isatty():
        return await Talk(chat, reader).converse()
    return await answer_lines(chat, reader)


def _named(conversation: str) -> tuple[str, ...]:
    return () if conversation == "default" else ("--conversation", conversation)


def _checked(name: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,100}", name):
        raise CliError(
            f"a conversation cannot be called {name!r}; use up to 100 letters, digits, dots, hyphens and underscores"
        )
    return name


async def _stored_settings(path: str | None, run_id: str) -> Mapping[str, str]:
    """What the conversation was set up with before. Makes no file, so that wrong settings leave nothing behind."""
    place = Path(path) if path else default_path()
    if not place.exists() or not place.stat().st_size:
        return {}
    store: SqliteStore
    with open_existing(path) as store:
        summary = await store.run(run_id)
    return summary.meta if summary is not None else {}
