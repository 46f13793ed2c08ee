"""A run from end to end: what is said, what is called, what is recorded, and how it ends."""

from turnfold.adapters.models.scripted import ScriptedModel, call, say, think
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.record import BlockKind, CallStatus
from turnfold.effects.transcript import Usage

from tests.shells.world import Tool, Viewer, World, asked


async def test_a_text_reply_is_delivered() -> None:
    """RT-01"""
    world, model, viewer = World(), ScriptedModel(["hello there, whoever you are"]), Viewer()
    await world.say("hi")
    result = await world.run(model, stream=viewer, stream_id="s")
    assert result.outcome == Delivered("hello there, whoever you are", boundary=1)
    assert result.usage.total == 12
    assert viewer.snapshot.candidate == result.text
    assert model.requests[0].model_call_id
    assert asked(model) == [["user: hi"]]


async def test_a_tool_call_is_recorded() -> None:
    """RT-02"""
    world, model = World(), ScriptedModel([call("echo", {"x": "1"}), "done"])
    await world.say("hi")
    result = await world.run(model, Tool("echo", replayable=True, notes={"shown": "yes"}))
    (block,), (record,) = result.blocks, result.calls
    assert (block.kind, block.call_id) == (BlockKind.TOOL_CALL, record.id)
    assert (record.status, record.result) == (CallStatus.SUCCEEDED, 'echo:{"x":"1"}')
    assert record.replayable
    assert record.notes == {"shown": "yes"}
    stored = await world.stored()
    assert stored.state
    assert stored.blocks == result.blocks
    assert (stored.calls[0].rev, stored.calls[0].status) == (record.rev, record.status)
    assert asked(model)[1] == ["user: hi", "assistant: ", 'tool call-1: echo:{"x":"1"}']
    assert result.text == "done"
