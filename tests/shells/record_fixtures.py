"""Records one run of each kind into ``fixtures/runs``: ``python -m tests.shells.record_fixtures [NAME ...]``.

Every run is driven by the real driver against a scripted world, with a seed of its own, on a clock that starts at the
same moment. A function below is a kind of run; its name is that of its file, and its docstring is what README.md says.
``recorded_goals`` has those whose calls are somebody else's for a while, or which end otherwise than with a text.
"""

import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import trio
import trio.testing
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, raw, say, think
from turnfold.core.run import Limits
from turnfold.core.text import words_for
from turnfold.effects.feed import InputMessage
from turnfold.effects.journal import CallRejected, Step
from turnfold.effects.model import BlockDelta, StreamFinished
from turnfold.effects.record import CallStatus, Handover
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.effects.transcript import ImagePart, StopReason, TextPart

from tests.shells import recorded_goals as goals
from tests.shells.studio import SLOW, THREE, Dying, Interrupted, Killer, Studio, three
from tests.shells.world import Tool, WatchedFeed, WatchedJournal, answer_after, hang, now

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "runs"


# --- what a model says, and what its calls come to


async def text_reply(studio: Studio) -> None:
    """A text, streamed in pieces and delivered."""
    await studio.say("hello")
    await studio.run(ScriptedModel(["Hello! What can I do for you?"], **SLOW), instruction="Be brief.")


async def parallel_batch(studio: Studio) -> None:
    """Streamed thinking and text, and three calls at once, one with progress, that end out of order."""

    class Telling(Tool):
        async def run(self, invocation: Invocation, progress: Any) -> ToolResult:
            await progress(ToolResult("half of it"))
            return await super().run(invocation, progress)

    await studio.say("look everywhere")
    tools = [Telling("a", answer_after(3, "A")), Tool("b", answer_after(1, "B")), Tool("c", answer_after(2, "C"))]
    output = think("Everywhere, then.", "signed") + say("Let me look.") + call("a") + call("b", {"x": 1}) + call("c")
    await studio.run(ScriptedModel([output, "I looked everywhere."], **SLOW), *tools)


async def sequential_batch(studio: Studio) -> None:
    """Two calls, one after the other."""
    await studio.say("one by one")
    await studio.run([call("echo", {"n": 1}) + call("echo", {"n": 2}), "Both done."], Tool("echo"), sequential=True)


async def tool_error(studio: Studio) -> None:
    """A tool that raises, one that answers with an error, and one that gives parts."""

    async def choke(invocation: Invocation) -> str:
        raise ValueError("the drawer is stuck")

    async def refuse(invocation: Invocation) -> ToolResult:
        return ToolResult("no such drawer", is_error=True)

    async def draw(invocation: Invocation) -> ToolResult:
        return ToolResult((TextPart("a drawer:"), ImagePart("aGk=", "image/png")))

    await studio.say("open it")
    tools = [Tool("pull", choke), Tool("open", refuse), Tool("draw", draw, notes={"shown": "yes"})]
    await studio.run([call("pull") + call("open") + call("draw"), "It is stuck; here is a picture."], *tools)


async def bad_calls(studio: Studio) -> None:
    """A tool that is unknown, arguments that are no object, none at all, and ids left out or used twice."""
    await studio.say("try")
    output = call("nope", id="same") + call("echo", "[1]", id="same") + call("echo", "{", id="") + call("echo", id="x")
    await studio.run([output, "I tried."], Tool("echo"))


async def length_stop(studio: Studio) -> None:
    """An output that was cut off at its length limit: no call of it runs."""
    await studio.say("a lot")
    cut = call("echo", {"x": 1}) + call("echo", '{"x":') + say("", stop=StopReason.LENGTH)
    await studio.run([cut, "In small pieces, then."], Tool("echo"))


async def empty_output_retried(studio: Studio) -> None:
    """An output with nothing but thinking is asked for once more."""
    await studio.say("well?")
    await studio.run([think("hm"), think("hm, hm") + say("Well, well.")])


async def empty_twice(studio: Studio) -> None:
    """Two outputs that say nothing: the run fails."""
    await studio.say("well?")
    await studio.run([think("hm"), say("\n")])


async def truncated(studio: Studio) -> None:
    """An output that reached its length limit before it said anything: the run fails."""
    await studio.say("well?")
    await studio.run([think("so much to") + say("", stop=StopReason.LENGTH)])


async def refusal(studio: Studio) -> None:
    """A model that refuses: the run fails with its words."""
    await studio.say("do it")
    await studio.run([say("I would rather not.", stop=StopReason.REFUSAL, raw_stop="safety")])


async def final_iteration(studio: Studio) -> None:
    """The last iteration offers no tools, and a notice, in Chinese with one text of the host's."""
    await studio.say("go on")
    words = words_for("zh", {"final_notice": "够了，请回答。"})
    await studio.run([call("echo"), "As far as I came."], Tool("echo"), words=words, limits=Limits(iterations=2))


async def tool_limit(studio: Studio) -> None:
    """Calls after the end of the budget: they do not run, and the run fails."""
    await studio.say("go on")
    await studio.run([call("echo"), call("echo")], Tool("echo"), limits=Limits(iterations=2))


async def model_failure(studio: Studio) -> None:
    """A model that fails in the middle of a text, which stays on record as broken off."""
    await studio.say("hello")
    await studio.run([say("Hello, I was just") + fail("overloaded", retry_after_ms=2_000)])


async def contract_breach(studio: Studio) -> None:
    """A model whose stream ends without a terminal delta."""
    await studio.say("hello")
    await studio.run([raw(BlockDelta(0, "Hel"))])


async def half_pairs(studio: Studio) -> None:
    """A surrogate pair split over two deltas, and a half that is left alone."""
    await studio.say("smile")
    await studio.run(
        [raw(BlockDelta(0, "\ud83d"), BlockDelta(0, "\ude00 \\"), BlockDelta(0, "\ud800"), StreamFinished())]
    )


# --- input


async def input_after_batch(studio: Studio) -> None:
    """Input that arrives while a tool runs: the batch ends, and a new turn begins."""

    async def work(invocation: Invocation) -> str:
        await trio.sleep(1)
        await studio.say("stop that")
        await trio.sleep(1)
        return "worked"

    await studio.say("work")
    await studio.run([call("work"), "Stopped."], Tool("work", work))


async def input_before_batch(studio: Studio) -> None:
    """Input that arrives while the model writes its calls: none of them starts."""
    await studio.say("work")
    output = say("I will.") + call("echo") + call("echo")
    await studio.run(Interrupted(studio, [output, "I did not."], "don't"), Tool("echo"))


async def superseded_text(studio: Studio) -> None:
    """Input that arrives while the model answers: the answer stays in the context as if it had been said."""
    await studio.say("one")
    await studio.run(Interrupted(studio, ["The answer to one.", "The answer to two."], "two"))


async def superseded_text_discarded(studio: Studio) -> None:
    """The same, but what nobody got is taken out of the context."""
    await studio.say("one")
    model = Interrupted(studio, ["The answer to one.", "The answer to two."], "two")
    await studio.run(model, discard_undelivered=True)


async def turn_limit(studio: Studio) -> None:
    """A second turn where only one is allowed: the run fails before it claims."""
    await studio.say("one")
    await studio.run(Interrupted(studio, ["The answer to one."], "two"), limits=Limits(turns=1))


async def no_input(studio: Studio) -> None:
    """A run that nobody has said anything to."""
    await studio.run([])


async def feed_failure(studio: Studio) -> None:
    """A subscription that breaks while a tool is at work."""

    class Broken:
        async def changed(self) -> None:
            await trio.sleep(2)
            raise ConnectionError("the line is dead")

    await studio.say("work")
    feed = WatchedFeed(studio.world.store.feed("talk"), lambda name, value: Broken() if name == "watch" else value)
    await studio.run([call("crawl")], Tool("crawl", hang), feed=feed)


async def claim_not_repeated(studio: Studio) -> None:
    """A feed that does not repeat a claim after a crash: its contract is broken."""
    await studio.say("work")
    await studio.die([call("crawl")], Killer("crawl"), record=False)

    def change(name: str, value: Any) -> Any:
        return type(value)((InputMessage("another"),), 7) if name == "claim" else value

    feed = WatchedFeed(studio.world.store.feed("talk"), change)
    await studio.run([], Tool("crawl"), feed=feed, take_over=True)


# --- ends and resumes


async def cancelled(studio: Studio) -> None:
    """A run whose caller is cancelled while three tools are at work: they are settled by what they are."""
    await studio.say("work")
    with trio.move_on_after(5):
        await studio.run([THREE], *three())


async def cancelled_model(studio: Studio) -> None:
    """A run that is cancelled while the model speaks."""
    await studio.say("tell me")
    with trio.move_on_after(0.1):
        await studio.run(ScriptedModel(["Once upon a time there was a run."], **SLOW))


async def cancelled_from_outside(studio: Studio) -> None:
    """A second executor takes over a run only to cancel it; it has no tools."""
    await studio.say("work")
    await studio.die([THREE], *three(Killer), record=False)
    await studio.run([], take_over=True, cancel="the customer left")


async def crash(studio: Studio) -> None:
    """A machine that died while three tools were at work: the recording is cut off in the middle of a line."""
    await studio.say("work")
    await studio.die([THREE], *three(Killer))
    studio.cut_off(100)


async def resume_after_crash(studio: Studio) -> None:
    """What becomes of the three calls after that crash: one needs review, two were interrupted."""
    await studio.say("work")
    await studio.die([THREE], *three(Killer), record=False)
    await studio.run(["So it is."], *three(), take_over=True)


async def resume_before_calls(studio: Studio) -> None:
    """A resume after a crash before any call had started; newer input is there as well."""

    async def die(name: str, value: Any) -> None:
        if name == "save_call":
            dying[0].die()
            await trio.sleep_forever()

    dying: list[Dying] = []
    await studio.say("work")
    process = Dying(studio.world, die)
    dying.append(process)
    with process.scope:
        await studio.run([THREE], *three(), journal=process, record=False)
    await studio.say("never mind")
    await studio.run(["Never mind it is."], *three(), take_over=True)


async def resume_before_outcome(studio: Studio) -> None:
    """A resume after a crash between a text and its outcome: the text is delivered, the model is not asked."""

    async def die(name: str, value: Any) -> None:
        if name == "save_step" and value.outcome is not None:
            dying[0].die()
            await trio.sleep_forever()

    dying: list[Dying] = []
    await studio.say("hello")
    process = Dying(studio.world, die)
    dying.append(process)
    with process.scope:
        await studio.run(["Hello!"], journal=process, record=False)
    await studio.run([], take_over=True)


async def delivered_again(studio: Studio) -> None:
    """A run that was delivered, resumed without newer input."""
    await studio.say("hello")
    await studio.run([call("echo"), "Hello!"], Tool("echo"), record=False)
    await studio.run([], Tool("echo"))


async def delivered_and_on(studio: Studio) -> None:
    """A run that was delivered, resumed with newer input."""
    await studio.say("hello")
    await studio.run(["Hello!"], record=False)
    await studio.say("how are you?")
    await studio.run(["Fine."])


async def failed_and_on(studio: Studio) -> None:
    """A run whose turn failed after newer input had superseded a text, resumed: nothing is lost or delivered twice."""
    await studio.say("one")
    await studio.run(Interrupted(studio, ["The answer to one.", fail()], "two"), record=False)
    await studio.run(["The answer to two."])


async def suspended(studio: Studio) -> None:
    """A call that its host takes over while it is being saved: the run waits."""

    async def take_over(name: str, value: Any) -> None:
        if name == "save_call":
            await studio.world.settle("ask", status=CallStatus.WAITING, handover=Handover.AWAIT, payload='{"to":"Ann"}')

    await studio.say("ask Ann")
    journal = WatchedJournal(studio.world.store.journal("run"), take_over)
    await studio.run([call("ask") + call("echo")], Tool("ask"), Tool("echo"), journal=journal)


async def resumed_after_host(studio: Studio) -> None:
    """That run after the host has settled the call."""

    async def take_over(name: str, value: Any) -> None:
        if name == "save_call" and value.name == "ask":
            await studio.world.settle("ask", status=CallStatus.WAITING, handover=Handover.AWAIT)

    await studio.say("ask Ann")
    tools = [Tool("ask"), Tool("echo")]
    journal = WatchedJournal(studio.world.store.journal("run"), take_over)
    await studio.run([call("ask") + call("echo")], *tools, journal=journal, record=False)
    await studio.world.settle("ask", status=CallStatus.SUCCEEDED, result="Ann says yes.", completed_at=now())
    await studio.run(["Ann agrees."], *tools)


# --- journals and leases


async def journal_failure(studio: Studio) -> None:
    """A journal that fails while two tools are at work and a third has ended."""

    async def fail_at_outcome(name: str, value: Any) -> None:
        if name == "save_call" and value.status == CallStatus.SUCCEEDED:
            raise OSError("disk full")

    await studio.say("work")
    tools = three()
    tools[1] = Tool("look", answer_after(1), replayable=True)
    await studio.run([THREE], *tools, journal=WatchedJournal(studio.world.store.journal("run"), fail_at_outcome))


async def refused_call(studio: Studio) -> None:
    """A journal that refuses an ordinary call, which it may not: the run fails."""

    async def refuse(name: str, value: Any) -> None:
        if name == "save_call":
            raise CallRejected("not on a Sunday")

    await studio.say("work")
    journal = WatchedJournal(studio.world.store.journal("run"), refuse)
    await studio.run([call("echo")], Tool("echo"), journal=journal)


async def stale_attempt(studio: Studio) -> None:
    """A run that another executor takes over while its tools are at work; it renewed its lease once before."""
    await studio.say("work")

    async def rival() -> None:
        await trio.sleep(15)
        await studio.world.store.journal("run").begin(30_000, take_over=True)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(rival)
        await studio.run([THREE], *three())


async def busy(studio: Studio) -> None:
    """A run that another executor holds."""
    await studio.world.store.journal("run").begin(30_000)
    await studio.run([])


async def unreadable_checkpoint(studio: Studio) -> None:
    """A checkpoint of a version that this release does not know."""
    await studio.say("hello")
    await studio.run(["Hello!"], record=False)
    journal = studio.world.store.journal("run")
    begun = await journal.begin(1)
    resume = begun.resume
    state = (resume.state or b"").replace(b'"version":1', b'"version":99')
    await journal.save_step(begun.attempt, Step(state, usage=resume.usage, outcome=resume.outcome))
    await journal.end(begun.attempt)
    await studio.run([])


KINDS: tuple[Callable[[Studio], Awaitable[None]], ...] = (
    text_reply, parallel_batch, sequential_batch, tool_error, bad_calls, length_stop, empty_output_retried, empty_twice,
    truncated, refusal, final_iteration, tool_limit, model_failure, contract_breach, half_pairs, input_after_batch,
    input_before_batch, superseded_text, superseded_text_discarded, turn_limit, no_input, feed_failure,
    claim_not_repeated, cancelled, cancelled_model, cancelled_from_outside, crash, resume_after_crash,
    resume_before_calls, resume_before_outcome, delivered_again, delivered_and_on, failed_and_on, suspended,
    resumed_after_host, journal_failure, refused_call, stale_attempt, busy, unreadable_checkpoint, *goals.KINDS,
)  # fmt: skip


def name_of(kind: Callable[[Studio], Awaitable[None]]) -> str:
    """The name of a kind's file, without its ending."""
    return kind.__name__.replace("_", "-")  # type: ignore[attr-defined]


def record(folder: Path, *names: str) -> None:
    """Record the kinds of these names, or all of them, into a folder."""
    scheduler = trio._core._run  # type: ignore[attr-defined]
    before = scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r
    for kind in KINDS:
        name = name_of(kind)
        if names and name not in names:
            continue
        # trio shuffles its tasks on purpose; a fixture that is recorded anew should differ only where the run does.
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r = True, random.Random(name)
        try:
            trio.run(kind, Studio(name, folder), clock=trio.testing.MockClock(autojump_threshold=0))
        finally:
            scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r = before


def readme() -> str:
    """What each recording is."""
    rows = "\n".join(f"| `{name_of(kind)}` | {' '.join((kind.__doc__ or '').split())} |" for kind in KINDS)
    return README.format(rows=rows)


README = """# Recorded runs

One execution of each kind of run: a header, and then a line for each event with the effects that the fold gave for it
(`shells/recording.py` says how it is written). `tests/shells/test_fixtures.py` folds each of them again and compares
every effect, byte for byte; a rule that changes on purpose shows there, and only there.

| recording | what it is |
|---|---|
{rows}

Record them anew, all or some, with

    python -m tests.shells.record_fixtures [NAME ...]

and read the difference before keeping it. Clock, seeds and the order of tasks are fixed, so what differs is what the
run does. A recording of an earlier release whose checkpoints may still be met is kept, under a name of its own.
"""


if __name__ == "__main__":
    FIXTURES.mkdir(exist_ok=True)
    record(FIXTURES, *sys.argv[1:])
    (FIXTURES / "README.md").write_text(readme())
