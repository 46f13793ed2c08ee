"""What a journal means, as the smallest program that does it: the oracle of the machine.

Pure bookkeeping over ``merge_call`` and ``overlay_external``. It knows nothing of transactions or rows, and is slow.
"""

from ...effects.journal import (
    CallUpdate,
    LogChange,
    Resume,
    RunBusy,
    StaleAttempt,
    Step,
    merge_call,
    overlay_external,
)
from ...effects.record import Block, ToolCall, validate_call
from ...effects.values import replace

__all__ = ["CannotKeep", "Model"]


class CannotKeep(Exception):
    """A log is to be kept beyond its end. A store may use an exception of its own."""


class Model:
    """One run, as it must be stored."""

    def __init__(self) -> None:
        self.now = 0
        self.newest = 0
        self.lease_until = 0
        self.stored = Resume()

    def begin(self, lease_ms: int, take_over: bool) -> int:
        """The number of the new attempt."""
        if self.now < self.lease_until and not take_over:
            raise RunBusy(self.lease_until)
        self.newest += 1
        self.lease_until = self.now + lease_ms
        return self.newest

    def renew(self, attempt: int, lease_ms: int) -> None:
        """Move the end of the lease."""
        self._fence(attempt)
        self.lease_until = self.now + lease_ms

    def end(self, attempt: int) -> None:
        """No lease from now on."""
        self._fence(attempt)
        self.lease_until = 0

    def save_call(self, attempt: int, call: ToolCall) -> ToolCall:
        """Merge one call."""
        self._fence(attempt)
        calls = self.calls
        merged = calls[call.id] = merge_call(calls.get(call.id), validate_call(call))
        self._keep(blocks=self.stored.blocks, calls=calls)
        return merged

    def save_step(self, attempt: int, step: Step) -> None:
        """Replace what a step replaces, change what it changes."""
        self._fence(attempt)
        for call in step.changes.calls:
            validate_call(call)
        logs = {**self.stored.logs, **{name: self._cut(name, change) for name, change in step.logs.items()}}
        values = {**self.stored.values, **step.values}
        blocks = {block.id: block for block in self.stored.blocks if block.id not in step.changes.removed_blocks}
        calls = {call_id: call for call_id, call in self.calls.items() if call_id not in step.changes.removed_calls}
        for call in step.changes.calls:
            calls[call.id] = merge_call(calls.get(call.id), call)
        for block in step.changes.blocks:
            blocks[block.id] = block
        self.stored = Resume(
            step.state,
            {name: entries for name, entries in logs.items() if entries},
            {name: value for name, value in values.items() if value is not None},
            plan=self.stored.plan if step.plan is None else step.plan,
            usage=step.usage,
            completion=step.completion,
            outcome=step.outcome,
        )
        self._keep(tuple(blocks.values()), calls)

    def external(self, update: CallUpdate) -> ToolCall:
        """The host's write."""
        calls = self.calls
        calls[update.id] = overlay_external(calls[update.id], update)
        self._keep(self.stored.blocks, calls)
        return calls[update.id]

    @property
    def calls(self) -> dict[str, ToolCall]:
        """The stored calls by id."""
        return {call.id: call for call in self.stored.calls}

    def length(self, log: str) -> int:
        """How many entries a log has."""
        return len(self.stored.logs.get(log, ()))

    def _fence(self, attempt: int) -> None:
        if not 0 < attempt == self.newest:
            raise StaleAttempt

    def _cut(self, log: str, change: LogChange) -> tuple[bytes, ...]:
        if not 0 <= change.keep <= self.length(log):
            raise CannotKeep
        return (*self.stored.logs.get(log, ())[: change.keep], *change.append)

    def _keep(self, blocks: tuple[Block, ...], calls: dict[str, ToolCall]) -> None:
        blocks = tuple(sorted(blocks, key=lambda block: block.position))
        linked = [block.call_id for block in blocks]
        in_order = sorted(calls.values(), key=lambda call: (_index(linked, call.id), call.id))
        self.stored = replace(self.stored, blocks=blocks, calls=tuple(in_order))


def _index(linked: list[str], call_id: str) -> int:
    return linked.index(call_id) if call_id in linked else len(linked)
