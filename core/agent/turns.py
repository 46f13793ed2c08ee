"""How a run goes from turn to turn: what enters next, and whether anything does.

Top to bottom in the order in which a turn passes here: the start, polls, preparation, what enters, and the end of a
turn. ``requests`` goes on from ``begin_request``; ``answers`` and ``batch`` come back to ``end_turn``.
"""

from ...effects.agent import (
    AgentEnded,
    AgentStarted,
    FinishAction,
    Settled,
    Turn,
    TurnEnded,
    TurnStarted,
)
from ...effects.agent_vocabulary import AgentSettled, Continued, Prompted
from ...effects.hook import (
    FinishTurn,
    FinishTurnReturned,
    FollowUpsReturned,
    NextTurnReturned,
    PollFollowUps,
    PollSteering,
    PrepareNextTurn,
    SteeringReturned,
)
from ...effects.sequence import Seq
from ...effects.transcript import AssistantMessage, Message, ToolResultMessage
from ...effects.values import replace
from ..text import fill
from .desk import ask, tell
from .failing import fail
from .requests import begin_request
from .rules import AgentRules, Hook
from .state import (
    AgentState,
    Ended,
    Finishing,
    FollowingUp,
    Moment,
    PreparingTurn,
    Steering,
    Waiting,
)
from .talking import context_of, declared_with, enter, show, update

__all__ = [
    "cannot_continue",
    "end_turn",
    "on_continued",
    "on_finish",
    "on_follow_ups",
    "on_next_turn",
    "on_prompted",
    "on_steering",
]


# --- the start


def on_prompted(state: AgentState, event: Prompted, rules: AgentRules, about: int) -> AgentState:
    """A run begins: tools are declared, the prompts enter, and the steering queue is asked before anything else."""
    messages = declared_with(state, event.messages)
    state = enter(tell(state, AgentStarted(), TurnStarted()), *messages)
    return _steer(show(state, *messages), rules, Moment.AT_START)


def on_continued(state: AgentState, event: Continued, rules: AgentRules, about: int) -> AgentState:
    """A run goes on from the conversation as it is, or is refused before anything is told."""
    refusal = cannot_continue(state.talk.messages)
    if refusal is not None:
        settled = Settled(failure=refusal, told=False)
        return replace(state, phase=Ended(), out=(*state.out, AgentSettled(settled)))
    return _steer(tell(state, AgentStarted(), TurnStarted()), rules, Moment.AT_START)


def cannot_continue(messages: Seq[Message]) -> str | None:
    """Why no run can go on from these messages; nothing when one can."""
    if not messages:
        return "Cannot continue: no messages in context"
    if isinstance(messages[-1], AssistantMessage):
        return "Cannot continue from message role: assistant"
    return None


# --- polls


def _steer(state: AgentState, rules: AgentRules, moment: Moment) -> AgentState:
    if Hook.STEERING not in rules.hooks:
        return _steered(state, rules, moment, ())
    return ask(replace(state, phase=Steering(moment)), PollSteering)


def on_steering(state: AgentState, event: SteeringReturned, rules: AgentRules, about: int) -> AgentState:
    """The steering queue gave what it had."""
    assert isinstance(state.phase, Steering)
    return _steered(state, rules, state.phase.moment, event.messages)


def _steered(state: AgentState, rules: AgentRules, moment: Moment, messages: tuple[Message, ...]) -> AgentState:
    waiting = replace(state.waiting, pending=messages)
    state = replace(state, waiting=waiting)
    match moment:
        case Moment.AT_START:
            return _let_in(state, rules)
        case Moment.BEFORE_TURN:
            return _open_turn(state, rules)
        case Moment.AFTER_TURN if waiting.more or messages:
            return _prepare(state, rules)
        case Moment.AFTER_TURN:
            return _follow_up(state, rules)


def _follow_up(state: AgentState, rules: AgentRules) -> AgentState:
    if Hook.FOLLOW_UPS not in rules.hooks:
        return _followed_up(state, rules, ())
    return ask(replace(state, phase=FollowingUp()), PollFollowUps)


def on_follow_ups(state: AgentState, event: FollowUpsReturned, rules: AgentRules, about: int) -> AgentState:
    """The follow-up queue gave what it had."""
    return _followed_up(state, rules, event.messages)


def _followed_up(state: AgentState, rules: AgentRules, messages: tuple[Message, ...]) -> AgentState:
    """Follow-ups make another turn; so does an explicit wish, if nothing else did; else the run is over."""
    if messages or state.waiting.explicit:
        return _prepare(replace(state, waiting=Waiting(pending=messages)), rules)
    return _end(state)


# --- the next turn


def _prepare(state: AgentState, rules: AgentRules) -> AgentState:
    if Hook.PREPARE_NEXT_TURN not in rules.hooks:
        return _prepared(state, rules, ())
    turn = state.turn
    assert turn is not None
    return ask(replace(state, phase=PreparingTurn()), lambda ticket: PrepareNextTurn(ticket, turn))


def on_next_turn(state: AgentState, event: NextTurnReturned, rules: AgentRules, about: int) -> AgentState:
    """The host prepared the turn; steering that arrived meanwhile is still let in."""
    return _prepared(update(state, event.update), rules, event.update.messages if event.update else ())


def _prepared(state: AgentState, rules: AgentRules, messages: tuple[Message, ...]) -> AgentState:
    state = replace(state, waiting=replace(state.waiting, prepared=messages))
    return _open_turn(state, rules) if state.waiting.pending else _steer(state, rules, Moment.BEFORE_TURN)


def _open_turn(state: AgentState, rules: AgentRules) -> AgentState:
    return _let_in(tell(state, TurnStarted()), rules)


def _let_in(state: AgentState, rules: AgentRules) -> AgentState:
    """What waits enters, what was prepared first; tools are declared anew before every request."""
    waiting = state.waiting
    messages = declared_with(state, (*waiting.prepared, *waiting.pending))
    state = show(replace(state, waiting=replace(waiting, prepared=(), pending=())), *messages)
    return begin_request(enter(state, *messages), rules)


# --- the end of a turn


def end_turn(
    state: AgentState,
    rules: AgentRules,
    message: AssistantMessage,
    results: tuple[ToolResultMessage, ...] = (),
    *,
    hard: bool = False,
    more: bool = False,
) -> AgentState:
    """An answer and its batch are over; ``hard`` ends the run, ``more`` asks for another turn."""
    turn = Turn(message, results, context_of(state), state.talk.added)
    state = replace(state, turn=turn, turns=state.turns + 1, waiting=replace(state.waiting, more=more))
    if Hook.FINISH_TURN not in rules.hooks:
        return _finish(state, rules, None, hard)
    return ask(replace(state, phase=Finishing(hard)), lambda ticket: FinishTurn(ticket, turn))


def on_finish(state: AgentState, event: FinishTurnReturned, rules: AgentRules, about: int) -> AgentState:
    """The host decided what follows."""
    assert isinstance(state.phase, Finishing)
    return _finish(state, rules, event.action, state.phase.hard)


def _finish(state: AgentState, rules: AgentRules, action: FinishAction | None, hard: bool) -> AgentState:
    assert state.turn is not None
    state = tell(state, TurnEnded(state.turn.message, state.turn.results))
    if hard or action is FinishAction.END:
        return _end(state)
    explicit = action is FinishAction.CONTINUE
    if rules.limits.turns and state.turns >= rules.limits.turns:
        return _too_many(state, rules) if explicit or state.waiting.more else _end(state)
    return _steer(replace(state, waiting=replace(state.waiting, explicit=explicit)), rules, Moment.AFTER_TURN)


def _too_many(state: AgentState, rules: AgentRules) -> AgentState:
    """That was the last turn the run may have, and it wants another: a model that is always cut off ends here too."""
    return fail(state, fill(rules.words.too_many_turns, turns=str(rules.limits.turns)))


def _end(state: AgentState) -> AgentState:
    added = state.talk.added
    state = tell(state, AgentEnded(added))
    return replace(state, phase=Ended(), out=(*state.out, AgentSettled(Settled(added))))
