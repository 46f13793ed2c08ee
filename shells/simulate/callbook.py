"""What the world saw of calls: who asked for them, who let them run, which tools began, and what was written of them.

A part of the witness. It knows nothing of a run's state; each of its promises compares one thing that was seen with
another.
"""

from collections.abc import Mapping

from ...core.run import Rules
from ...effects.journal import CallUpdate
from ...effects.question import CallPolicy
from ...effects.record import CallDecision, CallStatus, Handover, ToolCall
from ...effects.tool import Invocation, RunTool
from .executor import Executor
from .outputs import Output
from .promises import Complaint
from .reading import arguments_of, is_under_way, outcome_of, unexpired

__all__ = ["CallBook"]


class CallBook:
    """All that was seen of calls. ``starts`` counts how often each tool began, by the key that it was given."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.starts: dict[str, int] = {}
        self.answers: dict[str, tuple[Output, frozenset[str]]] = {}
        self._parts: dict[tuple[str, str], str] = {}
        self._running: dict[str, set[int]] = {}
        self._paused: set[str] = set()
        self._hosted: set[str] = set()
        self._never: set[str] = set()
        self._policies: dict[str, CallPolicy | str] = {}
        self._decisions: dict[str, CallDecision] = {}
        self._contents: dict[str, set[str]] = {}

    def is_hosted(self, key: str) -> bool:
        """Whether the host wrote the call's outcome itself."""
        return key in self._hosted

    # --- what the host says

    def policy_given(self, key: str, policy: CallPolicy | str) -> None:
        """The host said what is done with a call."""
        self._policies[key] = policy

    def never_happened(self, key: str) -> None:
        """The tool said that the call never reached it."""
        self._never.add(key)

    def host_wrote(self, before: ToolCall, after: ToolCall, update: CallUpdate, now: int) -> None:
        """The host, or a person, wrote a call: ``after`` is what the store made of it."""
        if update.decision is None:
            self._hosted.add(after.id)
            self._note(after)
            return
        made = self._decisions.setdefault(after.id, after.decision) if after.decision is not None else None
        if after.decision != made:
            raise Complaint("a decision is made once", after.id)
        if after.decision is None or before.decision is not None:
            if after != before:
                raise Complaint("a decision that is refused, or made before, changes nothing", after.id)
            return
        fits = update.decision.digest in ("", after.digest) and unexpired(after, update.decision, now)
        if before.status != CallStatus.AWAITING_DECISION or not fits:
            raise Complaint("a decision is about a call that waits for it, in time, and about its arguments", after.id)

    # --- tools

    def tool_begins(self, executor: Executor, order: RunTool) -> None:
        """A tool begins to do what it does."""
        invocation = order.invocation
        key, part = invocation.key, (invocation.model_call_id, invocation.call_id)
        if key in self.starts:
            raise Complaint("no call begins a second time", key)
        other = self._parts.setdefault(part, key)
        if other != key:
            raise Complaint("no call of the model is carried out under two records", f"{other} and {key}")
        if key not in self._running:
            raise Complaint("no call begins before its record is stored as running", key)
        told = executor.told.get(key)
        if told is None or told.status != CallStatus.RUNNING or told.handover:
            raise Complaint("no call begins that the store says is another's, or over", key)
        self._check_allowed(invocation, told)
        self._check_wanted(executor, order, told)
        self.starts[key] = self.starts.get(key, 0) + 1

    def _check_allowed(self, invocation: Invocation, told: ToolCall) -> None:
        """Whether the host, and where it must be asked a person, lets this call run."""
        key, policy = invocation.key, self._policies.get(invocation.key)
        if not self._rules.tools[invocation.name].has_policy:
            return
        if policy is None or isinstance(policy, str) or policy.submit is not None:
            raise Complaint("no call begins unless its policy lets it", key)
        if not told.notes.items() >= policy.notes.items():
            raise Complaint("what a policy notes on a call stays there", key)
        if policy.confirm is None:
            return
        decision = self._decisions.get(key)
        if decision is None or not decision.approved or decision.result is not None:
            raise Complaint("no paused call begins without an approval", key)
        in_time = decision.expires_at is None or (told.started_at or 0) < decision.expires_at
        if decision.digest not in ("", told.digest) or not in_time:
            raise Complaint("no paused call begins on an approval that does not fit, or is too old", key)

    def _check_wanted(self, executor: Executor, order: RunTool, told: ToolCall) -> None:
        """Whether the model wanted this call, whole, of a tool on offer, and alone where it must be (decision 12)."""
        invocation, decision = order.invocation, self._decisions.get(order.invocation.key)
        output, offered = self.answers[invocation.model_call_id]
        wanted = output.wanted
        edited = decision.arguments if decision is not None else ""
        arguments = dict(invocation.arguments)
        if arguments_of(edited or told.arguments) != arguments:
            raise Complaint("a call is carried out with the arguments that were approved", invocation.key)
        if (invocation.name, arguments_of(told.arguments)) not in [(name, arguments_of(text)) for name, text in wanted]:
            raise Complaint("a call is carried out as the model wanted it", invocation.key)
        if invocation.name not in offered or output.cut_off:
            raise Complaint("no call begins that was cut off, or was not on offer", invocation.key)
        names = [name for name, _ in wanted]
        if len(names) > 1 and any(name in self._rules.completion for name in names):
            raise Complaint("a call that may end the run stands alone", invocation.key)
        tools = self._rules.tools
        alone = self._rules.spec.sequential or any(tools[name].sequential for name in names if name in tools)
        if alone and any(is_under_way(pending, invocation) for pending in executor.pending.values()):
            raise Complaint("in a batch that runs one by one no call begins beside another", invocation.key)

    # --- records

    def stored(self, before: Mapping[str, ToolCall], after: Mapping[str, ToolCall], attempt: int) -> None:
        """Calls as they were stored before and after an execution's write."""
        for key, old in before.items():
            new = after.get(key)
            if new is None:
                self._check_removed(old)
                continue
            if old.settled and outcome_of(old) != outcome_of(new):
                raise Complaint("a settled outcome never changes", f"{key}: {old.status}, then {new.status}")
            if old.handover and (old.handover, old.status) != (new.handover, new.status):
                raise Complaint("a call that was handed over is its owner's to write", key)
            if old.decision is not None and new.decision != old.decision:
                raise Complaint("a decision that was made stays", key)
        for key, call in after.items():
            if call is not before.get(key):
                self._check_record(call, attempt)

    def _check_removed(self, old: ToolCall) -> None:
        """Only a call that would have ended the run, and did nothing that counts, may be taken back (N-09)."""
        if old.id in self._hosted or (not old.settled and old.id not in self.starts):
            return
        harmless = old.replayable or not old.side_effects
        if old.settled or not harmless or old.name not in self._rules.completion:
            raise Complaint("no call is removed that began or was settled", old.id)

    def _check_record(self, call: ToolCall, attempt: int) -> None:
        """Whether a record that was just written tells the truth about what its tool did."""
        key, words = call.id, self._rules.words
        self._note(call)
        if call.status == CallStatus.AWAITING_DECISION:
            self._paused.add(key)
        if call.status == CallStatus.RUNNING and not call.handover:
            attempts = self._running.setdefault(key, set())
            if attempts and attempt not in attempts and key not in self._never:
                raise Complaint("no call that an earlier execution was at is begun again", key)
            attempts.add(attempt)
        if key in self._hosted:
            return
        started, decision = key in self.starts, self._decisions.get(key)
        if started and call.result == words.never_started:
            raise Complaint("a record that says that its call never began is right", key)
        if call.status == CallStatus.SUCCEEDED and not started:
            given = decision.result if decision is not None else None
            if given is None or call.result != given:
                raise Complaint("a record that says that its call succeeded is right", key)
        if call.status == CallStatus.REJECTED and (started or key not in self._paused):
            raise Complaint("only a call that was paused is rejected", key)
        if key not in self._running and call.result in (words.interrupted, words.needs_review):
            raise Complaint("only a call that was stored as running may have begun", key)

    def _note(self, call: ToolCall) -> None:
        for content in (call.result, call.error):
            if content is not None:
                self._contents.setdefault(call.id, set()).add(content)

    # --- what the model sees, and the end

    def check_seen(self, stored: Mapping[str, ToolCall], told: set[str]) -> None:
        """Whether all calls are settled or another's, and the model sees what they gave: ``told`` are results."""
        for key, call in stored.items():
            if key not in self._running and key not in self._paused:
                continue
            harmless = call.name in self._rules.completion and (call.replayable or not call.side_effects)
            if not call.settled and call.handover in (Handover.NONE, Handover.AWAIT) and not harmless:
                raise Complaint("the model is asked only when all calls before are stored as settled", key)
            if not call.settled or call.name in self._rules.completion:
                continue
            contents = self._contents[key]
            edited = key in self._decisions and bool(self._decisions[key].arguments)
            seen = any(text.endswith(tuple(contents)) for text in told) if edited else not told.isdisjoint(contents)
            if not seen:
                raise Complaint("the model sees the results that are stored", f"{key}: {contents}")

    def check_cancelled(self, stored: Mapping[str, ToolCall]) -> None:
        """After a cancellation nobody can let a paused call run any more."""
        for key, call in stored.items():
            if call.status == CallStatus.AWAITING_DECISION and not call.handover:
                raise Complaint("when a run was cancelled no call waits for a decision", key)

    def verdict(self, stored: Mapping[str, ToolCall]) -> None:
        """When a run is over nothing is left open, and no record says that a call never began that did."""
        for key, call in stored.items():
            if not call.settled and not call.handover:
                raise Complaint("when a run is over no call is open", f"{key} is {call.status}")
            if call.result == self._rules.words.never_started and key in self.starts and key not in self._hosted:
                raise Complaint("a record that says that its call never began is right", key)
