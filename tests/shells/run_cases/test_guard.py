"""Guards: a text is reviewed before it is delivered, and accepted, put right, or replaced by a value."""

from pathlib import Path
from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail
from turnfold.core.run import Limits
from turnfold.effects.outcome import Completed, Delivered, Failed, FailureKind
from turnfold.effects.question import Accept, Correct, Finish, TurnView, Verdict
from turnfold.effects.record import Completion, CompletionSource, Standing
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import (
    NOTED,
    STORES,
    Interrupted,
    Judge,
    Overtaking,
    dying_at,
    finishing,
    killing,
    store_of,
)
from tests.shells.world import Mortal, Tool, Viewer, World, asked, texts

NICER = Verdict(Correct("Say it more kindly."))
FINE = Verdict(Accept())


def standings(result: Any) -> list[tuple[str, Standing | None]]:
    return [(block.text, block.standing) for block in result.blocks if block.text]


def noting(ruling: Any = Accept()) -> Any:  # noqa: B008
    """A verdict with a note on every call of the turn."""

    def rule(view: TurnView) -> Verdict:
        return Verdict(ruling, {"unheard of": NOTED} | {record.id: NOTED for record in view.calls})

    return rule


@pytest.mark.parametrize("kind", STORES)
async def test_a_guard_has_a_text_put_right(kind: str, tmp_path: Path) -> None:
    """RT-13: the prompt is the last thing the rerun sees; the guard reviews twice; its notes are on the stored call."""
    with store_of(kind, tmp_path) as store:
        world, viewer = World(store), Viewer()
        guard = Judge(noting(Correct("Say it more kindly.")), FINE)
        number = await world.say("hi")
        model = ScriptedModel([call("echo"), "Go away.", "Please come back later."])
        tool = Tool("echo", notes={"shown": "yes"})
        result = await world.run(model, tool, host=Host(guard=guard), stream=viewer, stream_id="s")
        assert result.outcome == Delivered("Please come back later.", boundary=number)
        assert asked(model)[2][-2:] == ["assistant: Go away.", "user: Say it more kindly."]
        assert [(view.text, view.corrections_left) for view in guard.views] == [
            ("Go away.", 1),
            ("Please come back later.", 0),
        ]
        assert standings(result) == [("Go away.", Standing.REJECTED)]
        assert [view.text for view in viewer.snapshot.blocks] == texts(result)
        assert viewer.snapshot.candidate == result.text
        stored = await world.stored()
        assert stored.calls == result.calls
        assert stored.calls[0].notes == {"shown": "yes", "checked": "yes"}


async def test_a_guard_sees_the_whole_turn() -> None:
    """What was claimed, what the model was last asked, and the records of the turn's calls, but not of earlier ones."""
    world, guard = World(), Judge(FINE, FINE)
    await world.say("one")
    await world.run(ScriptedModel([call("echo"), "one!"]), Tool("echo"), host=Host(guard=guard))
    await world.say("two")
    model = ScriptedModel([call("echo") + call("echo"), "two!"])
    result = await world.run(model, Tool("echo"), host=Host(guard=guard))
    view = guard.views[1]
    assert [message.content for message in view.messages] == ["two"]
    assert view.calls == result.calls[1:]
    assert list(view.input.messages) == list(model.requests[1].messages)
    assert view.input.model_call_id == model.requests[1].model_call_id
    assert (view.text, view.superseded, view.budget_spent) == ("two!", False, False)


async def test_a_guard_sees_the_whole_turn_after_a_resume() -> None:
    """The claim is repeated for it (decision 39), and calls from before the crash are there."""
    world, guard = World(), Judge(FINE)
    await world.say("one")
    process = Mortal(world)
    await process.run(ScriptedModel([call("echo"), call("die")]), Tool("echo"), killing(process, "die"))
    model = ScriptedModel([call("echo"), "done"])
    result = await world.run(model, Tool("echo"), Tool("die"), host=Host(guard=guard), take_over=True)
    (view,) = guard.views
    assert [message.content for message in view.messages] == ["one"]
    assert view.calls == result.calls
    assert [record.name for record in view.calls] == ["echo", "die", "echo"]


async def test_what_a_guard_had_put_right_is_gone_in_the_next_turn() -> None:
    """The rejected text and the prompt hold for their turn only."""
    world = World()
    await world.say("one")
    await world.run(ScriptedModel(["Go away.", "one!"]), host=Host(guard=Judge(NICER, FINE)))
    await world.say("two")
    model = ScriptedModel(["two!"])
    await world.run(model, host=Host(guard=Judge(FINE)))
    assert asked(model) == [["user: one", "assistant: one!", "user: two"]]


async def test_a_guard_that_is_never_content_fails_the_run() -> None:
    """RT-14: after the single correction."""
    world, guard = World(), Judge(NICER, NICER)
    await world.say("hi")
    model = ScriptedModel(["Go away.", "Go away now."])
    result = await world.run(model, host=Host(guard=guard))
    assert isinstance(result.outcome, Failed)
    assert (result.outcome.kind, result.outcome.boundary) == (FailureKind.GUARD_REJECTED, 1)
    assert len(model.requests) == len(guard.views) == 2
    assert standings(result) == [("Go away.", Standing.REJECTED), ("Go away now.", Standing.REJECTED)]
    assert (await world.stored()).outcome == result.outcome


@pytest.mark.parametrize(
    ("limits", "reason", "spent"),
    [
        (Limits(corrections=0), "guard_rejected", False),
        (Limits(iterations=1, corrections=3), "budget_exhausted", True),
    ],
)
async def test_a_fallback_stands_in_for_a_text_that_is_rejected_for_good(
    limits: Limits, reason: str, spent: bool
) -> None:
    """RT-14 with a fallback, whose reason says what was used up; the value is fixed."""
    world, guard = World(), Judge(NICER)
    await world.say("hi")
    result = await world.run(ScriptedModel(["Go away."]), host=Host(guard=guard, fallback=str.upper), limits=limits)
    value = f'"{reason.upper()}"'
    assert result.outcome == Completed(
        Completion(CompletionSource.FALLBACK, value, fixed=True, reason=reason), boundary=1
    )
    assert guard.views[0].budget_spent is spent
    assert standings(result) == [("Go away.", Standing.REJECTED)]
    await world.say("and this?")
    assert (await world.run(ScriptedModel([]))).outcome == result.outcome


@pytest.mark.parametrize("fixed", [False, True])
async def test_a_guard_may_end_the_run_with_a_value(fixed: bool) -> None:
    """N-05: the text is not delivered, and the value is delivered again on resume; newer input ends only one that is
    not fixed."""
    world = World()
    await world.say("one")
    host = Host(guard=Judge(Verdict(Finish([1, 2], fixed))))
    result = await world.run(ScriptedModel(["Go away."]), host=host)
    completion = Completion(CompletionSource.GUARD, "[1,2]", fixed)
    assert result.outcome == Completed(completion, boundary=1)
    assert (result.text, standings(result)) == ("", [("Go away.", Standing.REJECTED)])
    assert (await world.stored()).completion == completion
    assert (await world.run(ScriptedModel([]))).outcome == result.outcome
    await world.say("two")
    model = ScriptedModel(["two!"])
    again = await world.run(model)
    if fixed:
        assert (again.outcome, model.requests) == (result.outcome, [])
    else:
        assert again.outcome == Delivered("two!", boundary=2)
        assert asked(model) == [["user: one", "user: two"]]


@pytest.mark.parametrize("fixed", [False, True])
async def test_newer_input_supersedes_the_value_of_a_guard_unless_it_is_fixed(fixed: bool) -> None:
    """N-05: a message that arrives during the review; the candidate leaves the context with the value."""
    world = World()
    await world.say("one")
    guard = Overtaking(world, "two", Verdict(Finish([1, 2], fixed)), FINE)
    model = ScriptedModel(["Go away.", "two!"])
    result = await world.run(model, host=Host(guard=guard))
    if fixed:
        completion = Completion(CompletionSource.GUARD, "[1,2]", fixed=True)
        assert result.outcome == Completed(completion, boundary=1)
        assert len(model.requests) == 1
        return
    assert result.outcome == Delivered("two!", boundary=2)
    assert asked(model)[1] == ["user: one", "user: two"]
    assert (await world.stored()).completion is None


@pytest.mark.parametrize("discard", [False, True])
@pytest.mark.parametrize("ruling", [Correct("No."), Finish(1, fixed=True)], ids=["correct", "finish"])
async def test_a_verdict_on_a_superseded_text_is_only_its_notes(ruling: Any, discard: bool) -> None:
    """N-06: the guard is told that the text is superseded; no correction is used and nothing ends."""
    world, guard = World(), Judge(noting(ruling), FINE)
    tool = Tool("echo")
    await world.say("one")
    first = await world.run(ScriptedModel([call("echo"), fail()]), tool, host=Host(guard=guard))
    assert isinstance(first.outcome, Failed)
    model = Interrupted(world, ["answer one", "answer two"], "two")
    result = await world.run(model, tool, host=Host(guard=guard), discard_undelivered=discard)
    assert result.outcome == Delivered("answer two", boundary=2)
    assert [(view.text, view.superseded) for view in guard.views] == [("answer one", True), ("answer two", False)]
    assert guard.views[1].corrections_left == 1
    assert (await world.call("echo")).notes == NOTED
    said = [] if discard else ["assistant: answer one"]
    assert asked(model)[1][3:] == [*said, "user: two"]
    assert standings(result) == [("answer one", Standing.SUPERSEDED)]


async def test_notes_on_a_settled_call_are_saved_with_whatever_ends_the_run() -> None:
    """N-06: also where the text is accepted."""
    world = World()
    await world.say("hi")
    result = await world.run(ScriptedModel([call("echo"), "done"]), Tool("echo"), host=Host(guard=Judge(noting())))
    assert result.calls[0].notes == NOTED == (await world.call("echo")).notes
    assert (await world.call("echo")).result == "echo:{}"


async def test_a_correction_is_durable_with_its_charge() -> None:
    """Decision 3: a crash before the rerun's output forgets neither the prompt nor that a correction was used."""
    world, guard = World(), Judge(NICER)
    await world.say("hi")
    process = dying_at(world, lambda name, value: bool(len(model.requests) == 2))
    model = ScriptedModel(["Go away.", "Go."])
    await process.run(model, host=Host(guard=guard))
    assert [(block.text, block.standing) for block in (await world.stored()).blocks] == [
        ("Go away.", Standing.REJECTED)
    ]
    again, second = ScriptedModel(["Go away now."]), Judge(NICER)
    result = await world.run(again, host=Host(guard=second), take_over=True)
    assert asked(again) == [["user: hi", "assistant: Go away.", "user: Say it more kindly."]]
    assert [view.corrections_left for view in second.views] == [0]
    assert isinstance(result.outcome, Failed)
    assert result.outcome.kind is FailureKind.GUARD_REJECTED


async def test_corrections_of_a_guard_and_of_completions_come_from_one_pool() -> None:
    world = World()
    await world.say("hi")
    model = ScriptedModel([call("finish", {"v": -1}), "Go away."])
    result = await world.run(model, finishing(), host=Host(guard=Judge(NICER), fallback=str))
    assert result.completion is not None
    assert result.completion.reason == "guard_rejected"


async def test_a_rerun_gives_way_to_newer_input() -> None:
    """The message arrives with the rejection: a new turn begins, without the prompt."""
    world = World()
    await world.say("one")
    model = ScriptedModel(["Go away.", "two!"])
    result = await world.run(model, host=Host(guard=Overtaking(world, "two", NICER, FINE)))
    assert result.outcome == Delivered("two!", boundary=2)
    assert asked(model)[1] == ["user: one", "user: two"]


async def test_a_guard_that_raises_fails_the_run() -> None:
    """Decision 19; the text is not lost: the next execution has it reviewed."""

    class Broken:
        async def review(self, view: TurnView) -> Verdict:
            raise KeyError("rules")

    world = World()
    await world.say("hi")
    result = await world.run(ScriptedModel(["hello"]), host=Host(guard=Broken()))
    assert result.outcome == Failed(FailureKind.EXTENSION, "the guard failed: 'rules'", boundary=1)
    assert (await world.run(ScriptedModel([]), host=Host(guard=Judge(FINE)))).outcome == Delivered("hello", boundary=1)


async def test_a_guard_can_be_cancelled() -> None:
    """Decision 34: the run ends although the guard never answers, and the text is reviewed by the next execution."""

    class Slow:
        async def review(self, view: TurnView) -> Verdict:
            await trio.sleep_forever()
            raise AssertionError("unreachable")

    world = World()
    await world.say("hi")
    with trio.move_on_after(5) as scope:
        await world.run(ScriptedModel(["hello"]), host=Host(guard=Slow()))
    assert scope.cancelled_caught
    outcome = (await world.stored()).outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.CANCELLED
    assert (await world.run(ScriptedModel([]), host=Host(guard=Judge(FINE)))).text == "hello"


async def test_a_text_that_was_rejected_for_good_is_not_reviewed_again() -> None:
    """RT-14, resumed: the model is asked again with the prompt, and what it says then is another text.

    Decision 2: each rejected text is on record once, and the delivered one is not.
    """
    world, limits = World(), Limits(corrections=0)
    await world.say("hi")
    said = ["Go away.", "Go away now.", "Welcome!"]
    for place, (text, verdict) in enumerate(zip(said, (NICER, NICER, FINE), strict=True)):
        guard, model, viewer = Judge(verdict), ScriptedModel([text]), Viewer()
        host = Host(guard=guard)
        result = await world.run(model, host=host, limits=limits, stream=viewer, stream_id="s")
        assert [view.text for view in guard.views] == [text]
        expected = said[: min(place + 1, 2)]
        assert standings(result) == [(rejected, Standing.REJECTED) for rejected in expected]
        assert [view.text for view in viewer.snapshot.blocks] == expected
        told = [line for earlier in said[:place] for line in (f"assistant: {earlier}", "user: Say it more kindly.")]
        assert asked(model) == [["user: hi", *told]]
    assert result.outcome == Delivered("Welcome!", boundary=1)
    await world.say("and now?")
    model = ScriptedModel(["now this"])
    await world.run(model)
    assert asked(model) == [["user: hi", "assistant: Welcome!", "user: and now?"]]
