"""Extensions of a run: slices are saved and restored, observers told in order, and one that fails fails the run."""

from pathlib import Path
from typing import Any

import pytest
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, say
from turnfold.core.run import CallOutcome, Extension, SpecError
from turnfold.effects.feed import InputMessage
from turnfold.effects.journal import Step
from turnfold.effects.outcome import Delivered, Failed, FailureKind, Suspended
from turnfold.effects.question import CallPolicy, Submit
from turnfold.effects.record import Block, CallStatus, ToolCall
from turnfold.effects.transcript import AssistantMessage, text_of
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import STORES, Claims, always, asking, detaching, killing, store_of
from tests.shells.world import Mortal, Tool, World, asked

SLICE = "extension/claims"
"""Where the slice of ``Claims`` is stored."""


class Diary(Extension):
    """Writes down everything it is told."""

    def __init__(self, name: str = "diary") -> None:
        self.name = name

    def start(self) -> list[str]:
        return []

    def on_claim(self, state: list[str], messages: tuple[InputMessage, ...]) -> list[str]:
        return [*state, f"claim {' '.join(message.content for message in messages)}"]

    def on_output(self, state: list[str], output: AssistantMessage) -> list[str]:
        return [*state, f"output {text_of(output)}".strip()]

    def on_call(self, state: list[str], outcome: CallOutcome) -> list[str]:
        return [*state, f"{outcome.call.name} {outcome.call.status} {outcome.origin}"]

    def on_restore(self, state: list[str], blocks: tuple[Block, ...], calls: tuple[ToolCall, ...]) -> list[str]:
        return [*state, f"restored {len(blocks)} {' '.join(call.status for call in calls)}".strip()]


async def suspended(world: World, *extensions: Extension) -> None:
    """A run that waits for an answer."""
    await world.say("hi")
    result = await world.run(ScriptedModel([call("ask")]), asking(), host=Host(extensions=extensions))
    assert isinstance(result.outcome, Suspended)


async def answered(world: World) -> None:
    await world.settle("ask", status=CallStatus.SUCCEEDED, result="42")


@pytest.mark.parametrize("kind", STORES)
async def test_what_an_extension_keeps_is_saved_and_restored(kind: str, tmp_path: Path) -> None:
    """RT-17: a resume repeats the claim and does not tell of it again, so the count stays one."""
    with store_of(kind, tmp_path) as store:
        world = World(store)
        await suspended(world, Claims())
        assert (await world.stored()).values[SLICE] == b"1"
        await answered(world)
        result = await world.run(ScriptedModel(["done"]), asking(), host=Host(extensions=(Claims(),)))
        assert result.text == "done"
        assert (await world.stored()).values[SLICE] == b"1"
        await world.say("and?")
        await world.run(ScriptedModel(["more"]), asking(), host=Host(extensions=(Claims(),)))
        assert (await world.stored()).values[SLICE] == b"2"


def refused(outcome: Any, told: str) -> None:
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CHECKPOINT
    assert told in outcome.message


async def test_an_extension_without_state_in_the_checkpoint_is_refused() -> None:
    """RT-17: and what is stored stays as it was."""
    world = World()
    await suspended(world)
    before = await world.stored()
    result = await world.run(ScriptedModel([]), asking(), host=Host(extensions=(Claims(),)))
    refused(result.outcome, "it has no state for extension 'claims'")
    assert await world.stored() == before


async def test_state_of_an_extension_that_is_not_registered_is_refused() -> None:
    """RT-22"""
    world = World()
    await suspended(world, Claims())
    before = await world.stored()
    result = await world.run(ScriptedModel([]), asking())
    refused(result.outcome, "it has state for extension 'claims', which is not registered")
    assert await world.stored() == before


async def test_state_that_an_extension_cannot_read_is_refused_and_kept() -> None:
    """N-21"""
    world = World()
    await suspended(world, Claims())
    stored = await world.stored()
    journal = world.store.journal("run")
    begun = await journal.begin(1)
    await journal.save_step(begun.attempt, Step(stored.state or b"", values={SLICE: b"garbage"}))
    await journal.end(begun.attempt)
    result = await world.run(ScriptedModel([]), asking(), host=Host(extensions=(Claims(),)))
    refused(result.outcome, "the state of extension 'claims' cannot be restored: ")
    assert (await world.stored()).values[SLICE] == b"garbage"


@pytest.mark.parametrize(
    ("names", "told"), [(("a", "b", "a"), "is registered twice (as 'a')"), (("a", ""), "has no name")]
)
async def test_extensions_have_names_of_their_own(names: tuple[str, ...], told: str) -> None:
    """RT-18"""
    world, model = World(), ScriptedModel([])
    await world.say("hi")
    with pytest.raises(SpecError) as raised:
        await world.run(model, host=Host(extensions=tuple(Diary(name) for name in names)))
    assert told in str(raised.value)


async def test_an_extension_that_keeps_nothing_needs_no_state() -> None:
    """One that is not stateful begins anew in every execution, and may be added or left out."""

    class Passing(Claims):
        stateful = False

    world = World()
    await suspended(world, Passing())
    assert SLICE not in (await world.stored()).values
    await answered(world)
    model = ScriptedModel(["done"])
    await world.run(model, asking(), host=Host(extensions=(Passing(),)))
    assert model.requests[0].instruction == "Claims so far: 0."


async def test_an_instruction_sees_the_restored_state() -> None:
    """RT-25: it follows the run's own instruction, and is asked once an execution."""
    world, host = World(), Host(extensions=(Claims(), Diary()))
    await world.say("hi")
    first = ScriptedModel([call("ask")])
    await world.run(first, asking(), host=host, instruction="Be brief.")
    assert first.requests[0].instruction == "Be brief.\n\nClaims so far: 0."
    await answered(world)
    model = ScriptedModel(["done"])
    await world.run(model, asking(), host=host, instruction="Be brief.")
    assert model.requests[0].instruction == "Be brief.\n\nClaims so far: 1."


async def test_observers_are_told_of_everything_in_order() -> None:
    """Claims, outputs before their calls, outcomes by their origin, and restores with the results yet to be seen."""
    world, tools = World(), [Tool("echo"), Tool("pay"), detaching(), asking()]
    host = Host(
        extensions=(Diary("first"), Diary("second")),
        policies={"pay": always(CallPolicy(submit=Submit("number 7")))},
    )
    await world.say("hi")
    wanted = say("Let me see.") + call("echo") + call("pay") + call("order") + call("ask")
    await world.run(ScriptedModel([wanted]), *tools, host=host)
    await answered(world)
    await world.run(ScriptedModel(["done"]), *tools, host=host)
    values = (await world.stored()).values
    assert values["extension/first"] == values["extension/second"]
    diary = Diary().decode(values["extension/first"])
    assert diary[:2] == ["claim hi", "output Let me see."]
    assert sorted(diary[2:6]) == [
        "ask waiting executed",
        "echo succeeded executed",
        "order running executed",
        "pay awaiting_decision submitted",
    ]
    assert diary[6:] == [
        "restored 5 succeeded awaiting_decision running succeeded",
        "echo succeeded restored",
        "pay awaiting_decision restored",
        "order running restored",
        "ask succeeded restored",
        "output done",
    ]


async def test_a_restore_shows_what_was_cut_off_as_settled() -> None:
    world = World()
    process = Mortal(world)
    host = Host(extensions=(Diary(),))
    await world.say("hi")
    await process.run(ScriptedModel([call("die")]), killing(process, "die"), host=host)
    await world.run(ScriptedModel(["done"]), Tool("die"), host=host, take_over=True)
    diary = Diary().decode((await world.stored()).values["extension/diary"])
    assert diary == [
        "claim hi",
        "output",
        "restored 1 interrupted",
        "die interrupted restored",
        "output done",
    ]


class Broken(Extension):
    """Raises in one of its methods."""

    name = "broken"

    def __init__(self, method: str) -> None:
        def break_down(*_: Any) -> Any:
            raise KeyError("missing")

        setattr(self, method, break_down)


@pytest.mark.parametrize("method", ["start", "instruction", "on_claim", "on_output", "on_call", "encode"])
async def test_an_extension_that_raises_fails_the_run(method: str) -> None:
    """Decision 19: with its name and what it was doing."""
    world = World()
    await world.say("hi")
    host = Host(extensions=(Broken(method),))
    result = await world.run(ScriptedModel([call("echo"), "done"]), Tool("echo"), host=host)
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.EXTENSION
    what = "start" if method == "encode" else method
    assert result.outcome.message == f"the extension 'broken' failed in {what}: KeyError: 'missing'"
    mended = Host(extensions=(named("broken"),))
    again = await world.run(ScriptedModel(["done"] * 2), Tool("echo"), host=mended)
    assert again.outcome == Delivered("done", boundary=1)


async def test_only_the_first_of_an_extensions_failures_is_told() -> None:
    class Hopeless(Broken):
        def instruction(self, state: Any) -> str:
            raise ValueError("no state")

    world = World()
    await world.say("hi")
    result = await world.run(ScriptedModel([]), host=Host(extensions=(Hopeless("start"),)))
    text = "the extension 'broken' failed in start: KeyError: 'missing'"
    assert result.outcome == Failed(FailureKind.EXTENSION, text, boundary=0)


async def test_an_extension_that_keeps_nothing_and_cannot_start_fails_a_resume_too() -> None:
    """Decision 19: as a failure of the run, and not of its executor."""

    class Unsteady(Broken):
        stateful = False

    world = World()
    await suspended(world)
    await answered(world)
    result = await world.run(ScriptedModel([]), asking(), host=Host(extensions=(Unsteady("start"),)))
    assert isinstance(result.outcome, Failed)
    assert result.outcome.message == "the extension 'broken' failed in start: KeyError: 'missing'"
    assert (await world.run(ScriptedModel(["done"]), asking())).text == "done"


async def test_an_extension_that_cannot_restore_fails_the_run() -> None:
    """Decision 19; once it can, the run goes on."""
    world = World()
    await suspended(world, named("broken"))
    await answered(world)
    result = await world.run(ScriptedModel([]), asking(), host=Host(extensions=(Broken("on_restore"),)))
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.EXTENSION
    model = ScriptedModel(["done"])
    again = await world.run(model, asking(), host=Host(extensions=(named("broken"),)))
    assert again.outcome == Delivered("done", boundary=1)
    assert asked(model)[0][-1] == "tool call-1: 42"


def named(name: str) -> Extension:
    extension = Extension()
    extension.name = name
    return extension


async def test_a_claim_that_came_to_nothing_is_told_again_and_counted_once() -> None:
    """RT-17, where the first turn failed: nothing of it is in the log, so the run begins anew with its extensions."""
    world, host = World(), Host(extensions=(Claims(),))
    await world.say("hi")
    assert isinstance((await world.run(ScriptedModel([fail()]), host=host)).outcome, Failed)
    for text, count in (("hello", b"1"), ("more", b"2")):
        assert (await world.run(ScriptedModel([text]), host=host)).text == text
        assert (await world.stored()).values[SLICE] == count
        await world.say("and?")
        failed = await world.run(ScriptedModel([fail()]), host=host)
        assert isinstance(failed.outcome, Failed)
        assert (await world.stored()).values[SLICE] == count
