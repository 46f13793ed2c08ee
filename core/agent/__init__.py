"""The in-memory agent: the loop with hooks, as a pure fold.

Read ``fold`` (the door), ``moves`` (what is legal when), ``state`` (all memory there is); then the way of a turn:
``turns`` (what enters, what follows), ``requests`` (hooks before the call), ``answers`` (the model's deltas), and
``batch``, ``preparing`` and ``running`` (calls); ``failing`` and ``seen`` (how a failure is closed), ``deadlines``.
Around a run: ``view`` (the agent as its host sees it), ``queues`` and ``admission`` (how a run begins).
"""

from .admission import continuation, prompt_messages, said
from .errors import IllegalEvent
from .fold import AgentFold
from .moves import ANSWERS, MOVES, table
from .queues import Queue, QueueMode, Queues
from .rules import Accepted, AgentRules, Check, Hook, Limits, unchecked
from .state import AgentState, Ended
from .turns import cannot_continue
from .view import AgentView, first_view, reset_view, settled_view, started_view, watch_event, with_messages
from .words import CHINESE, ENGLISH, AgentWords

__all__ = [
    "ANSWERS",
    "CHINESE",
    "ENGLISH",
    "MOVES",
    "Accepted",
    "AgentFold",
    "AgentRules",
    "AgentState",
    "AgentView",
    "AgentWords",
    "Check",
    "Ended",
    "Hook",
    "IllegalEvent",
    "Limits",
    "Queue",
    "QueueMode",
    "Queues",
    "cannot_continue",
    "continuation",
    "first_view",
    "prompt_messages",
    "reset_view",
    "said",
    "settled_view",
    "started_view",
    "table",
    "unchecked",
    "watch_event",
    "with_messages",
]
