"""Many tools behind one port."""

import pytest
from turnfold.adapters.tools import Toolbox, ToolDefinitionError, UnknownToolError, tool
from turnfold.effects.tool import Invocation, ToolPort, ToolResult


async def nowhere(update: ToolResult) -> None: ...


@tool
async def add(a: int, b: int) -> int:
    return a + b


@tool
def shout(text: str) -> str:
    return text.upper()


async def test_a_call_goes_to_the_tool_of_its_name() -> None:
    port: ToolPort = Toolbox([add, shout])
    assert await port.run(Invocation("1", "add", {"a": 1, "b": 2}), nowhere) == ToolResult("3", structured=3)
    assert await port.run(Invocation("2", "shout", {"text": "hey"}), nowhere) == ToolResult("HEY")


def test_specs_keep_the_order_in_which_tools_were_given() -> None:
    box = Toolbox([shout, add])
    assert box.specs == (shout.spec, add.spec)
    assert "add" in box
    assert "subtract" not in box


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="another one in the toolbox has that name") as caught:
        Toolbox([add, shout, tool(name="add")(lambda: None)])
    assert caught.value.function == "add"


async def test_an_unknown_tool_is_an_error_of_the_call() -> None:
    with pytest.raises(UnknownToolError, match="there is no tool 'subtract'"):
        await Toolbox([add]).run(Invocation("1", "subtract", {}), nowhere)
