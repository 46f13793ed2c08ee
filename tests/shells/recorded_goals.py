"""Kinds of recorded runs: hand-overs, decisions, values that end a run, guards, limits, extensions.

As in ``record_fixtures``, a function is a kind of run, and its docstring is what README.md says. ``HOSTS`` has the
functions of a host that a recording cannot hold: whoever folds such a run again needs them.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio
from turnfold.adapters.models.scripted import ScriptedModel, call, fail, pause, say
from turnfold.core.run import Limits, Retries
from turnfold.effects.journal import CallRejected
from turnfold.effects.question import CallPolicy, Confirm, Correct, Finish, NeverHappened, Submit, Verdict
from turnfold.effects.record import CallDecision, CallStatus
from turnfold.effects.tool import Invocation, ToolResult
from turnfold.shells.host import Host

from tests.shells.run_cases.parts import Claims, Judge, always, asking, detaching, finishing
from tests.shells.studio import THREE, Interrupted, Killer, Studio, three
from tests.shells.world import Tool, WatchedJournal

PAY = call("pay", {"amount": 5})
CONFIRM = Host(policies={"pay": always(CallPolicy(confirm=Confirm({"why": "money"}, 60_000)))})
SUBMIT = Host(policies={"pay": always(CallPolicy(submit=Submit("Handed in as number 7.", {"to": "accounts"})))})


def standing_in(reason: str) -> dict[str, str]:
    """The value that ends a run which cannot end otherwise."""
    return {"because": reason}


class Broken(Claims):
    """Does not like what the model says."""

    def on_output(self, state: int, output: Any) -> int:
        raise ValueError("not in these words")


HOSTS: Mapping[str, Host] = {
    "correction-and-fallback": Host(fallback=standing_in),
    "extension": Host(extensions=(Claims(),)),
    "extension-failed": Host(extensions=(Broken(),)),
}


def pay() -> Tool:
    """What has to be confirmed."""
    return Tool("pay", side_effects=True)


# --- other people's calls


async def paused(studio: Studio) -> None:
    """A call that a person has to confirm: the run waits."""
    await studio.say("pay them")
    await studio.run([PAY], pay(), host=CONFIRM)


async def approved_with_edits(studio: Studio) -> None:
    """That run after the call was approved with other arguments: it is carried out, and the model is told of them."""
    await studio.say("pay them")
    await studio.run([PAY], pay(), host=CONFIRM, record=False)
    record = await studio.world.call("pay")
    decision = CallDecision(True, arguments='{"amount": 3}', digest=record.digest, by="Ann")
    await studio.world.store.decide("run", record.id, decision)
    await studio.run(["I paid three."], pay(), host=CONFIRM)


async def submitted(studio: Studio) -> None:
    """A call that is handed in instead of being run: the model gets a receipt, and the run goes on."""
    await studio.say("pay them")
    await studio.run([PAY, "It is with accounts."], pay(), host=SUBMIT)


async def refused_submission(studio: Studio) -> None:
    """A journal that refuses what is handed in: the call fails with its reason."""

    async def refuse(name: str, value: Any) -> None:
        if name == "save_call" and value.status == CallStatus.AWAITING_DECISION:
            raise CallRejected("accounts is closed on a Sunday")

    await studio.say("pay them")
    journal = WatchedJournal(studio.world.store.journal("run"), refuse)
    await studio.run([PAY, "Tomorrow, then."], pay(), host=SUBMIT, journal=journal)


async def policy_failed(studio: Studio) -> None:
    """A policy that raises: its call fails, and the other one runs."""

    async def unsure(invocation: Invocation) -> CallPolicy:
        raise LookupError("nobody knows the limit")

    await studio.say("pay them")
    host = Host(policies={"pay": unsure})
    await studio.run([PAY + call("echo"), "I could not."], pay(), Tool("echo"), host=host)


async def question_cut_off(studio: Studio) -> None:
    """A run whose caller is cancelled while a policy thinks: the question is cut off, and the call never started."""

    async def thinks(invocation: Invocation) -> CallPolicy:
        await trio.sleep_forever()
        raise AssertionError("unreachable")

    await studio.say("pay them")
    with trio.move_on_after(5):
        await studio.run([PAY], pay(), host=Host(policies={"pay": thinks}))


async def awaited(studio: Studio) -> None:
    """A tool whose result comes from outside: the run waits once the other call of the batch is over."""
    await studio.say("ask Ann")
    await studio.run([call("ask") + call("echo")], asking(), Tool("echo"))


async def settled(studio: Studio) -> None:
    """That run after the result has come."""
    await studio.say("ask Ann")
    await studio.run([call("ask") + call("echo")], asking(), Tool("echo"), record=False)
    await studio.world.settle("ask", status=CallStatus.SUCCEEDED, result="Ann says yes.")
    await studio.run(["She agrees."], asking(), Tool("echo"))


async def detached(studio: Studio) -> None:
    """A tool whose work goes on without the run: the model gets a receipt."""
    await studio.say("order it")
    await studio.run([call("order"), "It is under way."], detaching())


async def reconciled(studio: Studio) -> None:
    """A resume after a crash that asks its tools: one knows the result, one that nothing had happened."""

    async def found(invocation: Invocation) -> ToolResult:
        return ToolResult("paid, by the books")

    async def not_there(invocation: Invocation) -> NeverHappened:
        return NeverHappened()

    def reconciling(kind: type[Tool]) -> list[Tool]:
        tools = three(kind)
        tools[0].reconcile, tools[1].reconcile = found, not_there  # type: ignore[attr-defined]
        return tools

    await studio.say("work")
    await studio.die([THREE], *reconciling(Killer), record=False)
    await studio.run(["So it is."], *reconciling(Tool), take_over=True)


async def cancelled_while_paused(studio: Studio) -> None:
    """A run that waits for a person and for a result is cancelled by a take-over: only the paused call is given up."""
    await studio.say("pay them, and ask Ann")
    await studio.run([PAY + call("ask")], pay(), asking(), host=CONFIRM, record=False)
    await studio.run([], take_over=True, cancel="the customer left")


# --- other ends


async def completion_fixed(studio: Studio) -> None:
    """A value ends the run for good, although newer input has come in."""

    async def finish(invocation: Invocation) -> Any:
        await studio.say("wait!")
        return await finishing(fixed=True).body(invocation)

    await studio.say("finish")
    await studio.run([call("finish", {"v": 1})], Tool("finish", finish, completion=True))


async def completion_superseded(studio: Studio) -> None:
    """A value that newer input takes the place of: the model sees no trace of it, and a second one ends the run."""

    async def finish(invocation: Invocation) -> Any:
        if invocation.arguments == {"v": 1}:
            await studio.say("wait!")
            await trio.sleep(1)
        return await finishing().body(invocation)

    await studio.say("finish")
    script = [call("finish", {"v": 1}), call("finish", {"v": 2})]
    await studio.run(script, Tool("finish", finish, completion=True))


async def correction_and_fallback(studio: Studio) -> None:
    """A call that breaks the rules uses the only correction, and after the next one a fallback ends the run."""
    await studio.say("finish")
    script = [call("finish") + call("echo"), call("finish", {"v": -1})]
    await studio.run(script, finishing(), Tool("echo"), host=HOSTS["correction-and-fallback"])


async def guard_corrects(studio: Studio) -> None:
    """A guard rejects a text, with a note on a call, and accepts the next one."""
    await studio.say("say hello")

    def first(view: Any) -> Verdict:
        return Verdict(Correct("More kindly, please."), {record.id: {"seen": "yes"} for record in view.calls})

    await studio.run([call("echo"), "Go.", "Hello!"], Tool("echo"), host=Host(guard=Judge(first, Verdict())))


async def guard_finishes(studio: Studio) -> None:
    """A guard ends the run with a value instead of the text."""
    await studio.say("say hello")
    await studio.run(["Go."], host=Host(guard=Judge(Verdict(Finish({"ok": False})))))


async def guard_rejects(studio: Studio) -> None:
    """A guard rejects a text, and no correction is left: the run fails."""
    await studio.say("say hello")
    guard = Judge(Verdict(Correct("No.")))
    await studio.run(["Go."], host=Host(guard=guard), limits=Limits(corrections=0))


async def model_retried(studio: Studio) -> None:
    """A model that fails in the middle of a call is asked again after a while; what it had shown is withdrawn."""
    await studio.say("look")
    script = [say("Let me") + call("echo") + fail("overloaded", retry_after_ms=2_000), call("echo"), "Here it is."]
    await studio.run(script, Tool("echo"), retries=Retries())


async def model_silent(studio: Studio) -> None:
    """A model that stops in the middle of its answer is cut off and asked again."""
    await studio.say("hello")
    model = ScriptedModel([say("Hel") + pause(60), "Hello!"], sleep=trio.sleep)
    await studio.run(model, limits=Limits(first_token_ms=1_000, stall_ms=1_000), retries=Retries())


async def tool_timed_out(studio: Studio) -> None:
    """Three tools that take too long: they are stopped, settled by what they are, and the model is told."""
    await studio.say("work")
    await studio.run([THREE, "They are slow."], *three(), limits=Limits(tool_ms=2_000))


async def out_of_time(studio: Studio) -> None:
    """A run that takes longer than it may."""
    await studio.say("work")
    await studio.run([THREE], *three(), limits=Limits(run_ms=2_000))


async def out_of_tokens(studio: Studio) -> None:
    """A run that has used its tokens before it came to an end."""
    await studio.say("work")
    await studio.run([call("echo"), call("echo")], Tool("echo"), limits=Limits(tokens=20))


async def extension(studio: Studio) -> None:
    """An extension that counts claims: its state is restored, and a claim that is repeated is not told again."""
    await studio.say("ask Ann")
    host = HOSTS["extension"]
    await studio.run([call("ask")], asking(), host=host, record=False)
    await studio.world.settle("ask", status=CallStatus.SUCCEEDED, result="Ann says yes.")
    await studio.run(Interrupted(studio, ["She agrees.", "You are welcome."], "thanks"), asking(), host=host)


async def extension_failed(studio: Studio) -> None:
    """An extension that raises: the run fails."""
    await studio.say("hello")
    await studio.run(["Hello!"], host=HOSTS["extension-failed"])


KINDS: tuple[Callable[[Studio], Awaitable[None]], ...] = (
    paused, approved_with_edits, submitted, refused_submission, policy_failed, question_cut_off, awaited, settled,
    detached, reconciled, cancelled_while_paused, completion_fixed, completion_superseded, correction_and_fallback,
    guard_corrects, guard_finishes, guard_rejects, model_retried, model_silent, tool_timed_out, out_of_time,
    out_of_tokens, extension, extension_failed,
)  # fmt: skip
