"""What cannot be a run, an agent or a part of them is refused in one sentence, before a model is asked."""

import asyncio
from typing import Any, cast

import pytest
from turnfold.adapters.models import FallbackModel, ScriptedModel, say
from turnfold.adapters.models import Retries as FallbackRetries
from turnfold.adapters.models.config import ConfigError
from turnfold.adapters.stores import MemoryStore
from turnfold.adapters.tools import Toolbox, tool
from turnfold.effects.feed import InputMessage
from turnfold.effects.transcript import CallPart
from turnfold.shells import Agent, AgentHooks, Host, Limits, Retries, Runtime, SpecError
from turnfold.shells.agent_hooks import Update


def plain(text: str) -> str:
    return text


@tool
def add(one: int, other: int) -> int:
    """Add."""
    return one + other


async def execute(store: MemoryStore, **members: Any) -> None:
    ports = {"model": ScriptedModel([say("hi")]), "feed": store.feed("talk"), "journal": store.journal("run")}
    await Runtime().run(**cast("Any", {"run_id": "run", **ports, **members}))


PLAIN = "tools[0] is a plain function (plain): decorate it with @tool"
ONE_TOOL = "tools must be a list, even of one tool: tools=[...], not turnfold.adapters.tools.function.FunctionTool"
NO_MODEL = "model must have a stream method, such as make_model(...) gives, not str"


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"tools": [plain]}, PLAIN),
        ({"tools": [add, object()]}, "tools[1] must be a tool, with a spec and a run method, not object"),
        ({"tools": [type(add)]}, "tools[0] is the class FunctionTool: make one of it"),
        ({"tools": add}, ONE_TOOL),
        ({"model": "openai/gpt"}, NO_MODEL),
        ({"model": ScriptedModel}, "model is the class ScriptedModel: make one of it"),
        ({"feed": "talk"}, "feed must have a claim method, such as store.feed(...) gives, not str"),
        ({"journal": "run"}, "journal must have a begin method, such as store.journal(...) gives, not str"),
        ({"run_id": 5}, "run_id must be str, not int"),
        ({"instruction": None}, "instruction must be str, not None"),
        ({"host": {}}, "host must be Host, not dict"),
        ({"limits": {"cost": 1}}, "limits must be turnfold.shells.Limits, not dict"),
        ({"limits": Limits(cost=cast("Any", "1"))}, "Limits.cost must be a number, not '1'"),
        ({"limits": Limits(cost=float("nan"))}, "Limits.cost must be a number, not nan"),
        ({"limits": Limits(tokens=cast("Any", 1.5))}, "Limits.tokens must be a whole number, not 1.5"),
        ({"limits": Limits(turns=True)}, "Limits.turns must be a whole number, not True"),
        ({"retries": 3}, "retries must be turnfold.shells.Retries, not int"),
        (
            {"retries": FallbackRetries()},
            "retries must be turnfold.shells.Retries, not turnfold.adapters.models.fallback.Retries",
        ),
    ],
)
async def test_a_run_that_cannot_be_is_refused_before_it_begins(members: dict[str, Any], text: str) -> None:
    with MemoryStore() as store:
        await store.append("talk", InputMessage("hi"))
        with pytest.raises(SpecError) as refused:
            await execute(store, **members)
        assert str(refused.value) == text
        assert await store.load("run") is None


async def test_tools_may_come_one_by_one() -> None:
    with MemoryStore() as store:
        await store.append("talk", InputMessage("hi"))
        model = ScriptedModel([say("hi")])
        await execute(store, model=model, tools=(one for one in [add]))
        assert [declared.name for declared in model.requests[0].tools] == ["add"]


def test_a_durable_run_outside_of_trio_says_where_it_can_be() -> None:
    with MemoryStore() as store:
        for ask in (lambda: execute(store), lambda: Runtime().cancel("run", store.journal("run"))):
            with pytest.raises(SpecError, match=r"^durable runs need trio: trio\.run\(\.\.\.\), or asyncio\.to_thread"):
                asyncio.run(ask())


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"tools": [plain]}, PLAIN),
        ({"tools": add}, ONE_TOOL),
        ({"model": "gpt"}, NO_MODEL),
        ({"models": {"b": "gpt"}}, "models['b'] must have a stream method, such as make_model(...) gives, not str"),
        ({"hooks": {}}, "hooks must be turnfold.shells.AgentHooks, not dict"),
        ({"limits": Limits()}, "limits must be turnfold.core.agent.Limits, not turnfold.core.run.spec.Limits"),
    ],
)
def test_an_agent_that_cannot_be_is_refused(members: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as refused:
        Agent(**members)
    assert str(refused.value) == text


def test_tools_are_looked_at_wherever_they_are_given() -> None:
    agent = Agent(ScriptedModel([say("hi")]))
    with pytest.raises(TypeError, match="plain function"):
        agent.tools = cast("Any", [plain])
    with pytest.raises(TypeError, match="plain function"):
        Toolbox(cast("Any", [plain]))
    with pytest.raises(TypeError, match="plain function"):
        asyncio.run(agent.run_tool_call(CallPart("c", "plain", "{}"), tools=cast("Any", [plain])))
    agent.hooks = AgentHooks(prepare_request=lambda order: Update(tools=cast("Any", [plain])))
    asyncio.run(agent.prompt("hi"))
    assert agent.state.error_message == PLAIN


def test_a_thinking_level_that_is_none_is_refused_when_it_is_set() -> None:
    text = "the thinking level must be one of off, minimal, low, medium, high, xhigh, max, not 'hgih'"
    agent = Agent(thinking_level="xhigh")
    with pytest.raises(ValueError, match=text):
        Agent(thinking_level="hgih")
    with pytest.raises(ValueError, match=text):
        agent.thinking_level = "hgih"
    with pytest.raises(ValueError, match=text):
        Update(thinking_level="hgih")
    assert agent.thinking_level == "xhigh"
    assert Update(thinking_level="").thinking_level == ""


def test_the_retries_of_a_run_are_none_of_a_fallback() -> None:
    text = r"^retries must be turnfold\.adapters\.models\.Retries, not turnfold\.core\.run\.spec\.Retries$"
    with pytest.raises(ConfigError, match=text):
        FallbackModel([ScriptedModel([])], cast("Any", Retries()))
    with pytest.raises(ConfigError, match=r"a list, even of one: FallbackModel\(\[model\]\)$"):
        FallbackModel(cast("Any", ScriptedModel([])))


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"guard": lambda view: None}, r"^Host.guard must be an object with async def review\(.*, not function$"),
        ({"fallback": "x"}, "^Host.fallback must be a function, not str$"),
        ({"policies": {"add": True}}, r"^Host.policies\['add'\] must be a function, not bool$"),
        ({"record_names": {"add": "x"}}, r"^Host.record_names\['add'\] must be a function, not str$"),
    ],
)
def test_a_host_that_cannot_be_asked_is_refused(members: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Host(**members)
