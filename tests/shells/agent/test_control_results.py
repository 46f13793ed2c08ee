"""Answers that only a durable run can carry out: in an agent they fail the call with a text that says so."""

from typing import Any

import pytest
from turnfold.adapters.tools import tool
from turnfold.effects.tool import Await, Complete, Detached, Invocation
from turnfold.effects.transcript import ToolResultMessage, text_of
from turnfold.shells.agent import Agent

from tests.shells.agent.world import Model, Tool, both, call, run, say, use

pytestmark = both


@pytest.mark.parametrize("answer", [Await({"op": 1}), Detached("receipt"), Complete({"v": 1}, fixed=True)])
def test_an_agent_cannot_hand_a_call_over(backend: str, answer: Any) -> None:
    """Decision 42: the model is told which answer it was and what it takes; the agent goes on."""

    async def body(invocation: Invocation, progress: Any) -> Any:
        return answer

    async def scene() -> None:
        model = Model(use(call("a")), say("a pity"))
        agent = Agent(model, tools=[Tool(body)])
        await agent.prompt("go")
        text = f"the tool answered with {type(answer).__name__}, which only a durable run can carry out"
        assert _story(agent) == ["go", "", text, "a pity"]

    run(backend, scene)


def test_a_function_that_would_wait_is_told_that_it_cannot(backend: str) -> None:
    """Decision 18: in an agent nobody waits for anybody outside."""

    @tool
    async def ask() -> Await:
        return Await({"q": "?"})

    async def scene() -> None:
        model = Model(use(call("a", "ask")), say("a pity"))
        agent = Agent(model, tools=[ask])
        await agent.prompt("go")
        text = "the tool asked to wait for an outside result, which is not possible here"
        assert _story(agent) == ["go", "", text, "a pity"]

    run(backend, scene)


def _story(agent: Agent) -> list[str]:
    """The texts of the conversation, of which the result must be an error."""
    messages = list(agent.messages)[1:]
    assert [message.is_error for message in messages if isinstance(message, ToolResultMessage)] == [True]
    return [text_of(message) for message in messages]
