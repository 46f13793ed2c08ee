"""Drawing worlds: ``cases`` gives a scenario and a schedule, both read off one string of bytes.

Each part has its own place in the string, so that a byte that shrinks changes one thing and moves nothing else, and
zeros are the plainest of all: a world without troubles whose model says one last word. (One string, because Hypothesis
varies a composite by copying its parts, and four of five worlds would be near copies.)
"""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st
from turnfold.core.run import Limits, RunSpec
from turnfold.effects.feed import InputMessage
from turnfold.effects.model import BlockDelta, BlockEnded, BlockStarted, Delta, DeltaKind, Started, StreamFinished
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import StopReason, ToolDeclaration
from turnfold.effects.values import frozen
from turnfold.shells.simulate import (
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

T = TypeVar("T")

OUTPUTS = 5
OUTPUT_BYTES = 8
SETTING_BYTES = 12
STEPS = 72
SIZE = SETTING_BYTES + OUTPUTS * OUTPUT_BYTES + STEPS

TROUBLES = tuple(Trouble)
ARGUMENTS = ("{}", "{}", '{"a": 1}', "", "[1]", '{"a":')
TOOLS = ("lookup", "charge", "crawl", "charge", "unknown")
INPUTS = (InputMessage("hello", "1"), InputMessage("hello", "1"), InputMessage("hello again", "1", "b"))
LATER = (InputMessage("more", "2"), InputMessage("still more", "3"))


@frozen
class Case:
    """One world to run: what it is made of, and what happens in it."""

    scenario: Scenario
    schedule: tuple[int, ...]


def pick(byte: int, options: Sequence[T]) -> T:
    """The option that a byte stands for; 0 is the first."""
    return options[byte % len(options)]


def case(tape: bytes) -> Case:
    """The case that a string of ``SIZE`` bytes stands for."""
    setting, rest = tape[:SETTING_BYTES], tape[SETTING_BYTES:]
    script, steps = rest[: OUTPUTS * OUTPUT_BYTES], rest[OUTPUTS * OUTPUT_BYTES :]
    places = range(pick(setting[0], range(OUTPUTS + 1)))
    outputs = tuple(output(place, script[place * OUTPUT_BYTES : (place + 1) * OUTPUT_BYTES]) for place in places)
    iterations, turns = pick(setting[1], [(20, 0), (20, 0), (2, 0), (20, 2)])
    scenario = Scenario(
        outputs=outputs,
        spec=RunSpec(
            "run",
            tools=tools(sequential=setting[2] % 3 == 1),
            limits=Limits(iterations=iterations, turns=turns),
            sequential=setting[2] % 3 == 2,
            discard_undelivered=bool(setting[3] % 2),
        ),
        inputs=INPUTS[: pick(setting[4], [1, 1, 2, 3])],
        later=LATER[: pick(setting[5], [0, 1, 2])],
        behaviours={
            "lookup": pick(setting[6], [Behaviour.RETURNS, Behaviour.FAILS, Behaviour.PARTS, Behaviour.ERROR]),
            "crawl": pick(setting[7], [Behaviour.SLOW, Behaviour.RETURNS, Behaviour.HANGS]),
        },
        troubles=troubles(setting[8], setting[9]),
    )
    ordinary, span = pick(setting[10], [240, 150, 220, 60, 190]), pick(setting[11], [8, 16, 32])
    return Case(scenario, tuple(1 + byte % span if byte > ordinary else 0 for byte in steps))


def troubles(one: int, two: int) -> frozenset[Trouble]:
    """Some troubles; none for zeros, and rarely all, since a world with every trouble dies young."""
    bits = one | two << 8
    found = frozenset(trouble for place, trouble in enumerate(TROUBLES) if bits >> place & 1)
    return found or NO_TROUBLE


def tools(sequential: bool) -> tuple[ToolSpec, ...]:
    """Three tools: one may be repeated, one must not be (and may want to run alone), one changes nothing."""
    return (
        ToolSpec(ToolDeclaration("lookup"), replayable=True),
        ToolSpec(ToolDeclaration("charge"), side_effects=True, sequential=sequential),
        ToolSpec(ToolDeclaration("crawl")),
    )


def output(place: int, tape: bytes) -> Output:
    """What the model says the ``place``-th time; its texts say which time it is."""
    thought = pick(tape[1], ["", f"hm {place}"])
    kind = pick(tape[0], ["says", "calls", "calls", "calls", "calls", "wild", "says", "calls", "other"])
    if kind == "says":
        return says(f"answer {place}", thought)
    if kind == "wild":
        return wild(tape[1:])
    if kind == "other":
        return pick(
            tape[2],
            [
                says_nothing(thought),
                refuses(),
                fails(text=f"broken off {place}"),
                breaks_off(says(f"never whole {place}")),
                cut_short(says(f"long answer {place}")),
                cut_short(calls(("lookup", '{"a": 1}'), ("charge", '{"a":'))),
            ],
        )
    wanted = [(pick(tape[n], TOOLS), pick(tape[n + 1], ARGUMENTS)) for n in (2, 4, 6)][: pick(tape[7], [1, 2, 3, 2])]
    ids = pick(tape[5] // 8, [(), (), (), ("", ""), ("same", "same")])
    return calls(*wanted, text=pick(tape[1] // 2, ["", f"let me see {place}"]), thought=thought, ids=ids)


def wild(tape: bytes) -> Output:
    """Blocks as no sane provider sends them: begun twice, never begun, interleaved, renamed, empty, without ids."""
    deltas: list[Delta] = [Started(model="simulated")]
    for byte in tape:
        index, what = byte % 3, byte // 3 % 8
        deltas.append(
            pick(
                what,
                [
                    BlockDelta(index, "{}"),
                    BlockStarted(index, DeltaKind.TEXT),
                    BlockStarted(index, DeltaKind.THINKING),
                    BlockStarted(index, DeltaKind.CALL, str(byte), "lookup"),
                    BlockStarted(index, DeltaKind.CALL),
                    BlockEnded(index, signature="signed"),
                    BlockDelta(index, ""),
                    BlockStarted(index, DeltaKind.CALL, str(byte), "charge", again=True),
                ],
            )
        )
    called = any(isinstance(delta, BlockStarted) and delta.kind is DeltaKind.CALL for delta in deltas)
    return Output((*deltas, StreamFinished(StopReason.TOOL_USE if called else StopReason.STOP)))


CASES: st.SearchStrategy[Case] = st.binary(min_size=SIZE, max_size=SIZE).map(case)
