"""``turnfold show``: one run, from its blocks to its outcome."""

import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence

import trio

from ...adapters.stores import RunSummary, UnknownRun
from ...adapters.stores.rules import undecidable
from ...effects.journal import Resume
from ...effects.outcome import Delivered, Suspended
from ...effects.record import Block, BlockKind, CallStatus, ToolCall
from .database import open_to_look
from .exits import CliError
from .finding import find_run
from .history import Exchange, exchanges, unanswered
from .report import (
    CUT_OFF,
    arguments_text,
    decision_text,
    json_text,
    model_text,
    outcome_text,
    result_text,
    run_data,
    spending_of,
    state_of,
    status_text,
    token_counts,
    took,
    waits_text,
)
from .style import Style, clean, date_time, shortened, style_for, wrapped
from .todo import todo

__all__ = ["run"]

_SHORT = 200
_INDENT = " " * 8


def run(arguments: Namespace) -> int:
    """Print one run. Raises what ``errors`` explains."""
    return trio.run(_show, arguments)


async def _show(arguments: Namespace) -> int:
    with open_to_look(arguments.db) as store:
        summary = await find_run(store, arguments.run_id)
        resume = await store.load(summary.run_id)
        if resume is None:
            raise UnknownRun(summary.run_id)
        try:
            said = exchanges(summary.run_id, resume)
            waiting = await unanswered(store, summary.conversation, summary.run_id, resume)
            said = (*said, *map(Exchange, waiting))
        except CliError:
            said = None
    if arguments.json:
        print(json_text(run_data(summary, resume, arguments.arguments)))
        return 0
    style = style_for(sys.stdout)
    for line in _lines(summary, resume, said, style, arguments.arguments):
        print(line)
    return 0


def _lines(
    summary: RunSummary, resume: Resume, said: Sequence[Exchange] | None, style: Style, with_arguments: bool
) -> Iterator[str]:
    yield style.bold(clean(summary.run_id))
    yield from _facts(summary, resume, style)
    if resume.blocks or resume.calls:
        yield ""
    calls = {call.id: call for call in resume.calls}
    for block in resume.blocks:
        call = calls.pop(block.call_id, None)
        yield from _call(summary, call, block.position, style, with_arguments) if call else _block(block, style)
    for call in calls.values():
        yield from _call(summary, call, 0, style, with_arguments)
    for task in resume.plan:
        yield f"  plan  {task.status.replace('_', ' '):<12} {shortened(task.subject, _SHORT)}"
    yield from _messages(summary, said, style)
    yield ""
    unfinished = isinstance(summary.outcome, Suspended | None)
    text = waits_text(resume.calls) if unfinished else ""
    text = f"outcome  {text or outcome_text(summary.outcome)}"
    first, *rest = wrapped(text, style.width) if style.moves else [text]
    yield style.bold("outcome") + first.removeprefix("outcome")
    yield from rest
    if isinstance(summary.outcome, Delivered) and summary.outcome.truncated:
        yield style.dim(f"  ({CUT_OFF})")


def _messages(summary: RunSummary, said: Sequence[Exchange] | None, style: Style) -> Iterator[str]:
    """What was said and answered, shortened; the last answer is the outcome, and stands there in full."""
    if said is None:
        yield ""
        yield style.dim("what was said cannot be shown: the checkpoint of the run is damaged, or of another release")
    elif said:
        yield ""
        in_full = clean(summary.outcome.text).strip() if isinstance(summary.outcome, Delivered) else None
        for place, exchange in enumerate(said):
            yield from _turn("asked", exchange.question, style)
            if exchange.answer and (place < len(said) - 1 or clean(exchange.answer) != in_full):
                yield from _turn("answered", exchange.answer, style)


def _turn(word: str, text: str, style: Style) -> Iterator[str]:
    room = style.width - 12 if style.moves else 0
    text = shortened(text, _SHORT)
    first, *rest = wrapped(text, room) if room else [text]
    yield f"  {style.dim(word.ljust(8))}  {first}"
    yield from (" " * 12 + line for line in rest)


def _facts(summary: RunSummary, resume: Resume, style: Style) -> Iterator[str]:
    rows = spending_of(resume).rows
    one = model_text(rows[0]) if len(rows) == 1 and rows[0].model and "model" not in summary.meta else ""
    facts = {
        "conversation": clean(summary.conversation),
        "state": state_of(summary),
        "attempts": str(summary.attempt),
        "created": date_time(summary.created_at),
        "updated": date_time(summary.updated_at),
        "model": one,
        "tokens": token_counts(resume.usage),
        **{shortened(name, 20): shortened(value, _SHORT) for name, value in summary.meta.items()},
    }
    for name, value in facts.items():
        if value:
            yield f"  {style.dim(name.ljust(13))} {value}"
        if name == "tokens" and len(rows) > 1:
            yield from (f"  {' ' * 13} {style.dim(model_text(row))} {token_counts(row.usage)}" for row in rows)


def _block(block: Block, style: Style) -> Iterator[str]:
    what = "thought" if block.kind is BlockKind.THINKING else "said"
    standing = f" ({block.standing.replace('_', ' ')})" if block.standing else ""
    first, *rest = _folded(shortened(block.text, _SHORT), style)
    yield f"{block.position:>4}  {style.dim(what + standing)}  {first}"
    yield from (_INDENT + line for line in rest)


def _call(summary: RunSummary, call: ToolCall, position: int, style: Style, with_arguments: bool) -> Iterator[str]:
    place = f"{position:>4}" if position else "    "
    given = f"({arguments_text(call.arguments, 10_000)})" if with_arguments else ""
    status = _coloured(call, style)
    spent = took(call)
    yield f"{place}  {clean(call.name)}{given}  {status}{style.dim('  ' + spent) if spent else ''}"
    result = result_text(call, _SHORT)
    if result:
        yield from (_INDENT + line for line in _folded(result, style))
    for name, value in call.notes.items():
        yield f"{_INDENT}{style.dim('note')} {clean(name)}: {shortened(value, _SHORT)}"
    if call.decision is not None:
        yield f"{_INDENT}{style.dim('decision')} {decision_text(call.decision, _SHORT, with_arguments)}"
    now = time.time_ns() // 1_000_000
    if undecidable(call, now):
        yield f"{_INDENT}{style.warn('expired:')} nobody decided it in time; resuming the run rejects it"
    for place, way in enumerate(todo(summary, call, now)):
        yield f"{_INDENT}{style.warn('   or:' if place else 'to do:')} {way}"


def _folded(text: str, style: Style) -> list[str]:
    """The text in lines that fit a terminal after the indent; in one line for everything else."""
    return wrapped(text, style.width - 2 * len(_INDENT)) if style.moves else [text]


def _coloured(call: ToolCall, style: Style) -> str:
    text = status_text(call)
    match call.status:
        case CallStatus.SUCCEEDED:
            return style.good(text)
        case CallStatus.FAILED:
            return style.bad(text)
        case CallStatus.NEEDS_REVIEW | CallStatus.WAITING | CallStatus.AWAITING_DECISION:
            return style.warn(text)
        case _:
            return style.dim(text)
