"""A set-up that cannot work is refused before anything has happened."""

import pytest
from turnfold.core.run import Functions, Limits, RunSpec, SpecError, rules_for
from turnfold.core.text import CHINESE, ENGLISH
from turnfold.effects.tool import ToolSpec
from turnfold.effects.transcript import ToolDeclaration

ECHO = ToolSpec(ToolDeclaration("echo"))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (RunSpec(""), "a run needs an id"),
        (RunSpec("r", tools=(ECHO, ECHO)), "the tool 'echo' is registered twice"),
        (RunSpec("r", limits=Limits(iterations=0)), "at least one iteration per turn"),
        (RunSpec("r", limits=Limits(turns=-1)), "a limit of turns that is not negative"),
        (RunSpec("r", limits=Limits(lease_ms=0)), "at least a millisecond"),
        (RunSpec("r", limits=Limits(poll_ms=0)), "at least a millisecond"),
    ],
)
def test_a_wrong_set_up_is_refused(spec: RunSpec, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        rules_for(spec)


def test_functions_for_tools_that_are_not_there_are_refused() -> None:
    with pytest.raises(SpecError, match="record names are given for tools the run does not have: bash, zsh"):
        rules_for(RunSpec("r", tools=(ECHO,)), functions=Functions(record_names={"zsh": str, "bash": str, "echo": str}))


def test_the_rules_know_their_tools_by_name_and_speak_english() -> None:
    rules = rules_for(RunSpec("r", tools=(ECHO,)))
    assert (rules.tools, rules.words, rules.functions.record_names) == ({"echo": ECHO}, ENGLISH, {})
    assert rules_for(RunSpec("r"), CHINESE).words is CHINESE


def test_a_limit_of_cost_needs_a_price() -> None:
    with pytest.raises(SpecError, match="nothing says what tokens cost"):
        rules_for(RunSpec("r", limits=Limits(cost=1.0)))
    functions = Functions(cost=lambda provider, model, usage: usage.total)
    rules_for(RunSpec("r", limits=Limits(cost=1.0)), functions=functions)
