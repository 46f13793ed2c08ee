"""Drawing worlds: ``cases`` gives a scenario and a schedule, both read off one string of bytes.

Each part has its own place in the string, so that a byte that shrinks changes one thing and moves nothing else, and
zeros are the plainest of all: a world without troubles whose model says one last word. (One string, because Hypothesis
varies a composite by copying its parts, and four of five worlds would be near copies.)
"""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st
from turnfold.core.run import Functions, Limits, Retries, RunSpec
from turnfold.effects.feed import InputMessage
from turnfold.effects.model import BlockDelta, BlockEnded, BlockStarted, Delta, DeltaKind, Started, StreamFinished
from turnfold.effects.question import CallPolicy, Confirm, Correct, Finish, Submit
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ErrorKind, StopReason, ToolDeclaration, Usage
from turnfold.effects.values import frozen
from turnfold.shells.simulate import (
    NO_TROUBLE,
    Behaviour,
    Counter,
    Knowledge,
    Output,
    Review,
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

from tests.simulation.demo import BRIEFLY, CONFIRM, SUBMIT

T = TypeVar("T")

OUTPUTS = 5
OUTPUT_BYTES = 8
SETTING_BYTES = 27
STEPS = 72
SIZE = SETTING_BYTES + OUTPUTS * OUTPUT_BYTES + STEPS

TROUBLES = tuple(Trouble)
ARGUMENTS = ("{}", "{}", '{"a": 1}', "", "[1]", '{"a":')
TOOLS = ("lookup", "charge", "crawl", "charge", "unknown", "finish", "lookup")
INPUTS = (InputMessage("hello", "1"), InputMessage("hello", "1"), InputMessage("hello again", "1", "b"))
LATER = (InputMessage("more", "2"), InputMessage("still more", "3"))

B = Behaviour
LOOKUPS = (B.RETURNS, B.FAILS, B.PARTS, B.ERROR, B.AWAITS, B.DETACHES, B.COMPLETES, B.BABBLES, B.RETURNS, B.AWAITS)
FINISHES = (B.COMPLETES, B.FIXES, B.FAILS, B.COMPLETES, B.AWAITS, B.RETURNS, B.DETACHES, B.HANGS, B.FIXES)
TRAITS = CallPolicy(replayable=True, side_effects=False, notes={"by": "policy"})
POLICIES: tuple[CallPolicy | str | None, ...] = (
    None,
    None,
    None,
    CONFIRM,
    CONFIRM,
    SUBMIT,
    BRIEFLY,
    TRAITS,
    CallPolicy(submit=Submit("both"), confirm=Confirm()),
    CallPolicy(confirm=Confirm(1j)),
    "nobody may do that",
)


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
    scenario = Scenario(
        outputs=tuple(output(place, script[place * OUTPUT_BYTES : (place + 1) * OUTPUT_BYTES]) for place in places),
        spec=spec(setting),
        inputs=INPUTS[: pick(setting[4], [1, 1, 2, 3])],
        later=LATER[: pick(setting[5], [0, 1, 2])],
        behaviours={
            "lookup": pick(setting[6], LOOKUPS),
            "crawl": pick(setting[7], [Behaviour.SLOW, Behaviour.RETURNS, Behaviour.HANGS, Behaviour.AWAITS]),
            "finish": pick(setting[15] // 3, FINISHES),
        },
        policies=policies(setting),
        knowledge=pick(setting[14], KNOWLEDGE),
        reviews=tuple(review(place, setting[18 + place]) for place in range(pick(setting[17], [0, 0, 0, 1, 2, 3]))),
        functions=Functions(fallback=pick(setting[16], [None, None, None, because, raises]), cost=price),
        extensions=pick(setting[21], [(), (Counter(),)]),
        troubles=troubles(setting[8], setting[9]),
    )
    ordinary, span = pick(setting[10], [240, 150, 220, 60, 190]), pick(setting[11], [8, 16, 32, 48])
    return Case(scenario, tuple(1 + byte % span if byte > ordinary else 0 for byte in steps))


def spec(setting: bytes) -> RunSpec:
    """The run: its tools, limits and retries."""
    iterations, turns = pick(setting[1], [(20, 0), (20, 0), (2, 0), (20, 2)])
    tool_ms, model_ms = pick(setting[23], [(0, 0), (0, 0), (15, 0), (0, 5_000), (2_000, 9_000)])
    bounds = [(0, 0.0, 0)] * 8 + [(0, 20.0, 0), (30, 0.0, 0), (0, 0.0, 25), (0, 0.0, 45_000)]
    tokens, cost, run_ms = pick(setting[24], bounds)
    return RunSpec(
        "run",
        tools=tools(setting[2] % 3 == 1, setting[15]),
        limits=Limits(
            iterations=iterations,
            turns=turns,
            corrections=pick(setting[22], [1, 1, 0, 2]),
            tokens=tokens,
            cost=cost,
            tool_ms=tool_ms,
            first_token_ms=model_ms,
            stall_ms=model_ms,
            run_ms=run_ms,
        ),
        sequential=setting[2] % 3 == 2,
        discard_undelivered=bool(setting[3] % 2),
        retries=Retries(times=pick(setting[25], [2, 2, 0, 1])),
    )


def price(provider: str, model: str, usage: Usage) -> float:
    """A token of the large model costs twice what one of the others does."""
    return usage.total * (2 if model == "large" else 1)


KNOWLEDGE: tuple[dict[str, Knowledge], ...] = (
    {},
    {},
    {"charge": Knowledge.KNOWS, "lookup": Knowledge.KNOWS},
    {"charge": Knowledge.KNOWS},
    {"charge": Knowledge.UNSURE, "crawl": Knowledge.KNOWS},
    {"charge": Knowledge.FAILS},
    {"finish": Knowledge.KNOWS, "charge": Knowledge.KNOWS},
)


def policies(setting: bytes) -> dict[str, CallPolicy | str]:
    """What is done with the calls of some tools; a tool that may end the run can be asked about as well."""
    drawn = {
        "charge": pick(setting[12], POLICIES),
        "lookup": pick(setting[13], POLICIES),
        "finish": pick(setting[26], (None, None, None, None, TRAITS, CONFIRM, SUBMIT)) if setting[15] % 3 else None,
    }
    return {name: policy for name, policy in drawn.items() if policy is not None}


def review(place: int, byte: int) -> Review:
    """What the guard says the ``place``-th time."""
    return pick(
        byte,
        [
            Review(),
            Review(Correct(f"try again {place}"), note=f"no {place}"),
            Review(Correct(f"try once more {place}")),
            Review(Finish({"guard": place})),
            Review(Finish({"guard": place}, fixed=True), note="fixed"),
            Review(error="the guard is asleep"),
            Review(note="fine"),
        ],
    )


def because(reason: str) -> object:
    """A fallback that works."""
    return {"because": reason}


def raises(reason: str) -> object:
    """A fallback that does not."""
    raise ValueError(reason)


def troubles(one: int, two: int) -> frozenset[Trouble]:
    """Some troubles; none for zeros, and rarely all, since a world with every trouble dies young."""
    bits = one | two << 8
    found = frozenset(trouble for place, trouble in enumerate(TROUBLES) if bits >> place & 1)
    return found or NO_TROUBLE


def tools(sequential: bool, completion: int) -> tuple[ToolSpec, ...]:
    """Three tools: one may be repeated, one must not be (and may want to run alone), one changes nothing.

    A fourth that may end the run, with side effects or without, is not always there.
    """
    finish = ToolSpec(ToolDeclaration("finish"), replayable=completion % 3 == 1, side_effects=True, completion=True)
    return (
        ToolSpec(ToolDeclaration("lookup"), replayable=True),
        ToolSpec(ToolDeclaration("charge"), side_effects=True, sequential=sequential),
        ToolSpec(ToolDeclaration("crawl")),
        *((finish,) if completion % 3 else ()),
    )


def output(place: int, tape: bytes) -> Output:
    """What the model says the ``place``-th time; its texts say which time it is."""
    thought = pick(tape[1], ["", f"hm {place}"])
    kind = pick(tape[0], ["says", "calls", "calls", "finish", "calls", "wild", "says", "calls", "other", "finish"])
    if kind == "says":
        return says(f"answer {place}", thought)
    if kind == "wild":
        return wild(tape[1:])
    if kind == "finish":
        return calls(("finish", "{}"), text=pick(tape[1] // 2, ["", f"that is it {place}"]), thought=thought)
    if kind == "other":
        return pick(
            tape[2],
            [
                says_nothing(thought),
                refuses(),
                fails(text=f"broken off {place}"),
                fails(ErrorKind.RATE_LIMITED, f"later {place}", wait_ms=pick(tape[3], [5, 900, 90_000])),
                fails(ErrorKind.UNAUTHORIZED),
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
