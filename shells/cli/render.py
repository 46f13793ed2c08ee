"""The live display of a run in a terminal: display deltas in, text out, nothing ever printed twice.

A terminal cannot take back what scrolled away, so this is no picture of the snapshot but a story of what happened:
text as it comes, a line for a call when it starts and one for how it ended, and a word about what was withdrawn. A
resumed run shows all of its blocks again; what ``known`` says was there before is not told anew. Why nothing happens,
the events of the run tell (``attempts``).
"""

from collections.abc import Iterable, Mapping

from ...effects.display import (
    AppendCandidate,
    AppendText,
    BlockView,
    CallView,
    ClearCandidate,
    DisplayDelta,
    Operation,
    RemoveBlocks,
    SetPlan,
    UpsertBlock,
)
from ...effects.journal import Resume
from ...effects.record import BlockKind, CallStatus, PlanStatus, PlanTask, Standing, settled
from ...effects.vocabulary import Effect, Event
from .attempts import Attempts
from .screen import Screen
from .style import Style, clean, duration

__all__ = ["LiveView", "call_line", "known_blocks"]

_STANDING = {
    Standing.SUPERSEDED: "not delivered: a newer message came first",
    Standing.REJECTED: "not delivered: it was rejected",
    Standing.BROKEN_OFF: "broken off here",
}
_PLAN = {PlanStatus.PENDING: "[ ]", PlanStatus.IN_PROGRESS: "[>]", PlanStatus.COMPLETED: "[x]"}


def known_blocks(resume: Resume | None) -> dict[str, str]:
    """What a stored run has shown: block ids, with the status of the call for those that have one."""
    if resume is None:
        return {}
    calls = {call.id: call.status for call in resume.calls}
    return {block.id: calls.get(block.call_id, "") for block in resume.blocks}


class _Shown:
    """A block on the terminal: what of its text stands there, and the last status of its call."""

    __slots__ = ("before", "status", "text", "thinking")

    def __init__(self, *, text: str = "", thinking: bool = False, status: str = "", before: bool = False) -> None:
        self.text = text
        self.thinking = thinking
        self.status = status
        self.before = before


class LiveView:
    """Shows one execution after another. ``answers``: whether candidate text is shown as it comes."""

    def __init__(self, screen: Screen, known: Mapping[str, str] | None = None, *, answers: bool = True) -> None:
        self._screen = screen
        self._style = screen.style
        self._answers = answers
        self._shown = {block_id: _Shown(status=status, before=True) for block_id, status in (known or {}).items()}
        self._candidate = ""
        self._taken_back = ""
        self._attempts = Attempts()

    def follow(self, event: Event, effects: tuple[Effect, ...]) -> None:
        """Take in an event of the execution that the deltas are of, each before what is shown of it."""
        trouble = self._attempts.follow(event, effects)
        if trouble is None:
            return
        if trouble.again and trouble.calls:
            self._note("the answer broke off; asked again")
        elif not self._screen.in_text:
            self._screen.hint(f"  {trouble.reason}{'; asked again' if trouble.again else ''} …")

    def show(self, delta: DisplayDelta) -> None:
        """Take in a delta; never waits for anything but the stream."""
        for operation in delta.operations:
            self._take(operation)

    def answered(self, text: str) -> None:
        """The turn is over and ``text`` is its answer: print what of it does not stand there yet."""
        if not self._candidate:
            self._say(text)
        self.ended()

    def ended(self) -> None:
        """The turn is over: the next execution begins with all blocks that are there by then."""
        for shown in self._shown.values():
            shown.before = True
        self._candidate = self._taken_back = ""
        self._attempts.ended()
        self._screen.finish()

    def _take(self, operation: Operation) -> None:
        match operation:
            case AppendCandidate(text=text):
                self._say(text)
            case ClearCandidate():
                self._taken_back, self._candidate = self._candidate, ""
            case UpsertBlock(block=block) if block.kind is BlockKind.TOOL_CALL:
                self._on_call(block)
            case UpsertBlock(block=block):
                self._on_text(block)
            case AppendText(block_id=block_id, text=text):
                self._grow(self._shown.get(block_id), text)
            case RemoveBlocks(block_ids=block_ids, withdrawn=withdrawn):
                self._remove(block_ids, withdrawn)
            case SetPlan(plan=plan):
                self._on_plan(plan)

    def _say(self, text: str) -> None:
        """More of the answer. After a clearing it may be the same answer again, put together differently."""
        taken_back, self._taken_back = self._taken_back, ""
        if taken_back and text.startswith(taken_back):
            self._candidate, text = taken_back, text[len(taken_back) :]
        elif taken_back and self._answers:
            self._note("taken back; once more:")
        text = text if self._candidate else text.lstrip()
        self._candidate += text
        if self._answers:
            self._screen.text(text, "answer")

    def _on_text(self, block: BlockView) -> None:
        shown = self._shown.get(block.id)
        if shown is not None and shown.before:
            return
        if shown is None:
            shown = self._shown[block.id] = _Shown(thinking=block.kind is BlockKind.THINKING)
            if not shown.thinking:
                shown.text = self._standing_already(block.text)
        self._grow(shown, block.text.removeprefix(shown.text))
        if block.standing is not None:
            self._note(_STANDING[block.standing])

    def _standing_already(self, text: str) -> str:
        """How much of a new block stands there, because it was the answer under way before calls followed it."""
        before, wanted = self._taken_back.strip(), text.strip()
        if not self._answers or not before or not wanted.startswith(before[: len(wanted)]):
            return ""
        self._taken_back = before[len(wanted) :]
        return text[: text.index(wanted) + min(len(before), len(wanted))] if len(before) < len(wanted) else text

    def _grow(self, shown: _Shown | None, text: str) -> None:
        if shown is None or shown.before or not text:
            return
        first, shown.text = not shown.text, shown.text + text
        text = text.lstrip() if first else text
        if not shown.thinking:
            self._screen.text(text, "said")
        elif self._style.moves:
            mark = "(thinking) " if first and not self._style.colours else ""
            self._screen.text(mark + text, "thinking", self._style.dim)

    def _on_call(self, block: BlockView) -> None:
        call = block.call
        shown = self._shown.setdefault(block.id, _Shown(status=CallStatus.QUEUED))
        if call is None or shown.status == call.status:
            return
        shown.status = call.status
        if settled(call.status):
            self._screen.settle(block.id, call_line(call, self._style))
        else:
            self._screen.status(block.id, call_line(call, self._style))

    def _remove(self, block_ids: Iterable[str], withdrawn: bool) -> None:
        dropped = [self._shown.pop(block_id, None) for block_id in block_ids]
        if any(shown is not None and shown.status for shown in dropped) and not withdrawn:
            self._note("calls that had not started were dropped: a newer message came first")

    def _on_plan(self, plan: tuple[PlanTask, ...]) -> None:
        for task in plan:
            self._screen.line(self._style.dim(f"  {_PLAN[task.status]} {clean(task.subject)}"))

    def _note(self, text: str) -> None:
        self._screen.line(self._style.dim(f"  ({text})"))


def call_line(call: CallView, style: Style) -> str:
    """One call on one line: how it stands, its name, and how long it took."""
    name = clean(call.name)[: style.width - 24]
    took = ""
    if settled(call.status) and call.started_at is not None and call.completed_at is not None:
        took = f" {duration(call.completed_at - call.started_at)}"
    match call.status:
        case CallStatus.SUCCEEDED:
            return f"  {style.good('✓')} {name}{style.dim(took)}"
        case CallStatus.FAILED:
            return f"  {style.bad('✗')} {name} failed{style.dim(took)}"
        case CallStatus.NEEDS_REVIEW:
            return f"  {style.warn('!')} {name} needs review"
        case CallStatus.RUNNING:
            return f"  {style.dim('→')} {name} …"
        case _:
            return f"  {style.dim('·')} {name} {style.dim(call.status.replace('_', ' '))}"
