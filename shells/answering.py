"""What a host does about a call that waits for somebody: find it, decide it, settle it. It takes a store and no tools.

A run that waits holds nothing: whoever has the store can answer, in any process, and a resume goes on from there. What
a store alone cannot know is checked here: whether edited arguments fit the tool, by the schema that the run keeps.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from ..core.run.records import parse_arguments
from ..core.run.stored import arguments_schema, tool_of
from ..effects.journal import CallUpdate, Resume
from ..effects.record import CallDecision, CallStatus, ToolCall, Wait, waits_for
from ..effects.schema import SchemaError
from ..effects.tool import ToolSpec
from ..effects.transcript import DecodeError, ToolDeclaration, clean_text
from ..effects.values import replace
from .clock import wall_clock
from .host import SchemaCheck

__all__ = [
    "AmbiguousCall",
    "CallStore",
    "CannotAnswer",
    "EditRefused",
    "NoSuchCall",
    "NotWaiting",
    "decide",
    "find_call",
    "settle",
]


class CallStore(Protocol):
    """What is needed of a store; see ``turnfold.adapters.stores.Store`` for what it means."""

    async def load(self, run_id: str) -> Resume | None:
        """All that is stored of a run."""
        ...

    async def call(self, run_id: str, call_id: str) -> ToolCall | None:
        """One record."""
        ...

    async def calls(self, beginning: str, limit: int = 50) -> tuple[tuple[str, ToolCall], ...]:
        """The calls of all runs whose ids begin so."""
        ...

    async def settle(self, run_id: str, update: CallUpdate) -> ToolCall:
        """Write what the host knows."""
        ...

    async def decide(self, run_id: str, call_id: str, decision: CallDecision) -> ToolCall:
        """Compare-and-set."""
        ...


class CannotAnswer(Exception):
    """A call cannot be answered so; nothing was written."""


class NoSuchCall(CannotAnswer):
    """No call of any run has an id that begins with ``beginning``."""

    def __init__(self, beginning: str) -> None:
        super().__init__(f"there is no call whose id begins with {beginning!r}")
        self.beginning = beginning


class AmbiguousCall(CannotAnswer):
    """More than one call has an id that begins so; ``found`` holds some of their ids."""

    def __init__(self, beginning: str, found: tuple[str, ...]) -> None:
        super().__init__(f"more than one call has an id that begins with {beginning!r}")
        self.beginning = beginning
        self.found = found


class NotWaiting(CannotAnswer):
    """The call cannot be settled from outside: it waits for a decision, or for nobody (``wait`` says which)."""

    def __init__(self, call: ToolCall) -> None:
        self.call_id = call.id
        self.status = call.status
        self.wait = waits_for(call)
        what = f"is {call.status.replace('_', ' ')}" if call.settled else "is the run's to carry out"
        super().__init__(
            f"the call {call.id} cannot be settled: it {'waits for a decision' if self.wait is Wait.DECISION else what}"
        )


class EditRefused(CannotAnswer):
    """Edited arguments do not fit the tool. ``problems`` says where and what, ``root`` being the whole of them."""

    def __init__(self, call_id: str, tool: str, problems: tuple[tuple[str, str], ...]) -> None:
        told = ", ".join(f"{place} {problem}" for place, problem in problems)
        super().__init__(f"the arguments do not fit the tool {tool}: {told}")
        self.call_id = call_id
        self.tool = tool
        self.problems = problems


async def find_call(store: CallStore, beginning: str) -> tuple[str, ToolCall]:
    """The run and the record of the one call that has this id, or whose id alone begins so.

    Raises ``NoSuchCall`` and ``AmbiguousCall``.
    """
    beginning = clean_text(beginning)
    found = list(await store.calls(beginning, 10)) if beginning else []
    found = [pair for pair in found if pair[1].id == beginning] or found
    if not found:
        raise NoSuchCall(beginning)
    if len(found) > 1:
        raise AmbiguousCall(beginning, tuple(call.id for _, call in found))
    return found[0]


async def decide(store: CallStore, run_id: str, call_id: str, decision: CallDecision) -> ToolCall:
    """Decide a call that is paused, once; the record with the decision.

    The decision is bound to the arguments that the call has, and arguments that replace them must fit the tool
    (decision 17). Raises ``EditRefused``, and what ``Store.decide`` raises.
    """
    call = await store.call(run_id, call_id)
    if call is not None:
        if decision.approved and decision.arguments:
            await _check_edit(store, run_id, call, clean_text(decision.arguments))
        decision = replace(decision, digest=decision.digest or call.digest)
    return await store.decide(run_id, call_id, decision)


async def settle(
    store: CallStore, run_id: str, call_id: str, *, result: str | None = None, error: str | None = None
) -> ToolCall:
    """Give a call the ``result`` that it waits for, or the ``error`` it ended with; the same again changes nothing.

    Raises ``NotWaiting`` for a call that is the runtime's own, that has another outcome already or has to be decided,
    what ``Store.settle`` raises, and ``ValueError`` unless exactly one of the two is given.
    """
    if (result is None) is (error is None):
        raise ValueError("a call is settled with a result or with an error")
    call = await store.call(run_id, call_id)
    status = CallStatus.SUCCEEDED if error is None else CallStatus.FAILED
    if call is not None:
        if call.status == status and (call.result == result if error is None else call.error == error):
            return call
        if waits_for(call) in (None, Wait.DECISION):
            raise NotWaiting(call)
    update = CallUpdate(call_id, status, result=result, error=error, completed_at=wall_clock()())
    return await store.settle(run_id, update)


async def _check_edit(store: CallStore, run_id: str, call: ToolCall, text: str) -> None:
    """Nobody can say whether arguments fit a tool whose schema is not known, so such an edit is refused too."""
    resume = await store.load(run_id)
    name, problems = call.name, (("root", "cannot be checked: the run does not say what its tool takes"),)
    if resume is not None:
        try:
            name, schema = tool_of(resume, call), arguments_schema(resume, call)
            problems = problems if schema is None else _problems(name, schema, text)
        except (DecodeError, SchemaError) as error:
            problems = (("root", f"cannot be checked: {error}"),)
    if problems:
        raise EditRefused(call.id, name, problems)


def _problems(name: str, schema: Mapping[str, Any], text: str) -> tuple[tuple[str, str], ...]:
    arguments = parse_arguments(text)
    if isinstance(arguments, str):
        return (("root", f"cannot be read: {arguments}"),)
    return SchemaCheck(ToolSpec(ToolDeclaration(name, parameters=schema))).wrong(arguments)
