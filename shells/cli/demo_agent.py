"""The agent of ``turnfold demo``: a scripted model, five tools, and a witness that no crash can take back.

The model is a function of what it is asked, so a second process goes on where the first one was killed. Each tool
writes a line into a file beside the database the moment it takes effect; what really happened is read from there and
not from what the run says of itself.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import trio

from ...adapters.models import Reply, ScriptedModel, call, say
from ...adapters.stores import RunSummary
from ...adapters.tools import FunctionTool, ToolContext, tool
from ...core.text import ENGLISH
from ...effects.model import ModelRequest
from ...effects.question import CallPolicy, Confirm
from ...effects.tool import Await, Invocation
from ...effects.transcript import AssistantMessage, ToolResultMessage, calls_of, text_of
from ...effects.values import frozen, replace
from ..perform import Tool
from .database import default_path
from .execution import Job

__all__ = ["BANKS_ANSWER", "FAST", "GRANTED", "QUESTION", "USUAL", "Pace", "Sight", "clear_up", "demo_job",
           "read_witness", "script", "witness_of"]  # fmt: skip

ORDER = "A-1042"
QUESTION = f"Order {ORDER} has not been paid yet. Charge the customer and write me a short report."
AMOUNT = "49.00 EUR"
OFFERED, GRANTED = "20.00 EUR", "5.00 EUR"
"""What the model would give the customer, and what a person makes of that."""

BANKS_ANSWER = f"one charge of {AMOUNT} was booked for {ORDER}"


@frozen
class Pace:
    """How long things take, in seconds, and the lease in milliseconds; ``gap_s`` is from word to word.

    ``cut_off_s`` is how long the calls take that are to be killed, while the demonstration watches: longer than anybody
    waits, so that a busy machine shows the same as an idle one.
    """

    name: str
    lookup_s: float
    report_s: float
    gap_s: float
    lease_ms: int
    cut_off_s: float = 30.0


USUAL = Pace("usual", lookup_s=0.3, report_s=0.6, gap_s=0.02, lease_ms=2000)
FAST = Pace("fast", lookup_s=0.05, report_s=0.1, gap_s=0.005, lease_ms=1000)
PACES = {pace.name: pace for pace in (USUAL, FAST)}


def demo_job(summary: RunSummary, db: str | None, *, watched: bool) -> Job:
    """What it takes to execute a run of the demonstration, in whichever process.

    ``watched``: by the demonstration, which kills it; a person who takes the run up has nobody to kill it.
    """
    pace = PACES.get(summary.meta.get("pace", ""), USUAL)
    pace = pace if watched else replace(pace, cut_off_s=pace.report_s)
    model = ScriptedModel(script, sleep=trio.sleep, gap_s=pace.gap_s, chunk=12, provider="demo", model="a script")
    tools = _tools(pace, witness_of(Path(db) if db else default_path(), summary.run_id))
    return Job(summary.run_id, summary.conversation, model, tools, lease_ms=pace.lease_ms, meta={"model": "the script"})


# What the model says.


def script(request: ModelRequest) -> Reply:
    """The next thing to say, read from what the context holds and from nothing else."""
    messages = list(request.messages)
    place = len(messages)
    results = {message.call_id: message for message in messages if isinstance(message, ToolResultMessage)}
    calls = [part for message in messages if isinstance(message, AssistantMessage) for part in calls_of(message)]
    last = {part.name: results[part.id] for part in calls if part.id in results}
    if "find_order" not in last:
        return say("Let me look the order up.") + call("find_order", {"order": ORDER}, id=f"find-{place}")
    if "charge" not in last or text_of(last["charge"]) == ENGLISH.never_started:
        return (
            say("It is open. I charge the card and write the report meanwhile.")
            + call("charge", {"order": ORDER, "amount": AMOUNT}, id=f"charge-{place}")
            + call("write_report", {"order": ORDER}, id=f"report-{place}")
        )
    if text_of(last["write_report"]) in (ENGLISH.interrupted_replayable, ENGLISH.never_started):
        return say("The report was cut off, and writing it again does no harm.") + call(
            "write_report", {"order": ORDER}, id=f"report-{place}"
        )
    report, charged = text_of(last["write_report"]), text_of(last["charge"])
    if charged != ENGLISH.needs_review:
        return say(f"{report} The charge went through: {charged}.")
    if "ask_bank" not in last or "send_voucher" not in last:
        return (
            say(
                "Nobody can tell whether the charge went through. I do not try again: "
                "I ask the bank, and offer a voucher."
            )
            + call("ask_bank", {"order": ORDER}, id=f"ask-{place}")
            + call("send_voucher", {"amount": OFFERED}, id=f"voucher-{place}")
        )
    # Above the last line, the model is told with which arguments the call was approved.
    voucher = text_of(last["send_voucher"]).rpartition("\n")[2]
    return say(f"{report} The bank says: {text_of(last['ask_bank'])}. And a {voucher}.")


# What the tools do.


@frozen
class Sight:
    """Something the world saw, at ``at`` (milliseconds since the epoch), by process ``pid``."""

    at: int
    pid: int
    tool: str
    key: str


def witness_of(db: Path, run_id: str) -> Path:
    """The witness file of a run."""
    return db.with_name(f"{db.name}.{run_id}.witness")


def clear_up(summary: RunSummary, db: str | None) -> None:
    """Remove what a run of the demonstration has left beside the database, once it is over."""
    if summary.meta.get("kind") == "demo":
        witness_of(Path(db) if db else default_path(), summary.run_id).unlink(missing_ok=True)


def read_witness(path: Path) -> list[Sight]:
    """What the world saw so far; half a line, at the moment of a kill, does not count."""
    return list(_sights(path.read_bytes().splitlines(keepends=True))) if path.exists() else []


def _sights(lines: list[bytes]) -> Iterator[Sight]:
    for line in lines:
        if line.endswith(b"\n"):
            yield msgspec.json.decode(line, type=Sight)


def _tools(pace: Pace, witness: Path) -> tuple[Tool, ...]:
    def saw(name: str, context: ToolContext) -> None:
        line = msgspec.json.encode(Sight(time.time_ns() // 1_000_000, os.getpid(), name, context.key)) + b"\n"
        file = os.open(witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    async def find_order(order: str, context: ToolContext) -> str:
        """Look an order up."""
        saw("find_order", context)
        await trio.sleep(pace.lookup_s)
        return f"order {order}: {AMOUNT}, not paid"

    async def charge(order: str, amount: str, context: ToolContext) -> str:
        """Charge the customer's card. This cannot be undone."""
        saw("charge", context)
        await trio.sleep(pace.cut_off_s)
        return f"{amount} charged for {order}"

    async def write_report(order: str, context: ToolContext) -> str:
        """Write a report about an order."""
        first = not any(sight.tool == "write_report" for sight in read_witness(witness))
        saw("write_report", context)
        await trio.sleep(pace.cut_off_s if first else pace.report_s)
        return f"Report: order {order}, {AMOUNT}, one customer, one charge asked for."

    async def ask_bank(order: str, context: ToolContext) -> Await:
        """Ask the bank whether an order was charged. Its answer comes when it comes."""
        saw("ask_bank", context)
        return Await({"question": f"was {order} charged?"})

    async def send_voucher(amount: str, context: ToolContext) -> str:
        """Send the customer a voucher, once a person has approved it."""
        saw("send_voucher", context)
        return f"voucher of {amount} was sent to the customer"

    async def confirm(_: Invocation) -> CallPolicy:
        return CallPolicy(confirm=Confirm())

    made: tuple[FunctionTool[..., object], ...] = (
        tool(replayable=True)(find_order),
        tool(side_effects=True)(charge),
        tool(replayable=True)(write_report),
        tool()(ask_bank),
        tool(side_effects=True, policy=confirm)(send_voucher),
    )
    return made
