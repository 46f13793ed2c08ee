"""The world that most tests here use: three tools, a batch in parallel, a batch one by one, and a text."""

from turnfold.core.run import RunSpec
from turnfold.effects.feed import InputMessage
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ToolDeclaration
from turnfold.effects.values import replace
from turnfold.shells.simulate import NO_TROUBLE, Scenario, Trouble, calls, says

# A call of ``charge`` must not be repeated, and a batch with one runs one call at a time.
TOOLS = (
    ToolSpec(ToolDeclaration("lookup"), replayable=True),
    ToolSpec(ToolDeclaration("charge"), side_effects=True, sequential=True),
    ToolSpec(ToolDeclaration("crawl")),
)

DEMO = Scenario(
    outputs=(
        calls(("lookup", '{"of": "price"}'), ("crawl", "{}"), ("lookup", "{}"), text="Let me look."),
        calls(("charge", '{"cents": 100}'), ("lookup", "{}"), ("charge", '{"cents": 5}'), thought="cheap enough"),
        says("Bought it."),
    ),
    spec=RunSpec("run", instruction="Be brief.", tools=TOOLS),
    later=(InputMessage("and the other one", "2"),),
)

# The smallest world in which something can be done twice.
ONE_CHARGE = Scenario(outputs=(calls(("charge", "{}")), says("Done.")), spec=RunSpec("run", tools=TOOLS))


def troubled(scenario: Scenario, *troubles: Trouble) -> Scenario:
    """The scenario with these troubles, or with all."""
    return replace(scenario, troubles=frozenset(troubles or Trouble))


def calm(scenario: Scenario) -> Scenario:
    """The scenario without troubles."""
    return replace(scenario, troubles=NO_TROUBLE)
