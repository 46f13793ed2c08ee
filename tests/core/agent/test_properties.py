"""What holds for any script, any failure and any abort: the events are balanced, the run settles, nothing is random."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.agent import (
    AgentFold,
    AgentRules,
    Hook,
    IllegalEvent,
    Limits,
    settled_view,
    started_view,
    watch_event,
)
from turnfold.core.agent.view import first_view
from turnfold.core.loop import EMPTY_PARTIAL, fold_deltas
from turnfold.effects.agent import (
    Context,
    FinishAction,
    MessageEnded,
    MessageUpdated,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnUpdate,
)
from turnfold.effects.agent_vocabulary import AbortAsked
from turnfold.effects.hook import (
    AfterTool,
    BeforeTool,
    Block,
    FinishTurn,
    PollFollowUps,
    PollSteering,
    PrepareNextTurn,
    PrepareRequest,
    ResultPatch,
    TransformContext,
)
from turnfold.effects.model import BlockDelta, BlockEnded, BlockStarted, CallModel, DeltaKind, Started, StreamFinished
from turnfold.effects.sequence import Seq
from turnfold.effects.tool import ToolResult
from turnfold.effects.transcript import AssistantMessage, Message, StopReason, ToolResultMessage, calls_of
from turnfold.effects.transcript.boundary import Target, fit

from tests.core.agent.balance import unbalanced
from tests.core.agent.world import Broken, World, answer, call, tool, user
from tests.rules.purity import pure

TOOLS = (tool("clock"), tool("safe", sequential=True), tool("odd", prepares=True))
broken = st.just(Broken("no luck"))


def rarely(value: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """A few replies, mostly nothing."""
    return st.lists(st.one_of(st.none(), st.none(), value), max_size=4)


@st.composite
def streamed(draw: st.DrawFn) -> tuple[Any, ...]:
    """An answer in pieces."""
    deltas: list[Any] = [Started("api", "acme", "m1")] if draw(st.booleans()) else []
    calls = 0
    for index in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            deltas += [BlockStarted(index, DeltaKind.TEXT), BlockDelta(index, draw(st.text(max_size=3)))]
        else:
            calls += 1
            name = draw(st.sampled_from(["clock", "safe", "odd", "nope"]))
            deltas += [BlockStarted(index, DeltaKind.CALL, f"s{index}", name), BlockDelta(index, "{}")]
        deltas += [BlockEnded(index)] if draw(st.booleans()) else []
    return (*deltas, StreamFinished(StopReason.TOOL_USE if calls else StopReason.STOP))


whole = st.builds(
    lambda names, stop: answer("said", *(call(f"c{n}", name) for n, name in enumerate(names)), stop=stop),
    st.lists(st.sampled_from(["clock", "safe", "odd", "nope"]), max_size=4),
    st.sampled_from([None, None, None, StopReason.LENGTH, StopReason.ERROR, StopReason.ABORTED]),
)
results = st.builds(ToolResult, st.just("ok"), st.booleans(), terminate=st.sampled_from([None, True, False]))
outcomes = st.one_of(results, broken, st.lists(results, min_size=2, max_size=3))
messages = st.just([user("more")])


# Made once: what is made anew for each world is looked through anew, which takes longer than to draw from it.
SCRIPTS = {
    PollSteering: rarely(st.one_of(messages, broken)),
    PollFollowUps: rarely(st.one_of(messages, broken)),
    PrepareNextTurn: rarely(st.one_of(st.just(TurnUpdate(messages=(user("p"),), tools=TOOLS[:1])), broken)),
    PrepareRequest: rarely(st.one_of(st.just(TurnUpdate(thinking_level="high")), broken)),
    TransformContext: rarely(broken),
    BeforeTool: rarely(st.one_of(st.just(Block("no", True)), broken)),
    AfterTool: rarely(st.one_of(st.just(ResultPatch(terminate=True)), broken)),
    FinishTurn: rarely(st.one_of(st.sampled_from(list(FinishAction)), broken)),
}
HOOKS = st.sets(st.sampled_from(list(Hook)))
ABORTS = st.one_of(st.none(), st.integers(0, 40), st.sampled_from([ToolStarted, ToolEnded]))
ANSWERS = st.lists(st.one_of(whole, whole, streamed(), broken), min_size=1, max_size=4)
BREAKS = st.sets(st.integers(0, 24), max_size=2)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A world with any script."""
    hooks = frozenset(draw(HOOKS))
    rules = AgentRules(
        hooks=hooks, sequential=draw(st.booleans()), told=True, limits=Limits(parallel=draw(st.integers(0, 2)))
    )
    scripts = {poll: draw(script) for poll, script in SCRIPTS.items()}
    abort_at = draw(ABORTS)
    break_at = draw(st.sampled_from([None, None, ToolStarted, ToolUpdated, ToolEnded]))

    def on_event(world: World, event: Any) -> None:
        if len(world.events) == abort_at or (isinstance(abort_at, type) and isinstance(event, abort_at)):
            world.inbox.append(AbortAsked(1_000))
        if break_at is not None and isinstance(event, break_at):
            world.breaks |= {len(world.events) - 1}

    return World(
        rules,
        draw(ANSWERS),
        scripts,
        {f"{kind}{n}": draw(outcomes) for kind in "cs" for n in range(4)},
        breaks=frozenset(draw(BREAKS)),
        tools=TOOLS,
        on_event=on_event,
    )


@given(worlds())
def test_events_are_balanced_and_the_run_settles(world: World) -> None:
    """Decisions 34 and 46 g."""
    world.prompt("hi")
    assert unbalanced(world.events) is None
    assert world.settled is not None
    assert not world.state.tickets.in_flight


@given(worlds())
def test_every_call_that_began_ends_once(world: World) -> None:
    world.prompt("hi")
    began = [event.call_id for event in world.events if isinstance(event, ToolStarted)]
    ended = [event.call_id for event in world.events if isinstance(event, ToolEnded)]
    assert sorted(began) == sorted(ended)


@given(worlds())
def test_the_same_events_give_the_same_effects_and_touch_nothing(world: World) -> None:
    world.prompt("hi")
    fold = AgentFold(world.rules)
    state = fold.start(Context(Seq(world.history), world.tools), world.model, world.thinking)
    for event, effects in world.trace:
        with pure():
            state, again = fold.reduce(state, event)
        assert again == effects
    assert state == world.state


left_open = st.lists(
    st.sampled_from(
        [
            AssistantMessage((call("h1"), call("h2")), stop=StopReason.TOOL_USE),
            ToolResultMessage("h1", "clock", "ok"),
            ToolResultMessage("h2", "clock", "ok"),
            user("never mind"),
        ]
    ),
    max_size=5,
)


@given(worlds(), left_open)
def test_every_model_input_has_one_result_per_call_directly_after_it(world: World, history: list[Message]) -> None:
    """Decision 15, at the boundary to the provider; also of calls that an earlier run left open, or answered twice."""
    world.history = tuple(history)
    world.prompt("hi")
    inputs = [list(order.request.messages) for order in world.requests]
    for messages in (*inputs, history, list(world.state.talk.messages)):
        fitted = fit(messages, Target("api", "acme", "m1"))
        asked = 0
        for place, message in enumerate(fitted):
            if isinstance(message, AssistantMessage):
                wanted = [part.id for part in calls_of(message)]
                following = fitted[place + 1 : place + 1 + len(wanted)]
                assert sorted(m.call_id for m in following if isinstance(m, ToolResultMessage)) == sorted(wanted)
                asked += len(wanted)
        assert sum(isinstance(message, ToolResultMessage) for message in fitted) == asked


@given(worlds())
def test_the_view_is_the_fold_of_the_events_and_of_having_settled(world: World) -> None:
    world.prompt("hi")
    view = started_view(first_view(Seq(), world.tools, "", None, "off"))
    said = []
    for event in world.events:
        view = watch_event(view, event)
        said += [event.message] if isinstance(event, MessageEnded) else []
    view = settled_view(view)
    assert list(view.messages)[1:] == said
    if world.settled.failure is None:
        # What listeners were told is what the run itself went on with.
        assert list(world.state.talk.messages) == said
    assert (view.is_running, view.streaming_message, view.pending_calls) == (False, None, ())


@given(streamed())
def test_a_partial_answer_is_the_fold_of_its_deltas(deltas: tuple[Any, ...]) -> None:
    world = World(answers=[deltas], tools=TOOLS).prompt("hi")
    answers = [event for event in world.events if isinstance(event, MessageUpdated)]
    partial = EMPTY_PARTIAL
    told = iter(answers)
    for delta in deltas if answers else ():
        partial, _, _ = fold_deltas(partial, (delta,))
        if isinstance(delta, BlockStarted | BlockDelta | BlockEnded):
            assert next(told).message == partial.message
    assert next(told, None) is None


@given(worlds(), st.data())
def test_an_answer_nobody_asked_for_is_illegal_and_changes_nothing(world: World, data: st.DataObject) -> None:
    world.prompt("hi")
    event = data.draw(st.sampled_from([event for event, _ in world.trace if hasattr(event, "ticket")] or [None]))
    if event is None:
        return
    before = world.state
    try:
        AgentFold(world.rules).reduce(before, event)
    except IllegalEvent:
        assert world.state is before
    else:
        raise AssertionError(event)


def test_a_request_costs_the_same_in_a_long_conversation() -> None:
    """Linear: nothing but the new messages is looked at for a request; counted, not timed."""
    answers = [answer(call("a")) for _ in range(300)]
    world = World(AgentRules(hooks=frozenset([Hook.TRANSFORM_CONTEXT])), answers).prompt("hi")
    requests = [effect.request.context for effect in world.effects if isinstance(effect, CallModel)]
    assert len(requests) == 301
    # Every request shares the one growing list: none was copied, none was filtered.
    assert len({id(context._backing) for context in requests}) == 1
