"""``turnfold decide``: what a person says about a call that is paused."""

import json
from argparse import Namespace

import trio

from ...adapters.stores import DecisionRefused
from ...effects.record import CallDecision, ToolCall, Wait, waits_for
from ..answering import decide, find_call
from .answered import how_to_go_on
from .database import open_existing
from .exits import CliError, ExitCode
from .hints import typed
from .report import arguments_text
from .style import clean, shortened

__all__ = ["run"]

_SHORT = 400


def run(arguments: Namespace) -> int:
    """Decide one call. Raises what ``errors`` explains."""
    return trio.run(_decide, arguments)


async def _decide(arguments: Namespace) -> int:
    with open_existing(arguments.db) as store:
        run_id, call = await find_call(store, arguments.call_id)
        _check(run_id, call)
        try:
            call = await decide(store, run_id, call.id, _decision(arguments))
        except DecisionRefused as error:
            raise CliError(f"{error}; {typed('show', clean(run_id))} shows how it stands", ExitCode.FAILED) from error
        print(_told(call, call.decision or CallDecision()))
        print(await how_to_go_on(store, run_id))
    return ExitCode.OK


def _check(run_id: str, call: ToolCall) -> None:
    """What could never be decided is told apart from what was decided, or expired, in the meantime."""
    if call.decision is not None or waits_for(call) is Wait.DECISION:
        return
    if waits_for(call) is None:
        status = clean(call.status).replace("_", " ")
        raise CliError(f"the call {call.id} is {status}; {typed('waiting')} lists those that wait", ExitCode.FAILED)
    raise CliError(
        f"the call {call.id} waits for a result and not for a decision; use "
        + typed("settle", clean(call.id), "--result", "TEXT"),
        ExitCode.FAILED,
    )


def _decision(arguments: Namespace) -> CallDecision:
    edited: str | None = arguments.arguments
    if edited is not None and not edited.strip():
        raise CliError("--arguments takes a JSON object, and not nothing; --approve lets the call run as it is")
    if edited is not None and not _may_be_object(edited):
        raise CliError('--arguments takes a JSON object, such as \'{"name": "value"}\', and that is something else')
    return CallDecision(
        approved=arguments.approve or edited is not None,
        reason=arguments.reject or "",
        arguments=edited or "",
        result=arguments.result,
        by=arguments.by,
    )


def _may_be_object(text: str) -> bool:
    """Whether it is one, or no JSON at all, of which others say more."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return True


def _told(call: ToolCall, decision: CallDecision) -> str:
    name = clean(call.name)
    if decision.result is not None:
        return f"given as the result of {name}: {shortened(decision.result, _SHORT)}"
    if not decision.approved:
        return f"rejected {name}" + (f": {shortened(decision.reason, _SHORT)}" if decision.reason else "")
    edited = "with other arguments: " if decision.arguments else ""
    return f"approved {edited}{name}({arguments_text(decision.arguments or call.arguments, _SHORT)})"
