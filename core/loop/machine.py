"""The agent loop: ask, receive, act, and again, as pure moves of one small value.

The loop knows no journal, no feed and no hook. Whoever owns it calls one move per gate: ``ask`` when the model may be
called, ``receive`` and ``accept`` when an output is complete and good, ``begin`` when calls may start, ``settle`` when
a result is final, ``close`` when the batch may enter the context. The durable run is one such owner.
"""

from collections.abc import Mapping

from ...effects.model import Delta
from ...effects.partial import EMPTY_PARTIAL, Partial
from ...effects.sequence import Seq
from ...effects.transcript import AssistantMessage, AssistantPart, CallPart, Message, Sealed, calls_of, clean_text
from ...effects.values import field, region, replace
from .streaming import Growth, Terminal, fold_deltas

Item = Message | Sealed


@region
class Resting:
    """Nothing is asked of the model, and no call is open."""


@region
class Asking:
    """A model call is wanted or under way; ``partial`` is what has come of it."""

    partial: Partial = EMPTY_PARTIAL


@region
class Received:
    """An output is complete, and waits for its owner to accept it or to ask again."""

    message: AssistantMessage


@region
class Acting:
    """An accepted output's calls are carried out. ``begun`` of them have started, in call order; results by index."""

    calls: tuple[CallPart, ...]
    sequential: bool = False
    begun: int = 0
    results: Mapping[int, Item] = {}

    @property
    def done(self) -> bool:
        """Whether every call has its result."""
        return len(self.results) == len(self.calls)


LoopPhase = Resting | Asking | Received | Acting


@region
class Loop:
    """One agent's conversation with its model: everything said so far, and what the loop is at."""

    context: Seq[Item] = field(factory=Seq)
    phase: LoopPhase = field(factory=Resting)


def ask(loop: Loop, *entering: Item) -> Loop:
    """Want a model call, after ``entering`` joined the context."""
    return Loop(loop.context.extend(entering) if entering else loop.context, Asking())


def stream(loop: Loop, deltas: tuple[Delta, ...]) -> tuple[Loop, tuple[Growth, ...], Terminal | None]:
    """Fold a batch of deltas into the answer under way."""
    assert isinstance(loop.phase, Asking)
    partial, growths, terminal = fold_deltas(loop.phase.partial, deltas)
    return replace(loop, phase=Asking(partial)), growths, terminal


def receive(loop: Loop, message: AssistantMessage) -> Loop:
    """The answer is complete."""
    return replace(loop, phase=Received(message))


def accept(loop: Loop, message: AssistantMessage, item: Item, sequential: bool = False) -> Loop:
    """The output enters the context, as ``item``; with calls the loop acts, without it rests."""
    calls = calls_of(message)
    return Loop(loop.context.append(item), Acting(calls, sequential) if calls else Resting())


def startable(acting: Acting) -> range:
    """The indices of the calls that may start now: all of them, or one at a time (decision 14)."""
    if not acting.sequential:
        return range(acting.begun, len(acting.calls))
    one = acting.begun == len(acting.results) and acting.begun < len(acting.calls)
    return range(acting.begun, acting.begun + one)


def begin(loop: Loop, through: int) -> Loop:
    """The calls below index ``through`` have started."""
    assert isinstance(loop.phase, Acting)
    return replace(loop, phase=replace(loop.phase, begun=through))


def settle(loop: Loop, index: int, result: Item) -> Loop:
    """The result of the call at ``index`` is final."""
    acting = loop.phase
    assert isinstance(acting, Acting)
    return replace(loop, phase=replace(acting, results={**acting.results, index: result}))


def close(loop: Loop) -> tuple[Loop, tuple[Item, ...]]:
    """The batch is over: its results enter the context in call order; also returns them."""
    acting = loop.phase
    assert isinstance(acting, Acting)
    results = tuple(acting.results[index] for index in range(len(acting.calls)))
    return Loop(loop.context.extend(results), Resting()), results


def rest(loop: Loop) -> Loop:
    """Stop wanting anything; what was received and not accepted is forgotten."""
    return replace(loop, phase=Resting())


def numbered(message: AssistantMessage, place: int) -> AssistantMessage:
    """The output with each call's id present and unique within it.

    A missing or repeated id is replaced by one made from the output's place in the context, so that no random id and
    none of ours ever enters a model request (decision 16).
    """
    taken: set[str] = set()
    parts: list[AssistantPart] = []
    for index, part in enumerate(message.parts):
        if isinstance(part, CallPart):
            call_id = clean_text(part.id)
            if not call_id or call_id in taken:
                call_id = f"call_{place}_{index}"
            while call_id in taken:
                call_id += "_"
            taken.add(call_id)
            part = replace(part, id=call_id)
        parts.append(part)
    return replace(message, parts=tuple(parts))
