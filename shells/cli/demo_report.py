"""What the demonstration showed: the timeline, the checks, and a closing paragraph. Pure but for the clock's zone.

The checks believe the witness, which counts what the world saw, before what the run says of itself.
"""

from collections.abc import Iterator

from ...adapters.stores import RunSummary
from ...core.run.records import effective_arguments
from ...effects.journal import Resume
from ...effects.outcome import Delivered
from ...effects.record import BlockKind, CallStatus, Handover, ToolCall
from ...effects.values import frozen
from .demo_agent import BANKS_ANSWER, GRANTED, QUESTION, Sight
from .exits import ExitCode
from .report import arguments_text, result_text, status_text, took
from .style import Style, folded, shortened, wrapped

__all__ = ["Act", "Evidence", "Execution", "closing", "problems", "timeline"]


@frozen
class Execution:
    """One process: its number, its pid, when it ran (milliseconds since the epoch), and how it ended."""

    number: int
    pid: int
    started_at: int
    ended_at: int
    returncode: int | None

    @property
    def killed(self) -> bool:
        """Whether SIGKILL ended it."""
        return self.returncode == -9


@frozen
class Act:
    """What a person did, and when (milliseconds since the epoch)."""

    at: int
    what: str


@frozen
class Evidence:
    """All there is to know: what is stored, which processes there were, and what the world saw of their tools.

    ``consumed``: whether the answer consumed the question; ``lease_until``: when the lease of the dead process ran out.
    """

    started_at: int
    summary: RunSummary
    resume: Resume
    executions: tuple[Execution, ...]
    sights: tuple[Sight, ...]
    consumed: bool
    acts: tuple[Act, ...] = ()
    lease_until: int | None = None

    def seen(self, tool: str) -> int:
        """How often a tool took effect in the world."""
        return sum(sight.tool == tool for sight in self.sights)

    def calls(self, name: str) -> list[ToolCall]:
        """The records of a tool's calls, oldest first."""
        return [call for call in self.resume.calls if call.name == name]


# The checks.


def problems(evidence: Evidence) -> list[str]:
    """What did not happen as it should; nothing when all is well."""
    first, second, third = evidence.executions
    charges, reports = evidence.calls("charge"), evidence.calls("write_report")
    asked, vouchers = evidence.calls("ask_bank"), evidence.calls("send_voucher")
    expected = {
        "process 1 was killed with SIGKILL": first.killed,
        "process 2 ended when the run had to wait": second.returncode == ExitCode.WAITING,
        "process 3 came to its end": third.returncode == 0,
        "the order was looked up once, and not again after the kill": evidence.seen("find_order") == 1,
        "the card was charged exactly once": evidence.seen("charge") == 1,
        "the charge that was cut off needs review": [call.status for call in charges] == [CallStatus.NEEDS_REVIEW],
        "the report that was cut off was written again": evidence.seen("write_report") == 2
        and [call.status for call in reports] == [CallStatus.INTERRUPTED, CallStatus.SUCCEEDED],
        "the bank was asked once, and its answer is the result": evidence.seen("ask_bank") == 1
        and [call.result for call in asked] == [BANKS_ANSWER],
        "the voucher was sent once, as it was approved": evidence.seen("send_voucher") == 1
        and [GRANTED in (call.result or "") for call in vouchers] == [True],
        "the run has three attempts": evidence.summary.attempt == 3,
        "the run gave an answer": isinstance(evidence.summary.outcome, Delivered),
        "the answer consumed the question": evidence.consumed,
    }
    return [what for what, so in expected.items() if not so]


# The timeline.

_WIDE = 60
"""From how many columns on there is room for texts to stand under each other, in columns."""


def timeline(evidence: Evidence, style: Style) -> Iterator[str]:
    """What happened, in order, with seconds since the start."""
    yield ""
    width = min(style.width, 80)
    yield from folded(style.bold("What is stored of it") + style.dim("  (seconds since the start)"), width)
    first, second, third = evidence.executions
    rows = sorted(_rows(evidence, style), key=lambda row: row[0])

    def between(after: int, until: int) -> Iterator[str]:
        return (_row(evidence, at, text, width) for at, text in rows if after < at <= until)

    yield _heading(first, style)
    yield from between(0, first.ended_at)
    yield _row(evidence, first.ended_at, f"{style.bad('killed')}   with SIGKILL, while two calls were running", width)
    yield _heading(second, style)
    held = evidence.lease_until is not None and evidence.lease_until > second.started_at
    held_text = "and may not touch the run yet: process 1 might still be at it" if held else "and finds the run free"
    yield _row(evidence, second.started_at, f"starts   {held_text}", width)
    yield from between(first.ended_at, second.ended_at)
    yield _row(evidence, second.ended_at, "ends     nothing has to run while the run waits", width)
    yield style.dim("a person")
    yield from (_row(evidence, act.at, act.what, width) for act in evidence.acts)
    yield _heading(third, style)
    yield from between(second.ended_at, max(at for at, _ in rows))


def _heading(execution: Execution, style: Style) -> str:
    return style.dim(f"process {execution.number} (pid {execution.pid}), attempt {execution.number}")


def _row(evidence: Evidence, at: int, text: str, width: int) -> str:
    """A line, or where the terminal is narrow some more under its text; what is indented already fits."""
    first, *more = text.split("\n")
    lines = folded(f"{(at - evidence.started_at) / 1000:6.2f}  {first}", width, _under(width))
    return "\n".join((*lines, *(_under(width) + line for line in more)))


def _under(width: int) -> str:
    return " " * (17 if width >= _WIDE else 10)


def _rows(evidence: Evidence, style: Style) -> Iterator[tuple[int, str]]:
    yield evidence.started_at, f"input    {shortened(QUESTION, 63)}"
    if evidence.lease_until is not None:
        yield evidence.lease_until, "lease    of process 1 runs out: process 2 may take the run"
    for block in evidence.resume.blocks:
        if block.kind is not BlockKind.TOOL_CALL:
            yield _minted_at(block.id), f"says     {shortened(block.text, 63)}"
    for call in evidence.resume.calls:
        yield from _call_rows(evidence, call, style)
    outcome = evidence.summary.outcome
    if isinstance(outcome, Delivered):
        yield evidence.summary.updated_at, f"outcome  answered: {shortened(outcome.text, 53)}"


def _call_rows(evidence: Evidence, call: ToolCall, style: Style) -> Iterator[tuple[int, str]]:
    name = f"{call.name}({arguments_text(effective_arguments(call), 40)})"
    status = {
        CallStatus.SUCCEEDED: style.good,
        CallStatus.NEEDS_REVIEW: style.warn,
    }.get(CallStatus(call.status), style.dim)(status_text(call))
    started, completed = call.started_at or 0, call.completed_at or 0
    if call.handover is Handover.AWAIT:
        yield started, f"call     {name}  {style.warn('its result comes from outside')}"
        return
    if call.decision is not None:
        asked = arguments_text(call.arguments, 40)
        yield _minted_at(call.id), f"pauses   {call.name}({asked})  {style.warn('to be decided')}"
    cut_off = completed > evidence.executions[0].ended_at >= started
    if not cut_off:
        yield started, f"call     {name}  {status} {style.dim(took(call))}"
        return
    yield started, f"call     {name}  {style.dim('running …')}"
    width = min(style.width, 80)
    read = wrapped(f"the model reads: {result_text(call, 400)}", width - len(_under(width)))
    yield completed, f"settles  {call.name}: {status}" + "".join(f"\n{style.dim(line)}" for line in read)


def _minted_at(own_id: str) -> int:
    """When a block or call began: our ids are shaped like UUIDv7, which begins with the time in milliseconds."""
    return int(own_id.replace("-", "")[:12], 16)


# The end.


def closing(evidence: Evidence, wrong: list[str], path: str | None, style: Style) -> Iterator[str]:
    """What was just seen, and where to look further."""
    yield ""
    if wrong:
        yield style.bad("This is not what should have happened:")
        yield from (f"  not so: {what}" for what in wrong)
    else:
        seen = f"{style.bold('What you have just seen:')} one run, three processes, and nothing done twice."
        yield from folded(seen, min(style.width, 80))
        yield from wrapped(_PARAGRAPH, min(style.width, 80))
    if path is not None:
        yield ""
        yield "Look further:"
        yield f"  turnfold runs --db {path}"
        yield f"  turnfold show {evidence.summary.run_id} --arguments --db {path}"


_PARAGRAPH = """\
Process 1 was killed in the middle of a payment. Process 2 waited until the dead process could not write any more, and \
went on from what was saved. The lookup that had finished was not repeated. The report that was cut off is harmless, \
so the model was told to call it again, and did. The charge is not: nobody can know whether it went through, so it was \
not repeated, a person is asked to review it, and the model was told exactly that. Then the run had to wait, which \
takes no process at all: a person allowed a smaller voucher and passed the bank's answer on, with one command each, \
and process 3 sent that voucher, once. The file in which the tools note what they do counts one charge and one \
voucher."""
