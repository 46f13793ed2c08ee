"""Where runs are recorded for ``fixtures/runs``: executions of one run in a small world, and processes that die."""

import io
from pathlib import Path
from typing import Any

import trio
from turnfold.adapters.models.scripted import Reply, ScriptedModel, call
from turnfold.core.run import Fold, Retries, RunSpec, rules_for
from turnfold.core.text import Words, words_for
from turnfold.effects.model import ModelRequest
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.shells.drive import Driver
from turnfold.shells.host import NO_HOST, Host, reconcilers_of
from turnfold.shells.perform import Ports
from turnfold.shells.recording import Recorder

from tests.shells.world import Mortal, Tool, WatchedJournal, World, hang, now


class Studio:
    """A world whose executions can be recorded."""

    def __init__(self, name: str, folder: Path) -> None:
        self.world = World()
        self._path = folder / f"{name}.jsonl"
        self._takes = 0

    async def say(self, text: str) -> None:
        """Somebody says something."""
        await self.world.say(text)

    async def run(
        self,
        script: list[Reply | str] | ScriptedModel,
        *tools: Tool,
        record: bool = True,
        words: Words | None = None,
        take_over: bool = False,
        journal: Any = None,
        feed: Any = None,
        cancel: str | None = None,
        host: Host = NO_HOST,
        **spec: Any,
    ) -> None:
        """Execute the run once; its recording is the fixture unless told otherwise."""
        self._takes += 1
        model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
        spec.setdefault("retries", Retries(times=0))
        spec |= {"guarded": host.guard is not None, "final_notice": host.final_notice}
        run_spec = RunSpec("run", tools=host.specs(tools), **spec)
        fold = Fold(rules_for(run_spec, words or words_for(), host.functions(tools), host.extensions))
        store = self.world.store
        ports = Ports(
            journal or store.journal("run"),
            feed or store.feed("talk"),
            model,
            {tool.spec.name: tool for tool in tools},
            now,
            host.policies_of(tools),
            reconcilers_of(tools),
            host.guard,
        )
        with self._path.open("wb") if record else io.BytesIO() as file:
            recorder = Recorder(file)
            recorder.begin(fold.rules)
            driver = Driver(fold, ports, trace=recorder, settle_s=0.0 if isinstance(journal, Dying) else 10.0)
            if cancel is not None:
                driver.cancel(cancel)
            await driver.run(f"{self._path.stem} {self._takes}".encode(), take_over)

    async def die(self, script: list[Reply | str], *tools: Tool, **options: Any) -> None:
        """Execute the run in a process that dies when one of its tools, or ``before``, says so."""
        process = Dying(self.world, options.pop("before", None))
        for tool in tools:
            tool.process = process  # type: ignore[attr-defined]
        with process.scope:
            await self.run(script, *tools, journal=process, **options)

    def cut_off(self, missing: int) -> None:
        """Take the last bytes from the recording, as a machine does that dies while it writes."""
        self._path.write_bytes(self._path.read_bytes()[:-missing])


class Dying(WatchedJournal):
    """The journal of a process that can die."""

    def __init__(self, world: World, before: Any = None) -> None:
        self._process = Mortal(world, *([before] if before else []))
        super().__init__(self._process.journal)
        self.scope = self._process.scope
        self.die = self._process.die


class Killer(Tool):
    """A tool during which its process dies."""

    process: Dying

    async def run(self, invocation: Invocation, progress: Any) -> ToolResult:
        await trio.sleep(1)
        self.process.die()
        await trio.sleep_forever()
        raise AssertionError("unreachable")


class Interrupted(ScriptedModel):
    """A model during whose first answer somebody says something."""

    def __init__(self, studio: Studio, script: list[Reply | str], text: str) -> None:
        super().__init__(script)
        self._studio = studio
        self._text = text

    async def stream(self, request: ModelRequest) -> Any:
        async for delta in super().stream(request):
            if self._text:
                text, self._text = self._text, ""
                await self._studio.say(text)
                await trio.sleep(1)
            yield delta


SLOW: dict[str, Any] = {"chunk": 4, "gap_s": 0.02, "sleep": trio.sleep}
THREE = call("pay", {"amount": 5}) + call("look", {"at": "sky"}) + call("crawl")


def three(kind: type[Tool] = Tool, body: Any = hang) -> list[Tool]:
    """One that must not be repeated, one that may be, and one that changes nothing."""
    return [kind("pay", body, side_effects=True), kind("look", body, replayable=True), kind("crawl", body)]
