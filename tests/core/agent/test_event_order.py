"""Which events a run tells, in which order: one row for each way a run can go.

``+`` and ``-`` are the beginning and the end of a message (``U`` of a user, ``A`` an answer, ``R`` a result, ``S`` a
system message; ``!`` is an error), ``~`` is an update, ``tool+``, ``tool~`` and ``tool-`` are a call.
"""

from typing import Any

import pytest
from turnfold.effects.agent import FinishAction, MessageStarted, TurnUpdate
from turnfold.effects.agent_vocabulary import AbortAsked
from turnfold.effects.hook import (
    BeforeTool,
    Block,
    ConvertToModel,
    FinishTurn,
    PollFollowUps,
    PollSteering,
    PrepareNextTurn,
)
from turnfold.effects.model import BlockDelta, BlockEnded, BlockStarted, DeltaKind, Started, StreamFinished
from turnfold.effects.tool import ToolResult
from turnfold.effects.transcript import AssistantMessage, StopReason, SystemMessage, ToolDeclaration

from tests.core.agent.world import ALL_HOOKS, NOW, Broken, World, answer, call, rules, tool, user

LOOP = rules(*ALL_HOOKS)
ONE_BY_ONE = rules(*ALL_HOOKS, sequential=True)
KNOWN = (SystemMessage("", tools_added=(ToolDeclaration("clock"),), timestamp=1),)
TEXT = (Started("api", "acme", "m1"), BlockStarted(0, DeltaKind.TEXT), BlockDelta(0, "so"), BlockEnded(0))
DONE = ToolResult("ok", terminate=True)
HALF = [ToolResult("half"), ToolResult("ok")]
CUT = "agent+ turn+ +U:hi -U:hi +A:a,b -A:a,b tool+a tool!a"

BEGIN = "agent+ turn+ +U:hi -U:hi"
END = "+A:done -A:done turn- agent-"
NEXT = f"turn- turn+ {END}"


def told(way: str, **members: Any) -> Any:
    return pytest.param(members.pop("events"), members, id=way)


PATHS = [
    told("plain text", events=f"{BEGIN} {END}"),
    told("streamed text", answers=[(*TEXT, StreamFinished())], events=f"{BEGIN} +A: ~ ~ ~ -A:so turn- agent-"),
    told("tools differ from the history", history=(), events=f"agent+ turn+ +S: -S: +U:hi -U:hi {END}"),
    told("going on", prompt=None, history=(*KNOWN, user("hi")), events=f"agent+ turn+ {END}"),
    told(
        "going on with other tools and with steering",
        prompt=None,
        history=(user("hi"),),
        hooks={PollSteering: [[user("psst")]]},
        events=f"agent+ turn+ +S: -S: +U:psst -U:psst {END}",
    ),
    told(
        "one call",
        answers=[answer(call("a"))],
        outcomes={"a": HALF},
        events=f"{BEGIN} +A:a -A:a tool+a tool~a tool-a +R:a:ok -R:a:ok {NEXT}",
    ),
    told(
        "one call, one by one",
        rules=ONE_BY_ONE,
        answers=[answer(call("a"))],
        outcomes={"a": HALF},
        events=f"{BEGIN} +A:a -A:a tool+a tool~a tool-a +R:a:ok -R:a:ok {NEXT}",
    ),
    told(
        "two calls, one by one",
        rules=ONE_BY_ONE,
        answers=[answer(call("a"), call("b"))],
        outcomes={"b": HALF},
        events=f"{BEGIN} +A:a,b -A:a,b tool+a tool-a +R:a:ok -R:a:ok tool+b tool~b tool-b +R:b:ok -R:b:ok {NEXT}",
    ),
    told(
        "two calls together",
        answers=[answer(call("a"), call("b"))],
        outcomes={"a": HALF},
        events=f"{BEGIN} +A:a,b -A:a,b tool+a tool+b tool~a tool-a tool-b +R:a:ok -R:a:ok +R:b:ok -R:b:ok {NEXT}",
    ),
    told(
        "two calls together, the first settles at once",
        answers=[answer(call("a", "nope"), call("b"))],
        events=f"{BEGIN} +A:a,b -A:a,b tool+a tool!a tool+b tool-b +R!a -R!a +R:b:ok -R:b:ok {NEXT}",
    ),
    told(
        "blocked for good",
        answers=[answer(call("a"))],
        hooks={BeforeTool: [Block("no", terminate=True)]},
        events=f"{BEGIN} +A:a -A:a tool+a tool!a +R!a -R!a turn- agent-",
    ),
    told(
        "all results terminate",
        answers=[answer(call("a"), call("b"))],
        outcomes={"a": DONE, "b": DONE},
        events=f"{BEGIN} +A:a,b -A:a,b tool+a tool+b tool-a tool-b +R:a:ok -R:a:ok +R:b:ok -R:b:ok turn- agent-",
    ),
    told(
        "one result terminates",
        answers=[answer(call("a"), call("b"))],
        outcomes={"a": DONE},
        events=f"{BEGIN} +A:a,b -A:a,b tool+a tool+b tool-a tool-b +R:a:ok -R:a:ok +R:b:ok -R:b:ok {NEXT}",
    ),
    told(
        "steering after a turn",
        answers=[answer("so")],
        hooks={PollSteering: [[], [user("wait")]]},
        events=f"{BEGIN} +A:so -A:so turn- turn+ +U:wait -U:wait {END}",
    ),
    told(
        "a follow-up",
        answers=[answer("so")],
        hooks={PollFollowUps: [[user("more")]]},
        events=f"{BEGIN} +A:so -A:so turn- turn+ +U:more -U:more {END}",
    ),
    told(
        "an explicit wish to go on",
        answers=[answer("so")],
        hooks={FinishTurn: [FinishAction.CONTINUE]},
        events=f"{BEGIN} +A:so -A:so {NEXT}",
    ),
    told(
        "an explicit wish to go on, with a prepared message and other tools",
        answers=[answer("so")],
        hooks={
            FinishTurn: [FinishAction.CONTINUE],
            PrepareNextTurn: [TurnUpdate(messages=(user("note"),), tools=(tool("clock"), tool("map")))],
        },
        events=f"{BEGIN} +A:so -A:so turn- turn+ +S: -S: +U:note -U:note {END}",
    ),
    told(
        "a decision to end",
        answers=[answer(call("a"))],
        hooks={FinishTurn: [FinishAction.END], PollFollowUps: [[user("x")]]},
        events=f"{BEGIN} +A:a -A:a tool+a tool-a +R:a:ok -R:a:ok turn- agent-",
    ),
    told(
        "a failed answer",
        answers=[answer("oh", stop=StopReason.ERROR)],
        hooks={FinishTurn: [FinishAction.CONTINUE], PollFollowUps: [[user("x")]]},
        events=f"{BEGIN} +A!oh -A!oh turn- agent-",
    ),
    told(
        "an aborted answer",
        answers=[answer("oh", stop=StopReason.ABORTED)],
        events=f"{BEGIN} +A!oh -A!oh turn- agent-",
    ),
    told(
        "calls of an answer that was cut off at its length",
        answers=[answer(call("a"), call("b"), stop=StopReason.LENGTH)],
        events=f"{BEGIN} +A:a,b -A:a,b tool+a tool!a +R!a -R!a tool+b tool!b +R!b -R!b {NEXT}",
    ),
    told(
        "an answer without calls that was cut off at its length",
        answers=[answer("so", stop=StopReason.LENGTH)],
        events=f"{BEGIN} +A:so -A:so turn- agent-",
    ),
    told("a hook that raises", hooks={ConvertToModel: [Broken("no")]}, events=BEGIN),
    told("a listener that raises", breaks=frozenset({1}), events="agent+ turn+"),
]


@pytest.mark.parametrize(("events", "members"), PATHS)
def test_the_events_of_every_way_come_in_this_order(events: str, members: dict[str, Any]) -> None:
    members = {"rules": LOOP, "history": KNOWN, **members}
    prompt = members.pop("prompt", "hi")
    world = World(**members)
    world = world.continue_() if prompt is None else world.prompt(prompt)
    assert [line for line in world.timeline if not line[0].isupper()] == events.split(" ")


@pytest.mark.parametrize("sequential", [True, False])
def test_after_an_abort_between_two_calls_the_second_is_not_told_of(sequential: bool) -> None:
    """The next request is made all the same: a model that is asked after an abort answers as aborted."""

    def abort(world: World, event: Any) -> None:
        if len(world.events) == 7:
            world.inbox.append(AbortAsked(NOW))

    members = {"rules": rules(*ALL_HOOKS, sequential=sequential), "history": KNOWN, "on_event": abort}
    world = World(answers=[answer(call("a"), call("b")), answer(stop=StopReason.ABORTED)], **members).prompt("hi")
    told_of = [line for line in world.timeline if not line[0].isupper()]
    assert told_of == f"{CUT} +R!a -R!a turn- turn+ +A! -A! turn- agent-".split(" ")


def test_every_request_declares_the_tools_it_may_call() -> None:
    """After each batch the host exchanges the tools; every request is told of it before the model is asked."""
    updates = [TurnUpdate(tools=(tool(name),)) for name in ("map", "pen")]
    answers = [answer(call("a")), answer(call("b", "map"))]
    world = World(LOOP, answers, {PrepareNextTurn: updates}).prompt("hi")
    declared = [
        [(m.tools_added, m.tools_removed) for m in order.request.messages if isinstance(m, SystemMessage)]
        for order in world.requests
    ]
    first, second, third = ((ToolDeclaration(name),) for name in ("clock", "map", "pen"))
    changes = [(first, None), (second, ("clock",)), (third, ("map",))]
    assert declared == [changes[:1], changes[:2], changes]


def test_the_messages_of_a_run_are_given_back_in_the_order_in_which_they_were_told() -> None:
    hooks = {
        PollSteering: [[user("early")], [], [user("late")]],
        PollFollowUps: [[user("more")]],
        PrepareNextTurn: [TurnUpdate(messages=(user("note"),))],
    }
    world = World(LOOP, [answer(call("a"))], hooks).prompt("hi")
    begun = [event.message for event in world.events if isinstance(event, MessageStarted)]
    assert list(world.settled.messages) == begun
    assert isinstance(begun[-1], AssistantMessage)
    assert world.added == [
        "S:", "U:hi", "U:early", "A:a", "R:a:ok", "U:note", "U:late", "A:done", "U:more", "A:done",
    ]  # fmt: skip
