"""The table of moves: which event is legal in which phase of the run, or of the call it is about, and what it does.

What is not in the table is illegal. A repeat that must be tolerated is a row of its own, with its reason. An answer is
looked up by its order's ticket first: one that is not in flight is illegal whatever the phase. ``table`` prints it.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from ...effects.agent_vocabulary import (
    AbortAsked,
    CallAsked,
    Continued,
    CredentialsFailed,
    Flush,
    Flushed,
    Prompted,
    SinkFailed,
    ToolNotRun,
)
from ...effects.clock import Woke
from ...effects.hook import (
    AfterTool,
    AfterToolReturned,
    ArgumentsReturned,
    BeforeTool,
    BeforeToolReturned,
    ContextReturned,
    ConvertedReturned,
    ConvertToModel,
    FinishTurn,
    FinishTurnReturned,
    FollowUpsReturned,
    HookFailed,
    HookOrder,
    NextTurnReturned,
    PollFollowUps,
    PollSteering,
    PrepareArguments,
    PrepareNextTurn,
    PrepareRequest,
    RequestReturned,
    SteeringReturned,
    TransformContext,
)
from ...effects.model import CallModel, ModelBroke, ModelCutOff, ModelStreamed
from ...effects.tool import RunTool, ToolCutOff, ToolFailed, ToolProgressed, ToolReturned
from ...effects.values import frozen
from . import answers, deadlines, failing, preparing, requests, running, turns
from .rules import AgentRules
from .state import (
    Acting,
    AgentState,
    CallChecked,
    CallFinishing,
    CallPreparing,
    CallRunning,
    Converting,
    Ended,
    Failing,
    Finishing,
    FollowingUp,
    PreparingRequest,
    PreparingTurn,
    Steering,
    Streaming,
    Transforming,
    Unstarted,
)

__all__ = ["ANSWERS", "MOVES", "STREAMS", "Move", "table"]

Handler = Callable[[AgentState, Any, AgentRules, int], AgentState]


@frozen
class Move:
    """One row: what it does, in words for the table, and the function that does it."""

    does: str
    handler: Handler
    tolerated: bool = False


ANSWERS: Mapping[type, tuple[type, ...]] = {
    SteeringReturned: (PollSteering,),
    FollowUpsReturned: (PollFollowUps,),
    NextTurnReturned: (PrepareNextTurn,),
    FinishTurnReturned: (FinishTurn,),
    RequestReturned: (PrepareRequest,),
    ContextReturned: (TransformContext,),
    ConvertedReturned: (ConvertToModel,),
    ArgumentsReturned: (PrepareArguments,),
    BeforeToolReturned: (BeforeTool,),
    AfterToolReturned: (AfterTool,),
    HookFailed: get_args(HookOrder),
    Flushed: (Flush,),
    ModelStreamed: (CallModel,),
    ModelCutOff: (CallModel,),
    ModelBroke: (CallModel,),
    CredentialsFailed: (CallModel,),
    ToolProgressed: (RunTool,),
    ToolReturned: (RunTool,),
    ToolFailed: (RunTool,),
    ToolCutOff: (RunTool,),
    ToolNotRun: (RunTool,),
}
"""Which orders an event may answer. The ticket it carries must be in flight for one of them."""

STREAMS = (ToolProgressed,)
"""Answers that leave their order in flight. A batch of deltas does so too, unless it ends with the terminal one."""


def _nothing(state: AgentState, event: object, rules: AgentRules, about: int) -> AgentState:
    return state


def _rows(events: type | tuple[type, ...], phases: tuple[type, ...], move: Move) -> dict[tuple[type, type], Move]:
    wanted = events if isinstance(events, tuple) else (events,)
    return {(event, phase): move for event in wanted for phase in phases}


_POLLING = (Steering, FollowingUp)
_PREPARING = (PreparingTurn, PreparingRequest, Transforming, Converting)
_UNDER_WAY = (*_POLLING, *_PREPARING, Streaming, Acting, Finishing)

RUN: Mapping[tuple[type, type], Move] = {
    **_rows(Prompted, (Unstarted,), Move("declare tools, let the prompts in, poll steering", turns.on_prompted)),
    **_rows(Continued, (Unstarted,), Move("poll steering, or refuse to go on", turns.on_continued)),
    **_rows(CallAsked, (Unstarted,), Move("take up that one call", preparing.on_call_asked)),
    **_rows(AbortAsked, (Unstarted, *_UNDER_WAY), Move("cut off what is in flight", failing.on_abort)),
    **_rows(AbortAsked, (Failing, Ended), Move("nothing: the run is ending", _nothing, True)),
    **_rows(SteeringReturned, (Steering,), Move("let it in, or go on without", turns.on_steering)),
    **_rows(FollowUpsReturned, (FollowingUp,), Move("another turn, or the end", turns.on_follow_ups)),
    **_rows(NextTurnReturned, (PreparingTurn,), Move("apply it, begin the turn", turns.on_next_turn)),
    **_rows(RequestReturned, (PreparingRequest,), Move("apply it, make the request", requests.on_request)),
    **_rows(ContextReturned, (Transforming,), Move("convert it", requests.on_context)),
    **_rows(ConvertedReturned, (Converting,), Move("ask the model", requests.on_converted)),
    **_rows(ModelStreamed, (Streaming,), Move("tell it; act on a whole answer", answers.on_streamed)),
    **_rows(ModelCutOff, (Streaming,), Move("end the answer as broken off", answers.on_cut_off)),
    **_rows((ModelBroke, CredentialsFailed), (Streaming,), Move("fail", failing.on_broken)),
    **_rows(FinishTurnReturned, (Finishing,), Move("end the turn; go on as decided", turns.on_finish)),
    **_rows(HookFailed, (*_POLLING, *_PREPARING, Finishing), Move("fail", failing.on_broken)),
    **_rows(Flushed, (Acting,), Move("prepare the call that began, or go on after it", preparing.on_flushed)),
    **_rows(
        Flushed,
        (*_POLLING, *_PREPARING, Streaming, Finishing, Ended),
        Move("nothing: the batch is over", _nothing, True),
    ),
    **_rows(
        SinkFailed, (*_UNDER_WAY, Ended), Move("fail; after a running tool; not while failing", failing.on_sink_failed)
    ),
    **_rows(
        Woke, (Unstarted, *_UNDER_WAY), Move("look at the deadlines; too early is harmless", deadlines.on_woke, True)
    ),
    **_rows(Woke, (Failing, Ended), Move("nothing: the run is ending", _nothing, True)),
    **_rows(tuple(ANSWERS), (Failing,), Move("nothing: it is not wanted any more", _nothing, True)),
}

CALL: Mapping[tuple[type, type], Move] = {
    **_rows(ArgumentsReturned, (CallPreparing,), Move("check the arguments", preparing.on_arguments)),
    **_rows(BeforeToolReturned, (CallChecked,), Move("run it, or end it as blocked", preparing.on_before)),
    **_rows(ToolProgressed, (CallRunning,), Move("tell it", running.on_progress)),
    **_rows(
        (ToolReturned, ToolFailed, ToolCutOff),
        (CallRunning,),
        Move("ask the host about the result, or end the call", running.on_tool_answer),
    ),
    **_rows(ToolNotRun, (CallRunning,), Move("end the call as aborted", running.on_not_run)),
    **_rows(AfterToolReturned, (CallFinishing,), Move("end the call with the patched result", running.on_after)),
    **_rows(
        HookFailed,
        (CallPreparing, CallChecked, CallFinishing),
        Move("end the call with that error", preparing.on_call_hook_failed),
    ),
}

MOVES: Mapping[str, Mapping[tuple[type, type], Move]] = {"run": RUN, "call": CALL}


def table() -> str:
    """The whole table as Markdown, in the order of the code."""
    lines: list[str] = []
    for region, rows in MOVES.items():
        lines += [f"**{region}**", "", "| event | in phase | what it does |", "|---|---|---|"]
        merged: dict[tuple[str, str], list[str]] = {}
        for (event, phase), move in rows.items():
            does = f"tolerated – {move.does}" if move.tolerated else move.does
            merged.setdefault((event.__name__, does), []).append(phase.__name__)
        lines += [f"| {event} | {', '.join(phases)} | {does} |" for (event, does), phases in merged.items()]
        lines.append("")
    return "\n".join(lines)
