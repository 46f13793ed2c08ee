"""The independent oracle: what the world itself saw, held against what a durable run promises.

It never reads a run's state. It counts tools that began, requests that reached the model, writes that reached the store
and results that were given, and compares them with each other and with the input. What it raises is a ``Complaint``.
"""

from collections.abc import Sequence

from ...core.run import Rules
from ...core.run.log import decode_entry
from ...effects.feed import InputMessage
from ...effects.journal import SaveCall, SaveStep, Step
from ...effects.lifecycle import RunResult
from ...effects.model import CallModel, ModelRequest
from ...effects.outcome import Completed, Delivered, Failed, FailureKind, Outcome, Suspended
from ...effects.record import BlockKind, CallStatus, Handover, ToolCall
from ...effects.tool import RunTool
from ...effects.transcript import AssistantMessage, Message, Sealed, ToolResultMessage
from .executor import Asked, Executor
from .promises import Complaint
from .reading import (
    arguments_of,
    begins_with,
    closes_a_gate,
    counts_of,
    each_once,
    inputs_in,
    is_under_way,
    opened,
    outcome_of,
    told_by,
)
from .scenario import Output
from .store import Stored

__all__ = ["Blind", "Witness"]

MAX_HEAD_BYTES = 1024

_BLAME: dict[FailureKind, frozenset[str]] = {
    FailureKind.JOURNAL: frozenset({"journal"}),
    FailureKind.STALE_ATTEMPT: frozenset({"stale"}),
    FailureKind.CANCELLED: frozenset({"cancel"}),
    FailureKind.FEED: frozenset({"feed", "no input"}),
    FailureKind.CONTRACT_BREACH: frozenset({"broke", "bad claim"}),
    FailureKind.MODEL: frozenset({"model"}),
    FailureKind.REFUSED: frozenset({"model"}),
    FailureKind.TRUNCATED: frozenset({"model"}),
    FailureKind.EMPTY_RESPONSE: frozenset({"empty"}),
    FailureKind.TOOL_LIMIT: frozenset({"calls"}),
    FailureKind.TURN_LIMIT: frozenset({"turns"}),
}
"""Which failure an execution may end with after what the world did to it."""


class Witness:
    """What the world saw so far."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.starts: dict[str, int] = {}
        self._parts: dict[tuple[str, str], str] = {}
        self._running: set[str] = set()
        self._hosted: set[str] = set()
        self._contents: dict[str, set[str]] = {}
        self._said: dict[str, int] = {}
        self._answers: dict[str, tuple[Output, frozenset[str]]] = {}
        self._delivered: list[Delivered] = []

    # --- what reaches the border

    def asked(self, executor: Executor, order: Asked, now: int, stored: Stored) -> None:
        """An order was given: one step at a time, one write a call, nothing for the world without a live lease."""
        others = [pending.order for pending in executor.pending.values() if pending.order is not order]
        match order:
            case SaveStep() if any(isinstance(other, SaveStep) for other in others):
                raise Complaint("at most one step is in flight")
            case SaveCall(call=call) if call.id in {one.call.id for one in others if isinstance(one, SaveCall)}:
                raise Complaint("a call has at most one write in flight", call.id)
            case CallModel() | RunTool() if executor.attempt == stored.attempt:
                if stored.lease_until is None or now >= stored.lease_until:
                    raise Complaint("nothing acts on the world without a live lease", type(order).__name__)
            case _:
                pass
        if not executor.fresh and closes_a_gate(order):
            raise Complaint("newer input is looked for before the run goes on after a batch, or delivers")

    # --- tools

    def tool_begins(self, executor: Executor, order: RunTool) -> None:
        """A tool begins to do what it does."""
        key, part = order.invocation.key, (order.invocation.model_call_id, order.invocation.call_id)
        if key in self.starts:
            raise Complaint("no call begins a second time", key)
        other = self._parts.setdefault(part, key)
        if other != key:
            raise Complaint("no call of the model is carried out under two records", f"{other} and {key}")
        self._check_wanted(executor, order)
        if key not in self._running:
            raise Complaint("no call begins before its record is stored as running", key)
        told = executor.told.get(key)
        if told is None or told.status != CallStatus.RUNNING or told.handover:
            raise Complaint("no call begins that the store says is another's, or over", key)
        self.starts[key] = self.starts.get(key, 0) + 1

    def _check_wanted(self, executor: Executor, order: RunTool) -> None:
        """Whether the model wanted this call, whole, of a tool on offer, and alone where it must be (decision 12)."""
        invocation = order.invocation
        output, offered = self._answers[invocation.model_call_id]
        wanted = output.wanted
        if (invocation.name, dict(invocation.arguments)) not in [(name, arguments_of(text)) for name, text in wanted]:
            raise Complaint("a call is carried out as the model wanted it", invocation.key)
        if invocation.name not in offered or output.cut_off:
            raise Complaint("no call begins that was cut off, or was not on offer", invocation.key)
        tools = self._rules.tools
        alone = self._rules.spec.sequential or any(tools[name].sequential for name, _ in wanted if name in tools)
        if alone and any(is_under_way(pending, invocation) for pending in executor.pending.values()):
            raise Complaint("in a batch that runs one by one no call begins beside another", invocation.key)

    # --- the model

    def model_is_asked(
        self, executor: Executor, order: CallModel, messages: tuple[InputMessage, ...], stored: Stored
    ) -> int:
        """A request reaches the model; returns how many input messages it holds."""
        context = order.request.context
        found = list(inputs_in(context))
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
        if self._rules.spec.discard_undelivered and entries and not begins_with(context, entries):
            entries.pop()  # the text that was superseded leaves the log with the next step
        if not begins_with(context, entries):
            raise Complaint("what is stored of the context is what the model sees, in order")
        kept = {item.raw for entry in entries for item in entry.items}
        for item in context:
            message = opened(item)
            output = isinstance(message, AssistantMessage) and message.model
            if output and isinstance(item, Sealed) and item.raw not in kept:
                raise Complaint("the model is asked only when all outputs before are stored")
        seen = {told_by(message) for message in map(opened, context) if isinstance(message, ToolResultMessage)}
        for key, call in stored.calls.items():
            if key in self._running and call.settled and seen.isdisjoint(self._contents[key]):
                raise Complaint("the model sees the results that are stored", f"{key}: {self._contents[key]}")
            owned = call.handover not in (Handover.NONE, Handover.AWAIT)
            if key in self._running and not call.settled and not owned:
                raise Complaint("the model is asked only when all calls before are stored as settled", key)

    def model_answers(self, request: ModelRequest, output: Output, inputs: int) -> None:
        """The model will say this to a request with so many input messages."""
        self._answers[request.model_call_id] = (output, frozenset(tool.name for tool in request.tools))
        if output.text.strip():
            self._said[output.text.strip()] = inputs

    # --- the store

    def stored(self, before: Stored, after: Stored, messages: tuple[InputMessage, ...]) -> None:
        """Something was written by an executor."""
        for key, old in before.calls.items():
            new = after.calls.get(key)
            if new is None and key not in self._hosted and (old.settled or key in self.starts):
                raise Complaint("no call is removed that began or was settled", key)
            if new is not None and old.settled and outcome_of(old) != outcome_of(new):
                raise Complaint("a settled outcome never changes", f"{key}: {old.status}, then {new.status}")
            if new is not None and old.handover and (old.handover, old.status) != (new.handover, new.status):
                raise Complaint("a call that was handed over is its owner's to write", key)
        for key, call in after.calls.items():
            if call is not before.calls.get(key):
                self._check_record(call)
        if any(one > two for one, two in zip(counts_of(before), counts_of(after), strict=True)):
            raise Complaint("the usage that is stored never decreases")
        self._check_outcome(before.outcome, after.outcome, len(messages))
        self._check_blocks(after)

    def _check_record(self, call: ToolCall) -> None:
        """Whether a record that was just written tells the truth about what its tool did."""
        key, words = call.id, self._rules.words
        self._note(call)
        if call.status == CallStatus.RUNNING:
            self._running.add(key)
        if key in self._hosted:
            return
        started = key in self.starts
        if started and call.result == words.never_started:
            raise Complaint("a record that says that its call never began is right", key)
        if not started and call.status == CallStatus.SUCCEEDED:
            raise Complaint("a record that says that its call succeeded is right", key)
        if key not in self._running and call.result in (words.interrupted, words.needs_review):
            raise Complaint("only a call that was stored as running may have begun", key)

    def _check_outcome(self, before: Outcome | None, after: Outcome | None, latest: int) -> None:
        if isinstance(after, Delivered) and after != before:
            self._delivered.append(after)
        if isinstance(before, Delivered | Completed) and after != before and latest <= before.boundary:
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

    def step(self, step: Step) -> None:
        """A step reaches the store."""
        if len(step.state) > MAX_HEAD_BYTES:
            raise Complaint("the head of a step is small", f"{len(step.state)} bytes")

    def hosted(self, call: ToolCall) -> None:
        """The host wrote a call itself."""
        self._hosted.add(call.id)
        self._note(call)

    def _note(self, call: ToolCall) -> None:
        for content in (call.result, call.error):
            if content is not None:
                self._contents.setdefault(call.id, set()).add(content)

    # --- the end of an execution

    def ended(self, executor: Executor, result: RunResult, stored: Stored, messages: tuple[InputMessage, ...]) -> None:
        """An execution gave its result."""
        if not executor.idle():
            raise Complaint("every debt is paid or withdrawn", "the run ends with an order in flight")
        if result.busy_until is not None:
            return
        match result.outcome:
            case Delivered(text=text, boundary=boundary) as outcome:
                self._check_delivered(outcome, len(each_once(messages[:boundary])), text)
            case Suspended(waits_for=waits_for):
                if not waits_for or any(key not in {call.id for call in result.calls} for key in waits_for):
                    raise Complaint("a suspended run names what it waits for")
            case Failed(kind=kind) as failed:
                if not _BLAME.get(kind, frozenset()) & executor.blamed:
                    raise Complaint("a run fails only for what happened to it", f"{kind.value}: {failed.message}")
            case _:
                raise Complaint("every end is named")
        if result.usage != executor.spent:
            raise Complaint("every token that was reported is counted once", f"{result.usage}, not {executor.spent}")
        self._check_screen(executor, result)
        if executor.attempt == stored.attempt and not executor.blamed & {"journal", "stale"}:
            self._check_result(result, stored)

    def _check_delivered(self, outcome: Delivered, inputs: int, text: str) -> None:
        if outcome not in self._delivered:
            raise Complaint("no outcome is given that no step saved", text)
        if text not in self._said:
            raise Complaint("what is delivered was said by the model", text)
        if self._said[text] != inputs:
            told = f"{text!r} was said to {self._said[text]} messages, and is delivered for {inputs}"
            raise Complaint("what is delivered answers exactly the input up to its boundary", told)

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

    def _check_result(self, result: RunResult, stored: Stored) -> None:
        given = {call.id: call for call in result.calls}
        if given.keys() != stored.calls.keys():
            raise Complaint("the result has the calls that are stored")
        for key, call in given.items():
            if call.settled and outcome_of(call) != outcome_of(stored.calls[key]):
                told = f"{key}: {call.status}, not {stored.calls[key].status}"
                raise Complaint("the result says of a call what the store says", told)
        if {block.id: block for block in result.blocks} != stored.blocks:
            raise Complaint("the result has the blocks that are stored")

    # --- the end of the world

    def verdict(self, stored: Stored) -> None:
        """When a run is over nothing is left open, and no record says that a call never began that did."""
        for key, call in stored.calls.items():
            if not call.settled and not call.handover:
                raise Complaint("when a run is over no call is open", f"{key} is {call.status}")
            if call.result == self._rules.words.never_started and key in self.starts and key not in self._hosted:
                raise Complaint("a record that says that its call never began is right", key)


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

    def stored(self, before: Stored, after: Stored, messages: tuple[InputMessage, ...]) -> None:
        """Look away."""

    def ended(self, executor: Executor, result: RunResult, stored: Stored, messages: tuple[InputMessage, ...]) -> None:
        """Look away."""

    def verdict(self, stored: Stored) -> None:
        """Look away."""
