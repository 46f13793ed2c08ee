"""The door most people use: ``Runtime.run`` executes a durable run on trio, from its start or where it was left."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import trio

from ..adapters.stores.memory import MemoryStore
from ..core.run import (
    DEFAULT_LIMITS,
    DEFAULT_RETRIES,
    Fold,
    Limits,
    ModelSpec,
    Retries,
    RunSpec,
    SpecError,
    rules_for,
)
from ..core.text import ENGLISH, Words
from ..effects.display import DisplayDelta, Operation
from ..effects.feed import Feed
from ..effects.handed_in import check_kind, check_members, check_model, checked_tools
from ..effects.journal import Changes, Journal, LogChange, Resume, RunBusy, Step
from ..effects.lifecycle import RunResult
from ..effects.model import ModelPort
from ..effects.values import frozen, replace
from .clock import wall_clock
from .drive import GRACE_S, SETTLE_S, Driver, Trace
from .host import NO_HOST, Host
from .perform import Ports, Tool
from .publish import Publisher
from .recording import Recorder

__all__ = ["RunResult", "Runtime", "wall_clock"]


@frozen
class Runtime:
    """Executes durable runs. Holds only what all its runs share, and may be used by many at once.

    ``grace_s`` is how long a stopped tool may still hand in its result, ``settle_s`` how long a cancelled run may take
    to settle and save; both in seconds.
    """

    words: Words = ENGLISH
    now: Callable[[], int] | None = None
    grace_s: float = GRACE_S
    settle_s: float = SETTLE_S

    async def run(
        self,
        run_id: str,
        *,
        model: ModelPort,
        feed: Feed,
        journal: Journal | None = None,
        tools: Sequence[Tool] = (),
        instruction: str = "",
        limits: Limits = DEFAULT_LIMITS,
        max_output_tokens: int = 0,
        options: Mapping[str, Any] | None = None,
        sequential: bool = False,
        discard_undelivered: bool = False,
        retries: Retries = DEFAULT_RETRIES,
        host: Host = NO_HOST,
        resume: Resume | None = None,
        take_over: bool = False,
        stream: Callable[[DisplayDelta], None] | None = None,
        stream_id: str = "",
        trace: Trace | None = None,
    ) -> RunResult:
        """Execute a run until it ends or waits; the same call resumes it.

        ``run_id`` names the run in its journal. Without a ``journal`` the run lives in memory, and ``resume`` is what
        an earlier such execution left (``RunResult.resume``). ``host`` holds what the program around the run answers:
        guard, policies, fallback, extensions. ``stream`` gets the live display, serially, and must not
        block. ``trace`` sees every event with its effects; a ``Recorder`` writes them down.

        Returns the outcome, also of a failed run; raises ``RunBusy`` while another executor holds the run and
        ``SpecError`` for a set-up that cannot work, or outside of trio. Cancelling the caller settles the run's calls
        first, as does Ctrl-C.
        """
        tools = _checked(run_id, model, feed, journal, tools, instruction, host)
        spec = RunSpec(
            run_id=run_id,
            instruction=instruction,
            tools=host.specs(tools),
            model=ModelSpec(max_output_tokens, dict(options or {})),
            limits=limits,
            sequential=sequential,
            discard_undelivered=discard_undelivered,
            guarded=host.guard is not None,
            final_notice=host.final_notice,
            retries=retries,
        )
        fold = Fold(rules_for(spec, self.words, host.functions(tools), host.extensions))
        if isinstance(trace, Recorder):
            trace.begin(fold.rules)
        now = self.now or wall_clock()
        store: MemoryStore | None = None
        if journal is None:
            store = MemoryStore(now=now)
            journal = store.journal(run_id)
            if resume is not None:
                await _lay_down(journal, resume)
        ports = Ports(journal, feed, model, {tool.spec.name: tool for tool in tools}, now, **host.asked(tools))
        result = await self._drive(fold, ports, take_over, stream, stream_id, trace)
        if result.busy_until is not None:
            raise RunBusy(result.busy_until)
        return result if store is None else replace(result, resume=await store.load(run_id))

    async def cancel(self, run_id: str, journal: Journal, reason: str = "") -> RunResult:
        """Take a run over to end it: its calls are settled and saved, and it needs neither tools nor a model.

        Whoever executes it finds that out with the next write (decision 40). Calls that are paused did not run and
        cannot be approved any more; those that were handed over stay with their owners. Raises ``SpecError`` outside of
        trio.
        """
        _check_trio()
        fold = Fold(rules_for(RunSpec(run_id=run_id), self.words))
        nothing: Any = None
        ports = Ports(journal, nothing, nothing, {}, self.now or wall_clock())
        driver = Driver(fold, ports, grace_s=self.grace_s, settle_s=self.settle_s)
        driver.cancel(reason)
        return await driver.run(secrets.token_bytes(16), take_over=True)

    async def _drive(
        self,
        fold: Fold,
        ports: Ports,
        take_over: bool,
        stream: Callable[[DisplayDelta], None] | None,
        stream_id: str,
        trace: Trace | None,
    ) -> RunResult:
        seed = secrets.token_bytes(16)

        def driver(publish: Callable[[tuple[Operation, ...]], None] | None) -> Driver:
            return Driver(fold, ports, publish=publish, trace=trace, grace_s=self.grace_s, settle_s=self.settle_s)

        if stream is None:
            return await driver(None).run(seed, take_over)
        publisher = Publisher(stream, stream_id or secrets.token_hex(8))
        result: RunResult | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(publisher.run)
            try:
                result = await driver(publisher.publish).run(seed, take_over)
            except KeyboardInterrupt:
                pass  # raised below, where no nursery makes a group of it
            finally:
                publisher.flush()
            nursery.cancel_scope.cancel()
        if result is None:
            raise KeyboardInterrupt
        return result


def _checked(
    run_id: object,
    model: object,
    feed: object,
    journal: object,
    tools: Sequence[Tool],
    instruction: object,
    host: object,
) -> tuple[Tool, ...]:
    """The tools, if a run can be made of all this; the numbers among it are looked at by ``rules_for``."""
    _check_trio()
    check_kind(run_id, SpecError, "run_id", str)
    check_model(model, SpecError)
    check_members(feed, SpecError, "feed", ("claim",), "store.feed(...)")
    if journal is not None:
        check_members(journal, SpecError, "journal", ("begin",), "store.journal(...)")
    check_kind(instruction, SpecError, "instruction", str)
    check_kind(host, SpecError, "host", Host)
    return checked_tools(tools, SpecError)


def _check_trio() -> None:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        remedy = "trio.run(...), or asyncio.to_thread(trio.run, ...) from asyncio"
        raise SpecError(f"durable runs need trio: {remedy}") from None


async def _lay_down(journal: Journal, resume: Resume) -> None:
    """Write what a run left into an empty journal; one that never saved a step left nothing."""
    if resume.state is None:
        return
    begun = await journal.begin(1)
    step = Step(
        state=resume.state,
        logs={name: LogChange(0, entries) for name, entries in resume.logs.items()},
        values=resume.values,
        changes=Changes(blocks=resume.blocks, calls=resume.calls),
        usage=resume.usage,
        plan=resume.plan,
        completion=resume.completion,
        outcome=resume.outcome,
    )
    await journal.save_step(begun.attempt, step)
    await journal.end(begun.attempt)
