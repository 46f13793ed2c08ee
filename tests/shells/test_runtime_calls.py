"""Calls: saved before they run, told to the model in their order, and never run where they must not."""

from typing import Any

import pytest
import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, raw, say, think
from turnfold.adapters.stores import MemoryStore, SqliteStore, Store
from turnfold.core.run import Limits
from turnfold.core.run.records import interrupted_outcome
from turnfold.core.text import CHINESE, ENGLISH, words_for
from turnfold.effects.codec import encode
from turnfold.effects.feed import Claim, InputMessage
from turnfold.effects.journal import Step
from turnfold.effects.model import BlockDelta, BlockEnded, BlockStarted, DeltaKind, StreamFinished, UsageReported
from turnfold.effects.outcome import Delivered, Failed, FailureKind
from turnfold.effects.record import BlockKind, CallStatus, ToolCall
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import (
    AssistantMessage,
    CallPart,
    ImagePart,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolResultMessage,
    Usage,
)
from turnfold.shells.host import Host

from tests.shells.world import Mortal, Tool, Viewer, WatchedFeed, WatchedJournal, World, answer_after, asked, now


class Writes:
    """What a journal was given, in order and in words."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.saved: list[tuple[str, Any]] = []

    async def __call__(self, name: str, value: Any) -> None:
        self.saved.append((name, value))
        if isinstance(value, ToolCall):
            self.told.append(f"{value.name} {value.status}")
        elif isinstance(value, Step):
            self.told.append(f"step with {len(value.changes.calls)} calls")


async def test_a_call_is_saved_as_queued_as_running_and_with_its_outcome() -> None:
    """Decision 4: before the tool starts, its record says so."""
    world, writes = World(), Writes()

    async def look(invocation: Invocation) -> str:
        writes.told.append("the tool runs")
        return "seen"

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), after=writes)
    await world.run(ScriptedModel([call("look"), "done"]), Tool("look", look), journal=journal)
    assert writes.told == [
        "step with 1 calls",
        "look running",
        "the tool runs",
        "look succeeded",
        "step with 0 calls",
        "step with 0 calls",
    ]


@pytest.mark.parametrize("status", [CallStatus.SUCCEEDED, CallStatus.REJECTED, "expired"])
async def test_a_call_that_its_host_settled_is_not_started(status: str) -> None:
    """Decision 37: the store's answer is the truth."""
    world, tool = World(), Tool("pay", side_effects=True)

    async def settle_first(name: str, value: Any) -> None:
        if name == "save_call" and value.status == CallStatus.RUNNING:
            await world.settle("pay", status=status, result="settled by hand")

    await world.say("hi")
    journal = WatchedJournal(world.store.journal("run"), before=settle_first)
    model = ScriptedModel([call("pay"), "done"])
    result = await world.run(model, tool, journal=journal)
    assert tool.invocations == []
    assert (result.calls[0].status, result.calls[0].result) == (status, "settled by hand")
    assert asked(model)[1][-1] == "tool call-1: settled by hand"


async def test_an_outcome_that_the_host_wrote_first_is_what_the_model_sees() -> None:
    """Decision 37, while the tool was at work."""
    world = World()

    async def pay(invocation: Invocation) -> str:
        await world.settle("pay", status=CallStatus.REJECTED, result="stopped by hand")
        return "paid"

    await world.say("hi")
    model = ScriptedModel([call("pay"), "done"])
    result = await world.run(model, Tool("pay", pay))
    assert asked(model)[1][-1] == "tool call-1: stopped by hand"
    assert result.calls[0].status == CallStatus.REJECTED == (await world.call("pay")).status


async def test_every_call_has_a_key_of_its_own() -> None:
    """Decision 11: the record's id."""
    world, tool = World(), Tool("echo")
    await world.say("hi")
    model = ScriptedModel([call("echo", {"x": 1}) + call("echo", {"x": 1}), "done"])
    result = await world.run(model, tool)
    assert [invocation.key for invocation in tool.invocations] == [record.id for record in result.calls]
    assert len({record.id for record in result.calls}) == 2
    first = tool.invocations[0]
    assert (first.name, first.arguments, first.call_id) == ("echo", {"x": 1}, "call-1")
    assert first.model_call_id == model.requests[0].model_call_id == result.blocks[0].model_call_id


# --- order


async def test_results_enter_in_call_order_whoever_finished_first() -> None:
    """Decision 14: and whoever failed before running."""
    world, start = World(), now()
    tools = [Tool(f"t{seconds}", answer_after(seconds, f"after {seconds}")) for seconds in (3, 1, 2)]
    wanted = call("t3") + call("unheard_of") + call("t1") + call("t2", "[]") + call("t2")
    await world.say("hi")
    model = ScriptedModel([wanted, "done"])
    result = await world.run(model, *tools)
    assert now() - start == 3_000
    assert asked(model)[1][2:] == [
        "tool call-1: after 3",
        'tool call-2!: {"error":"There is no tool called unheard_of."}',
        "tool call-3: after 1",
        'tool call-4!: {"error":"Invalid arguments for tool t2: expected a JSON object, got list"}',
        "tool call-5: after 2",
    ]
    assert [record.call_id for record in result.calls] == [f"call-{place}" for place in range(1, 6)]
    assert [block.call_id for block in result.blocks] == [record.id for record in result.calls]


async def test_calls_start_in_call_order() -> None:
    world, started = World(), list[str]()

    async def note(invocation: Invocation) -> str:
        started.append(invocation.call_id)
        await trio.sleep(1)
        return ""

    wanted = call("note")
    for _ in range(19):
        wanted += call("note")
    await world.say("hi")
    await world.run(ScriptedModel([wanted, "done"]), Tool("note", note))
    assert started == [f"call-{place}" for place in range(1, 21)]


@pytest.mark.parametrize(("traits", "options"), [({"sequential": True}, {}), ({}, {"sequential": True})])
async def test_a_sequential_batch_runs_one_call_at_a_time(traits: Any, options: Any) -> None:
    """Decision 14; one sequential tool is enough."""
    world, start = World(), now()
    slow, quick = Tool("slow", answer_after(2), **traits), Tool("quick", answer_after(1))
    await world.say("hi")
    model = ScriptedModel([call("quick") + call("slow") + call("quick"), "done"])
    result = await world.run(model, slow, quick, **options)
    times = [(record.started_at, record.completed_at) for record in result.calls]
    assert times == [(start, start + 1_000), (start + 1_000, start + 3_000), (start + 3_000, start + 4_000)]


# --- calls that never run


async def test_calls_of_an_output_that_was_cut_off_never_run() -> None:
    """Decisions 12 and 43: even those whose arguments happen to be whole."""
    world, tool = World(), Tool("echo")
    await world.say("hi")
    wanted = call("echo", '{"x": 1}') + call("echo", '{"x":')
    model = ScriptedModel([wanted + say("", stop=StopReason.LENGTH), "done"])
    result = await world.run(model, tool)
    assert tool.invocations == []
    text = "The output was cut off at its length limit, so the call to echo is incomplete and did not run."
    assert [(record.status, record.error) for record in result.calls] == [(CallStatus.FAILED, text)] * 2
    assert asked(model)[1][2:] == [f'tool call-1!: {{"error":"{text}"}}', f'tool call-2!: {{"error":"{text}"}}']


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"x": 1', "they are not valid JSON (Input data was truncated)"),
        ("{x}", "they are not valid JSON (JSON is malformed: object keys must be strings (byte 1))"),
        ('{"x":' + "[" * 5_000 + "]" * 5_000 + "}", "they are nested more than 64 levels deep"),
        ('"x"', "expected a JSON object, got str"),
        ("null", "expected a JSON object, got NoneType"),
    ],
)
async def test_arguments_that_are_no_object_fail_the_call(arguments: str, problem: str) -> None:
    """decision 12"""
    world, tool = World(), Tool("echo")
    await world.say("hi")
    model = ScriptedModel([call("echo", arguments), "done"])
    (record,) = (await world.run(model, tool)).calls
    assert tool.invocations == []
    assert record.error == f"Invalid arguments for tool echo: {problem}"
    assert record.arguments == arguments


@pytest.mark.parametrize("arguments", ["", "  \n", "{}"])
async def test_blank_arguments_are_an_empty_object(arguments: str) -> None:
    """decision 43"""
    world, tool = World(), Tool("echo")
    await world.say("hi")
    await world.run(ScriptedModel([call("echo", arguments), "done"]), tool)
    assert [invocation.arguments for invocation in tool.invocations] == [{}]


async def test_an_unknown_tool_counts_as_one_with_side_effects() -> None:
    """decision 13"""
    world = World()
    await world.say("hi")
    (record,) = (await world.run(ScriptedModel([call("unheard_of"), "done"]))).calls
    assert (record.status, record.error) == (CallStatus.FAILED, "There is no tool called unheard_of.")
    assert (record.side_effects, record.replayable) == (True, False)


async def test_the_last_iteration_offers_no_tools_and_says_so() -> None:
    """N-02"""
    world, tool = World(), Tool("echo")
    await world.say("hi")
    model = ScriptedModel([call("echo"), call("echo"), "as far as I came"])
    result = await world.run(model, tool, limits=Limits(iterations=3))
    assert result.text == "as far as I came"
    assert [[declared.name for declared in request.tools] for request in model.requests] == [["echo"], ["echo"], []]
    assert [request.notice for request in model.requests] == ["", "", ENGLISH.final_notice]
    assert asked(model)[2][-1] == f"user: {ENGLISH.final_notice}"


async def test_the_notice_can_be_put_in_other_words_and_is_not_given_without_tools() -> None:
    """N-02"""
    model = ScriptedModel(["done"] * 2)
    for world, tools in (World(words=words_for("zh", {"final_notice": "够了。"})), [Tool("echo")]), (World(), []):
        await world.say("hi")
        await world.run(model, *tools, limits=Limits(iterations=1))
    assert [request.notice for request in model.requests] == ["够了。", ""]


async def test_the_budget_is_full_again_for_every_turn() -> None:
    world, tool = World(), Tool("echo")

    async def interrupt(invocation: Invocation) -> str:
        await world.say("and this?")
        await trio.sleep(1)
        return ""

    await world.say("hi")
    model = ScriptedModel([call("interrupt"), call("echo"), "done"])
    result = await world.run(model, tool, Tool("interrupt", interrupt), limits=Limits(iterations=2))
    assert result.outcome == Delivered("done", boundary=2)
    assert [bool(request.tools) for request in model.requests] == [True, True, False]


async def test_calls_after_the_end_of_the_budget_fail_the_run() -> None:
    """Decisions 3 and 13: what is not on offer any more does not run, and nothing can stand in for an answer."""
    world, tool, viewer = World(), Tool("echo"), Viewer()
    await world.say("hi")
    model = ScriptedModel([call("echo"), say("one more") + call("echo")])
    limits = Limits(iterations=2)
    result = await world.run(model, tool, limits=limits, stream=viewer, stream_id="s")
    assert isinstance(result.outcome, Failed)
    assert (result.outcome.kind, result.outcome.boundary) == (FailureKind.TOOL_LIMIT, 1)
    assert len(tool.invocations) == 1
    refused = result.calls[1]
    text = "The tool echo was not on offer any more, so the call did not run."
    assert (refused.status, refused.error) == (CallStatus.FAILED, text)
    assert (await world.stored()).calls == result.calls
    shown = [view.call and view.call.status for view in viewer.snapshot.blocks]
    assert shown == [CallStatus.SUCCEEDED, None, CallStatus.FAILED]
    again = ScriptedModel(["as far as I came"])
    assert (await world.run(again, tool, limits=limits)).text == "as far as I came"
    assert asked(again)[0][-2:] == [f'tool call-2!: {{"error":"{text}"}}', f"user: {ENGLISH.final_notice}"]


# --- identity


async def test_ids_that_a_provider_left_out_or_used_twice_are_told_apart() -> None:
    """Decision 16: by ids made from the output's place, so that none of ours and nothing random goes out."""
    world, tool = World(), Tool("echo")
    await world.say("hi")
    wanted = call("echo", id="") + call("echo", id="same") + call("echo", id="same") + call("echo", id="")
    model = ScriptedModel([wanted, call("echo", id="same"), "done"])
    result = await world.run(model, tool)
    ids = ["call_1_0", "same", "call_1_2", "call_1_3", "same"]
    assert [record.call_id for record in result.calls] == ids
    assert len({record.id for record in result.calls}) == 5
    answered = [line.split(":")[0] for line in asked(model)[2] if line.startswith("tool")]
    assert answered == [f"tool {call_id}" for call_id in ids]
    sent = encode([list(request.messages) for request in model.requests]).decode()
    assert not any(record.id in sent for record in result.calls)


# --- what a result may be


PARTS = (TextPart("a chart:"), ImagePart("aGk=", "image/png"), TextPart("and a table"))


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
async def test_a_result_of_several_parts_survives_a_resume_as_it_was(kind: Any, tmp_path: Any) -> None:
    """decision 8"""
    store: Store = MemoryStore(now=now) if kind is MemoryStore else SqliteStore(tmp_path / "runs.db", now=now)
    world = World(store)

    async def draw(invocation: Invocation) -> ToolResult:
        return ToolResult(PARTS)

    await world.say("hi")
    process = Mortal(world)

    async def die(invocation: Invocation) -> str:
        await trio.sleep(1)
        process.die()
        return ""

    tools = [Tool("draw", draw), Tool("die", die)]
    await process.run(ScriptedModel([call("draw") + call("die")]), *tools)
    model = ScriptedModel(["done"])
    result = await world.run(model, *tools, take_over=True)
    shown = list(model.requests[0].messages)[2]
    assert isinstance(shown, ToolResultMessage)
    assert shown.content == PARTS
    assert result.calls[0].result == "a chart:\nand a table"
    store.close()


async def test_nul_is_kept_out_of_results_and_errors() -> None:
    """N-24"""

    async def give(invocation: Invocation) -> str:
        return "a\0b"

    async def choke(invocation: Invocation) -> str:
        raise ValueError("c\0d")

    world, model = World(), ScriptedModel([call("give", '{"x": "\\u0000"}') + call("choke"), "done"])
    await world.say("hi")
    result = await world.run(model, Tool("give", give), Tool("choke", choke))
    assert [(record.result, record.error) for record in result.calls] == [("ab", None), (None, "cd")]


async def test_progress_is_no_result() -> None:
    class Busy(Tool):
        async def run(self, invocation: Invocation, progress: Any) -> ToolResult:
            for percent in (10, 50):
                await progress(ToolResult(f"{percent} %"))
                await trio.sleep(1)
            return ToolResult("all of it")

    world, model = World(), ScriptedModel([call("busy"), "done"])
    await world.say("hi")
    (record,) = (await world.run(model, Busy("busy"))).calls
    assert record.result == "all of it"


# --- names, and functions of the host


async def test_a_host_may_name_the_records_of_a_tool() -> None:
    world, viewer = World(), Viewer()
    await world.say("hi")
    model = ScriptedModel([call("bash", {"run": "ls"}) + call("bash", ""), "done"])
    names = {"bash": lambda arguments: "list files" if "ls" in arguments else ""}
    result = await world.run(model, Tool("bash"), host=Host(record_names=names), stream=viewer, stream_id="s")
    assert [record.name for record in result.calls] == ["list files", "bash"]
    assert [view.call and view.call.name for view in viewer.snapshot.blocks] == ["list files", "bash"]
    assert [part.name for part in _output(model, 1).parts if isinstance(part, CallPart)] == ["bash", "bash"]


async def test_a_record_name_that_raises_fails_the_run() -> None:
    """Rule 7 of the fold: a pure function of the host that raises ends the run as failed."""

    def broken(arguments: str) -> str:
        raise KeyError("command")

    world, tool = World(), Tool("bash")
    await world.say("hi")
    result = await world.run(ScriptedModel([call("bash")]), tool, host=Host(record_names={"bash": broken}))
    text = "the record name of a call could not be computed: KeyError: 'command'"
    assert result.outcome == Failed(FailureKind.EXTENSION, text, boundary=1)
    assert (tool.invocations, result.blocks) == ([], ())
    assert (await world.run(ScriptedModel(["better"]), tool)).text == "better"


@pytest.mark.parametrize(
    ("replayable", "side_effects", "status", "english"),
    [
        (True, False, CallStatus.INTERRUPTED, ENGLISH.interrupted_replayable),
        (False, False, CallStatus.INTERRUPTED, ENGLISH.interrupted),
        (False, True, CallStatus.NEEDS_REVIEW, ENGLISH.needs_review),
        (True, True, CallStatus.INTERRUPTED, ENGLISH.interrupted_replayable),
    ],
)
def test_what_becomes_of_an_interrupted_call(replayable: bool, side_effects: bool, status: str, english: str) -> None:
    """HO-05: by its traits, in the host's language and words."""
    assert interrupted_outcome(ENGLISH, replayable, side_effects) == (status, english)
    chinese = interrupted_outcome(CHINESE, replayable, side_effects)
    assert chinese[0] == status
    assert chinese[1] in (CHINESE.interrupted_replayable, CHINESE.interrupted, CHINESE.needs_review)
    assert chinese[1] != english
    own = words_for("en", {"interrupted_replayable": "A", "interrupted": "B", "needs_review": "C"})
    expected = {ENGLISH.interrupted_replayable: "A", ENGLISH.interrupted: "B", ENGLISH.needs_review: "C"}
    assert interrupted_outcome(own, replayable, side_effects) == (status, expected[english])


# --- thinking, signatures and text around calls


async def test_thinking_and_text_around_calls_are_recorded_in_order_and_go_back_as_they_were() -> None:
    """Decision 25: signatures and empty signed thinking too."""
    world, viewer = World(), Viewer()
    await world.say("hi")
    output = think("first", "sig-1") + think("", "sealed", redacted=True) + say("I will look.") + call("echo", id="a")
    model = ScriptedModel([output + say("And then.") + call("echo", id="b"), "done"], chunk=3)
    result = await world.run(model, Tool("echo"), stream=viewer, stream_id="s")
    kinds = [(block.kind, block.text, block.position) for block in result.blocks]
    assert kinds == [
        (BlockKind.THINKING, "first", 1),
        (BlockKind.CONTENT, "I will look.", 2),
        (BlockKind.TOOL_CALL, "", 3),
        (BlockKind.CONTENT, "And then.", 4),
        (BlockKind.TOOL_CALL, "", 5),
    ]
    assert [(view.id, view.text) for view in viewer.snapshot.blocks] == [(b.id, b.text) for b in result.blocks]
    assert _output(model, 1).parts == (
        ThinkingPart("first", "sig-1"),
        ThinkingPart("", "sealed", True),
        TextPart("I will look."),
        CallPart("a", "echo"),
        TextPart("And then."),
        CallPart("b", "echo"),
    )


async def test_text_of_an_earlier_block_that_arrives_with_a_call_is_shown_once() -> None:
    """A provider may interleave its blocks, and one batch of deltas may hold pieces of several."""
    world, viewer = World(), Viewer()
    pieces = (
        BlockStarted(0, DeltaKind.TEXT),
        BlockDelta(0, "let "),
        BlockStarted(1, DeltaKind.CALL, "a", "echo"),
        BlockDelta(0, "me see"),
    )

    class Interleaved(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            async for delta in super().stream(request):
                yield delta
                if delta == pieces[1]:
                    await trio.sleep(1)

    await world.say("hi")
    model = Interleaved([raw(*pieces, StreamFinished(StopReason.TOOL_USE)), "done"])
    result = await world.run(model, Tool("echo"), stream=viewer, stream_id="s")
    assert [block.text for block in result.blocks] == ["let me see", ""]
    assert [view.text for view in viewer.snapshot.blocks] == ["let me see", ""]


async def test_a_terminal_delta_may_carry_the_whole_output() -> None:
    """decision 28"""
    message = AssistantMessage(
        (TextPart("hello"), CallPart("a", "echo", '{"x": 2}')), stop=StopReason.TOOL_USE, usage=Usage(5, output=6)
    )
    world, tool, viewer = World(), Tool("echo"), Viewer()
    await world.say("hi")
    partial = (BlockDelta(0, "hel"), UsageReported(Usage(1)))
    model = ScriptedModel([raw(*partial, StreamFinished(StopReason.TOOL_USE, message=message)), "done"])
    result = await world.run(model, tool, stream=viewer, stream_id="s")
    assert [invocation.arguments for invocation in tool.invocations] == [{"x": 2}]
    assert [block.text for block in result.blocks] == ["hello", ""] == [view.text for view in viewer.snapshot.blocks]
    assert result.usage == Usage(5, output=6) + Usage(10, output=2)


# --- halves of surrogate pairs


async def test_no_half_of_a_surrogate_pair_is_ever_stored(tmp_path: Any) -> None:
    """Decision 45: halves split over deltas are joined, and a lone one is replaced where it enters."""

    async def mangle(invocation: Invocation) -> ToolResult:
        return ToolResult((TextPart("\ude00 result"), TextPart("\ud83d\ude00")))

    async def choke(invocation: Invocation) -> str:
        raise ValueError("no \ud800")

    output = raw(
        BlockStarted(0, DeltaKind.THINKING),
        *(BlockDelta(0, half) for half in "\ud83d\ude00"),
        BlockEnded(0, signature="s\ud800"),
        BlockStarted(1, DeltaKind.CALL, "\udfff", "mangle"),
        BlockStarted(2, DeltaKind.CALL, "\udffe", "choke\ud800"),
        BlockStarted(3, DeltaKind.CALL, "c", "choke"),
        BlockDelta(3, '{"\ud800": "\ud83d'),
        BlockDelta(3, '\ude00"}'),
        StreamFinished(StopReason.TOOL_USE),
    )
    whole = StreamFinished(message=AssistantMessage((TextPart("bye \udc00"),)))
    world = World(SqliteStore(tmp_path / "runs.db", now=now))
    await world.say("hi")
    choking = Tool("choke", choke)
    model = ScriptedModel([output, raw(whole)])
    result = await world.run(model, Tool("mangle", mangle), choking)
    assert result.outcome == Delivered("bye \ufffd", boundary=1)
    assert result.blocks[0].text == "😀"
    assert choking.invocations[0].arguments == {"\ufffd": "😀"}
    assert _output(model, 1).parts[0] == ThinkingPart("😀", "s\ufffd")
    assert asked(model)[1][2:] == [
        "tool \ufffd: \ufffd result\n😀",
        'tool call_1_2!: {"error":"There is no tool called choke\ufffd."}',
        'tool c!: {"error":"no \ufffd"}',
    ]
    assert (await world.stored()).calls == result.calls
    world.store.close()


async def test_input_with_halves_of_surrogate_pairs_is_cleaned_where_it_enters() -> None:
    """Decision 45, for a feed that does not."""
    world, model = World(), ScriptedModel(["done"])
    await world.say("hi")
    message = InputMessage("a \ud800", "id \ud800")
    feed = WatchedFeed(world.store.feed("talk"), lambda name, it: Claim((message,), 1) if name == "claim" else it)
    assert (await world.run(model, feed=feed)).text == "done"
    assert asked(model) == [["user: a \ufffd"]]


@pytest.mark.parametrize("reply", ["model", "text", "port"])
async def test_a_failure_is_told_in_storable_text(reply: str, tmp_path: Any) -> None:
    """decision 45"""

    class Broken(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            raise OSError("bad \ud800")
            yield

    replies = {
        "model": ScriptedModel([fail("bad \ud800")]),
        "text": ScriptedModel([say("bad \ud800") + fail()]),
        "port": Broken([]),
    }
    world = World(SqliteStore(tmp_path / "runs.db", now=now))
    await world.say("hi")
    result = await world.run(replies[reply])
    assert (await world.stored()).outcome == result.outcome
    assert "bad \ufffd" in repr(result)
    world.store.close()


def _output(model: ScriptedModel, request: int) -> AssistantMessage:
    (output,) = [one for one in model.requests[request].messages if isinstance(one, AssistantMessage)]
    return output
