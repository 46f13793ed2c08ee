"""Every text that a call, a decision or the end of a budget can show to the model, in both languages and as the host's.

A scene makes one text of the catalogue visible and tells with which values it is filled in.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, say
from turnfold.core.run import Limits
from turnfold.core.text import Words, fill, words_for
from turnfold.effects.feed import InputMessage
from turnfold.effects.lifecycle import RunResult
from turnfold.effects.question import CallPolicy, Confirm, Submit
from turnfold.effects.record import CallDecision, CallStatus
from turnfold.effects.tool import Await, Complete, Detached
from turnfold.effects.transcript import StopReason
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import Interrupted, always, finishing, killing
from tests.shells.world import Mortal, Tool, WatchedJournal, World, asked, hang

Values = Mapping[str, str]
Scene = Callable[[World], Awaitable[tuple[str, Values]]]

CONFIRM = CallPolicy(confirm=Confirm())
SUBMIT = CallPolicy(submit=Submit("number 7"))


async def shown(world: World, script: Any, *tools: Tool, **options: Any) -> str:
    """What the model was last shown at the end of its second request, or its only one."""
    model = ScriptedModel([script, "done"])
    await world.run(model, *tools, **options)
    return asked(model)[-1][-1]


def giving(value: Any, name: str = "it", **traits: Any) -> Tool:
    async def body(invocation: Any) -> Any:
        return value

    return Tool(name, body, **traits)


def under(policy: CallPolicy, name: str = "it") -> Host:
    return Host(policies={name: always(policy)})


async def decided(world: World, decision: CallDecision) -> str:
    """What the model sees of a paused call after this decision, laid down where no store has a say in it."""
    host = under(CONFIRM)
    paused = await world.run(ScriptedModel([call("it", {"x": 1})]), Tool("it"), host=host, journal=None)
    assert paused.resume is not None
    calls = tuple(attrs.evolve(record, decision=decision) for record in paused.resume.calls)
    model = ScriptedModel(["done"])
    left = attrs.evolve(paused.resume, calls=calls)
    await world.run(model, Tool("it"), host=host, journal=None, resume=left)
    return asked(model)[0][-1]


async def crashed(world: World, **traits: Any) -> str:
    """What the model sees of a call during which the process died."""
    process = Mortal(world)
    await process.run(ScriptedModel([call("it")]), killing(process, "it", **traits))
    model = ScriptedModel(["done"])
    await world.run(model, Tool("it", **traits), take_over=True)
    return asked(model)[0][-1]


async def cancelled(world: World) -> tuple[str, Values]:
    model = Interrupted(world, [call("it"), "done"], "wait")
    await world.run(model, Tool("it"))
    return asked(model)[1][-2], {"name": "it", "call_id": "call-1"}


async def interrupted(world: World) -> tuple[str, Values]:
    return await crashed(world), {}


async def interrupted_replayable(world: World) -> tuple[str, Values]:
    return await crashed(world, replayable=True), {}


async def needs_review(world: World) -> tuple[str, Values]:
    return await crashed(world, side_effects=True), {}


async def never_started(world: World) -> tuple[str, Values]:
    with trio.move_on_after(1):
        await world.run(ScriptedModel([call("slow") + call("it")]), Tool("slow", hang), Tool("it"), sequential=True)
    model = ScriptedModel(["done"])
    await world.run(model, Tool("slow"), Tool("it"))
    return asked(model)[0][-1], {}


async def unknown_tool(world: World) -> tuple[str, Values]:
    return await shown(world, call("it")), {"name": "it"}


async def not_offered(world: World) -> tuple[str, Values]:
    limits = Limits(iterations=1)
    result: RunResult = await world.run(ScriptedModel([call("it")]), Tool("it"), limits=limits)
    return result.calls[0].error or "", {"name": "it"}


async def cut_off(world: World) -> tuple[str, Values]:
    return await shown(world, call("it") + say("", stop=StopReason.LENGTH), Tool("it")), {"name": "it"}


async def invalid_arguments(world: World) -> tuple[str, Values]:
    return await shown(world, call("it", "[]"), Tool("it")), {
        "name": "it",
        "problem": "expected a JSON object, got list",
    }


async def final_notice(world: World) -> tuple[str, Values]:
    return await shown(world, "done", Tool("it"), limits=Limits(iterations=1)), {}


async def final_notice_completion(world: World) -> tuple[str, Values]:
    return await shown(world, "done", finishing(), limits=Limits(iterations=1)), {"tools": "finish"}


async def batch_too_many(world: World) -> tuple[str, Values]:
    return await shown(world, call("finish") + call("finish"), finishing()), {"tools": "finish"}


async def batch_mixed(world: World) -> tuple[str, Values]:
    return await shown(world, call("it") + call("finish"), finishing(), Tool("it")), {"tools": "finish"}


async def separator(world: World) -> tuple[str, Values]:
    """Between the names of a list, which is cut out of its text."""
    text = await shown(world, call("finish") + call("close"), finishing(), finishing("close"))
    return text[text.index("close") + len("close") : text.index("finish")], {}


async def cannot_await(world: World) -> tuple[str, Values]:
    return await shown(world, call("it"), giving(Await(), completion=True)), {}


async def cannot_detach(world: World) -> tuple[str, Values]:
    return await shown(world, call("it"), giving(Detached("later"), completion=True)), {}


async def cannot_complete(world: World) -> tuple[str, Values]:
    return await shown(world, call("it"), giving(Complete(1))), {"name": "it"}


async def cannot_confirm(world: World) -> tuple[str, Values]:
    return await shown(world, call("finish"), finishing(), host=under(CONFIRM, "finish")), {"name": "finish"}


async def cannot_hand_over(world: World) -> tuple[str, Values]:
    return await shown(world, call("finish"), finishing(), host=under(SUBMIT, "finish")), {"name": "finish"}


async def submit_and_confirm(world: World) -> tuple[str, Values]:
    both = attrs.evolve(SUBMIT, confirm=Confirm())
    return await shown(world, call("it"), Tool("it"), host=under(both)), {"name": "it"}


async def not_json(world: World) -> tuple[str, Values]:
    problem = "Encoding objects of type object is unsupported"
    return await shown(world, call("it"), giving(Await(object()))), {"name": "it", "problem": problem}


async def rejected(world: World) -> tuple[str, Values]:
    return await decided(world, CallDecision()), {}


async def rejected_for(world: World) -> tuple[str, Values]:
    return await decided(world, CallDecision(reason="too dear")), {"reason": "too dear"}


async def expired(world: World) -> tuple[str, Values]:
    host = under(CallPolicy(confirm=Confirm(expires_in_ms=1000)))
    await world.run(ScriptedModel([call("it")]), Tool("it"), host=host)
    await trio.sleep(2)
    model = ScriptedModel(["done"])
    await world.run(model, Tool("it"), host=host)
    return asked(model)[0][-1], {}


async def edited(world: World) -> tuple[str, Values]:
    return await decided(world, CallDecision(True, arguments='{"x":2}')), {"arguments": '{"x":2}'}


async def edit_invalid(world: World) -> tuple[str, Values]:
    problem = "expected a JSON object, got list"
    return await decided(world, CallDecision(True, arguments="[2]")), {"problem": problem}


async def decision_void(world: World) -> tuple[str, Values]:
    return await decided(world, CallDecision(True, digest="of others")), {}


async def timed_out(world: World) -> tuple[str, Values]:
    limits = Limits(tool_ms=1000)
    text = await shown(world, call("it"), Tool("it", hang), limits=limits)
    return text, {"seconds": "1", "outcome": world.runtime.words.interrupted}


async def not_handed_over(world: World) -> tuple[str, Values]:
    async def fail(name: str, value: Any) -> None:
        if name == "save_call" and value.status == CallStatus.AWAITING_DECISION:
            raise OSError("disk full")

    journal = WatchedJournal(world.store.journal("run"), fail)
    result = await world.run(ScriptedModel([call("it")]), Tool("it"), host=under(CONFIRM), journal=journal)
    return result.calls[0].error or "", {}


SCENES: tuple[Scene, ...] = (
    cancelled, interrupted, interrupted_replayable, needs_review, never_started, unknown_tool, not_offered, cut_off,
    invalid_arguments, final_notice, final_notice_completion, batch_too_many, batch_mixed, separator, cannot_await,
    cannot_detach, cannot_complete, cannot_confirm, cannot_hand_over, submit_and_confirm, not_json, rejected,
    rejected_for, expired, edited, edit_invalid, decision_void, timed_out, not_handed_over,
)  # fmt: skip

BY_NAME = {scene.__name__: scene for scene in SCENES}  # type: ignore[attr-defined]


def test_every_text_has_a_scene() -> None:
    """Decision 36: a text without one is a text that nobody has seen."""
    assert set(BY_NAME) == {attribute.name for attribute in attrs.fields(Words)}


@pytest.mark.parametrize("own", [False, True], ids=["default", "the host's"])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", BY_NAME)
async def test_a_text_is_told_in_the_hosts_language_and_words(name: str, language: str, own: bool) -> None:
    """Decision 36, HO-04"""
    words = words_for(language)
    if own:
        placeholders = "".join(f"<{{{placeholder}}}>" for placeholder in _placeholders(getattr(words, name)))
        words = words_for(language, {name: f"≪{placeholders}≫"})
    world = World(words=words)
    await world.store.append("talk", InputMessage("hi"))
    text, values = await BY_NAME[name](world)
    assert set(values) == set(_placeholders(getattr(words, name)))
    expected = fill(getattr(words, name), **values)
    assert expected == text if name == "separator" else _plain(expected) in _plain(text)


def _placeholders(text: str) -> list[str]:
    return sorted(part.partition("}")[0] for part in text.split("{")[1:])


def _plain(text: str) -> str:
    """A text without what JSON adds where it is told as an error."""
    return text.replace("\\n", "\n").replace('\\"', '"')
