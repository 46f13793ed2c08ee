"""``turnfold show``: one run, from its blocks to its outcome."""

import sys
from argparse import Namespace
from collections.abc import Iterator

import trio

from ...adapters.stores import RunSummary, UnknownRun
from ...effects.journal import Resume
from ...effects.outcome import Suspended
from ...effects.record import Block, BlockKind, CallStatus, ToolCall, Wait, waits_for
from .database import open_existing
from .report import (
    arguments_text,
    decision_text,
    json_text,
    outcome_text,
    result_text,
    run_data,
    state_of,
    status_text,
    took,
    usage_text,
    waits_text,
)
from .style import Style, clean, date_time, shortened, style_for, wrapped

__all__ = ["run"]

_SHORT = 200
_INDENT = " " * 8


def run(arguments: Namespace) -> int:
    """Print one run. Raises what ``errors`` explains."""
    return trio.run(_show, arguments)


async def _show(arguments: Namespace) -> int:
    with open_existing(arguments.db) as store:
        summary = await store.run(arguments.run_id)
        resume = await store.load(arguments.run_id)
    if summary is None or resume is None:
        raise UnknownRun(arguments.run_id)
    if arguments.json:
        print(json_text(run_data(summary, resume, arguments.arguments)))
        return 0
    style = style_for(sys.stdout)
    for line in _lines(summary, resume, style, arguments.arguments):
        print(line)
    return 0


def _lines(summary: RunSummary, resume: Resume, style: Style, with_arguments: bool) -> Iterator[str]:
    yield style.bold(clean(summary.run_id))
    yield from _facts(summary, resume, style)
    if resume.blocks or resume.calls:
        yield ""
    calls = {call.id: call for call in resume.calls}
    for block in resume.blocks:
        call = calls.pop(block.call_id, None)
        yield from _call(call, block.position, style, with_arguments) if call else _block(block, style)
    for call in calls.values():
        yield from _call(call, 0, style, with_arguments)
    for task in resume.plan:
        yield f"  plan  {task.status.replace('_', ' '):<12} {shortened(task.subject, _SHORT)}"
    yield ""
    unfinished = isinstance(summary.outcome, Suspended | None)
    text = waits_text(resume.calls) if unfinished else ""
    yield f"{style.bold('outcome')}  {text or outcome_text(summary.outcome)}"


def _facts(summary: RunSummary, resume: Resume, style: Style) -> Iterator[str]:
    facts = {
        "conversation": clean(summary.conversation),
        "state": state_of(summary),
        "attempts": str(summary.attempt),
        "created": date_time(summary.created_at),
        "updated": date_time(summary.updated_at),
        "tokens": usage_text(resume.usage),
        **{shortened(name, 20): shortened(value, _SHORT) for name, value in summary.meta.items()},
    }
    for name, value in facts.items():
        if value:
            yield f"  {style.dim(name.ljust(13))} {value}"


def _block(block: Block, style: Style) -> Iterator[str]:
    what = "thought" if block.kind is BlockKind.THINKING else "said"
    standing = f" ({block.standing.replace('_', ' ')})" if block.standing else ""
    first, *rest = _folded(shortened(block.text, _SHORT), style)
    yield f"{block.position:>4}  {style.dim(what + standing)}  {first}"
    yield from (_INDENT + line for line in rest)


def _call(call: ToolCall, position: int, style: Style, with_arguments: bool) -> Iterator[str]:
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
    todo = _todo(call)
    if todo:
        yield f"{_INDENT}{style.warn('to do:')} {todo}"


def _todo(call: ToolCall) -> str:
    match waits_for(call):
        case Wait.REVIEW:
            return f"turnfold settle {clean(call.id)} (review)"
        case Wait.DECISION:
            return f"turnfold decide {clean(call.id)}"
        case Wait.RESULT | Wait.OUTSTANDING:
            return f"turnfold settle {clean(call.id)} ({call.handover})"
        case None:
            return "resume the run, which carries the decision out" if _is_decided(call) else ""


def _is_decided(call: ToolCall) -> bool:
    return call.status == CallStatus.AWAITING_DECISION and call.decision is not None


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
