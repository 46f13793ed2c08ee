"""The scripted world of a recorded case: its model, its tools, its hooks, and the record of what was asked of them."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import trio
from turnfold.adapters.proxy import message_from_wire, message_to_wire
from turnfold.adapters.proxy.blocks import content_from_wire
from turnfold.adapters.proxy.wire import model_to_wire, usage_from_wire
from turnfold.effects.agent import Context
from turnfold.effects.hook import (
    AfterTool,
    BeforeTool,
    Block,
    ConvertToModel,
    FinishTurn,
    PrepareNextTurn,
    PrepareRequest,
    ResultPatch,
    TransformContext,
)
from turnfold.effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Delta,
    DeltaKind,
    ModelRequest,
    Started,
    StreamFailed,
    StreamFinished,
    UsageReported,
)
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import Invocation, ToolResult, ToolSpec
from turnfold.effects.transcript import CustomMessage, ErrorKind, Message, ModelError
from turnfold.effects.transcript.declared import current_tools
from turnfold.effects.values import UNSET
from turnfold.shells.agent_drive import Signal
from turnfold.shells.agent_hooks import AgentHooks, Update
from turnfold.shells.agent_tools import Progress

from tests.oracle.wire import Raw, arguments_out, assistant_in, model_in, result_in, result_out, tool_of

CLOCK = 1_760_000_000_000


class Scripted(Exception):
    """What a script raises; its text is the script's."""


class World:
    """One case while it runs: its script, its counters, and everything that was seen, in order."""

    def __init__(self, case: Raw, nursery: trio.Nursery) -> None:
        self.case = case
        self.nursery = nursery
        self.events: list[Raw] = []
        self.requests: list[Raw] = []
        self.hooks: list[Raw] = []
        self.timeline: list[str] = []
        self.calls: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.happened: Counter[tuple[str, str]] = Counter()
        self.started: set[str] = set()
        self.gates: set[str] = set()
        self.answers = iter(case.get("answers", ()))
        self.abort: Callable[[], None] = lambda: None
        self.aborted: Callable[[], bool] = lambda: False
        self._changed = trio.Event()

    # --- waiting

    def stir(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._changed.wait()

    async def gate(self, label: str) -> None:
        await self.until(lambda: label in self.gates)

    # --- recording

    def hook(self, name: str, **record: Any) -> int:
        """Record the call of a hook, abort where the script says so, and raise where it says so; the call's index."""
        index = self.calls[name]
        self.calls[name] += 1
        self.hooks.append({"hook": name, **record})
        self.timeline.append(f"hook:{name}")
        self._abort_at("hook", name, index + 1)
        for failure in self.case.get("failures", ()):
            if failure["hook"] == name and failure["occurrence"] == index + 1:
                raise Scripted(failure["message"])
        return index

    def event(self, raw: Raw) -> None:
        """Record an event, and abort where the script says so."""
        kind = raw["type"]
        self.asked[kind] += 1
        self.timeline.append(f"event:{kind}")
        if "toolCallId" in raw:
            self.happened[kind, raw["toolCallId"]] += 1
        self._abort_at("event", kind, self.asked[kind])
        self.stir()

    def _abort_at(self, what: str, name: str, occurrence: int) -> None:
        if any(one.get(what) == name and one["occurrence"] == occurrence for one in self.case.get("aborts", ())):
            self.abort()

    def scripted(self, name: str, index: int) -> Any:
        script = self.case.get("hooks", {}).get(name) or ()
        return script[index] if index < len(script) else None


# --- the model


class ScriptedPort:
    """Answers what the script says, whatever the signal says."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def stream_until(self, request: ModelRequest, signal: Signal) -> AsyncIterator[Delta]:
        world = self._world
        assert request.model is not None
        world.timeline.append("request")
        messages = tuple(request.messages)
        options = dict(request.options)
        if "api_key" in options:
            options["apiKey"] = options.pop("api_key")
        world.requests.append(
            {
                "model": model_to_wire(request.model),
                "messages": [message_to_wire(message) for message in messages],
                "currentTools": [tool.name for tool in current_tools(messages)],
                "options": options,
                "aborted": world.aborted(),
            }
        )
        world._abort_at("hook", "stream", len(world.requests))
        answer = next(world.answers)
        if "throw" in answer:
            raise Scripted(answer["throw"])
        for event in answer["events"]:
            if event.get("control") == "abort":
                world.abort()
            elif event.get("control") == "waitGate":
                await world.gate(event["label"])
            else:
                for delta in deltas_of(event):
                    yield delta


def deltas_of(event: Raw) -> Sequence[Delta]:
    """A recorded stream event as ours; kinds that are unknown are none."""
    kind = event["type"]
    if kind == "start":
        partial = event["partial"]
        started = Started(
            partial["api"], partial["provider"], partial["model"], partial.get("responseId"), None, partial["timestamp"]
        )
        return UsageReported(usage_from_wire(partial["usage"])[0]), started
    if kind == "done":
        message = assistant_in(event["message"])
        return (StreamFinished(message.stop, message.raw_stop, message),)
    if kind == "error":
        message = assistant_in(event["error"])
        kind = ErrorKind.ABORTED if event["reason"] == "aborted" else ErrorKind.UNAVAILABLE
        return (StreamFailed(message.error or ModelError(kind, ""), None, message),)
    name, _, what = kind.rpartition("_")
    if name not in ("text", "thinking", "toolcall"):
        return ()
    index = event["contentIndex"]
    block = event["partial"]["content"][index]
    if what == "start":
        kinds = {"text": DeltaKind.TEXT, "thinking": DeltaKind.THINKING, "toolcall": DeltaKind.CALL}
        return (BlockStarted(index, kinds[name], block.get("id", ""), block.get("name", "")),)
    if what == "delta":
        return (BlockDelta(index, event["delta"]),)
    signatures = ("textSignature", "thinkingSignature", "thoughtSignature")
    signature = next((block[member] for member in signatures if member in block), None)
    return (BlockEnded(index, signature),)


# --- tools


class ScriptedTool:
    """A tool that does what the outcome of each call says."""

    def __init__(self, world: World, raw: Raw) -> None:
        self._world = world
        self._prepare = raw.get("prepareArguments")
        self.spec = ToolSpec(
            tool_of(raw),
            sequential=raw.get("executionMode") == "sequential",
            prepares=self._prepare is not None,
        )

    def prepare(self, arguments: Any) -> Any:
        self._world.hook("prepareArguments", toolName=self.spec.name, args=arguments)
        script = self._prepare
        if "throw" in script:
            raise Scripted(script["throw"])
        if "replace" in script:
            return script["replace"]
        renamed = {script["rename"].get(name, name): value for name, value in arguments.items()}
        return {**renamed, **script.get("set", {})}

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult:
        world, call_id = self._world, invocation.call_id
        world.hook(
            "execute",
            toolCallId=call_id,
            toolName=invocation.name,
            args=invocation.arguments,
            aborted=progress.aborted,
        )
        world.started.add(call_id)
        world.stir()
        for step in world.case["outcomes"][call_id]:
            result = await self._step(step, call_id, progress)
            if result is not None:
                return result
        raise AssertionError("the script of a call must end it")

    async def _step(self, step: Raw, call_id: str, progress: Progress) -> ToolResult | None:
        world = self._world
        match step["do"]:
            case "update":
                await progress(result_in(step["result"]))
            case "lateUpdate":
                world.nursery.start_soon(self._late, step["result"], call_id, progress)
            case "waitStarted":
                await world.until(lambda: set(step["toolCallIds"]) <= world.started)
            case "waitFor":
                key = (step["event"], step["toolCallId"])
                await world.until(lambda: world.happened[key] >= step.get("count", 1))
            case "waitGate":
                await world.gate(step["label"])
            case "abort":
                world.abort()
            case "return":
                return result_in(step["result"])
            case "throw":
                raise Scripted(step["message"])
            case other:
                raise AssertionError(other)
        return None

    async def _late(self, result: Raw, call_id: str, progress: Progress) -> None:
        await self._world.until(lambda: self._world.happened["tool_execution_end", call_id] > 0)
        await progress(result_in(result))


# --- hooks


def roles(messages: Sequence[Message] | Seq[Message]) -> list[str]:
    return [message_to_wire(message)["role"] for message in messages]


class ScriptedHooks:
    """The hooks that a case configures. ``tools`` are those that a context may name."""

    def __init__(self, world: World, tools: Sequence[ScriptedTool]) -> None:
        self._world = world
        self._tools = {tool.spec.name: tool for tool in reversed(tools)}

    def build(self, *, polls: bool, converts: bool) -> AgentHooks:
        script = self._world.case.get("hooks", {})

        def given(name: str, hook: Any) -> Any:
            return hook if name in script else None

        return AgentHooks(
            prepare_next_turn=given("prepareNextTurn", self.prepare_next_turn)
            or given("prepareNextTurnLegacy", self.prepare_next_turn_legacy),
            prepare_request=given("prepareRequest", self.prepare_request),
            transform_context=given("transformContext", self.transform),
            convert_to_model=self.convert if converts or "convertToLlm" in script else None,
            before_tool=given("beforeToolCall", self.before),
            after_tool=given("afterToolCall", self.after),
            finish_turn=given("finishTurn", self.finish),
            steering=given("getSteeringMessages", self.steering) if polls else None,
            follow_ups=given("getFollowUpMessages", self.follow_ups) if polls else None,
            credentials=given("getApiKey", self.key),
        )

    def steering(self) -> list[Message]:
        return self._poll("getSteeringMessages")

    def follow_ups(self) -> list[Message]:
        return self._poll("getFollowUpMessages")

    def _poll(self, name: str) -> list[Message]:
        index = self._world.hook(name)
        return [message_from_wire(raw) for raw in self._world.scripted(name, index) or ()]

    def key(self, provider: str) -> str | None:
        index = self._world.hook("getApiKey", provider=provider)
        return self._world.scripted("getApiKey", index)

    def prepare_next_turn(self, order: PrepareNextTurn) -> Update | None:
        index = self._world.hook("prepareNextTurn", **self._turn(order))
        return self._update(self._world.scripted("prepareNextTurn", index), order.turn.context)

    def prepare_next_turn_legacy(self, order: PrepareNextTurn) -> Update | None:
        index = self._world.hook("prepareNextTurnLegacy", aborted=self._world.aborted())
        return self._update(self._world.scripted("prepareNextTurnLegacy", index), order.turn.context)

    def prepare_request(self, order: PrepareRequest) -> Update | None:
        index = self._world.hook(
            "prepareRequest",
            model=order.model.id,
            thinkingLevel=order.thinking_level,
            context=roles(order.context.messages),
            tools=[tool.name for tool in order.context.tools],
        )
        return self._update(self._world.scripted("prepareRequest", index), order.context)

    def finish(self, order: FinishTurn) -> Any:
        index = self._world.hook("finishTurn", **self._turn(order))
        return self._world.scripted("finishTurn", index)

    def _turn(self, order: PrepareNextTurn | FinishTurn) -> Raw:
        turn = order.turn
        return {
            "stopReason": message_to_wire(turn.message)["stopReason"],
            "toolResults": [result.call_id for result in turn.results],
            "context": roles(turn.context.messages),
            "newMessages": roles(turn.new_messages),
        }

    def _update(self, raw: Raw | None, context: Context) -> Update | None:
        if raw is None:
            return None
        messages: Sequence[Message] | None = None
        tools: list[ScriptedTool] | None = None
        if "context" in raw:
            kept = raw["context"]["messages"]
            messages = context.messages if kept == "keep" else [message_from_wire(one) for one in kept]
            tools = [self._tools[name] for name in raw["context"].get("tools", ())]
        return Update(
            messages,
            tools,
            [message_from_wire(one) for one in raw.get("messages", ())],
            model_in(raw["model"]) if "model" in raw else None,
            raw.get("thinkingLevel"),
        )

    def transform(self, order: TransformContext) -> Sequence[Message]:
        self._world.hook("transformContext", roles=roles(order.messages))
        script = self._world.case["hooks"]["transformContext"]
        messages = list(order.messages)
        if "keepLast" in script:
            messages = messages[-script["keepLast"] :]
        if "dropRole" in script:
            messages = [message for message in messages if message_to_wire(message)["role"] != script["dropRole"]]
        before = [message_from_wire(raw) for raw in script.get("prepend", ())]
        return [*before, *messages, *(message_from_wire(raw) for raw in script.get("append", ()))]

    def convert(self, order: ConvertToModel) -> Sequence[Message]:
        self._world.hook("convertToLlm", roles=roles(order.messages))
        known = self._world.case.get("hooks", {}).get("convertToLlm", {}).get("roles", {})
        converted: list[Message] = []
        for message in order.messages:
            if not isinstance(message, CustomMessage):
                converted.append(message)
            elif message.role in known:
                converted.append(message_from_wire({**message_to_wire(message), "role": known[message.role]}))
        return converted

    def before(self, order: BeforeTool) -> Block | None:
        self._world.hook(
            "beforeToolCall",
            toolCallId=order.call.id,
            toolName=order.call.name,
            rawArguments=arguments_out(order.call.arguments),
            args=order.arguments,
            context=roles(order.context.messages),
        )
        found = self._react("beforeToolCall", order.call.id)
        if found is None or not found.get("block"):
            return None
        return Block(found.get("reason", ""), found.get("terminate"))

    def after(self, order: AfterTool) -> ResultPatch | None:
        self._world.hook(
            "afterToolCall",
            toolCallId=order.call.id,
            toolName=order.call.name,
            args=order.arguments,
            result=result_out(order.result),
            isError=order.is_error,
        )
        found = self._react("afterToolCall", order.call.id)
        if found is None:
            return None
        return ResultPatch(
            content_from_wire(found["content"]) if "content" in found else UNSET,
            found.get("details", UNSET),
            found.get("structuredContent", UNSET),
            found.get("usage", UNSET),
            found.get("terminate"),
            found.get("isError"),
        )

    def _react(self, hook: str, call_id: str) -> Raw | None:
        reaction = self._world.case["hooks"][hook].get(call_id)
        if reaction is None:
            return None
        if reaction.get("abort"):
            self._world.abort()
        if "throw" in reaction:
            raise Scripted(reaction["throw"])
        return reaction.get("return")


def tools_of(world: World, raws: Sequence[Raw]) -> list[ScriptedTool]:
    return [ScriptedTool(world, raw) for raw in raws]
