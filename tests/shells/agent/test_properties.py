"""For any models, tools, hooks, listeners and aborts: an agent settles, and its state is what it told."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
from hypothesis import example, given
from hypothesis import strategies as st
from turnfold.core.agent import AgentView, settled_view, started_view, watch_event
from turnfold.effects.agent import AgentEvent, FinishAction, ToolEnded, ToolStarted
from turnfold.effects.hook import Block, ResultPatch
from turnfold.effects.model import (
    BlockStarted,
    Delta,
    DeltaKind,
    ModelRequest,
    Started,
    StreamFailed,
    StreamFinished,
)
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import AssistantMessage, ErrorKind, ModelError, StopReason, ToolResultMessage, calls_of
from turnfold.effects.transcript.boundary import Target, fit
from turnfold.effects.values import frozen, replace
from turnfold.shells.agent import Agent
from turnfold.shells.agent_errors import AgentFailed
from turnfold.shells.agent_hooks import AgentHooks
from turnfold.shells.agent_tools import Progress

from tests.core.agent.balance import unbalanced
from tests.shells.agent.world import Tool, call, run, say, use

CALLS = st.lists(st.sampled_from(["clock", "map", "nope"]), min_size=1, max_size=3).map(
    lambda names: use(*(call(f"c{n}", name) for n, name in enumerate(names)))
)


def stopped(stop: StopReason) -> Any:
    """An answer with calls that stops for this reason."""
    return CALLS.map(lambda answer: (StreamFinished(stop, message=replace(answer[0].message, stop=stop)),))


ANSWERS = st.one_of(
    CALLS,
    CALLS,
    CALLS,
    stopped(StopReason.LENGTH),
    stopped(StopReason.ERROR),
    st.just(say("hello")),
    st.just(say("no end")[:-1]),
    st.just((*say("so far")[:-1], None)),
    st.just((Started(), BlockStarted(0, DeltaKind.CALL, "c9", "clock"), None)),
    st.just((StreamFailed(ModelError(ErrorKind.NETWORK, "gone")),)),
    st.just(RuntimeError("a broken port")),
)
DEEDS = st.sampled_from(["update", "hang", "return", "terminate", "raise", "nest"])
HOOKS = {
    "convert_to_model": [None],
    "transform_context": [None],
    "before_tool": [Block("no"), Block("no", True)],
    "after_tool": [ResultPatch(terminate=True), ResultPatch(is_error=True)],
    "finish_turn": [FinishAction.END, FinishAction.CONTINUE],
    "prepare_next_turn": [None],
    "prepare_request": [None],
}


@frozen
class Play:
    """What happens in two runs. Numbers count events, from 0: where somebody raises, aborts, steers."""

    answers: list[Any]
    deeds: list[str]
    hooks: dict[str, list[Any]]
    raises: set[int]
    aborts: set[int]
    aborts_at: type | None
    steers: set[int]
    sequential: bool


@st.composite
def plays(draw: st.DrawFn) -> Play:
    hooks = {}
    for name in draw(st.sets(st.sampled_from(sorted(HOOKS)), max_size=2)):
        some = [None, None, None, None, *HOOKS[name], RuntimeError(f"{name} broke")]
        hooks[name] = draw(st.lists(st.sampled_from(some), max_size=4))
    places = st.sampled_from([0, 0, 1, 2]).flatmap(
        lambda size: st.sets(st.integers(0, 40), min_size=size, max_size=size)
    )
    return Play(
        draw(st.lists(ANSWERS, min_size=1, max_size=5)),
        draw(st.lists(DEEDS, min_size=2, max_size=5)),
        hooks,
        draw(places),
        draw(places),
        draw(st.sampled_from([None, None, None, ToolStarted, ToolEnded])),
        draw(places),
        draw(st.booleans()),
    )


def scripted(name: str, replies: list[Any]) -> Callable[[Any], Any]:
    """A hook that gives one reply a time, and at last what changes nothing."""
    script = iter(replies)

    async def hook(order: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        reply = next(script, None)
        if isinstance(reply, Exception):
            raise reply
        return order.messages if reply is None and name in ("convert_to_model", "transform_context") else reply

    return hook


class Hanging:
    """A model that answers one script after the other; at a ``None`` it hangs."""

    def __init__(self, hang: Callable[[], Awaitable[None]], answers: list[Any]) -> None:
        self.requests: list[ModelRequest] = []
        self._hang = hang
        self._answers = iter(answers)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.requests.append(request)
        answer = next(self._answers, say("done"))
        if isinstance(answer, Exception):
            raise answer
        for delta in answer:
            if delta is None:
                await self._hang()
            yield delta


class Stage:
    """One agent, what it told in each run, and what its state was each time."""

    def __init__(self, play: Play) -> None:
        self.told: list[AgentEvent] = []
        self.runs: list[tuple[AgentView, list[AgentEvent], AgentView]] = []
        self.model = Hanging(self._hang, play.answers)
        self._play = play
        self._deeds = iter(play.deeds)
        self._steps = 0
        hooks = {name: scripted(name, replies) for name, replies in play.hooks.items()}
        self.agent = Agent(
            self.model,
            tools=[Tool(self._act), Tool(self._act, "map", sequential=play.sequential)],
            hooks=AgentHooks(**hooks),
            grace_s=0,
        )
        self.agent.subscribe(self._hear)
        self.agent.subscribe(self._meddle)

    async def play(self) -> None:
        """Both runs."""
        for prompt in ("hi", "again"):
            before, self.told = self.agent.state, []
            await self._prompt(prompt)
            await self.agent.wait_for_idle()
            self.runs.append((before, self.told, self.agent.state))

    async def _prompt(self, text: str) -> None:
        with contextlib.suppress(AgentFailed):
            await self.agent.prompt(text)

    def _hear(self, event: AgentEvent) -> None:
        self.told.append(event)

    async def _meddle(self, event: AgentEvent) -> None:
        place, self._steps = self._steps, self._steps + 1
        await anyio.lowlevel.checkpoint()
        if place in self._play.steers:
            self.agent.steer("more")
        at = self._play.aborts_at
        if place in self._play.aborts or (at is not None and isinstance(event, at)):
            self.agent.abort()
        if place in self._play.raises:
            raise RuntimeError("a listener broke")

    async def _hang(self) -> None:
        """For ever, so somebody loses patience."""
        self.agent.abort()
        await anyio.sleep_forever()

    async def _act(self, invocation: Invocation, progress: Progress) -> ToolResult:
        deed = next(self._deeds, "return")
        if deed == "raise":
            raise RuntimeError("a tool broke")
        if deed == "hang":
            await self._hang()
        if deed == "update":
            await progress(ToolResult("half"))
        if deed == "nest":
            return (await self.agent.run_tool_call(call("inner", "nope"))).result
        return ToolResult("ok", terminate=deed == "terminate" or None)


def played(play: Play, backend: str) -> Stage:
    async def scene() -> Stage:
        stage = Stage(play)
        await stage.play()
        return stage

    return run(backend, scene)


# What would seldom be met by chance: a tool that hangs, and an abort that leaves a call without a result.
HANGS = Play([use(call("c0"))], ["hang"], {}, set(), set(), None, set(), False)
LEAVES = Play([use(call("c0"), call("c1"))], [], {}, set(), set(), ToolStarted, set(), False)

BACKENDS = st.sampled_from(["trio", "asyncio"])


@given(plays(), BACKENDS)
@example(HANGS, "trio")
@example(HANGS, "asyncio")
def test_an_agent_always_settles_and_its_events_are_balanced(play: Play, backend: str) -> None:
    """Decisions 34 and 46 g. That it comes here at all says that nothing was left waiting."""
    stage = played(play, backend)
    assert len(stage.runs) == 2
    for _, told, after in stage.runs:
        assert unbalanced(told) is None
        assert (after.is_running, after.streaming_message, after.pending_calls) == (False, None, ())
    assert stage.agent.signal is None


@given(plays(), BACKENDS)
def test_every_call_that_began_ends_once(play: Play, backend: str) -> None:
    for _, told, _ in played(play, backend).runs:
        began = [event.call_id for event in told if isinstance(event, ToolStarted)]
        ended = [event.call_id for event in told if isinstance(event, ToolEnded)]
        assert sorted(began) == sorted(ended)


@given(plays(), BACKENDS)
def test_the_state_is_the_fold_of_the_events_and_of_having_settled(play: Play, backend: str) -> None:
    """At every event and after the end; nothing else changes what an agent is."""
    stage = Stage(play)
    seen: list[tuple[AgentEvent, AgentView]] = []
    stage.agent.subscribe(lambda event: seen.append((event, stage.agent.state)))
    run(backend, stage.play)
    for before, told, after in stage.runs:
        view = started_view(before)
        for event in told:
            view = watch_event(view, event)
            assert seen.pop(0) == (event, view)
        assert settled_view(view) == after


@given(plays(), BACKENDS)
@example(LEAVES, "trio")
@example(LEAVES, "asyncio")
def test_every_model_input_has_one_result_per_call_directly_after_it(play: Play, backend: str) -> None:
    """Decision 15, at the boundary to the provider; the requests of later runs after failures and aborts too."""
    stage = played(play, backend)
    inputs = [list(request.messages) for request in stage.model.requests]
    for messages in (*inputs, list(stage.agent.messages)):
        fitted = fit(Seq(messages), Target("api", "acme", "m1"))
        results = 0
        for place, message in enumerate(fitted):
            if isinstance(message, AssistantMessage):
                wanted = [part.id for part in calls_of(message)]
                following = fitted[place + 1 : place + 1 + len(wanted)]
                assert [m.call_id for m in following if isinstance(m, ToolResultMessage)] == wanted
                assert len(set(wanted)) == len(wanted)
                results += len(wanted)
        assert sum(isinstance(message, ToolResultMessage) for message in fitted) == results


def test_the_plays_go_everywhere() -> None:
    """What the properties above would be worth nothing without."""
    met: set[str] = set()

    @given(plays())
    def look(play: Play) -> None:
        for _, told, after in played(play, "asyncio").runs:
            error = after.error_message or "none"
            met.add(next((word for word in ("listener", "port", "gone", "broke", "abort") if word in error), "fine"))
            met.update(type(event).__name__ for event in told)

    look()
    assert met >= {"listener", "port", "gone", "broke", "abort", "fine", "ToolStarted", "ToolUpdated", "MessageUpdated"}
