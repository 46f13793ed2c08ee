"""The two example policies at work in an agent: what the model sees, what runs, and how it ends."""

from typing import Any

from turnfold.adapters.models.scripted import Reply, ScriptedModel, fail, say
from turnfold.adapters.models.scripted import call as use
from turnfold.core.extensions import Price, Prices
from turnfold.core.extensions.policies import ENGLISH, Allow, PermissionGate, Spend
from turnfold.effects.transcript import SystemMessage, ToolResultMessage, Usage, text_of
from turnfold.effects.values import replace
from turnfold.shells.agent import Agent
from turnfold.shells.agent_hooks import AgentHooks
from turnfold.shells.policies import SpendCeiling

from tests.core.agent.world import brief
from tests.shells.agent.world import Tool, both, noon, run

pytestmark = both

PRICES = Prices({"scripted": Price(0.0, 1.0)})


def costing(reply: Reply, output: int) -> Reply:
    return replace(reply, usage=Usage(output=output * 1_000_000))


def limited(ceiling: float, script: list[Any], tool: Any = None) -> tuple[Agent, SpendCeiling, ScriptedModel]:
    policy, model = SpendCeiling(Spend(ceiling, PRICES)), ScriptedModel(script)
    hooks = AgentHooks(
        prepare_next_turn=policy.prepare_next_turn,
        prepare_request=policy.prepare_request,
        finish_turn=policy.finish_turn,
    )
    return Agent(model, tools=[tool or Tool(noon)], hooks=hooks), policy, model


def briefly(agent: Agent) -> list[str]:
    """The conversation, without the declarations of tools."""
    return [brief(message) for message in agent.messages if not isinstance(message, SystemMessage)]


# --- the permission gate


def test_only_permitted_calls_run_and_the_model_is_told_why(backend: str) -> None:
    async def scene() -> None:
        tool = Tool(noon)
        zones = [use("clock", {"zone": zone}, id=zone) for zone in ("UTC", "Mars")]
        model = ScriptedModel([zones[0] + zones[1] + use("rm", id="rm"), say("it is noon")])
        gate = PermissionGate((Allow("clock", {"zone": lambda zone: zone == "UTC"}),))
        agent = Agent(model, tools=[tool, Tool(noon, "rm")], hooks=AgentHooks(before_tool=gate))
        await agent.prompt("what time is it?")
        assert [invocation.call_id for invocation in tool.invocations] == ["UTC"]
        assert briefly(agent) == [
            "U:what time is it?",
            "A:UTC,Mars,rm",
            "R:UTC:noon",
            "R!Mars",
            "R!rm",
            "A:it is noon",
        ]
        reasons = [text_of(message) for message in agent.messages if isinstance(message, ToolResultMessage)]
        assert reasons[1:] == [
            ENGLISH.arguments_not_permitted.replace("{name}", "clock"),
            ENGLISH.tool_not_permitted.replace("{name}", "rm"),
        ]

    run(backend, scene)


# --- the spend ceiling


def test_below_the_ceiling_a_run_is_as_it_would_be(backend: str) -> None:
    async def scene() -> None:
        agent, policy, _ = limited(10.0, [costing(use("clock", id="a"), 1), costing(say("noon"), 2)])
        await agent.prompt("hi")
        assert briefly(agent) == ["U:hi", "A:a", "R:a:noon", "A:noon"]
        assert policy.spend.spent == 3.0

    run(backend, scene)


def test_beyond_the_ceiling_there_is_one_last_turn_without_tools_and_with_a_notice(backend: str) -> None:
    async def scene() -> None:
        tool = Tool(noon)
        script = [costing(use("clock", id="a"), 5), costing(say("so far"), 1), say("never asked")]
        agent, policy, model = limited(5.0, script, tool)
        agent.follow_up("and then?")
        await agent.prompt("hi")
        assert briefly(agent) == ["U:hi", "A:a", "R:a:noon", "U:" + ENGLISH.last_turn, "A:so far"]
        removed = [message.tools_removed for message in agent.messages if isinstance(message, SystemMessage)]
        assert removed[-1] == ("clock",)
        assert len(model.requests) == 2
        assert agent.has_queued
        assert policy.spend.spent == 6.0

    run(backend, scene)


def test_a_call_in_the_last_turn_does_not_run_and_does_not_prolong_it(backend: str) -> None:
    async def scene() -> None:
        tool = Tool(noon)
        script = [costing(use("clock", id="a"), 5), costing(use("clock", id="b"), 1)]
        agent, _, model = limited(5.0, script, tool)
        await agent.prompt("hi")
        assert [invocation.call_id for invocation in tool.invocations] == ["a"]
        assert briefly(agent)[-1] == "R!b"
        assert len(model.requests) == 2
        assert agent.state.error_message is None

    run(backend, scene)


def test_a_later_run_is_refused_before_the_model_is_asked_until_the_ceiling_is_raised(backend: str) -> None:
    async def scene() -> None:
        agent, policy, model = limited(5.0, [costing(say("dear"), 5), say("again")])
        await agent.prompt("hi")
        await agent.prompt("more")
        assert "spend ceiling of 5 is reached" in str(agent.state.error_message)
        assert len(model.requests) == 1
        policy.spend = replace(policy.spend, ceiling=50.0)
        await agent.prompt("more")
        assert briefly(agent)[-1] == "A:again"

    run(backend, scene)


def test_steering_beyond_the_ceiling_is_answered_in_the_last_turn(backend: str) -> None:
    async def scene() -> None:
        agent, _, model = limited(5.0, [costing(say("dear"), 5), say("bye"), say("never asked")])
        agent.follow_up("one more")
        agent.follow_up("and another")
        await agent.prompt("hi")
        assert briefly(agent) == ["U:hi", "A:dear", "U:" + ENGLISH.last_turn, "U:one more", "A:bye"]
        assert len(model.requests) == 2

    run(backend, scene)


def test_the_tools_are_back_with_the_next_run_if_there_is_money_again(backend: str) -> None:
    async def scene() -> None:
        tool = Tool(noon)
        script = [costing(use("clock", id="a"), 5), say("bye"), use("clock", id="b"), say("noon")]
        agent, policy, _ = limited(5.0, script, tool)
        await agent.prompt("hi")
        policy.spend = replace(policy.spend, ceiling=50.0)
        await agent.prompt("again")
        assert [invocation.call_id for invocation in tool.invocations] == ["a", "b"]

    run(backend, scene)


def test_a_failed_last_turn_grants_no_second_one(backend: str) -> None:
    async def scene() -> None:
        agent, _, model = limited(5.0, [costing(use("clock", id="a"), 5), fail("overloaded"), say("never asked")])
        await agent.prompt("hi")
        await agent.prompt("again")
        assert "spend ceiling" in str(agent.state.error_message)
        assert len(model.requests) == 2

    run(backend, scene)
