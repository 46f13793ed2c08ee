"""An agent in fifteen lines: a tool, a hook that may stop it, and a word from the side while it works.

README.md quotes this and shows what it prints. The model is a script, so that it needs neither key nor network.
"""

import asyncio

from turnfold.adapters.models import ScriptedModel, call, say
from turnfold.adapters.tools import tool
from turnfold.effects.agent import AgentEvent, MessageEnded, ToolStarted
from turnfold.effects.hook import BeforeTool, Block
from turnfold.effects.transcript import text_of
from turnfold.shells import Agent, AgentHooks

ANSWERS = [call("weather", {"city": "Bergen"}), call("weather", {"city": "Paris"}), say("In Bergen, yes.")]


@tool
async def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def permit(order: BeforeTool) -> Block | None:
    return None if order.arguments["city"] == "Bergen" else Block("We only know Norway.")


def listen(event: AgentEvent) -> None:
    match event:
        case ToolStarted(arguments=arguments) if "Bergen" in arguments:
            agent.steer("And in Paris?")
        case MessageEnded(message=message) if text_of(message):
            print(f"{type(message).__name__}: {text_of(message)}")


agent = Agent(ScriptedModel(ANSWERS), tools=[weather], hooks=AgentHooks(before_tool=permit))
agent.subscribe(listen)
asyncio.run(agent.prompt("Do I need an umbrella in Bergen?"))
