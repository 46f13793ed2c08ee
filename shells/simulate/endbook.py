"""What the world saw of the ways a run may end: what was said, what tools and the guard gave, and what was charged.

A part of the witness, like ``callbook``.
"""

import json
from collections.abc import Sequence
from typing import Any

from ...core.run import Rules
from ...core.run.head import decode_head
from ...core.run.log import Entry, EntryKind, decode_entry
from ...effects.feed import InputMessage
from ...effects.journal import Step
from ...effects.lifecycle import RunResult
from ...effects.model import ModelRequest
from ...effects.outcome import Completed, Delivered, Outcome
from ...effects.question import Accept, AskGuard, Correct, Finish, TurnView, VerdictGiven
from ...effects.record import CallStatus, Completion, CompletionSource
from ...effects.tool import Invocation
from ...effects.transcript import AssistantMessage, text_of
from .callbook import CallBook
from .counting import NAME, counted
from .executor import Executor
from .outputs import Output
from .promises import Complaint
from .reading import each_once
from .store import Stored

__all__ = ["EndBook"]


class EndBook:
    """All that was seen of endings. ``prompts`` are what the guard told the model, which is no input."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.prompts: set[str] = set()
        self._said: dict[str, int] = {}
        self._inputs: dict[str, int] = {}
        self._final: set[str] = set()
        self._values: list[tuple[str, Any]] = []
        self._finishes: list[Any] = []
        self._accepted: set[tuple[int, str]] = set()
        self._notes: dict[tuple[int, str], str] = {}
        self._views: dict[tuple[int, int], TurnView] = {}
        self._delivered: list[Outcome] = []
        self._fixed: Completion | None = None
        self._since = 0
        self._outputs = 0

    # --- what is said and given

    def model_answers(self, request: ModelRequest, output: Output, inputs: int) -> None:
        """The model will say this to a request with so many input messages."""
        self._inputs[request.model_call_id] = inputs
        text = output.text.strip()
        if request.notice:
            self._final |= {request.model_call_id, text}
        if text:
            self._said[text] = inputs

    def was_said(self, text: str) -> bool:
        """Whether the model said this, and nothing else, whole."""
        return text in self._said

    @property
    def finished(self) -> bool:
        """Whether the guard ever put a value in the place of a text."""
        return bool(self._finishes)

    def value_given(self, invocation: Invocation, value: Any) -> None:
        """A tool gave a value to end the run with."""
        self._values.append((invocation.key, value))
        self._inputs[invocation.key] = self._inputs[invocation.model_call_id]

    def guard_sees(self, executor: Executor, question: AskGuard) -> None:
        """The guard is asked; an execution may never hear what it says."""
        self._views[(executor.number, question.ticket)] = question.view

    def guard_says(self, executor: Executor, event: VerdictGiven) -> None:
        """An execution hears what the guard says."""
        verdict, view = event.verdict, self._views[(executor.number, event.ticket)]
        self._notes.update({(executor.number, key): notes["guard"] for key, notes in verdict.notes.items()})
        if view.superseded:
            return
        match verdict.ruling:
            case Accept():
                self._accepted.add((executor.number, view.text))
            case Correct(prompt=prompt):
                self.prompts.add(prompt)
                executor.blamed.add("guard")
            case Finish(value=value):
                self._finishes.append(value)

    # --- what is stored

    def step_asked(self, executor: Executor, step: Step) -> None:
        """An execution wants to save a step."""
        outcome, slice_ = step.outcome, step.values.get(NAME)
        text = outcome.text if isinstance(outcome, Delivered) and self._rules.spec.guarded else None
        if text is not None and (executor.number, text) not in self._accepted:
            raise Complaint("a guarded text is delivered only once the guard has accepted it", text)
        if slice_ is None:
            return
        inputs, claimed = counted(slice_)[0], decode_head(step.state).claimed
        if inputs != claimed:
            told = f"it counted {inputs} of {claimed}"
            raise Complaint("an extension is told of each input once, and remembers it with what it led to", told)

    def step_stored(self, before: Stored, after: Stored, step: Step) -> None:
        """A step was stored."""
        if before.state is not None:
            old, new = decode_head(before.state), decode_head(step.state)
            if not old.delivered and (new.turns < old.turns or new.corrections < old.corrections):
                raise Complaint("turns and corrections are counted until there is an answer", f"{old}, then {new}")
        if self._fixed is not None and after.completion != self._fixed:
            raise Complaint("a fixed value stays", f"{after.completion}, not {self._fixed}")
        if after.completion is not None and after.completion.fixed:
            self._fixed = after.completion
        if isinstance(after.outcome, Delivered | Completed) and after.outcome != before.outcome:
            self._delivered.append(after.outcome)
            self._since = len(after.logs.get("main", ()))
        change = step.logs.get("main")
        if change is not None:
            self._since = min(self._since, change.keep) if after.outcome == before.outcome else self._since
        self._outputs += _outputs_in(step)
        slice_ = step.values.get(NAME)
        if slice_ is not None and counted(slice_)[1] != self._outputs:
            told = f"it counted {counted(slice_)[1]} of {self._outputs}"
            raise Complaint("an extension is told of every output once", told)

    def check_charges(self, stored: Stored, entries: Sequence[Entry], calls: CallBook) -> None:
        """When the model is asked again, each output that had to be put right was charged for, once (decision 3)."""
        wrong, since = 0, entries[self._since :]
        for before, entry in zip((None, *since), since, strict=False):
            verdict = self._had_to_be_put_right(stored, before, entry, calls)
            if verdict is None:
                return
            wrong += verdict
        head = decode_head(stored.state) if stored.state is not None else None
        charged = head.corrections if head is not None and not head.delivered else 0
        if charged != min(wrong, self._rules.spec.limits.corrections):
            raise Complaint("each output that has to be put right is charged for once", f"{charged}, not {wrong}")

    def _had_to_be_put_right(self, stored: Stored, before: Entry | None, entry: Entry, book: CallBook) -> bool | None:
        """Nothing where that cannot be told: the host took over the call that would have ended the run."""
        if entry.kind is EntryKind.REJECTED:
            text = before.items[-1].open() if before is not None else None
            return not isinstance(text, AssistantMessage) or text_of(text).strip() not in self._final
        calls = [stored.calls[key] for key, _ in entry.calls if key in stored.calls]
        if not calls or len(calls) < len(entry.calls) or calls[0].model_call_id in self._final:
            return False
        completing = [call for call in calls if call.name in self._rules.completion]
        if len(calls) > 1 or not completing:
            return bool(completing)
        if book.is_hosted(calls[0].id):
            return None
        return calls[0].status == CallStatus.FAILED

    def check_context(self, results: set[str]) -> None:
        """No value that would have ended the run is in what the model sees: it ended it, or newer input came first."""
        for key, value in self._values:
            if json.dumps(value, separators=(",", ":")) in results:
                raise Complaint("a value that was superseded leaves no trace in what the model sees", key)

    # --- the end of an execution

    def delivered(self, executor: Executor, outcome: Delivered, messages: tuple[InputMessage, ...]) -> None:
        """An execution ended with a text."""
        text, inputs = outcome.text, len(each_once(messages[: outcome.boundary]))
        if outcome not in self._delivered:
            raise Complaint("no outcome is given that no step saved", text)
        if text not in self._said:
            raise Complaint("what is delivered was said by the model", text)
        if self._said[text] != inputs:
            told = f"{text!r} was said to {self._said[text]} messages, and is delivered for {inputs}"
            raise Complaint("what is delivered answers exactly the input up to its boundary", told)

    def completed(self, executor: Executor, outcome: Completed, messages: tuple[InputMessage, ...]) -> None:
        """An execution ended with a value."""
        completion = outcome.completion
        if outcome not in self._delivered:
            raise Complaint("no outcome is given that no step saved", completion.value)
        if self._fixed not in (None, completion):
            raise Complaint("no two different fixed values are delivered", f"{completion.value} and {self._fixed}")
        value, fallback = json.loads(completion.value), self._rules.functions.fallback
        match completion.source:
            case CompletionSource.TOOL:
                given = (completion.call_id, value) in self._values
            case CompletionSource.GUARD:
                given = value in self._finishes
            case CompletionSource.FALLBACK:
                given = fallback is not None and fallback(completion.reason) == value
        if not given:
            raise Complaint("what a run ends with was given by a tool, the guard or the fallback", completion.value)
        inputs = len(each_once(messages[: outcome.boundary]))
        if self._inputs.get(completion.call_id, inputs) != inputs:
            raise Complaint("what is delivered answers exactly the input up to its boundary", completion.value)

    def check_notes(self, executor: Executor, result: RunResult) -> None:
        """What the guard noted on records stands there."""
        calls = {call.id: call for call in result.calls}
        for (number, key), note in self._notes.items():
            if number == executor.number and key in calls and calls[key].notes.get("guard") != note:
                raise Complaint("what the guard notes on a record stays there", key)


def _outputs_in(step: Step) -> int:
    """How many outputs a step adds to the log."""
    change = step.logs.get("main")
    return sum(decode_entry(raw).kind is EntryKind.OUTPUT for raw in change.append) if change is not None else 0
