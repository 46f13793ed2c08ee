"""The Agent against its recordings: performs a case's actions, and compares everything that was seen."""

from typing import Any

import trio
import trio.testing
from turnfold.adapters.proxy import message_from_wire, message_to_wire
from turnfold.adapters.proxy.blocks import content_from_wire
from turnfold.effects.agent import AgentEvent
from turnfold.shells.agent import Agent
from turnfold.shells.agent_errors import AgentError

from tests.oracle.scripts import CLOCK, Scripted, ScriptedHooks, ScriptedPort, World, tools_of
from tests.oracle.verdict import Verdict, judge
from tests.oracle.wire import Raw, arriving, comparable, event_out, model_in

TEXTS = {"follow_up()": "followUp()"}
"""Names that are spelled otherwise in texts here than in the recordings."""


def compare(case: Raw) -> Verdict:
    """Equal, differing by a rule of decision 46, or unexplained."""
    seen = trio.run(_run, case["input"], clock=trio.testing.MockClock(autojump_threshold=0))
    expected = dict(case["expected"])
    ours = {name: seen[name] for name in expected if name in seen}
    for one in (ours, expected):
        events = comparable([entry["event"] for entry in one["events"]])
        one["events"] = [
            {**entry, "event": event, "state": _arriving(entry["state"], event)}
            for entry, event in zip(one["events"], events, strict=True)
        ]
        one["results"] = [_settling(entry) for entry in one["results"]]
    return judge(case["input"], ours, expected)


def _arriving(state: Raw, event: Raw) -> Raw:
    """While an answer arrives, it is compared in the event alone."""
    if state.get("streamingMessage", {}).get("stopReason") != "pending":
        return state
    return {**state, "streamingMessage": event["message"]}


def _settling(entry: Raw) -> Raw:
    """A state that was looked at while an answer arrived."""
    state = entry.get("state", {})
    if "streamingMessage" not in state:
        return entry
    return {**entry, "state": {**state, "streamingMessage": arriving(state["streamingMessage"], set())}}


async def _run(case: Raw) -> Raw:
    async with trio.open_nursery() as nursery:
        stage = Stage(case, nursery)
        await stage.play()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    world = stage.world
    return {
        "events": stage.seen,
        "results": stage.results,
        "log": stage.log,
        "requests": world.requests,
        "hooks": world.hooks,
        "timeline": world.timeline,
    }


class Stage:
    """An agent, its scripted listeners, and the operations of a case."""

    def __init__(self, case: Raw, nursery: trio.Nursery) -> None:
        self.world = World(case, nursery)
        self.seen: list[Raw] = []
        self.results: list[Raw] = []
        self.log: list[str] = []
        initial, options = case.get("initial", {}), case.get("options", {})
        tools = tools_of(self.world, initial.get("tools", ()))
        self.tools = {tool.spec.name: tool for tool in tools_of(self.world, case.get("extraTools", ()))}
        self.tools |= {tool.spec.name: tool for tool in tools}
        named = {name: options[name] for name in ("sessionId", "thinkingBudgets", "maxRetryDelayMs") if name in options}
        forwarded = {
            "transport": options.get("transport", "auto"),
            "toolExecution": options.get("toolExecution", "parallel"),
        }
        self.agent = Agent(
            ScriptedPort(self.world),
            choice=model_in(initial["model"]) if "model" in initial else None,
            system_prompt=initial.get("systemPrompt", ""),
            thinking_level=initial.get("thinkingLevel", "off"),
            tools=tools,
            messages=[message_from_wire(raw) for raw in initial.get("messages", ())],
            hooks=ScriptedHooks(self.world, list(self.tools.values())).build(polls=False, converts=False),
            steering_mode=options.get("steeringMode", "one-at-a-time"),
            follow_up_mode=options.get("followUpMode", "one-at-a-time"),
            sequential=options.get("toolExecution") == "sequential",
            options={**forwarded, **named},
            now=lambda: CLOCK,
        )
        agent = self.agent
        self.world.abort = agent.abort
        self.world.aborted = lambda: agent.signal is not None and agent.signal.aborted
        agent.subscribe(self._record)
        self.listeners = {one["id"]: ScriptedListener(self, one) for one in case.get("listeners", ())}
        self.ends: dict[str, Any] = {}
        self.over: set[str] = set()
        self.unsubscribe: dict[str, Any] = {}
        for one in case.get("listeners", ()):
            if not one.get("detached"):
                self._subscribe(one["id"])

    def _subscribe(self, name: str) -> None:
        self.unsubscribe[name] = self.agent.subscribe(self.listeners[name])

    def _record(self, event: AgentEvent) -> None:
        raw = event_out(event)
        self.seen.append({"event": raw, "state": self._state(), "aborted": self.world.aborted()})
        self.world.event(raw)

    # --- what is compared

    def _state(self) -> Raw:
        view = self.agent.state
        state: Raw = {
            "systemPrompt": view.system_prompt,
            "model": view.model.id,
            "thinkingLevel": view.thinking_level,
            "tools": [tool.name for tool in view.tools],
            "messages": [message_to_wire(message) for message in view.messages],
            "isStreaming": view.is_running,
            "pendingToolCalls": list(view.pending_calls),
        }
        if view.streaming_message is not None:
            state["streamingMessage"] = message_to_wire(view.streaming_message)
        if view.error_message is not None:
            state["errorMessage"] = view.error_message
        return state

    def _queued(self) -> Raw:
        return {"hasQueued": self.agent.has_queued, "peek": [message_to_wire(message) for message in self.agent.peek()]}

    def _after(self) -> Raw:
        signal = self.agent.signal
        return {
            "state": self._state(),
            "signal": "none" if signal is None else "aborted" if signal.aborted else "active",
            **self._queued(),
            "steeringMode": str(self.agent.steering_mode),
            "followUpMode": str(self.agent.follow_up_mode),
        }

    # --- operations

    async def play(self) -> None:
        """Construct, then one action after the other."""
        self.results.append({"op": "construct", **self._after()})
        for action in self.world.case["actions"]:
            await self._act(action)

    async def _act(self, action: Raw) -> None:
        op = action["op"]
        if op == "waitEvent":
            wanted = action.get("occurrence", 1)
            await self.world.until(lambda: self.world.asked[action["event"]] >= wanted)
            return
        entry: Raw = {"op": op if op != "start" else f"start {action['do']['op']}"}
        self.results.append(entry)
        match op:
            case "start":
                entry["as"] = action["as"]
                self.world.nursery.start_soon(self._background, entry, action["as"], action["do"])
                await trio.testing.wait_all_tasks_blocked()
            case "waitForIdle":
                entry["as"] = action["as"]
                self.world.nursery.start_soon(self._wait, action["as"])
                await trio.testing.wait_all_tasks_blocked()
            case "join":
                entry["of"] = action["of"]
                await self.world.until(lambda: action["of"] in self.over)
            case _:
                await self._perform(entry, action)
        if op not in ("start", "waitForIdle", "open"):
            entry.update(self._after())

    async def _background(self, entry: Raw, name: str, action: Raw) -> None:
        await self._perform(entry, action)
        self.over.add(name)
        self.world.stir()

    async def _wait(self, name: str) -> None:
        await self.agent.wait_for_idle()
        self.log.append(f"idle:{name}")
        self.over.add(name)
        self.world.stir()

    async def from_listener(self, action: Raw, during: str, listener: str) -> None:
        """An operation inside a listener."""
        entry: Raw = {"op": action["op"]}
        self.results.append(entry)
        await self._perform(entry, action)
        entry.update({"during": during, "listener": listener, **self._queued()})

    async def _perform(self, entry: Raw, action: Raw) -> None:
        try:
            await self._operate(action)
        except (AgentError, Scripted) as error:
            text = str(error)
            for ours, theirs in TEXTS.items():
                text = text.replace(ours, theirs)
            entry["error"] = text

    async def _operate(self, action: Raw) -> None:
        agent = self.agent
        match action["op"]:
            case "prompt":
                await agent.prompt(self._prompt(action["input"]), content_from_wire(action.get("images", [])))
            case "continue":
                await agent.continue_()
            case "steer":
                agent.steer(message_from_wire(action["message"]))
            case "followUp":
                agent.follow_up(message_from_wire(action["message"]))
            case "setSteeringMode":
                agent.steering_mode = action["mode"]
            case "setFollowUpMode":
                agent.follow_up_mode = action["mode"]
            case "setModel":
                agent.model = model_in(action["model"])
            case "setThinkingLevel":
                agent.thinking_level = action["level"]
            case "setTools":
                agent.tools = [self.tools[name] for name in action["tools"]]
            case "setMessages":
                agent.messages = [message_from_wire(raw) for raw in action["messages"]]
            case "subscribe":
                self._subscribe(action["id"])
            case "unsubscribe":
                self.unsubscribe[action["id"]]()
            case "open":
                self.world.gates.add(action["label"])
                self.world.stir()
            case "observe":
                pass
            case other:
                simple = {
                    "reset": agent.reset,
                    "abort": agent.abort,
                    "clearSteering": agent.clear_steering,
                    "clearFollowUp": agent.clear_follow_ups,
                    "clearAll": agent.clear_queues,
                }
                simple[other]()

    def _prompt(self, raw: Any) -> Any:
        if isinstance(raw, str):
            return raw
        return message_from_wire(raw) if isinstance(raw, dict) else [message_from_wire(one) for one in raw]


class ScriptedListener:
    """Reacts as its script says."""

    def __init__(self, stage: Stage, script: Raw) -> None:
        self._stage = stage
        self._id = script["id"]
        self._reactions = script["reactions"]
        self._counted: dict[tuple[str, str | None], int] = {}

    async def __call__(self, event: AgentEvent) -> None:
        raw = event_out(event)
        kind, role = raw["type"], raw.get("message", {}).get("role")
        keys = [(kind, None), (kind, role)] if role is not None else [(kind, None)]
        for key in keys:
            self._counted[key] = self._counted.get(key, 0) + 1
        for reaction in self._reactions:
            key = (reaction["event"], reaction.get("role"))
            wanted = reaction.get("occurrence")
            if key in keys and wanted in (None, self._counted[key]):
                await self._react(reaction, kind)

    async def _react(self, reaction: Raw, kind: str) -> None:
        stage = self._stage
        if reaction.get("log"):
            stage.log.append(f"{self._id}:{kind}:begin")
        if "waitGate" in reaction:
            await stage.world.gate(reaction["waitGate"])
        for action in reaction.get("do", ()):
            await stage.from_listener(action, kind, self._id)
        if reaction.get("log"):
            stage.log.append(f"{self._id}:{kind}:end")
        if "throw" in reaction:
            raise Scripted(reaction["throw"])
