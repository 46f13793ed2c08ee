"""The table of moves is all there is: every phase meets every event, and what is no row is illegal."""

from typing import Any, get_args

import pytest
from turnfold.core.agent import ANSWERS, MOVES, AgentFold, AgentState, IllegalEvent, table
from turnfold.core.agent.state import Acting, CallPhase, Phase
from turnfold.effects.agent import Context, Rewrite, ToolStarted
from turnfold.effects.agent_vocabulary import AgentInput, AgentOrder, Prompted, SinkFailed
from turnfold.effects.hook import Proceed
from turnfold.effects.tool import ToolResult
from turnfold.effects.transcript import AssistantMessage

from tests.core.agent.world import ALL_HOOKS, NOW, World, answer, call, rules, tool, user

EVENTS = get_args(AgentInput)
STORY_TOOLS = (tool("clock", prepares=True),)


def visited() -> list[AgentState]:
    """A state for every phase a run and its calls pass, and one that fails."""
    states: list[AgentState] = []
    held: list[Any] = []
    world = World(
        rules(*ALL_HOOKS, told=True),
        [answer(call("a"), call("b", "nope")), answer("done")],
        tools=STORY_TOOLS,
        held=lambda order: True,
    )
    states.append(world.start())
    world.feed(Prompted(NOW, (user("hi"),)))
    while world.settled is None:
        states.append(world.state)
        held, world.waiting = world.waiting, []
        for order in held:
            world._answer(order)
        if not world.inbox:
            break
        while world.inbox:
            world._fold(world.inbox.popleft())
            states.append(world.state)
    failing = World(rules(told=True), held=lambda order: True)
    failing.prompt("hi")
    fold = AgentFold(failing.rules)
    states.append(fold.reduce(failing.state, SinkFailed(NOW, ToolStarted("a", "b", ""), "x"))[0])
    return states


STATES = {}
for one in visited():
    STATES.setdefault(type(one.phase), one)
    if isinstance(one.phase, Acting):
        for live in one.phase.live.values():
            STATES.setdefault(type(live), one)


def make(kind: type, ticket: int) -> Any:
    """An event of a kind, about a ticket."""
    members: dict[str, Any] = {"at": NOW, "ticket": ticket}
    extra: dict[str, Any] = {
        "messages": (),
        "change": Rewrite(0),
        "arguments": {},
        "decision": Proceed(),
        "message": "x",
        "deltas": (),
        "update": ToolResult(),
        "result": ToolResult(),
        "event": ToolStarted("a", "b", ""),
        "call": call("a"),
    }
    names = {field.name for field in kind.__attrs_attrs__}
    members |= {name: value for name, value in extra.items() if name in names}
    if kind.__name__ == "CallAsked":
        members["message"] = AssistantMessage()
    if kind.__name__ in ("NextTurnReturned", "RequestReturned"):
        members["update"] = None
    return kind(**{name: value for name, value in members.items() if name in names})


def test_every_phase_is_visited() -> None:
    assert set(get_args(Phase)) | set(get_args(CallPhase)) - _fleeting() <= set(STATES) | _fleeting()


def _fleeting() -> set[type]:
    """Phases that no run is in between two events, unless several calls run together."""
    return {phase for phase in get_args(CallPhase) if phase.__name__ in ("CallReady",)}


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_an_event_is_a_row_or_illegal_and_leaves_the_state_untouched(kind: type) -> None:
    for state in dict.fromkeys(map(id, STATES.values())):
        before = next(one for one in STATES.values() if id(one) == state)
        for ticket in (*before.tickets.in_flight, 999):
            event = make(kind, ticket)
            rows = {(event_kind, phase) for region in MOVES.values() for event_kind, phase in region}
            phases = [type(before.phase)]
            asked = before.tickets.in_flight.get(ticket)
            if asked is not None and isinstance(before.phase, Acting) and asked[1] >= 0:
                phases.append(type(before.phase.live[asked[1]]))
            legal = any((kind, phase) in rows for phase in phases)
            if kind in ANSWERS:
                legal = legal and asked is not None and asked[0] in ANSWERS[kind]
            fold = AgentFold(rules(*ALL_HOOKS, told=True))
            copy = repr(before)
            if legal:
                fold.reduce(before, event)
            else:
                with pytest.raises(IllegalEvent):
                    fold.reduce(before, event)
            assert repr(before) == copy


def test_every_answer_is_of_an_order_that_there_is() -> None:
    orders = set(get_args(AgentOrder))
    assert {order for answered in ANSWERS.values() for order in answered} <= orders
    assert set(ANSWERS) <= set(EVENTS)


def test_every_event_has_a_row() -> None:
    assert {event for region in MOVES.values() for event, _ in region} == set(EVENTS)


def test_the_table_prints_every_row() -> None:
    printed = table()
    for region, rows in MOVES.items():
        assert f"**{region}**" in printed
        for (event, phase), move in rows.items():
            assert any(
                line.startswith(f"| {event.__name__} |") and phase.__name__ in line and move.does in line
                for line in printed.splitlines()
            )


def test_a_fresh_state_knows_its_conversation() -> None:
    state = AgentFold(rules()).start(Context())
    with pytest.raises(IllegalEvent, match="while Unstarted"):
        AgentFold(rules()).reduce(state, SinkFailed(NOW, ToolStarted("a", "b", ""), "x"))
