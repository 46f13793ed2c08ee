"""The low-level loop against its recordings: runs a case through fold and driver, and compares what was seen."""

from typing import Any

import trio
import trio.testing
from turnfold.adapters.proxy import message_from_wire, message_to_wire
from turnfold.adapters.schemas import check_with_rust
from turnfold.core.agent import AgentFold, AgentRules
from turnfold.effects.agent import AgentEvent, Context, Settled
from turnfold.effects.agent_vocabulary import Continued, Prompted
from turnfold.effects.sequence import Seq
from turnfold.shells.agent_drive import AgentPorts, LoopDriver, Signal
from turnfold.shells.agent_tools import Toolshed

from tests.oracle.scripts import CLOCK, Scripted, ScriptedHooks, ScriptedPort, World, tools_of
from tests.oracle.verdict import Verdict, judge
from tests.oracle.wire import Raw, comparable, event_out, model_in


def compare(case: Raw) -> Verdict:
    """Equal, differing by a rule of decision 46, or unexplained."""
    seen = trio.run(_run, case["input"], clock=trio.testing.MockClock(autojump_threshold=0))
    expected = dict(case["expected"])
    ours = {name: seen[name] for name in expected if name in seen}
    for one in (ours, expected):
        one["events"] = comparable(one["events"])
    if ("error" in expected) != (seen.get("error") is not None):
        ours["error"] = seen.get("error")
    return judge(case["input"], ours, expected)


async def _run(case: Raw) -> Raw:
    async with trio.open_nursery() as nursery:
        world = World(case, nursery)
        settled = await _drive(world)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    seen: dict[str, Any] = {"events": world.events, "requests": world.requests, "hooks": world.hooks}
    seen["timeline"] = world.timeline
    if settled.failure is None:
        seen["messages"] = [message_to_wire(message) for message in settled.messages]
    else:
        seen["error"] = settled.failure
    return seen


async def _drive(world: World) -> Settled:
    case = world.case
    tools = tools_of(world, case.get("tools", ()))
    extra = tools_of(world, case.get("extraTools", ()))
    hooks = ScriptedHooks(world, [*tools, *extra]).build(polls=True, converts=True)
    options = dict(case.get("options", {}))
    if "toolExecution" in case:
        options["toolExecution"] = case["toolExecution"]
    shed = Toolshed(tools, check_with_rust)
    rules = AgentRules(
        hooks=hooks.configured, options=options, sequential=case.get("toolExecution") == "sequential", check=shed.check
    )
    models = {} if case.get("stream") == "missing" else {"": ScriptedPort(world)}
    signal = Signal()

    async def sink(event: AgentEvent) -> None:
        raw = event_out(event)
        world.events.append(raw)
        world.event(raw)
        for failure in case.get("sinkFailures", ()):
            if failure["event"] == raw["type"] and failure["occurrence"] == world.asked[raw["type"]]:
                raise Scripted(failure["message"])

    fold = AgentFold(rules)
    driver = LoopDriver(fold, AgentPorts(models, shed, lambda: CLOCK, hooks), sink, signal=signal)
    world.abort, world.aborted = driver.abort, lambda: signal.aborted
    if case.get("abortBeforeRun"):
        signal.set()
    history = Seq(message_from_wire(raw) for raw in case.get("history", ()))
    state = fold.start(Context(history, shed.specs), model_in(case["model"]), case.get("reasoning"))
    if case["api"] in ("run", "streamRun"):
        first: Any = Prompted(CLOCK, tuple(message_from_wire(raw) for raw in case.get("prompts", ())))
    else:
        first = Continued(CLOCK)
    return await driver.run(state, first)
