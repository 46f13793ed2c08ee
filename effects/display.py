"""The live display of a run: snapshots, deltas, and how one is applied to the other.

A viewer holds a ``Snapshot`` and applies each ``Delta``; blocks show what happens without arguments and results. Every
execution uses a stream id of its own, with sequence numbers from 1.
"""

from .record import BlockKind, PlanTask, Standing
from .values import frozen, replace

__all__ = [
    "AppendCandidate",
    "AppendText",
    "BadOperation",
    "BlockView",
    "CallView",
    "ClearCandidate",
    "DeltaGap",
    "DeltaMismatch",
    "DisplayDelta",
    "Operation",
    "RemoveBlocks",
    "SetPlan",
    "Snapshot",
    "UpsertBlock",
    "apply_delta",
    "merge_deltas",
    "merge_operations",
    "text_bytes",
]


@frozen
class CallView:
    """A call as a viewer sees it. ``description`` is a delegated task, ``activity`` what its agent does now."""

    call_id: str
    name: str
    status: str
    started_at: int | None = None
    completed_at: int | None = None
    description: str = ""
    activity: str = ""


@frozen
class BlockView:
    """A block as a viewer sees it; ``call`` is set on tool-call blocks."""

    id: str
    position: int
    model_call_id: str
    kind: BlockKind
    text: str = ""
    call: CallView | None = None
    standing: Standing | None = None


@frozen
class UpsertBlock:
    """Put a block in the place of the one with its id, or at the end."""

    block: BlockView


@frozen
class AppendText:
    """Add text to a block."""

    block_id: str
    text: str


@frozen
class RemoveBlocks:
    """Remove blocks, each of which must be there.

    ``withdrawn``: their answer was never complete, or is shown anew; otherwise newer input came before it.
    """

    block_ids: tuple[str, ...]
    withdrawn: bool = False


@frozen
class AppendCandidate:
    """Add to the text that will be the answer unless something supersedes it."""

    text: str


@frozen
class ClearCandidate:
    """Forget that text."""


@frozen
class SetPlan:
    """Show this task list."""

    plan: tuple[PlanTask, ...]


Operation = UpsertBlock | AppendText | RemoveBlocks | AppendCandidate | ClearCandidate | SetPlan


@frozen
class DisplayDelta:
    """Moves a snapshot of ``stream`` from sequence ``base`` to ``sequence``."""

    stream: str
    base: int
    sequence: int
    operations: tuple[Operation, ...]


@frozen
class Snapshot:
    """What a viewer shows now."""

    stream: str
    sequence: int = 0
    blocks: tuple[BlockView, ...] = ()
    candidate: str = ""
    plan: tuple[PlanTask, ...] = ()


class DeltaMismatch(ValueError):
    """The delta belongs to another stream."""


class DeltaGap(ValueError):
    """Deltas are missing between the snapshot and this one."""


class BadOperation(ValueError):
    """An operation refers to a block that is not there."""


def apply_delta(snapshot: Snapshot, delta: DisplayDelta) -> Snapshot:
    """The snapshot after the delta, all or nothing; the same snapshot for a delta it has already seen (ST-01).

    Raises ``DeltaMismatch``, ``DeltaGap`` or ``BadOperation``.
    """
    if delta.stream != snapshot.stream:
        raise DeltaMismatch(f"the delta is of stream {delta.stream!r}, the snapshot of {snapshot.stream!r}")
    if delta.sequence <= snapshot.sequence:
        return snapshot
    if delta.base != snapshot.sequence:
        raise DeltaGap(f"the delta starts at {delta.base}, the snapshot is at {snapshot.sequence}")
    blocks = {block.id: block for block in snapshot.blocks}
    candidate, plan = snapshot.candidate, snapshot.plan
    for operation in delta.operations:
        match operation:
            case UpsertBlock(block=block):
                blocks[block.id] = block
            case AppendText(block_id=block_id, text=text):
                if block_id not in blocks:
                    raise BadOperation(f"cannot append to unknown block {block_id!r}")
                blocks[block_id] = replace(blocks[block_id], text=blocks[block_id].text + text)
            case RemoveBlocks(block_ids=block_ids):
                for block_id in block_ids:
                    if blocks.pop(block_id, None) is None:
                        raise BadOperation(f"cannot remove unknown block {block_id!r}")
            case AppendCandidate(text=text):
                candidate += text
            case ClearCandidate():
                candidate = ""
            case SetPlan(plan=shown):
                plan = shown
    return Snapshot(snapshot.stream, delta.sequence, tuple(blocks.values()), candidate, plan)


def merge_deltas(earlier: DisplayDelta, later: DisplayDelta) -> DisplayDelta | None:
    """One delta for two that follow each other; ``None`` when they do not (ST-02)."""
    if earlier.stream != later.stream or earlier.sequence != later.base:
        return None
    operations = merge_operations((*earlier.operations, *later.operations))
    return DisplayDelta(later.stream, earlier.base, later.sequence, operations)


def merge_operations(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The same operations, each folded into the one before it where that changes nothing for a viewer."""
    merged: list[Operation] = []
    texts: list[str] = []

    def close() -> None:
        if len(texts) > 1:
            merged[-1] = _with_text(merged[-1], "".join(texts))
        texts.clear()

    for operation in operations:
        last = merged[-1] if merged else None
        if last is not None and _continues(last, operation):
            if not texts:
                texts.append(_text(last))
            texts.append(_text(operation))
            continue
        close()
        if last is not None and _supersedes(last, operation):
            merged[-1] = operation
        else:
            merged.append(operation)
    close()
    return tuple(merged)


def text_bytes(delta: DisplayDelta) -> int:
    """The UTF-8 bytes of a delta's texts, for bounding merged deltas."""
    total = 0
    for operation in delta.operations:
        if isinstance(operation, SetPlan):
            total += sum(len(f"{task.subject}{task.active_form}".encode(errors="replace")) for task in operation.plan)
        elif not isinstance(operation, RemoveBlocks | ClearCandidate):
            total += len(_text(operation).encode(errors="replace"))
    return total


def _continues(last: Operation, operation: Operation) -> bool:
    match last, operation:
        case (AppendText(block_id=a), AppendText(block_id=b)) | (
            UpsertBlock(block=BlockView(id=a)),
            AppendText(block_id=b),
        ):
            return a == b
        case AppendCandidate(), AppendCandidate():
            return True
        case _:
            return False


def _supersedes(last: Operation, operation: Operation) -> bool:
    match last, operation:
        case UpsertBlock(block=a), UpsertBlock(block=b):
            return a.id == b.id
        case SetPlan(), SetPlan():
            return True
        case _:
            return False


def _text(operation: Operation) -> str:
    match operation:
        case AppendText(text=text) | AppendCandidate(text=text):
            return text
        case UpsertBlock(block=block):
            return block.text
        case _:
            return ""


def _with_text(operation: Operation, text: str) -> Operation:
    if isinstance(operation, UpsertBlock):
        return UpsertBlock(replace(operation.block, text=text))
    if isinstance(operation, AppendText):
        return AppendText(operation.block_id, text)
    return AppendCandidate(text)
