"""The model's answer: told as it arrives, and what follows once it is whole."""

from ...effects.agent import AgentEvent, MessageEnded, MessageStarted, MessageUpdated
from ...effects.model import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    ModelCutOff,
    ModelStreamed,
    Started,
    StreamFailed,
    StreamFinished,
)
from ...effects.partial import Partial
from ...effects.transcript import AssistantMessage, ErrorKind, ModelError, StopReason, calls_of
from ...effects.values import replace
from ..loop import Terminal, fold_deltas, message_of
from ..text import fill
from .batch import begin_batch
from .desk import tell
from .rules import AgentRules
from .state import AgentState, Streaming
from .talking import enter, level_of
from .turns import end_turn
from .wording import seconds

__all__ = ["on_cut_off", "on_streamed"]


def on_streamed(state: AgentState, event: ModelStreamed, rules: AgentRules, about: int) -> AgentState:
    """A batch of deltas: each is told, and the terminal one ends the answer."""
    phase = state.phase
    assert isinstance(phase, Streaming)
    told: list[AgentEvent] = []
    terminal: Terminal | None = None
    for delta in event.deltas:
        if isinstance(delta, StreamFinished | StreamFailed):
            terminal = delta
            break
        if isinstance(delta, Started):
            if not phase.shown:
                # An answer begins where its port says so; what came before that belongs to nothing.
                partial = Partial(delta, usage=phase.partial.usage)
                phase = replace(phase, partial=partial, shown=True)
                told.append(MessageStarted(partial.message))
            continue
        partial, _, _ = fold_deltas(phase.partial, (delta,))
        phase = replace(phase, partial=partial)
        if phase.shown and isinstance(delta, BlockStarted | BlockDelta | BlockEnded):
            told.append(MessageUpdated(partial, delta))
    state = tell(replace(state, phase=phase), *told)
    return state if terminal is None else _settle(state, rules, phase, _message(phase.partial, terminal, event.at))


def on_cut_off(state: AgentState, event: ModelCutOff, rules: AgentRules, about: int) -> AgentState:
    """The port did not answer within the grace, or within its time: what came of the answer is kept as broken off."""
    phase = state.phase
    assert isinstance(phase, Streaming)
    error = ModelError(ErrorKind.ABORTED, rules.words.aborted)
    if phase.timed_out:
        text = fill(rules.words.model_timed_out, seconds=seconds(rules.limits.model_ms))
        error = ModelError(ErrorKind.TIMEOUT, text)
    return _settle(state, rules, phase, _message(phase.partial, StreamFailed(error), event.at))


def _message(partial: Partial, terminal: Terminal, at: int) -> AssistantMessage:
    if terminal.message is not None:
        return terminal.message
    if isinstance(terminal, StreamFinished):
        return message_of(partial, terminal, at)
    stop = StopReason.ABORTED if terminal.error.kind is ErrorKind.ABORTED else StopReason.ERROR
    message = message_of(partial, StreamFinished(stop, terminal.raw_stop), at)
    return replace(message, error=terminal.error)


def _settle(state: AgentState, rules: AgentRules, phase: Streaming, message: AssistantMessage) -> AgentState:
    message = replace(message, thinking_level=level_of(state.wish))
    events: tuple[AgentEvent, ...] = () if phase.shown else (MessageStarted(message),)
    state = enter(tell(state, *events, MessageEnded(message)), message)
    if message.stop in (StopReason.ERROR, StopReason.ABORTED):
        return end_turn(state, rules, message, hard=True)
    if not calls_of(message):
        return end_turn(state, rules, message)
    return begin_batch(state, rules, message)
