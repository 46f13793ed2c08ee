"""A world without I/O around a durable run: any interleaving, any crash, any fault, and an oracle that watches."""

from .choices import Choice, choices, ordinary, step
from .executor import Executor, Pending
from .ports import answer, carry_out
from .scenario import (
    DEMO_TOOLS,
    NO_TROUBLE,
    Behaviour,
    Output,
    Scenario,
    Trouble,
    breaks_off,
    calls,
    cut_short,
    fails,
    refuses,
    says,
    says_nothing,
)
from .schedule import deviations, run_schedule
from .settling import settle
from .shrink import shrink
from .trace import Trace, describe_effect, describe_event
from .witness import PromiseBroken, Witness
from .world import Watch, World

__all__ = [
    "DEMO_TOOLS",
    "NO_TROUBLE",
    "Behaviour",
    "Choice",
    "Executor",
    "Output",
    "Pending",
    "PromiseBroken",
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
