"""The independent oracle: what the world itself saw, held against what a durable run promises.

It never reads a run's state. It counts tools that began, requests that reached the model, writes that reached the store
and results that were given, and compares them with each other and with the input. What it raises is a ``Complaint``.
Here is what is asked, stored, shown and given; ``callbook`` and ``endbook`` keep what was seen of calls and of endings.
"""

from collections.abc import Sequence

from ...core.run import Rules
from ...core.run.log import decode_entry
from ...effects.feed import InputMessage
from ...effects.journal import SaveCall, SaveStep, Step
from ...effects.lifecycle import RunResult
from ...effects.model import CallModel, ModelRequest
from ...effects.outcome import Completed, Delivered, Failed, FailureKind, Outcome, Suspended
from ...effects.record import BlockKind
from ...effects.tool import RunTool
from ...effects.transcript import AssistantMessage, Message, Sealed, ToolResultMessage
from .callbook import CallBook
from .endbook import EndBook
from .executor import Asked, Executor, asks_host
from .outputs import Output
from .promises import Complaint
from .reading import (
    begins_with,
    closes_a_gate,
    counts_of,
    each_once,
    inputs_in,
    is_final,
    may_be_forgotten,
    opened,
    outcome_of,
    told_by,
)
from .store import Stored

__all__ = ["Blind", "Witness"]

_BLAME: dict[FailureKind, frozenset[str]] = {
    FailureKind.JOURNAL: frozenset({"journal"}),
    FailureKind.STALE_ATTEMPT: frozenset({"stale"}),
    FailureKind.CANCELLED: frozenset({"cancel"}),
    FailureKind.FEED: frozenset({"feed", "no input"}),
    FailureKind.CONTRACT_BREACH: frozenset({"broke", "bad claim"}),
    FailureKind.MODEL: frozenset({"model", "slow"}),
    FailureKind.REFUSED: frozenset({"model"}),
    FailureKind.TRUNCATED: frozenset({"model"}),
    FailureKind.EMPTY_RESPONSE: frozenset({"empty"}),
    FailureKind.TOOL_LIMIT: frozenset({"calls"}),
    FailureKind.TURN_LIMIT: frozenset({"turns"}),
    FailureKind.GUARD_REJECTED: frozenset({"guard"}),
    FailureKind.EXTENSION: frozenset({"guard", "fallback"}),
    FailureKind.BUDGET: frozenset({"budget"}),
    FailureKind.DEADLINE: frozenset({"deadline"}),
}
"""Which failure an execution may end with after what the world did to it."""


class Witness:
    """What the world saw so far: ``calls`` of calls, ``ends`` of endings, and here of all else."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.calls = CallBook(rules)
        self.ends = EndBook(rules)

    @property
    def starts(self) -> dict[str, int]:
        """How often each tool began, by the key it was given."""
        return self.calls.starts

    # --- what reaches the border

    def asked(self, executor: Executor, order: Asked, now: int, stored: Stored) -> None:
        """An order was given: one step at a time, one write a call, nothing for the world without a live lease."""
        others = [pending.order for pending in executor.pending.values() if pending.order is not order]
        match order:
            case SaveStep() if any(isinstance(other, SaveStep) for other in others):
                raise Complaint("at most one step is in flight")
            case SaveStep() if any(map(asks_host, others)):
                raise Complaint("no step is in flight while the host is asked to take a call")
            case SaveCall() if asks_host(order) and any(isinstance(other, SaveStep) for other in others):
                raise Complaint("no step is in flight while the host is asked to take a call")
            case SaveCall(call=call) if call.id in {one.call.id for one in others if isinstance(one, SaveCall)}:
                raise Complaint("a call has at most one write in flight", call.id)
            case CallModel() | RunTool() if executor.attempt == stored.attempt:
                if stored.lease_until is None or now >= stored.lease_until:
                    raise Complaint("nothing acts on the world without a live lease", type(order).__name__)
            case _:
                pass
        # A model call may have waited for the lease, so it may know of newer input that came after the gate.
        overlooked = isinstance(order, SaveStep) and executor.latest > executor.claimed
        if closes_a_gate(order) and (not executor.fresh or overlooked):
            raise Complaint("newer input is looked for before the run goes on after a batch, or delivers")
        if isinstance(order, SaveStep):
            self.ends.step_asked(executor, order.step)

    def tool_begins(self, executor: Executor, order: RunTool) -> None:
        """A tool begins to do what it does."""
        self.calls.tool_begins(executor, order)

    # --- the model

    def model_is_asked(
        self, executor: Executor, order: CallModel, messages: tuple[InputMessage, ...], stored: Stored
    ) -> int:
        """A request reaches the model; returns how many input messages it holds."""
        context = order.request.context
        found = [text for text in inputs_in(context) if text not in self.ends.prompts]
        if len(found) != len(set(found)):
            raise Complaint("no input enters a model request twice", f"{found}")
        wanted = [message.content for message in each_once(messages[: executor.claimed])]
        if found != wanted:
            raise Complaint("the model is asked with exactly the input that was claimed", f"{found}, not {wanted}")
        if executor.attempt == stored.attempt:
            self._check_saved(context, stored)
        return len(found)

    def _check_saved(self, context: Sequence[Message | Sealed], stored: Stored) -> None:
        entries = [decode_entry(raw) for raw in stored.logs.get("main", ())]
        self.ends.check_charges(stored, entries, self.calls)
        if (
            entries
            and not begins_with(context, entries)
            and may_be_forgotten(entries[-1], self._rules, self.ends.finished)
        ):
            entries.pop()
        if not begins_with(context, entries):
            raise Complaint("what is stored of the context is what the model sees, in order")
        kept = {item.raw for entry in entries for item in entry.items}
        for item in context:
            message = opened(item)
            output = isinstance(message, AssistantMessage) and message.model
            if output and isinstance(item, Sealed) and item.raw not in kept:
                raise Complaint("the model is asked only when all outputs before are stored")
        told = {told_by(message) for message in map(opened, context) if isinstance(message, ToolResultMessage)}
        self.calls.check_seen(stored.calls, told)
        self.ends.check_context(told)

    def model_answers(self, request: ModelRequest, output: Output, inputs: int) -> None:
        """The model will say this to a request with so many input messages."""
        self.calls.answers[request.model_call_id] = (output, frozenset(tool.name for tool in request.tools))
        self.ends.model_answers(request, output, inputs)

    # --- the store

    def stored(
        self, before: Stored, after: Stored, messages: tuple[InputMessage, ...], step: Step | None = None
    ) -> None:
        """Something was written by an executor: a step, or something else."""
        self.calls.stored(before.calls, after.calls, after.attempt)
        if any(one > two for one, two in zip(counts_of(before), counts_of(after), strict=True)):
            raise Complaint("the usage that is stored never decreases")
        self._check_outcome(before.outcome, after.outcome, len(messages))
        self._check_blocks(after)
        if step is not None:
            self.ends.step_stored(before, after, step)

    def _check_outcome(self, before: Outcome | None, after: Outcome | None, latest: int) -> None:
        if not isinstance(before, Delivered | Completed) or after == before:
            return
        if latest <= before.boundary or is_final(before):
            raise Complaint("a delivered outcome is replaced only after newer input")

    def _check_blocks(self, stored: Stored) -> None:
        positions = sorted(block.position for block in stored.blocks.values())
        if positions != list(range(1, len(positions) + 1)):
            raise Complaint("the stored blocks count from one", f"{positions}")
        for block in stored.blocks.values():
            if block.kind is BlockKind.TOOL_CALL and block.call_id not in stored.calls:
                raise Complaint("a stored block's call is stored", block.id)
        linked = {block.call_id for block in stored.blocks.values()}
        for key, call in stored.calls.items():
            if key not in linked and not call.parent_id:
                raise Complaint("no record is stored before the output that it is part of", key)

    # --- the end of an execution

    def ended(self, executor: Executor, result: RunResult, stored: Stored, messages: tuple[InputMessage, ...]) -> None:
        """An execution gave its result."""
        if not executor.idle():
            raise Complaint("every debt is paid or withdrawn", "the run ends with an order in flight")
        if result.busy_until is not None:
            return
        match result.outcome:
            case Delivered() as outcome:
                self.ends.delivered(executor, outcome, messages)
            case Completed() as outcome:
                self.ends.completed(executor, outcome, messages)
            case Suspended(waits_for=waits_for):
                if not waits_for or any(key not in {call.id for call in result.calls} for key in waits_for):
                    raise Complaint("a suspended run names what it waits for")
            case Failed(kind=kind) as failed:
                if not _BLAME.get(kind, frozenset()) & executor.blamed:
                    raise Complaint("a run fails only for what happened to it", f"{kind.value}: {failed.message}")
            case _:
                raise Complaint("every end is named")
        counted = {row.key: row.usage for row in result.spending.rows}
        if counted != executor.spent or result.usage != result.spending.total:
            raise Complaint("every token that was reported is counted once", f"{counted}, not {executor.spent}")
        self._check_screen(executor, result)
        if executor.attempt == stored.attempt and not executor.blamed & {"journal", "stale"}:
            self._check_result(result, stored)
            self.ends.check_notes(executor, result)
            if isinstance(result.outcome, Failed) and result.outcome.kind is FailureKind.CANCELLED:
                self.calls.check_cancelled(stored.calls)

    def _check_screen(self, executor: Executor, result: RunResult) -> None:
        calls = {call.id: call.status for call in result.calls}
        wanted = [
            (block.id, block.position, block.kind, block.text, block.standing, calls.get(block.call_id))
            for block in result.blocks
        ]
        shown = [
            (view.id, view.position, view.kind, view.text, view.standing, view.call.status if view.call else None)
            for view in sorted(executor.screen.blocks, key=lambda view: view.position)
        ]
        if wanted != shown:
            raise Complaint("viewers were shown what the result says", f"{shown}, not {wanted}")
        candidate = executor.screen.candidate.strip()
        yet_to_come = isinstance(result.outcome, Failed) and self.ends.was_said(candidate)
        if candidate and candidate != result.text and not yet_to_come:
            raise Complaint("viewers see no text as the answer that is none", candidate)

    def _check_result(self, result: RunResult, stored: Stored) -> None:
        given = {call.id: call for call in result.calls}
        if given.keys() != stored.calls.keys():
            raise Complaint("the result has the calls that are stored")
        for key, call in given.items():
            if call.settled and not self.calls.is_hosted(key) and outcome_of(call) != outcome_of(stored.calls[key]):
                told = f"{key}: {call.status}, not {stored.calls[key].status}"
                raise Complaint("the result says of a call what the store says", told)
        if {block.id: block for block in result.blocks} != stored.blocks:
            raise Complaint("the result has the blocks that are stored")

    def verdict(self, stored: Stored) -> None:
        """The run is over."""
        self.calls.verdict(stored.calls)


class Blind(Witness):
    """A witness that looks away, for measuring what a run costs without it."""

    def asked(self, executor: Executor, order: Asked, now: int, stored: Stored) -> None:
        """Look away."""

    def tool_begins(self, executor: Executor, order: RunTool) -> None:
        """Count, for the sake of the results."""
        self.starts[order.invocation.key] = 1

    def model_is_asked(
        self, executor: Executor, order: CallModel, messages: tuple[InputMessage, ...], stored: Stored
    ) -> int:
        """Look away."""
        return 0

    def stored(
        self, before: Stored, after: Stored, messages: tuple[InputMessage, ...], step: Step | None = None
    ) -> None:
        """Look away."""

    def ended(self, executor: Executor, result: RunResult, stored: Stored, messages: tuple[InputMessage, ...]) -> None:
        """Look away."""

    def verdict(self, stored: Stored) -> None:
        """Look away."""
