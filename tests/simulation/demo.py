"""The worlds that most tests here use, written by hand.

``DEMO`` is the first to read: three tools, a batch in parallel, a batch one by one, and a text. Each of the others, all
in ``WORLDS``, is about one thing more that a call can do or one more way to end.
"""

from turnfold.core.run import Functions, Limits, RunSpec
from turnfold.effects.feed import InputMessage
from turnfold.effects.question import CallPolicy, Confirm, Correct, Finish, Submit
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ErrorKind, ToolDeclaration
from turnfold.effects.values import replace
from turnfold.shells.simulate import (
    NO_TROUBLE,
    Behaviour,
    Counter,
    Knowledge,
    Review,
    Scenario,
    Trouble,
    calls,
    fails,
    says,
)

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

# --- what a call can do

CONFIRM = CallPolicy(confirm=Confirm({"why": "money"}), notes={"asked": "yes"})
BRIEFLY = CallPolicy(confirm=Confirm(expires_in_ms=40_000))
SUBMIT = CallPolicy(submit=Submit("a receipt", {"to": "the desk"}))

MORE_TOOLS = (*TOOLS, ToolSpec(ToolDeclaration("finish"), replayable=True, completion=True))

# Two calls that wait for people, one of them not for ever, and one beside them that runs.
PAUSED = Scenario(
    outputs=(calls(("charge", '{"cents": 1}'), ("lookup", "{}"), ("crawl", "{}")), says("Paid.")),
    spec=RunSpec("run", tools=MORE_TOOLS),
    policies={"charge": CONFIRM, "crawl": BRIEFLY},
    later=(InputMessage("and?", "2"),),
)

# A call that is submitted, one that waits for its result, and one that goes on by itself.
HANDED_OVER = Scenario(
    outputs=(calls(("charge", "{}"), ("lookup", "{}"), ("crawl", "{}")), says("On its way.")),
    spec=RunSpec("run", tools=DEMO.spec.tools),
    policies={"charge": SUBMIT},
    behaviours={"lookup": Behaviour.AWAITS, "crawl": Behaviour.DETACHES},
    extensions=(Counter(),),
)

# Every call that is cut off can be asked what became of it; an approved one is owed again if nothing did.
RECONCILED = Scenario(
    outputs=(calls(("charge", "{}"), ("lookup", "{}")), says("Done.")),
    spec=RunSpec("run", tools=TOOLS),
    policies={"charge": CONFIRM},
    knowledge={"charge": Knowledge.KNOWS, "lookup": Knowledge.UNSURE},
)

# --- how a run can end

# A batch that breaks the rules, a value that newer input may supersede, and one that it may not.
COMPLETING = Scenario(
    outputs=(calls(("finish", "{}"), ("lookup", "{}")), calls(("finish", "{}")), says("Never mind.")),
    spec=RunSpec("run", tools=MORE_TOOLS),
    behaviours={"finish": Behaviour.COMPLETES},
    later=(InputMessage("wait", "2"),),
    extensions=(Counter(),),
)
FIXED = replace(COMPLETING, outputs=(calls(("finish", "{}")),), behaviours={"finish": Behaviour.FIXES})
FALLING_BACK = replace(
    COMPLETING,
    spec=RunSpec("run", tools=MORE_TOOLS, limits=Limits(corrections=1)),
    behaviours={"finish": Behaviour.FAILS},
    functions=Functions(fallback=lambda reason: {"because": reason}),
)

# A text that is put right, and one that a value takes the place of.
GUARDED = Scenario(
    outputs=(calls(("lookup", "{}")), says("Rude."), says("Polite.")),
    spec=RunSpec("run", tools=TOOLS),
    reviews=(Review(Correct("be polite"), note="seen"), Review(note="seen again")),
    later=(InputMessage("go on", "2"),),
    extensions=(Counter(),),
)
FINISHED = replace(GUARDED, reviews=(Review(Finish({"by": "the guard"})), Review(Finish([1], fixed=True))))

# A model that fails for a while, and tools and models that may take only so long.
RETRIED = Scenario(
    outputs=(fails(ErrorKind.RATE_LIMITED, "Half of", wait_ms=700), calls(("crawl", "{}")), says("At last.")),
    spec=RunSpec("run", tools=TOOLS, limits=Limits(tool_ms=2_000, first_token_ms=9_000, stall_ms=9_000)),
    behaviours={"crawl": Behaviour.HANGS},
)

WORLDS = {
    "demo": DEMO,
    "one-charge": ONE_CHARGE,
    "paused": PAUSED,
    "handed-over": HANDED_OVER,
    "reconciled": RECONCILED,
    "completing": COMPLETING,
    "fixed": FIXED,
    "falling-back": FALLING_BACK,
    "guarded": GUARDED,
    "finished": FINISHED,
    "retried": RETRIED,
}


def troubled(scenario: Scenario, *troubles: Trouble) -> Scenario:
    """The scenario with these troubles, or with all."""
    return replace(scenario, troubles=frozenset(troubles or Trouble))


def calm(scenario: Scenario) -> Scenario:
    """The scenario without troubles."""
    return replace(scenario, troubles=NO_TROUBLE)
