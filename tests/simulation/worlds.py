"""Hypothesis strategies for worlds and schedules. A world that shrinks becomes the plainest one that still does it."""

from hypothesis import strategies as st
from turnfold.core.run import Limits, RunSpec
from turnfold.effects.feed import InputMessage
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ToolDeclaration
from turnfold.shells.simulate import (
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

ARGUMENTS = st.sampled_from(["{}", '{"a": 1}', "", "[1]", '{"a":'])
TOOLS = st.sampled_from(["lookup", "charge", "crawl", "unknown"])
CALLS = st.lists(st.tuples(TOOLS, ARGUMENTS), min_size=1, max_size=3)
GAPS = st.sampled_from([0, 1, 2, 3, 0, 5, 0, 8, 13, 0, 21])
SCHEDULES = st.lists(st.tuples(GAPS, st.integers(0, 40)), min_size=2, max_size=24).map(
    lambda pairs: tuple(number for gap, choice in pairs for number in (*(0,) * gap, choice))
)
"""Mostly the ordinary, and now and then something else: a number of ordinary steps, then a choice."""


@st.composite
def outputs(draw: st.DrawFn, place: int) -> Output:
    """One output of a model; its texts say which one it is."""
    kind = draw(st.sampled_from([0, 6, 5, 0, 7, 8, 0, 9, 10, 0, 11, 0, 6, 0]))
    thought = draw(st.sampled_from(["", f"hm {place}"]))
    if kind in (0, 5):
        text = draw(st.sampled_from(["", f"let me see {place}"]))
        ids = draw(st.sampled_from([(), ("", ""), ("same", "same")]))
        output = calls(*draw(CALLS), text=text, thought=thought, ids=ids)
        return cut_short(output) if kind == 5 else output
    simple = {
        6: says(f"answer {place}", thought),
        7: says_nothing(thought),
        8: refuses(),
        9: fails(text=f"broken off {place}"),
        10: breaks_off(says(f"never whole {place}")),
        11: cut_short(says(f"long answer {place}")),
    }
    return simple[kind]


def tools(sequential: bool) -> tuple[ToolSpec, ...]:
    """The three tools: one may be repeated, one must not be, one changes nothing."""
    return (
        ToolSpec(ToolDeclaration("lookup"), replayable=True),
        ToolSpec(ToolDeclaration("charge"), side_effects=True, sequential=sequential),
        ToolSpec(ToolDeclaration("crawl")),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A world: which troubles it has at all is drawn first, so that some worlds go deep."""
    troubles = draw(st.frozensets(st.sampled_from(sorted(Trouble)), min_size=1, max_size=7))
    script = tuple(draw(outputs(place)) for place in range(draw(st.integers(0, 5))))
    later = tuple(InputMessage(f"more {n}", str(n)) for n in range(2, 2 + draw(st.integers(0, 2))))
    inputs = (InputMessage("hello", "1"), InputMessage("hello", "1"), InputMessage("hello again", "1", "b"))
    iterations, turns = draw(st.sampled_from([(20, 0), (2, 0), (20, 2)]))
    return Scenario(
        outputs=script,
        spec=RunSpec(
            "run",
            tools=tools(draw(st.booleans())),
            limits=Limits(iterations=iterations, turns=turns),
            discard_undelivered=draw(st.booleans()),
        ),
        inputs=inputs[: draw(st.integers(1, 3))],
        later=later,
        behaviours={
            "lookup": draw(st.sampled_from([Behaviour.RETURNS, Behaviour.FAILS, Behaviour.PARTS, Behaviour.ERROR])),
            "crawl": draw(st.sampled_from([Behaviour.SLOW, Behaviour.HANGS])),
        },
        troubles=troubles,
    )
