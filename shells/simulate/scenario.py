"""What a simulated world is made of: what its model will say, how its tools behave, its input, and its troubles.

All of it is data, so a world is its scenario and its schedule and nothing else. Read ``Scenario`` first; the functions
that write a model's outputs are in ``outputs``.
"""

from collections.abc import Mapping
from enum import StrEnum

from ...core.run import NO_FUNCTIONS, Extension, Functions, Limits, Rules, RunSpec, rules_for
from ...effects.feed import InputMessage
from ...effects.question import Accept, CallPolicy, Ruling
from ...effects.tool import ToolSpec
from ...effects.transcript import ToolDeclaration
from ...effects.values import field, frozen, replace
from .outputs import Output

__all__ = ["DEMO_TOOLS", "NO_TROUBLE", "Behaviour", "Knowledge", "Review", "Scenario", "Trouble"]


class Trouble(StrEnum):
    """What a world may do to a run, each switched on for itself, so that some worlds go deep instead of dying early."""

    REORDER = "answers arrive in any order"
    SPLIT = "the model's deltas arrive in batches of any size"
    DELAY = "writes reach the store, and tools begin, long before anybody is told"
    CRASH = "executors die between any two events"
    RIVAL = "a second executor begins, by taking over or after the lease ran out"
    JOURNAL = "the journal fails, before or after it stored what it was given"
    FEED = "the feed fails, signals for nothing, and claims less than it was asked for"
    MODEL = "model calls fail or break off at any point, and answer although they were cancelled"
    TOOL = "tools fail, report progress, and hand in their result although they were stopped"
    INPUT = "the later input arrives, with a signal or without"
    HOST = "the host settles calls, once and again, takes them over, refuses them, and consumes what was delivered"
    DECIDE = "people decide paused calls: in time or too late, twice, otherwise, and on other arguments"
    QUESTION = "policies, guards and reconcilers fail"
    CANCEL = "somebody cancels the run, from inside or by taking it over"
    TIME = "time jumps, and wake-ups come early"
    JUNK = "events arrive that cannot happen"


NO_TROUBLE: frozenset[Trouble] = frozenset()


class Behaviour(StrEnum):
    """What a tool does when it is called. ``HANGS`` answers only once it is stopped, ``SLOW`` after everything else.

    ``AWAITS`` and ``DETACHES`` hand the call over, ``COMPLETES`` and ``FIXES`` end the run with a value that newer
    input may supersede, or may not; whether a tool may do that is the run's to say. ``BABBLES`` hands over with a
    payload that JSON cannot hold.
    """

    RETURNS = "returns"
    SLOW = "slow"
    HANGS = "hangs"
    FAILS = "fails"
    ERROR = "error"
    PARTS = "parts"
    AWAITS = "awaits"
    DETACHES = "detaches"
    COMPLETES = "completes"
    FIXES = "fixes"
    BABBLES = "babbles"


class Knowledge(StrEnum):
    """What a tool that reconciles finds out about a call that was cut off."""

    KNOWS = "knows what happened"
    UNSURE = "cannot tell"
    FAILS = "fails"


@frozen
class Review:
    """One answer of the guard; ``note`` goes on every record that it sees. One with an ``error`` fails instead."""

    ruling: Ruling = Accept()
    note: str = ""
    error: str = ""


DEMO_TOOLS = (
    ToolSpec(ToolDeclaration("lookup"), replayable=True),
    ToolSpec(ToolDeclaration("charge"), side_effects=True),
    ToolSpec(ToolDeclaration("crawl")),
)
"""A lookup that may be repeated, a charge that must not be, and a slow crawl that changes nothing."""


def _demo_spec() -> RunSpec:
    return RunSpec("run", instruction="Be brief.", tools=DEMO_TOOLS)


@frozen
class Scenario:
    """A world before anything has happened.

    ``outputs`` are what the model says, one for each time it is asked; after the last one it says some last word.
    ``inputs`` are there from the start, ``later`` ones arrive when the schedule says so. ``behaviours`` are the tools',
    by name (``RETURNS`` where nothing is said). ``crashes``, ``rivals`` and ``faults`` bound how often each may happen.

    ``policies`` say what is done with a tool's calls (a text: asking raises it), ``knowledge`` what it finds out about
    one that was cut off; tools that stand there are asked. ``reviews`` are the guard's, one for each time it is asked;
    after the last one it accepts. ``functions`` and ``extensions`` are the run's.
    """

    outputs: tuple[Output, ...] = ()
    spec: RunSpec = field(factory=_demo_spec)
    inputs: tuple[InputMessage, ...] = (InputMessage("hello", "1"),)
    later: tuple[InputMessage, ...] = ()
    behaviours: Mapping[str, Behaviour] = {"crawl": Behaviour.SLOW}
    policies: Mapping[str, CallPolicy | str] = {}
    knowledge: Mapping[str, Knowledge] = {}
    reviews: tuple[Review, ...] = ()
    functions: Functions = NO_FUNCTIONS
    extensions: tuple[Extension, ...] = ()
    troubles: frozenset[Trouble] = NO_TROUBLE
    crashes: int = 2
    rivals: int = 1
    faults: int = 2

    @property
    def rules(self) -> Rules:
        """What the fold works under; of each tool it knows whether somebody answers for it."""
        spec = self.spec
        tools = (
            replace(tool, has_policy=tool.name in self.policies, reconciles=tool.name in self.knowledge)
            for tool in spec.tools
        )
        spec = replace(spec, tools=tuple(tools), guarded=spec.guarded or bool(self.reviews))
        return rules_for(spec, functions=self.functions, extensions=self.extensions)

    @property
    def limits(self) -> Limits:
        """The run's limits."""
        return self.spec.limits
