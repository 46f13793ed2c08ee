"""A conversation and its turns: ``Chat.turn`` is one execution of its run, seen from the terminal.

Whatever ends a turn, what was said stays in the feed: a message that has no answer is answered by the next turn, in
this process or another.
"""

import sys
import time
from collections.abc import Awaitable, Callable

import trio

from ...adapters.stores import SqliteStore
from ...effects.feed import InputMessage
from ...effects.journal import RunBusy
from ...effects.outcome import Completed, Delivered, Failed, FailureKind, Outcome, Suspended
from .execution import Answered, Holder, Job, Standing, carry_out, exit_code, holder_of, standing_of, why
from .exits import CliError, ExitCode
from .history import Exchange, exchanges, unanswered
from .keyboard import Interrupts
from .render import LiveView, known_blocks
from .report import CUT_OFF
from .screen import Screen
from .style import clean

__all__ = ["Chat"]


LOOK_MS = 500
"""How often somebody who waits for a run looks whether it is free, in milliseconds."""


class Chat:
    """One durable conversation. ``out`` gets answers, ``notes`` everything else; on a terminal they are one screen."""

    def __init__(
        self,
        store: SqliteStore,
        job: Job,
        interrupts: Interrupts,
        *,
        again: str,
        take_over: bool = False,
        wait: bool = False,
    ) -> None:
        """``again`` says how to have an unanswered message answered; ``wait`` makes way for a live process unasked."""
        self.interrupts = interrupts
        self.out = Screen(sys.stdout)
        self.live = sys.stdin.isatty() and sys.stdout.isatty()
        self.notes = self.out if self.live else Screen(sys.stderr)
        self.job = job
        self.ask: Callable[[Holder], Awaitable[bool]] | None = None
        """Asks a person whether to take the run over from a process that has it; without one nobody is asked."""
        interrupts.on_stop = lambda: self.notes.hint("  stopping …")
        self._store = store
        self._again = again
        self._take_over = take_over
        self._wait = wait
        self._view: LiveView | None = None

    async def say(self, text: str) -> None:
        """Append a message; it is stored when this returns."""
        await self._store.append(self.job.conversation, InputMessage(text))

    async def standing(self) -> Standing:
        """How the conversation stands."""
        return await standing_of(self._store, self.job.run_id, self.job.conversation)

    async def told(self) -> tuple[tuple[Exchange, ...], tuple[str, ...]]:
        """The exchanges so far, and the messages that wait for an answer."""
        resume = await self._store.load(self.job.run_id)
        found = exchanges(self.job.run_id, resume)
        return found, await unanswered(self._store, self.job.conversation, self.job.run_id, resume)

    async def turn(self) -> ExitCode:
        """Let the run go on until it has answered, failed, or was stopped by Ctrl-C.

        Raises ``CliError`` when the conversation cannot go on at all, or when another process is at it and there is
        nobody to ask what to do about that.
        """
        while not self.interrupts.leaving:
            holder = await self.holder()
            if holder is None or self._take_over or await self._make_way(holder):
                take_over, self._take_over = self._take_over, False
                try:
                    return await self._execute(take_over)
                except RunBusy:
                    self.notes.finish()
        return ExitCode.INTERRUPTED

    async def _make_way(self, holder: Holder) -> bool:
        """Wait until the run may be free; whether it is to be taken over instead."""
        if not holder.gone and not self._wait:
            if self.ask is None:
                raise CliError(f"{holder}; try again later, or say --take-over", ExitCode.BUSY)
            if await self.ask(holder):
                self._take_over = True
                return True
        await self.wait_for(holder)
        return False

    async def _execute(self, take_over: bool) -> ExitCode:
        view = await self._ready_view()
        outcome: Outcome | None = None
        self.notes.hint(f"  {self.job.meta.get('model', 'the model')} …")
        try:
            with self.interrupts.turn():
                outcome = await carry_out(self._store, self.job, view.show, take_over, view.follow)
        except BaseException:
            view.ended()
            raise
        if outcome is None:
            standing = await self.standing()
            outcome = standing.outcome if isinstance(standing, Answered) else None
        if isinstance(outcome, Delivered | Completed):
            await self.deliver(outcome)
            return ExitCode.OK
        view.ended()
        return self._unanswered(outcome, await self._why(outcome))

    async def deliver(self, outcome: Delivered | Completed) -> None:
        """Show the answer, then consume what it answers."""
        text = outcome.text if isinstance(outcome, Delivered) else outcome.completion.value
        if self.live:
            view = await self._ready_view()
            view.answered(text)
        else:
            self.out.line(clean(text) if self.out.style.moves else text)
        if isinstance(outcome, Delivered) and outcome.truncated:
            self.notes.line(self.notes.style.dim(f"  ({CUT_OFF})"))
        if self.live:
            self.out.line()
        await self._store.deliver(self.job.run_id)

    async def holder(self) -> Holder | None:
        """Whoever holds the run now."""
        return holder_of(await self._store.run(self.job.run_id))

    async def wait_for(self, holder: Holder | None) -> None:
        """Wait until nobody holds the run any more, or until Ctrl-C."""
        with self.interrupts.waiting():
            if not self.notes.style.moves:
                self.notes.line(f"turnfold: {holder}; waiting")
            while holder is not None:
                left = max(0, holder.until - time.time_ns() // 1_000_000)
                self.notes.hint(f"  {holder}; waiting")
                await trio.sleep(min(LOOK_MS, left + 1) / 1000)
                holder = await self.holder()
        self.notes.finish()

    def complain(self, text: str) -> None:
        """Say what went wrong, as everywhere: one line, with our name."""
        self.notes.line(self.notes.style.bad("turnfold:") + f" {text}")

    async def _ready_view(self) -> LiveView:
        if self._view is None:
            resume = await self._store.load(self.job.run_id)
            self._view = LiveView(self.notes, known_blocks(resume), answers=self.live)
        return self._view

    async def _why(self, outcome: Failed | Suspended | None) -> str:
        if isinstance(outcome, Failed) and outcome.kind is FailureKind.STALE_ATTEMPT:
            summary = await self._store.run(self.job.run_id)
            ended = summary.outcome if summary is not None and summary.lease_until is None else None
            if isinstance(ended, Failed) and ended.kind is FailureKind.CANCELLED:
                return "somebody ended the run with turnfold cancel"
        return "stopped" if outcome is None else why(outcome)

    def _unanswered(self, outcome: Failed | Suspended | None, reason: str) -> ExitCode:
        code = ExitCode.INTERRUPTED if outcome is None else exit_code(outcome)
        if code is ExitCode.DATABASE:
            raise CliError(f"{reason}; restore the database from a backup, or begin another --conversation", code)
        kept = f"{reason} The" if reason.endswith(("?", "!", ".")) else f"{reason}; the"
        self.complain(reason if code is ExitCode.WAITING else f"{kept} message is kept, and {self._again}")
        return code
