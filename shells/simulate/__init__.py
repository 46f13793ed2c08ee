"""A world without I/O around a durable run: any interleaving, any crash, any fault, and an oracle that watches.

For whoever changes the rules of a run, and for whoever builds on them and wants to see what a crash does to *their*
tools, limits and input. Say what the world is made of, let things happen, and settle it; every promise is checked after
every event, and the first that is broken raises ``PromiseBroken`` with a trace::

    >>> from turnfold.shells.simulate import Scenario, Trouble, World, calls, says, settle, step
    >>> scenario = Scenario(
    ...     outputs=(calls(("charge", "{}")), says("Done.")),
    ...     troubles=frozenset({Trouble.CRASH, Trouble.DELAY}),
    ... )
    >>> world = World(scenario)
    >>> for _ in range(8):  # the ordinary: up to where the tool is asked for
    ...     _ = step(world, 0)
    >>> step(world, "carries out RunTool"), step(world, "dies")
    ('carries out RunTool', 'dies')
    >>> settle(world)
    >>> [str(call.status) for call in world.stored.calls.values()]
    ['needs_review']

``run_schedule(scenario, numbers)`` does all of it for numbers that somebody drew: each picks what happens next from
``choices(world)``, 0 is the most ordinary, and what a world's ``troubles`` do not allow is not on offer. ``deviations``
lists every schedule that departs from the ordinary once. ``shrink`` makes a world that breaks a promise plain.

Reading order: ``scenario`` and ``outputs`` (what a world is made of), ``world`` (what it holds), ``ports`` and
``questions`` (how orders are carried out), ``choices`` and ``hosting`` (what may happen), ``settling`` (how it ends),
``witness`` with ``callbook`` and ``endbook`` (what is promised, seen from outside), and the rest as needed. What is
promised of the state itself stands in ``core.invariants``.
"""

from .choices import Choice, choices, ordinary, step
from .counting import Counter
from .executor import Executor, Pending
from .outputs import Output, breaks_off, calls, cut_short, fails, refuses, says, says_nothing
from .ports import answer, carry_out
from .promises import PromiseBroken
from .scenario import DEMO_TOOLS, NO_TROUBLE, Behaviour, Knowledge, Review, Scenario, Trouble
from .schedule import deviations, run_schedule
from .settling import settle
from .shrink import shrink
from .trace import Trace, describe_effect, describe_event
from .witness import Witness
from .world import Watch, World

__all__ = [
    "DEMO_TOOLS",
    "NO_TROUBLE",
    "Behaviour",
    "Choice",
    "Counter",
    "Executor",
    "Knowledge",
    "Output",
    "Pending",
    "PromiseBroken",
    "Review",
    "Scenario",
    "Trace",
    "Trouble",
    "Watch",
    "Witness",
    "World",
    "answer",
    "breaks_off",
    "calls",
    "carry_out",
    "choices",
    "cut_short",
    "describe_effect",
    "describe_event",
    "deviations",
    "fails",
    "ordinary",
    "refuses",
    "run_schedule",
    "says",
    "says_nothing",
    "settle",
    "shrink",
    "step",
]
