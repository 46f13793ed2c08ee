"""Small stories of what a durable run does when the world gets in its way, told line by line in ``fixtures/traces``.

They are read like documentation and reviewed like code: a change of behaviour shows as a change of a story. To write
them anew: ``python -m tests.simulation.test_stories``.
"""

from pathlib import Path

import pytest
from turnfold.effects.feed import InputMessage
from turnfold.effects.values import frozen, replace
from turnfold.shells.simulate import Scenario, World, calls, says, settle, step

from tests.simulation.demo import COMPLETING, FIXED, GUARDED, ONE_CHARGE, RECONCILED, RETRIED, SUBMIT, troubled

TRACES = Path(__file__).parents[2] / "fixtures" / "traces"


@frozen
class Story:
    """A scenario and what happens in it: a number of ordinary steps, or the name of a choice."""

    scenario: Scenario
    steps: tuple[int | str, ...]


def tell(story: Story) -> str:
    """The story, to its end."""
    world = World(troubled(story.scenario))
    for one in story.steps:
        for _ in range(one if isinstance(one, int) else 1):
            wanted = one if isinstance(one, str) else ""
            assert step(world, wanted) == wanted, f"{wanted!r} cannot happen here:\n{world.trace}"
    settle(world)
    return f"{world.trace}\n"


LOOK = calls(("lookup", "{}"))
PAUSED = replace(RECONCILED, outputs=ONE_CHARGE.outputs)
SUBMITTED = replace(PAUSED, policies={"charge": SUBMIT})
FINISH = replace(COMPLETING, outputs=COMPLETING.outputs[1:], extensions=())

STORIES = {
    "one-call": Story(Scenario(outputs=(LOOK, says("Found it."))), (18,)),
    "a-crash-while-a-tool-runs": Story(ONE_CHARGE, (8, "carries out RunTool", "dies")),
    "a-crash-before-a-tool-starts": Story(ONE_CHARGE, (7, "dies")),
    "a-crash-whose-last-write-arrived": Story(ONE_CHARGE, (7, "carries out SaveCall", "dies")),
    "the-host-settles-a-call-before-it-starts": Story(ONE_CHARGE, (7, "the host settles (succeeded)")),
    "a-call-is-awaited": Story(ONE_CHARGE, (8, "the host takes (await)")),
    "another-executor-takes-over": Story(
        ONE_CHARGE, (8, "a rival takes over", "answers BeginAttempt", "answers RunTool")
    ),
    "newer-input-drops-a-batch": Story(
        Scenario(outputs=(LOOK, says("Both.")), later=(InputMessage("and this", "2"),)),
        (5, "input arrives", "sends 3 of CallModel", 1),
    ),
    "newer-input-supersedes-a-text": Story(
        Scenario(outputs=(says("One."), says("Both.")), later=(InputMessage("and this", "2"),)),
        (6, "input arrives"),
    ),
    "a-run-is-cancelled-while-a-tool-runs": Story(ONE_CHARGE, (8, "is cancelled")),
    "a-call-is-approved": Story(PAUSED, (10, "somebody approves with changes", "somebody decides otherwise")),
    "a-call-is-rejected-while-the-run-still-ends": Story(PAUSED, (9, "somebody rejects")),
    "the-host-refuses-to-have-a-call-decided": Story(PAUSED, (8, "refuses SaveCall")),
    "a-call-is-submitted": Story(SUBMITTED, (20, "the host settles (succeeded)")),
    "an-approved-call-never-happened": Story(PAUSED, (10, "somebody approves", 5, "dies")),
    "a-paused-run-is-cancelled-from-outside": Story(PAUSED, (10, "is cancelled from outside")),
    "newer-input-supersedes-a-value": Story(FINISH, (10, "input arrives")),
    "a-fixed-value-is-final": Story(replace(FIXED, extensions=()), (10, "input arrives")),
    "the-guard-has-a-text-put-right": Story(replace(GUARDED, outputs=GUARDED.outputs[1:], extensions=()), (18,)),
    "a-model-is-asked-again-and-a-tool-takes-too-long": Story(RETRIED, (24,)),
    "the-journal-fails": Story(ONE_CHARGE, (9, "stores, and fails SaveCall")),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_story_is_still_told_like_this(name: str) -> None:
    """Line by line."""
    assert tell(STORIES[name]) == (TRACES / f"{name}.txt").read_text()


def test_every_recorded_story_is_told() -> None:
    """No trace is kept that nothing compares."""
    assert {path.stem for path in TRACES.glob("*.txt")} == set(STORIES)


if __name__ == "__main__":
    for name, story in STORIES.items():
        (TRACES / f"{name}.txt").write_text(tell(story))
